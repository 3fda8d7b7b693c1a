"""Page: the HTML file that plays a motion: its data, its script and three.js."""

import base64
import html
import json
import math
import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from mbfmu.base import extras
from mbfmu.base.files import ending_of, write_aside
from mbfmu.base.result import KINDS, Result, coordinates
from mbfmu.errors import UsageError
from mbfmu.show.viewer.bending import Skin
from mbfmu.show.viewer.drawing import drawing_of
from mbfmu.show.viewer.motion import ShownMotion, unit_of

Array = npt.NDArray[np.float64]

THREE = "static/r130/three.min.js"
"""Path of three.js, with its orbit controls, in the package jupyter_threejs_sage."""
FRAMES, FEWEST = 1000, 100
"""Largest and smallest number of pictures; the page interpolates between them."""
NUMBERS = 75_000
"""Number of numbers that all pictures together may have, by which long runs of many bodies have fewer pictures."""
CURVE = 1000
"""Largest number of points of a curve."""
PANELS, SERIES = 5, 4
"""Largest number of plots, and of curves in each."""
FARTHEST = 1e18
"""Largest coordinate of a body that a page shows, m, as browsers compute with its square in 32 bits."""
HEIGHT = 560
"""Height of a page in a notebook, pixels."""


@dataclass(frozen=True)
class Page:
    """A page that plays a motion.

    Args:
        html: the whole page.
        stop: end of the motion, s.
    """

    html: str
    stop: float

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as an .html file.

        Raises:
            UsageError: the path does not end in .html.
            MbfmuError: the file cannot be written.
        """
        refuse_page(path)
        return write_aside(Path(path), self.html.encode("utf-8", "replace"))  # a file's name may hold what is no text

    def __repr__(self) -> str:
        return f"Page({len(self.html)} characters; .write('page.html') writes it)"

    def _repr_html_(self) -> str:
        """Return the page in a frame, as notebooks show it."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #ddd"></iframe>'
        )


def page_of(motion: ShownMotion, title: str, subtitle: str = "", deformation: float = 1.0) -> Page:
    """Return a page that plays a motion.

    Args:
        motion: the motion to play.
        title: title above the page.
        subtitle: text beside the title.
        deformation: factor of the displacements of flexible bodies.

    Raises:
        UsageError: three.js is not installed, the factor is no finite number from 0 on, or a pose is not finite or too
            far away.
    """
    refuse_deformation(deformation)
    if not (np.abs(motion.r).max(initial=0.0) <= FARTHEST and np.isfinite(motion.R).all()):
        raise UsageError(f"the motion cannot be shown: a pose is not finite, or farther than {FARTHEST:g} m away")
    here, shown = resources.files("mbfmu.show.viewer"), {**_content(motion), "deformation": deformation}
    content = {
        "TITLE": html.escape(title),
        "SUBTITLE": html.escape(subtitle),
        "MOTION": json.dumps(shown).replace("<", "\\u003c"),  # a name must not end the script element
        "SCRIPT": (here / "page.js").read_text(encoding="utf-8"),
        "THREE": three_js(),
    }
    page = (here / "page.html").read_text(encoding="utf-8")
    return Page(re.sub(r"@([A-Z]+)@", lambda match: content[match[1]], page), float(motion.result.time[-1]))


