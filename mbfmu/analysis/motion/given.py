"""A motion that is given for some joints, and the coordinates, rates and accelerations of all that follow from it.

The motion gives coordinates of joints y(t), their rates and accelerations. With C = [Phi_q; G] and Y = y_q, where all
equations of a row are solved together by least squares and must agree,

    Phi(q, t) = 0,  y(q) = y(t)                                 the coordinates q, by Newton's method from time to time,
    C v = -[Phi_t; g],  Y v = y'(t)                             the rates,
    C a = gamma,        Y a = y''(t) - Y' v                     the accelerations.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline

from mbfmu.analysis.equilibria.newton import FARTHEST, LONGEST, RANK
from mbfmu.analysis.equilibria.problem import chains, whole
from mbfmu.base.result import read_table
from mbfmu.dae import Dae
from mbfmu.dae.start import assembled, column
from mbfmu.errors import UnknownNameError, UsageError, first_of, nearest
from mbfmu.model.expression import Expression
from mbfmu.run.model import communication_points

Array = npt.NDArray[np.float64]
SX = ca.SX

DEGREE = 5
"""Degree of the spline through a table's points, which is differentiated where rates or accelerations are missing."""
MOST_CORRECTIONS = 200
"""Largest number of corrections of a pose."""
SETTLED = 1e-13
"""Correction of a coordinate that round-off explains, m or rad."""
CLOSED = 1e-6
"""Largest gap, m or rad, and relative gap of rates and accelerations, between a motion and the constraints."""
PRIME = "'"
"""Mark after the name of a coordinate that makes it that of its derivative, whatever the joint calls its rate."""
STEP = 0.1
"""Largest displacement of an axis between two consecutive poses of a search, m or rad."""
LOOKS = 16
"""Number of equal parts of an interval at whose ends the positions of the axes are computed."""


@dataclass(frozen=True)
class Motion:
    """A motion of joints over time.

    Args:
        times: s, shape (n_t,).
        places: names of coordinates with their values, shape (n_t,) each.
        speeds: the same of rates.
        gains: the same of accelerations.
        notices: how rates and accelerations were computed, if the motion has none.
        course: function (times, s) -> the coordinates there, in the order of `places`, shape (number of times, number
            of places); None: the motion is known at its times only.
    """

    times: Array
    places: dict[str, Array]
    speeds: dict[str, Array]
    gains: dict[str, Array]
    notices: tuple[str, ...] = ()
    course: Callable[[Array], Array] | None = None


def motion_of(
    dae: Dae,
    motion: Mapping[str, str | float] | str | os.PathLike[str],
    stop: float | None,
    interval: float | None,
    analysis: str,
) -> Motion:
    """Return a motion by expressions or of a table.

    Args:
        dae: the equations.
        motion: expressions of coordinates by name, or the path of a table.
        stop: end of a motion by expressions, s.
        interval: time between its points, s; None: about 500 points.
        analysis: name of the analysis, for messages.

    Raises:
        UsageError: the model has no coordinates, or the motion cannot be read.
        UnknownNameError: there is no such coordinate.
        MbfmuError: the table cannot be read.
    """
    if not dae.n:
        raise UsageError(f"'{dae.name}' is a block of equations: {analysis} is that of a mechanism")
    if isinstance(motion, Mapping):
        return from_expressions(dae, motion, stop, interval)
    if stop is not None or interval is not None:
        raise UsageError("a table has its own times: leave the stop time and the output interval out")
    return from_table(dae, Path(motion))


def from_expressions(dae: Dae, motion: Mapping[str, str | float], stop: float | None, interval: float | None) -> Motion:
    """Return the motion of coordinates that are expressions of time, differentiated exactly.

    Args:
        dae: the equations.
        motion: expressions by name.
        stop: end, s.
        interval: time between the points, s; None: about 500 points.

    Raises:
        UsageError: there is no stop time, or an expression depends on something else or is not finite.
        UnknownNameError: there is no such coordinate.
    """
    if stop is None:
        raise UsageError("a motion by expressions needs a stop time")
    if not stop > 0:
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    coordinates, _, _ = chains(dae)
    times = communication_points(stop, 1e-3, interval)
    exact: list[Any] = []

    def course(at: Array) -> Array:
        return np.column_stack([np.array(item(at.reshape(1, -1)))[0] for item in exact])

    motion_read = Motion(times, {}, {}, {}, course=course)
    t = ca.SX.sym("time")
    for name, text in motion.items():
        _refuse_unknown(dae, name, coordinates)
        expression = Expression(str(text))
        if unknown := sorted(expression.names - {"time"}):
            raise UsageError(f"motion {name} = '{text}': it is an expression of 'time', not of {unknown[0]!r}")
        value = ca.SX(expression.evaluate(lambda _: t))
        first = ca.jacobian(value, t)
        every = ca.Function("motion", [t], [ca.densify(ca.vertcat(value, first, ca.jacobian(first, t)))])
        exact.append(every)
        rows = np.array(every(times.reshape(1, -1)))
        if not np.all(np.isfinite(rows)):
            raise UsageError(f"motion {name} = '{text}' is not finite at all times, or its derivatives are not")
        motion_read.places[name], motion_read.speeds[name + PRIME], motion_read.gains[name + PRIME] = rows
    return motion_read


