"""Inverse dynamics: the efforts and reactions of a given motion.

The motion gives coordinates of joints y(t), their rates and accelerations. With C = [Phi_q; G] and Y = y_q, where all
equations of a row are solved together by least squares and must agree,

    Phi(q, t) = 0,  y(q) = y(t)                                 the coordinates q, by Newton's method from time to time,
    C v = -[Phi_t; g],  Y v = y'(t)                             the rates,
    C a = gamma,        Y a = y''(t) - Y' v                     the accelerations,
    M a + C^T lambda = force(q, v, z, 0, p, t) + force_u u      the multipliers lambda and the efforts u.

With all coordinates of a tree given, the last line is the recursive Newton-Euler algorithm plus M a.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline

from mbfmu.arguments import checked
from mbfmu.dae import Dae, derive, refuse_switched
from mbfmu.dae.inverse import EFFORT_UNITS
from mbfmu.dae.start import assembled
from mbfmu.equilibria.newton import LONGEST, RANK
from mbfmu.equilibria.problem import chains, column, whole
from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.model import Model
from mbfmu.model.expression import Expression
from mbfmu.model.library import model_of
from mbfmu.model_run import communication_points
from mbfmu.result import Result, matching, read_table, roles

Array = npt.NDArray[np.float64]
SX = Any

DEGREE = 5
"""Degree of the spline through a table's points, which is differentiated where rates or accelerations are missing."""
MOST_CORRECTIONS = 200
"""Largest number of corrections of a pose."""
SETTLED = 1e-13
"""Correction of a coordinate that round-off explains, m or rad."""
CLOSED = 1e-6
"""Largest gap, m or rad, and relative gap of rates and accelerations, between a motion and the constraints."""
BALANCED = 1e-6
"""Largest force that no drive and no constraint balances, relative to the largest force."""
PRIME = "'"
"""Mark after the name of a coordinate whose derivative is given, whatever the joint calls its rate."""
NAMED = 3
"""Largest number of names in a message."""


@dataclass(frozen=True)
class Motion:
    """A motion of joints over time.

    Args:
        times: s, shape (n_t,).
        places: names of coordinates with their values, shape (n_t,) each.
        speeds: the same of rates.
        gains: the same of accelerations.
        notices: how rates and accelerations were found, if they are not those given.
    """

    times: Array
    places: dict[str, Array]
    speeds: dict[str, Array]
    gains: dict[str, Array]
    notices: tuple[str, ...] = ()


@checked
def inverse(
    model: Model | str | os.PathLike[str],
    motion: Mapping[str, str | float] | str | os.PathLike[str],
    stop: float | None = None,
    *,
    output_interval: float | None = None,
    efforts: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
    show: Sequence[str] = (),
) -> Result:
    """Return the efforts of the drives and all outputs, such as reactions, of a given motion.

    Args:
        model: the mechanism, a name in models/, or the path of a model file.
        motion: coordinates of joints as expressions of ``time`` by name, which are differentiated exactly; or the path
            of a table (.csv, .parquet, .mat, .npz) with a column ``time`` and columns of joints' coordinates, and of
            rates and accelerations if they are known. Those that are missing are derivatives of the interpolating
            spline of degree 5 through the points, which smooths nothing. Coordinates that are not given follow from
            the constraints.
        stop: end of a motion by expressions, s.
        output_interval: time between outputs of a motion by expressions, s. Default: about 500 points.
        efforts: names of the inputs that make the motion; () for all forces and torques. The others keep their start
            values.
        values: start values, inputs and parameters that differ from the model's, by name. Start values choose how
            loops close.
        coordinates: ``absolute`` or ``joint``; None: joint coordinates if they are fewer.
        show: names that tables and pictures of the result show, or patterns such as ``boom.*``.

    Raises:
        ModelError: the model is invalid.
        UnknownNameError: there is no such coordinate, input, parameter or start value.
        UsageError: the motion contradicts the constraints, does not determine the coordinates, or cannot be made by
            these efforts, or does not determine them; or the model has no coordinates.
        MbfmuError: the table cannot be read.
    """
    system = model_of(model, values)
    dae = derive(system, coordinates)
    refuse_switched(dae, "inverse dynamics")
    if not dae.n:
        raise UsageError(f"'{dae.name}' is a block of equations: inverse dynamics is that of a mechanism")
    if isinstance(motion, Mapping):
        given = _from_expressions(dae, motion, stop, output_interval)
    else:
        if stop is not None or output_interval is not None:
            raise UsageError("a table has its own times: leave the stop time and the output interval out")
        given = _from_table(dae, Path(motion))
    return efforts_of(dae, given, tuple(efforts), tuple(show))


