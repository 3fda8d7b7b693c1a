"""The Magic Formula of MF-Tyre 5.2: forces and moments of a tyre for its slips, load and camber, as expressions.

Axes and signs are those of TYDEX's W axes: x forward and y to the left in the road, z up along its normal; the slip
angle is positive if the tyre slides to its left, the inclination if its top leans to the right. Sources: H. B. Pacejka,
Tyre and Vehicle Dynamics, 2002, section 4.3; MSC, Adams/Tire, chapter PAC2002, whose symbols are kept. All forces are
the load times a share, which stays regular where the load vanishes: K_y / F_z is taken there by
``sin(2 atan(x)) = 2 x / (1 + x^2)``.
"""

from dataclasses import dataclass
from math import pi
from typing import Any

import casadi as ca

from mbfmu.model.frame import SX

LEAST = 1e-18
"""Smallest squared equivalent slip of the moment, so that its derivatives are finite at zero slip."""


@dataclass(frozen=True)
class TyreForces:
    """Forces and moments in the W axes, SX scalars.

    Args:
        F_x, F_y: forces along and across the wheel, N.
        M_x: overturning moment, N.m.
        M_z: aligning moment, N.m.
    """

    F_x: SX
    F_y: SX
    M_x: SX
    M_z: SX


@dataclass(frozen=True)
class Stiffness:
    """Shares of the load and lengths that depend on load and camber alone, SX scalars.

    Args:
        K_x, K_y: slip stiffnesses over the load; that of side slip is negative.
        mu_x, mu_y: peaks of the friction, before shifts.
        sigma_x, sigma_y: relaxation lengths, m.
    """

    K_x: SX
    K_y: SX
    mu_x: SX
    mu_y: SX
    sigma_x: SX
    sigma_y: SX


def load_change(c: Any, F_z: SX) -> SX:
    """Return df_z, the load's difference to the nominal one over that, of loads up to FZMAX."""
    F_z0 = c.FNOMIN * c.LFZO
    return (ca.fmin(F_z, c.FZMAX) - F_z0) / F_z0


def stiffness(c: Any, F_z: SX, gamma: SX) -> Stiffness:
    """Return slip stiffnesses, friction and relaxation lengths.

    Args:
        c: coefficients by name.
        F_z: load, N, SX scalar, at least 0.
        gamma: inclination, rad.
    """
    dfz = load_change(c, F_z)
    F_z0 = c.FNOMIN * c.LFZO
    gamma_y = gamma * c.LGAY
    within = ca.fmin(F_z, c.FZMAX)
    x, y = within / (c.PKY2 * F_z0), within / (c.PTY2 * F_z0)
    leaning = 1 - c.PKY3 * ca.fabs(gamma_y)
    return Stiffness(
        K_x=(c.PKX1 + c.PKX2 * dfz) * ca.exp(c.PKX3 * dfz) * c.LKX,
        K_y=c.PKY1 / c.PKY2 * 2 / (1 + x**2) * leaning * c.LKY,
        mu_x=(c.PDX1 + c.PDX2 * dfz) * (1 - c.PDX3 * (gamma * c.LGAX) ** 2) * c.LMUX,
        mu_y=(c.PDY1 + c.PDY2 * dfz) * (1 - c.PDY3 * gamma_y**2) * c.LMUY,
        sigma_x=F_z * (c.PTX1 + c.PTX2 * dfz) * ca.exp(-c.PTX3 * dfz) * c.UNLOADED_RADIUS / c.FNOMIN * c.LSGKP,
        sigma_y=c.PTY1 * 2 * y / (1 + y**2) * leaning * c.UNLOADED_RADIUS * c.LFZO * c.LSGAL,
    )


