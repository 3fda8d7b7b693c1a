"""Scheme: a stepper as data, which states how each state follows from the one before.

How to add a stepper:

1. Write one file with a function ``(dae, **options) -> Scheme``, a `Choice` that names its options, and a `Family`
   that states its claims.
2. Choose the state x: all that the next step needs (q, v or p, z, multipliers, history). An FMU's state is the bytes
   of x, so nothing may be kept elsewhere. A multistep method keeps its history in x together with the step it was made
   with, and rescales it inside the step formula (for Adams: the rates at t - j h from those at t - j h_old by
   interpolation); its `begin` formula makes the first history, with stages of its own.
3. Give three maps: `begin` [q; v; z] -> x, `step` x -> x, `read` x -> (q, v, z). Their stages are solved by the
   kernel. First-order states z are solved for in units of their nominal sizes, so that all unknowns that decide about
   convergence count alike. A stepper that takes such states says so in its `Family`; for others z is empty.
4. Add the family's row to the table in ``stepper/__init__.py``; the tests and benchmarks then run it. A package of
   your own names the family as an entry point of the group ``mbfmu.steppers`` instead.

A scheme sees only a Dae. It may not assume absolute coordinates, a constant mass matrix, or any constraint; one that
takes first-order states may not assume that there are coordinates: a block has z alone.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca

from mbfmu.base.choice import Choice, Option, option
from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Call, Formula, Stage, arguments
from mbfmu.dae.linear_algebra.kkt import OverMass, SchurFactor
from mbfmu.dae.linear_algebra.merged import merged, operations, own_operations
from mbfmu.errors import StepperError

SX = Any
"""An expression: SX, or MX in formulas that call functions, so that neither alone."""

__all__ = [
    "UNLIMITED",
    "Choice",
    "Family",
    "Limits",
    "Option",
    "Problem",
    "Scheme",
    "Stage",
    "holonomic_only",
    "option",
    "states_beside_motion",
    "without_empty_states",
]


SHORT = 1e-5
"""`Scheme.short` of methods that divide an unknown by the square of the step to get multipliers."""
UNEVEN = 0.5
"""`Scheme.short` of methods that interpolate a history."""
HEAVY = 700
"""Number of operations of M above which M v is computed without it: residuals and their Jacobians take less."""
CALLED = 1000
"""Number of operations of a function above which several formulas and the outputs call it."""
NAN_CARRIER = 1e-300
"""Factor of a sum added to a maximum: too small to change it, but NaN if a term is NaN, which a maximum may drop."""


def relative_change(dae: Dae) -> Any:
    """Return the Function (change, y) -> the largest entry of a change of y = [q; v; z].

    Each entry counts relative to its size and to 1, that of z relative to its nominal size. States whose error does not
    count (`StateSignal.controlled`) are left out.

    Args:
        dae: the equations.
    """
    change, y = (ca.SX.sym(name, 2 * dae.n + dae.n_z) for name in ("change", "y"))
    size = ca.vertcat(ca.DM.ones(2 * dae.n), ca.DM(dae.nominal_states))
    counted = [*range(2 * dae.n), *(2 * dae.n + row for row, item in enumerate(dae.states) if item.controlled)]
    each = ca.fabs(change / size) / (1 + ca.fabs(y / size))
    parts = ca.vertcat(0, each[counted])  # a block may have no state
    largest = ca.mmax(ca.densify(parts)) + NAN_CARRIER * ca.sum1(parts)
    return merged("relative_change", [change, y], [largest])


class Problem:
    """A Dae over one step, with parameters and inputs inserted.

    The input at time t' within the step is ``u + du (t' - t)``; a scheme need not treat inputs itself.

    Args:
        dae: the equations.
        kind: `casadi.SX` (everything inlined), or `casadi.MX` (accelerations stay function calls: shorter code).
    """

    def __init__(self, dae: Dae, kind: Any = ca.SX) -> None:
        self.dae = dae
        self.n, self.m, self.k, self.n_z = dae.n, dae.m, dae.k, dae.n_z
        self.n_y = 2 * dae.n + dae.n_z
        self.nominal = ca.DM(dae.nominal_states)
        self.given = arguments(len(dae.inputs), dae.n_p, kind)
        self.t, self.h, self.p = self.given.t, self.given.h, self.given.p
        self._kind = kind
        self._called: dict[str, Callable[..., Any]] = {}

    def u(self, t: SX) -> SX:
        """Return the inputs at time t, shape (n_u,)."""
        return self.given.u + self.given.du * (t - self.t)

    def relative(self, change: SX, y: SX) -> SX:
        """Return how large a change of y = [q; v; z] is, see `relative_change`."""
        return self._relative(change, y)

    @cached_property
    def _relative(self) -> Any:
        """The Function of `relative_change`, one for all uses, so that generated code has it once."""
        return relative_change(self.dae)

    def M(self, q: SX) -> SX:
        """Return the mass matrix, shape (n, n)."""
        return self.dae.equations.M(q, self.p)

    def times_mass(self, q: SX) -> Callable[[SX], SX]:
        """Return the map x -> M(q) x, for x of shape (n,)."""
        if own_operations(self.dae.equations.M) >= HEAVY:
            return lambda x: self.impulse(q, x)
        M = self.M(q)
        return lambda x: M @ x

    def over_mass(self, q: SX) -> OverMass:
        """Return the map f -> M^-1 f at q, for f of shape (n, j)."""
        return self.dae.over_mass(q, self.p)

    def Phi(self, q: SX, t: SX) -> SX:
        """Return the holonomic residual, shape (m,)."""
        return self.dae.constraints.Phi(q, self.p, t)

    def Phi_q(self, q: SX, t: SX) -> SX:
        """Return the Jacobian of Phi, shape (m, n)."""
        return self.dae.constraints.Phi_q(q, self.p, t)

    def Phi_t(self, q: SX, t: SX) -> SX:
        """Return the partial time derivative of Phi, shape (m,)."""
        return self.dae.constraints.Phi_t(q, self.p, t)

    def gamma(self, q: SX, v: SX, t: SX) -> SX:
        """Return the right side of Phi_q a = gamma, shape (m,)."""
        return self.dae.constraints.gamma(q, v, self.p, t)

    def C(self, q: SX, t: SX) -> SX:
        """Return the matrix of all constraints on velocities, [Phi_q; G], shape (m + k, n)."""
        return self.dae.constraints.C(q, self.p, t)

    def c(self, q: SX, t: SX) -> SX:
        """Return the constraints' part without velocities, c = [Phi_t; g], shape (m + k,): C v + c = 0."""
        return self.dae.constraints.c(q, self.p, t)

    def force(self, q: SX, v: SX, z: SX, t: SX) -> SX:
        """Return the right side of the equations of motion, which belongs to M (see `Dae`), shape (n,)."""
        return self._at("force", q, v, z, t)

    def flow(self, q: SX, v: SX, z: SX, t: SX) -> SX:
        """Return z', the rates of the first-order states, shape (n_z,)."""
        return self._at("flow", q, v, z, t)

    def scaled_flow(self, q: SX, v: SX, z: SX, t: SX) -> SX:
        """Return z' in units of the states' nominal sizes, 1/s, shape (n_z,)."""
        return self.flow(q, v, z, t) / self.nominal

    def momentum(self, q: SX, v: SX) -> SX:
        """Return T_v, shape (n,)."""
        return self.dae.equations.momentum(q, v, self.p)

    def impulse(self, q: SX, v: SX) -> SX:
        """Return M(q) v, shape (n,), in fewer operations than by M(q)."""
        return self.dae.equations.impulse(q, v, self.p)

    def momentum_rate(self, q: SX, v: SX, z: SX, t: SX) -> SX:
        """Return the force on the momentum without multipliers, shape (n,)."""
        return self._at("momentum_rate", q, v, z, t)

    def impulse_rate(self, q: SX, v: SX, z: SX, t: SX) -> SX:
        """Return the force on M(q) v without multipliers: force + (M v)_q v, shape (n,)."""
        return self._at("impulse_rate", q, v, z, t)

    def velocity(self, q: SX, p: SX, t: SX) -> SX:
        """Return the admissible velocity of a momentum p: M v + Phi_q^T mu = p, Phi_q v + Phi_t = 0; shape (n,)."""
        return SchurFactor(self.over_mass(q), self.Phi_q(q, t)).solve(p, -self.Phi_t(q, t))[0]

    def acceleration(self, q: SX, v: SX, z: SX, t: SX) -> tuple[SX, SX]:
        """Return (a, [lambda; mu]) of the index-1 form, shapes (n,) and (m + k,)."""
        a, lambda_ = self._at("acceleration", q, v, z, t)
        return a, lambda_

    def called_acceleration(self, q: SX, v: SX, z: SX, t: SX) -> tuple[tuple[Call, ...], SX, SX]:
        """Return the stages of a formula that calls the accelerations, and (a, [lambda; mu]) of `acceleration`.

        The outputs and their tangents call the same function if it is long.
        """
        function, n = self.dae.acceleration, self.n
        if self._kind is ca.MX or operations(function) <= CALLED:
            return (), *self.acceleration(q, v, z, t)
        results = self._kind.sym("called", n + function.numel_out(1))
        return (Call(results, function, (q, v, z, self.u(t), self.p, t)),), results[:n], results[n:]

    def _at(self, name: str, q: SX, v: SX, z: SX, t: SX) -> Any:
        """Return the value of the Dae's function of this name."""
        if name not in self._called:
            function = getattr(self.dae if name == "acceleration" else self.dae.equations, name)
            self._called[name] = without_empty_states(function) if self._kind is ca.MX else function
        return self._called[name](q, v, z, self.u(t), self.p, t)

    def split(self, y: SX) -> tuple[SX, SX, SX]:
        """Return (q, v, z) of y = [q; v; z]."""
        n, n_y = self.n, self.n_y
        q, v, z = (ca.reshape(y[i:j], j - i, 1) for i, j in ((0, n), (n, 2 * n), (2 * n, n_y)))  # columns if empty too
        return q, v, z

    def rate(self, y: SX, t: SX) -> SX:
        """Return the rate [v; a; z'] of y = [q; v; z] on the index-1 form, shape (n_y,)."""
        q, v, z = self.split(y)
        return ca.vertcat(v, self.acceleration(q, v, z, t)[0], self.flow(q, v, z, t))


