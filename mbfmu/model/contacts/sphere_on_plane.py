"""A sphere, or in the plane a disk, on a plane, with restitution and friction."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.contacts.contact import REST, FrameContact, Friction, Gap
from mbfmu.model.contacts.touching import slip_at
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class SphereOnPlane(FrameContact):
    """Contact of a sphere around the origin of frame_b with a plane through the origin of frame_a.

    In space the plane is that of frame_a's x and y, in the plane it is the line along x. The slip is that of the
    material points that touch. Friction: ``|f| = mu f_n`` while it slides, up to ``mu_s f_n`` while it sticks.

    Args:
        radius: radius of the sphere, m.
        e: restitution, from 0 to 1 (Newton).
        mu: coefficient of friction while it slides; 0, as a plain number: no friction.
        mu_s: coefficient of friction while it sticks; 0: that of `mu`.
        rest: speed of approach, m/s, below which the gap closes for good.
    """

    radius: Value = quantity(0.0, "m", "radius of the sphere", min=0)
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    mu: Value = quantity(0.0, "1", "coefficient of friction while it slides", min=0)
    mu_s: Value = quantity(0.0, "1", "coefficient of friction while it sticks", min=0)
    rest: Value = quantity(REST, "m/s", "speed of rest", min=0)

    @property
    def rubs(self) -> bool:
        return self.mu != 0

    def gaps(self, p: Any, a: Frame, b: Frame) -> tuple[Gap, ...]:
        return (Gap(_height(a, b) - p.radius, p.e, p.rest),)

    def frictions(self, p: Any, a: Frame, b: Frame) -> tuple[Friction, ...]:
        if not self.rubs:
            return ()
        last = a.R.shape[1] - 1
        n, along = a.R[:, last], a.R[:, :last]
        slip = slip_at(b.r_0 - n * _height(a, b), a, b, along, offset=-p.radius * n)
        return (Friction(slip, lambda _, N: p.mu * N, lambda N: ca.fmax(p.mu, p.mu_s) * N, gap=0),)


def _height(a: Frame, b: Frame) -> SX:
    """Return the distance of frame_b's origin from the plane, m."""
    return (a.R.T @ (b.r_0 - a.r_0))[-1]