def _from_expressions(
    dae: Dae, motion: Mapping[str, str | float], stop: float | None, interval: float | None
) -> Motion:
    if stop is None:
        raise UsageError("a motion by expressions needs a stop time")
    if not stop > 0:
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    places, _, _ = chains(dae)
    times = communication_points(stop, 1e-3, interval)
    found = Motion(times, {}, {}, {})
    t = ca.SX.sym("time")
    for name, text in motion.items():
        _refuse_unknown(dae, name, places)
        expression = Expression(str(text))
        if unknown := sorted(expression.names - {"time"}):
            raise UsageError(f"motion {name} = '{text}': it is an expression of 'time', not of {unknown[0]!r}")
        value = ca.SX(expression.evaluate(lambda _: t))
        first = ca.jacobian(value, t)
        every = ca.Function("motion", [t], [ca.densify(ca.vertcat(value, first, ca.jacobian(first, t)))])
        rows = np.array(every(times.reshape(1, -1)))
        if not np.all(np.isfinite(rows)):
            raise UsageError(f"motion {name} = '{text}' is not finite at all times, or its derivatives are not")
        found.places[name], found.speeds[name + PRIME], found.gains[name + PRIME] = rows
    return found


def _from_table(dae: Dae, path: Path) -> Motion:
    places, speeds, gains = chains(dae)
    columns = read_table(path)
    times = columns["time"]
    groups = [{name: columns[name] for name in names if name in columns} for names in (places, speeds, gains)]
    found = Motion(times, groups[0], groups[1], groups[2])
    if not found.places:
        raise UsageError(f"'{path}' has no column of a joint's coordinate; {nearest(next(iter(columns)), places)}")
    rate_of = {item.derivative_of: item.name for item in dae.outputs if item.derivative_of}
    differentiated = []
    for name, values in found.places.items():
        rate = rate_of.get(name)
        if rate in found.speeds or (rate is None and _has_rates(name, found.speeds)):
            continue
        first, second = _slopes(path, times, values, 2)
        found.speeds[name + PRIME], found.gains[name + PRIME] = first, second
        differentiated.append(name)
    for name, values in [*found.speeds.items()]:
        gain = rate_of.get(name)
        if gain is not None and gain not in found.gains:
            found.gains[gain] = _slopes(path, times, values, 1)[0]
            differentiated.append(name)
    text = f"'{path}': derivatives of the interpolating spline of degree {DEGREE} stand for those of "
    notices = (text + _listed(differentiated),) if differentiated else ()
    return Motion(times, found.places, found.speeds, found.gains, notices)


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
    return [np.asarray(spline(times, number), dtype=np.float64) for number in range(1, count + 1)]


def _refuse_unknown(dae: Dae, name: str, places: Sequence[str]) -> None:
    if name not in places:
        raise UnknownNameError(f"'{dae.name}' has no coordinate of a joint '{name}'; {nearest(name, places)}")


