"""Limits of what several forces together put on an axis, or on a combination of axes."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.axes import AxesForce
from mbfmu.model.forces.force import AxisForce
from mbfmu.model.forces.stop import NO_LIMIT, check_limits
from mbfmu.model.frame import SX


class TakenBack:
    """A force that takes back what others together exert beyond the parameters `lower` and `upper`."""

    def taken_back(self, p: Any, total: SX) -> SX:
        """Return ``clip(total) - total``, for the total of the forces (N or N.m)."""
        return ca.fmax(p.lower, ca.fmin(p.upper, total)) - total


@dataclass(frozen=True)
class EffortLimit(TakenBack, AxisForce):
    """A limit of what several forces together put on the axis of a revolute or prismatic joint.

    With Q, the sum of their generalised forces on the joint's axis n, it adds ``clip(Q) - Q`` there. A force that names
    the joint among its axes counts by its ratio; one between frames, or along a rope, by the wrench (f, t) that it puts
    on each frame that the joint carries: ``n . (t + r x f)``, with the lever r from the axis to the frame, and of a
    prismatic joint ``n . f``. It is the actuatorfrcrange of a joint in MuJoCo.

    Args:
        joint: name of the joint, in the same system.
        forces: names of the forces, in the same system.
        carried: frames of these forces, and of the ropes they act along, that the joint carries, such as
            ``jet.frame_b``.
        lower, upper: least and greatest sum, N.m or N.
    """

    forces: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    lower: Value = quantity(-NO_LIMIT, "1", "least sum")
    upper: Value = quantity(NO_LIMIT, "1", "greatest sum")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self, self.lower, self.upper)


@dataclass(frozen=True)
class AxesEffortLimit(TakenBack, AxesForce):
    """A limit of the sum of several forces along one combination of axes, such as of the drives of a tendon.

    With their sum f it adds ``clip(f) - f`` along the combination. It is the actuatorfrcrange of a tendon in MuJoCo.

    Args:
        joints, ratios: the combination of each force, see `AxesForce`.
        forces: names of the forces, in the same system.
        lower, upper: least and greatest sum, in the unit of the forces.
    """

    forces: tuple[str, ...] = ()
    lower: Value = quantity(-NO_LIMIT, "1", "least sum")
    upper: Value = quantity(NO_LIMIT, "1", "greatest sum")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self, self.lower, self.upper)
