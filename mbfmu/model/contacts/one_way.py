"""A freewheel, and a clutch beside it."""

from dataclasses import dataclass, replace
from typing import Any

from mbfmu.model.contacts.contact import Friction
from mbfmu.model.contacts.dry_friction import AxesDryFriction
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class OneWayClutch(AxesDryFriction):
    """A freewheel on a combination of axes, ``s = sum ratio_k s_k``: it never falls.

    It turns freely forwards, or against a friction of a clutch beside it, and locks at rest against any force that
    pulls it back. What begins backwards stops in an impact.

    Args:
        joints: names of the joints, in the same system.
        ratios: one for each of these joints, a number that is fixed when exported, or an expression of parameters.
        sliding: size of the friction, N.m or N, while it turns forwards, in terms of the speed ``v``, ``time`` and
            parameters; below 0 counts as 0.
        peak: largest friction at rest over the one at a speed of 0.
    """

    def frictions(self, p: Any, s: tuple[SX, ...], v: tuple[SX, ...]) -> tuple[Friction, ...]:
        return tuple(replace(item, one_way=True) for item in super().frictions(p, s, v))
