"""Kinematics: positions, rates and accelerations that follow from the motion of driven axes alone, without masses.

The equations are those of `given_motion`. A position is singular where J = [Phi_q; Y] loses rank: the driven axes no
longer determine the others, as in the dead centre of a crank that its slider drives. There the sign of det J changes,
or the motion ends.
"""

import math
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.analysis.equilibria.problem import chains
from mbfmu.analysis.motion.given import (
    Kinematics,
    Motion,
    Rest,
    SolvedPose,
    between,
    closed_pose,
    counted_at_start,
    counted_on,
    first_pose,
    motion_of,
    moving_of,
    nearest_turn,
    parts_of,
    start_of,
)
from mbfmu.base.arguments import checked
from mbfmu.base.formats import write_columns
from mbfmu.base.result import Result, matching, roles
from mbfmu.dae import Dae, derive
from mbfmu.dae.start import column
from mbfmu.errors import UnknownNameError, UsageError, first_of, nearest
from mbfmu.model import Model
from mbfmu.model.library import model_of

Array = npt.NDArray[np.float64]
SX = ca.SX

UNITS = ("m", "rad", "1", "m/s", "rad/s", "m/s2", "rad/s2")
"""Units of the outputs that a motion determines without forces."""
REGULARITY = "regularity"
"""Name of the smallest singular value of J over the largest, 0 in a singular position."""
HALVINGS = 60
"""Number of times that an interval with a singular position is halved."""
MET = 1e-11
"""Largest gap of a pose by which the end of a motion is found, m or rad."""
SINGULAR = 1e-6
"""Regularity, relative to the best of the motion, in a singular position."""
LISTED = 6
"""Largest number of singular positions that a notice names."""


@checked
def kinematics(
    model: Model | str | os.PathLike[str],
    motion: Mapping[str, str | float] | str | os.PathLike[str],
    stop: float | None = None,
    *,
    output_interval: float | None = None,
    values: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
    show: Sequence[str] = (),
) -> Result:
    """Return positions, rates and accelerations of all joints and frames, from the motion of the driven axes.

    Masses do not count: links may be without. A closed loop stays in the branch in which the start closes it; where the
    motion passes a singular position, it continues smoothly, and a notice names the time.

    Args:
        model: the mechanism, a name in models/, or the path of a model file.
        motion: coordinates of joints as expressions of ``time`` by name, which are differentiated exactly; or the path
            of a table, see `inverse`.
        stop: end of a motion by expressions, s.
        output_interval: time between outputs of a motion by expressions, s. Default: about 500 points.
        values: start values, inputs and parameters that differ from the model's, by name. Start values choose how
            loops close.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        show: names that tables and pictures of the result show, or patterns such as ``boom.*``.

    Returns:
        All that the motion decides, and `regularity`: the smallest singular value of the slopes of constraints and
        driven axes over the largest, 0 in a singular position.

    Raises:
        ModelError: the model is invalid.
        UnknownNameError: there is no such coordinate, input, parameter or start value.
        UsageError: the motion contradicts the constraints, does not determine the coordinates, or ends in a singular
            position; the message names the time.
        MbfmuError: the table cannot be read.
    """
    dae = derive(model_of(model, values), coordinates, weightless=True).unswitched
    requested = motion_of(dae, motion, stop, output_interval, "kinematics")
    return _followed(dae, requested, tuple(show))


