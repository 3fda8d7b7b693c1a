"""Combinations of the axes of several joints, along which forces and frictions act."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Component, Value, factors
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class CombinedAxes(Component):
    """Base of what acts along a linear combination of axes, ``s = sum ratio_k s_k``.

    Args:
        joints: names of the joints, in the same system; the first motion of each is its axis.
        ratios: one for each joint, a number that is fixed when exported, or an expression of parameters.
    """

    joints: tuple[str, ...] = ()
    ratios: tuple[Value, ...] = factors((), "ratios of the joints")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.joints) != len(self.ratios):
            raise ValueRangeError(
                f"{self.name}.ratios = {self.ratios} must be {len(self.joints)} ratios, one for each joint"
            )

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the joints, in the same system."""
        return self.joints

    def combined(self, p: Any, of_axes: Sequence[SX]) -> SX:
        """Return the combination of a value of each axis."""
        return sum((ratio * item for ratio, item in zip(p.ratios, of_axes, strict=True)), ca.SX(0))