def without_empty_states(function: Any) -> Callable[..., Any]:
    """Return a map (q, v, z, ...) -> results whose call leaves z out if there are no first-order states.

    The code of a call then passes no argument for them: a mechanism without states pays nothing for them.

    Args:
        function: Function of (q, v, z, ...).
    """
    if function.numel_in(2):
        return function
    arguments = function.sx_in() if function.is_a("SXFunction") else function.mx_in()
    arguments[2] = type(arguments[2])(0, 1)
    shorter = ca.Function(function.name(), arguments[:2] + arguments[3:], function.call(arguments, True, False))
    return lambda q, v, _, *rest: shorter(q, v, *rest)


class Limits(NamedTuple):
    """The steps h up to which a method lets no error of what it does not resolve grow.

    Both are those of the linear test equation, x'' + r x' + omega^2 x = 0 with r = 0 or omega = 0: beyond them a step
    multiplies some error by more than 1.001, so that it grows e-fold within a thousand steps.

    Args:
        vibration: largest omega h of a vibration without damping, of omega rad/s.
        decay: largest r h of a rate that decays by r, 1/s, as that of a damper and a mass does.
    """

    vibration: float = math.inf
    decay: float = math.inf

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return min(self) < math.inf


UNLIMITED = Limits()
"""Limits of a method without any."""


