"""The unknowns and equations of an equilibrium, and what they are at the start."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae import Dae
from mbfmu.dae.start import assembled, column
from mbfmu.errors import UnknownNameError, UsageError, nearest

Array = npt.NDArray[np.float64]
SX = ca.SX


@dataclass(frozen=True)
class SearchStart:
    """The state from which the search begins, at t = 0; p ends in what sampled blocks remember."""

    q: Array
    v: Array
    s: Array
    u: Array
    p: Array

    @classmethod
    def of(
        cls,
        dae: Dae,
        hold: Mapping[str, float],
        s: Array | None = None,
        p: Array | None = None,
        u: Array | None = None,
    ) -> "SearchStart":
        """Return where the search begins.

        Args:
            dae: the equations.
            hold: values of inputs, among others, by name.
            s: start values (default: the model's).
            p: parameters (default: the model's).
            u: inputs (default: their start values).
        """
        s, p = dae.s_default() if s is None else s, dae.p_default() if p is None else p
        u = dae.u_default() if u is None else u
        p = np.concatenate([p, dae.extended(p)[dae.n_p - dae.n_d :]])
        names = [item.name for item in dae.inputs]
        u = np.array([hold.get(name, value) for name, value in zip(names, u, strict=True)])
        q = column(assembled(dae, list(s), list(whole(dae, u, p)), 0.0))
        return cls(q, np.zeros(dae.n), s, u, p)


def whole(dae: Dae, u: Any, p: Any, q: Array | None = None) -> Any:
    """Return p of the equations, with the sampled inputs as they are at t = 0; arrays or expressions.

    Args:
        dae: the equations.
        u: inputs.
        p: parameters and what sampled blocks remember.
        q: coordinates that redundant rows are to suit, shape (n,); None: those rows act that do at the start.
    """
    if not dae.n_held + dae.n_w:
        return p
    held, offset = [0, *(u[k] for k in dae.sampled)] if dae.sampled else [], len(dae.parameters)
    inserted = [*held, *[0.0] * dae.n_w]
    if isinstance(p, np.ndarray):
        every = np.array([*p[:offset], *inserted, *p[offset:]])
        return every if q is None else column(dae.followed(q, every, 0.0))
    every = ca.vertcat(*p.elements()[:offset], *inserted, *p.elements()[offset:])
    return every if q is None else dae.followed(q, every, 0.0)


@dataclass(frozen=True)
class Unknowns:
    """The unknowns as the equations take them; arrays or expressions."""

    q: Any
    v: Any
    z: Any
    u: Any
    p: Any


class EquilibriumProblem:
    """Unknowns and equations of an equilibrium.

    Args:
        dae: the equations of the model.
        start: where the search begins.
        free: names of inputs and parameters that are unknown.
        hold: values of outputs and inputs, by name.
    """

    def __init__(self, dae: Dae, start: SearchStart, free: tuple[str, ...], hold: dict[str, float]) -> None:
        self.dae, self.start = dae, start
        self.free = tuple(dict.fromkeys(free))
        self.positions, self.rates, self.gains = chains(dae)
        inputs = [item.name for item in dae.inputs]
        self.hold = {name: value for name, value in hold.items() if name not in inputs}
        self.given = {name: value for name, value in hold.items() if name in inputs}
        self._refuse_names(inputs)
        p = whole(dae, start.u, start.p)
        drifts = column(dae.constraints.Phi_t(start.q, p, 0.0)), column(dae.constraints.g(start.q, p, 0.0))
        turning = [name for name in self.rates if self.hold.get(name)]
        self.moving = bool(turning) or any(np.any(item) for item in drifts)
        for name in turning:  # its position along the motion stays
            integral = next(item.derivative_of for item in dae.outputs if item.name == name)
            if integral and integral not in self.hold:
                self.hold[integral] = self.at_start(integral)
        self.first: Array = np.zeros(0)
        x, state = self._unknowns(inputs)
        rows = self._rows(state, whole(dae, state.u, state.p, start.q))
        self.equations, self.kinds = tuple(name for name, _, _ in rows), tuple(kind for _, kind, _ in rows)
        f = ca.densify(ca.vertcat(ca.SX(0, 1), *(value for _, _, value in rows)))
        self.function = ca.Function("equilibrium", [x], [f, ca.densify(ca.jacobian(f, x))])
        if self.moving:
            self.first = self._set_moving(self.first)
        every = (state.q, state.v, state.z, state.u, state.p)
        self.state = ca.Function("state", [x], [ca.densify(item) for item in every])

    def _set_moving(self, x: Array) -> Array:
        """Return unknowns with the rates that are held, which are linear equations at these coordinates."""
        n = self.dae.n
        f, J = self.function(x)
        rates = {f"{name} = {value:g}" for name, value in self.hold.items() if name in self.rates}
        rows = [kind == "speed" or name in rates for name, kind in zip(self.equations, self.kinds, strict=True)]
        slopes, gaps = np.array(J)[rows, n : 2 * n], column(f)[rows]
        moved = x.copy()
        moved[n : 2 * n] -= np.linalg.lstsq(slopes, gaps, rcond=None)[0]
        return moved if np.all(np.isfinite(moved)) else x

    def _unknowns(self, inputs: list[str]) -> tuple[SX, Unknowns]:
        """Return the symbols of the unknowns and the state they stand for; set names, sizes and first values."""
        dae, start = self.dae, self.start
        q, v, _, u, _, _ = dae.symbols()
        p = ca.SX.sym("p", len(start.p))
        memory = [item.name for item in dae.sampling.memory] if dae.sampling else []
        parameters = [item.name for item in dae.parameters]
        free_u = [inputs.index(name) for name in self.free if name in inputs]
        free_p = [parameters.index(name) for name in self.free if name in parameters]
        free_p += range(len(parameters), len(start.p))
        u_all = ca.vertcat(ca.SX(0, 1), *(u[k] if k in free_u else start.u[k] for k in range(len(inputs))))
        p_all = ca.vertcat(ca.SX(0, 1), *(p[k] if k in free_p else start.p[k] for k in range(len(start.p))))
        v_all = v if self.moving else ca.SX.zeros(dae.n)
        states = [item for item in dae.states if item.start is not None]
        begun = dict(zip((item.name for item in dae.starts), start.s.tolist(), strict=True))
        s = ca.SX.sym("s", len(states))
        z = dae.start.first_states(q, v_all, s, whole(dae, u_all, p_all), 0) if dae.start.first_states else s
        n_v = dae.n if self.moving else 0
        self.names = (
            *dae.coordinates, *(f"der({name})" for name in dae.coordinates[:n_v]),
            *(item.name for item in states), *(inputs[k] for k in free_u), *([*parameters, *memory][k] for k in free_p),
        )  # fmt: skip
        self.sizes = np.array([
            *np.ones(dae.n + n_v), *(item.nominal for item in states),
            *(dae.inputs[k].nominal or max(1.0, abs(start.u[k])) for k in free_u),
            *(abs(start.p[k]) or 1.0 for k in free_p),
        ])  # fmt: skip
        self.first = np.array([
            *start.q, *start.v[:n_v], *(begun[item.name] for item in states), *start.u[free_u], *start.p[free_p]
        ])  # fmt: skip
        bounded = [dae.parameters[k] for k in free_p if k < len(parameters)]
        self.bounds = {item.name: (item.min, item.max) for item in bounded}
        x = ca.vertcat(q, v if self.moving else ca.SX(0, 1), s, *(u[k] for k in free_u), *(p[k] for k in free_p))
        return x, Unknowns(q, v_all, z, u_all, p_all)

    def _refuse_names(self, inputs: list[str]) -> None:
        """Raise an error for names that are unknown, or both free and held."""
        dae = self.dae
        outputs = [item.name for item in dae.outputs]
        parameters = [item.name for item in dae.parameters]
        bound = [item.name for item in dae.bound]
        solved = [*dae.coordinates, *self.positions, *(item.name for item in dae.states)]
        for name in self.free:
            if name in bound:
                raise UsageError(f"'{name}' of '{dae.name}' follows from other parameters: free one of these")
            if name not in (*inputs, *parameters, *solved):
                raise UnknownNameError(
                    f"'{dae.name}' has no input, parameter, state or coordinate '{name}'; "
                    + nearest(name, [*inputs, *parameters, *solved])
                )
        for name in self.hold:
            if name in parameters:
                raise UsageError(f"'{name}' is a parameter, which keeps its value: give it with --set {name}=VALUE")
            if name not in outputs:
                raise UnknownNameError(
                    f"'{dae.name}' has no output or input '{name}'; {nearest(name, [*outputs, *inputs])}"
                )
        for name in self.free:
            if name in self.hold or name in self.given:
                raise UsageError(f"'{name}' is both free and held: drop one of the two")

    def at_start(self, name: str) -> float:
        """Return an output at the start: its start value, or what it is at rest."""
        dae, start = self.dae, self.start
        begun = dict(zip((item.name for item in dae.starts), start.s.tolist(), strict=True))
        if name in begun:
            return float(begun[name])
        p = whole(dae, start.u, start.p)
        s = np.array([begun[item.name] for item in dae.states if item.start is not None])
        z = dae.start.first_states(start.q, start.v, s, p, 0.0) if dae.start.first_states else s
        angles = dae.angles(start.q, p, 0.0)
        y = dae.output(start.q, start.v, z, angles, 0 * start.q, np.zeros(dae.m + dae.k), start.u, p, 0.0)
        return float(y[[item.name for item in dae.outputs].index(name)])

    def _rows(self, state: Unknowns, p: SX) -> list[tuple[str, str, SX]]:
        """Return the equations: name, kind and what is to be zero."""
        dae, zero = self.dae, ca.SX(0)
        q, v, z, u = state.q, state.v, state.z, state.u
        units = {item.name: item.unit for item in dae.outputs}
        rows: list[tuple[str, str, SX]] = []

        def add(names: Iterable[str], kind: str, values: SX | list[SX]) -> None:
            rows.extend((name, kind, values[k]) for k, name in enumerate(names))

        # outputs that appear in equations, with angles as they are counted from q
        turned = ca.SX.sym("turned", dae.n_angles)
        wanted = [name for name in self.hold if name not in dae.coordinates]
        quiet = [name for name in self.rates if name not in self.hold] if self.moving else []
        shown = [*wanted, *quiet, *(self.gains if self.moving else ())]
        a, lambda_ = dae.acceleration(q, v, z, u, p, zero)
        y: dict[str, SX] = {}
        if shown:
            numbers = {item.name: k for k, item in enumerate(dae.outputs)}
            every = dae.output(q, v, z, turned, a, lambda_, u, p, zero)
            y = {name: every[numbers[name]] for name in shown}
        angles = dae.angles(q, p, zero)

        def counted(value: SX) -> SX:
            return ca.substitute(value, turned, angles) if dae.n_angles else value

        # constraints Phi = 0; in a motion C v + c = 0, rates that are not held and accelerations zero; at rest a = 0
        add((f"constraint of {name}" for name in dae.row_names), "constraint", dae.constraints.Phi(q, p, zero))
        if self.moving:
            speeds = dae.constraints.C(q, p, zero) @ v + dae.constraints.c(q, p, zero)
            names = [*dae.row_names, *(f"nonholonomic row {k}" for k in range(1, dae.k + 1))]
            add((f"rate of the constraint of {name}" for name in names), "speed", speeds)
            add((f"{name} = 0" for name in quiet), "speed", [counted(y[name]) for name in quiet])
            add((f"{name} = 0" for name in self.gains), "acceleration", [counted(y[name]) for name in self.gains])
        else:
            add((f"acceleration of {name}" for name in dae.coordinates), "acceleration", a)
        # states at rest: z' = 0, and memory that a sampling leaves as it is
        flow = dae.equations.flow(q, v, z, u, p, zero) / ca.DM(dae.nominal_states) if dae.n_z else ca.SX(0, 1)
        add((f"rate of {item.name}" for item in dae.states), "flow", flow)
        if dae.sampling:
            after = dae.sampling.update(q, v, z, u, p, zero, ca.SX.ones(dae.n_c))
            add((f"sampling of {item.name}" for item in dae.sampling.memory), "flow", after - p[dae.n_p - dae.n_d :])
        # what is held at its value; angles up to full turns
        for name, value in self.hold.items():
            if name in dae.coordinates:
                gap = q[dae.coordinates.index(name)] - value
            else:
                gap = counted(y[name] - value)
                if dae.n_angles and units[name] == "rad" and ca.depends_on(y[name], turned):
                    gap = ca.atan2(ca.sin(gap), ca.cos(gap))
            rows.append((f"{name} = {value:g}", "place" if name in self.positions else "held", gap))
        return rows

    def at(self, x: Array) -> Unknowns:
        """Return what unknowns stand for."""
        return Unknowns(*(column(item) for item in self.state(x)))


def chains(dae: Dae) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the names of coordinates, rates and accelerations of all joints and flexible bodies, or of the model."""
    if not dae.n:
        return (), (), ()
    shown = {dae.full_names.get(item.name, item.name): item for item in dae.outputs if item.kind == "output"}
    owners = {item.name for item in dae.skeleton.joints} if dae.skeleton else {""}
    owners |= {name.rpartition(".")[0] for name in dae.coordinates if name in shown}
    signals = [item for name, item in shown.items() if name.rpartition(".")[0] in owners]
    differentiated = {item.derivative_of for item in signals}
    gains = [item for item in signals if item.derivative_of and item.name not in differentiated]
    rates = tuple(item.derivative_of for item in gains if item.derivative_of)
    last = {*rates, *(item.name for item in gains)}
    return tuple(item.name for item in signals if item.name not in last), rates, tuple(item.name for item in gains)


def outputs_at(dae: Dae, at: Unknowns, p: Any) -> dict[str, float]:
    """Return all outputs, by name."""
    a, lambda_ = dae.acceleration(at.q, at.v, at.z, at.u, p, 0.0)
    y = column(dae.output(at.q, at.v, at.z, dae.angles(at.q, p, 0.0), a, lambda_, at.u, p, 0.0))
    return {item.name: float(value) + 0.0 for item, value in zip(dae.outputs, y, strict=True)}


def position_slopes(dae: Dae, at: Unknowns, p: Any, names: Sequence[str]) -> Array:
    """Return the slopes of joints' coordinates with respect to q, shape (number of names, n)."""
    q, turned = ca.SX.sym("q", dae.n), ca.SX.sym("turned", dae.n_angles)
    still, nothing = ca.SX.zeros(dae.n), ca.SX.zeros(dae.m + dae.k)
    numbers = {item.name: k for k, item in enumerate(dae.outputs)}
    y = dae.output(q, still, ca.DM(at.z), turned, still, nothing, ca.DM(at.u), ca.DM(p), 0.0)
    some = y[[numbers[name] for name in names]]
    if dae.n_angles:
        some = ca.substitute(some, turned, dae.angles(q, ca.DM(p), 0.0))
    return np.array(ca.Function("slopes", [q], [ca.densify(ca.jacobian(some, q))])(at.q)).reshape(len(names), dae.n)
