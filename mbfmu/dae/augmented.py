"""Mechanisms whose mass matrix is singular, though the motion that their constraints leave has mass.

A rod without mass between two joints is an example. With C some rows of [Phi_q; G] and weights W > 0,

    (M + C^T W C) a + Phi_q^T lambda + G^T mu = force + C^T W gamma,

has the same accelerations and multipliers, as C a = gamma (Udwadia & Phohomsiri, Explicit equations of motion for
constrained mechanical systems with singular mass matrices, Proc. R. Soc. A 462, 2006, have the same for their own form
of the equations). M + C^T W C is positive definite if no motion that the constraints allow is without mass: it takes
the place of M, so that all steppers have a regular matrix. Kinetic energy and momentum have no such terms.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.linear_algebra.kkt import Factor
from mbfmu.dae.linear_algebra.merged import later, merged
from mbfmu.dae.linear_algebra.redundancy import NEAR, closed_poses, power_of_two
from mbfmu.dae.start import assembled, column
from mbfmu.errors import MassError

Array = npt.NDArray[np.float64]
SX = ca.SX

SINGULAR = 1e-12
"""Largest eigenvalue of M, relative to its diagonal, that counts as zero."""
NEGATIVE = 1e-9
"""Largest size of a negative one that counts as rounding."""
INVOLVED = 1e-6
"""Part of a row, or of a motion without mass, from which it counts."""


class Light(NamedTuple):
    """A body or joint that may be without mass.

    Args:
        columns: indices of its coordinates.
        reason: why it has none, and what to do.
        negative: whether the inertia of its one part is below zero.
    """

    columns: Sequence[int]
    reason: str
    negative: bool = False


def augmented(dae: Dae, light: Sequence[Light]) -> Dae:
    """Return the equations with rows of constraints added to a singular mass matrix.

    Args:
        dae: the equations; nothing that takes M^-1 is read.
        light: what may be without mass.

    Raises:
        MassError: the constraints allow a motion without mass.
    """
    if not light:
        return dae
    rows, weights = _chosen(dae, light)
    base, of = dae.equations, dae.constraints
    q, v, _, _, p, t = symbols = dae.symbols()
    # C, W C v and W gamma of these rows, which do not depend on the time
    C, W = of.C(q, p, 0)[rows, :], ca.DM(weights)
    Cv, gamma = C @ v, of.gammas(q, v, p, t)[rows]
    added = C.T @ (ca.diag(W) @ C)
    force = base.force(*symbols) + C.T @ (W * gamma)
    # (C^T W C v)_q v of the impulse; without motions in time it leaves C'^T W C v, which is zero on the constraints
    Cdot = ca.reshape(ca.jtimes(ca.vec(ca.densify(C)), q, v), *C.shape)
    turning = C.T @ (W * (gamma + ca.jtimes(Cv, q, v))) + Cdot.T @ (W * Cv)
    f = ca.SX.sym("f", dae.n)
    factor = Factor(base.M(q, p) + added)

    def function(name: str, arguments: Sequence[SX], result: SX) -> ca.Function:
        return merged(name, arguments, [ca.densify(result) if result.is_column() else result])

    return replace(
        dae,
        equations=replace(
            base,
            inertia=lambda: function("M", [q, p], base.M(q, p) + added),
            mass_solve=function("mass_solve", [q, p, f], factor.solve(f)),
            free_acceleration=function("free_acceleration", symbols, factor.solve(force)),
            force=function("force", symbols, force),
            impulse_rate=later(lambda: function("impulse_rate", symbols, base.impulse_rate(*symbols) + turning)),
            impulses=lambda: function("impulse", [q, v, p], base.impulse(q, v, p) + C.T @ (W * Cv)),
        ),
    )


def _chosen(dae: Dae, light: Sequence[Light]) -> tuple[list[int], list[float]]:
    """Return the rows of [Phi_q; G] that motions without mass change, and their weights.

    A weight makes a row about as heavy as the mass along it: numbers, to the next power of two, so that round-off does
    not reach the generated code.

    Raises:
        MassError: see `augmented`.
    """
    s, p = dae.s_default(), dae.extended(dae.p_default())
    dae = replace(dae, start=replace(dae.start, mass_metric=False))
    poses = closed_poses(dae, NEAR) or [column(assembled(dae, s.tolist(), p.tolist(), 0.0))]
    masses = [np.array(ca.densify(dae.equations.M(q, p))) for q in poses]
    jacobians = [np.array(ca.densify(dae.constraints.C(q, p, 0.0))) for q in poses]
    if not np.isfinite([*map(np.sum, masses), *map(np.sum, jacobians)]).all():
        raise MassError(light[0].reason)
    # Sizes of the entries of M: where there is no mass at all, that of the others
    sizes = np.max([np.diag(M) for M in masses], axis=0)
    heavy = sizes > 0
    usual = np.exp(np.mean(np.log(sizes[heavy]))) if heavy.any() else 1.0
    scales = 1 / np.sqrt(np.where(heavy, sizes, usual))
    # Motions without mass, M w = 0, and the rows that they change at any pose
    touched = np.zeros(dae.m + dae.k, dtype=bool)
    lengths = np.zeros(dae.m + dae.k)
    for M, C in zip(masses, jacobians, strict=True):
        values, ways = np.linalg.eigh(scales[:, None] * M * scales)
        if values[0] < -NEGATIVE:
            least = int(np.abs(ways[:, 0]).argmax())
            negative = next((item.reason for item in light if item.negative), "")
            raise MassError(
                negative
                or f"the mass matrix is not positive along '{dae.coordinates[least]}': a body has a negative inertia "
                "there, or less than the rotors that it carries have about their axes; give it more"
            )
        C = C * scales
        length = np.linalg.norm(C, axis=1)
        lengths = np.maximum(lengths, length)
        touched |= np.abs(C @ ways[:, values <= SINGULAR]).max(axis=1, initial=0.0) > INVOLVED * length
    q, _, _, _, p_symbols, t = dae.symbols()
    changed = ca.densify(dae.constraints.C(q, p_symbols, t) @ ca.SX.sym("w", dae.n))  # rows without entries too
    timed = ca.which_depends(changed, t, 1, True)
    rows = [row for row in np.flatnonzero(touched).tolist() if not timed[row]]
    weights = [power_of_two(1 / lengths[row] ** 2) for row in rows]
    # M + C^T W C is regular at the best of these poses
    best, loose = -np.inf, np.zeros((dae.n, 0))
    for M, C in zip(masses, jacobians, strict=True):
        added = C[rows].T @ np.diag(weights) @ C[rows]
        values, ways = np.linalg.eigh(scales[:, None] * (M + added) * scales)
        if values[0] > best:
            best, loose = values[0], np.abs(ways[:, values <= SINGULAR])
    if loose.size:
        involved = (item for item in light if loose[item.columns].max() > INVOLVED)
        raise MassError(next(involved, light[0]).reason)
    return rows, weights
