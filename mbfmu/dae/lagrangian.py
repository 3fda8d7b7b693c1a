"""LagrangianSystem -> Dae: Lagrange's equations by automatic differentiation."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import casadi as ca

from mbfmu.dae.calculated import calculated
from mbfmu.dae.dae import Assembly, Dae, size_of
from mbfmu.dae.events.gaps import FrictionSignal, GapSignal, Switches
from mbfmu.dae.kkt import Factor
from mbfmu.dae.merged import merged
from mbfmu.dae.signals import ParameterSignal, Signal
from mbfmu.errors import ModelError
from mbfmu.model.expression import Expression
from mbfmu.model.frame import SX
from mbfmu.model.lagrangian import LagrangianSystem
from mbfmu.model.parameter import Parameter

RATE_UNITS = {"m": ("m/s", "m/s2"), "rad": ("rad/s", "rad/s2"), "1": ("1/s", "1/s2")}
EFFORTS = {"m": "N", "rad": "N.m"}


def lagrangian(system: LagrangianSystem, formulas: Mapping[str, str] | None = None) -> Dae:
    """Derive the equations of a system from its energies and constraints.

    Args:
        system: the system.
        formulas: inputs that are given as expressions of ``time``, by name.

    Raises:
        ModelError: a coordinate has no inertia in the kinetic energy, which is of another degree than two in the rates,
            a slip or a constraint on velocities is not linear in them, or parameters are defined in a circle.
    """
    names = [item.name for item in system.coordinates]
    q = ca.vertcat(*(ca.SX.sym(name) for name in names))
    v = ca.vertcat(*(ca.SX.sym(f"der({name})") for name in names))
    t = ca.SX.sym("t")
    free = [item for item in system.parameters if not isinstance(item.value, str)]
    symbols = {item.name: ca.SX.sym(item.name) for item in free}
    p = ca.vertcat(ca.SX(0, 1), *symbols.values())
    u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in system.inputs.values()))
    bound = [item for item in system.parameters if isinstance(item.value, str)]
    values: dict[str, SX] = {**symbols, "time": t}
    for item in bound:
        values[item.name] = _resolved(item, {other.name: other for other in system.parameters}, symbols, ())
    for number, name in enumerate(names):
        values[name], values[f"der({name})"] = q[number], v[number]

    def read(text: str) -> SX:
        return Expression(text).evaluate(lambda name: values[name])

    T, V = ca.SX(read(system.kinetic)), ca.SX(read(system.potential))
    M = ca.hessian(T, v)[0]
    if ca.depends_on(M, v):
        raise ModelError(f"kinetic of '{system.name}': '{system.kinetic}' is not of degree two in the rates")
    Phi = ca.vertcat(ca.SX(0, 1), *(read(text) for text in system.position))
    rows = ca.vertcat(ca.SX(0, 1), *(read(text) for text in system.velocity))
    for number, text in enumerate(system.velocity):
        if ca.depends_on(ca.jacobian(rows[number], v), v):
            raise ModelError(f"velocity of '{system.name}': '{text}' is not linear in the rates")
    contacts = _Contacts(system, values, read, q, v)
    drive = contacts.force - ca.gradient(ca.SX(read(system.dissipation)), v)
    given = {label: Expression(text).evaluate(lambda _: t) for label, text in (formulas or {}).items()}
    for number, (name, label) in enumerate(system.inputs.items()):
        drive[names.index(name)] += given.get(label, u[number])
    u = ca.vertcat(u, contacts.u)
    T_v = ca.gradient(T, v)
    still = ca.substitute(T_v, v, ca.SX.zeros(v.numel()))
    momentum = T_v - still  # M v; what else there is of T_v turns into a force, as in a rotating frame
    _check(system, M, q, p, free)
    load = drive - ca.gradient(V, q)
    rate = ca.gradient(T, q) + load - ca.jtimes(still, q, v)
    n = len(names)

    def dot(expression: SX) -> SX:
        return ca.jtimes(expression, q, v) + ca.jacobian(expression, t)

    def function(name: str, arguments: list[SX], result: SX) -> Any:
        return merged(name, arguments, [ca.SX(result)])

    a, lambda_ = ca.SX.sym("a", n), ca.SX.sym("lambda_", Phi.numel() + rows.numel())
    signals, y = _outputs(system, q, v, a, T, V, Phi, ca.vertcat(dot(Phi), rows))
    z = turned = ca.SX(0, 1)
    energies = [q, v, z, turned, a, lambda_, u, p, t]
    constraints = ca.vertcat(Phi, rows)
    factor, force = Factor(M), rate - ca.jtimes(momentum, q, v)
    return Dae(
        name=system.name,
        description=system.description,
        coordinates=tuple(names),
        inputs=tuple(
            Signal(
                label, EFFORTS.get(_unit(system, name), "1"), f"generalised force on {name}", "input",
                start=float(system.input_starts.get(label, 0.0)),
            )
            for name, label in system.inputs.items()
        ) + contacts.signals,
        parameters=tuple(
            ParameterSignal(
                item.name, item.unit, item.description, float(item.value), item.min, item.max,
                not ca.depends_on(constraints, symbols[item.name]), type=item.type, items=item.items,
            )
            for item in free
        ),
        bound=calculated(bound, [ca.SX(values[item.name]) for item in bound], free),
        outputs=signals,
        states=(),
        m=Phi.numel(),
        k=rows.numel(),
        inertia=lambda: function("M", [q, p], M),
        mass_solve=function("mass_solve", [q, p, a], factor.solve(a)),
        free_acceleration=function("free_acceleration", [q, v, z, u, p, t], factor.solve(force)),
        force=function("force", [q, v, z, u, p, t], force),
        flow=function("flow", [q, v, z, u, p, t], z),
        Phi=function("Phi", [q, p, t], Phi),
        Phi_q=function("Phi_q", [q, p, t], ca.jacobian(Phi, q)),
        Phi_t=function("Phi_t", [q, p, t], ca.jacobian(Phi, t)),
        gamma=function("gamma", [q, v, p, t], -dot(dot(Phi))),
        G=function("G", [q, p, t], ca.jacobian(rows, v)),
        g=function("g", [q, p, t], ca.substitute(rows, v, ca.SX.zeros(n, 1))),
        gamma_G=function("gamma_G", [q, v, p, t], -dot(rows)),
        momentum=function("momentum", [q, v, p], momentum),
        momentum_rate=function("momentum_rate", [q, v, z, u, p, t], rate),
        impulse_rate=function("impulse_rate", [q, v, z, u, p, t], rate),
        kinetic=function("kinetic", [q, v, p], T),
        potential=function("potential", [q, p, t], V),
        angles=function("angles", [q, p, t], ca.SX(0, 1)),
        output=function("output", energies, y),
        bound_values=function("bound_values", [p], ca.vertcat(ca.SX(0, 1), *(values[item.name] for item in bound))),
        n_angles=0,
        assembly=_assembly(system, q, v, p, t, Phi),
        power=_power(function, q, v, z, u, p, t, T, V, drive),
        formulas=tuple(label for label in system.inputs.values() if label in given),
        resisting=True,
        switches=contacts.switches(len(system.inputs), p, t, a, lambda_, u, z),
    )  # fmt: skip


class _Contacts:
    """The contacts of a system, in its symbols."""

    def __init__(
        self, system: LagrangianSystem, values: dict[str, SX], read: Callable[[str], SX], q: SX, v: SX
    ) -> None:
        self._values, self._q, self._v = values, q, v
        self._gaps = [item for item in system.contacts if item.gap]
        self._rubbing = [item for item in system.contacts if item.slides]
        t = values["time"]
        self._gap = _column(read(item.gap) for item in self._gaps)
        self._slide = _column(read(item.slide) if item.slide else 0 for item in self._rubbing)
        rates = ca.jtimes(self._slide, q, v) + ca.jacobian(self._slide, t)
        self._slip = _column(read(item.slip) if item.slip else rates[j] for j, item in enumerate(self._rubbing))
        for j, item in enumerate(self._rubbing):
            if ca.depends_on(ca.jacobian(self._slip[j], v), v):
                raise ModelError(
                    f"contact '{item.name}' of '{system.name}': slip = '{item.slip}' is not linear in the rates"
                )
        normals = [ca.SX(0 if item.gap else read(item.normal)) for item in self._rubbing]
        self._turns = [bool(ca.depends_on(normal, ca.vertcat(q, v, t))) for normal in normals]
        self._normal = _column(
            normal if turns else ca.fabs(normal) for normal, turns in zip(normals, self._turns, strict=True)
        )
        self._e, self._rest = (
            _column(read(str(getattr(item, name))) for item in self._gaps) for name in ("restitution", "rest")
        )
        self._pull = _column(read(str(item.pull)) for item in self._gaps)
        self._e_T = _column(read(str(item.tangential)) for item in self._rubbing)
        self.signals = tuple(
            Signal(f"{item.name}.{label}", "N", "force of a contact", "input")
            for label, items in (("f_n", self._gaps), ("f_t", self._rubbing))
            for item in items
        )
        self.u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(item.name) for item in self.signals))
        W = ca.vertcat(ca.jacobian(self._gap, q), ca.jacobian(self._slip, v))
        self.force = ca.densify(W.T @ self.u)

    def switches(self, place: int, p: SX, t: SX, a: SX, lambda_: SX, u: SX, z: SX) -> Switches | None:
        """Return the gaps and frictions; place: number of the first of their inputs."""
        if not self.signals:
            return None
        q, v, r_N, r_T = self._q, self._v, len(self._gaps), len(self._rubbing)
        speed, normal = ca.SX.sym("speed", r_T), ca.SX.sym("normal", r_T)

        def law(text: Expression, j: int, fast: SX) -> SX:
            own = {"speed": fast, "normal": normal[j]}
            return ca.SX(text.evaluate(lambda name: own[name] if name in own else self._values[name]))

        sliding = _column(law(Expression(item.sliding or "0"), j, speed[j]) for j, item in enumerate(self._rubbing))
        slowest = ca.substitute(sliding, speed, ca.SX.zeros(r_T))
        limits = (law(item.limit, j, ca.SX(0)) for j, item in enumerate(self._rubbing))
        static = _column(
            ca.fmax(limit, slowest[j]) if item.static else limit
            for j, (item, limit) in enumerate(zip(self._rubbing, limits, strict=True))
        )

        def function(name: str, arguments: list[SX], result: SX) -> Any:
            return merged(name, arguments, [ca.densify(result)])

        return Switches(
            gaps=tuple(
                GapSignal(item.name, item.unit, place + i, item.pull != 0, item.impact_law == "poisson")
                for i, item in enumerate(self._gaps)
            ),
            frictions=tuple(
                FrictionSignal(
                    item.name, item.slip_unit, place + r_N + j,
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


def _column(items: Iterable[SX]) -> SX:
    return ca.vertcat(ca.SX(0, 1), *items)


def _power(function: Callable[..., Any], q: SX, v: SX, z: SX, u: SX, p: SX, t: SX, T: SX, V: SX, drive: SX) -> Any:
    """Return the function `Dae.power`; None unless the kinetic energy is quadratic in the rates and free of the time.

    Only then is it the energy that generalised forces change by their power.
    """
    still = ca.SX.zeros(v.numel())
    lower = ca.substitute([T, ca.gradient(T, v)], [v], [still])
    quadratic = all(item.is_zero() for item in lower) and not ca.depends_on(ca.hessian(T, v)[0], v)
    if not quadratic or ca.depends_on(T, t):
        return None
    return function("power", [q, v, z, u, p, t], ca.dot(drive, v) + ca.jacobian(V, t))


def _resolved(item: Parameter, table: Mapping[str, Parameter], symbols: Mapping[str, SX], chain: tuple[str, ...]) -> SX:
    if item.name in symbols:
        return symbols[item.name]
    if item.name in chain:
        raise ModelError(f"parameters are defined in a circle: {' -> '.join([*chain, item.name])}")
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
    system: LagrangianSystem, q: SX, v: SX, a: SX, T: SX, V: SX, Phi: SX, rates: SX
) -> tuple[tuple[Signal, ...], SX]:
    signals: list[Signal] = []
    values: list[SX] = []
    for number, item in enumerate(system.coordinates):
        speed, gain = RATE_UNITS.get(item.unit, ("1/s", "1/s2"))
        first, second = f"der({item.name})", f"der({item.name},2)"
        signals += [
            Signal(item.name, item.unit, item.description, "output"),
            Signal(first, speed, f"rate of {item.name}", "output", item.name),
            Signal(second, gain, f"second derivative of {item.name}", "output", first),
        ]
        values += [q[number], v[number], a[number]]
    residuals = [ca.norm_inf(ca.densify(rows)) if rows.numel() else ca.SX(0) for rows in (Phi, rates)]
    text = "largest residual of the constraints on the"
    signals += [
        Signal("energy.total", "J", "kinetic and potential energy", "output"),
        Signal("energy.kinetic", "J", "kinetic energy"),
        Signal("energy.potential", "J", "potential energy"),
        Signal("constraint.position", "1", f"{text} coordinates", "output"),
        Signal("constraint.velocity", "1", f"{text} velocities", "output"),
    ]
    return tuple(signals), ca.vertcat(*values, T + V, T, V, *residuals)


def _assembly(system: LagrangianSystem, q: SX, v: SX, p: SX, t: SX, Phi: SX) -> Assembly:
    """Return the assembly with the start values of coordinates and rates; its guess is those of the coordinates."""
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
    return Assembly(
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
