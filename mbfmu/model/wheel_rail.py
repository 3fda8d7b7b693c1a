"""Contact of a wheel and a rail: where they touch, how they slip, and the creep forces of Kalker's linear theory.

Vectors are resolved in axes of the track: x along it, y to the left, z upwards.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import nan

import casadi as ca

from mbfmu.model.frame import SX, undifferentiated

NEWTON = 5
"""Number of Newton's corrections of the place of contact, which begin where a wheel without yaw touches a sharp rail.
"""
DIFFERENTIATED = 2
"""Number of the last ones through which derivatives go."""
SPACING = 2.0**-30
"""Rounding of the place before these, m."""
TOUCHING = 1e-9
"""Largest difference of the slopes of wheel and rail at the place of contact."""
SLOWEST = 1e-3
"""Speed, m/s, by which the rolling speed is smoothed: below, creep forces are viscous."""
SMALLEST_SHARE = 1e-12
"""Share of the limit of friction by which the size of a creep force is smoothed where it vanishes."""

Profile = Callable[[SX], SX]
"""Function: distance outwards from the nominal place of contact, m -> radius of a wheel or height of a rail, m."""


@dataclass(frozen=True)
class WheelRailPoint:
    """The place where a wheel is nearest to its rail.

    Args:
        s_wheel: its distance outwards from the nominal circle, along the axle, m.
        s_rail: its distance outwards from the nominal place on the rail, m.
        gap: height of the wheel above the rail there, m.
        r: from the centre of the wheelset to the place, m.
        n: unit normal of wheel and rail, upwards.
        slope: of the rail outwards.
    """

    s_wheel: SX
    s_rail: SX
    gap: SX
    r: SX
    n: SX
    slope: SX

    @property
    def steepness(self) -> SX:
        """Normal force over its vertical part."""
        return ca.sqrt(1 + self.slope**2)


def touch(
    side: int, center: SX, axle: SX, half_gauge: SX, wheel: Profile, rail: Profile, reach: tuple[SX, SX]
) -> WheelRailPoint:
    """Return where the surface of revolution of a wheel is nearest to a straight rail.

    On each circle of the wheel one point below has a normal across the track. These points are a line over the
    track's cross-section (Wang's trace line); where its slope is the rail's, the surfaces are parallel.

    Args:
        side: 1 for the left wheel, -1 for the right one.
        center: of the wheelset, SX, shape (3,), m.
        axle: unit vector along the axle to the left, SX, shape (3,).
        half_gauge: half of the distance of the nominal circles and of the nominal places on the rails, m.
        wheel: radius.
        rail: height.
        reach: how far the profiles of wheel and rail reach to either side, m; beyond, everything is NaN.
    """
    s = ca.SX.sym("s")
    # trace line: on the circle at s the point whose normal lies across the track (n_x = 0)
    radius, across = ca.SX(wheel(s)), ca.sqrt(axle[1] ** 2 + axle[2] ** 2)
    taper = side * ca.gradient(radius, s)
    forward = taper * axle[0] / across
    along = ca.vertcat(across, -axle[0] * axle[1] / across, -axle[0] * axle[2] / across)
    down = ca.vertcat(0, axle[2], -axle[1]) / across
    out = forward * along + ca.sqrt(1 - forward**2) * down
    normal = out - taper * axle
    r = side * (half_gauge + s) * axle + radius * out
    # the rail's height and slope below that point
    lateral = side * (center[1] + r[1]) - half_gauge
    x = ca.SX.sym("x")
    height = ca.SX(rail(x))
    h, slope = ca.substitute([height, ca.gradient(height, x)], [x], [lateral])
    # the surfaces are parallel where the normals agree: n_y + side slope n_z = 0, by Newton's method
    apart = normal[1] + side * slope * normal[2]
    turning = ca.gradient(apart, s)
    at = ca.densify(-side * center[1])
    for left in range(NEWTON, 0, -1):
        start = undifferentiated(at, SPACING) if left == DIFFERENTIATED else at
        at = ca.densify(start - ca.substitute(apart / turning, s, start))
    # NaN where Newton's method did not end, the gap is greatest, or a profile ends
    off, bends = ca.substitute([apart, side * turning], [s], [at])
    there = ca.substitute(lateral, s, at)
    fits = ca.logic_and(ca.fabs(off) <= TOUCHING, bends > 0)
    within = ca.logic_and(ca.fabs(at) <= reach[0], ca.fabs(there) <= reach[1])
    at = ca.if_else(ca.logic_and(fits, within), at, nan)
    # the nearest points, and the normal of the rail there
    r, h, slope, lateral = ca.substitute([r, h, slope, lateral], [s], [at])
    up = ca.vertcat(0, -side * slope, 1) / ca.sqrt(1 + slope**2)
    return WheelRailPoint(at, lateral, center[2] + r[2] - h, r, up, slope)


@dataclass(frozen=True)
class Creepage:
    """The slip of a wheel on its rail, relative to its rolling speed.

    Args:
        directions: unit vectors in the plane of contact, across the axle and along it, columns of SX, shape (3, 2).
        slip: velocity of the wheel's point against the rail along these, SX, shape (2,), m/s.
        turn: angular velocity about the normal, rad/s.
        speed: rolling speed, m/s.
    """

    directions: SX
    slip: SX
    turn: SX
    speed: SX

    @property
    def nu(self) -> SX:
        """Longitudinal and lateral creepage, SX, shape (2,)."""
        return self.slip / self.speed

    @property
    def phi(self) -> SX:
        """Spin creepage, 1/m."""
        return self.turn / self.speed


def creepage(axle: SX, n: SX, v: SX, v_center: SX, w: SX) -> Creepage:
    """Return the creepages of a wheel.

    The rolling speed is half the size of the velocity at which the place of contact moves over the wheel and the rail
    (Kalker, Three-Dimensional Elastic Bodies in Rolling Contact, 1990).

    Args:
        axle: unit vector along the axle to the left, SX, shape (3,).
        n: unit normal of the contact, upwards.
        v: velocity of the wheel's point against the rail, m/s.
        v_center: velocity of the wheelset's centre against the rail, m/s.
        w: angular velocity against the rail, rad/s.
    """
    # directions in the plane of contact: along the rail, and across it
    first = ca.cross(axle, n)
    first = first / ca.norm_2(first)
    directions = ca.horzcat(first, ca.cross(n, first))
    # rolling speed: half of |v_wheel + v_rail| of the place of contact
    rolling = v - 2 * v_center
    return Creepage(directions, directions.T @ v, ca.dot(w, n), ca.sqrt(ca.dot(rolling, rolling) / 4 + SLOWEST**2))


def kalker(nu: SX, phi: SX, f: tuple[SX, SX, SX, SX]) -> tuple[SX, SX]:
    """Return the creep force, N, and the moment about the normal, N.m, of Kalker's linear theory.

    Args:
        nu: longitudinal and lateral creepage, SX, shape (2,).
        phi: spin creepage, 1/m.
        f: coefficients f_11 and f_22, N, f_23, N.m, and f_33, N.m2.
    """
    f_11, f_22, f_23, f_33 = f
    return -ca.vertcat(f_11 * nu[0], f_22 * nu[1] + f_23 * phi), f_23 * nu[1] - f_33 * phi


def shen(force: SX, limit: SX) -> SX:
    """Return the share of a linear creep force that friction carries (Shen, Hedrick & Elkins, 1983).

    Johnson and Vermeulen's cubic, with u the size of the force over the limit: ``1 - u/3 + u^2/27``, and 1/u from u = 3
    on, where the contact slides.

    Args:
        force: SX, shape (2,), N.
        limit: of friction, N.
    """
    u = ca.sqrt(ca.dot(force, force) / limit**2 + SMALLEST_SHARE**2)
    return ca.if_else(u < 3, 1 - u / 3 + u**2 / 27, 1 / u)


def tanh(force: SX, limit: SX) -> SX:
    """Return the share of each part of a linear creep force that friction carries (Jaschinski, 1990).

    It is tanh(u)/u, with u the part over the limit. A force that exceeds the limit is shortened to it.

    Args:
        force: SX, shape (2,), N.
        limit: of friction, N.
    """
    u = ca.sqrt((force / limit) ** 2 + SMALLEST_SHARE**2)
    share = ca.tanh(u) / u
    size = ca.sqrt(ca.dot(share * force, share * force) / limit**2 + SMALLEST_SHARE**2)
    return share / ca.fmax(1, size)
