"""Friction by the velocity of a slip, as PlanarMechanics has it."""

import casadi as ca

from mbfmu.model.frame import SX

LEAST_SLIP = 1e-4
"""Added to the size of a slip, m/s, as in PlanarMechanics."""
ROUNDED = 1e-24
"""Added to the square of a slip, (m/s)^2, so that its root has a derivative at rest."""


def friction_curve(x: SX, x_max: SX, x_sat: SX, y_max: SX, y_sat: SX) -> SX:
    """Return a curve through 0 that rises to y_max at x_max and is y_sat from x_sat on, with a continuous derivative.

    With ``s(u) = (3 u - u^3) / 2`` it is ``y_max s(x / x_max)`` up to x_max (`limitByStriple` of PlanarMechanics).

    Args:
        x: abscissa, SX; of negative ones the ordinates are negative.
        x_max: abscissa of the peak.
        x_sat: abscissa from which the curve is constant.
        y_max: ordinate of the peak.
        y_sat: ordinate from x_sat on.
    """
    size = ca.fabs(x)
    rising = ca.fmax(ca.fmin(x / x_max, 1), -1)
    falling = ca.fmin((2 * size - x_max - x_sat) / (x_sat - x_max), 1)
    first, second = ((3 * u - u**3) / 2 for u in (rising, falling))
    return ca.if_else(size > x_max, ca.sign(x) * (y_max + y_sat + (y_sat - y_max) * second) / 2, y_max * first)


def slip_force(slips: SX, pressing: SX, peak: SX, sliding: SX, mu_A: SX, mu_S: SX) -> SX:
    """Return the force against a slip, N: ``-pressing mu(|slips|) slips / |slips|``, with the curve mu.

    Args:
        slips: slip velocities, SX (k,), m/s.
        pressing: normal force, N.
        peak: slip velocity of the largest friction, m/s.
        sliding: slip velocity from which friction is constant, m/s.
        mu_A: coefficient of friction at the peak.
        mu_S: coefficient of friction of sliding.
    """
    size = ca.sqrt(ca.sumsqr(slips) + ROUNDED) + LEAST_SLIP
    return -pressing * friction_curve(size, peak, sliding, mu_A, mu_S) * slips / size
