"""LagrangianSystem -> Dae: Lagrange's equations by automatic differentiation."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import casadi as ca

from mbfmu.dae.calculated import calculated
from mbfmu.dae.dae import Dae
from mbfmu.dae.linear_algebra.kkt import Factor
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.parts.equations import Equations
from mbfmu.dae.parts.gaps import FrictionSignal, GapSignal, Switches
from mbfmu.dae.parts.start import Start, size_of
from mbfmu.dae.parts.writer import Writer
from mbfmu.dae.signals import ParameterSignal, Signal
from mbfmu.errors import ModelError
from mbfmu.model.expression import Expression
from mbfmu.model.frame import SX
from mbfmu.model.lagrangian import LagrangianSystem
from mbfmu.model.parameter import Parameter

RATE_UNITS = {"m": ("m/s", "m/s2"), "rad": ("rad/s", "rad/s2"), "1": ("1/s", "1/s2")}
EFFORTS = {"m": "N", "rad": "N.m"}
SHOWN = 60
"""Largest number of characters of a constraint in a description."""


def lagrangian(system: LagrangianSystem, formulas: Mapping[str, str] | None = None) -> Dae:
    """Derive the equations of a system from its energies and constraints.

    Args:
        system: the system.
        formulas: inputs that are given as expressions of ``time``, by name.

    Raises:
        ModelError: a coordinate has no inertia in the kinetic energy, which is of another degree than two in the rates,
            a slip or a constraint on velocities is not linear in them, or parameters are defined in a circle.
    """
    # Symbols, and what an expression in their names is
    read = _Read(system)
    q, v, p, t = read.q, read.v, read.p, read.t

    # Energies T and V, and constraints Phi(q, p, t) = 0 and rows = G v + g = 0
    T, V = ca.SX(read(system.kinetic)), ca.SX(read(system.potential))
    M = ca.hessian(T, v)[0]
    if ca.depends_on(M, v):
        raise ModelError(f"kinetic of '{system.name}': '{system.kinetic}' is not of degree two in the velocities")
    Phi, rows = _column(read(text) for text in system.position), _velocity_rows(system, read)

    # Generalised forces without a potential: inputs, dissipation and contacts
    contacts = _Contacts(system, read.values, read, q, v)
    drive, supplied = _drive(system, read, contacts.force, formulas or {})
    _check(system, M, q, p, read.free)
    none = ca.SX(0, 1)
    write = Writer(q, v, none, ca.vertcat(read.u, contacts.u), p, t, ca.SX)

    # Outputs
    a, lambda_ = ca.SX.sym("a", q.numel()), ca.SX.sym("lambda_", Phi.numel() + rows.numel())
    signals, y = _outputs(system, q, v, a, lambda_, T, V, Phi, ca.vertcat(read.dot(Phi), rows))
    shaping = ca.vertcat(Phi, rows)
    # Equations d/dt T_v - T_q + V_q + Phi_q^T lambda = drive, with the constraints' derivatives along the motion
    return Dae(
        name=system.name,
        description=system.description,
        coordinates=tuple(read.names),
        inputs=_inputs(system) + contacts.signals,
        parameters=_parameters(read, shaping),
        bound=calculated(read.bound, [ca.SX(read.values[item.name]) for item in read.bound], read.free),
        outputs=signals,
        states=(),
        equations=_equations(write, T, V, M, drive, a),
        constraints=write.constraints(
            Phi=Phi,
            Phi_q=ca.jacobian(Phi, q),
            Phi_t=ca.jacobian(Phi, t),
            gamma=-read.dot(read.dot(Phi)),
            G=ca.jacobian(rows, v),
            g=ca.substitute(rows, v, ca.SX.zeros(q.numel(), 1)),
            gamma_G=-read.dot(rows),
        ),
        energies=write.energies(T, V, _power(v, t, T, V, drive)),
        start=_start(system, q, v, p, t, Phi),
        output=write.function("output", [q, v, none, none, a, lambda_, write.u, p, t], y),
        angles=write.function("angles", write.pose, none),
        bound_values=write.function("bound_values", [p], _column(read.values[item.name] for item in read.bound)),
        formulas=tuple(label for label in system.inputs.values() if label in supplied),
        switches=contacts.switches(len(system.inputs), p, t, a, lambda_, write.u, none),
    )


class _Read:
    """The symbols of a system, and expressions of the text in it in terms of these.

    Args:
        system: the system.

    Attributes:
        names: names of the coordinates.
        free, bound: parameters with values, and those that depend on others.
        q, v, p, u, t: the symbols of coordinates, rates, free parameters, inputs and time, SX.
        values: what each name in an expression is.
    """

    def __init__(self, system: LagrangianSystem) -> None:
        self.names = [item.name for item in system.coordinates]
        self.q = ca.vertcat(*(ca.SX.sym(name) for name in self.names))
        self.v = ca.vertcat(*(ca.SX.sym(f"der({name})") for name in self.names))
        self.t = ca.SX.sym("t")
        self.free = [item for item in system.parameters if not isinstance(item.value, str)]
        self.bound = [item for item in system.parameters if isinstance(item.value, str)]
        symbols = {item.name: ca.SX.sym(item.name) for item in self.free}
        self.p = _column(symbols.values())
        self.u = _column(ca.SX.sym(name) for name in system.inputs.values())
        self.values: dict[str, SX] = {**symbols, "time": self.t}
        for item in self.bound:
            self.values[item.name] = _resolved(item, {other.name: other for other in system.parameters}, symbols, ())
        for index, name in enumerate(self.names):
            self.values[name], self.values[f"der({name})"] = self.q[index], self.v[index]

    def __call__(self, text: str) -> SX:
        """Return the expression of a text."""
        return Expression(text).evaluate(lambda name: self.values[name])

    def dot(self, expression: SX) -> SX:
        """Return the time derivative of an expression of q and t, without accelerations."""
        return ca.jtimes(expression, self.q, self.v) + ca.jacobian(expression, self.t)


def _velocity_rows(system: LagrangianSystem, read: _Read) -> SX:
    """Return the constraints on rates G v + g, shape (k,).

    Raises:
        ModelError: one is not linear in the velocities.
    """
    rows = _column(read(text) for text in system.velocity)
    for index, text in enumerate(system.velocity):
        if ca.depends_on(ca.jacobian(rows[index], read.v), read.v):
            raise ModelError(f"velocity of '{system.name}': '{text}' is not linear in the velocities")
    return rows


def _inputs(system: LagrangianSystem) -> tuple[Signal, ...]:
    """Return the signals of the generalised forces."""
    return tuple(
        Signal(
            label, EFFORTS.get(_unit(system, name), "1"), f"generalised force on {name}", "input",
            start=float(system.input_starts.get(label, 0.0)),
        )
        for name, label in system.inputs.items()
    )  # fmt: skip


def _parameters(read: _Read, shaping: SX) -> tuple[ParameterSignal, ...]:
    """Return the signals of the free parameters; shaping: what must not change during a run."""
    return tuple(
        ParameterSignal(
            item.name, item.unit, item.description, float(item.value), item.min, item.max,
            not ca.depends_on(shaping, read.values[item.name]), type=item.type, items=item.items,
        )
        for item in read.free
    )  # fmt: skip


def _drive(
    system: LagrangianSystem, read: _Read, contact_force: SX, formulas: Mapping[str, str]
) -> tuple[SX, dict[str, SX]]:
    """Return the generalised forces without a potential, shape (n,), and the inputs that are formulas of the time."""
    drive = contact_force - ca.gradient(ca.SX(read(system.dissipation)), read.v)
    supplied = {label: Expression(text).evaluate(lambda _: read.t) for label, text in formulas.items()}
    for index, (name, label) in enumerate(system.inputs.items()):
        drive[read.names.index(name)] += supplied.get(label, read.u[index])
    return drive, supplied


def _equations(write: Writer, T: SX, V: SX, M: SX, drive: SX, f: SX) -> Equations:
    """Return Lagrange's equations: d/dt T_v = T_q - V_q + drive, of which d/dt (M v) = momentum_rate.

    Args:
        write: makes the Functions.
        T: kinetic energy, J.
        V: potential energy, J.
        M: mass matrix, shape (n, n).
        drive: generalised forces without a potential, shape (n,).
        f: symbols of what `mass_solve` takes, shape (n,).
    """
    q, v = write.q, write.v
    T_v = ca.gradient(T, v)
    still = ca.substitute(T_v, v, ca.SX.zeros(v.numel()))
    momentum = T_v - still  # M v; what else there is of T_v turns into a force, as in a rotating frame
    load = drive - ca.gradient(V, q)
    rate = ca.gradient(T, q) + load - ca.jtimes(still, q, v)
    factor, force = Factor(M), rate - ca.jtimes(momentum, q, v)
    return write.equations(
        f,
        M=lambda: M,
        mass_solve=factor.solve(f),
        free_acceleration=factor.solve(force),
        force=force,
        flow=ca.SX(0, 1),
        momentum=momentum,
        momentum_rate=rate,
        impulse_rate=rate,
    )


class _Contacts:
    """The contacts of a system, in its symbols."""

    def __init__(
        self, system: LagrangianSystem, values: dict[str, SX], read: Callable[[str], SX], q: SX, v: SX
    ) -> None:
        self._values, self._q, self._v = values, q, v
        self._gaps = [item for item in system.contacts if item.gap]
        self._rubbing = [item for item in system.contacts if item.slides]
        # Gaps, slides and their slip rates gamma, which are the rates of the slides unless stated
        t = values["time"]
        self._gap = _column(read(item.gap) for item in self._gaps)
        self._slide = _column(read(item.slide) if item.slide else 0 for item in self._rubbing)
        rates = ca.jtimes(self._slide, q, v) + ca.jacobian(self._slide, t)
        self._slip = _column(read(item.slip) if item.slip else rates[j] for j, item in enumerate(self._rubbing))
        for j, item in enumerate(self._rubbing):
            if ca.depends_on(ca.jacobian(self._slip[j], v), v):
                raise ModelError(
                    f"contact '{item.name}' of '{system.name}': slip = '{item.slip}' is not linear in the velocities"
                )
        # Normal forces of frictions without a gap; those that change along the motion keep their sign
        normals = [ca.SX(0 if item.gap else read(item.normal)) for item in self._rubbing]
        self._turns = [bool(ca.depends_on(normal, ca.vertcat(q, v, t))) for normal in normals]
        self._normal = _column(
            normal if turns else ca.fabs(normal) for normal, turns in zip(normals, self._turns, strict=True)
        )
        # Restitution e, speed of rest and pull of gaps, and restitution e_T along slips
        self._e, self._rest = (
            _column(read(str(getattr(item, name))) for item in self._gaps) for name in ("restitution", "rest")
        )
        self._pull = _column(read(str(item.pull)) for item in self._gaps)
        self._e_T = _column(read(str(item.tangential)) for item in self._rubbing)
        # Forces as inputs u: W^T u with the directions W = [gap_q; slip_v]
        self.signals = tuple(
            Signal(f"{item.name}.{label}", "N", "force of a contact", "input")
            for label, items in (("f_n", self._gaps), ("f_t", self._rubbing))
            for item in items
        )
        self.u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(item.name) for item in self.signals))
        W = ca.vertcat(ca.jacobian(self._gap, q), ca.jacobian(self._slip, v))
        self.force = ca.densify(W.T @ self.u)

    def switches(self, first: int, p: SX, t: SX, a: SX, lambda_: SX, u: SX, z: SX) -> Switches | None:
        """Return the gaps and frictions; first: index of the first of their inputs."""
        if not self.signals:
            return None
        # Speeds and normal forces N as symbols
        q, v, r_N, r_T = self._q, self._v, len(self._gaps), len(self._rubbing)
        speed, normal = ca.SX.sym("speed", r_T), ca.SX.sym("normal", r_T)

        # Friction F(speed, N) that slides, and the limit F_s(N) of what sticks, at least F(0, N) where it is static
        def law(text: Expression, j: int, fast: SX) -> SX:
            symbols = {"speed": fast, "normal": normal[j]}
            return ca.SX(text.evaluate(lambda name: symbols[name] if name in symbols else self._values[name]))

        sliding = _column(law(Expression(item.sliding or "0"), j, speed[j]) for j, item in enumerate(self._rubbing))
        slowest = ca.substitute(sliding, speed, ca.SX.zeros(r_T))
        limits = (law(item.limit, j, ca.SX(0)) for j, item in enumerate(self._rubbing))
        static = _column(
            ca.fmax(limit, slowest[j]) if item.static else limit
            for j, (item, limit) in enumerate(zip(self._rubbing, limits, strict=True))
        )

        def function(name: str, arguments: list[SX], result: SX) -> Any:
            return merged(name, arguments, [ca.densify(result)])

        # Gaps and frictions with these laws, as functions
        return Switches(
            gaps=tuple(
                GapSignal(
                    item.name, item.unit, first + i, item.pull != 0, item.impact_law == "poisson",
                    item.impact_law == "sequence",
                )
                for i, item in enumerate(self._gaps)
            ),
            frictions=tuple(
                FrictionSignal(
                    item.name, item.slip_unit, first + r_N + j,
                    self._gaps.index(item) if item.gap else None, bool(item.slide), self._turns[j],
                    breaks=item.strength != "", rebounds=item.tangential != 0,
                )
                for j, item in enumerate(self._rubbing)
            ),
            gap=function("gap", [q, p, t], self._gap),
            slip=function("slip", [q, v, p, t], self._slip),
            slide=function("slide", [q, p, t], self._slide),
            normal=function("normal", [q, v, z, a, lambda_, u, p, t], self._normal),
            restitution=function("restitution", [p], self._e),
            rest=function("rest", [p], self._rest),
            sliding=function("sliding", [speed, normal, p, t], sliding),
            static=function("static", [normal, p, t], static),
            pull=function("pull", [u, p, t], self._pull) if any(item.pull != 0 for item in self._gaps) else None,
            tangential=function("tangential", [p], self._e_T)
            if any(item.tangential != 0 for item in self._rubbing)
            else None,
        )  # fmt: skip


def _column(items: Iterable[SX | float]) -> SX:
    return ca.vertcat(ca.SX(0, 1), *items)


def _power(v: SX, t: SX, T: SX, V: SX, drive: SX) -> SX | None:
    """Return `Energies.power`; None unless the kinetic energy is quadratic in the rates and free of the time.

    Only then is it the energy that generalised forces change by their power.
    """
    still = ca.SX.zeros(v.numel())
    lower = ca.substitute([T, ca.gradient(T, v)], [v], [still])
    quadratic = all(item.is_zero() for item in lower) and not ca.depends_on(ca.hessian(T, v)[0], v)
    if not quadratic or ca.depends_on(T, t):
        return None
    return ca.dot(drive, v) + ca.jacobian(V, t)


def _resolved(item: Parameter, table: Mapping[str, Parameter], symbols: Mapping[str, SX], chain: tuple[str, ...]) -> SX:
    if item.name in symbols:
        return symbols[item.name]
    if item.name in chain:
        raise ModelError(f"parameters are defined in a cycle: {' -> '.join([*chain, item.name])}")
    deeper = (*chain, item.name)
    return Expression(str(item.value)).evaluate(lambda name: _resolved(table[name], table, symbols, deeper))


def _check(system: LagrangianSystem, M: SX, q: SX, p: SX, free: list[Parameter]) -> None:
    """Raise a ModelError if the mass matrix is not positive definite at the start."""
    import numpy as np

    start = ca.vertcat(*(item.begin for item in system.coordinates))
    numbers = ca.vertcat(ca.SX(0, 1), *(float(item.value) for item in free))
    at = ca.Function("M", [q, p], [ca.densify(M)])(start, ca.DM(ca.evalf(numbers)))
    least = float(np.linalg.eigvalsh(np.array(at)).min())
    if not least > 0:
        raise ModelError(
            f"the kinetic energy of '{system.name}' has no inertia for every coordinate at the start "
            f"(least eigenvalue of the mass matrix {least:.2g})"
        )


def _unit(system: LagrangianSystem, name: str) -> str:
    return next(item.unit for item in system.coordinates if item.name == name)


def _outputs(
    system: LagrangianSystem, q: SX, v: SX, a: SX, lambda_: SX, T: SX, V: SX, Phi: SX, rates: SX
) -> tuple[tuple[Signal, ...], SX]:
    signals: list[Signal] = []
    values: list[SX] = []
    for index, item in enumerate(system.coordinates):
        speed, gain = RATE_UNITS.get(item.unit, ("1/s", "1/s2"))
        first, second = f"der({item.name})", f"der({item.name},2)"
        signals += [
            Signal(item.name, item.unit, item.description, "output"),
            Signal(first, speed, f"rate of {item.name}", "output", item.name),
            Signal(second, gain, f"second derivative of {item.name}", "output", first),
        ]
        values += [q[index], v[index], a[index]]
    residuals = [ca.norm_inf(ca.densify(rows)) if rows.numel() else ca.SX(0) for rows in (Phi, rates)]
    text = "maximum constraint residual of the"
    signals += [
        Signal("energy.total", "J", "kinetic and potential energy", "output"),
        Signal("energy.kinetic", "J", "kinetic energy"),
        Signal("energy.potential", "J", "potential energy"),
        Signal("constraint.position", "1", f"{text} coordinates", "output"),
        Signal("constraint.velocity", "1", f"{text} velocities", "output"),
    ]
    # multipliers, of which the constraints exert -lambda times their gradients
    for index, text in enumerate((*system.position, *system.velocity), 1):
        signals.append(Signal(f"constraint.lambda[{index}]", "1", f"multiplier of {_short(text)}"))
    return tuple(signals), ca.vertcat(*values, T + V, T, V, *residuals, lambda_)


def _short(text: str) -> str:
    """Return the beginning of a text, for a description."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _start(system: LagrangianSystem, q: SX, v: SX, p: SX, t: SX, Phi: SX) -> Start:
    """Return the start with the start values of coordinates and rates; its guess is those of the coordinates."""
    starts = []
    unbounded = (-float("inf"), float("inf"))
    for item in system.coordinates:
        starts.append(ParameterSignal(item.name, item.unit, item.description, item.begin, *unbounded, False, item.free))
        if item.rate is not None:
            speed, rate = RATE_UNITS.get(item.unit, ("1/s", ""))[0], f"der({item.name})"
            starts.append(ParameterSignal(rate, speed, f"rate of {item.name}", item.rate, *unbounded, False))
    s = {item.name: ca.SX.sym(item.name) for item in starts}
    every, empty = ca.vertcat(*s.values()), ca.SX(0, 1)
    met = {k: item.name for k, item in enumerate(system.coordinates) if not item.free}
    der = {k: f"der({item.name})" for k, item in enumerate(system.coordinates) if item.rate is not None}
    names, n = [item.name for item in system.coordinates], len(system.coordinates)
    return Start(
        starts=tuple(starts),
        closing=ca.Function("closing", [q, p, t], [ca.densify(Phi)]),
        positions=ca.Function(
            "positions", [q, every, p, t], [ca.vertcat(empty, *(q[k] - s[name] for k, name in met.items()))]
        ),
        rates=ca.Function(
            "rates", [q, v, every, p, t], [ca.vertcat(empty, *(v[k] - s[name] for k, name in der.items()))]
        ),
        sizes=ca.Function(
            "sizes", [every, p, t], [ca.vertcat(empty, *(size_of(s[name]) for name in (*met.values(), *der.values())))]
        ),
        leanings=ca.Function(
            "leanings", [q, every, p, t], [ca.vertcat(empty, *(q[k] - s[names[k]] for k in range(n) if k not in met))]
        ),
        guess=ca.Function("guess", [every, p, t], [ca.vertcat(*(s[name] for name in names))]),
        mass_metric=True,
        counted=ca.Function("counted", [q, every, p, t], [ca.SX(0, 1)]),
        position_names=tuple(met.values()),
        rate_names=tuple(der.values()),
        loops=(),
        constraint_names=tuple(system.position),
        norms=0,
        exact=not Phi.numel(),
    )