def magic_formula(c: Any, kappa: SX, alpha: SX, gamma: SX, F_z: SX, ahead: SX | float = 1) -> TyreForces:
    """Return forces and moments of the steady combined slip, PAC2002 (16) to (79).

    Args:
        c: coefficients by name, numbers or SX scalars.
        kappa: longitudinal slip, -1 for a wheel that is locked.
        alpha: slip angle, rad.
        gamma: inclination, rad.
        F_z: load, N, at least 0.
        ahead: 1 for a wheel that rolls forwards, -1 for one that rolls backwards and has its trail in front.
    """
    s = stiffness(c, F_z, gamma)
    dfz = load_change(c, F_z)
    F_z0 = c.FNOMIN * c.LFZO
    gamma_y, gamma_z = gamma * c.LGAY, gamma * c.LGAZ

    # along the wheel, pure slip
    S_Hx = (c.PHX1 + c.PHX2 * dfz) * c.LHX
    S_Vx = (c.PVX1 + c.PVX2 * dfz) * c.LVX * c.LMUX
    kappa_x = kappa + S_Hx
    C_x = c.PCX1 * c.LCX
    E_x = (c.PEX1 + c.PEX2 * dfz + c.PEX3 * dfz**2) * (1 - c.PEX4 * ca.sign(kappa_x)) * c.LEX
    f_x0 = s.mu_x * ca.sin(_bent(s.K_x / (C_x * s.mu_x) * kappa_x, C_x, E_x)) + S_Vx

    # across, pure slip
    S_Hy = (c.PHY1 + c.PHY2 * dfz) * c.LHY + c.PHY3 * gamma_y
    S_Vy = ((c.PVY1 + c.PVY2 * dfz) * c.LVY + (c.PVY3 + c.PVY4 * dfz) * gamma_y) * c.LMUY
    alpha_y = alpha + S_Hy
    C_y = c.PCY1 * c.LCY
    B_y = s.K_y / (C_y * s.mu_y)
    E_y = (c.PEY1 + c.PEY2 * dfz) * (1 - (c.PEY3 + c.PEY4 * gamma_y) * ca.sign(alpha_y)) * c.LEY
    f_y0 = s.mu_y * ca.sin(_bent(B_y * alpha_y, C_y, E_y)) + S_Vy

    # combined slip
    B_xa = c.RBX1 / ca.sqrt(1 + (c.RBX2 * kappa) ** 2) * c.LXAL
    f_x = f_x0 * _weight(alpha, c.RHX1, B_xa, c.RCX1, c.REX1 + c.REX2 * dfz)
    B_yk = c.RBY1 / ca.sqrt(1 + (c.RBY2 * (alpha - c.RBY3)) ** 2) * c.LYKA
    D_Vyk = s.mu_y * (c.RVY1 + c.RVY2 * dfz + c.RVY3 * gamma) / ca.sqrt(1 + (c.RVY4 * alpha) ** 2)
    S_Vyk = D_Vyk * ca.sin(c.RVY5 * ca.atan(c.RVY6 * kappa)) * c.LVYKA
    f_yk = f_y0 * _weight(kappa, c.RHY1 + c.RHY2 * dfz, B_yk, c.RCY1, c.REY1 + c.REY2 * dfz)
    f_y = f_yk + S_Vyk

    # aligning moment: trail, residual moment, and the arm of F_x
    alpha_t = alpha + c.QHZ1 + c.QHZ2 * dfz + (c.QHZ3 + c.QHZ4 * dfz) * gamma_z
    alpha_r = alpha + S_Hy + S_Vy / s.K_y
    slip = (s.K_x / s.K_y * kappa) ** 2
    alpha_teq = ca.atan(ca.sqrt(ca.tan(alpha_t) ** 2 + slip + LEAST))
    alpha_req = ca.atan(ca.sqrt(ca.tan(alpha_r) ** 2 + slip + LEAST))
    B_t = (c.QBZ1 + c.QBZ2 * dfz + c.QBZ3 * dfz**2) * (1 + c.QBZ4 * gamma_z + c.QBZ5 * ca.fabs(gamma_z))
    B_t = B_t * c.LKY / c.LMUY
    E_t = (c.QEZ1 + c.QEZ2 * dfz + c.QEZ3 * dfz**2) * (
        1 + (c.QEZ4 + c.QEZ5 * gamma_z) * 2 / pi * ca.atan(B_t * c.QCZ1 * alpha_t)
    )
    arm = F_z / F_z0 * c.UNLOADED_RADIUS * ca.cos(alpha) * ahead
    D_t = (c.QDZ1 + c.QDZ2 * dfz) * (1 + c.QDZ3 * gamma_z + c.QDZ4 * gamma_z**2) * c.LTR
    trail = arm * D_t * ca.cos(_bent(B_t * alpha_teq, c.QCZ1, E_t))
    B_r = c.QBZ9 * c.LKY / c.LMUY + c.QBZ10 * B_y * C_y
    D_r = (c.QDZ6 + c.QDZ7 * dfz) * c.LRES + (c.QDZ8 + c.QDZ9 * dfz) * gamma_z
    residual = D_r * c.UNLOADED_RADIUS * c.LMUY * ca.cos(alpha) * ahead / ca.sqrt(1 + (B_r * alpha_req) ** 2)
    F_x, F_y = F_z * f_x, F_z * f_y
    side = c.UNLOADED_RADIUS * c.LS * (c.SSZ1 + c.SSZ2 * F_y / F_z0 + (c.SSZ3 + c.SSZ4 * dfz) * gamma)
    leaning = (-c.QSX2 * gamma + c.QSX3 * F_y / F_z0) * c.LMX
    return TyreForces(
        F_x=F_x,
        F_y=F_y,
        M_x=c.UNLOADED_RADIUS * F_z * (c.QSX1 * c.LVMX + leaning),
        M_z=F_z * (residual - trail * f_yk) + side * F_x,
    )


def rolling_resistance(c: Any, F_x: SX, F_z: SX, v_x: SX) -> SX:
    """Return the size of the rolling resistance moment, N.m, PAC2002 (85).

    Args:
        c: coefficients by name.
        F_x: longitudinal force, N.
        F_z: load, N.
        v_x: speed of the wheel, m/s.
    """
    speed = ca.fabs(v_x) / c.LONGVL
    share = c.QSY1 + c.QSY2 * F_x / (c.FNOMIN * c.LFZO) + c.QSY3 * speed + c.QSY4 * speed**4
    return c.UNLOADED_RADIUS * F_z * c.LMY * share


def effective_radius(c: Any, rho: SX) -> SX:
    """Return the effective rolling radius, m, PAC2002 (5), for the deflection `rho` of the tyre, m, at least 0."""
    nominal = c.FNOMIN * c.LFZO / (c.VERTICAL_STIFFNESS * c.LCZ)
    return c.UNLOADED_RADIUS - nominal * (c.DREFF * ca.atan(c.BREFF * rho / nominal) + c.FREFF * rho / nominal)


def _bent(x: SX, C: SX, E: SX) -> SX:
    """Return ``C atan(x - E (x - atan(x)))`` with E of at most 1, the argument of a sine or cosine."""
    return C * ca.atan(x - ca.fmin(E, 1) * (x - ca.atan(x)))


def _weight(slip: SX, shift: SX, B: SX, C: SX, E: SX) -> SX:
    """Return the weight of a force under the slip in the other direction, 1 at no slip."""
    return ca.cos(_bent(B * (slip + shift), C, E)) / ca.cos(_bent(B * shift, C, E))
