"""Shortest paths over spheres and cylinders: length of a taut rope between two points that a round body keeps apart."""

import math
from dataclasses import dataclass

import casadi as ca

from mbfmu.model.frame import SX, Frame, undifferentiated
from mbfmu.model.relative import SMALLEST_LENGTH

SHAPES = ("sphere", "cylinder")
"""Shapes that a rope may touch."""
WAYS = ("side", "inside")
"""Ways around a shape besides the shorter one: on the side of a point, or held on its surface from inside."""
TINY = SMALLEST_LENGTH**2
ROUND_OFF = 1e-9
"""Angle below a full turn, rad, that is round-off of no angle."""
NEWTON_STEPS = 12
"""Steps of Newton's method from the largest angle; they double the digits, and 6 suffice but for grazing ropes."""
SPACING = 2.0**-40
"""Grid of the angle from which two last steps give its derivatives, rad."""


@dataclass(frozen=True)
class Stretch:
    """A stretch of a rope from one point to another.

    Args:
        length: m, SX scalar.
        first, last: gradient of the length by the position of its ends, in the world frame: unit vectors.
    """

    length: SX
    first: SX
    last: SX


@dataclass(frozen=True)
class _Path:
    """A path in the plane across a disk.

    Args:
        touches: whether it touches the disk, SX scalar; else it is straight, and the rest has no meaning.
        lengths: of the straight part, the arc and the other straight part, m.
        points: where it meets and leaves the disk, shape (2,), m.
    """

    touches: SX
    lengths: tuple[SX, SX, SX]
    points: tuple[SX, SX]


def straight(a: Frame, b: Frame) -> Stretch:
    """Return the straight stretch between the origins of two frames; its length is smoothed where they meet."""
    along = b.r_0 - a.r_0
    length = ca.sqrt(ca.dot(along, along) + TINY)
    return Stretch(length, -along / length, along / length)


def around(shape: str, radius: float, way: str, a: Frame, b: Frame, body: Frame, side: Frame | None) -> Stretch:
    """Return the stretch between the origins of two frames that goes around a round body, if that is in the way.

    The shortest path over a sphere lies in the plane through its centre and the two ends; that over an endless
    cylinder is that over a disk seen along the axis, climbing evenly. Both ends pull along their straight parts, as the
    length of a shortest path does not change with the points where it touches.

    Args:
        shape: ``sphere`` about the origin of `body`, or ``cylinder`` about its z axis; in the plane a disk.
        radius: of the shape, m.
        way: ``side``: as the path from a over the origin of `side` to b goes around; ``inside``: held on the surface,
            from ends outside; empty: the shorter way.
        a: frame at the first end.
        b: frame at the last.
        body: frame of the shape.
        side: frame of the point that chooses the way; None: there is none.
    """
    p, q, *beside = (body.R.T @ (item.r_0 - body.r_0) for item in (a, b, side) if item)
    flat = body.planar or shape == "cylinder"
    axes = ca.SX.eye(p.numel())[:, :2] if flat else _plane(p, q)
    height = q[2] - p[2] if flat and not body.planar else ca.SX(0)
    ends = axes.T @ p, axes.T @ q
    path = _inside(*ends, radius) if way == "inside" else _outside(*ends, radius, *(axes.T @ point for point in beside))
    near, arc, far = path.lengths
    whole = near + arc + far
    begin, end = (axes @ point for point in path.points)
    if flat and not body.planar:  # an even slope along the axis
        rise = ca.vertcat(0, 0, height / whole)
        begin, end = begin + ca.vertcat(0, 0, p[2]) + rise * near, end + ca.vertcat(0, 0, q[2]) - rise * far
    direct = straight(a, b)
    length = ca.if_else(path.touches, ca.sqrt(whole**2 + height**2), direct.length)
    first, last = (
        ca.if_else(path.touches, body.R @ _unit(point - touched), other)
        for point, touched, other in ((p, begin, direct.first), (q, end, direct.last))
    )
    return Stretch(length, first, last)


def _unit(x: SX) -> SX:
    return x / ca.sqrt(ca.dot(x, x) + TINY)


def _cross(x: SX, y: SX) -> SX:
    return x[0] * y[1] - x[1] * y[0]


def _turned(x: SX) -> SX:
    return ca.vertcat(-x[1], x[0])


