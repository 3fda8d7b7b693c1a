"""Beam: a straight uniform rod that bends, stretches and twists a little."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Value, quantity
from mbfmu.model.flexible.body import FlexibleBody, MassIntegrals
from mbfmu.model.flexible.shapes import Shapes, nodes, orthogonal, shapes
from mbfmu.model.frame import SX, Pose, identity
from mbfmu.model.relative import moment_of

MOST_MODES = 20
"""Largest number of shape functions of a kind."""


@dataclass(frozen=True)
class Beam(FlexibleBody):
    """A straight uniform beam along the x axis of frame_a, which is its clamped end; frame_b is the other one.

    Bending follows Euler and Bernoulli, with shape functions phi_k of the clamped beam, each 1 at frame_b, so that
    eta[k] is the deflection of frame_b in mode k. A point at x = xi L of the axis is at

        r = (x + psi.eta_u - integral from 0 to x of (w_y'^2 + w_z'^2) / 2,  w_y,  w_z),    w_y = phi.eta_y

    The integral, by which a bent beam gets shorter, stiffens it where it rotates or is drawn, and softens it where it
    is pressed (Wallrapp & Schwertassek, Int. J. Numer. Methods Eng. 32, 1991). The coordinates are eta_y, in a spatial
    system eta_z, then those of tension eta_u and, in a spatial system, of torsion. For slopes well below 1: larger
    deflections take several beams in a row.

    Args:
        L: length, m.
        rho: density, kg/m3.
        A: area of the section, m2.
        E: modulus of elasticity, N/m2.
        I_z, I_y: second moment of area for bending along y and, in a spatial system, along z, m4.
        G: shear modulus, N/m2, for torsion.
        I_t: torsion constant of the section, m4.
        zeta: damping of every mode of the clamped beam, as a part of the critical one.
        modes: number of shape functions of bending in each direction.
        axial: number of shape functions of tension.
        torsion: number of shape functions of torsion, in a spatial system.
        at: places of further frames frame_1, frame_2 and so on, as parts of the length.
        r_0, v_0, phi, w, Q, w_a, eta, eta_t: start values as in `FlexibleBody`.
    """

    L: Value = quantity(1.0, "m", "length", min=0)
    rho: Value = quantity(7850.0, "kg/m3", "density", min=0)
    A: Value = quantity(1e-4, "m2", "area of the section", min=0)
    E: Value = quantity(2.1e11, "N/m2", "modulus of elasticity", min=0)
    I_z: Value = quantity(1e-8 / 12, "m4", "second moment of area for bending along y", min=0)
    I_y: Value = quantity(1e-8 / 12, "m4", "second moment of area for bending along z", min=0, spatial_only=True)
    G: Value = quantity(8.1e10, "N/m2", "shear modulus", min=0, spatial_only=True)
    I_t: Value = quantity(1.406e-9, "m4", "torsion constant of the section", min=0, spatial_only=True)
    zeta: Value = quantity(0.0, "1", "damping of every mode, part of the critical one", min=0)
    modes: int = 2
    axial: int = 0
    torsion: int = 0
    at: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for label in ("modes", "axial", "torsion"):
            number = getattr(self, label)
            if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number <= MOST_MODES:
                raise ValueRangeError(f"{self.name}.{label} = {number!r} must be a whole number from 0 to {MOST_MODES}")
        if not self.modes + self.axial:
            raise ValueRangeError(f"{self.name}: a beam without modes is rigid: give some, or take a BodyShape")
        if not all(isinstance(xi, int | float) and 0 < xi < 1 for xi in self.at):
            raise ValueRangeError(f"{self.name}.at = {self.at!r} must be parts of the length between 0 and 1")
        super().__post_init__()

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b", *(f"frame_{number}" for number in range(1, len(self.at) + 1)))

    def count(self, planar: bool) -> int:
        return self.modes + self.axial + (0 if planar else self.modes + self.torsion)

    def poses(self, p: Any) -> dict[str, Pose]:
        places = {"frame_b": 1.0, **{f"frame_{number}": xi for number, xi in enumerate(self.at, 1)}}
        return {"frame_a": identity(p.planar), **{name: self._pose(p, xi) for name, xi in places.items()}}

    def integrals(self, p: Any, rate: SX) -> MassIntegrals:
        still = ca.SX(2 if p.planar else 3, 1)
        m, polar = p.rho * p.A * p.L, p.rho * (0 if p.planar else p.I_y + p.I_z) * p.L
        first, J, spin, own = still, ca.SX(0) if p.planar else ca.SX(3, 3), ca.SX(still.numel() * 2 - 3, 1), ca.SX(0)
        for xi, share in zip(*nodes(2 * self.modes + self.axial + 2), strict=True):  # exact for these polynomials
            r = self._pose(p, xi).r
            r_t = ca.jtimes(r, p.eta, rate)
            dm = m * share
            first += dm * r
            J += dm * (ca.sumsqr(r) if p.planar else ca.sumsqr(r) * ca.SX.eye(3) - r @ r.T)
            spin += dm * moment_of(r, r_t)
            own += dm * ca.sumsqr(r_t) / 2
        if not p.planar:
            twist, turn_t = shapes(1, self.torsion), self._parts(p.planar, rate)[3]
            J += ca.diagcat(polar, 0, 0)
            spin += ca.vertcat(polar * ca.dot(_constant(twist.mean()), turn_t), 0, 0)
            own += polar * _form(turn_t, orthogonal(twist.products()), turn_t) / 2
        return MassIntegrals(m, first, J, spin, own)

    def strain_energy(self, p: Any) -> SX:
        return sum(
            (stiffness * _form(part, orthogonal(shape.products(shape.order)), part) / 2 for shape, part, stiffness, _ in
             self._kinds(p, p.eta)),
            ca.SX(0),
        )  # fmt: skip

    def damping(self, p: Any, rate: SX) -> SX:
        efforts = [ca.SX(0, 1)]
        for shape, part, stiffness, mass in self._kinds(p, rate):
            squares = np.diag(shape.products()) * np.diag(shape.products(shape.order))
            efforts.append(-2 * p.zeta * ca.sqrt(stiffness * mass) * ca.sqrt(_constant(squares)) * part)
        return ca.vertcat(*efforts)

    @property
    def _bending(self) -> Shapes:
        return shapes(2, self.modes)

    def _parts(self, planar: bool, eta: SX) -> list[SX]:
        """Return the coordinates of bending along y and z, of tension and of torsion."""
        sizes = (self.modes, 0, self.axial, 0) if planar else (self.modes, self.modes, self.axial, self.torsion)
        ends = np.cumsum((0, *sizes))
        return [ca.reshape(eta[int(a) : int(b)], int(b - a), 1) for a, b in pairwise(ends)]

    def _kinds(self, p: Any, eta: SX) -> list[tuple[Shapes, SX, SX, SX]]:
        """Return shape functions, coordinates, stiffness and mass of each kind of deformation, in order."""
        y, z, u, turn = self._parts(p.planar, eta)
        m = p.rho * p.A * p.L
        kinds = [(self._bending, y, p.E * p.I_z / p.L**3, m)]
        if not p.planar:
            kinds.append((self._bending, z, p.E * p.I_y / p.L**3, m))
        kinds.append((shapes(1, self.axial), u, p.E * p.A / p.L, m))
        if not p.planar:
            polar = p.rho * (p.I_y + p.I_z) * p.L
            kinds.append((shapes(1, self.torsion), turn, p.G * p.I_t / p.L, polar))
        return [item for item in kinds if item[1].numel()]

    def _pose(self, p: Any, xi: float) -> Pose:
        y, z, u, turn = self._parts(p.planar, p.eta)
        value, slope = _constant(self._bending.at(xi)), _constant(self._bending.at(xi, 1))
        shorter = _constant(self._bending.products(1, end=xi))
        shortening = sum((_form(s, shorter, s) for s in (y, z) if s.numel()), ca.SX(0)) / (2 * p.L)
        x = xi * p.L + ca.dot(_constant(shapes(1, self.axial).at(xi)), u) - shortening
        if p.planar:
            return Pose(ca.vertcat(x, ca.dot(value, y)), ca.dot(slope, y) / p.L)
        twist = ca.dot(_constant(shapes(1, self.torsion).at(xi)), turn)
        half = ca.vertcat(twist, -ca.dot(slope, z) / p.L, ca.dot(slope, y) / p.L) / 2
        Q = ca.vertcat(1, half)
        return Pose(ca.vertcat(x, ca.dot(value, y), ca.dot(value, z)), Q / ca.norm_2(Q))


def _constant(entries: Any) -> SX:
    """Return constants as an expression; a vector as a column."""
    rows, columns = entries.shape if entries.ndim == 2 else (entries.size, 1)
    return ca.SX(ca.DM(entries)) if entries.size else ca.SX(rows, columns)


def _form(a: SX, matrix: SX, b: SX) -> SX:
    """Return a^T matrix b; zero for empty vectors."""
    return ca.dot(a, matrix @ b) if a.numel() and b.numel() else ca.SX(0)
