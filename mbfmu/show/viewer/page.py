"""Page: the HTML file that plays a motion: its data, its script and three.js."""

import base64
import html
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from mbfmu.base import extras
from mbfmu.base.files import ending_of, write_aside
from mbfmu.base.result import KINDS, Result, coordinates, matching
from mbfmu.base.units import shown_unit
from mbfmu.errors import UsageError
from mbfmu.fmu.picture import COLOURS
from mbfmu.show.viewer.bending import Skin
from mbfmu.show.viewer.drawing import drawing_of
from mbfmu.show.viewer.exchanged import ROLES
from mbfmu.show.viewer.gltf import glb_of
from mbfmu.show.viewer.motion import ShownMotion, unit_of
from mbfmu.show.viewer.rrd import rerun, rrd_of

Array = npt.NDArray[np.float64]

THREE = "static/r130/three.min.js"
"""Path of three.js, with its orbit controls, in the package jupyter_threejs_sage."""
FRAMES, FEWEST = 1000, 100
"""Largest and smallest number of pictures; the page interpolates between them."""
NUMBERS = 75_000
"""Number of numbers that all pictures together may have, by which long runs of many bodies have fewer pictures."""
CURVE = 1000
"""Largest number of points of a curve."""
SPARSE, SPARSEST = 60_000, 50
"""Number of points of all curves together that are not shown at first, and the smallest number of one of them."""
PANELS, SERIES = 5, 4
"""Largest number of plots, and of curves in each, of those that are shown at first without a request."""
FARTHEST = 1e18
"""Largest coordinate of a body that a page shows, m, as browsers compute with its square in 32 bits."""
EXCHANGED: dict[str, Callable[[Mapping[str, Any]], bytes]] = {".glb": glb_of, ".rrd": rrd_of}
"""Formats of other programs by the endings of files, with what writes them."""
HEIGHT = 560
"""Height of a page in a notebook, pixels."""


@dataclass(frozen=True)
class Page:
    """A page that plays a motion.

    Args:
        html: the whole page.
        stop: end of the motion, s.
        live: whether it computes the motion itself.
        scene: bodies, motion and curves, which its script draws; empty: it draws none, or computes the motion.
        begin: beginning of the motion, s.
    """

    html: str
    stop: float
    live: bool = False
    scene: Mapping[str, Any] = field(default_factory=dict, repr=False)
    begin: float = 0.0

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as an .html file, bodies and motion as .glb (binary glTF), or with all curves as .rrd (Rerun).

        Raises:
            UsageError: the path has another ending, or is a .glb or an .rrd file and there is no recorded motion.
            MbfmuError: the file cannot be written.
        """
        refuse_page(path)
        ending = Path(path).suffix.lower()
        if ending in EXCHANGED:
            if not self.scene:
                raise UsageError(f"'{os.fspath(path)}': a {ending} file is of a recorded motion; this page has none")
            if self.scene["skins"]:
                warnings.warn(f"flexible bodies are left out of a {ending} file", stacklevel=2)
            return write_aside(Path(path), EXCHANGED[ending](self.scene))
        return write_aside(Path(path), self.html.encode("utf-8", "replace"))  # a file's name may hold what is no text

    def __repr__(self) -> str:
        return f"Page({len(self.html)} characters; .write('page.html') writes it)"

    def _repr_html_(self) -> str:
        """Return the page in a frame, as notebooks show it."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #ddd"></iframe>'
        )


def page_of(
    motion: ShownMotion, title: str, subtitle: str = "", deformation: float = 1.0, show: Sequence[str] = ()
) -> Page:
    """Return a page that plays a motion.

    Args:
        motion: the motion to play.
        title: title above the page.
        subtitle: text beside the title.
        deformation: factor of the displacements of flexible bodies.
        show: names of the curves, or patterns, see `matching`; empty: a selection.

    Raises:
        UsageError: three.js is not installed, the factor is no finite number from 0 on, or a pose is not finite or too
            far away.
        UnknownNameError: there is no such curve.
    """
    refuse_deformation(deformation)
    scene = scene_of(motion)
    content = {**scene, **_curves(motion.result, show), "deformation": deformation}
    begin, stop = (float(motion.result.time[k]) for k in (0, -1))
    return Page(written(title, subtitle, content, "recorded.js"), stop, scene=content, begin=begin)


def written(title: str, subtitle: str, content: dict[str, Any], script: str, live: str = "", policy: str = "") -> str:
    """Return the text of a page.

    Args:
        title: title above the page.
        subtitle: text beside the title.
        content: what its scripts read.
        script: name of the script that moves it.
        live: further elements.
        policy: what its content policy allows further.
    """
    here = resources.files("mbfmu.show.viewer")
    parts = {
        "TITLE": html.escape(title),
        "SUBTITLE": html.escape(subtitle),
        "MOTION": embedded({**content, "colours": COLOURS, "roles": ROLES}),
        "LIVE": live,
        "POLICY": policy,
        "SCRIPT": "".join((here / name).read_text(encoding="utf-8") for name in ("scene.js", "plots.js", script)),
        "THREE": three_js(),
    }
    return re.sub(
        r"@([A-Z]+)@", lambda match: parts[match[1]], (here / "page.html").read_text(encoding="utf-8")
    )  # fmt: skip


def embedded(content: dict[str, Any]) -> str:
    """Return data as the text of a script element, which no name in it ends."""
    return json.dumps(content, allow_nan=False).replace("<", "\\u003c")


