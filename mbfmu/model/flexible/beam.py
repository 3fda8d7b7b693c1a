"""Beam: a straight uniform rod that bends, stretches and twists a little."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Value, quantity
from mbfmu.model.flexible.body import FlexibleBody, MassIntegrals
from mbfmu.model.flexible.shapes import Shapes, expansion, orthogonal, shapes
from mbfmu.model.frame import SX, Pose, identity

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
        """Return the integrals over the mass, from the expansion of each direction in functions of the place.

        With r = sum of a_k f_k(xi) for each of x, y and z, all of them are forms of the functions' integrals.
        """
        m, dim = p.rho * p.A * p.L, 2 if p.planar else 3
        mean, products = (_constant(item) for item in expansion(self.modes, self.axial))
        a = self._expanded(p)
        a_t = [ca.sparsify(ca.jtimes(item, p.eta, rate)) for item in a]
        weighed, weighed_t = [products @ item for item in a], [products @ item for item in a_t]
        first = m * ca.vertcat(*(ca.dot(mean, item) for item in a))
        own = m * sum((ca.dot(item, other) for item, other in zip(a_t, weighed_t, strict=True)), ca.SX(0)) / 2

        def spun(i: int, j: int) -> SX:
            return m * (ca.dot(weighed[i], a_t[j]) - ca.dot(weighed[j], a_t[i]))

        if p.planar:
            J = m * sum((ca.dot(item, other) for item, other in zip(a, weighed, strict=True)), ca.SX(0))
            return MassIntegrals(m, first, J, spun(0, 1), own)
        second = m * ca.horzcat(*(ca.vertcat(*(ca.dot(a[i], weighed[j]) for i in range(dim))) for j in range(dim)))
        polar = p.rho * (p.I_y + p.I_z) * p.L
        twist, turn_t = shapes(1, self.torsion), self._parts(p.planar, rate)[3]
        J = ca.trace(second) * ca.SX.eye(3) - second + ca.diagcat(polar, 0, 0)
        along = polar * ca.dot(_constant(twist.mean()), turn_t)
        spin = ca.vertcat(spun(1, 2) + along, spun(2, 0), spun(0, 1))
        return MassIntegrals(m, first, J, spin, own + polar * _form(turn_t, orthogonal(twist.products()), turn_t) / 2)

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

    def _expanded(self, p: Any) -> list[SX]:
        """Return coefficients of the functions of `expansion` for x, y and, in space, z of the points of the axis."""
        y, z, u, _ = self._parts(p.planar, p.eta)
        squares = ca.SX(self.modes * (self.modes + 1) // 2, 1)
        for s in (y, z):
            if s.numel():
                squares += ca.vertcat(*(s[i] * s[j] for i in range(self.modes) for j in range(i + 1)))
        shortening = _constant(self._bending.shortening()) @ squares / (2 * p.L)
        before = ca.SX(1 + u.numel() + shortening.numel(), 1)
        across = [ca.vertcat(before, s) for s in ((y,) if p.planar else (y, z))]
        return [ca.vertcat(p.L, u, -shortening, ca.SX(self.modes, 1)), *across]

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
    return ca.sparsify(ca.SX(ca.DM(entries))) if entries.size else ca.SX(rows, columns)


def _form(a: SX, matrix: SX, b: SX) -> SX:
    """Return a^T matrix b; zero for empty vectors."""
    return ca.dot(a, matrix @ b) if a.numel() and b.numel() else ca.SX(0)
