"""Pictures of results."""

import dataclasses
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mbfmu.analysis.compare import Comparison
from mbfmu.analysis.study import Row, SobolIndex
from mbfmu.base.arguments import checked
from mbfmu.base.files import write_aside
from mbfmu.base.result import KINDS, Result, coordinates, selection
from mbfmu.base.units import shown_unit
from mbfmu.errors import UsageError

FORMATS = tuple(sorted({*Figure().canvas.get_supported_filetypes()} - {"pgf"}))  # which needs TeX
MARKERS = "osv^D<>ph*"
COLOURS = 10
"""Number of colours of curves; further curves have other styles."""
FLOOR = 1e-17
"""Smallest residual drawn, which replaces smaller ones, as a log scale has no zero."""
ROUND_OFF = 100 * float(np.finfo(np.float64).eps)
"""Round-off in the residual of a constraint that has several terms of size 1."""
ALIKE = 1e-6
"""Largest difference, relative to their size, of curves that are drawn as one."""
LARGEST = 1e300
"""Largest value that is drawn, as the span of an axis must not overflow."""
MOST, MOST_CHOSEN = 8, 40
"""Largest numbers of curves in a panel, of a selection and of chosen variables; the legend counts the others."""
STYLES = ("-", "--", ":", "-.")
"""Styles of the first, second, third and fourth `COLOURS` curves."""
LABELS = {
    **KINDS,
    "rad/s2": "ang. acceleration [rad/s2]",
    "m/s2": "acceleration [m/s2]",
    "W": "power [W]",
    "J": "energy [J]",
}
"""Labels of panels, by their unit."""
LARGEST_MOVE = 0.15
"""Largest displacement of a node in the picture of a mode, as a part of the body's size."""
MOTIONS = ("rad", "m", "rad/s", "m/s")
"""Units of coordinates and rates."""
RESIDUALS = ("constraint.position", "constraint.velocity")
RESIDUAL = "constraint residual\n[m, rad; m/s, rad/s]"
ENERGIES = ("energy.total", "energy.kinetic", "energy.potential")

Array = npt.NDArray[np.float64]
Curves = dict[str, Array]


