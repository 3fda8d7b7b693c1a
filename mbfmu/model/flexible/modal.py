"""ModalBody: a flexible body given by modes, such as those of a finite element model."""

import os
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.errors import ModelFileError, ValueRangeError
from mbfmu.model.component import Value, quantity
from mbfmu.model.flexible.body import FlexibleBody, MassIntegrals, Surface
from mbfmu.model.flexible.modal_data import ENDINGS, Array, ModalData, read_modal
from mbfmu.model.flexible.stresses import squared_von_mises
from mbfmu.model.frame import SX, Pose, identity, skew
from mbfmu.model.sensors import Measured

NEGLIGIBLE = 1e-14
"""Size of an entry of a matrix, relative to the largest one, below which it counts as zero."""
LEAST = 1e-200
"""Smallest squared equivalent stress, (N/m2)^2, so that its derivatives are finite where it is zero."""


@dataclass(frozen=True)
class ModalBody(FlexibleBody):
    """A flexible body given by the constants of its modes (see `ModalData`), as `mbfmu reduce` writes them.

    It is clamped at frame_a; the other frames have the names that the data give them. With the modes' coordinates eta a
    frame that is at r_0 at rest is at r_0 + Phi_0 eta + eta.(Phi_1 eta) / 2, turned by the quaternion
    (1, Psi_0 eta / 2), scaled to 1. The kinetic energy is that of all points to second order in eta and its rates (see
    `_Bent`), with the terms by which loads stiffen or soften the body where the data have them; the strain energy is
    eta.K_e eta / 2 (Schwertassek & Wallrapp, Dynamik flexibler Mehrkoerpersysteme, 1999). A planar system takes the
    modes that move the body in the x-y plane, and needs each mode to move it either in that plane or out of it.

    Args:
        data: path of a file of modal data, .npz or .sid_fem, or the `ModalData`.
        zeta: damping of every mode of the body clamped at frame_a, as a part of the critical one, beside that of D_e.
        r_0, v_0, phi, w, Q, w_a, eta, eta_t: start values as in `FlexibleBody`.

    Raises:
        ModelFileError: the file is missing, damaged, or holds something else.
        ValueRangeError: a constant is not what it has to be, see `ModalData`.
    """

    data: str | ModalData = field(default="", metadata={"file": ENDINGS})
    zeta: Value = quantity(0.0, "1", "damping of every mode, part of the critical one", min=0)

    def __post_init__(self) -> None:
        if not isinstance(self.data, ModalData):
            if not self.data or not isinstance(self.data, str | os.PathLike):
                raise ModelFileError(f'{self.name}.data must name a file of modal data, such as "boom{ENDINGS[0]}"')
            object.__setattr__(self, "data", read_modal(self.data))
        super().__post_init__()

    @property
    def constants(self) -> ModalData:
        """The constants."""
        assert isinstance(self.data, ModalData)
        return self.data

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", *self.constants.frames)

    def count(self, planar: bool) -> int:
        return len(self._kept(planar))

    def poses(self, p: Any) -> dict[str, Pose]:
        data, kept = self.constants, self._kept(p.planar)
        axes = [0, 1] if p.planar else [0, 1, 2]
        poses = {"frame_a": identity(p.planar)}
        for name, r0, Phi0, Phi1, Psi0 in zip(data.frames, data.r0, data.Phi0, data.Phi1, data.Psi0, strict=True):
            r = _expanded(r0, Phi0[:, kept], _among(Phi1, kept), p.eta, axes)
            turn = _constant(Psi0[:, kept]) @ p.eta
            Q = ca.vertcat(1, turn / 2)
            poses[name] = Pose(r, turn[2] if p.planar else Q / ca.norm_2(Q))
        return poses

    def integrals(self, p: Any, rate: SX) -> MassIntegrals:
        data, kept = self.constants, self._kept(p.planar)
        if p.planar and (mixed := data.mixed()):
            raise ValueRangeError(
                f"'{self.name}' has modes that move it both in the x-y plane and out of it, such as mode "
                f"{mixed[0] + 1}: a planar system takes a body that is symmetric about that plane"
            )
        if not kept:
            raise ValueRangeError(f"'{self.name}' has no modes in the x-y plane: take a Body, or a spatial system")
        axes, turns = ([0, 1], [2]) if p.planar else ([0, 1, 2], [0, 1, 2])
        some = np.ix_(kept, kept)
        # first moment, m c, to second order in eta
        first = _expanded(data.c0, data.C1[:, kept], _among(data.C2, kept), p.eta, axes)
        # inertia J of the deformed body, to second order, and its spin Cr eta'
        J = ca.vertcat(*(
            ca.horzcat(*(
                _expanded(data.J0[a, [b]], data.J1[a, [b]][:, kept], _among(data.J2[a, [b]], kept), p.eta, [0])
                for b in turns
            )) for a in turns
        ))  # fmt: skip
        spin = ca.vertcat(
            *(ca.dot(_constant(data.Cr0[a, kept]) + _constant(data.Cr1[a][some].T) @ p.eta, rate) for a in turns)
        )
        of_shape = _form(data.Me[some], rate) / 2
        # displacements of second order, by the rigid motion that has their momentum
        if data.N2.any() or data.C2.any():
            J, spin, of_shape = _Bent(data, kept, p.eta, axes, turns).added(J, spin, of_shape, rate)
        return MassIntegrals(ca.SX(data.m), first, J, spin, of_shape)

    def strain_energy(self, p: Any) -> SX:
        kept = self._kept(p.planar)
        return _form(self.constants.Ke[np.ix_(kept, kept)], p.eta) / 2

    def damping(self, p: Any, rate: SX) -> SX:
        kept = np.ix_(self._kept(p.planar), self._kept(p.planar))
        M, K, D = (item[kept] for item in (self.constants.Me, self.constants.Ke, self.constants.De))
        # modal damping: 2 zeta sqrt(K M) = 2 zeta L V omega V^T L^T with K v = omega^2 M v, M = L L^T
        L = np.linalg.cholesky(M)
        squares, modes = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, K).T))
        critical = L @ modes * (2 * np.sqrt(np.maximum(squares, 0.0))) @ modes.T @ L.T
        return -(_constant(D) @ rate) - p.zeta * (_constant(critical) @ rate)

    def signals(self, p: Any) -> tuple[Measured, ...]:
        """Return the stresses at the points of the data, and the equivalent stress of each."""
        points, kept, signals = self.constants.stresses, self._kept(p.planar), []
        for name, modes in zip(points.names, points.sigma, strict=True) if points else ():
            sigma = _constant(modes[:, kept]) @ p.eta
            signals.append(Measured(f"{name}.sigma", "N/m2", f"stresses xx, yy, zz, xy, yz, zx at {name}", sigma))
            size = ca.sqrt(ca.fmax(squared_von_mises(sigma), LEAST))
            signals.append(Measured(f"{name}.sigma_v", "N/m2", f"equivalent stress (v. Mises) at {name}", size))
        return tuple(signals)

    def surface(self, p: Any, thick: float) -> Surface | None:
        """Return the surface of the data, which moves by the modes to first order."""
        data, kept = self.constants.surface, self._kept(p.planar)
        if data is None:
            return None
        Phi, sigma = (item[:, :, kept].astype(np.float64).reshape(-1, len(kept)) for item in (data.Phi, data.sigma))
        moved = ca.reshape(_constant(Phi) @ p.eta, 3, len(data.r))
        stress = ca.reshape(_constant(sigma) @ p.eta, 6, len(data.r)) if len(sigma) else None
        return Surface(ca.DM(data.r.T.astype(np.float64)) + moved, data.triangles.astype(np.int64), stress)

    def _kept(self, planar: bool) -> list[int]:
        """Return the numbers of the modes that a planar or a spatial system takes."""
        return [*self.constants.in_plane()] if planar else [*range(len(self.constants.Me))]


