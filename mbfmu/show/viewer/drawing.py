"""Drawing: simple solids for the bodies and joints of a mechanism: bars, plates, balls, pins, cylinders with rods."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.show.viewer.bending import Skin, skin_of
from mbfmu.show.viewer.geometry import Attachments, JointPosition
from mbfmu.show.viewer.motion import ShownMotion

Array = npt.NDArray[np.float64]

THICK = {2: 0.02, 3: 0.013}
"""Radius of bars relative to the mechanism's size, in the plane and in space."""
SLENDER = 0.12
"""Largest radius of a bar relative to its length."""
FLAT = 1e-3
"""Distance from a line or plane, relative to a body's extent, within which its points lie on it."""
APART = 1e-2
"""Distance of a joint's two frames, relative to the mechanism's size, from which on it is not drawn as a point."""
FILLED = 0.7
"""Length of a barrel relative to the shortest length of its cylinder, where the joint does not say it."""
APART_BY = 0.15
"""Part of the distance of two levels over which the bodies of one level are spread."""
SMALLEST, LARGEST = 0.5, 5.0
"""Smallest and largest side of a box with a body's inertia that is drawn, relative to the radius of a bar and to the
mechanism's size."""
LINE = 0.3
"""Radius of a rope, spring or damper relative to the radius of a bar."""
CORNERS = 24
"""Number of corners of a circle in the outline of a plate."""


@dataclass(frozen=True)
class Solid:
    """A simple solid fixed to a body.

    Args:
        kind: ``ball`` (at, radius), ``tube`` (at, to, radius, end), ``rail``, which is a tube that need not be in the
            picture as a whole, ``plate`` (at, x, y, outline, thick), or ``box`` (at, x, y, sides).
        body: full name of the body; empty for the world.
        role: ``body``, ``steel``, ``joint``, ``rope`` or ``ground``: what its colour says.
        sizes: the arguments in brackets, in the body's frame_a with three coordinates, m.
    """

    kind: str
    body: str
    role: str
    sizes: dict[str, Any]


@dataclass(frozen=True)
class Strut:
    """A round rod between points of two bodies, drawn as long as they are apart.

    Args:
        near: full name of the first body; empty for the world.
        at: its point, m, shape (3,).
        far: full name of the second body; empty for the world.
        to: its point, m, shape (3,).
        radius: m.
        role: as in `Solid`.
        axle: unit vector of the axle of sheaves about both points, in the frame_a of the first body, shape (3,).
        winds: their signed radii, m: it is their common tangent, see `Reeving`; 0 at a point.
    """

    near: str
    at: Array
    far: str
    to: Array
    radius: float
    role: str
    axle: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    winds: tuple[float, float] = (0.0, 0.0)


@dataclass
class Drawing:
    """Everything that is drawn.

    Args:
        solids: solids fixed to bodies.
        struts: rods between bodies.
        drawn: full names of the bodies that show by more than a ball.
        partners: the body of the barrel, by the body of its rod: they have one colour; a flexible body, by its frames.
        skins: the surfaces of flexible bodies.
        levels: height of each body above the plane, m.
    """

    solids: list[Solid] = field(default_factory=list)
    struts: list[Strut] = field(default_factory=list)
    drawn: set[str] = field(default_factory=set)
    partners: dict[str, str] = field(default_factory=dict)
    skins: list[Skin] = field(default_factory=list)
    levels: dict[str, float] = field(default_factory=dict)

    def leader(self, body: str) -> str:
        """Return the body whose colour a body has: of a cylinder's parts the outermost barrel."""
        seen: set[str] = set()
        while body in self.partners and body not in seen:
            seen.add(body)
            body = self.partners[body]
        return body

    def ball(self, body: str, at: Array, radius: float, role: str = "body") -> None:
        """Add a ball."""
        self.solids.append(Solid("ball", body, role, {"at": at, "radius": radius}))

    def tube(
        self, body: str, at: Array, to: Array, radius: float, role: str = "body", end: float | None = None
    ) -> None:
        """Add a round bar from `at` to `to`; end: radius there, if it is another."""
        sizes = {"at": at, "to": to, "radius": radius, "end": radius if end is None else end}
        self.solids.append(Solid("tube", body, role, sizes))

    def plate(self, body: str, points: Array, normal: Array, radius: float, thick: float, role: str = "body") -> None:
        """Add a plate around points in a plane, round at its corners."""
        at = points.mean(axis=0)
        x = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
        x /= np.linalg.norm(x)
        y = np.cross(normal, x)
        flat = np.column_stack([(points - at) @ x, (points - at) @ y])
        sizes = {"at": at, "x": x, "y": y, "outline": outline(flat, radius), "thick": thick}
        self.solids.append(Solid("plate", body, role, sizes))


