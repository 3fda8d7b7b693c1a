"""Pictures of results."""

import io
import math
import os
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from mbfmu.compare import Comparison
from mbfmu.errors import UsageError
from mbfmu.files import write_aside
from mbfmu.result import Result, coordinates

FORMATS = tuple(sorted(Figure().canvas.get_supported_filetypes()))
MARKERS = "osv^D<>ph*"
FLOOR = 1e-17
"""Residuals below it are drawn here: a log scale has no zero."""


def plot_result(result: Result, path: str | os.PathLike[str], title: str = "") -> Path:
    """Draw coordinates, rates and inputs with units, constraint residuals on a log scale, and the energy.

    Args:
        result: what to draw.
        path: of the picture; its ending says the format.
        title: over the picture.

    Raises:
        UsageError: the ending names no format.
        MbfmuError: the file cannot be written.
    """
    panels: list[tuple[str, list[str], bool]] = []
    for unit, label in (("rad", "angle [rad]"), ("m", "position [m]"), ("rad/s", "angular velocity [rad/s]"),
                        ("m/s", "velocity [m/s]"), ("N.m", "torque [N.m]"), ("N", "force [N]")):  # fmt: skip
        names = [name for name in coordinates(result) if result.units.get(name) == unit]
        if names:
            panels.append((label, names[:8], False))
    panels.append(("constraint residual", _present(result, "constraint.position", "constraint.velocity"), True))
    panels.append(("energy [J]", _present(result, "energy.total", "energy.kinetic", "energy.potential"), False))
    panels = [panel for panel in panels if panel[1]]
    figure = Figure(figsize=(8, 2.0 * len(panels) + 0.6), layout="constrained")
    for axes, (label, names, logarithmic) in zip(
        np.atleast_1d(figure.subplots(len(panels), 1, sharex=True)), panels, strict=True
    ):
        for name in names:
            values = np.maximum(np.abs(result[name]), FLOOR) if logarithmic else result[name]
            axes.plot(result.time, values, label=name, linewidth=1.2)
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        if logarithmic:
            axes.set_yscale("log")
        axes.legend(loc="best", fontsize="small", ncols=min(len(names), 4), framealpha=0.6)
        axes.margins(x=0)
    axes.set_xlabel("time [s]")
    if title:
        figure.suptitle(title)
    return save(figure, path)


def plot_comparison(found: Comparison, path: str | os.PathLike[str]) -> Path:
    """Draw work against precision: the error of each stepper over the time of the run, one point a step.

    Raises:
        UsageError: the ending of the path names no format.
        MbfmuError: the file cannot be written.
    """
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots()
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in found.rows:
        if math.isfinite(row.error):
            curves.setdefault(row.stepper, []).append((row.ms, max(row.error, FLOOR)))
    for number, (stepper, points) in enumerate(curves.items()):
        axes.loglog(
            *zip(*points, strict=True),
            marker=MARKERS[(number + number // 10) % len(MARKERS)],
            label=stepper,
            linewidth=1.2,
        )
    axes.axhline(max(found.accuracy, FLOOR), color="k", linestyle=":", linewidth=1, label="accuracy of the reference")
    axes.set_xlabel("time of the run [ms]")
    axes.set_ylabel("largest error of the joint coordinates at the end [rad or m]")
    axes.set_title(f"{found.model}, {found.stop:g} s")
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right upper", fontsize="small")
    return save(figure, path)


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure whole or not at all.

    Raises:
        UsageError: the ending of the path names no format.
        MbfmuError: the file cannot be written.
    """
    target = Path(path)
    kind = target.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise UsageError(f"'{target}': a picture ends in .png, .svg or .pdf")
    content = io.BytesIO()
    with matplotlib.rc_context({"savefig.dpi": 130}):
        figure.savefig(content, format=kind)
    return write_aside(target, content.getvalue())


def _present(result: Result, *names: str) -> list[str]:
    return [name for name in names if name in result.names]
