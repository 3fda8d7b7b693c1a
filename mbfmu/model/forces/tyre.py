"""A tyre between a wheel and the road: the Magic Formula of MF-Tyre 5.2 with relaxation lengths."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import casadi as ca

from mbfmu.errors import ModelError, ModelFileError
from mbfmu.model.component import FormulaField, Input, Value, direction, law, quantity, state
from mbfmu.model.forces.force import Force
from mbfmu.model.forces.magic_formula import (
    Stiffness,
    TyreForces,
    effective_radius,
    magic_formula,
    rolling_resistance,
    stiffness,
)
from mbfmu.model.forces.tyre_data import ENDINGS, UNITS, complete, read_tir
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import axis, cross, r_rel, velocity_seen, w_rel
from mbfmu.model.sensors import Measured

ONSET = 1e-3
"""Deflection, m, over which the vertical damping sets in, so that the load has no jump at touch-down."""
SHORTEST = 0.1
"""Shortest relaxation length, as a multiple of the unloaded radius."""
SLIDING = 3.0
"""Slip of full sliding by the brush model, in units of friction over slip stiffness."""
RETURN = 10.0
"""Rolling speed, m/s, at whose rate a deflection beyond full sliding decays while the wheel stands still."""
FLAT = 1e-12
"""Smallest squared cosine of the inclination, so that the directions are finite for a wheel that lies flat."""


@dataclass(frozen=True)
class _Contact:
    """Place and motion of a wheel on the road, SX; vectors are resolved in the world frame.

    Args:
        e_x, e_y, e_z: the W axes: along and across the wheel in the road, and the road's normal.
        arm: from the wheel's centre to the contact point, m.
        velocity: of the wheel's point there, seen from the road, m/s.
        w: angular velocity of the wheel seen from the road, rad/s.
        gamma: inclination of the wheel, rad.
        rho: deflection of the tyre, m; below 0 the distance from the road.
        F_z: load, N.
        v_x: speed of the wheel along itself, m/s.
        s_x, s_y: slip speeds along and across, m/s.
    """

    e_x: SX
    e_y: SX
    e_z: SX
    arm: SX
    velocity: SX
    w: SX
    gamma: SX
    rho: SX
    F_z: SX
    v_x: SX
    s_x: SX
    s_y: SX


@dataclass(frozen=True)
class Tyre(Force):
    """A tyre of the wheel at frame_b on the road at frame_a, by the Magic Formula of MF-Tyre 5.2 (`magic_formula`).

    For spatial systems. The road is the surface ``z = height(x, y)`` of frame_a, whose z axis points up, taken as flat
    under the wheel; the wheel turns about `n`, which points to its left, and may be frame_b of its hub or a frame that
    spins. With rho the deflection of a thin disk of the unloaded radius, the load is ``F_z = max(0, C rho + K rho')``
    where the disk reaches the road, and 0 elsewhere. Force and moment follow from the deflections u and v of the tread:

    ``u' = -s_x - |v_x| u / sigma_x`` with the slip ``kappa = u / sigma_x``, and
    ``v' = s_y - |v_x| v / sigma_y`` with ``tan(alpha) = v / sigma_y``

    (Pacejka, Tyre and Vehicle Dynamics, 2nd ed., 2006, (7.7) and (7.9), v with the sign of the W axes), where s_x and
    s_y are the slip speeds and sigma the relaxation lengths. Nothing is divided by the speed, so that v_x = 0 and
    driving backwards are as good as any speed. Towards standstill, with the weight ``exp(-(v_x / VXLOW)^2)``, the slips
    are damped by `d_low` times the slip speeds, and deflections beyond those of full sliding return to these. Of a load
    beyond FZMAX the forces grow in proportion, and an inclination counts up to CAMMIN and CAMMAX.

    Outputs: forces `F_x`, `F_y`, `F_z` and moments `M_x`, `M_y`, `M_z` on the wheel at the contact point in the W axes
    (x along the wheel, z normal to the road); `kappa`, `alpha`, `gamma`, `rho`; `touches`, 0 where the tyre has left
    the road; `valid`, 0 where load, slips or inclination are out of the ranges that the coefficients give. The load has
    a corner at lift-off, and no event.

    Args:
        data: path of a tyre property file (.tir), or coefficients by their names there, PCX1 and so on: numbers, or
            expressions of parameters.
        n: axis of the wheel, a unit vector resolved in frame_b, to its left.
        mirrored: whether the coefficients are those of a tyre on the other side of the vehicle.
        mu: friction of this road over that of the measurements.
        d_low: damping of the slips towards standstill, s/m.
        height: formula of the places ``x`` and ``y``, m, seen from frame_a, of ``time`` and of parameters.
        u, v: start values of the deflections along and across, m.

    Raises:
        ModelFileError: the file is missing, damaged, or of another version.
        UnknownNameError: a coefficient has another name.
        ValueRangeError: a coefficient is missing or not a finite number.
    """

    data: str | Mapping[str, Value] = field(default="", metadata={"file": ENDINGS})
    n: tuple[float, ...] = direction(0.0, 1.0, 0.0)
    mirrored: bool = False
    mu: Value = quantity(1.0, "1", "friction of the road over that of the measurements", min=1e-9)
    d_low: Value = quantity(0.1, "s/m", "damping of the slips towards standstill", min=0)
    height: Value = law(0.0, "m", "height of the road as a formula of x and y", "x", "y")
    u: Value = state("m", "deflection of the tread along the wheel", nominal=0.01)
    v: Value = state("m", "deflection of the tread across the wheel", nominal=0.01)

    def __post_init__(self) -> None:
        data: Any = self.data
        if not data:
            raise ModelFileError(
                f'{self.name}.data must name a tyre property file, such as "tyre{ENDINGS[0]}", or be its coefficients'
            )
        if isinstance(data, str):
            object.__setattr__(self, "data", complete(data, read_tir(data)))
        else:
            object.__setattr__(self, "data", complete(f"{self.name}.data", dict(data)))
        super().__post_init__()

    @property
    def coefficients(self) -> Mapping[str, Value]:
        """The coefficients, by name."""
        assert isinstance(self.data, Mapping)
        return self.data

    def laws(self) -> Iterator[tuple[FormulaField, str, Value]]:
        yield from super().laws()
        for name, value in self.coefficients.items():
            yield FormulaField(UNITS.get(name, "1"), "coefficient of the Magic Formula", ()), name, value

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        """Return no inputs.

        Raises:
            ModelError: the system is planar.
        """
        if planar:
            raise ModelError(f"'{self.name}': a Tyre needs a spatial system; in the plane use a TranslationalSpring")
        return ()

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        c = self._coefficients(p)
        at = self._contact(p, c, a, b)
        forces, M_y, _, _ = self._loaded(p, c, at)
        force = at.e_x * forces.F_x + at.e_y * forces.F_y + at.e_z * at.F_z
        moment = at.e_x * forces.M_x + at.e_y * M_y + at.e_z * forces.M_z
        return ((at.velocity, force), (at.w, moment))

    def rates(self, p: Any, a: Frame, b: Frame) -> tuple[SX, ...]:
        c = self._coefficients(p)
        at = self._contact(p, c, a, b)
        s, sigma_x, sigma_y = self._stiffness(c, at)
        slow = RETURN * self._slow(c, at)
        kappa, slope = p.u / sigma_x, p.v / sigma_y
        beyond_x = _beyond(kappa, SLIDING * ca.fabs(s.mu_x / s.K_x))
        beyond_y = _beyond(slope, SLIDING * ca.fabs(s.mu_y / s.K_y))
        return (
            -at.s_x - ca.fabs(at.v_x) * kappa - slow * beyond_x,
            at.s_y - ca.fabs(at.v_x) * slope - slow * beyond_y,
        )

    def signals(self, p: Any, a: Frame, b: Frame, f: SX, t: SX) -> tuple[Measured, ...]:
        c = self._coefficients(p)
        at = self._contact(p, c, a, b)
        forces, M_y, kappa, alpha = self._loaded(p, c, at)
        touches = at.F_z > 0
        ranges = ((kappa, c.KPUMIN, c.KPUMAX), (alpha, c.ALPMIN, c.ALPMAX), (at.gamma, c.CAMMIN, c.CAMMAX),
                  (at.F_z, c.FZMIN, c.FZMAX))  # fmt: skip
        valid = ca.SX(1)
        for value, least, most in ranges:
            valid = valid * (value >= least) * (value <= most)
        where = "on the wheel, in the W axes"
        return (
            Measured("F_x", "N", f"force along the wheel {where}", forces.F_x),
            Measured("F_y", "N", f"force to the left {where}", forces.F_y),
            Measured("F_z", "N", f"load {where}", at.F_z),
            Measured("M_x", "N.m", f"overturning moment {where}", forces.M_x),
            Measured("M_y", "N.m", f"rolling resistance moment {where}", M_y),
            Measured("M_z", "N.m", f"aligning moment {where}", forces.M_z),
            Measured("kappa", "1", "longitudinal slip", kappa),
            Measured("alpha", "rad", "slip angle", alpha),
            Measured("gamma", "rad", "inclination of the wheel, to the right", at.gamma),
            Measured("rho", "m", "deflection of the tyre, below 0 its distance from the road", at.rho),
            Measured("touches", "1", "1 where the tyre is on the road, 0 where it has left it", touches),
            Measured("valid", "1", "1 within the ranges of the coefficients, else 0", valid),
        )

    def _coefficients(self, p: Any) -> SimpleNamespace:
        """Return the coefficients by name, SX scalars, with the friction of the road."""
        c = SimpleNamespace(**{name: getattr(p, name)() for name in self.coefficients})
        c.LMUX, c.LMUY = c.LMUX * p.mu, c.LMUY * p.mu
        return c

    def _contact(self, p: Any, c: Any, a: Frame, b: Frame) -> _Contact:
        seen = r_rel(a, b)
        x, y = ca.SX.sym("x"), ca.SX.sym("y")
        road = ca.SX(p.height(x=x, y=y))
        road = ca.substitute(ca.vertcat(road, ca.gradient(road, ca.vertcat(x, y))), ca.vertcat(x, y), seen[:2])
        level = ca.sqrt(1 + ca.sumsqr(road[1:]))
        e_z = a.R @ (ca.vertcat(-road[1:], 1) / level)
        h = (seen[2] - road[0]) / level  # of the wheel's centre, along the normal
        d = b.R @ axis(self.n)
        sine = ca.dot(d, e_z)
        across = ca.cross(d, e_z)
        cosine = ca.sqrt(ca.sumsqr(across) + FLAT)
        e_x = across / cosine
        e_y = ca.cross(e_z, e_x)
        up = ca.cross(e_x, d)
        radius = h / cosine  # loaded, in the plane of the wheel
        rho = c.UNLOADED_RADIUS - radius
        w = a.R @ w_rel(a, b)
        centre = velocity_seen(a, b, ca.SX(3, 1))
        rho_t = -(ca.dot(e_z, centre) + radius * sine / cosine * ca.dot(cross(w, d), e_z)) / cosine
        arm = -radius * up
        spin = ca.dot(w, d)
        carried = centre + cross(w - spin * d, arm)
        v_x = ca.dot(e_x, carried)
        damping = c.VERTICAL_DAMPING * ca.fmin(1, rho / ONSET)
        load = ca.fmax(0, c.VERTICAL_STIFFNESS * c.LCZ * rho + damping * rho_t)
        inside = ca.fmax(0, rho)
        return _Contact(
            e_x, e_y, e_z, arm, centre + cross(w, arm), w, ca.atan2(sine, cosine), rho,
            ca.if_else(rho > 0, load, 0), v_x, v_x - effective_radius(c, inside) * spin, ca.dot(e_y, carried),
        )  # fmt: skip

    @staticmethod
    def _stiffness(c: Any, at: _Contact) -> tuple[Stiffness, SX, SX]:
        """Return stiffnesses and friction, and the relaxation lengths as far as they are long enough."""
        s = stiffness(c, at.F_z, _inclination(c, at.gamma))
        least = SHORTEST * c.UNLOADED_RADIUS
        return s, ca.fmax(s.sigma_x, least), ca.fmax(s.sigma_y, least)

    @staticmethod
    def _slow(c: Any, at: _Contact) -> SX:
        """Return the weight of what acts towards standstill, 0 to 1."""
        return ca.exp(-((at.v_x / c.VXLOW) ** 2))

    def _loaded(self, p: Any, c: Any, at: _Contact) -> tuple[TyreForces, SX, SX, SX]:
        """Return forces, the moment about the wheel's axis, N.m, the longitudinal slip and the slip angle, rad."""
        _, sigma_x, sigma_y = self._stiffness(c, at)
        damping = p.d_low * self._slow(c, at)
        kappa = p.u / sigma_x - damping * at.s_x
        alpha = ca.atan(p.v / sigma_y + damping * at.s_y)
        side = -1 if self.mirrored else 1
        ahead = ca.tanh(10 * at.v_x / c.VXLOW)
        forces = magic_formula(c, kappa, side * alpha, side * _inclination(c, at.gamma), at.F_z, ahead)
        M_y = -rolling_resistance(c, forces.F_x, at.F_z, at.v_x) * ahead
        return TyreForces(forces.F_x, side * forces.F_y, side * forces.M_x, side * forces.M_z), M_y, kappa, alpha


def _inclination(c: Any, gamma: SX) -> SX:
    return ca.fmax(c.CAMMIN, ca.fmin(c.CAMMAX, gamma))


def _beyond(slip: SX, limit: SX) -> SX:
    """Return how far a slip is beyond a limit, to either side."""
    return ca.fmax(0, slip - limit) - ca.fmax(0, -slip - limit)