class Picture(Figure):
    """A figure that a notebook shows."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()


@checked
def plot_result(result: Result, path: str | os.PathLike[str] | None, title: str = "") -> Picture:
    """Draw the chosen variables of a result, or a selection and its monitors; what is not finite is a gap.

    The selection has driven inputs, what is measured, coordinates and rates, then constraint residuals on a log scale,
    the energy and its change. In it curves that are always zero, beside the largest of their panel up to round-off, are
    left out, curves that are alike are drawn once, and a legend counts those for which its panel has no room.

    Args:
        result: the result to draw.
        path: path of the picture, whose suffix determines the format; None: it is not written.
        title: title above the picture.

    Raises:
        UsageError: the suffix names no format, the result is empty, or all curves are zero.
        MbfmuError: the file cannot be written.
    """
    if not len(result.time):
        raise UsageError("there is nothing to draw: the result has no points")
    result = dataclasses.replace(result, values=np.where(np.abs(result.values) <= LARGEST, result.values, np.nan))
    most = MOST_CHOSEN if result.chosen else MOST
    drawn = [(label, curves) for label, curves in _panels(result) if curves]
    if not drawn:
        raise UsageError("there is nothing to draw: all coordinates, velocities and inputs are zero")
    heights = [max(1.9, 0.22 * min(len(curves), most + 1)) for _, curves in drawn]
    figure = Picture(figsize=(10, sum(heights) + 0.6), layout="constrained")
    rows = figure.subplots(len(drawn), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (label, curves) in zip(rows, drawn, strict=True):
        residuals = curves.keys() <= {*RESIDUALS}
        for index, (name, values) in enumerate(list(curves.items())[:most]):
            style = {"color": f"C{index % COLOURS}", "linestyle": STYLES[index // COLOURS]}
            shown = np.where(values, np.maximum(np.abs(values), FLOOR), np.nan) if residuals else values
            axes.plot(
                result.time,
                shown,
                label=verbatim(name),
                linewidth=0.8 if residuals else 1.2,
                marker="." if residuals else "",  # a residual may stand alone between two zeros
                markersize=2,
                **style,
            )
        if len(curves) > most:
            axes.plot([], [], " ", label=f"and {len(curves) - most} more")
        if residuals:
            axes.set_yscale("log")
            axes.axhspan(FLOOR, round_off(result), color="k", alpha=0.07, linewidth=0, label="round-off")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        axes.margins(x=0)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False)
    axes.set_xlabel("time [s]")
    if title:
        figure.suptitle(verbatim(title))
    if path is not None:
        save(figure, path)
    return figure


def verbatim(text: str) -> str:
    """Return a text that matplotlib shows as it is: dollars begin no formula, and an underscore hides no curve.

    Bytes of a file's name that are no text are question marks.
    """
    shown = text.encode("utf-8", "replace").decode("utf-8").replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{shown}" if shown.startswith("_") else shown


def _panels(result: Result) -> Iterator[tuple[str, Curves]]:
    """Yield the label of each panel with its curves by name: those chosen, or a selection and the monitors."""
    names = [name for name in result.chosen or selection(result) if name not in RESIDUALS]
    units = dict.fromkeys(result.units.get(name, "") for name in names)
    if not result.chosen and RESIDUALS[0] in result.names and units.keys() & KINDS.keys():
        units = {unit: None for unit in units if unit in KINDS}
    for unit in units:
        curves = {name: result[name] for name in names if result.units.get(name, "") == unit}
        yield _in_units(result, unit, LABELS.get(unit, f"[{unit}]"), curves if result.chosen else _once(curves))
    if result.chosen:
        yield RESIDUAL, {name: result[name] for name in RESIDUALS if name in result.chosen}
        return
    yield RESIDUAL, _some(result, RESIDUALS)
    yield _in_units(result, "J", LABELS["J"], _some(result, ENERGIES))
    change = {name: result[name] - result[name][0] for name in ENERGIES[:1] if name in result.names}
    yield _in_units(result, "J", "energy change [J]", {f"{name} - start": values for name, values in change.items()})


def _in_units(result: Result, unit: str, label: str, curves: Curves) -> tuple[str, Curves]:
    """Return the label of a panel and its curves, of an SI unit, in the unit that is shown."""
    shown, factor = shown_unit(unit, result.display)
    curves = {name: factor * values for name, values in curves.items()}
    return verbatim(label.replace(f"[{unit}]", f"[{shown}]")), curves


def _some(result: Result, names: Sequence[str]) -> Curves:
    return {name: result[name] for name in names if name in result.names and np.any(result[name])}


def _once(curves: Curves) -> Curves:
    """Return the curves that are not zero beside the largest; alike ones are one, under the first name and a number."""
    groups: dict[str, list[str]] = {}
    sizes = {name: float(np.max(np.abs(values))) for name, values in curves.items()}
    largest = max(filter(math.isfinite, sizes.values()), default=0.0)
    for name, values in curves.items():
        size = sizes[name]
        if not size <= ROUND_OFF * largest:  # a value that is no number is shown as a gap
            same = (key for key in groups if np.max(np.abs(curves[key] - values)) <= ALIKE * size)
            groups.setdefault(next(same, name), []).append(name)
    return {
        f"{name} and {len(group) - 1} alike" if len(group) > 1 else name: curves[name] for name, group in groups.items()
    }


def round_off(result: Result) -> float:
    """Return the residual that counts as round-off for the size of the coordinates and rates."""
    sizes = [float(np.max(np.abs(result[name]))) for name in coordinates(result) if result.units.get(name) in MOTIONS]
    return ROUND_OFF * max([1.0, *sizes])


def plot_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> Path:
    """Draw work against precision: the error of each stepper over the time of the run, one point for each step.

    Raises:
        UsageError: the suffix of the path names no format.
        MbfmuError: the file cannot be written.
    """
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots()
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in comparison.rows:
        if math.isfinite(row.error):
            curves.setdefault(row.stepper, []).append((row.ms, max(row.error, FLOOR)))
    for index, (stepper, points) in enumerate(curves.items()):
        axes.loglog(
            *zip(*points, strict=True),
            marker=MARKERS[index % len(MARKERS)],
            linestyle="-" if index < COLOURS else "--",
            fillstyle="full" if index < COLOURS else "none",
            label=stepper,
            linewidth=1.2,
        )
    axes.axhline(
        max(comparison.accuracy, FLOOR), color="k", linestyle=":", linewidth=1, label="accuracy of the reference"
    )
    axes.set_xlabel("time of the run [ms]")
    axes.set_ylabel("largest error of the joint coordinates at the end [rad or m]")
    axes.set_title(verbatim(f"{comparison.model}, {comparison.stop:g} s"))
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right upper", fontsize="small")
    return save(figure, path)


def plot_bode(
    frequency: Array, curves: Mapping[str, tuple[Array, Array]], path: str | os.PathLike[str], title: str = ""
) -> Path:
    """Draw gain and phase over the frequency.

    Args:
        frequency: Hz, shape (n_f,).
        curves: gain in decibels and phase in degrees, shape (n_f,) each, by name.
        path: path of the picture, whose suffix determines the format.
        title: title above the picture.

    Raises:
        UsageError: the suffix names no format.
        MbfmuError: the file cannot be written.
    """
    figure = Figure(figsize=(10, 6.5), layout="constrained")
    rows = figure.subplots(2, 1, sharex=True)
    for index, (name, pair) in enumerate(list(curves.items())[:MOST_CHOSEN]):
        style = {"color": f"C{index % COLOURS}", "linestyle": STYLES[index // COLOURS], "linewidth": 1.2}
        for axes, values in zip(rows, pair, strict=True):
            axes.semilogx(frequency, np.where(np.isfinite(values), values, np.nan), label=verbatim(name), **style)
    for axes, label in zip(rows, ("gain [dB]", "phase [deg]"), strict=True):
        axes.set_ylabel(label)
        axes.grid(alpha=0.3, which="both")
        axes.margins(x=0)
    rows[1].yaxis.set_major_locator(MaxNLocator(steps=[1, 3, 4.5, 9, 10]))
    if len(curves) > 1:
        rows[0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False)
    if len(curves) > MOST_CHOSEN:
        rows[0].plot([], [], " ", label=f"and {len(curves) - MOST_CHOSEN} more")
    rows[1].set_xlabel("frequency [Hz]")
    figure.suptitle(verbatim(title if len(curves) > 1 else f"{title}: {next(iter(curves), '')}"))
    return save(figure, path)


def plot_locus(
    name: str,
    values: Array,
    branches: npt.NDArray[np.complex128],
    critical: Sequence[float],
    path: str | os.PathLike[str],
    title: str = "",
) -> Path:
    """Draw eigenvalues in the complex plane, coloured by a value, and their parts over it.

    Args:
        name: name of the value, with its unit.
        values: the values, shape (n_v,).
        branches: eigenvalues, 1/s, shape (n_v, n), each column a branch; NaN where it has none. Those that are always
            zero are left out.
        critical: values at which stability changes.
        path: path of the picture, whose suffix determines the format.
        title: title above the picture.

    Raises:
        UsageError: the suffix names no format.
        MbfmuError: the file cannot be written.
    """
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    plane, real, imaginary = (figure.add_subplot(grid[item]) for item in ((slice(None), 0), (0, 1), (1, 1)))
    real.sharex(imaginary)
    shown = None
    for column in branches.T[np.any(np.nan_to_num(branches) != 0, axis=0)]:
        plane.plot(column.real, column.imag, color="0.8", linewidth=0.8, zorder=1)
        shown = plane.scatter(column.real, column.imag, c=values, s=9, cmap="viridis", zorder=2)
        real.plot(values, column.real, ".-", markersize=2, linewidth=0.8, color="C0")
        imaginary.plot(values, column.imag, ".-", markersize=2, linewidth=0.8, color="C0")
    for axes in (plane, real, imaginary):
        axes.grid(alpha=0.3)
    plane.axvline(0.0, color="k", linewidth=0.8)
    real.axhline(0.0, color="k", linewidth=0.8)
    for value in critical:
        for axes in (real, imaginary):
            axes.axvline(value, color="C3", linewidth=1, linestyle="--")
        real.annotate(
            f"{value:.6g}", (value, 0.04), xycoords=("data", "axes fraction"), xytext=(3, 0),
            textcoords="offset points", fontsize="small", color="C3",
        )  # fmt: skip
    plane.set_xlabel("real part [1/s]")
    plane.set_ylabel("imaginary part [rad/s]")
    real.set_ylabel("real part [1/s]")
    imaginary.set_ylabel("imaginary part [rad/s]")
    imaginary.set_xlabel(verbatim(name))
    if shown is not None:
        figure.colorbar(shown, ax=plane, label=verbatim(name), aspect=40)
    if title:
        figure.suptitle(verbatim(title))
    return save(figure, path)


def plot_workspace(
    positions: Array, regularity: Array, axes: Mapping[str, Array], frame: str, path: str | os.PathLike[str], title: str
) -> Path:
    """Draw the positions that a frame reaches, coloured by how far they are from singular positions.

    Args:
        positions: m, shape (one entry for each driven axis, 2 or 3); NaN where a point of the grid is not reached.
        regularity: of each position, 0 in a singular position, shape (one entry for each driven axis).
        axes: values of the driven axes, by name.
        frame: name of the frame.
        path: path of the picture, whose suffix determines the format.
        title: title above the picture.

    Raises:
        UsageError: the suffix names no format.
        MbfmuError: the file cannot be written.
    """
    dim = positions.shape[-1]
    figure = Figure(figsize=(8, 6.5), layout="constrained")
    drawn: Any = figure.add_subplot(projection="3d" if dim == 3 else None)
    for axis in range(len(axes)):  # the lines along which one driven axis moves
        for line in np.moveaxis(positions, axis, -2).reshape(-1, positions.shape[axis], dim):
            drawn.plot(*line.T, color="0.8", linewidth=0.7, zorder=1)
    dots = positions.reshape(-1, dim)
    shown = drawn.scatter(*dots.T, c=regularity.ravel(), s=10, cmap="viridis", vmin=0.0, zorder=2)
    figure.colorbar(shown, ax=drawn, label="regularity (0: singular)", aspect=40, shrink=0.8)
    drawn.set_xlabel("x [m]")
    drawn.set_ylabel("y [m]")
    if dim == 3:
        drawn.set_zlabel("z [m]")
    drawn.set_aspect("equal")
    drawn.grid(alpha=0.3)
    count = int(np.isfinite(regularity).sum())
    over = f"{title}: {frame} over {', '.join(axes)}"
    figure.suptitle(verbatim(f"{over}, {count} of {regularity.size} points reached"))
    return save(figure, path)


def plot_modes(
    positions: Array,
    faces: npt.NDArray[np.int64],
    shapes: Sequence[Array],
    frequencies: Array,
    path: str | os.PathLike[str],
) -> Path:
    """Draw a body as each of its modes deforms it, coloured by how far each node moves.

    Args:
        positions: positions of the nodes at rest, m, shape (N, 3).
        faces: corners of the faces of its surface, shape (f, 3 or 4); without any, the nodes are drawn.
        shapes: displacements of the nodes in each mode, shape (N, 3), of which the largest is 1.
        frequencies: frequency of each mode, Hz.
        path: path of the picture, whose suffix determines the format.

    Raises:
        UsageError: the suffix names no format.
        MbfmuError: the file cannot be written.
    """
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    columns = min(4, len(shapes))
    rows = -(-len(shapes) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.4 * rows), layout="constrained")
    size = float(np.ptp(positions, axis=0).max())
    for index, (shape, frequency) in enumerate(zip(shapes, frequencies, strict=True), 1):
        axes: Any = figure.add_subplot(rows, columns, index, projection="3d")
        moved = positions + LARGEST_MOVE * size * shape
        far = np.linalg.norm(shape, axis=1)
        if len(faces):
            colours = matplotlib.colormaps["viridis"](far[faces].mean(axis=1))
            axes.add_collection3d(Poly3DCollection(moved[faces], facecolors=colours, edgecolors="k", linewidths=0.1))
        else:
            axes.scatter(*moved.T, c=far, s=4)
        low, high = (
            np.minimum(moved.min(axis=0), positions.min(axis=0)),
            np.maximum(moved.max(axis=0), positions.max(axis=0)),
        )
        spans = np.maximum(high - low, 0.05 * size)
        for set_limits, a, b in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), low, low + spans, strict=True):
            set_limits(a, b)
        axes.set_box_aspect(spans)
        axes.set_axis_off()
        axes.set_title(f"mode {index}: {frequency:.4g} Hz", fontsize="small")
    return save(figure, path)


def plot_study(
    rows: Sequence[Row], indices: Sequence[SobolIndex], path: str | os.PathLike[str], title: str = ""
) -> Path:
    """Draw the histogram of each measure of a study, and beside it Sobol' indices with their intervals.

    Args:
        rows: the rows of the runs that did not fail, at least one.
        indices: their Sobol' indices; () for none.
        path: path of the picture.
        title: title above the picture.

    Raises:
        UsageError: the suffix of the path names no format.
        MbfmuError: the file cannot be written.
    """
    labels, columns = list(rows[0].measures), 2 if indices else 1
    figure = Figure(figsize=(5 * columns, 2.8 * len(labels) + 0.4), layout="constrained")
    for line, label in zip(figure.subplots(len(labels), columns, squeeze=False), labels, strict=True):
        line[0].hist([row.measures[label] for row in rows], bins="auto" if len(rows) > 1 else 1, color="C0")
        line[0].set(xlabel=verbatim(label), ylabel="runs")
        some = [item for item in indices if item.measure == label]
        at = np.arange(len(some))
        for shift, kind in ((-0.2, "first"), (0.2, "total")) if some else ():
            values = np.array([getattr(item, kind) for item in some])
            ends = np.array([getattr(item, f"{kind}_interval") for item in some]).T
            bars = np.maximum([values - ends[0], ends[1] - values], 0.0)
            line[1].bar(at + shift, values, 0.38, yerr=bars, capsize=3, label={"first": "first order"}.get(kind, kind))
        if some:
            line[1].set_xticks(at, [verbatim(item.name) for item in some])
            line[1].set_ylabel("part of the variance")
            line[1].legend(fontsize="small")
    if title:
        figure.suptitle(verbatim(title))
    return save(figure, path)


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure whole or not at all.

    Raises:
        UsageError: the suffix of the path names no format.
        MbfmuError: the file cannot be written.
    """
    content = io.BytesIO()
    with matplotlib.rc_context({"savefig.dpi": 130}):
        figure.savefig(content, format=picture_format(path))
    return write_aside(Path(path), content.getvalue())


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a picture by its suffix.

    Raises:
        UsageError: the suffix names no format.
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise UsageError(f"'{os.fspath(path)}': a figure ends in .png, .svg or .pdf")
    return kind
