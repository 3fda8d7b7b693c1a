"""Beam: a straight uniform rod that bends, stretches and twists a little."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Value, quantity
from mbfmu.model.flexible.body import FlexibleBody, MassIntegrals, Surface, are_parts
from mbfmu.model.flexible.sections import Section, section_signals, swept_surface
from mbfmu.model.flexible.shapes import Shapes, expansion, orthogonal, shapes
from mbfmu.model.frame import SX, Pose, identity
from mbfmu.model.sensors import Measured

MOST_MODES = 20
"""Largest number of shape functions of a kind."""
STATIONS = 25
"""Number of sections of a beam in a picture."""


@dataclass(frozen=True)
class Beam(FlexibleBody):
    """A straight uniform beam along the x axis of frame_a, which is its clamped end; frame_b is the other one.

    Bending follows Euler and Bernoulli, with shape functions phi_k of the clamped beam, each 1 at frame_b, so that
    eta[k] is the deflection of frame_b in mode k. A point at x = xi L of the axis is at

        r = (x + psi.eta_u - integral from 0 to x of (w_y'^2 + w_z'^2) / 2,  w_y,  w_z),    w_y = phi.eta_y

    The integral, by which a bent beam gets shorter, stiffens it where it rotates or is drawn, and softens it where it
    is pressed (Wallrapp & Schwertassek, Int. J. Numer. Methods Eng. 32, 1991). The coordinates are eta_y, in a spatial
    system eta_z, then those of shear, of tension eta_u and, in a spatial system, of torsion. For slopes well below 1:
    larger deflections take several beams in a row.

    With functions of shear it is Timoshenko's beam (Phil. Mag. 41, 1921): w_y = phi.eta_y + chi.eta_s, of which the
    section turns by theta = phi'.eta_y alone and has the shear angle gamma = chi'.eta_s; the beam shortens by the
    integral of (theta^2 / 2 + theta gamma), to second order as a beam of Reissner, and sections have rotary inertia.

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
        shear: number of shape functions of shear in each direction; 0: sections stay normal to the axis.
        axial: number of shape functions of tension.
        torsion: number of shape functions of torsion, in a spatial system.
        GA_s: shear stiffness of the section along y and along z, N: its shear coefficient times G A; with `shear`.
        c_y, c_z: distances of the outermost fibres from the axis along y and, in a spatial system, along z, m, for the
            stresses of `sections`; 0: there are none.
        at: places of further frames frame_1, frame_2 and so on, as parts of the length.
        sections: places whose normal forces, moments and stresses are outputs, as parts of the length from 0 to 1.
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
    GA_s: Value = quantity(0.0, "N", "shear stiffness of the section", min=0)
    c_y: Value = quantity(0.0, "m", "distance of the outermost fibres from the axis along y", min=0)
    c_z: Value = quantity(0.0, "m", "distance of the outermost fibres from the axis along z", min=0, spatial_only=True)
    modes: int = 2
    axial: int = 0
    torsion: int = 0
    at: tuple[float, ...] = ()
    sections: tuple[float, ...] = ()
    shear: int = 0

    def __post_init__(self) -> None:
        for label in ("modes", "shear", "axial", "torsion"):
            count = getattr(self, label)
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= MOST_MODES:
                raise ValueRangeError(f"{self.name}.{label} = {count!r} must be a whole number from 0 to {MOST_MODES}")
        if not self.modes + self.axial:
            raise ValueRangeError(f"{self.name}: a beam without modes is rigid: give some, or take a BodyShape")
        if bool(self.shear) != (self.GA_s != 0) or (self.shear and not self.modes):
            raise ValueRangeError(
                f"{self.name}: a beam with shear needs all of modes, shear and GA_s, as modes=4, shear=2, GA_s=5/6*G*A"
            )
        if not are_parts(self.at) or {0, 1} & {*self.at}:
            raise ValueRangeError(
                f"{self.name}.at = {self.at!r} must be parts of the length between 0 and 1, such as (0.5,)"
            )
        if not are_parts(self.sections):
            raise ValueRangeError(
                f"{self.name}.sections = {self.sections!r} must be parts of the length from 0 to 1, such as (0.5,)"
            )
        super().__post_init__()

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b", *(f"frame_{index}" for index in range(1, len(self.at) + 1)))

    def count(self, planar: bool) -> int:
        return sum(self._sizes(planar))

    def poses(self, p: Any) -> dict[str, Pose]:
        places = {"frame_b": 1.0, **{f"frame_{index}": xi for index, xi in enumerate(self.at, 1)}}
        return {"frame_a": identity(p.planar), **{name: self._pose(p, xi) for name, xi in places.items()}}

    def integrals(self, p: Any, rate: SX) -> MassIntegrals:
        """Return the integrals over the mass, from the expansion of each direction in functions of the place.

        With r = sum of a_k f_k(xi) for each of x, y and z, all of them are forms of the functions' integrals.
        """
        m, dim = p.rho * p.A * p.L, 2 if p.planar else 3
        mean, products = (_constant(item) for item in expansion(self.modes, self.axial, self.shear))
        a = self._expanded(p)
        a_t = [ca.sparsify(ca.jtimes(item, p.eta, rate)) for item in a]
        weighed, weighed_t = [products @ item for item in a], [products @ item for item in a_t]
        first = m * ca.vertcat(*(ca.dot(mean, item) for item in a))
        of_shape = m * sum((ca.dot(item, other) for item, other in zip(a_t, weighed_t, strict=True)), ca.SX(0)) / 2

        def spun(i: int, j: int) -> SX:
            return m * (ca.dot(weighed[i], a_t[j]) - ca.dot(weighed[j], a_t[i]))

        if p.planar:
            J = m * sum((ca.dot(item, other) for item, other in zip(a, weighed, strict=True)), ca.SX(0))
            integrals = MassIntegrals(m, first, J, spun(0, 1), of_shape)
        else:
            second = m * ca.horzcat(*(ca.vertcat(*(ca.dot(a[i], weighed[j]) for i in range(dim))) for j in range(dim)))
            polar = p.rho * (p.I_y + p.I_z) * p.L
            twist, turn_t = shapes(1, self.torsion), self._parts(p.planar, rate)[-1]
            J = ca.trace(second) * ca.SX.eye(3) - second + ca.diagcat(polar, 0, 0)
            along = polar * ca.dot(_constant(twist.mean()), turn_t)
            spin = ca.vertcat(spun(1, 2) + along, spun(2, 0), spun(0, 1))
            of_shape = of_shape + polar * _form(turn_t, orthogonal(twist.products()), turn_t) / 2
            integrals = MassIntegrals(m, first, J, spin, of_shape)
        return self._with_rotary_inertia(integrals, p, rate) if self.shear else integrals

    def _with_rotary_inertia(self, body: MassIntegrals, p: Any, rate: SX) -> MassIntegrals:
        """Return the integrals with the inertia of the sections about their own axes across the beam."""
        y_t, z_t, *_ = self._parts(p.planar, rate)
        ends, squares = _constant(self._bending.at(1.0)), _constant(self._bending.products(1))
        about_z = p.rho * p.I_z  # times the length, and the integral of the angle, whose slope is over the length
        of_shape = body.own + about_z * _form(y_t, squares, y_t) / (2 * p.L)
        if p.planar:
            return replace(body, J=body.J + about_z * p.L, spin=body.spin + about_z * ca.dot(ends, y_t), own=of_shape)
        about_y = p.rho * p.I_y
        return replace(
            body, J=body.J + ca.diagcat(0, about_y, about_z) * p.L,
            spin=body.spin + ca.vertcat(0, -about_y * ca.dot(ends, z_t), about_z * ca.dot(ends, y_t)),
            own=of_shape + about_y * _form(z_t, squares, z_t) / (2 * p.L),
        )  # fmt: skip

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

    def signals(self, p: Any) -> tuple[Measured, ...]:
        """Return forces, moments and stresses of each section (see `section_signals`)."""
        signals: list[Measured] = []
        for index, xi in enumerate(self.sections, 1):
            where = f"at {xi:g} of the length"
            signals += section_signals(p, self._section(p, xi), f"section_{index}", where, bool(self.axial))
        return tuple(signals)

    def surface(self, p: Any, thick: float) -> Surface:
        """Return the surface that the section sweeps (see `swept_surface`)."""
        return swept_surface(p, [self._section(p, float(xi)) for xi in np.linspace(0.0, 1.0, STATIONS)], thick)

    def _section(self, p: Any, xi: float) -> Section:
        """Return the section at a part of the length."""
        y, z, s_y, s_z, u, turn = self._parts(p.planar, p.eta)
        bend = _constant(self._bending.at(xi, 2))
        pull, spin, sheared = (
            _constant(shapes(1, count).at(xi, 1)) for count in (self.axial, turn.numel(), self.shear)
        )
        return Section(
            pose=self._pose(p, xi),
            strain=ca.dot(pull, u) / p.L,
            twist=ca.dot(spin, turn) / p.L,
            kappa_y=ca.dot(bend, y) / p.L**2,
            kappa_z=ca.dot(bend, z) / p.L**2 if z.numel() else ca.SX(0),
            gamma=ca.vertcat(ca.SX(0, 1), *(ca.dot(sheared, s) / p.L for s in (s_y, s_z) if s.numel())),
        )

    @property
    def _bending(self) -> Shapes:
        return shapes(2, self.modes)

    def _sizes(self, planar: bool) -> tuple[int, ...]:
        """Return the numbers of the coordinates of `_parts`."""
        if planar:
            return self.modes, 0, self.shear, 0, self.axial, 0
        return self.modes, self.modes, self.shear, self.shear, self.axial, self.torsion

    def _parts(self, planar: bool, eta: SX) -> list[SX]:
        """Return the coordinates of bending along y and z, of shear along y and z, of tension and of torsion."""
        ends = np.cumsum((0, *self._sizes(planar)))
        return [ca.reshape(eta[int(a) : int(b)], int(b - a), 1) for a, b in pairwise(ends)]

    def _kinds(self, p: Any, eta: SX) -> list[tuple[Shapes, SX, SX, SX]]:
        """Return shape functions, coordinates, stiffness and mass of each kind of deformation, in order."""
        y, z, s_y, s_z, u, turn = self._parts(p.planar, eta)
        m = p.rho * p.A * p.L
        kinds = [(self._bending, y, p.E * p.I_z / p.L**3, m)]
        if not p.planar:
            kinds.append((self._bending, z, p.E * p.I_y / p.L**3, m))
        kinds += [(shapes(1, self.shear), s, p.GA_s / p.L, m) for s in (s_y, s_z)]
        kinds.append((shapes(1, self.axial), u, p.E * p.A / p.L, m))
        if not p.planar:
            polar = p.rho * (p.I_y + p.I_z) * p.L
            kinds.append((shapes(1, self.torsion), turn, p.G * p.I_t / p.L, polar))
        return [item for item in kinds if item[1].numel()]

    def _expanded(self, p: Any) -> list[SX]:
        """Return coefficients of the functions of `expansion` for x, y and, in space, z of the points of the axis."""
        y, z, s_y, s_z, u, _ = self._parts(p.planar, p.eta)
        squares = ca.SX(self.modes * (self.modes + 1) // 2 + self.modes * self.shear, 1)
        for w, s in ((y, s_y), (z, s_z)):
            if w.numel():
                products = [w[i] * w[j] for i in range(self.modes) for j in range(i + 1)]
                squares += ca.vertcat(*products, *(w[i] * s[j] for i in range(self.modes) for j in range(self.shear)))
        shortening = _constant(self._bending.shortening(self.shear)) @ squares / (2 * p.L)
        before = ca.SX(1 + u.numel() + shortening.numel(), 1)
        across = [ca.vertcat(before, *pair) for pair in (((y, s_y),) if p.planar else ((y, s_y), (z, s_z)))]
        return [ca.vertcat(p.L, u, -shortening, ca.SX(self.modes + self.shear, 1)), *across]

    def _pose(self, p: Any, xi: float) -> Pose:
        y, z, s_y, s_z, u, turn = self._parts(p.planar, p.eta)
        value, slope = _constant(self._bending.at(xi)), _constant(self._bending.at(xi, 1))
        shorter = _constant(self._bending.products(1, end=xi))
        shortening = sum((_form(s, shorter, s) for s in (y, z) if s.numel()), ca.SX(0)) / (2 * p.L)
        w_y, w_z = ca.dot(value, y), ca.dot(value, z) if z.numel() else ca.SX(0)
        if self.shear:
            sheared = shapes(1, self.shear)
            both, more = _constant(self._bending.slopes_with(sheared, xi)), _constant(sheared.at(xi))
            shortening += sum((_form(w, both, s) for w, s in ((y, s_y), (z, s_z)) if s.numel()), ca.SX(0)) / p.L
            w_y, w_z = w_y + ca.dot(more, s_y), w_z + (ca.dot(more, s_z) if s_z.numel() else 0)
        x = xi * p.L + ca.dot(_constant(shapes(1, self.axial).at(xi)), u) - shortening
        if p.planar:
            return Pose(ca.vertcat(x, w_y), ca.dot(slope, y) / p.L)
        twist = ca.dot(_constant(shapes(1, self.torsion).at(xi)), turn)
        half = ca.vertcat(twist, -ca.dot(slope, z) / p.L, ca.dot(slope, y) / p.L) / 2
        Q = ca.vertcat(1, half)
        return Pose(ca.vertcat(x, w_y, w_z), Q / ca.norm_2(Q))


def _constant(entries: Any) -> SX:
    """Return constants as an expression; a vector as a column."""
    rows, columns = entries.shape if entries.ndim == 2 else (entries.size, 1)
    return ca.sparsify(ca.SX(ca.DM(entries))) if entries.size else ca.SX(rows, columns)


def _form(a: SX, matrix: SX, b: SX) -> SX:
    """Return a^T matrix b; zero for empty vectors."""
    return ca.dot(a, matrix @ b) if a.numel() and b.numel() else ca.SX(0)