def _followed(dae: Dae, motion: Motion, show: tuple[str, ...]) -> Result:
    # the first pose, and the outputs that a motion without forces determines
    linkage, rest = Kinematics(dae, motion), Rest.of(dae)
    wanted = np.column_stack([*motion.places.values()])
    begin = float(motion.times[0])
    pose, turned = first_pose(linkage, rest, begin, wanted[0])
    signals = [item for item, decided in zip(dae.outputs, _decided(dae), strict=True) if decided]
    rows_shown = [dae.outputs.index(item) for item in signals]
    rows, passed = [], []
    way: _Way | None = None
    # regularity: smallest over largest singular value of J, its rows relative to their lengths at the start
    started = _started(linkage, rest, begin)
    lengths = _lengths(started)
    best = _regularity(started.J, lengths)
    # pose, then rates and accelerations, which a singular position leaves open
    for index, time in enumerate(motion.times.tolist()):
        if way:
            trail, crossing = way.to(time)
            pose = trail[-1][1]
            passed += crossing
            for there, item in trail[:-1]:
                turned = counted_on(dae, rest, turned, item.q, there)
        regularity = _regularity(pose.J, lengths)
        best = max(best, regularity)
        if regularity <= SINGULAR * best:
            raise _singular(dae, time, pose, "velocities and accelerations are not determined")
        moving = moving_of(linkage, motion, index, pose.q, rest)
        way = _Way(linkage, rest, motion, time, pose, moving.v, moving.a)
        turned = counted_on(dae, rest, turned, pose.q, time)
        y = dae.output(
            pose.q, moving.v, rest.z, turned, moving.a, np.zeros(dae.m + dae.k), rest.u, rest.p, time
        )  # fmt: skip
        rows.append([*column(y)[rows_shown], regularity])
    # the result, with the singular positions that the motion passes
    names = (*(item.name for item in signals), REGULARITY)
    notices = motion.notices
    if passed:
        times = first_of([f"{time:.6g} s" for time in passed], LISTED)
        notices += (
            f"{dae.name}: the motion passes singular positions at t = {times}, where the driven axes do not "
            "determine the others: it continues smoothly",
        )
    return Result(
        motion.times, names, np.array(rows), {**{item.name: item.unit for item in signals}, REGULARITY: "1"},
        roles=roles((item.name, item.kind, item.unit, item.derivative_of) for item in signals),
        chosen=matching(show, names), notices=notices,
    )  # fmt: skip


def _started(linkage: Kinematics, rest: Rest, time: float) -> SolvedPose:
    """Return the pose at the start of the model."""
    q = start_of(linkage.dae, rest, time)
    return closed_pose(linkage, q, rest, time, column(linkage.place(q, 0 * q, rest.z, rest.u, rest.p, time)[0]))


def _singular(dae: Dae, time: float, pose: SolvedPose, so: str) -> UsageError:
    """Return the error of a singular position, with what follows from it."""
    loose = np.linalg.svd(pose.J)[2][-1]
    coordinate = dae.coordinates[int(np.argmax(np.abs(loose)))]
    return UsageError(
        f"{dae.name}: at t = {time:.9g} s the position is singular (the driven axes do not determine {coordinate}), "
        f"and {so}: end the motion before, or drive another axis"
    )


def _decided(dae: Dae) -> list[bool]:
    """Return which outputs the motion decides: those that neither forces, inputs nor first-order states change."""
    q, v, z, u, p, t = dae.symbols()
    turned, a, lambda_ = ca.SX.sym("turned", dae.n_angles), ca.SX.sym("a", dae.n), ca.SX.sym("l", dae.m + dae.k)
    y = ca.densify(dae.output(q, v, z, turned, a, lambda_, u, p, t))
    free = [k for k in range(len(dae.inputs)) if k not in dae.sampled]
    others = ca.vertcat(lambda_, z, u[free] if free else ca.SX(0, 1))
    moved = set(ca.jacobian_sparsity(y, others).row()) if others.numel() else set()
    return [item.unit in UNITS and row not in moved and item.type == "Real" for row, item in enumerate(dae.outputs)]


def _lengths(pose: SolvedPose) -> Array:
    """Return the lengths of the rows of J, by which those of other poses are scaled, shape (number of rows, 1)."""
    length = np.linalg.norm(pose.J, axis=1, keepdims=True)
    return np.where(length > 0, length, 1.0)


def _regularity(J: Array, lengths: Array) -> float:
    """Return the smallest singular value of J over the largest; rows are scaled by their lengths in another pose."""
    values = np.linalg.svd(J / lengths, compute_uv=False)
    return float(values[J.shape[1] - 1] / values[0]) if len(values) >= J.shape[1] else 0.0


def _side(J: Array) -> float:
    """Return the sign of det J; 0 if J is not square."""
    return float(np.linalg.slogdet(J)[0]) if J.shape[0] == J.shape[1] else 0.0