@dataclass(frozen=True)
class Cylinder:
    """A barrel on one body and a rod on another.

    Args:
        joint: the sliding joint.
        foot: end of the barrel away from the rod, seen from the barrel's body, shape (2 or 3,).
        mouth: end of the barrel that the rod comes out of, seen from the same body.
        eye: outer end of the rod, seen from the rod's body.
        shortest: least distance from foot to eye in the run, m.
    """

    joint: JointPosition
    foot: Array
    mouth: Array
    eye: Array
    shortest: float


def drawing_of(motion: ShownMotion, some: npt.NDArray[np.int64] | None = None) -> Drawing:
    """Return the solids that show a motion's bodies and joints, but not their looks.

    Args:
        motion: the motion.
        some: numbers of the times at which the shapes of flexible bodies are shown; None: all.
    """
    drawing, size, owners = Drawing(), motion.size, motion.geometry.owners
    drawing.partners |= owners
    clad = {look.body for look in motion.geometry.looks}
    cylinders = [item for joint in motion.geometry.joints if (item := cylinder_of(motion, joint))]
    layers = _layers(motion, [item.joint for item in cylinders])
    drawing.levels |= layers
    radius = THICK[motion.dim] * size
    drawing.drawn |= clad
    tubular: dict[str, list[Cylinder]] = {}
    for item in cylinders:
        if not {item.joint.near, item.joint.far} & clad:
            _draw_cylinder(drawing, item, radius, layers)
            tubular.setdefault(item.joint.near, []).append(item)
            tubular.setdefault(item.joint.far, []).append(item)
    for body, attached in motion.geometry.bodies.items():
        if body in clad or body in owners:
            drawing.drawn |= {body} & {*owners}
            continue
        if bent := motion.geometry.bent.get(body):
            eta = motion.eta[body][slice(None) if some is None else some]
            skin = skin_of(body, bent, eta, radius, layers[body])
            drawing.drawn.add(body)
            if skin:
                drawing.skins.append(skin)
            else:
                _draw_lines(drawing, motion, body, radius, layers)
            continue
        points = _without(attached.anchors, tubular.get(body, []), body, size)
        if body not in tubular or len(points):
            points = points if body in tubular else attached.anchors
            if not _draw_box(drawing, body, attached, points, radius, size):
                _draw_body(drawing, body, attached.center, points, radius, layers)
    _draw_arms(drawing, motion, radius, layers)
    sliders = {item.joint.name for item in cylinders}
    for joint in motion.geometry.joints:
        if not {joint.near, joint.far} & clad - {""}:
            _draw_joint(drawing, motion, joint, radius, layers, joint.name in sliders)
    _draw_spans(drawing, motion, radius, layers)
    return drawing


def cylinder_of(motion: ShownMotion, joint: JointPosition) -> Cylinder | None:
    """Return the cylinder that a sliding joint between two moving bodies shows as; None if it is none.

    Barrel and rod reach from the attachment of one body that is farthest back on the joint's axis to the attachment of
    the other that is farthest ahead, which must stay ahead of it over the whole run.
    """
    if joint.motion != "slides" or not (joint.near and joint.far):
        return None
    back = [point for point in motion.geometry.bodies[joint.near].anchors if _on_axis(point, joint, motion.size)]
    ahead = list(motion.geometry.bodies[joint.far].anchors)
    along = np.array([(point - joint.start) @ joint.axis for point in back])
    index = motion.bodies.index(joint.near)
    start = motion.track(joint.near, joint.start)
    axis = motion.R[:, index] @ joint.axis
    cylinders: list[tuple[float, Cylinder]] = []
    for foot, behind in zip(back, along.tolist(), strict=True):
        for eye in ahead:
            reach = np.einsum("tk,tk->t", motion.track(joint.far, eye) - start, axis) - behind
            side = math.copysign(1.0, reach[0])
            shortest, longest = float((side * reach).min()), float((side * reach).max())
            if shortest < 0.2 * longest or longest < FLAT * motion.size:
                continue
            mouth = -behind * side  # of the joint's frame_a, from the foot
            if not 0.3 * shortest < mouth < 0.95 * shortest:
                mouth = FILLED * shortest
            end = foot + side * mouth * joint.axis
            cylinders.append((shortest, Cylinder(joint, foot, end, eye, shortest)))
    return max(cylinders, key=lambda item: item[0])[1] if cylinders else None