class _Bent:
    """The part that displacements of second order have in the kinetic energy.

    The points have the velocities A_0 + A_1 + B, with A_0 = v + w x r, A_1 = w x (phi eta) + phi eta' and B = w x
    (eta.(gamma eta)) / 2 + eta.(gamma eta'). Terms of third and fourth order in eta and its rates are small, but
    without any the mass matrix would not stay positive definite. So B is replaced by the rigid motion of the undeformed
    body that has its momentum and moment of momentum: the energy is that of a field of velocities, and the integral of
    A_0.B stays what it is.
    """

    def __init__(self, data: ModalData, kept: list[int], eta: SX, axes: list[int], turns: list[int]) -> None:
        rows = [*axes, *(3 + a for a in turns)]
        N1, C2, N2 = data.moments()[:, :, kept], _among(data.C2, kept), _among(data.N2, kept)
        # integrals of the displacements of first and second order, and of r with these
        s1 = [ca.dot(_constant(item[kept]), eta) for item in data.C1]
        s2 = [_form(item, eta) / 2 for item in C2]
        n1 = [[ca.dot(_constant(N1[a, b]), eta) for b in range(3)] for a in range(3)]
        n2 = [[_form(N2[a, b], eta) / 2 for b in range(3)] for a in range(3)]
        # momenta of A_1 and B: per angular velocity, and per rate of eta
        self.A_w, self.B_w = (_turned(*item)[rows, turns] for item in ((s1, n1), (s2, n2)))
        self.A_eta = _constant(np.vstack([data.C1, data.Cr0])[np.ix_(rows, kept)])
        crossed = [N2[(c + 1) % 3, (c + 2) % 3] - N2[(c + 2) % 3, (c + 1) % 3] for c in range(3)]
        self.B_eta = ca.vertcat(*((_constant([*C2, *crossed][row]) @ eta).T for row in rows))
        # rigid motion of the undeformed body by momenta: S, inverse of its mass matrix
        rigid = data.mass_matrix()[np.ix_(rows, rows)]
        self.S = _constant(np.array(np.linalg.pinv(rigid, hermitian=True), dtype=np.float64))
        self.last = slice(len(axes), len(rows))

    def added(self, J: SX, spin: SX, of_shape: SX, rate: SX) -> tuple[SX, SX, SX]:
        """Return moment of inertia, spin and own energy with this part added."""
        A_r, B_r = self.A_eta @ rate, self.B_eta @ rate
        by_both, by_B = self.S @ (self.A_w + self.B_w), self.S @ self.B_w
        more = self.B_w[self.last, :] + by_both.T @ self.B_w
        return (
            J + more + more.T - by_B.T @ self.B_w,  # whose square is in `more` and in its transpose
            spin + B_r[self.last] + by_both.T @ B_r + by_B.T @ A_r,
            of_shape + ca.dot(A_r + B_r / 2, self.S @ B_r),
        )