@dataclass(frozen=True)
class _Way:
    """The way from one pose to the next.

    Args:
        linkage: functions of the motion.
        rest: inputs and parameters.
        motion: the motion.
        begin: time of the pose, s.
        pose: the pose.
        v: rates there.
        a: accelerations there.
    """

    linkage: Kinematics
    rest: Rest
    motion: Motion
    begin: float
    pose: SolvedPose
    v: Array
    a: Array

    def at(self, time: float, wanted: Array | None = None) -> SolvedPose:
        """Return the pose at a time, from where the rates and accelerations lead; it may be open."""
        dt = time - self.begin
        guess = self.pose.q + dt * self.v + dt**2 / 2 * self.a
        if wanted is None:
            assert self.motion.course is not None
            wanted = self.motion.course(np.array([time]))[0]
        return closed_pose(self.linkage, guess, self.rest, time, wanted)

    def to(self, time: float) -> tuple[list[tuple[float, SolvedPose]], list[float]]:
        """Return times with the poses on the way to the next of the motion, and the times of singular positions.

        Raises:
            UsageError: the motion does not continue until there.
        """
        index = int(np.searchsorted(self.motion.times, time))
        way, trail, passed = self, [], []
        for part in between(self.linkage.dae, self.motion, self.begin, time, self.v):
            pose = way.at(part)
            if not pose.closed or pose.missing:  # a table's coordinates agree at its own times only, or the motion ends
                break
            trail.append((part, pose))
            passed += way._crossed(part, pose)
            v = (pose.q - way.pose.q) / (part - way.begin)
            way = replace(way, begin=part, pose=pose, v=v, a=0 * v)
        pose = way.at(time, np.array([item[index] for item in self.motion.places.values()]))
        if not pose.closed or pose.missing:
            raise way._ended(time, pose)
        return [*trail, (time, pose)], passed + way._crossed(time, pose)

    def _crossed(self, time: float, pose: SolvedPose) -> list[float]:
        """Return the time of a singular position before a later pose, if there is one."""
        if _side(pose.J) * _side(self.pose.J) >= 0:
            return []
        low, high = self.begin, time
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            there = self.at(middle)
            if not there.closed:
                break
            low, high = (middle, high) if _side(there.J) == _side(self.pose.J) else (low, middle)
        return [(low + high) / 2]

    def _ended(self, time: float, failed: SolvedPose) -> UsageError:
        """Return the error of a motion that does not continue to a time."""
        if failed.closed:
            return _singular(self.linkage.dae, time, failed, "velocities and accelerations are not determined")
        low, high, last = self.begin, time, self.pose
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            there = self.at(middle)
            if there.gap <= MET:
                low, last = middle, there
            else:
                high = middle
        return _singular(self.linkage.dae, low, last, "the motion cannot continue beyond it")


