"""A point of one body on a plane of another, with restitution and friction."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.contacts.contact import REST, FrameContact, Friction, Gap, rate_of
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class PointOnPlane(FrameContact):
    """Contact of the origin of frame_b with a plane through the origin of frame_a.

    In space the plane is that of frame_a's x and y, in the plane it is the line along x; the gap is the distance along
    the third or second axis. Friction: ``|f| = mu f_n`` while it slides, up to ``mu_s f_n`` while it sticks.

    Args:
        e: restitution, from 0 to 1 (Newton).
        mu: coefficient of friction while it slides; 0, as a plain number: no friction.
        mu_s: coefficient of friction while it sticks; 0: that of `mu`.
        rest: speed of approach, m/s, below which the gap closes for good.
    """

    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    mu: Value = quantity(0.0, "1", "coefficient of friction while it slides", min=0)
    mu_s: Value = quantity(0.0, "1", "coefficient of friction while it sticks", min=0)
    rest: Value = quantity(REST, "m/s", "speed of rest", min=0)

    @property
    def rubs(self) -> bool:
        return self.mu != 0

    def gaps(self, p: Any, a: Frame, b: Frame) -> tuple[Gap, ...]:
        return (Gap(_seen(a, b)[-1], p.e, p.rest),)

    def frictions(self, p: Any, a: Frame, b: Frame) -> tuple[Friction, ...]:
        if not self.rubs:
            return ()

        def place(a: Frame, b: Frame) -> SX:
            seen = _seen(a, b)
            return seen[: seen.numel() - 1]

        return (
            Friction(
                rate_of(place, a, b), lambda _, N: p.mu * N, lambda N: ca.fmax(p.mu, p.mu_s) * N, place(a, b), gap=0
            ),
        )


def _seen(a: Frame, b: Frame) -> SX:
    """Return the position of frame_b seen from frame_a, m."""
    return a.R.T @ (b.r_0 - a.r_0)