def three_js() -> str:
    """Return the source of three.js.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return (resources.files("jupyter_threejs_sage") / THREE).read_text(encoding="utf-8")
    except (ImportError, OSError):
        raise UsageError(f"a page needs three.js: {extras.command('view')}") from None


def refuse_page(path: str | os.PathLike[str] = "page.html", recorded: bool = True) -> None:
    """Raise an error before a motion is run if its page cannot be made.

    Args:
        path: path of the file.
        recorded: whether it plays a recorded motion, which may be a .glb or an .rrd file too.

    Raises:
        UsageError: the path has another ending, or three.js or, for an .rrd file, Rerun is not installed.
    """
    if ending_of(Path(path), (".html", ".htm", *EXCHANGED) if recorded else (".html", ".htm")) == ".rrd":
        rerun()
    three_js()


def refuse_deformation(factor: float) -> None:
    """Raise an error if a factor of displacements is not a finite number from 0 on.

    Raises:
        UsageError: it is not.
    """
    if not (math.isfinite(factor) and factor >= 0):
        raise UsageError(f"the factor of the deformation is {factor}: it must be a finite number from 0 on")


def scene_of(motion: ShownMotion, most: int = FRAMES) -> dict[str, Any]:
    """Return bodies, solids and poses of a motion as data for the page's script.

    Args:
        motion: the motion.
        most: largest number of pictures.

    Raises:
        UsageError: a pose is not finite or too far away.
    """
    if not (np.abs(motion.r).max(initial=0.0) <= FARTHEST and np.isfinite(motion.R).all()):
        raise UsageError(f"the motion cannot be shown: a pose is not finite, or farther than {FARTHEST:g} m away")
    indices = {body: index for index, body in enumerate(motion.bodies)}
    indices[""] = -1
    # as many pictures as NUMBERS allows, within FEWEST and FRAMES
    per_frame = max(1, len(motion.bodies)) * (3 if motion.dim == 2 else 7)
    per_frame += sum(eta.shape[1] for eta in motion.eta.values())
    some = thinned(len(motion.result.time), min(most, max(FEWEST, NUMBERS // per_frame)))
    drawing = drawing_of(motion, some)
    # one colour for each body, but for the parts of a cylinder, which share that of its barrel
    colours = list(dict.fromkeys(drawing.leader(body) for body in motion.bodies))
    return {
        "dim": motion.dim,
        "size": motion.size,
        "up": [*motion.up, 0.0][:3],
        "times": packed(motion.result.time[some], "<f8"),
        "poses": packed(_poses(motion.r[some], motion.R[some])),
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
                **_plain({"at": item.at, "end": item.to, "axle": item.axle}), "winds": item.winds,
            }
            for item in drawing.struts
        ],
        "meshes": [
            {
                "body": indices[look.body],
                "vertices": packed(look.vertices + np.array([0.0, 0.0, drawing.levels.get(look.body, 0.0)])),
                "triangles": packed(look.triangles, "<u4"),
                "colour": look.colour,
            }
            for look in motion.geometry.looks
            if look.body in indices
        ],
        "skins": [packed_skin(item, indices[item.body]) for item in drawing.skins],
        "tips": [[indices[body], _space(point)] for body, point in _tips(motion)],
    }  # fmt: skip


def _curves(result: Result, show: Sequence[str]) -> dict[str, Any]:
    """Return all variables of a run as curves, with the names of those that are shown at first."""
    shown = list(matching(show, result.names)) if show else usual(result)
    others = len(result.names) - len(shown)
    fine = thinned(len(result.time), CURVE)
    sparse = thinned(len(result.time), min(CURVE, max(SPARSEST, SPARSE // max(1, others))))
    curves = [
        {
            "name": name,
            "label": label_of(unit, display.name),
            "sparse": name not in shown,
            "values": packed(display.factor * result[name][fine if name in shown else sparse]),
        }
        for name in dict.fromkeys([*shown, *result.names])
        for unit in [result.units.get(name, unit_of(name))]
        for display in [shown_unit(unit, result.display)]
    ]
    times = {"curve_times": fine, "sparse_times": sparse}
    return {
        **{name: packed(result.time[some], "<f8") for name, some in times.items()},
        "curves": curves,
        "shown": shown,
    }


def label_of(unit: str, shown: str) -> str:
    """Return the label of the plot of curves with an SI unit that are shown in some unit."""
    label = KINDS.get(unit, "energy [J]" if unit == "J" else f"[{unit or '1'}]")
    return label.replace(f"[{unit}]", f"[{shown}]")


def packed_skin(skin: Skin, body: int) -> dict[str, Any]:
    """Return a moving surface as data."""
    return {
        "body": body,
        "vertices": packed(skin.rest),
        "triangles": packed(skin.triangles, "<u4"),
        "shapes": packed(skin.shapes),
        "weights": packed(skin.weights),
        "components": skin.stresses.shape[2],
        "stresses": packed(skin.stresses),
        "loads": packed(skin.loads),
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


def usual(result: Result) -> list[str]:
    """Return the names of the curves that are shown at first: those that a plot shows, by their units, and energies."""
    shown = [name for name in coordinates(result) if np.any(result[name])]
    panels = [[name for name in shown if result.units.get(name, unit_of(name)) == unit][:SERIES] for unit in KINDS]
    energies = [name for name in ("energy.total", "energy.kinetic", "energy.potential") if name in result.names]
    return [name for names in [names for names in panels if names][: PANELS - 1] for name in names] + energies


def thinned(count: int, most: int) -> npt.NDArray[np.int64]:
    """Return at most `most` of `count` indices, including the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def packed(values: npt.NDArray[Any], kind: str = "<f4") -> str:
    """Return numbers as text for the page's script."""
    with np.errstate(over="ignore"):  # a value of a curve that is too large becomes infinite, and is a gap
        return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")