def from_table(dae: Dae, path: Path) -> Motion:
    """Return the motion of a table's coordinates, with its rates and accelerations or those of a spline.

    Args:
        dae: the equations.
        path: the table, with a column ``time``.

    Raises:
        UsageError: it has no coordinate, or too few rows.
        MbfmuError: it cannot be read.
    """
    coordinates, speeds, gains = chains(dae)
    columns = read_table(path)
    times = columns["time"]
    groups = [{name: columns[name] for name in names if name in columns} for names in (coordinates, speeds, gains)]
    motion = Motion(times, groups[0], groups[1], groups[2])
    if not motion.places:
        raise UsageError(f"'{path}' has no column of a joint's coordinate; {nearest(next(iter(columns)), coordinates)}")
    _refuse_wrapped(dae, path, motion)
    rate_of = {item.derivative_of: item.name for item in dae.outputs if item.derivative_of}
    differentiated = []
    for name, values in motion.places.items():
        rate = rate_of.get(name)
        if rate in motion.speeds or (rate is None and _has_rates(name, motion.speeds)):
            continue
        motion.speeds[name + PRIME], second = _slopes(path, times, values, 2)
        if rate_of.get(rate or "") not in motion.gains:
            motion.gains[name + PRIME] = second
        differentiated.append(name)
    for name, values in [*motion.speeds.items()]:
        gain = rate_of.get(name)
        if gain is not None and gain not in motion.gains:
            motion.gains[gain] = _slopes(path, times, values, 1)[0]
            differentiated.append(name)
    text = f"'{path}': derivatives of the interpolating spline of degree {DEGREE} stand for those of "
    notices = (text + first_of(differentiated),) if differentiated else ()
    every = np.column_stack([*motion.places.values()])
    course = make_interp_spline(times, every, k=DEGREE if len(times) > DEGREE else 1) if len(times) > 1 else None
    return replace(motion, notices=notices, course=course)


def _refuse_wrapped(dae: Dae, path: Path, motion: Motion) -> None:
    """Raise an error if angles seem to be kept within a turn: without the jumps by full turns they bend much less."""
    angles = [item.name for item in dae.outputs if item.unit == "rad" and item.name in motion.places]
    for name in angles:
        values = motion.places[name]
        bends, bends_without = (np.max(np.abs(np.diff(item, 2)), initial=0.0) for item in (values, np.unwrap(values)))
        if bends_without < bends / 2:
            k = int(np.argmax(np.abs(np.diff(values))))
            raise UsageError(
                f"'{path}': {name} jumps from {values[k]:.4g} to {values[k + 1]:.4g} rad after t = "
                f"{motion.times[k]:g} s, as angles do that are kept within a turn: let it continue over full turns, as "
                "numpy.unwrap does"
            )


def _has_rates(name: str, speeds: Mapping[str, Array]) -> bool:
    """Return whether the rates of a joint's rotation are given, whose coordinates are those of a quaternion."""
    joint = name.rpartition(".")[0]
    return sum(other.rpartition(".")[0] == joint and other.endswith("]") for other in speeds) >= 3 and "Q_rel" in name


def _slopes(path: Path, times: Array, values: Array, count: int) -> list[Array]:
    """Return the first derivatives of the spline through points."""
    if len(times) <= DEGREE:
        raise UsageError(
            f"'{path}' has {len(times)} rows: a spline of degree {DEGREE} needs {DEGREE + 1}; give more rows, or "
            "columns of rates and accelerations"
        )
    spline = make_interp_spline(times, values, k=DEGREE)
    return [np.asarray(spline(times, order), dtype=np.float64) for order in range(1, count + 1)]


def _refuse_unknown(dae: Dae, name: str, coordinates: Sequence[str]) -> None:
    if name not in coordinates:
        raise UnknownNameError(f"'{dae.name}' has no coordinate of a joint '{name}'; {nearest(name, coordinates)}")


