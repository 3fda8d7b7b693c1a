"""Hard limits on the axis of a joint, or on a combination of axes, with restitution."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from mbfmu.model.combined import CombinedAxes
from mbfmu.model.component import Value, quantity
from mbfmu.model.contact import REST, ImpactLaw
from mbfmu.model.contacts.contact import AxesContact, AxisContact, Gap
from mbfmu.model.forces.stop import NO_LIMIT
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class AxisEndStop(AxisContact):
    """Base of hard limits; derived for each kind of axis.

    The gaps ``s - lower`` and ``upper - s`` stay at or above 0. One that closes with the speed v leaves it with
    ``e v``, or stays closed if that is slower than `rest`.
    """

    impact_law: ImpactLaw = field(default="newton", kw_only=True)
    parts: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def gaps(self, p: Any, s: SX) -> tuple[Gap, ...]:
        return tuple(
            Gap(value, p.e, p.rest, self.axis_unit, impact_law=self.impact_law) for value in (s - p.lower, p.upper - s)
        )


@dataclass(frozen=True)
class RotationalEndStop(AxisEndStop):
    """Hard limits of a revolute joint.

    Args:
        lower: least angle, rad (default: none).
        upper: greatest angle, rad (default: none).
        e: restitution, from 0 to 1.
        rest: speed, rad/s, below which the joint stays at the limit.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    lower: Value = quantity(-NO_LIMIT, "rad", "least angle")
    upper: Value = quantity(NO_LIMIT, "rad", "greatest angle")
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    rest: Value = quantity(REST, "rad/s", "speed of rest", min=0)
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalEndStop(AxisEndStop):
    """Hard limits of a prismatic joint.

    Args:
        lower: least position, m (default: none).
        upper: greatest position, m (default: none).
        e: restitution, from 0 to 1.
        rest: speed, m/s, below which the joint stays at the limit.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    lower: Value = quantity(-NO_LIMIT, "m", "least position")
    upper: Value = quantity(NO_LIMIT, "m", "greatest position")
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    rest: Value = quantity(REST, "m/s", "speed of rest", min=0)
    axis_unit: ClassVar[str] = "m"


@dataclass(frozen=True)
class AxesEndStop(CombinedAxes, AxesContact):
    """Hard limits on a combination of axes, ``s = sum ratio_k s_k``: a rope on a drum that pulls where it is taut.

    The gaps ``s - lower`` and ``upper - s`` stay at or above 0, as in `TranslationalEndStop`.

    Args:
        joints: names of the joints and ropes, in the same system.
        ratios: one for each of these joints, a number that is fixed when exported, or an expression of parameters.
        lower: least value of the combination, m or rad (default: none).
        upper: greatest value (default: none).
        e: restitution, from 0 to 1.
        rest: speed, in the unit of the combination, below which it stays at the limit.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    lower: Value = quantity(-NO_LIMIT, "1", "least value of the combination")
    upper: Value = quantity(NO_LIMIT, "1", "greatest value of the combination")
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    rest: Value = quantity(REST, "1/s", "speed of rest", min=0)
    impact_law: ImpactLaw = field(default="newton", kw_only=True)
    parts: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def gaps(self, p: Any, *s: SX) -> tuple[Gap, ...]:
        at = self.combined(p, s)
        return tuple(Gap(gap, p.e, p.rest, impact_law=self.impact_law) for gap in (at - p.lower, p.upper - at))
