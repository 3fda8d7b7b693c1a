"""Sensors: quantities of frames that a user wants to see as outputs."""

from dataclasses import dataclass
from typing import Any

from mbfmu.model.component import Component
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class Measured:
    """A quantity that a sensor shows.

    Args:
        name: with the sensor's name in front it is an output.
        unit: SI unit.
        description: one line for the user.
        value: SX scalar or column, of the frames' positions and velocities.
        derivative: (name, unit, description) of its time derivative, shown as well; None: not shown.
    """

    name: str
    unit: str
    description: str
    value: SX
    derivative: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class Sensor(Component):
    """Base of sensors at one frame (override `frames`) or between frame_a and frame_b; they do no work."""

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b")

    def signals(self, p: Any, *frames: Frame) -> tuple[Measured, ...]:
        """Return what is measured, for the frames in the order of `frames`."""
        return ()
