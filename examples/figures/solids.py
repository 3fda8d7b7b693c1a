"""The solids by which `mbfmu view` shows a mechanism, as outlines: what the viewer draws, in a figure of lines."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from scipy.spatial import ConvexHull

from mbfmu.show.viewer.drawing import Solid, drawing_of
from mbfmu.show.viewer.motion import ShownMotion

Array = npt.NDArray[np.float64]

LOOK = np.array([0.62, 0.42, 0.66])
"""Direction from a mechanism in space to the eye; y is up."""
LOOK = LOOK / np.linalg.norm(LOOK)
SIDE = np.cross([0.0, 1.0, 0.0], LOOK)
SIDE = SIDE / np.linalg.norm(SIDE)
ABOVE = np.cross(LOOK, SIDE)
ROLES = {"body": "#5a9fd4", "steel": "#c9ced4", "joint": "#4d555e", "ground": "#aab0b6"}
AROUND = np.arange(16) * 2 * np.pi / 16


@dataclass(frozen=True)
class BoldMotion(ShownMotion):
    """A motion whose bars are drawn thicker, as a small figure needs it.

    Args:
        extent: size by which the viewer chooses thicknesses, m.
    """

    extent: float = 1.0

    @property
    def size(self) -> float:
        """The extent that was supplied."""
        return self.extent


def flat(points: Array, planar: bool = False) -> Array:
    """Return the points of space in the plane of the figure, shape (n, 2)."""
    points = np.atleast_2d(points)
    seen: Array = points[:, :2] if planar else np.column_stack([points @ SIDE, points @ ABOVE])
    return seen


def circle(at: Array, normal: Array, radius: float) -> Array:
    """Return points of a circle, m, shape (16, 3)."""
    x = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    x /= np.linalg.norm(x)
    y = np.cross(normal, x)
    circle: Array = at + radius * (np.cos(AROUND)[:, None] * x + np.sin(AROUND)[:, None] * y)
    return circle


def _points(item: Solid) -> Array:
    sizes = item.sizes
    if item.kind == "ball":
        return circle(sizes["at"], LOOK, sizes["radius"])
    if item.kind == "plate":
        edge = sizes["at"] + sizes["outline"][:, :1] * sizes["x"] + sizes["outline"][:, 1:] * sizes["y"]
        normal = np.cross(sizes["x"], sizes["y"])
        return np.vstack([edge - sizes["thick"] / 2 * normal, edge + sizes["thick"] / 2 * normal])
    way = sizes["to"] - sizes["at"]
    return np.vstack([circle(sizes["at"], way, sizes["radius"]), circle(sizes["to"], way, sizes["end"])])


def paint(axes: Axes, motion: ShownMotion, moment: int = 0, alpha: float = 1.0, bold: float = 4.0) -> None:
    """Draw a mechanism as it is at one time of its motion.

    Args:
        axes: axes of the figure.
        motion: the motion.
        moment: index of the time.
        alpha: opacity.
        bold: factor of the thickness of bars.
    """
    planar = motion.dim == 2
    bolder = BoldMotion(
        motion.result, motion.r, motion.R, motion.geometry, motion.up, motion.eta, extent=bold * motion.size
    )
    drawing = drawing_of(bolder)
    pieces: list[tuple[float, Array, str]] = []
    for item in drawing.solids:
        if item.kind == "rail" and planar and not item.body:
            continue
        points = _points(item)
        if item.body:
            index = motion.bodies.index(item.body)
            R, r = np.eye(3), np.zeros(3)
            R[: motion.dim, : motion.dim], r[: motion.dim] = motion.R[moment, index], motion.r[moment, index]
            points = points @ R.T + r
        pieces.append((float((points @ ([0, 0, 1] if planar else LOOK)).mean()), points, item.role))
    for strut in drawing.struts:
        ends = [
            np.append(motion.track(body, at[: motion.dim])[moment], [0.0] * (3 - motion.dim))
            for body, at in ((strut.near, strut.at), (strut.far, strut.to))
        ]
        rod = Solid("tube", "", strut.role, {"at": ends[0], "to": ends[1], "radius": strut.radius, "end": strut.radius})
        points = _points(rod)
        pieces.append((float((points @ LOOK).mean()), points, strut.role))
    for _, points, role in sorted(pieces, key=lambda piece: piece[0]):
        seen = flat(points, planar)
        hull = seen[ConvexHull(seen, qhull_options="QJ").vertices]
        axes.fill(*hull.T, facecolor=ROLES[role], edgecolor="#333333", linewidth=0.5, alpha=alpha, zorder=2)