def _plane(p: SX, q: SX) -> SX:
    """Return two unit vectors of the plane through two points and the origin, shape (3, 2), the first towards p.

    If the points are on one line with the origin, every plane through it is as good: one is taken.
    """
    first = _unit(p)
    n = ca.cross(p, q)
    size = ca.sqrt(ca.dot(n, n) + TINY**2)
    other = ca.if_else(ca.fabs(first[0]) > 0.9, ca.SX([0, 1, 0]), ca.SX([1, 0, 0]))
    n = ca.if_else(size > TINY, n / size, _unit(ca.cross(first, other)))
    return ca.horzcat(first, _unit(ca.cross(n, first)))


def _nearest(p: SX, q: SX) -> SX:
    """Return the point next to the origin of the line between two points."""
    d = q - p
    share = -ca.dot(d, p) / ca.fmax(ca.dot(d, d), TINY)
    return p + ca.fmax(0, ca.fmin(1, share)) * d


def _angle(p: SX, q: SX) -> SX:
    """Return the angle from one direction to another, rad, between -pi and pi."""
    return ca.atan2(_cross(p, q), ca.dot(p, q))


def _outside(p: SX, q: SX, r: float, side: SX | None = None) -> _Path:
    """Return the shortest path between two points around a disk.

    It turns by the angle phi from p to q, that of the path over the side if there is one, less those between each end
    and the tangent from it: ``phi - acos(r / |p|) - acos(r / |q|)``; if nothing is left, it is straight.
    """
    straights = [ca.sqrt(ca.fmax(ca.dot(x, x) - r**2, TINY)) for x in (p, q)]
    phi = _angle(p, q)
    if side is not None:  # full turns have no derivative
        phi += 2 * math.pi * ca.floor((_angle(p, side) + _angle(side, q) - phi) / (2 * math.pi) + 0.5)
    turn = ca.if_else(phi < 0, -1, 1)
    arc = turn * phi - sum((ca.atan2(length, r) for length in straights), ca.SX(0))
    points = [
        (r**2 * x + sign * r * length * _turned(x)) / ca.fmax(ca.dot(x, x), TINY)
        for x, length, sign in ((p, straights[0], turn), (q, straights[1], -turn))
    ]
    touches = ca.logic_and(arc > 0, ca.logic_not(_within(p, q, r)))
    return _Path(touches, (straights[0], r * arc, straights[1]), (points[0], points[1]))


def _within(p: SX, q: SX, r: float) -> SX:
    return ca.fmin(ca.dot(p, p), ca.dot(q, q)) < r**2


def _inside(p: SX, q: SX, r: float) -> _Path:
    """Return the shortest path between two points over one point of the edge of a disk, on the near side.

    With the angle G between the ends and A, B the radius over their distances, both straight parts meet the radius at
    the same angle u: ``asin(A sin u) + asin(B sin u) - 2 u + G = 0``, a concave function that falls from the root on.
    """
    A, B = (ca.fmin(r / ca.sqrt(ca.dot(x, x) + TINY), 1 - ROUND_OFF) for x in (p, q))
    spin = _cross(p, q)
    G = ca.fabs(_angle(p, q))
    u = ca.SX(math.pi / 2)

    def step(u: SX) -> SX:
        value, slope = G - 2 * u, ca.SX(-2)
        for ratio in (A, B):
            value += ca.asin(ratio * ca.sin(u))
            slope += ratio * ca.cos(u) / ca.sqrt(1 - (ratio * ca.sin(u)) ** 2)
        return u - value / slope

    for _ in range(NEWTON_STEPS):
        u = step(u)
    u = step(step(undifferentiated(u, SPACING)))
    # The point, from p by the angle between p and the radius towards q
    angle = ca.if_else(spin > 0, 1, -1) * (u - ca.asin(A * ca.sin(u)))
    point = r * (ca.cos(angle) * _unit(p) + ca.sin(angle) * _turned(_unit(p)))
    nearest = _nearest(p, q)
    reaches = ca.logic_or(ca.dot(nearest, nearest) <= r**2, _within(p, q, r))
    lengths = [ca.sqrt(ca.dot(x - point, x - point) + TINY) for x in (p, q)]
    return _Path(ca.logic_not(reaches), (lengths[0], ca.SX(0), lengths[1]), (point, point))