def _turned(s: list[SX], n: list[list[SX]]) -> SX:
    """Return the momentum and moment of momentum of w x x by w, shape (6, 3), for a field x of displacements.

    Args:
        s: integral of x.
        n: integrals of r_a x_b.
    """
    trace = n[0][0] + n[1][1] + n[2][2]
    moment = [[(trace - n[a][a] if a == b else -n[b][a]) for b in range(3)] for a in range(3)]
    return ca.vertcat(-skew(ca.vertcat(*s)), *(ca.horzcat(*row) for row in moment))


def _among(terms: Array, kept: list[int]) -> Array:
    """Return the terms of second order in some modes alone."""
    return np.asarray(terms[..., kept, :][..., kept])


def _expanded(zero: Array, first: Array, second: Array, eta: SX, rows: list[int]) -> SX:
    """Return rows of an expansion in the shape coordinates to second order."""
    expanded = [zero[row] + ca.dot(_constant(first[row]), eta) + _form(second[row], eta) / 2 for row in rows]
    return ca.vertcat(*expanded)


def _form(matrix: Array, x: SX) -> SX:
    """Return x^T matrix x for a symmetric matrix, each product once."""
    upper = np.triu(matrix + matrix.T, 1) + np.diag(np.diag(matrix))
    return ca.dot(x, _constant(upper) @ x)


def _constant(entries: Array) -> SX:
    """Return constants as a sparse expression, without those that are zero up to rounding; a vector as a column."""
    if not entries.size:
        return ca.SX(entries.shape[0], 1)
    size = np.abs(entries).max()
    return ca.sparsify(ca.SX(ca.DM(np.where(np.abs(entries) > NEGLIGIBLE * size, entries, 0.0))))