class _Kinematics:
    """The functions that turn a motion of joints into one of the coordinates.

    Args:
        dae: the equations.
        motion: what is given.
    """

    def __init__(self, dae: Dae, motion: Motion) -> None:
        self.dae = dae
        q, v, z, u, p, t = dae.symbols()
        a, turned = ca.SX.sym("a", dae.n), ca.SX.sym("turned", dae.n_angles)
        numbers = {item.name: k for k, item in enumerate(dae.outputs)}
        rate_of = {item.derivative_of: item.name for item in dae.outputs if item.derivative_of}
        direct = {name: (q[k], v[k], a[k]) for k, name in enumerate(dae.coordinates)}
        own: dict[str, SX] = {}
        for name, (_, speed, gain) in direct.items():
            if name in rate_of:
                own[rate_of[name]] = speed
                if rate_of[name] in rate_of:
                    own[rate_of[rate_of[name]]] = gain
        wanted = [*motion.places, *motion.speeds, *motion.gains]
        named = [name for name in wanted if name in numbers and name not in direct and name not in own]
        shown = {}
        if named:
            y = dae.output(q, v, z, turned, a, ca.SX.zeros(dae.m + dae.k), u, p, t)
            shown = {name: y[numbers[name]] for name in named}

        def place(name: str) -> SX:
            return direct[name][0] if name in direct else shown[name]

        def differentiated(name: str) -> SX:
            return place(name.removesuffix(PRIME))

        self.angular = np.array([_is_wrapped(place(name), turned) for name in motion.places], dtype=bool)
        angles = dae.angles(q, p, t)

        def counted(items: list[SX]) -> SX:
            column_ = ca.vertcat(ca.SX(0, 1), *items)
            return ca.substitute(column_, turned, angles) if dae.n_angles else column_

        y_q = counted([place(name) for name in motion.places])
        speeds = counted([
            ca.jtimes(counted([differentiated(name)]), q, v)
            if name.endswith(PRIME) else own.get(name, shown.get(name))
            for name in motion.speeds
        ])  # fmt: skip
        gains = counted([
            ca.jtimes(ca.jtimes(counted([differentiated(name)]), q, v), ca.vertcat(q, v), ca.vertcat(v, a))
            if name.endswith(PRIME)
            else own.get(name, shown.get(name))
            for name in motion.gains
        ])  # fmt: skip
        given = [q, v, z, u, p, t]

        def function(name: str, arguments: list[SX], *results: SX) -> Any:
            return ca.Function(name, arguments, [ca.densify(item) for item in results])

        self.place = function("place", given, y_q, ca.jacobian(y_q, q))
        self.speed = function("speed", given, ca.substitute(speeds, v, 0 * v), ca.jacobian(speeds, v))
        self.gain = function("gain", given, ca.substitute(gains, a, 0 * a), ca.jacobian(gains, a))


def _is_wrapped(value: SX, turned: SX) -> bool:
    return bool(turned.numel() and ca.depends_on(value, turned))


