"""The front end of a wheel loader: two hydraulic servo axes with sampled controllers move a Z-bar linkage with a load.

Lift arm, bell crank, link and bucket make three loops; an end stop ends the stroke of the lift cylinder. Sizes and
masses are own choice of usual size.
"""

import mbfmu
from mbfmu.model import (
    Block,
    Body,
    BodyShape,
    FixedTranslation,
    LinearDrive,
    Parameter,
    Revolute,
    Sampled,
    Subsystem,
    System,
    TranslationalEndStop,
    World,
    connect,
    wire,
)


def block(name: str) -> Block | Sampled:
    """Return a block of the library."""
    found = mbfmu.load(name)
    assert isinstance(found, Block | Sampled)
    return found


def loader() -> System:
    """Return the machine; its inputs are the references of both controllers."""

    def bracket(name: str, x: float, y: float) -> FixedTranslation:
        return FixedTranslation(name, r=(x, y))

    return System(
        name="loader",
        description="Front end of a wheel loader with its hydraulics and controllers",
        planar=True,
        parameters=(
            Parameter("load", 400.0, "kg", "payload in the bucket", min=1.0),
            Parameter("s_max", 0.45, "m", "stroke at which the lift cylinder hits its end", min=0.0),
        ),
        components=(
            World(g=9.81),
            bracket("pin_A", 0.0, 1.6),
            bracket("foot_lift", 0.25, 0.75),
            bracket("foot_tilt", 0.15, 2.05),
            Revolute("arm_joint", phi=-0.4, w=0.0),
            BodyShape("arm", m=350.0, r=(2.6, 0.0), r_CM=(1.3, 0.1), I_33=230.0),
            bracket("lug_lift", 0.9, -0.15),
            bracket("mid", 1.45, 0.35),
            LinearDrive("lift", n=(0.8, 0.6), L=0.6),
            Revolute("crank_joint"),
            Body("crank", m=60.0, r_CM=(0.0, 0.0), I_33=6.0),
            bracket("crank_top", -0.05, 0.5),
            bracket("crank_low", 0.05, -0.45),
            LinearDrive("tilt", n=(1, 0), L=1.2),
            Revolute("bucket_joint", phi=0.35, w=0.0),
            Body("bucket", m=250.0, r_CM=(0.45, 0.15), I_33=60.0),
            bracket("bucket_lug", -0.05, 0.4),
            bracket("inside", 0.5, 0.3),
            Body("payload", m="load", I_33=20.0),
            Revolute("link_a"),
            BodyShape("link", m=25.0, r=(1.0, 0.0), r_CM=(0.5, 0.0), I_33=2.1),
            Revolute("link_b"),
            TranslationalEndStop("bump", joint="lift", lower=0.0, upper="s_max", e=0.1),
            Subsystem("lift_servo", block("hydraulic_servo"), {"D": 0.1, "d": 0.05, "L": 0.6}),
            Subsystem("tilt_servo", block("hydraulic_servo"), {"D": 0.1, "d": 0.05, "L": 0.6}),
            Subsystem("lift_pid", block("digital_pid"), {"K": 8.0, "y_min": -1.0, "y_max": 1.0, "Ts": 0.005}),
            Subsystem("tilt_pid", block("digital_pid"), {"K": 8.0, "y_min": -1.0, "y_max": 1.0, "Ts": 0.005}),
        ),
        connections=(
            connect("world.frame_b", "pin_A.frame_a"),
            connect("world.frame_b", "foot_lift.frame_a"),
            connect("world.frame_b", "foot_tilt.frame_a"),
            connect("pin_A.frame_b", "arm_joint.frame_a"),
            connect("arm_joint.frame_b", "arm.frame_a"),
            connect("arm.frame_a", "lug_lift.frame_a"),
            connect("arm.frame_a", "mid.frame_a"),
            connect("foot_lift.frame_b", "lift.frame_a"),
            connect("lift.frame_b", "lug_lift.frame_b"),
            connect("mid.frame_b", "crank_joint.frame_a"),
            connect("crank_joint.frame_b", "crank.frame_a"),
            connect("crank.frame_a", "crank_top.frame_a"),
            connect("crank.frame_a", "crank_low.frame_a"),
            connect("foot_tilt.frame_b", "tilt.frame_a"),
            connect("tilt.frame_b", "crank_top.frame_b"),
            connect("arm.frame_b", "bucket_joint.frame_a"),
            connect("bucket_joint.frame_b", "bucket.frame_a"),
            connect("bucket.frame_a", "bucket_lug.frame_a"),
            connect("bucket.frame_a", "inside.frame_a"),
            connect("inside.frame_b", "payload.frame_a"),
            connect("crank_low.frame_b", "link_a.frame_a"),
            connect("link_a.frame_b", "link.frame_a"),
            connect("link.frame_b", "link_b.frame_a"),
            connect("link_b.frame_b", "bucket_lug.frame_b"),
        ),
        wires=(
            wire("lift.s", "lift_servo.s"),
            wire("lift.v", "lift_servo.v"),
            wire("lift_servo.f", "lift.f"),
            wire("tilt.s", "tilt_servo.s"),
            wire("tilt.v", "tilt_servo.v"),
            wire("tilt_servo.f", "tilt.f"),
            wire("lift.s", "lift_pid.measured", factor="1"),
            wire("tilt.s", "tilt_pid.measured", factor="1"),
            wire("lift_pid.y", "lift_servo.command"),
            wire("tilt_pid.y", "tilt_servo.command"),
        ),
    )