def _on_axis(point: Array, joint: JointPosition, size: float) -> bool:
    arm = point - joint.start
    return bool(np.linalg.norm(arm - (arm @ joint.axis) * joint.axis) < 0.02 * size)


def _draw_cylinder(drawing: Drawing, item: Cylinder, radius: float, layers: dict[str, float]) -> None:
    near, far = item.joint.near, item.joint.far
    foot, mouth = (_raised(point, layers[near]) for point in (item.foot, item.mouth))
    eye = _raised(item.eye, layers[far])
    r = min(1.5 * radius, SLENDER * item.shortest)
    n = (mouth - foot) / np.linalg.norm(mouth - foot)
    drawing.tube(near, foot + 1.2 * r * n, mouth, r)
    drawing.tube(near, foot, foot + 1.2 * r * n, 0.6 * r)
    drawing.tube(near, mouth - 0.9 * r * n, mouth + 0.1 * r * n, 1.18 * r)
    drawing.ball(near, foot, r)
    drawing.ball(far, eye, 0.85 * r)
    drawing.struts.append(Strut(near, mouth - 0.5 * r * n, far, eye, 0.55 * r, "steel"))
    drawing.drawn |= {near, far}
    drawing.partners[far] = near


def _without(anchors: Array, cylinders: list[Cylinder], body: str, size: float) -> Array:
    """Return the anchors off the axes of the cylinders that show a body."""
    kept = [
        point
        for point in anchors
        if not any(
            _off_axis(point, item.joint.start if body == item.joint.near else item.eye, item, body) < 0.02 * size
            for item in cylinders
        )
    ]
    return np.array(kept).reshape(-1, anchors.shape[1])


def _off_axis(point: Array, on: Array, item: Cylinder, body: str) -> float:
    arm = point - on
    if body == item.joint.near:
        arm = arm - (arm @ item.joint.axis) * item.joint.axis
    return float(np.linalg.norm(arm))


def _draw_box(drawing: Drawing, body: str, attached: Attachments, points: Array, radius: float, size: float) -> bool:
    """Draw a body without length as the box with its mass and inertia; return whether it is drawn.

    A box that is much larger than the mechanism stands for an inertia that nothing depends on, and is not drawn.
    """
    center, sides, axes = attached.center, attached.sides, attached.axes
    if center is None or sides is None or axes is None or len(_distinct(np.vstack([points, center]))) > 1:
        return False
    if not (sides.min() > SMALLEST * radius and sides.max() < LARGEST * size):
        return False
    drawing.solids.append(Solid("box", body, "body", {"at": center, "x": axes[:, 0], "y": axes[:, 1], "sides": sides}))
    drawing.drawn.add(body)
    return True


def _draw_body(
    drawing: Drawing, body: str, center: Array | None, anchors: Array, radius: float, layers: dict[str, float]
) -> None:
    points = _distinct(anchors)
    if len(points) < 2 and center is not None:
        points = _distinct(np.vstack([points, center]))
    raised = _raised(points, layers[body])
    middle = raised.mean(axis=0)
    extent = float(np.ptp(raised, axis=0).max())
    r = min(radius, SLENDER * extent) if extent > radius else radius
    flat = points.shape[1] == 2
    if flat:
        drawing.plate(body, raised, np.array([0.0, 0.0, 1.0]), 1.25 * r if len(points) > 1 else 1.7 * r, 1.1 * radius)
        if len(anchors) < 2 and center is not None and len(points) > 1:  # a bob
            drawing.plate(body, _raised(center[None], layers[body]), np.array([0.0, 0.0, 1.0]), 2.2 * r, 1.4 * radius)
        if extent > radius:
            drawing.drawn.add(body)
        return
    spread, directions = np.linalg.svd(raised - middle)[1:]
    if len(points) == 1:
        drawing.ball(body, raised[0], 2.2 * radius)
        return
    drawing.drawn.add(body)
    spread = np.pad(spread, (0, 3 - len(spread)))
    if spread[1] < max(FLAT * spread[0], 0.3 * r):
        order = np.argsort(raised @ directions[0])
        drawing.tube(body, raised[order[0]], raised[order[-1]], r)
    elif spread[2] < max(FLAT * spread[0], 0.3 * r):
        drawing.plate(body, raised, directions[2], 1.2 * r, 1.2 * r)
    else:
        hub = _raised(center, 0.0) if center is not None else middle
        drawing.ball(body, hub, 1.1 * r)
        for point in raised:
            drawing.tube(body, hub, point, r)
    if len(_distinct(anchors)) < 2 and center is not None:
        drawing.ball(body, _raised(center, 0.0), 2.2 * r)
    for point in raised:
        drawing.ball(body, point, r)


