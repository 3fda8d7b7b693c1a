"""Sensors: quantities of frames that a user wants to see as outputs."""

from dataclasses import dataclass
from typing import Any

from mbfmu.model.component import Component
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import Q_rel, distance, r_rel, v_rel, w_rel


@dataclass(frozen=True)
class Measured:
    """A quantity that a sensor shows.

    Args:
        name: name of the output, to follow the sensor's name.
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


@dataclass(frozen=True)
class AbsoluteSensor(Sensor):
    """A sensor of the position and motion of frame_a in the world.

    Outputs, resolved in the world frame: position `r`, velocity `v`, acceleration `a` of its origin; the angle `phi`
    (in space the quaternion `Q`), the angular velocity `w` and acceleration `z`.
    """

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a",)

    def signals(self, p: Any, *frames: Frame) -> tuple[Measured, ...]:
        (frame,) = frames
        where = "of frame_a, resolved in the world frame"
        if p.planar:
            orientation = Measured("phi", "rad", "angle of frame_a seen from the world", frame.phi)
        else:
            orientation = Measured("Q", "1", "quaternion of frame_a seen from the world", frame.Q)
        return (
            Measured("r", "m", f"position {where}", frame.r_0),
            Measured("v", "m/s", f"velocity {where}", frame.v_0, ("a", "m/s2", f"acceleration {where}")),
            orientation,
            Measured("w", "rad/s", f"angular velocity {where}", frame.w_0, ("z", "rad/s2", "derivative of w")),
        )


@dataclass(frozen=True)
class CutForce(Sensor):
    """A sensor of what a joint transmits, seen from the world: an axle load, which turns with no wheel.

    Outputs, resolved in the world frame: force `f` and torque `t` that the body at frame_b exerts on the joint there,
    drive included, as the joint's own outputs `frame_b.f` and `frame_b.t`, which are resolved in frame_b.

    Args:
        joint: name of the joint, in the same system.
    """

    joint: str = ""

    @property
    def frames(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class RelativeSensor(Sensor):
    """A sensor of the position and motion of frame_b seen from frame_a.

    Outputs, resolved in frame_a: position `r_rel` of the origin, its derivatives `v_rel` and `a_rel`; the angle
    `phi_rel` (in space the quaternion `Q_rel`), the angular velocity `w_rel` and its derivative `z_rel`; the
    `distance` of the origins and its derivative `distance_rate`.
    """

    def signals(self, p: Any, *frames: Frame) -> tuple[Measured, ...]:
        a, b = frames
        where = "of frame_b seen from frame_a, resolved in frame_a"
        if p.planar:
            orientation = Measured("phi_rel", "rad", "angle of frame_b seen from frame_a", b.phi - a.phi)
        else:
            orientation = Measured("Q_rel", "1", "quaternion of frame_b seen from frame_a", Q_rel(a, b))
        return (
            Measured("r_rel", "m", f"position {where}", r_rel(a, b)),
            Measured("v_rel", "m/s", f"velocity {where}", v_rel(a, b), ("a_rel", "m/s2", "derivative of v_rel")),
            orientation,
            Measured(
                "w_rel", "rad/s", f"angular velocity {where}", w_rel(a, b), ("z_rel", "rad/s2", "derivative of w_rel")
            ),
            Measured(
                "distance",
                "m",
                "distance of the origins of frame_a and frame_b",
                distance(a, b),
                ("distance_rate", "m/s", "derivative of distance"),
            ),
        )
