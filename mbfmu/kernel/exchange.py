"""Dae -> Bundle for a solver that integrates [q; v; z] itself: model exchange instead of a stepper.

The state of such a kernel begins with [q; v; z], which the solver moves. What else a stepper's state holds stands
behind: counted angles, held inputs, memory, modes. A kernel for steps has a formula x -> x over a step; this one has
it over no time: the state is brought back onto the constraints, from which a solver drifts, angles are counted and
inputs are held. So starts, sampling instants and events are those of all kernels.
"""

from dataclasses import replace
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula, Stage
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.kernel.bundle import Bundle, compose, guards_of, held_inputs, with_kept
from mbfmu.model.frame import wrapped
from mbfmu.stepper.projected import projections
from mbfmu.stepper.scheme import Problem, Scheme


def exchange(dae: Dae) -> Bundle:
    """Return the functions of the equations for a solver of its own.

    Its outputs count angles from those at the last accepted point, by less than half a turn.
    """
    scheme = standing(dae)
    return replace(
        compose(dae, scheme),
        outputs=_kept(dae, _outputs(dae)),
        rates=_kept(dae, _rates(dae)),
        drift=_kept(dae, _drift(dae)) if dae.m + dae.k else None,
        guards=_kept(dae, guards_of(dae, scheme, [])) if dae.switching else None,
        moved=None,
        state_difference=None,
        measured=None,
    )


def standing(dae: Dae) -> Scheme:
    """Return the scheme whose steps take no time: they bring [q; v; z] onto the constraints, see `projected`."""
    problem = Problem(dae)
    n, p, t = problem.n, problem.p, problem.t
    x, q, v, z = (ca.SX.sym(*item) for item in (("x", problem.n_y), ("q", n), ("v", n), ("z", problem.n_z)))
    to_positions, to_velocities = projections(dae)
    stages: tuple[Stage, ...] = ()
    if dae.m:
        correction = ca.vertcat(to_positions(q, p, t), ca.SX.zeros(n + problem.n_z))
        stages = (Stage(ca.vertcat(q, v, z), x, correction=correction, watched=n),)
    else:
        q, v, z = problem.split(x)
    if dae.m + dae.k:
        v = v + to_velocities(q, v, p, t)
    return Scheme(
        name="exchange",
        options={},
        order=1,
        exact=frozenset({"position", "velocity"}),
        begin=Formula(x, problem.given, (), x),
        step=Formula(x, problem.given, stages, ca.vertcat(q, v, z)),
        read=ca.Function("read", [x, p, t], [*problem.split(x)]),
    )


class _State:
    """The arguments (x, u, p, t) of functions of a state, in symbols; x are [q; v; z] and the counted angles."""

    def __init__(self, dae: Dae) -> None:
        n = dae.n
        self.x = ca.SX.sym("x", 2 * n + dae.n_z + dae.n_angles)
        offsets = [0, n, 2 * n, 2 * n + dae.n_z, self.x.numel()]
        self.q, self.v, self.z, self.turned = ca.vertsplit(self.x, offsets)
        self.u, self.p, self.t = ca.SX.sym("u", len(dae.inputs)), ca.SX.sym("p", dae.n_p), ca.SX.sym("t")
        self.whole = self.q, self.v, self.z, self.u, self.p, self.t

    def function(self, name: str, *results: Any) -> Any:
        """Return the Function (x, u, p, t) of some results."""
        return merged(name, [self.x, self.u, self.p, self.t], [ca.densify(item) for item in results])


def _outputs(dae: Dae) -> Any:
    at = _State(dae)
    a, lambda_ = dae.acceleration(*at.whole)
    turned = at.turned + wrapped(dae.angles(at.q, at.p, at.t) - at.turned) if dae.n_angles else at.turned
    y = dae.output(at.q, at.v, at.z, turned, a, lambda_, at.u, at.p, at.t)
    return at.function("outputs", ca.vertcat(y, dae.bound_values(at.p)))


def _rates(dae: Dae) -> Any:
    at = _State(dae)
    return at.function("rates", ca.vertcat(at.v, dae.acceleration(*at.whole)[0], dae.equations.flow(*at.whole)))


def _drift(dae: Dae) -> Any:
    """Return the Function of the way back onto the constraints, and of their largest violation; see `Bundle.drift`."""
    at = _State(dae)
    q, v, p, t = at.q, at.v, at.p, at.t
    to_positions, to_velocities = projections(dae)
    back = ca.vertcat(to_positions(q, p, t), to_velocities(q, v, p, t), ca.SX.zeros(dae.n_z))
    C, c = dae.constraints.C(q, p, t), dae.constraints.c(q, p, t)
    return at.function("drift", back, ca.norm_inf(ca.vertcat(dae.constraints.Phi(q, p, t), C @ v + c)))


def _kept(dae: Dae, function: Any) -> Any:
    """Return a function (x, u, p, t) of whole states, in which sampled inputs hold from the instant they change."""
    if not dae.n_held + dae.n_memory:
        return function
    if dae.sampled:
        x, u, p, t = (ca.MX.sym(name, function.sparsity_in(k)) for k, name in enumerate(("x", "u", "p", "t")))
        supplied, held, memory = ca.vertsplit(p, [0, len(dae.parameters), len(dae.parameters) + dae.n_held, dae.n_p])
        latest = ca.vertcat(supplied, held_inputs(dae, held, u, t), memory)
        function = ca.Function(function.name(), [x, u, p, t], function.call([x, u, latest, t]))
    return with_kept(dae, function, (0,), 2)
