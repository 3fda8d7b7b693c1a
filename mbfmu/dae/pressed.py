"""Forces that depend on the multipliers of constraints, such as creep forces of wheels on the normal forces of rails.

They act through internal inputs of the equations, u. With N the multipliers of the index-1 form, linear in u, and the
law u = F(q, v, z, p, t, N), the equation N = N(F(N)) is solved by a fixed number of Newton's corrections inside the
force. On the constraints the multipliers that a stepper finds are the same, so that every stepper takes the equations.
"""

from dataclasses import dataclass, replace
from math import nan

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import eliminated
from mbfmu.errors import ModelError
from mbfmu.model.frame import SX, undifferentiated

NEWTON = 4
"""Number of corrections: forces change their own normal forces by little, as they act across these."""
SPACING = 2.0**-40
"""Rounding of the multipliers before the last one, through which alone derivatives go, relative to their size."""
SOLVED = 1e-8
"""Residual of the multipliers, relative to them and to 1 N, above which there is no solution."""


@dataclass(frozen=True)
class _Split:
    """The symbols of equations without the internal inputs.

    Args:
        given: q, v, z, outer u, p, t.
        place: numbers of the internal inputs.
        outer: numbers of the others.
    """

    given: tuple[SX, ...]
    place: tuple[int, ...]
    outer: tuple[int, ...]

    def inputs(self, forces: SX) -> SX:
        """Return all inputs, for the values of the internal ones."""
        u = ca.SX.zeros(len(self.place) + len(self.outer))
        for index, k in enumerate(self.outer):
            u[k] = self.given[3][index]
        for index, k in enumerate(self.place):
            u[k] = forces[index]
        return u


def pressed(dae: Dae) -> Dae:
    """Return the equations with forces that depend on multipliers solved for; equations without such as they are.

    Args:
        dae: the equations. The inputs through which these forces act are no longer inputs then.

    Raises:
        ModelError: there are gaps or dry friction too, which change the multipliers at events.
    """
    pressing = dae.pressing
    if pressing is None:
        return dae
    if dae.switches:
        names = ", ".join(f"'{name}'" for name in dae.switches.touching)
        raise ModelError(
            f"'{dae.name}' has gaps or dry friction ({names}) beside forces that depend on those of constraints, such "
            "as creep forces of wheels: leave one of them out, or take a smooth force such as a stop or a bushing"
        )
    # Forces u of (q, v, z, p, t) that solve u = law(lambda(u))
    outer = tuple(k for k in range(len(dae.inputs)) if k not in pressing.inputs)
    q, v, z, p, t = (
        ca.SX.sym(*item) for item in (("q", dae.n), ("v", dae.n), ("z", dae.n_z), ("p", dae.n_p), ("t", 1))
    )
    u = ca.SX.sym("u", len(outer))
    split = _Split((q, v, z, u, p, t), pressing.inputs, outer)
    forces = _forces(dae, split)
    acting = split.inputs(forces)
    symbols = list(split.given)

    # The equations with these forces; outputs take them from lambda, which is at hand there
    called = [q, v, z, acting, p, t]
    lambda_, a = ca.SX.sym("lambda_", dae.m + dae.k), ca.SX.sym("a", dae.n)
    turned = ca.SX.sym("turned", dae.n_angles)
    shown = split.inputs(pressing.law(q, v, z, split.inputs(ca.SX.zeros(len(pressing.inputs))), p, t, lambda_))
    return replace(
        dae,
        inputs=tuple(dae.inputs[k] for k in outer),
        sampled=tuple(outer.index(k) for k in dae.sampled),
        output=ca.Function(
            "output",
            [q, v, z, turned, a, lambda_, u, p, t],
            [ca.densify(dae.output(q, v, z, turned, a, lambda_, shown, p, t))],
        ),
        equations=replace(dae.equations.reading(symbols, called), resisting=True),
        energies=dae.energies.reading(symbols, called),
        sampling=dae.sampling and dae.sampling.reading(symbols, called),
        pressing=None,
        about=replace(dae.about, pressed=tuple(dae.inputs[k].name for k in pressing.inputs)),
    )


def _forces(dae: Dae, split: _Split) -> SX:
    """Return the internal inputs, SX, in terms of the symbols given."""
    assert dae.pressing is not None
    q, v, z, _, p, t = split.given
    still = split.inputs(ca.SX.zeros(len(split.place)))
    right = dae.constraints.gammas(q, v, p, t)
    factor = dae.factor(q, p, t)
    _, first = factor.constrained(dae.equations.free_acceleration(q, v, z, still, p, t), right)
    F = ca.SX.sym("F", len(split.place))
    W = ca.jacobian(dae.equations.force(q, v, z, split.inputs(F), p, t), F)
    none = ca.SX(factor.C.shape[0], 1)
    columns = [factor.solve(ca.substitute(W[:, k], F, ca.SX.zeros(F.numel())), none)[1] for k in range(F.numel())]
    every = ca.SX.sym("N", factor.C.shape[0])
    law = dae.pressing.law(q, v, z, still, p, t, every)
    rows = [row for row, needed in enumerate(ca.which_depends(law, every, 1, False)) if needed]
    N = every[rows]
    B = ca.horzcat(*columns)[rows, :]
    residual = N - first[rows] - B @ law
    slope = ca.jacobian(residual, N)
    at = first[rows]
    spacing = SPACING * (ca.sum1(ca.fabs(at)) + 1e-300)
    for left in range(NEWTON, 0, -1):
        at = undifferentiated(at, spacing) if left == 1 else at
        missed, J = ca.substitute([residual, slope], [N], [at])
        at = at - eliminated(J, missed)
    missed = ca.mmax(ca.fabs(ca.substitute(residual, N, at)))
    solved = missed <= SOLVED * (1 + ca.mmax(ca.fabs(at)))
    return ca.if_else(solved, ca.substitute(law, N, at), nan)
