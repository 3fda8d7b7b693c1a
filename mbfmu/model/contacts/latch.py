"""A latch or a magnet on the axis of a joint, which holds it up to a pull."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from mbfmu.model.component import Input, Value, quantity
from mbfmu.model.contact import REST, ImpactLaw
from mbfmu.model.contacts.contact import AxisContact, Gap
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class AxisLatch(AxisContact):
    """Base of latches; derived for each kind of axis.

    The gap ``s - position``, of a joint that moves above the position, stays at or above 0; ``position - s`` does if
    the joint moves below it. Once it is closed, it opens only by a force above `pull`, or by an impact. What arrives
    faster than `rest` leaves with ``e v``, so that with e = 0 it is caught at once.
    """

    side: Literal["above", "below"] = field(default="above", kw_only=True)
    actuated: bool = field(default=False, kw_only=True)
    impact_law: ImpactLaw = field(default="newton", kw_only=True)

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        held = Input("hold", "1", "part of the pull that holds")
        return (*super().inputs(planar), *([held] if self.actuated else []))

    def gaps(self, p: Any, s: SX) -> tuple[Gap, ...]:
        value = s - p.position if self.side == "above" else p.position - s
        pull = p.pull * p.hold if self.actuated else p.pull
        return (Gap(value, p.e, p.rest, self.axis_unit, pull, self.impact_law),)


@dataclass(frozen=True)
class RotationalLatch(AxisLatch):
    """Latch of a revolute joint.

    Args:
        position: angle at which it closes, rad.
        pull: torque that opens it, N.m.
        e: restitution, from 0 to 1.
        rest: speed, rad/s, below which the joint is caught.
        side: side of the position on which the joint moves, ``above`` or ``below``.
        actuated: whether the input ``hold``, usually from 0 to 1, multiplies the pull.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    position: Value = quantity(0.0, "rad", "angle at which it closes")
    pull: Value = quantity(0.0, "N.m", "torque that opens it", min=0)
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    rest: Value = quantity(REST, "rad/s", "speed of rest", min=0)
    axis_unit: ClassVar[str] = "rad"


@dataclass(frozen=True)
class TranslationalLatch(AxisLatch):
    """Latch of a prismatic joint.

    Args:
        position: position at which it closes, m.
        pull: force that opens it, N.
        e: restitution, from 0 to 1.
        rest: speed, m/s, below which the joint is caught.
        side: side of the position on which the joint moves, ``above`` or ``below``.
        actuated: whether the input ``hold``, usually from 0 to 1, multiplies the pull.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    position: Value = quantity(0.0, "m", "position at which it closes")
    pull: Value = quantity(0.0, "N", "force that opens it", min=0)
    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    rest: Value = quantity(REST, "m/s", "speed of rest", min=0)
    axis_unit: ClassVar[str] = "m"