@dataclass(frozen=True)
class Scheme:
    """A stepper made for one Dae.

    Args:
        name: name of the family.
        options: options of the family.
        order: order of q, v and z at the step ends.
        exact: the constraint levels met to round-off at the step ends: ``position``, ``velocity``.
        begin: formula [q; v; z] -> x.
        step: formula x -> x.
        read: Function (x, p, t) -> (q, v, z).
        estimate_order: order of the error estimate that `step` has; 0: none, errors are estimated by two half steps.
        multistep: whether x holds a history made with the first step; the history is no more accurate than that step
            allows, so that steps cannot be chosen by a tolerance.
        short: part of the usual step; one below it, such as that between an event and the end of a communication step,
            leaves multipliers or a history that spoil the next step, so that the method begins again after it. 0: none
            does. A stepper with an error estimate of its own leaves it at 0.
        replaced: whether round-off, divided by the length of such a step, spoils the step itself: one of `projected` is
            taken instead.
        notices: what a user should know who takes it for this Dae.
        limits: the steps up to which no error grows.
    """

    name: str
    options: Mapping[str, Any]
    order: int
    exact: frozenset[str]
    begin: Formula
    step: Formula
    read: Any
    estimate_order: int = 0
    multistep: bool = False
    short: float = 0.0
    replaced: bool = False
    notices: tuple[str, ...] = ()
    limits: Limits = UNLIMITED

    @cached_property
    def depends_on(self) -> frozenset[int]:
        """Numbers of the parameters that q, v and z of a state depend on: those of masses if it holds momenta."""
        patterns = (self.read.jac_sparsity(index, 1) for index in range(self.read.n_out()))
        return frozenset(column for pattern in patterns for column in pattern.get_triplet()[1])


