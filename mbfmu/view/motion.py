"""Motion: the positions of a mechanism's points over a run, from its equations, an FMU or a table."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Bone
from mbfmu.errors import ModelError, UsageError
from mbfmu.inputs import InputValue, courses, formulas
from mbfmu.model import Model
from mbfmu.prepared.prepare import prepare
from mbfmu.result import Result, read_table
from mbfmu.simulation import Progress, run_prepared
from mbfmu.stepper import Choice
from mbfmu.view.looks import Look

Array = npt.NDArray[np.float64]

STATIC = 1e-6
"""Largest motion of a point that belongs to the ground, relative to the mechanism's size."""
STUB = 0.02
"""Length of bones, relative to the mechanism's size, below which a body shows its axes instead."""
AXIS = 0.1
"""Length of a body's axes, relative to the mechanism's size."""
UPWARD = {
    "x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip
UNITS = {"phi": "rad", "w": "rad/s", "a": "rad/s2", "s": "m", "v": "m/s", "tau": "N.m", "f": "N"}
"""Units by the last part of a name, for tables without units."""


@dataclass(frozen=True)
class Axes:
    """The axes of a body's frame_a.

    Args:
        body: full name of the body.
        origin: number of the point at their origin.
        tips: numbers of the points at their ends.
        wanted: whether they are always shown, because bones do not show the body.
    """

    body: str
    origin: int
    tips: tuple[int, ...]
    wanted: bool


@dataclass(frozen=True)
class Trajectory:
    """A mechanism over a run.

    Args:
        result: the run.
        points: positions in the world frame, shape (n_t, n_points, 2 or 3), m.
        bones: the lines of the moving bodies.
        joints: (full name, number of the point) of every joint.
        axes: axes of the bodies.
        up: upward direction, in the world frame.
        looks: solids fixed to the bodies.
    """

    result: Result
    points: Array
    bones: tuple[Bone, ...]
    joints: tuple[tuple[str, int], ...]
    axes: tuple[Axes, ...]
    up: tuple[float, ...]
    looks: tuple[Look, ...] = ()

    @property
    def size(self) -> float:
        """Largest extent of the mechanism at the start, m; 1 if it is a point."""
        return _size(self.points)

    def ground(self) -> tuple[int, ...]:
        """Return the numbers of the joints' points that do not move, one for each place, in order."""
        numbers = [number for _, number in self.joints]
        found: list[int] = []
        for number in numbers:
            track = self.points[:, number]
            still = np.ptp(track, axis=0).max() <= STATIC * self.size
            if still and all(np.abs(track[0] - self.points[0, other]).max() > STATIC * self.size for other in found):
                found.append(number)
        return tuple(found)


def motion_of_model(
    model: Model,
    stop: float,
    *,
    stepper: str | Choice | None = None,
    options: Mapping[str, Any] | None = None,
    step: float | None = None,
    tolerance: float | None = None,
    output_interval: float | None = None,
    inputs: Mapping[str, InputValue] | None = None,
    input_hold: bool = False,
    coordinates: str | None = None,
    up: str | None = None,
    looks: tuple[Look, ...] = (),
    progress: Progress | None = None,
) -> Trajectory:
    """Return the motion of a mechanism in a run.

    Args:
        model: the mechanism.
        stop: end of the run, s.
        stepper: see `simulate`.
        options: see `simulate`.
        step: see `simulate`, s.
        tolerance: see `simulate`.
        output_interval: time between two pictures, s; None: about 500 pictures.
        inputs: see `simulate`.
        input_hold: see `simulate`.
        coordinates: see `simulate`.
        up: axis of the world that points upwards; None: the direction against gravity.
        looks: solids fixed to the bodies, as `looks_of` returns them for a URDF.
        progress: called with the fraction done.

    Raises:
        ModelError: the model is invalid, or has no bodies to show.
        StepError: a step failed.
        UsageError: an argument is invalid.
    """
    if not (math.isfinite(stop) and stop > 0):
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    given = courses(inputs, input_hold)
    prepared = prepare(
        model, stepper, options, 1e-3 if step is None else step, tolerance or 0.0, coordinates, formulas(given)
    )
    skeleton = prepared.mechanism.skeleton
    if skeleton is None:
        raise ModelError(f"'{model.name}' is given by its Lagrangian: there are no bodies to show")
    p = prepared.mechanism.extended(prepared.dae.p_default())
    found: list[Array] = []

    def watch(t: float, x: Any) -> None:
        found.append(np.array(skeleton.points(prepared.coordinates_of(x, t=t), p, t)).T)

    result = run_prepared(prepared, stop, output_interval, given, progress or (lambda _: None), watch=watch)
    points = np.stack(found)
    upward = _upward(up, points.shape[2], tuple(-item for item in skeleton.down))
    return replace(_with_axes(result, points, skeleton.bones, skeleton.joints, upward), looks=looks)


def motion_of_result(result: Result, source: str, up: str | None = None) -> Trajectory:
    """Return the motion of the bodies in a run, from outputs ``NAME.r_0[k]`` and ``NAME.frame_b.r_0[k]`` or angles.

    Args:
        result: the run.
        source: name of the run's source, for messages.
        up: axis of the world that points upwards; None: y in the plane, z in space.

    Raises:
        UsageError: there are no such outputs.
    """
    names = set(result.names)
    bodies = [
        name.removesuffix(".r_0[1]")
        for name in result.names
        if name.endswith(".r_0[1]") and ".frame_" not in name and _vector(names, name.removesuffix("[1]"))
    ]
    if not bodies:
        raise UsageError(
            f"'{source}' has no positions of bodies: it needs columns NAME.r_0[1], NAME.r_0[2] (and [3] in space), "
            "with NAME.frame_b.r_0[...], NAME.phi or NAME.Q[...], as `mbfmu simulate MODEL -o F.csv` writes them"
        )
    dim = max(len(_vector(names, f"{body}.r_0")) for body in bodies)
    tracks: list[Array] = []
    bones: list[Bone] = []
    joints: list[tuple[str, int]] = []
    for body in bodies:
        joints.append((f"{body}.frame_a", len(tracks)))
        tracks.append(_track(result, f"{body}.r_0", dim))
        if len(_vector(names, f"{body}.frame_b.r_0")) == dim:
            bones.append(Bone(body, len(tracks) - 1, len(tracks)))
            tracks.append(_track(result, f"{body}.frame_b.r_0", dim))
    points = np.stack(tracks, axis=1)
    return _with_axes(result, points, tuple(bones), tuple(joints), _upward(up, dim, UPWARD["y" if dim == 2 else "z"]))


def result_of_table(path: str | os.PathLike[str]) -> Result:
    """Return the run in a table that `simulate` wrote.

    Raises:
        MbfmuError: the table cannot be read.
    """
    columns = read_table(path)
    names = tuple(name for name in columns if name != "time")
    units = {name: UNITS.get(name.rsplit(".", 1)[-1], "J" if name.startswith("energy.") else "") for name in names}
    return Result(columns["time"], names, np.column_stack([columns[name] for name in names]), units)


def _with_axes(
    result: Result,
    points: Array,
    bones: Sequence[Bone],
    joints: Sequence[tuple[str, int]],
    up: tuple[float, ...],
) -> Trajectory:
    size, dim, names = _size(points), points.shape[2], set(result.names)
    shown = {bone.body for bone in bones if np.linalg.norm(points[0, bone.end] - points[0, bone.start]) > STUB * size}
    axes: list[Axes] = []
    more: list[Array] = []
    for body in [name.removesuffix(".r_0[1]") for name in result.names if name.endswith(".r_0[1]")]:
        if len(_vector(names, f"{body}.r_0")) != dim:
            continue
        turned = _rotations(result, body, dim)
        if turned is None:
            continue
        origin = _track(result, f"{body}.r_0", dim)
        first = points.shape[1] + len(more)
        more += [origin, *(origin + AXIS * size * turned[:, :, k] for k in range(dim))]
        axes.append(Axes(body, first, tuple(range(first + 1, first + 1 + dim)), body not in shown))
    everything = np.concatenate([points, np.stack(more, axis=1)], axis=1) if more else points
    return Trajectory(result, everything, tuple(bones), tuple(joints), tuple(axes), up)


def _rotations(result: Result, body: str, dim: int) -> Array | None:
    """Return the rotation from a body's frame_a to the world, shape (n_t, dim, dim); None if it is not in the run."""
    names = set(result.names)
    if dim == 2:
        if f"{body}.phi" not in names:
            return None
        c, s = np.cos(result[f"{body}.phi"]), np.sin(result[f"{body}.phi"])
        return np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
    if len(_vector(names, f"{body}.Q")) != 4:
        return None
    w, x, y, z = (result[f"{body}.Q[{k}]"] for k in range(1, 5))
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def _size(points: Array) -> float:
    extent = float(np.ptp(points[0], axis=0).max())
    return extent if extent > 0 else 1.0


def _upward(asked: str | None, dim: int, else_: tuple[float, ...]) -> tuple[float, ...]:
    if asked is None:
        return tuple(else_[:dim])
    if asked not in UPWARD or dim == 2:
        raise UsageError(
            f"--up {asked}: a mechanism in space has one of {', '.join(UPWARD)} upwards; one in the plane has y"
        )
    return UPWARD[asked]


def _vector(names: set[str], stem: str) -> list[str]:
    """Return the names ``stem[1]``, ``stem[2]``, ... that exist."""
    found: list[str] = []
    while f"{stem}[{len(found) + 1}]" in names:
        found.append(f"{stem}[{len(found) + 1}]")
    return found


def _track(result: Result, stem: str, dim: int) -> Array:
    return np.column_stack([result[f"{stem}[{k}]"] for k in range(1, dim + 1)])
