"""A cable that becomes taut."""

from dataclasses import dataclass, field
from typing import Any

from mbfmu.model.component import Value, quantity
from mbfmu.model.contact import REST, ImpactLaw
from mbfmu.model.contacts.contact import FrameContact, Gap
from mbfmu.model.frame import Frame
from mbfmu.model.relative import distance


@dataclass(frozen=True)
class Cable(FrameContact):
    """A massless cable from the origin of frame_a to that of frame_b, which pulls where it is taut.

    The gap is its slack: the length without the distance of the two points.

    Args:
        length: length of the cable, m.
        e: restitution of the jerk as it becomes taut, from 0 to 1.
        rest: speed, m/s, below which it stays taut.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    length: Value = quantity(1.0, "m", "length of the cable", min=0)
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    rest: Value = quantity(REST, "m/s", "speed of rest", min=0)
    impact_law: ImpactLaw = field(default="newton", kw_only=True)

    def gaps(self, p: Any, a: Frame, b: Frame) -> tuple[Gap, ...]:
        return (Gap(p.length - distance(a, b), p.e, p.rest, impact_law=self.impact_law),)