def three_js() -> str:
    """Return the source of three.js.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return (resources.files("jupyter_threejs_sage") / THREE).read_text(encoding="utf-8")
    except (ImportError, OSError):
        raise UsageError(f"a page needs three.js: {extras.command('view')}") from None


def refuse_page(path: str | os.PathLike[str] = "page.html") -> None:
    """Raise an error before a motion is run if its page cannot be made.

    Raises:
        UsageError: the path does not end in .html, or three.js is not installed.
    """
    ending_of(Path(path), (".html", ".htm"))
    three_js()


def refuse_deformation(factor: float) -> None:
    """Raise an error if a factor of displacements is not a finite number from 0 on.

    Raises:
        UsageError: it is not.
    """
    if not (math.isfinite(factor) and factor >= 0):
        raise UsageError(f"the factor of the deformation is {factor}: it must be a finite number from 0 on")


def _content(motion: ShownMotion) -> dict[str, Any]:
    """Return a motion as data for the page's script."""
    indices = {body: index for index, body in enumerate(motion.bodies)}
    indices[""] = -1
    # as many pictures as NUMBERS allows, within FEWEST and FRAMES
    per_frame = max(1, len(motion.bodies)) * (3 if motion.dim == 2 else 7)
    per_frame += sum(eta.shape[1] for eta in motion.eta.values())
    some = _thinned(len(motion.result.time), max(FEWEST, min(FRAMES, NUMBERS // per_frame)))
    drawing = drawing_of(motion, some)
    # one colour for each body, but for the parts of a cylinder, which share that of its barrel
    colours = list(dict.fromkeys(drawing.leader(body) for body in motion.bodies))
    curve = _thinned(len(motion.result.time), CURVE)
    return {
        "dim": motion.dim,
        "size": motion.size,
        "up": [*motion.up, 0.0][:3],
        "times": _packed(motion.result.time[some], "<f8"),
        "poses": _packed(_poses(motion.r[some], motion.R[some])),
        "bodies": [
            {
                "name": body,
                "group": motion.geometry.owners.get(body, body).rpartition(".")[0].partition(".")[0],
                "colour": colours.index(drawing.leader(body)),
                "drawn": body in drawing.drawn,
                "owner": indices[motion.geometry.owners.get(body, "")],
            }
            for body in motion.bodies
        ],
        "solids": [
            {"kind": item.kind, "body": indices[item.body], "role": item.role, **_plain(item.sizes)}
            for item in drawing.solids
        ],
        "struts": [
            {
                "near": indices[item.near], "far": indices[item.far], "radius": item.radius, "role": item.role,
                **_plain({"at": item.at, "end": item.to}),
            }
            for item in drawing.struts
        ],
        "meshes": [
            {
                "body": indices[look.body],
                "vertices": _packed(look.vertices),
                "triangles": _packed(look.triangles, "<u4"),
                "colour": look.colour,
            }
            for look in motion.geometry.looks
            if look.body in indices
        ],
        "skins": [_skin(item, indices[item.body]) for item in drawing.skins],
        "tips": [[indices[body], _space(point)] for body, point in _tips(motion)],
        "curve_times": _packed(motion.result.time[curve], "<f8"),
        "panels": [
            {
                "label": label,
                "series": [{"name": name, "values": _packed(motion.result[name][curve])} for name in names],
            }
            for label, names in _panels(motion.result)
        ],
    }  # fmt: skip


def _skin(skin: Skin, body: int) -> dict[str, Any]:
    """Return a moving surface as data."""
    return {
        "body": body,
        "vertices": _packed(skin.rest),
        "triangles": _packed(skin.triangles, "<u4"),
        "shapes": _packed(skin.shapes),
        "weights": _packed(skin.weights),
        "components": skin.stresses.shape[2],
        "stresses": _packed(skin.stresses),
        "loads": _packed(skin.loads),
        "largest": skin.largest,
    }


def _poses(r: Array, R: Array) -> Array:
    """Return position and angle, counted over full turns, or position and quaternion, shape (n_t, n_b, 3 or 7)."""
    if r.shape[2] == 2:
        phi = np.unwrap(np.arctan2(R[..., 1, 0], R[..., 0, 0]), axis=0)
        return np.concatenate([r, phi[..., None]], axis=2)
    Q = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat(canonical=True).reshape(*r.shape[:2], 4)
    return np.concatenate([r, Q[..., 3:], Q[..., :3]], axis=2)


def _tips(motion: ShownMotion) -> list[tuple[str, Array]]:
    """Return the point of each body whose trace is drawn: the attachment that moves most."""
    tips = []
    for body, attached in motion.geometry.bodies.items():
        if body in motion.geometry.bent:  # its frames have traces
            continue
        points = [*attached.anchors, *([] if attached.center is None else [attached.center])]
        if points:
            ways = [np.linalg.norm(np.ptp(motion.track(body, point), axis=0)) for point in points]
            tips.append((body, points[int(np.argmax(ways))]))
    return tips


def _plain(sizes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.round(6).tolist() if isinstance(value, np.ndarray) else float(value)
        for name, value in sizes.items()
    }


def _space(point: Array) -> list[float]:
    return [*(float(value) for value in point.round(6)), 0.0][:3]


def _panels(result: Result) -> list[tuple[str, list[str]]]:
    shown = [name for name in coordinates(result) if np.any(result[name])]
    panels = [
        (label, [name for name in shown if result.units.get(name, unit_of(name)) == unit])
        for unit, label in KINDS.items()
    ]
    energies: list[str] = [
        name for name in ("energy.total", "energy.kinetic", "energy.potential") if name in result.names
    ]
    return [(label, names[:SERIES]) for label, names in panels if names][: PANELS - 1] + (
        [("energy [J]", energies)] if energies else []
    )


def _thinned(count: int, most: int) -> npt.NDArray[np.int64]:
    """Return at most `most` of `count` indices, including the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _packed(values: npt.NDArray[Any], kind: str = "<f4") -> str:
    with np.errstate(over="ignore"):  # a value of a curve that is too large becomes infinite, and is a gap
        return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")
