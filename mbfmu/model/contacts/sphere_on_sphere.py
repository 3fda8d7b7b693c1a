"""A sphere, or in the plane a disk, on another, with restitution and friction."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.contacts.contact import REST, FrameContact, Friction, Gap
from mbfmu.model.contacts.touching import slip_at, tangents
from mbfmu.model.frame import Frame


@dataclass(frozen=True)
class SphereOnSphere(FrameContact):
    """Contact of spheres around the origins of frame_a and frame_b; the gap is the distance of their surfaces.

    The slip is that of the material points that touch. Friction: ``|f| = mu f_n`` while it slides, up to ``mu_s f_n``
    while it sticks.

    Args:
        radius_a: radius of the sphere around frame_a, m.
        radius_b: radius of the sphere around frame_b, m.
        e: restitution, from 0 to 1 (Newton).
        mu: coefficient of friction while it slides; 0, as a plain number: no friction.
        mu_s: coefficient of friction while it sticks; 0: that of `mu`.
        rest: speed of approach, m/s, below which the gap closes for good.
    """

    radius_a: Value = quantity(0.0, "m", "radius of the sphere around frame_a", min=0)
    radius_b: Value = quantity(0.0, "m", "radius of the sphere around frame_b", min=0)
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    mu: Value = quantity(0.0, "1", "coefficient of friction while it slides", min=0)
    mu_s: Value = quantity(0.0, "1", "coefficient of friction while it sticks", min=0)
    rest: Value = quantity(REST, "m/s", "speed of rest", min=0)

    @property
    def rubs(self) -> bool:
        return self.mu != 0

    def gaps(self, p: Any, a: Frame, b: Frame) -> tuple[Gap, ...]:
        return (Gap(ca.norm_2(b.r_0 - a.r_0) - p.radius_a - p.radius_b, p.e, p.rest),)

    def frictions(self, p: Any, a: Frame, b: Frame) -> tuple[Friction, ...]:
        if not self.rubs:
            return ()
        apart = b.r_0 - a.r_0
        n = apart / ca.norm_2(apart)
        slip = slip_at(a.r_0 + p.radius_a * n, a, b, tangents(n), offset=-p.radius_b * n)
        return (Friction(slip, lambda _, N: p.mu * N, lambda N: ca.fmax(p.mu, p.mu_s) * N, gap=0),)