def efforts_of(dae: Dae, motion: Motion, efforts: tuple[str, ...] = (), show: tuple[str, ...] = ()) -> Result:
    """Return efforts and outputs of a motion; arguments and errors as for `inverse`."""
    drives = _Drives(dae, efforts)
    kinematics = _Kinematics(dae, motion)
    begin = float(motion.times[0])
    s = dae.s_default()
    q = column(assembled(dae, list(s), list(drives.p), begin))
    turned = column(dae.assembly.counted(q, s[: len(dae.assembly.starts)], drives.p, begin))
    rows = []
    for number, time in enumerate(motion.times.tolist()):
        places, speeds, gains = (
            np.array([values[number] for values in group.values()])
            for group in (motion.places, motion.speeds, motion.gains)
        )
        rest = drives.z, drives.u, drives.p, time
        q = _pose(kinematics, q, *rest, places)
        C = np.vstack([np.array(dae.Phi_q(q, drives.p, time)), np.array(dae.G(q, drives.p, time))]).reshape(-1, dae.n)
        drift = -np.concatenate([column(dae.Phi_t(q, drives.p, time)), column(dae.g(q, drives.p, time))])
        v = _solved(dae, C, drift, kinematics.speed(q, 0 * q, *rest), speeds, "rates", time)
        bend = np.concatenate([column(dae.gamma(q, v, drives.p, time)), column(dae.gamma_G(q, v, drives.p, time))])
        a = _solved(dae, C, bend, kinematics.gain(q, v, *rest), gains, "accelerations", time)
        lambda_, u = drives.balanced(C, q, v, a, time)
        turned = turned + _nearest_turn(column(dae.angles(q, drives.p, time)) - turned)
        y = dae.output(q, v, drives.z, turned, a, lambda_, u, drives.p, time)
        rows.append([*u, *column(y)])
    signals = [*dae.inputs, *dae.outputs]
    names = tuple(item.name for item in signals)
    return Result(
        motion.times, names, np.array(rows), {item.name: item.unit for item in signals},
        roles=roles((item.name, item.kind, item.unit, item.derivative_of) for item in signals),
        chosen=matching(show, names), notices=motion.notices,
    )  # fmt: skip


def _nearest_turn(gap: Array) -> Array:
    """Return differences of angles without full turns, rad."""
    found: Array = np.remainder(gap + np.pi, 2 * np.pi) - np.pi
    return found


def _pose(kinematics: _Kinematics, q: Array, z: Array, u: Array, p: Any, time: float, wanted: Array) -> Array:
    """Return the coordinates that meet the constraints and the motion, next to others.

    Raises:
        UsageError: they contradict each other, or do not determine the coordinates.
    """
    dae, still = kinematics.dae, np.zeros(kinematics.dae.n)
    asked, J = np.zeros(0), np.zeros((0, dae.n))
    for _ in range(MOST_CORRECTIONS):
        value, Y = kinematics.place(q, still, z, u, p, time)
        gap = wanted - column(value)
        turns = kinematics.angular
        gap[turns] = _nearest_turn(gap[turns])
        asked = np.concatenate([-column(dae.Phi(q, p, time)), gap])
        J = np.vstack([np.array(dae.Phi_q(q, p, time)).reshape(-1, dae.n), np.array(Y).reshape(-1, dae.n)])
        dq = np.linalg.lstsq(J, asked, rcond=RANK)[0]
        size = float(np.max(np.abs(dq), initial=0.0))
        if not np.isfinite(size) or size <= SETTLED:
            break
        q = q + dq * min(1.0, LONGEST / size)
    if not np.max(np.abs(asked), initial=0.0) <= CLOSED:
        raise UsageError(
            f"{dae.name}: the motion contradicts the constraints at t = {time:g} s by {np.max(np.abs(asked)):.3g}: "
            "give only coordinates that do not follow from each other, or start values nearer to it"
        )
    missing = dae.n - int(np.linalg.matrix_rank(J, tol=RANK * max(1.0, float(np.linalg.norm(J, 2)))))
    if missing:
        raise UsageError(
            f"{dae.name}: the motion leaves {missing} freedom(s) open at t = {time:g} s: give that of more joints"
        )
    return q


def _solved(dae: Dae, C: Array, drift: Array, rows: tuple[Any, Any], wanted: Array, what: str, time: float) -> Array:
    """Return rates or accelerations x that meet the constraints and the motion.

    Args:
        dae: the equations.
        C: [Phi_q; G], with C x = drift.
        drift: right side of the constraints.
        rows: offset and slopes of what the motion gives.
        wanted: what it is to be.
        what: name of x.
        time: s.

    Raises:
        UsageError: they contradict each other.
    """
    offset, Y = column(rows[0]), np.array(rows[1]).reshape(-1, dae.n)
    J, asked = np.vstack([C, Y]), np.concatenate([drift, wanted - offset])
    found: Array = np.linalg.lstsq(J, asked, rcond=RANK)[0]
    gap = float(np.max(np.abs(J @ found - asked), initial=0.0))
    if not gap <= CLOSED * max(1.0, float(np.max(np.abs(asked), initial=0.0))):
        raise UsageError(
            f"{dae.name}: the {what} of the motion contradict each other or the constraints at t = {time:g} s by "
            f"{gap:.3g}: give only coordinates that do not follow from each other"
        )
    return found


