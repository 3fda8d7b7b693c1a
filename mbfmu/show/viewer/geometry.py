"""Geometry: the attachments of a mechanism's bodies and the positions of its joints, in the frames of the bodies."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae import Dae
from mbfmu.dae.picture import Skeleton
from mbfmu.errors import ModelError
from mbfmu.kernel import vector
from mbfmu.prepared.prepare import Prepared
from mbfmu.show.viewer.bending import Bent
from mbfmu.show.viewer.looks import Look
from mbfmu.show.viewer.solids import own_looks

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Attachments:
    """The points of a body, resolved in its frame_a.

    Args:
        center: centre of mass, m, shape (2 or 3,); None: unknown.
        anchors: points at which joints and forces act, and the ends of the body, m, shape (n, 2 or 3).
        sides: sides of the box with the body's mass and inertia about its centre of mass, m, shape (3,); None: there is
            no such box, or it is not known.
        axes: axes of that box, in the columns, shape (3, 3).
    """

    center: Array | None
    anchors: Array
    sides: Array | None = None
    axes: Array | None = None


@dataclass(frozen=True)
class JointPosition:
    """The position of a joint on its two bodies.

    Args:
        name: full name of the joint.
        motion: ``turns`` or ``slides`` along its axis, ``spans`` from frame_a to frame_b, or empty for any other joint.
        near: full name of the body of frame_a, or of the frame of a flexible body; empty for the world.
        far: full name of the body of frame_b, or of the frame of a flexible body; empty for the world.
        start: position of frame_a, m, seen from `near`.
        end: position of frame_b, m, seen from `far`.
        axis: unit vector of the joint's axis, resolved in `near`; zero: it has none.
    """

    name: str
    motion: str
    near: str
    far: str
    start: Array
    end: Array
    axis: Array


@dataclass(frozen=True)
class LinePosition:
    """The position of a line along which a force or a rope acts, from one sheave or point to another.

    Args:
        name: full name of the force or rope.
        near: full name of the first body, or of the frame of a flexible body; empty for the world.
        far: the same of the other end.
        start: centre of the first sheave, or the point, m, seen from `near`.
        end: the same of the other end, seen from `far`.
        axles: unit vector of the axle of both, resolved in `near` and in `far`; zero in the plane.
        winds: signed radii, m, see `Reeving`; 0 at a point.
    """

    name: str
    near: str
    far: str
    start: Array
    end: Array
    axles: tuple[Array, Array]
    winds: tuple[float, float]


@dataclass(frozen=True)
class Geometry:
    """A mechanism's bodies, joints, and lines of forces and ropes.

    Args:
        bodies: the points of each body, by its full name, and those that move with a frame of a flexible body, by the
            full name of the frame; those of the body itself are as at the start.
        joints: the positions of the joints.
        down: direction of gravity, in the world frame; zero if it is unknown.
        looks: solids fixed to the bodies.
        bent: the flexible bodies, by full name.
        owners: the flexible body of each frame among the bodies.
        lines: the positions of the lines along which forces and ropes act.
    """

    bodies: Mapping[str, Attachments]
    joints: tuple[JointPosition, ...]
    down: Array
    looks: tuple[Look, ...] = ()
    bent: Mapping[str, Bent] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[LinePosition, ...] = ()

    @property
    def whole(self) -> tuple[str, ...]:
        """Full names of the bodies, without frames of flexible ones."""
        return tuple(body for body in self.bodies if body not in self.owners)


def geometry_of(prepared: Prepared, looks: tuple[Look, ...] = ()) -> Geometry:
    """Return the geometry of a mechanism, read off at its start.

    Args:
        prepared: the mechanism.
        looks: solids fixed to its bodies, as `looks_of` returns them for a robot.

    Raises:
        ModelError: the mechanism is given by its Lagrangian, so that there are no bodies.
        StartError: there is no consistent start.
    """
    dae, skeleton = prepared.mechanism, prepared.mechanism.skeleton
    if skeleton is None:
        raise ModelError(f"'{dae.name}' is given by its Lagrangian: there are no bodies to show")
    # the mechanism at its start: points and axes of the skeleton, poses of the bodies
    p = dae.extended(dae.p_default())
    q = prepared.coordinates_of(prepared.initial_state(s=vector(dae.s_default())))  # its notices are those of a run
    points, axes = np.array(skeleton.points(q, p, 0.0)).T, np.array(skeleton.axes(q, p, 0.0)).T
    names = list(dict.fromkeys(bone.body for bone in skeleton.bones))
    sides = [(item.near, item.far) for item in skeleton.joints] + [(item.near, item.far) for item in skeleton.lines]
    names += [body for pair in sides for body in pair if body not in {"", *names}]
    r, R = (item[0] for item in poses_of(dae, tuple(names), q[None], np.zeros(1)))
    dim = points.shape[1]
    origin = {"": (np.zeros(dim), np.eye(dim)), **dict(zip(names, zip(r, R, strict=True), strict=True))}
    # frames of flexible bodies, which points beside them move with
    bent = {item.body: Bent(item, np.array(p), dim) for item in skeleton.bendings}
    owners: dict[str, str] = {}
    for body, item in bent.items():
        eta = np.array([[q[dae.coordinates.index(name)] for name in item.shape.coordinates]])
        position, turn = origin[body]
        for frame, at, way in zip(item.frames[1:], *(pose[0, 1:] for pose in item.poses(eta)), strict=True):
            origin[f"{body}.{frame}"] = (position + turn @ at, turn @ way)
            owners[f"{body}.{frame}"] = body

    def carrier(body: str, index: int) -> str:
        """Return what a point moves with: its body, or the frame of a flexible one that is next to it."""
        near = [body, *(name for name, owner in owners.items() if owner == body)]
        return min(near, key=lambda name: float(np.linalg.norm(points[index] - origin[name][0])))

    def seen(name: str, index: int) -> Array:
        position, turn = origin[name]
        local: Array = turn.T @ (points[index] - position)
        return local

    # each point as its body or frame sees it: R^T (point - r)
    bodies, boxes = {}, dict(_boxes(skeleton, q, p))
    for body in names:
        ends = [bone for bone in skeleton.bones if bone.body == body]
        center = seen(body, ends[0].start) if ends else None
        anchors = np.array([seen(body, bone.end) for bone in ends]).reshape(-1, dim)
        bodies[body] = Attachments(center, anchors, *boxes.get(body, ()))
    for name, owner in owners.items():
        held = [bone.end for bone in skeleton.bones if bone.body == owner and carrier(owner, bone.end) == name]
        bodies[name] = Attachments(None, np.array([seen(name, index) for index in held]).reshape(-1, dim))
    # joints with both points, and the axis as the near body sees it
    joints = []
    for index, hinge in enumerate(skeleton.joints):
        near, far = carrier(hinge.near, hinge.start), carrier(hinge.far, hinge.end)
        n = origin[near][1].T @ axes[index]
        joints.append(
            JointPosition(hinge.name, hinge.motion, near, far, seen(near, hinge.start), seen(far, hinge.end), n)
        )
    # lines with both points, and what they wind on
    lines = []
    sheaves = np.array(skeleton.sheaves(q, p, 0.0)).T.reshape(-1, 2, dim)
    for line, (axle, radii) in zip(skeleton.lines, sheaves, strict=True):
        near, far = carrier(line.near, line.start), carrier(line.far, line.end)
        start, end = seen(near, line.start), seen(far, line.end)
        axles = origin[near][1].T @ axle, origin[far][1].T @ axle
        lines.append(LinePosition(line.name, near, far, start, end, axles, (float(radii[0]), float(radii[1]))))
    looks = (*looks, *own_looks(skeleton, q, p))
    return Geometry(bodies, tuple(joints), np.array(skeleton.down[:dim]), looks, bent, owners, tuple(lines))


def _boxes(skeleton: Skeleton, q: Any, p: Any) -> Iterator[tuple[str, tuple[Array, Array]]]:
    """Yield the bodies that have the mass and inertia of a box, with its sides, m, and its axes.

    A box with the sides a, b, c has the moments of inertia I_1 = m (b^2 + c^2)/12 and so on, so that
    a^2 = 6 (I_2 + I_3 - I_1)/m.
    """
    if not skeleton.weighed:
        return
    assert skeleton.masses is not None
    columns = np.array(skeleton.masses(q, p, 0.0))
    for body, part in zip(skeleton.weighed, np.split(columns, len(skeleton.weighed), axis=1), strict=True):
        m, I_CM = part[0, 0], part[:, 1:]
        if m > 0 and np.isfinite(part).all():
            moments, axes = np.linalg.eigh((I_CM + I_CM.T) / 2)
            squares = 6 * (moments.sum() - 2 * moments) / m
            if squares.min() > 0:
                yield body, (np.sqrt(squares), axes * np.linalg.det(axes))


def poses_of(dae: Dae, bodies: tuple[str, ...], q: Array, t: Array) -> tuple[Array, Array]:
    """Return the poses of bodies for given coordinates.

    Args:
        dae: the equations of a mechanism.
        bodies: full names of n_b bodies.
        q: coordinates, shape (n_t, n).
        t: times, s, shape (n_t,).

    Returns:
        Positions of each frame_a in the world, m, shape (n_t, n_b, 2 or 3), and the rotations from frame_a to the
        world, shape (n_t, n_b, 2 or 3, 2 or 3).
    """
    bare = dae.skeleton.bare if dae.skeleton else ()
    parts = tuple(body for body in bodies if body not in bare)
    poses: dict[str, tuple[Array, Array]] = {}
    for names, function in ((parts, _poses_of_parts), (bare, _poses_of_bare)):
        if names:
            r, R = function(dae, names, q, t)
            poses |= {name: (r[:, k], R[:, k]) for k, name in enumerate(names)}
    r, R = (np.stack([poses[body][k] for body in bodies], axis=1) for k in (0, 1))
    return r, R


def _poses_of_parts(dae: Dae, bodies: tuple[str, ...], q: Array, t: Array) -> tuple[Array, Array]:
    symbols = dae.symbols()
    coordinates, time = symbols[0], symbols[-1]
    names = [item.name for item in dae.outputs]
    rows = [names.index(name) for body in bodies for name in _pose_names(body, set(names))]
    p = ca.DM(dae.extended(dae.p_default()))
    still = [ca.DM.zeros(count) for count in (dae.n, dae.n_z, dae.n, dae.m + dae.k, len(dae.inputs))]
    v, z, a, lambda_, u = still
    y = dae.output(coordinates, v, z, dae.angles(coordinates, p, time), a, lambda_, u, p, time)
    function = ca.Function("poses", [coordinates, time], [ca.densify(y)[rows]])
    values = np.array(function(q.T, t[None])).T.reshape(len(t), len(bodies), -1)
    return (
        (values[..., :2], planar(values[..., 2]))
        if values.shape[2] == 3
        else (values[..., :3], spatial(values[..., 3:]))
    )


def _poses_of_bare(dae: Dae, bodies: tuple[str, ...], q: Array, t: Array) -> tuple[Array, Array]:
    assert dae.skeleton is not None
    poses: Any = dae.skeleton.bare_poses
    values = np.array(poses(q.T, ca.DM(dae.extended(dae.p_default())), t[None]))
    dim = len(values)
    columns = values.reshape(dim, len(t), len(bodies), 1 + dim)
    r, R = np.moveaxis(columns[..., 0], 0, -1), np.moveaxis(columns[..., 1:], 0, -2)
    return r, R


def _pose_names(body: str, names: set[str]) -> list[str]:
    if f"{body}.phi" in names:
        return [f"{body}.r_0[1]", f"{body}.r_0[2]", f"{body}.phi"]
    return [*(f"{body}.r_0[{k}]" for k in (1, 2, 3)), *(f"{body}.Q[{k}]" for k in (1, 2, 3, 4))]


def planar(phi: Array) -> Array:
    """Return rotations in the plane by angles, shape (..., 2, 2)."""
    c, s = np.cos(phi), np.sin(phi)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


def spatial(Q: Array) -> Array:
    """Return the rotations of quaternions, shape (..., 3, 3), from shape (..., 4), the scalar part first."""
    w, x, y, z = np.moveaxis(Q / np.linalg.norm(Q, axis=-1, keepdims=True), -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