def _draw_lines(drawing: Drawing, motion: ShownMotion, body: str, radius: float, layers: dict[str, float]) -> None:
    """Draw a flexible body without a surface as bars from its frame_a to its other frames."""
    hub = _raised(np.zeros(motion.dim), layers[body])
    drawing.ball(body, hub, radius)
    for frame, owner in motion.geometry.owners.items():
        if owner == body:
            drawing.struts.append(Strut(body, hub, frame, hub, radius, "body"))
            drawing.ball(frame, hub, radius)


def _draw_arms(drawing: Drawing, motion: ShownMotion, radius: float, layers: dict[str, float]) -> None:
    """Draw bars from the frames of flexible bodies to joints beside them, which rigid parts hold there."""
    held = {*motion.geometry.bent, *motion.geometry.owners}
    ends = [((item.near, item.start), (item.far, item.end)) for item in motion.geometry.joints]
    for body, point in (end for pair in ends for end in pair):
        if body in held and np.linalg.norm(point) > FLAT * motion.size:
            at, to = (_raised(at_body, layers[body]) for at_body in (np.zeros(motion.dim), point))
            drawing.tube(body, at, to, 0.6 * radius)
            drawing.ball(body, at, radius)


def _draw_joint(
    drawing: Drawing, motion: ShownMotion, joint: JointPosition, radius: float, layers: dict[str, float], cylinder: bool
) -> None:
    planar = motion.dim == 2
    start, end = _raised(joint.start, layers[joint.near]), _raised(joint.end, layers[joint.far])
    if joint.motion == "spans":
        drawing.struts.append(Strut(joint.near, start, joint.far, end, 0.5 * radius, "steel"))
        return
    if joint.motion == "slides":
        if not cylinder:
            _draw_slide(drawing, motion, joint, radius, layers)
        return
    gap = motion.track(joint.far, joint.end) - motion.track(joint.near, joint.start)
    if np.linalg.norm(gap, axis=1).max() > APART * motion.size:  # nothing holds them together, as in free motion
        return
    for body, point in dict.fromkeys([(joint.near, tuple(start)), (joint.far, tuple(end))]):
        at = np.array(point)
        if planar:
            levels = [layers[joint.near], layers[joint.far]]
            low, high = min(levels) - 0.85 * radius, max(levels) + 0.85 * radius
            back, front = (np.array([*at[:2], level]) for level in (low, high))
            drawing.tube(body, back, front, 0.55 * radius, "joint")
        elif joint.motion == "turns" and body == joint.near:
            drawing.tube(body, at - 1.7 * radius * joint.axis, at + 1.7 * radius * joint.axis, 1.25 * radius, "joint")
        elif joint.motion != "turns":
            drawing.ball(body, at, 1.45 * radius, "joint")
        if not body and (joint.near or joint.far):  # a stand on the ground
            up = np.array([*motion.up, 0.0][:3])
            drawing.tube("", at - 3.2 * radius * up, at, 2.4 * radius, "ground", 0.9 * radius)


def _draw_spans(drawing: Drawing, motion: ShownMotion, radius: float, layers: dict[str, float]) -> None:
    """Draw what acts along lines as thin rods, and the sheaves that these wind on."""
    thin = LINE * radius
    sheaves: dict[tuple[str, tuple[float, ...]], tuple[Array, Array, float]] = {}
    for line in motion.geometry.lines:
        axles = [np.array([0.0, 0.0, 1.0]) if motion.dim == 2 else axle for axle in line.axles]
        ends = [_raised(line.start, layers[line.near]), _raised(line.end, layers[line.far])]
        drawing.struts.append(Strut(line.near, ends[0], line.far, ends[1], thin, "rope", axles[0], line.winds))
        for body, at, axle, size in zip((line.near, line.far), ends, axles, line.winds, strict=True):
            if size:
                sheaves[body, tuple(at.round(9))] = at, axle, abs(size) - thin
    for (body, _), (at, axle, size) in sheaves.items():
        drawing.tube(body, at - radius * axle, at + radius * axle, size, "joint")