class Kinematics:
    """Functions that turn a motion of joints into one of the coordinates.

    Args:
        dae: the equations.
        motion: what is given.
    """

    def __init__(self, dae: Dae, motion: Motion) -> None:
        self.dae = dae
        # symbols: the acceleration a, and angles as they are counted over full turns
        q, v, z, u, p, t = dae.symbols()
        a, turned = ca.SX.sym("a", dae.n), ca.SX.sym("turned", dae.n_angles)
        # coordinates are q, v and a themselves; other signals are outputs of the model
        numbers = {item.name: k for k, item in enumerate(dae.outputs)}
        rate_of = {item.derivative_of: item.name for item in dae.outputs if item.derivative_of}
        direct = {name: (q[k], v[k], a[k]) for k, name in enumerate(dae.coordinates)}
        derived: dict[str, SX] = {}
        for name, (_, speed, gain) in direct.items():
            if name in rate_of:
                derived[rate_of[name]] = speed
                if rate_of[name] in rate_of:
                    derived[rate_of[rate_of[name]]] = gain
        wanted = [*motion.places, *motion.speeds, *motion.gains]
        named = [name for name in wanted if name in numbers and name not in direct and name not in derived]
        shown = {}
        if named:
            y = dae.output(q, v, z, turned, a, ca.SX.zeros(dae.m + dae.k), u, p, t)
            shown = {name: y[numbers[name]] for name in named}

        def place(name: str) -> SX:
            return direct[name][0] if name in direct else shown[name]

        def differentiated(name: str) -> SX:
            return place(name.removesuffix(PRIME))

        # signals that are known up to full turns only
        self.angular = np.array([_is_wrapped(place(name), turned) for name in motion.places], dtype=bool)
        angles = dae.angles(q, p, t)

        def counted(items: list[SX]) -> SX:
            column_ = ca.vertcat(ca.SX(0, 1), *items)
            return ca.substitute(column_, turned, angles) if dae.n_angles else column_

        # y_q(q), and its derivatives along the motion: y_q' = J v, y_q'' = J a + J' v
        y_q = counted([place(name) for name in motion.places])
        speeds = counted([
            ca.jtimes(counted([differentiated(name)]), q, v)
            if name.endswith(PRIME) else (derived[name] if name in derived else shown[name])
            for name in motion.speeds
        ])  # fmt: skip
        gains = counted([
            ca.jtimes(ca.jtimes(counted([differentiated(name)]), q, v), ca.vertcat(q, v), ca.vertcat(v, a))
            if name.endswith(PRIME)
            else (derived[name] if name in derived else shown[name])
            for name in motion.gains
        ])  # fmt: skip
        point = [q, v, z, u, p, t]

        def function(name: str, arguments: list[SX], *results: SX) -> Any:
            return ca.Function(name, arguments, [ca.densify(item) for item in results])

        # each as offset and slope in its unknown: q, v or a
        self.place = function("place", point, y_q, ca.jacobian(y_q, q))
        whole_turns = ca.vertcat(ca.SX(0, 1), *(place(name) for name in motion.places))
        self.counted = function("counted", [*point, turned], whole_turns)
        self.speed = function("speed", point, ca.substitute(speeds, v, 0 * v), ca.jacobian(speeds, v))
        self.gain = function("gain", point, ca.substitute(gains, a, 0 * a), ca.jacobian(gains, a))


def _is_wrapped(value: SX, turned: SX) -> bool:
    return bool(turned.numel() and ca.depends_on(value, turned))


def nearest_turn(gap: Array) -> Array:
    """Return differences of angles without full turns, rad."""
    turned: Array = np.remainder(gap + np.pi, 2 * np.pi) - np.pi
    return turned


@dataclass(frozen=True)
class Rest:
    """States, inputs and parameters on which the coordinates depend beside the motion.

    Args:
        z: first-order states, shape (n_z,).
        u: inputs, shape (n_u,).
        p: parameters and memory, shape (n_p,).
    """

    z: Array
    u: Array
    p: Any

    @classmethod
    def of(cls, dae: Dae) -> "Rest":
        """Return the start values."""
        u = dae.u_default()
        return cls(np.array([item.start or 0.0 for item in dae.states]), u, whole(dae, u, dae.p_default()))


