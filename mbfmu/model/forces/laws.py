"""Forces on the axis of a joint, or along a combination of axes, by a user's formula."""

from dataclasses import dataclass
from typing import Any

from mbfmu.model.component import Value, law
from mbfmu.model.forces.axes import AxesForce
from mbfmu.model.forces.force import AxisForce
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class AxisLaw(AxisForce):
    """An effort on the axis of a joint by a formula, such as ``formula="-c*s**3 - d*v + f*cos(w*time)"``.

    Args:
        formula: effort in terms of the coordinate ``s``, its rate ``v``, ``time`` and parameters, N.m or N.
    """

    formula: Value = law(0.0, "N.m or N", "force or torque as a formula of s, v and time", "s", "v")

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return p.formula(s=s, v=v)


@dataclass(frozen=True)
class AxisPotential(AxisForce):
    """A potential on the axis of a joint by a formula, such as ``formula="c*s**4/4"``; the effort is ``-dV/ds``.

    Args:
        formula: potential energy in terms of the coordinate ``s``, ``time`` and parameters, J.
    """

    formula: Value = law(0.0, "J", "potential energy as a formula of s and time", "s")

    def potential(self, p: Any, s: SX) -> SX:
        return p.formula(s=s)


@dataclass(frozen=True)
class AxesLaw(AxesForce):
    """An effort along a combination of axes by a formula, such as ``formula="where(s > b, -c*(s - b), 0)"``.

    Args:
        joints, ratios: the combination, see `AxesForce`.
        formula: effort in terms of the combination ``s``, its rate ``v``, ``time`` and parameters, N.m or N.
    """

    formula: Value = law(0.0, "N.m or N", "effort as a formula of s, v and time", "s", "v")

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return p.formula(s=s, v=v)