@dataclass(frozen=True)
class Workspace:
    """The positions of a frame over a grid of the driven axes.

    Args:
        frame: name of the frame.
        axes: values of the driven axes by name, those of the grid.
        reached: whether each point of the grid can be reached from the start, shape (one entry for each axis).
        position: positions of the frame, m, shape (one entry for each axis, 2 or 3); NaN where it is not reached.
        regularity: of each point, see `kinematics`; NaN where it is not reached.
    """

    frame: str
    axes: dict[str, Array]
    reached: npt.NDArray[np.bool_]
    position: Array
    regularity: Array

    def columns(self) -> dict[str, Array]:
        """Return a table with a row for each point of the grid: axes, reached (1 or 0), position, regularity."""
        grids = np.meshgrid(*self.axes.values(), indexing="ij")
        columns = {name: grid.ravel() for name, grid in zip(self.axes, grids, strict=True)}
        columns["reached"] = self.reached.ravel().astype(np.float64)
        for k in range(self.position.shape[-1]):
            columns[f"{self.frame}.r_0[{k + 1}]"] = self.position[..., k].ravel()
        return {**columns, REGULARITY: self.regularity.ravel()}

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as .csv, .parquet, .mat or .npz; numbers read back exactly.

        Raises:
            UsageError: the path has another ending, or a library for it is not installed.
            MbfmuError: the file cannot be written.
        """
        return write_columns(Path(path), self.columns())


@checked
def workspace(
    model: Model | str | os.PathLike[str],
    frame: str,
    axes: Mapping[str, Sequence[float]],
    *,
    values: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
    progress: Callable[[float], Any] | None = None,
) -> Workspace:
    """Return where a frame gets over a grid of driven axes, from the start without passing a singular position.

    The grid is followed from neighbour to neighbour, beginning at the point next to the start, so that closed loops
    stay in their branch.

    Args:
        model: the mechanism, a name in models/, or the path of a model file.
        frame: a part, for its frame_a, or one of its frames, such as ``link2.frame_b``.
        axes: values of coordinates of joints, by name, in SI units; the grid has all their combinations.
        values: start values, inputs and parameters that differ from the model's, by name.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        progress: called with the fraction done.

    Raises:
        ModelError: the model is invalid.
        UnknownNameError: there is no such frame, coordinate or start value.
        UsageError: the axes do not determine the coordinates, no point is reached, or values are not finite.
    """
    dae = derive(model_of(model, values), coordinates, weightless=True).unswitched
    if not dae.n:
        raise UsageError(f"'{dae.name}' is a block of equations: a workspace is that of a mechanism")
    stem = frame.removesuffix(".frame_a")
    numbers = {item.name: k for k, item in enumerate(dae.outputs)}
    rows = [numbers[f"{stem}.r_0[{k}]"] for k in (1, 2, 3) if f"{stem}.r_0[{k}]" in numbers]
    if not rows:
        known = [name.removesuffix(".r_0[1]") for name in numbers if name.endswith(".r_0[1]")]
        raise UnknownNameError(f"'{dae.name}' has no frame '{frame}'; {nearest(frame, known)}")
    positions, _, _ = chains(dae)
    grid: dict[str, Array] = {}
    for name, span in axes.items():
        if name not in positions:
            raise UnknownNameError(f"'{dae.name}' has no coordinate of a joint '{name}'; {nearest(name, positions)}")
        grid[name] = np.array(span, dtype=np.float64)
        if not grid[name].size or not np.all(np.isfinite(grid[name])):
            raise UsageError(f"the values of {name} must be finite numbers")
    if not grid:
        raise UsageError("a workspace is over driven axes: name at least one with its values")
    linkage = Kinematics(dae, Motion(np.zeros(1), {name: np.zeros(1) for name in grid}, {}, {}))
    return _spread(linkage, stem, rows, grid, progress or (lambda _: None))


def _spread(
    linkage: Kinematics, frame: str, rows: list[int], axes: dict[str, Array], progress: Callable[[float], Any]
) -> Workspace:
    dae, rest = linkage.dae, Rest.of(linkage.dae)
    shape = tuple(len(item) for item in axes.values())
    # the point of the grid that is nearest to the start
    q = start_of(dae, rest, 0.0)
    turned = counted_at_start(dae, rest, q, 0.0)
    here = column(linkage.place(q, 0 * q, rest.z, rest.u, rest.p, 0.0)[0])
    first = tuple(
        int(np.argmin(np.abs(nearest_turn(values - at) if turns else values - at)))
        for values, at, turns in zip(axes.values(), here, linkage.angular, strict=True)
    )

    def wanted(point: tuple[int, ...]) -> Array:
        return np.array([values[k] for values, k in zip(axes.values(), point, strict=True)])

    # the mechanism there
    way = np.where(linkage.angular, nearest_turn(wanted(first) - here), wanted(first) - here)
    begin, _ = first_pose(linkage, rest, 0.0, here + way)
    side, lengths = _side(begin.J), _lengths(_started(linkage, rest, 0.0))
    poses: dict[tuple[int, ...], Array] = {first: begin.q}
    regularity, position = np.full(shape, np.nan), np.full((*shape, len(rows)), np.nan)
    regularity[first] = _regularity(begin.J, lengths)
    # from each point that is reached to those beside it, on the same side of singular positions
    todo, count = deque([first]), 0
    while todo:
        point = todo.popleft()
        count += 1
        progress(min(1.0, count / math.prod(shape)))
        for axis, step in product(range(len(shape)), (-1, 1)):
            beside = (*point[:axis], point[axis] + step, *point[axis + 1 :])
            if not 0 <= beside[axis] < shape[axis] or beside in poses:
                continue
            pose = _stepped(linkage, rest, poses[point], wanted(point), wanted(beside), side)
            if pose is not None:
                poses[beside] = pose.q
                regularity[beside] = _regularity(pose.J, lengths)
                todo.append(beside)
    # positions of the frame
    reached = np.zeros(shape, dtype=bool)
    still = np.zeros(dae.n)
    for point, q in poses.items():
        y = column(dae.output(q, still, rest.z, turned, still, np.zeros(dae.m + dae.k), rest.u, rest.p, 0.0))
        reached[point] = True
        position[point] = y[rows]
    return Workspace(frame, axes, reached, position, regularity)


def _stepped(linkage: Kinematics, rest: Rest, q: Array, one: Array, other: Array, side: float) -> SolvedPose | None:
    """Return the pose at other values of the axes, followed from those at which q is; None if there is none."""
    parts = parts_of(linkage.dae, other - one)
    pose = None
    for part in range(1, parts + 1):
        pose = closed_pose(linkage, q, rest, 0.0, one + part / parts * (other - one))
        if not pose.closed or pose.missing or _side(pose.J) != side:
            return None
        q = pose.q
    return pose
