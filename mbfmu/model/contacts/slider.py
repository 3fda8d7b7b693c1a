"""A slider in a guide with clearance."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.contact import REST, ImpactLaw
from mbfmu.model.contacts.contact import FrameContact, Friction, Gap, coulomb, rate_of
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import r_rel


@dataclass(frozen=True)
class SliderInGuide(FrameContact):
    """A rectangular slider about the origin of frame_b between two walls along frame_a's x, in the plane.

    Its corners, named from frame_b's x and y, hit the wall on their side, with the law of `PointOnPlane`.

    Args:
        length: length of the slider along frame_b's x, m.
        width: width of the slider along frame_b's y, m.
        clearance: distance of each wall from the slider in the middle of the guide, m.
        e: restitution, from 0 to 1.
        mu: coefficient of friction while it slides; 0, as a plain number: no friction.
        mu_s: coefficient of friction while it sticks; 0: that of `mu`.
        rest: speed of approach, m/s, below which a corner stays at a wall.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    length: Value = quantity(0.0, "m", "length of the slider", min=0)
    width: Value = quantity(0.0, "m", "width of the slider", min=0)
    clearance: Value = quantity(0.0, "m", "distance of each wall from the slider in the middle", min=0)
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    mu: Value = quantity(0.0, "1", "coefficient of friction while it slides", min=0)
    mu_s: Value = quantity(0.0, "1", "coefficient of friction while it sticks", min=0)
    rest: Value = quantity(REST, "m/s", "speed of rest", min=0)
    impact_law: ImpactLaw = field(default="newton", kw_only=True)
    parts: ClassVar[tuple[str, ...]] = ("lower_left", "lower_right", "upper_left", "upper_right")
    needs: ClassVar[str] = "planar"

    @property
    def rubs(self) -> bool:
        return self.mu != 0

    def gaps(self, p: Any, a: Frame, b: Frame) -> tuple[Gap, ...]:
        half = p.width / 2 + p.clearance
        return tuple(
            Gap(half - side * corner[1], p.e, p.rest, impact_law=self.impact_law)
            for corner, side in zip(_corners(p, a, b), (-1, -1, 1, 1), strict=True)
        )

    def frictions(self, p: Any, a: Frame, b: Frame) -> tuple[Friction, ...]:
        if not self.rubs:
            return ()

        def along(a: Frame, b: Frame) -> SX:
            return ca.vertcat(*(corner[0] for corner in _corners(p, a, b)))

        slips, places = rate_of(along, a, b), along(a, b)
        return tuple(coulomb(p, index, slips[index], places[index]) for index in range(len(self.parts)))


def _corners(p: Any, a: Frame, b: Frame) -> list[SX]:
    """Return the corners seen from frame_a, m, in the order of the parts."""
    x, y = p.length / 2, p.width / 2
    turned = a.R.T @ b.R
    return [r_rel(a, b) + turned @ ca.vertcat(s * x, side * y) for side in (-1, 1) for s in (-1, 1)]