@dataclass(frozen=True)
class Family:
    """A row of the table of steppers.

    Args:
        choice: class with which a user chooses it and its options; it has the name that a user types.
        make: function (dae, **options) -> Scheme.
        order: order as text, such as ``2`` or ``2 s``.
        preserves: the quantities it preserves, and where.
        needs: its requirements on the model.
        source: source of the method.
        stiff: whether it takes forces that are stiff for the step.
        states: whether it takes first-order states, and so blocks.
        contacts: whether it decides the forces of gaps and frictions itself (see `stepped`), instead of modes.
    """

    choice: type[Choice]
    make: Callable[..., Scheme]
    order: str
    preserves: str
    needs: str
    source: str
    stiff: bool = False
    states: bool = False
    contacts: bool = False

    @property
    def name(self) -> str:
        """Name that a user types."""
        return self.choice.name

    @cached_property
    def options(self) -> dict[str, Option]:
        """Options by name."""
        return self.choice.table()

    def variants(self) -> tuple[dict[str, Any], ...]:
        """Return sets of options: all defaults, and each further choice of an option with the others at defaults."""
        defaults = {key: option.default for key, option in self.options.items()}
        others = [
            {**defaults, key: choice}
            for key, option in self.options.items()
            for choice in option.choices
            if choice != option.default
        ]
        return (defaults, *others)


def states_beside_motion(dae: Dae) -> bool:
    """Return whether a Dae has first-order states, other than that of the energy balance, beside coordinates."""
    return dae.n > 0 and any(item.controlled for item in dae.states)


def holonomic_only(name: str, dae: Dae) -> None:
    """Raise an error if a Dae has nonholonomic constraints.

    Raises:
        StepperError: the Dae has nonholonomic constraints.
    """
    if dae.k:
        raise StepperError(
            f"stepper '{name}' takes holonomic constraints only, and '{dae.name}' has {dae.k} nonholonomic one(s): "
            "choose one that takes them, such as 'nodal_impulse' or 'projected'"
        )
