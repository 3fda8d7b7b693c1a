"""Constants of modes: integrals over the mass by the mass matrix of the finite element model.

A body whose frame_a has the velocity v and the angular velocity w, and whose nodes have the displacements u, moves its
degrees of freedom at the rates S v + (R + turned(u)) w + u', with the rigid motions S and R. So the kinetic energy of
all points is one quadratic form of the mass matrix, whose coefficients are the constants (see `ModalData`); for
matrices with translations alone it is exact.
"""

import numpy as np

from mbfmu.analysis.reduction.model import Array, FiniteElementModel, rigid_motion
from mbfmu.model.flexible import ModalData


def constants(
    model: FiniteElementModel,
    origin: Array,
    modes: Array,
    second: Array | None,
    frames: tuple[str, ...],
    places: Array,
    motions: tuple[Array, Array],
) -> ModalData:
    """Return the constants of a body with given modes.

    Args:
        model: the finite element model.
        origin: position of frame_a, m.
        modes: displacements by each mode, shape (dofs, n).
        second: displacements of second order, shape (dofs, n, n); None if they are left out.
        frames: names of the frames besides frame_a.
        places: their positions seen from the origin, m, shape (k, 3).
        motions: their translations and rotations by each mode, shape (k, 6, n), and their translations of second order,
            shape (k, 3, n, n).
    """
    n = modes.shape[1]
    moves, bent = motions
    rigid = rigid_motion(model.nodes - origin, model.dofs)
    S, R = rigid[:, :3], rigid[:, 3:]
    MS, MR, M_modes = model.M @ S, model.M @ R, model.M @ modes
    turned = [model.turned(a, modes) for a in range(3)]
    M_turned = [model.M @ item for item in turned]
    lever = S.T @ MR  # the matrix of w -> w x c
    J1, J2 = np.zeros((3, 3, n)), np.zeros((3, 3, n, n))
    for a in range(3):
        for b in range(3):
            J1[a, b] = R[:, a] @ M_turned[b] + R[:, b] @ M_turned[a]
            product = turned[a].T @ M_turned[b]
            J2[a, b] = product + product.T
    Cr1 = np.array([turned[a].T @ M_modes for a in range(3)])
    C2, N2 = np.zeros((3, n, n)), np.zeros((3, 3, n, n))
    if second is not None:
        C2 = np.einsum("da,dij->aij", MS, second)
        r = (model.nodes - origin)[model.dofs[:, 0]]
        for a in range(3):
            for b in range(3):
                N2[a, b] = np.tensordot(model.M @ np.where(model.dofs[:, 1] == b, r[:, a], 0.0), second, 1)
    c = np.array([lever[1, 2] - lever[2, 1], lever[2, 0] - lever[0, 2], lever[0, 1] - lever[1, 0]]) / 2
    return ModalData(
        m=model.mass, c0=c, C1=MS.T @ modes, C2=_even(C2), J0=_even(R.T @ MR), J1=J1, J2=_even(J2), N2=_even(N2),
        Cr0=MR.T @ modes, Cr1=Cr1, Me=_even(modes.T @ M_modes), Ke=_even(modes.T @ (model.K @ modes)),
        De=np.zeros((n, n)), frames=frames, r0=places, Phi0=moves[:, :3], Phi1=_even(bent), Psi0=moves[:, 3:],
    )  # fmt: skip


def _even(matrix: Array) -> Array:
    """Return a matrix that is symmetric in its last two indices."""
    return np.asarray(matrix + matrix.swapaxes(-1, -2)) / 2
