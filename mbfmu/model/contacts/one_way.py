"""A freewheel, and a clutch beside it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from mbfmu.model.combined import CombinedAxes
from mbfmu.model.component import Value, law, quantity
from mbfmu.model.contacts.contact import AxesContact, Friction
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class OneWayClutch(CombinedAxes, AxesContact):
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

    sliding: Value = law(0.0, "N.m or N", "size of the friction as a formula of v and time", "v")
    peak: Value = quantity(1.0, "1", "largest friction at rest over the one at a speed of 0", min=1)
    parts: ClassVar[tuple[str, ...]] = ()
    rubs: ClassVar[bool] = True

    def frictions(self, p: Any, s: tuple[SX, ...], v: tuple[SX, ...]) -> tuple[Friction, ...]:
        def size(speed: SX) -> SX:
            return ca.fmax(0, p.sliding(v=speed))

        slip, slide = self.combined(p, v), self.combined(p, s)
        return (Friction(slip, lambda speed, _: size(speed), lambda _: p.peak * size(ca.SX(0)), slide, one_way=True),)