def _draw_slide(
    drawing: Drawing, motion: ShownMotion, joint: JointPosition, radius: float, layers: dict[str, float]
) -> None:
    """Draw a rail on the body of frame_a, as long as the way in the run, and a block on the body of frame_b."""
    start, end = _raised(joint.start, layers[joint.near]), _raised(joint.end, layers[joint.far])
    way = motion.track(joint.far, joint.end) - motion.track(joint.near, joint.start)
    turn = motion.R[:, motion.bodies.index(joint.near)] @ joint.axis if joint.near else joint.axis
    s = np.sum(way * turn, axis=1)
    n = _raised(joint.axis, 0.0)
    margin = 3.5 * radius
    ends = {"at": start + (s.min() - margin) * n, "to": start + (s.max() + margin) * n}
    thick = {"radius": 0.35 * radius, "end": 0.35 * radius}
    drawing.solids.append(Solid("rail", joint.near, "steel" if joint.near else "ground", ends | thick))
    if joint.far and (not joint.near or motion.dim == 2):
        world = turn[0] if joint.near else turn
        seen = _raised(motion.R[0, motion.bodies.index(joint.far)].T @ world, 0.0)  # the axis from the block, all along
        across = np.array([0.0, 0.0, 1.0]) if motion.dim == 2 else _across(seen)
        block = np.array([end - 2.0 * radius * seen, end + 2.0 * radius * seen])
        drawing.plate(joint.far, block, across, 1.8 * radius, 2.2 * radius)
        drawing.drawn.add(joint.far)


def _across(n: Array) -> Array:
    normal = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    unit: Array = normal / np.linalg.norm(normal)
    return unit


def _raised(point: Array, level: float) -> Array:
    """Return a point, or points, with three coordinates; those of the plane at some height above it, m."""
    if point.shape[-1] == 3:
        return point
    return np.concatenate([point, np.full((*point.shape[:-1], 1), level)], axis=-1)


def _distinct(points: Array) -> Array:
    return np.unique(points.round(9), axis=0) if len(points) else points


def _layers(motion: ShownMotion, slides: Iterable[JointPosition]) -> dict[str, float]:
    """Return the height of each body above the plane, m, such that jointed bodies lie side by side; zero in space."""
    names = ["", *motion.bodies]
    if motion.dim == 3:
        return dict.fromkeys(names, 0.0)
    merged = {body: motion.geometry.owners.get(body, body) for body in names}  # barrel and rod lie in one plane
    for joint in slides:
        one, other = merged[joint.near], merged[joint.far]
        merged = {body: one if root == other else root for body, root in merged.items()}
    beside: dict[str, set[str]] = {root: set() for root in merged.values()}
    for joint in motion.geometry.joints:
        one, other = merged[joint.near], merged[joint.far]
        if one != other and one and other:
            beside[one].add(other)
            beside[other].add(one)
    level: dict[str, int] = {}
    for root in beside:
        taken = {level[other] for other in beside[root] if other in level}
        level[root] = next(item for item in range(len(beside) + 1) if item not in taken) if root else 0
    pitch = 1.35 * THICK[2] * motion.size
    middle = (max(level.values()) + min(level.values())) / 2
    shift = APART_BY * pitch / len(level)  # no two faces lie in one plane, where they would flicker
    order = {root: index for index, root in enumerate(level)}
    return {body: (level[merged[body]] - middle) * pitch + order[merged[body]] * shift for body in names}


def outline(points: Array, radius: float) -> Array:
    """Return the corners of the convex outline at a distance around points in a plane, counterclockwise, shape (n, 2).

    Args:
        points: shape (m, 2).
        radius: the distance, m.
    """
    around = np.arange(CORNERS) * math.tau / CORNERS
    circle = radius * np.column_stack([np.cos(around), np.sin(around)])
    corners = sorted({(float(x), float(y)) for x, y in (points[:, None] + circle).reshape(-1, 2)})
    hull: list[tuple[float, float]] = []
    for way in (corners, corners[::-1]):  # the lower and the upper chain (A. M. Andrew, 1979)
        chain: list[tuple[float, float]] = []
        for corner in way:
            while len(chain) > 1 and _turns_right(chain[-2], chain[-1], corner):
                chain.pop()
            chain.append(corner)
        hull += chain[:-1]
    return np.array(hull)


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0