class _Drives:
    """The inputs that make the motion, and the values of all else.

    Args:
        dae: the equations.
        efforts: names of the inputs; () for all forces and torques.

    Raises:
        UnknownNameError: there is no such input.
        UsageError: forces depend on first-order states, or not linearly on the inputs.
    """

    def __init__(self, dae: Dae, efforts: tuple[str, ...]) -> None:
        self.dae = dae
        inputs = [item.name for item in dae.inputs]
        for name in efforts:
            if name not in inputs:
                raise UnknownNameError(f"'{dae.name}' has no input '{name}'; {nearest(name, inputs)}")
        self.driven = [
            k for k, item in enumerate(dae.inputs) if (item.name in efforts if efforts else item.unit in EFFORT_UNITS)
        ]
        self.u = dae.u_default()
        self.u[self.driven] = 0.0
        self.p = whole(dae, self.u, dae.p_default())
        self.z = np.array([item.start or 0.0 for item in dae.states])
        q, v, z, u, p, t = given = dae.symbols()
        force = dae.force(q, v, z, u, p, t)
        B = ca.jacobian(force, u)[:, self.driven]
        if dae.n_z and ca.depends_on(force, z):
            own = _listed([item.name for item in dae.states])
            raise UsageError(
                f"'{dae.name}' has forces that depend on states of their own ({own}), which no motion gives"
            )
        if ca.depends_on(B, u):
            raise UsageError(f"'{dae.name}' has inputs that do not act linearly; name those that do as efforts")
        self.slope = ca.Function("slope", list(given), [ca.densify(B)])

    def balanced(self, C: Array, q: Array, v: Array, a: Array, time: float) -> tuple[Array, Array]:
        """Return multipliers and inputs that balance the forces of a motion.

        Raises:
            UsageError: there are none, or the motion does not determine them.
        """
        dae, m = self.dae, len(C)
        known = q, v, self.z, self.u, self.p, time
        B = np.array(self.slope(*known)).reshape(dae.n, -1)
        force, inertia = column(dae.force(*known)), np.array(dae.M(q, self.p)) @ a
        columns, asked = np.hstack([C.T, -B]), force - inertia
        length = np.linalg.norm(columns, axis=0)
        length[length == 0] = 1.0
        columns = columns / length
        found, _, rank, _ = np.linalg.lstsq(columns, asked, rcond=RANK)
        gap = np.abs(columns @ found - asked)
        size = max(1.0, *np.abs(force), *np.abs(inertia))
        if not np.max(gap, initial=0.0) <= BALANCED * size:
            worst = [dae.coordinates[k] for k in np.argsort(-gap)[:NAMED] if gap[k] > BALANCED * size]
            raise UsageError(
                f"{dae.name}: nothing drives {', '.join(worst)} as the motion asks for at t = {time:g} s (by "
                f"{np.max(gap):.3g}): make the joint actuated, or leave its motion to the forces"
            )
        if rank < columns.shape[1]:
            loose = np.max(np.abs(np.linalg.svd(columns)[2][rank:, m:]), axis=0)
            free = [dae.inputs[k].name for k, share in zip(self.driven, loose, strict=True) if share > RANK]
            if free:
                raise UsageError(
                    f"{dae.name}: the motion does not determine {_listed(free)} at t = {time:g} s: there are more "
                    "drives than freedoms (name some as efforts), or in this position they do not act on them"
                )
        found, u = found / length, self.u.copy()
        u[self.driven] = found[m:]
        return found[:m], u


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