@dataclass(frozen=True)
class SolvedPose:
    """The end of Newton's method for the coordinates of a motion.

    Args:
        q: the coordinates, shape (n,).
        J: slopes [Phi_q; Y], shape (number of equations, n).
        gap: largest residual, m or rad.
    """

    q: Array
    J: Array
    gap: float

    @property
    def closed(self) -> bool:
        """Whether the constraints and the motion are met."""
        return bool(self.gap <= CLOSED)

    @property
    def missing(self) -> int:
        """Number of degrees of freedom that the slopes leave open."""
        n = self.J.shape[1]
        return int(n - np.linalg.matrix_rank(self.J, tol=RANK * max(1.0, float(np.linalg.norm(self.J, 2)))))


def closed_pose(kinematics: Kinematics, q: Array, rest: Rest, time: float, wanted: Array) -> SolvedPose:
    """Return the coordinates that meet the constraints and the motion best, next to others.

    Args:
        kinematics: functions of the motion.
        q: where the search begins, shape (n,).
        rest: inputs and parameters.
        time: s.
        wanted: the coordinates that are given, in the order of the motion.
    """
    dae, still, p = kinematics.dae, np.zeros(kinematics.dae.n), rest.p
    gaps, J = np.zeros(0), np.zeros((0, dae.n))
    for _ in range(MOST_CORRECTIONS):
        value, Y = kinematics.place(q, still, rest.z, rest.u, p, time)
        gap = wanted - column(value)
        turns = kinematics.angular
        gap[turns] = nearest_turn(gap[turns])
        here = dae.followed(q, p, time)
        gaps = np.concatenate([-column(dae.constraints.Phi(q, here, time)), gap])
        J = np.vstack(
            [np.array(dae.constraints.Phi_q(q, here, time)).reshape(-1, dae.n), np.array(Y).reshape(-1, dae.n)]
        )
        dq = np.linalg.lstsq(J, gaps, rcond=RANK)[0]
        size = float(np.max(np.abs(dq), initial=0.0))
        if not np.isfinite(size) or size <= SETTLED:
            break
        q = q + dq * min(1.0, LONGEST / size)
    return SolvedPose(q, J, float(np.max(np.abs(gaps), initial=0.0)))


def pose_of(kinematics: Kinematics, q: Array, rest: Rest, time: float, wanted: Array) -> Array:
    """Return the coordinates that meet the constraints and the motion, next to others; arguments as `closed_pose`.

    Raises:
        UsageError: they contradict each other, or do not determine the coordinates.
    """
    dae, pose = kinematics.dae, closed_pose(kinematics, q, rest, time, wanted)
    if not pose.closed:
        raise UsageError(
            f"{dae.name}: the motion contradicts the constraints at t = {time:g} s by {pose.gap:.3g}: "
            "give only coordinates that do not follow from each other, or start values nearer to it"
        )
    if pose.missing:
        raise UsageError(
            f"{dae.name}: the motion leaves {pose.missing} freedom(s) open at t = {time:g} s: give that of more joints"
        )
    return pose.q


def parts_of(dae: Dae, way: Array) -> int:
    """Return the number of steps in which driven axes go a way.

    Raises:
        UsageError: it is too far.
    """
    farthest = float(np.max(np.abs(way), initial=0.0))
    if not farthest <= FARTHEST:
        raise UsageError(
            f"{dae.name}: from one value to the next an axis goes {farthest:g} rad or m; at most {FARTHEST:g} can be "
            "followed: begin nearer to the start, or take smaller ranges or more values"
        )
    return max(1, math.ceil(farthest / STEP))


def between(dae: Dae, motion: Motion, begin: float, end: float, v: Array) -> list[float]:
    """Return times between two of a motion, from one to the next of which no axis goes far.

    Without them loops could close in another branch, and full turns of counted angles would be lost, if the points of a
    motion are few. Where each coordinate is driven there is nothing to follow, and no time is needed.

    Args:
        dae: the equations.
        motion: the motion.
        begin: a time of the motion, s.
        end: the next, s.
        v: rates of the coordinates at the first, shape (n,).

    Raises:
        UsageError: an axis goes too far from one time to the next.
    """
    if motion.course is None or not (dae.m or dae.n_angles):
        return []
    way = np.abs(np.diff(motion.course(np.linspace(begin, end, LOOKS + 1)), axis=0)).sum(axis=0)
    others = np.minimum(np.abs(v) * (end - begin), FARTHEST)  # which are fast next to a singular position
    times = np.linspace(begin, end, parts_of(dae, np.concatenate([way, others])) + 1)
    return [float(time) for time in times[1:-1]]


def start_of(dae: Dae, rest: Rest, time: float) -> Array:
    """Return the coordinates at the start of the model, shape (n,)."""
    return column(assembled(dae, list(dae.s_default()), list(rest.p), time))


