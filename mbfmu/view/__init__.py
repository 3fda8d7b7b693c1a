"""View: one HTML page that shows a mechanism moving, with its plots; it opens anywhere, without a network."""

import base64
import html
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.errors import UsageError
from mbfmu.files import ending_of, write_aside
from mbfmu.result import KINDS, Result, coordinates
from mbfmu.view.looks import Look, looks_of
from mbfmu.view.motion import AXIS, Trajectory, motion_of_model, motion_of_result, result_of_table

__all__ = [
    "Look",
    "Trajectory",
    "looks_of",
    "motion_of_model",
    "motion_of_result",
    "refuse_page",
    "result_of_table",
    "write_page",
]

FRAMES = 1000
"""Largest number of pictures; the page interpolates between them."""
CURVE = 2000
"""Largest number of points of a curve."""
PANELS, SERIES = 5, 4
"""Largest number of plots, and of curves in each."""


def write_page(motion: Trajectory, path: str | os.PathLike[str], title: str, subtitle: str = "") -> Path:
    """Write a page that plays a motion.

    Args:
        motion: the motion to play.
        path: path of an .html file.
        title: title above the page.
        subtitle: text beside the title.

    Raises:
        UsageError: the path does not end in .html, or plotly is not installed.
        MbfmuError: the file cannot be written.
    """
    refuse_page(path)
    from plotly.offline import get_plotlyjs

    here = resources.files("mbfmu.view")
    page = (here / "page.html").read_text(encoding="utf-8")
    content = {
        "TITLE": html.escape(title),
        "SUBTITLE": html.escape(subtitle),
        "MOTION": json.dumps(_content(motion)).replace("<", "\\u003c"),  # a name must not end the script element
        "SCRIPT": (here / "page.js").read_text(encoding="utf-8"),
        "PLOTLY": get_plotlyjs(),
    }
    for key, text in content.items():
        page = page.replace(f"@{key}@", text)
    return write_aside(Path(path), page.encode("utf-8"))


def refuse_page(path: str | os.PathLike[str]) -> None:
    """Raise an error before a motion is run if `write_page` cannot write its page.

    Raises:
        UsageError: the path does not end in .html, or plotly is not installed.
    """
    ending_of(Path(path), (".html", ".htm"))
    try:
        import plotly.offline  # noqa: F401
    except ImportError:
        raise UsageError('a page needs plotly: python -m pip install "mbfmu[view]"') from None


def _content(motion: Trajectory) -> dict[str, Any]:
    """Return a motion as data for the page's script."""
    some = _thinned(len(motion.result.time), FRAMES)
    curve = _thinned(len(motion.result.time), CURVE)
    places = {item.body: number for number, item in enumerate(motion.axes)}
    return {
        "dim": motion.points.shape[2],
        "size": motion.size,
        "frame_times": _packed(motion.result.time[some]),
        "frames": _packed(motion.points[some]),
        "bones": [[bone.body, bone.start, bone.end] for bone in motion.bones],
        "joints": list(motion.joints),
        "ground": motion.ground(),
        "axes": [{"origin": item.origin, "tips": item.tips, "wanted": item.wanted} for item in motion.axes],
        "arm": AXIS * motion.size,
        "solids": [
            {
                "body": look.body,
                "axes": places.get(look.body, -1),
                "vertices": _packed(look.vertices),
                "triangles": look.triangles.tolist(),
                "colour": look.colour,
            }
            for look in motion.looks
        ],
        "up": motion.up,
        "plot_times": _packed(motion.result.time[curve]),
        "panels": [
            {
                "label": label,
                "series": [{"name": name, "values": _packed(motion.result[name][curve])} for name in names],
            }
            for label, names in _panels(motion.result)
        ],
    }


def _panels(result: Result) -> list[tuple[str, list[str]]]:
    shown = [name for name in coordinates(result) if np.any(result[name])]
    panels = [(label, [name for name in shown if result.units.get(name) == unit]) for unit, label in KINDS.items()]
    energies: list[str] = [
        name for name in ("energy.total", "energy.kinetic", "energy.potential") if name in result.names
    ]
    return [(label, names[:SERIES]) for label, names in panels if names][: PANELS - 1] + (
        [("energy [J]", energies)] if energies else []
    )


def _thinned(count: int, most: int) -> npt.NDArray[np.int64]:
    """Return at most `most` of `count` indices, including the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _packed(values: npt.NDArray[np.float64]) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")
