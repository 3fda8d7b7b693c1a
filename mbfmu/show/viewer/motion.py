"""Motion: the poses of a mechanism's bodies over a run, from its equations, an FMU or a table."""

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt

from mbfmu.base.described import Described, takes
from mbfmu.base.result import Result, read_table
from mbfmu.dae import Dae
from mbfmu.errors import ModelError, UsageError
from mbfmu.model import Model, System
from mbfmu.model.library import model_of
from mbfmu.prepared import settings
from mbfmu.prepared.prepare import prepare, prepare_run
from mbfmu.prepared.settings import RunSettings
from mbfmu.run.inputs import courses, formulas
from mbfmu.run.model import Progress, run_prepared
from mbfmu.show.viewer.bending import Bent
from mbfmu.show.viewer.geometry import (
    Attachments,
    Geometry,
    JointPosition,
    LinePosition,
    geometry_of,
    planar,
    poses_of,
    spatial,
)
from mbfmu.show.viewer.looks import Look

Array = npt.NDArray[np.float64]

UPWARD = {
    "x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip
UNITS = {
    "phi": "rad", "w": "rad/s", "s": "m", "v": "m/s", "tau": "N.m", "f": "N", "t": "N.m", "w_a": "rad/s",
    "r_0": "m", "v_0": "m/s", "a_0": "m/s2", "gap": "m", "slip": "m/s", "f_n": "N", "f_t": "N",
}  # fmt: skip
"""Units by the last part of a name, without its index, for tables without units."""
OPEN = 1e-3
"""Gap of a joint, relative to the mechanism's size, from which on a run does not fit a model."""


@dataclass(frozen=True)
class ShownMotion:
    """A mechanism over a run.

    Args:
        result: the run.
        r: position of each body's frame_a in the world frame, m, shape (n_t, n_b, 2 or 3), bodies as in `geometry`.
        R: rotation from frame_a to the world frame, shape (n_t, n_b, 2 or 3, 2 or 3).
        geometry: bodies and joints.
        up: upward direction, in the world frame.
        eta: shape coordinates of the flexible bodies, by full name, shape (n_t, n).
    """

    result: Result
    r: Array
    R: Array
    geometry: Geometry
    up: tuple[float, ...]
    eta: Mapping[str, Array] = field(default_factory=dict)

    @property
    def dim(self) -> int:
        """2 in the plane, 3 in space."""
        return int(self.r.shape[2])

    @property
    def bodies(self) -> tuple[str, ...]:
        """Full names of the bodies, and of the frames of flexible bodies behind them."""
        return tuple(self.geometry.bodies)

    def track(self, body: str, point: Array) -> Array:
        """Return the positions of a body's point, m, shape (n_t, 2 or 3).

        Args:
            body: full name; empty for the world.
            point: position seen from the body's frame_a, or from the world, m, shape (2 or 3,).
        """
        if not body:
            return np.broadcast_to(point, (len(self.r), self.dim))
        index = self.bodies.index(body)
        path: Array = self.r[:, index] + self.R[:, index] @ point
        return path

    @cached_property
    def size(self) -> float:
        """Largest extent of the bodies' and joints' points at the start, m; 1 if it is a point."""
        points = [self.track(item.near, item.start)[0] for item in self.geometry.joints]
        for body, item in self.geometry.bodies.items():
            center = [] if item.center is None else [item.center]
            points += [self.track(body, point)[0] for point in (*center, *item.anchors)]
        extent = float(np.ptp(np.array([*points, *self.r[0]]), axis=0).max())
        if not extent:
            extent = max(
                (float(item.sides.max()) for item in self.geometry.bodies.values() if item.sides is not None),
                default=0.0,
            )
        return extent if extent > 0 else 1.0


@dataclass(frozen=True)
class MotionArguments(RunSettings):
    """The arguments of `motion_of_model`."""

    model: Annotated[Model, Described("the mechanism")]
    stop: Annotated[float, settings.STOP]
    _: KW_ONLY
    up: Annotated[
        str | None, Described("axis of the world that points upwards; None: the direction against gravity")
    ] = None
    looks: Annotated[
        tuple[Look, ...], Described("solids fixed to the bodies, as `looks_of` returns them for a robot")
    ] = ()
    progress: Annotated[Progress | None, settings.PROGRESS] = None


@takes(MotionArguments)
def motion_of_model(run: MotionArguments) -> ShownMotion:
    """Return the motion of a mechanism in a run.

    Raises:
        ModelError: the model is invalid, or has no bodies to show.
        StepError: a step failed.
        UsageError: an argument is invalid.
    """
    if not (math.isfinite(run.stop) and run.stop > 0):
        raise UsageError(f"the stop time is {run.stop} s; it must be a positive number")
    inputs = courses(run.inputs, run.input_hold)
    prepared = prepare_run(model_of(run.model, run.values), run, formulas(inputs))
    geometry = geometry_of(prepared, run.looks)
    result = run_prepared(prepared, run.stop, run.output_interval, inputs, run.progress or (lambda _: None))
    dae = prepared.mechanism
    if dae.skeleton and dae.skeleton.bare:
        q = np.column_stack([result[name] for name in dae.coordinates])
        return motion_of_coordinates(dae, geometry, q, result, run.up)
    return _placed(result, geometry, "", run.up)


def motion_of_result(
    result: Result,
    source: str,
    up: str | None = None,
    model: Model | None = None,
    looks: tuple[Look, ...] = (),
    component: str = "",
) -> ShownMotion:
    """Return the motion in a recorded run.

    With a model, its geometry moves as the run says: by the poses of its bodies, ``NAME.r_0[k]`` with ``NAME.phi`` or
    ``NAME.Q[k]``, or by all its joint coordinates, such as ``boom.phi``. In a run of several FMUs these names may have
    the name of an FMU in front. Without a model, bodies are lines from ``NAME.r_0[k]`` to ``NAME.frame_b.r_0[k]``.

    Args:
        result: the run.
        source: name of the run's source, for messages.
        up: axis of the world that points upwards; None: against the model's gravity, else y in the plane, z in space.
        model: the mechanism that moved.
        looks: solids fixed to the model's bodies.
        component: name of the FMU that is in front of the names; empty: it is read from the names, if there is one.

    A warning says when the run opens the model's joints, as one with other parameters does.

    Raises:
        ModelError, StartError: the model is invalid, or has no bodies to show.
        UsageError: there are no such columns.
    """
    if model is None:
        return _placed(result, _geometry_of_result(result, source), "", up)
    if not isinstance(model, System) or model.only_blocks:
        raise ModelError(f"'{model.name}' is given by equations: there are no bodies to show")
    prepared = prepare(model, None, None, 1e-3, 0.0, "joint")
    geometry, dae = geometry_of(prepared, looks), prepared.dae
    prefix = _prefix(result.names, [f"{body}.r_0[1]" for body in geometry.whole], component)
    if prefix is not None and all(_orientation(result, prefix + body) is not None for body in geometry.whole):
        return _checked(_placed(result, geometry, prefix, up, source), source, model.name)
    prefix = _prefix(result.names, list(dae.coordinates), component)
    if prefix is None:
        wanted = [f"{component}.{name}" if component else name for name in dae.coordinates]
        missing = next((name for name in wanted if name not in result.names), wanted[0])
        raise UsageError(
            f"'{source}' is not a run of the model '{model.name}': it has neither the poses of all bodies nor "
            "all joint "
            f"coordinates; '{missing}' is missing"
        )
    q = np.column_stack([result[f"{prefix}{name}"] for name in dae.coordinates])
    return _checked(motion_of_coordinates(dae, geometry, q, result, up), source, model.name)


def motion_of_coordinates(dae: Dae, geometry: Geometry, q: Array, result: Result, up: str | None = None) -> ShownMotion:
    """Return the motion in which the coordinates q, shape (n_t, n), are given at the times of a result."""
    r, R = poses_of(dae, geometry.whole, q, result.time)
    eta = {
        body: q[:, [dae.coordinates.index(name) for name in bent.shape.coordinates]]
        for body, bent in geometry.bent.items()
    }
    return _bent(result, geometry, r, R, eta, up)


def _bent(
    result: Result, geometry: Geometry, r: Array, R: Array, eta: Mapping[str, Array], up: str | None
) -> ShownMotion:
    """Return a motion, with the frames of the flexible bodies behind the bodies.

    Args:
        result: the run.
        geometry: bodies and joints.
        r: positions of the bodies, m, shape (n_t, n_b, 2 or 3).
        R: their rotations, shape (n_t, n_b, 2 or 3, 2 or 3).
        eta: shape coordinates of the flexible bodies, by full name.
        up: see `motion_of_model`.
    """
    positions, turns = [r], [R]
    for body, bent in geometry.bent.items():
        index = geometry.whole.index(body)
        at, way = (item[:, 1:] for item in bent.poses(eta[body]))
        positions.append(r[:, [index]] + (R[:, [index]] @ at[..., None])[..., 0])
        turns.append(R[:, [index]] @ way)
    poses = np.concatenate(positions, axis=1), np.concatenate(turns, axis=1)
    return ShownMotion(result, *poses, geometry, _upward(up, r.shape[2], geometry), eta)


def together(motions: Mapping[str, ShownMotion]) -> ShownMotion:
    """Return the motion of several mechanisms in one run, each with its name in front of those of its parts.

    Args:
        motions: the motions by the names of the mechanisms, of the same run.

    Raises:
        UsageError: some are in the plane and some in space.
    """
    first = next(iter(motions.values()))
    if len({item.dim for item in motions.values()}) > 1:
        raise UsageError(f"{', '.join(motions)}: a picture has mechanisms in the plane or in space, and not both")
    bodies: dict[str, Attachments] = {}
    joints: list[JointPosition] = []
    lines: list[LinePosition] = []
    looks: list[Look] = []
    bent: dict[str, Bent] = {}
    owners: dict[str, str] = {}
    eta: dict[str, Array] = {}
    for name, item in motions.items():
        shape = item.geometry
        full = {"": "", **{body: f"{name}.{body}" for body in shape.bodies}}
        bodies |= {full[body]: attached for body, attached in shape.bodies.items()}
        joints += [
            replace(joint, name=f"{name}.{joint.name}", near=full[joint.near], far=full[joint.far])
            for joint in shape.joints
        ]
        lines += [
            replace(line, name=f"{name}.{line.name}", near=full[line.near], far=full[line.far]) for line in shape.lines
        ]
        looks += [replace(look, body=full[look.body]) for look in shape.looks]
        bent |= {full[body]: flexible for body, flexible in shape.bent.items()}
        owners |= {full[frame]: full[body] for frame, body in shape.owners.items()}
        eta |= {full[body]: values for body, values in item.eta.items()}
    r, R = (np.concatenate([getattr(item, part) for item in motions.values()], axis=1) for part in "rR")
    geometry = Geometry(bodies, tuple(joints), first.geometry.down, tuple(looks), bent, owners, tuple(lines))
    return ShownMotion(first.result, r, R, geometry, first.up, eta)


def read_result(path: str | os.PathLike[str]) -> Result:
    """Return the run in a .csv, .parquet, .mat or .npz table, as `Result.write` and other tools write it.

    Raises:
        UsageError: the path has another ending, or a library for it is not installed.
        MbfmuError: the table cannot be read.
    """
    columns = read_table(path)
    names = tuple(name for name in columns if name != "time")
    units = {name: unit_of(name) for name in names}
    values = np.array([columns[name] for name in names]).reshape(len(names), len(columns["time"])).T
    return Result(columns["time"], names, values, units)


def unit_of(name: str) -> str:
    """Return the SI unit that a variable's name tells, empty if it does not."""
    return UNITS.get(name.rsplit(".", 1)[-1].partition("[")[0], "J" if name.startswith("energy.") else "")


def _checked(motion: ShownMotion, source: str, model: str) -> ShownMotion:
    """Return a motion; warn if it opens a joint."""
    worst, where = 0.0, ""
    for item in motion.geometry.joints:
        gap = motion.track(item.far, item.end) - motion.track(item.near, item.start)
        if item.motion == "slides":
            turn = motion.R[:, motion.bodies.index(item.near)] if item.near else np.eye(motion.dim)[None]
            axis = turn @ item.axis
            gap = gap - np.sum(gap * axis, axis=1)[:, None] * axis
        size = float(np.linalg.norm(gap, axis=1).max())
        if item.motion in {"turns", "slides"} and size > worst:
            worst, where = size, item.name
    if worst > OPEN * motion.size:
        warnings.warn(
            f"'{source}' does not fit the model '{model}': the joint '{where}' opens by {worst:.3g} m; give the "
            "parameters of the run, as with --set",
            stacklevel=3,
        )
    return motion


def _placed(result: Result, geometry: Geometry, prefix: str, up: str | None, source: str = "") -> ShownMotion:
    bodies = [prefix + body for body in geometry.whole]
    dim = len(geometry.down)
    r = np.stack([_track(result, f"{body}.r_0", dim) for body in bodies], axis=1)
    orientations = [_orientation(result, body) for body in bodies]
    still = np.broadcast_to(np.eye(dim), (len(r), dim, dim))
    R = np.stack([still if item is None else item for item in orientations], axis=1)
    eta, known = {}, {*result.names}
    for body, bent in geometry.bent.items():
        names = [prefix + name for name in bent.shape.coordinates]
        if missing := [name for name in names if name not in known]:
            warnings.warn(f"'{source}' lacks '{missing[0]}': '{body}' is shown undeformed", stacklevel=4)
        columns = [np.zeros(len(r)) if missing else result[name] for name in names]
        eta[body] = np.column_stack(columns)
        if not np.isfinite(eta[body]).all():
            raise UsageError(f"'{source}' has shape coordinates of '{body}' that are not finite numbers")
    return _bent(result, geometry, r, R, eta, up)


def _geometry_of_result(result: Result, source: str) -> Geometry:
    names = set(result.names)
    bodies = [
        name.removesuffix(".r_0[1]")
        for name in result.names
        if name.endswith(".r_0[1]") and ".frame_" not in name and _vector(names, name.removesuffix("[1]"))
    ]
    dims = {body: len(_vector(names, f"{body}.r_0")) for body in bodies}
    dim = max(dims.values(), default=0)
    if dim not in {2, 3}:
        raise UsageError(
            f"'{source}' has no positions of bodies: it needs columns NAME.r_0[1], NAME.r_0[2] (and [3] in space), "
            "with NAME.phi or NAME.Q[...] and NAME.frame_b.r_0[...], as `mbfmu simulate MODEL -o F.csv` writes them; "
            "or name the mechanism whose joint coordinates it has: --model MODEL"
        )
    attachments: dict[str, Attachments] = {}
    for body in (body for body in bodies if dims[body] == dim):
        anchors = [np.zeros(dim)]
        if len(_vector(names, f"{body}.frame_b.r_0")) == dim:
            turn = _orientation(result, body)
            arm = _track(result, f"{body}.frame_b.r_0", dim)[0] - _track(result, f"{body}.r_0", dim)[0]
            anchors.append(arm if turn is None else turn[0].T @ arm)
        attachments[body] = Attachments(None, np.array(anchors))
    zero = np.zeros(dim)
    joints = tuple(JointPosition(f"{body}.frame_a", "", body, body, zero, zero, zero) for body in attachments)
    return Geometry(attachments, joints, zero)


def _orientation(result: Result, body: str) -> Array | None:
    """Return the rotation from a body's frame_a to the world, shape (n_t, dim, dim); None if it is not in the run."""
    names = set(result.names)
    dim = len(_vector(names, f"{body}.r_0"))
    if dim == 2 and f"{body}.phi" in names:
        return planar(result[f"{body}.phi"])
    if dim == 3 and len(_vector(names, f"{body}.Q")) == 4:
        return spatial(_track(result, f"{body}.Q", 4))
    return _direction(result, body, dim)


def _direction(result: Result, body: str, dim: int) -> Array | None:
    """Return rotations that turn a body without angles as the line from frame_a to frame_b turns from the start."""
    if dim not in {2, 3} or len(_vector(set(result.names), f"{body}.frame_b.r_0")) != dim:
        return None
    arm = _track(result, f"{body}.frame_b.r_0", dim) - _track(result, f"{body}.r_0", dim)
    length = np.linalg.norm(arm, axis=1, keepdims=True)
    if not np.all(length > 0):
        return None
    n = arm / length
    if dim == 2:
        return planar(np.arctan2(n[:, 1], n[:, 0]) - np.arctan2(n[0, 1], n[0, 0]))
    half = n[0] + n  # the shortest turn; its quaternion is (n0 . half, n0 x half), not normalised
    Q = np.column_stack([half @ n[0], np.cross(n[0], half)])
    return spatial(Q) if np.all(np.any(Q, axis=1)) else None


def _prefix(names: tuple[str, ...], wanted: list[str], component: str) -> str | None:
    """Return what stands before all wanted names, mostly nothing or ``FMU.``; None if they are not all there."""
    known = set(names)
    ends = [name.removesuffix(wanted[0]) for name in names if wanted and name.endswith(wanted[0])]
    if component:
        ends = [f"{component}."]
    for prefix in sorted((item for item in ends if not item or item.endswith(".")), key=len):
        if all(prefix + name in known for name in wanted):
            return prefix
    return None


def _upward(requested: str | None, dim: int, geometry: Geometry) -> tuple[float, ...]:
    if requested is None:
        if geometry.down.any():
            return tuple((-geometry.down).tolist())
        return UPWARD["y" if dim == 2 else "z"][:dim]
    if requested not in UPWARD or dim == 2:
        raise UsageError(
            f"--up {requested}: a mechanism in space has one of {', '.join(UPWARD)} upwards; one in the plane has y"
        )
    return UPWARD[requested]


def _vector(names: set[str], stem: str) -> list[str]:
    """Return the names ``stem[1]``, ``stem[2]``, ... that exist."""
    entries: list[str] = []
    while f"{stem}[{len(entries) + 1}]" in names:
        entries.append(f"{stem}[{len(entries) + 1}]")
    return entries


def _track(result: Result, stem: str, dim: int) -> Array:
    return np.column_stack([result[f"{stem}[{k}]"] for k in range(1, dim + 1)])