def counted_at_start(dae: Dae, rest: Rest, q: Array, time: float) -> Array:
    """Return the counted angles at the start of the model, where the coordinates are q, rad."""
    s = dae.s_default()
    return column(dae.start.counted(q, s[: len(dae.start.starts)], rest.p, time))


def counted_on(dae: Dae, rest: Rest, turned: Array, q: Array, time: float) -> Array:
    """Return the counted angles in a pose that follows one in which they are known, rad."""
    counted: Array = turned + nearest_turn(column(dae.angles(q, rest.p, time)) - turned)
    return counted


def first_pose(kinematics: Kinematics, rest: Rest, time: float, wanted: Array) -> tuple[SolvedPose, Array]:
    """Return the pose at the beginning of a motion, with its counted angles, followed from the start of the model.

    Loops close as they do at the start, and angles have the requested full turns.

    Args:
        kinematics: functions of the motion.
        rest: inputs and parameters.
        time: s.
        wanted: the coordinates that are given, in the order of the motion.

    Raises:
        UsageError: there is none, or degrees of freedom are left open.
    """
    dae = kinematics.dae
    q = begin = start_of(dae, rest, time)
    turned = first = counted_at_start(dae, rest, begin, time)
    value = column(kinematics.counted(q, 0 * q, rest.z, rest.u, rest.p, time, turned))
    way = wanted - value
    pose = None
    for part in np.linspace(0, 1, 1 + parts_of(dae, way)).tolist():
        pose = closed_pose(kinematics, q, rest, time, value + part * way)
        if not pose.closed:
            break
        q, turned = pose.q, counted_on(dae, rest, turned, pose.q, time)
    assert pose is not None
    if not (pose.closed and not pose.missing):
        q = pose_of(kinematics, begin, rest, time, wanted)  # directly, or an error that says why
        pose = closed_pose(kinematics, q, rest, time, wanted)
        turned = counted_on(dae, rest, first, pose.q, time)
    return pose, turned


@dataclass(frozen=True)
class Moving:
    """Rates and accelerations of a pose.

    Args:
        v: rates, shape (n,).
        a: accelerations, shape (n,).
        C: slopes of the constraints [Phi_q; G], shape (m + k, n).
    """

    v: Array
    a: Array
    C: Array


def moving_of(kinematics: Kinematics, motion: Motion, index: int, q: Array, rest: Rest) -> Moving:
    """Return rates and accelerations that meet the constraints and the motion.

    Args:
        kinematics: functions of the motion.
        motion: the motion.
        index: number of its time.
        q: the coordinates then, shape (n,).
        rest: inputs and parameters.

    Raises:
        UsageError: they contradict each other.
    """
    dae, time = kinematics.dae, float(motion.times[index])
    p = dae.followed(q, rest.p, time)
    speeds, gains = (np.array([item[index] for item in group.values()]) for group in (motion.speeds, motion.gains))
    held = rest.z, rest.u, p, time
    C = np.array(dae.constraints.C(q, p, time)).reshape(-1, dae.n)
    drift = -column(dae.constraints.c(q, p, time))
    v = solved(dae, C, drift, kinematics.speed(q, 0 * q, *held), speeds, "rates", time)
    bend = np.concatenate(
        [column(dae.constraints.gamma(q, v, p, time)), column(dae.constraints.gamma_G(q, v, p, time))]
    )
    a = solved(dae, C, bend, kinematics.gain(q, v, *held), gains, "accelerations", time)
    return Moving(v, a, C)


def solved(dae: Dae, C: Array, drift: Array, rows: tuple[Any, Any], wanted: Array, quantity: str, time: float) -> Array:
    """Return rates or accelerations x that meet the constraints and the motion.

    Args:
        dae: the equations.
        C: [Phi_q; G], with C x = drift.
        drift: right side of the constraints.
        rows: offset and slopes of what the motion gives.
        wanted: what it is to be.
        quantity: name of x.
        time: s.

    Raises:
        UsageError: they contradict each other.
    """
    offset, Y = column(rows[0]), np.array(rows[1]).reshape(-1, dae.n)
    J, right = np.vstack([C, Y]), np.concatenate([drift, wanted - offset])
    solution: Array = np.linalg.lstsq(J, right, rcond=RANK)[0]
    gap = float(np.max(np.abs(J @ solution - right), initial=0.0))
    if not gap <= CLOSED * max(1.0, float(np.max(np.abs(right), initial=0.0))):
        raise UsageError(
            f"{dae.name}: the {quantity} of the motion contradict each other or the constraints at t = {time:g} s by "
            f"{gap:.3g}: give only coordinates that do not follow from each other"
        )
    return solution
