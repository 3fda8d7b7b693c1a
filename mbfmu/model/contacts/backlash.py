"""Backlash between the axes of two joints."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from mbfmu.model.component import Value, quantity
from mbfmu.model.contact import REST, ImpactLaw
from mbfmu.model.contacts.contact import AxesContact, Gap
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class Backlash(AxesContact):
    """Coupling of two axes with play: ``s_a - ratio s_b - offset`` stays between ``-play/2`` and ``play/2``.

    Teeth that meet leave each other with the restitution `e`.

    Args:
        joint_a, joint_b: names of the joints, in the same system.
        ratio: ratio of the coordinates, such as the number of teeth of b over that of a.
        offset: coordinate of a in the middle of the play where that of b is zero, rad or m.
        play: play, in the coordinate of a, rad or m.
        e: restitution, from 0 to 1.
        rest: speed of approach, in the coordinate of a, below which teeth stay in contact.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    joint_a: str = ""
    joint_b: str = ""
    ratio: Value = quantity(1.0, "1", "coordinate of a for each of b")
    offset: Value = quantity(0.0, "1", "coordinate of a in the middle where that of b is zero")
    play: Value = quantity(0.0, "1", "play, in the coordinate of a", min=0)
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    rest: Value = quantity(REST, "1/s", "speed of rest", min=0)
    impact_law: ImpactLaw = field(default="newton", kw_only=True)
    parts: ClassVar[tuple[str, ...]] = ("lower", "upper")

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.joint_a, self.joint_b)

    def gaps(self, p: Any, *s: SX) -> tuple[Gap, ...]:
        apart = s[0] - p.ratio * s[1] - p.offset
        return tuple(Gap(p.play / 2 + sign * apart, p.e, p.rest, impact_law=self.impact_law) for sign in (1, -1))
