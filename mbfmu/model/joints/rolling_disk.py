"""RollingDisk: a thin disk that rolls on a plane."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, direction, quantity, start
from mbfmu.model.frame import SX, Frame, Pose, axis_quaternion, axis_rotation, quaternion_product
from mbfmu.model.joints.joint import Joint, JointCoordinate, check_perpendicular, sliding, turning
from mbfmu.model.relative import axis, velocity_seen


@dataclass(frozen=True)
class RollingDisk(Joint):
    """A thin disk about the origin of frame_b rolls, without slipping, on the plane through frame_a.

    For spatial systems. With N the normal of the plane, d the axis of the disk and T = N x d, its lowest point lies
    at ``c = -radius (d x T) / |T|`` from its centre. Equations: the contact ``N . (r_b - r_a + c) = 0`` (holonomic),
    and no slip of the disk's point at c against the plane in two directions of the plane (nonholonomic; the third
    component is the derivative of the contact). A disk that lies flat touches everywhere: there they are singular.

    At angles zero frame_b has the orientation of frame_a and the disk stands upright on the line ``e_x = n_a x n``;
    frame_b then turns by `psi` about n_a (heading), by `theta` about e_x (lean, between -pi/2 and pi/2) and by `phi`
    about n (spin). The first motion, and so the axis of forces, is `phi`.

    Args:
        n_a: normal of the plane on the disk's side, a unit vector resolved in frame_a.
        n: axis of the disk, a unit vector resolved in frame_b, perpendicular to n_a.
        radius: radius of the disk, m.
        phi, theta, psi: start values of spin, lean and heading, rad.
        s_x, s_y: start position of the contact point along e_x and n_a x e_x, m, resolved in frame_a.
        w, w_theta, w_psi, v_x, v_y: start values of their derivatives, rad/s and m/s.
    """

    n_a: tuple[float, ...] = direction(0.0, 1.0, 0.0)
    n: tuple[float, ...] = direction(0.0, 0.0, 1.0)
    radius: Value = quantity(1.0, "m", "radius of the disk", min=1e-9)
    phi: Value | None = start("rad", "spin: angle about the axis of the disk")
    theta: Value | None = start("rad", "lean: angle between disk and normal of the plane")
    psi: Value | None = start("rad", "heading: angle about the normal of the plane")
    s_x: Value | None = start("m", "position of the contact point along n_a x n")
    s_y: Value | None = start("m", "position of the contact point along n_a x (n_a x n)")
    w: Value | None = start("rad/s", "derivative of the spin")
    w_theta: Value | None = start("rad/s", "derivative of the lean")
    w_psi: Value | None = start("rad/s", "derivative of the heading")
    v_x: Value | None = start("m/s", "velocity of the contact point along n_a x n")
    v_y: Value | None = start("m/s", "velocity of the contact point along n_a x (n_a x n)")
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "RollingWheel"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_perpendicular(self, "n_a", "n")

    def _directions(self) -> tuple[SX, SX, SX]:
        """Return e_x, e_y and the normal of the plane, resolved in frame_a."""
        n_a, n = axis(self.n_a), axis(self.n)
        return ca.sparsify(ca.cross(n_a, n)), -n, n_a

    def _contact(self, p: Any, a: Frame, b: Frame) -> SX:
        """Return the vector from the centre to the contact point, m, resolved in the world frame."""
        d = b.R @ axis(self.n)
        T = ca.cross(a.R @ axis(self.n_a), d)
        return -p.radius * ca.cross(d, T) / ca.norm_2(T)

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.dot(a.R @ axis(self.n_a), b.r_0 - a.r_0 + self._contact(p, a, b))

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        e_x, e_y, _ = (a.R @ item for item in self._directions())
        slip = velocity_seen(a, b, self._contact(p, a, b))
        return ca.vertcat(ca.dot(e_x, slip), ca.dot(e_y, slip))

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        e_x, e_y, N = (a.R @ item for item in self._directions())
        forward, _, up = (b.R @ item for item in self._directions())
        d = b.R @ axis(self.n)
        along, aside = ca.dot(e_x, d), -ca.dot(e_y, d)
        travel = b.r_0 - a.r_0 + self._contact(p, a, b)
        return (
            turning(ca.atan2(ca.dot(forward, N), ca.dot(up, N)), wraps=True),
            turning(ca.atan2(-ca.dot(N, d), ca.sqrt(along**2 + aside**2)), "theta", "w_theta", "a_theta", "tau_theta"),
            turning(ca.atan2(along, aside), "psi", "w_psi", "a_psi", "tau_psi", wraps=True),
            sliding(ca.dot(e_x, travel), "s_x", "v_x", "a_x", "f_x"),
            sliding(ca.dot(e_y, travel), "s_y", "v_y", "a_y", "f_y"),
        )

    def _leaning(self, coordinates: dict[str, SX]) -> tuple[SX, SX, SX]:
        """Return the line the disk rolls on, its axis, and the direction from contact to centre, seen from frame_a."""
        e_x, e_y, N = self._directions()
        c, s = ca.cos(coordinates["psi"]), ca.sin(coordinates["psi"])
        line, aside = c * e_x + s * e_y, c * e_y - s * e_x
        c, s = ca.cos(coordinates["theta"]), ca.sin(coordinates["theta"])
        standing = ca.sign(c)  # past flat the other side is up
        return line, -(c * aside + s * N), standing * (c * N - s * aside)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        e_x, e_y, _ = self._directions()
        r = coordinates["s_x"] * e_x + coordinates["s_y"] * e_y + p.radius * self._leaning(coordinates)[2]
        line = tuple(float(item) for item in ca.DM(e_x).full().ravel())
        turns = ((self.n_a, coordinates["psi"]), (line, coordinates["theta"]), (self.n, coordinates["phi"]))
        first, second, third = (axis_quaternion(n, angle) for n, angle in turns)
        R_1, R_2, R_3 = (axis_rotation(n, angle) for n, angle in turns)
        return Pose(r, quaternion_product(quaternion_product(first, second), third), R_1 @ R_2 @ R_3)

    def twist(self, p: Any, coordinates: dict[str, SX], rates: dict[str, SX]) -> tuple[SX, SX]:
        e_x, e_y, n_a = self._directions()
        line, d, _ = self._leaning(coordinates)
        c_theta, s_theta = ca.cos(coordinates["theta"]), ca.sin(coordinates["theta"])
        c_phi, s_phi = ca.cos(coordinates["phi"]), ca.sin(coordinates["phi"])
        upright, leaning = rates["psi"] * c_theta, rates["theta"]
        falling = leaning * d + rates["psi"] * s_theta * line
        v = rates["s_x"] * e_x + rates["s_y"] * e_y + p.radius * ca.sign(c_theta) * falling
        w_b = (
            axis(self.n) * (rates["phi"] - rates["psi"] * s_theta)
            + n_a * (upright * c_phi - leaning * s_phi)
            + e_x * (upright * s_phi + leaning * c_phi)
        )
        return v, w_b
