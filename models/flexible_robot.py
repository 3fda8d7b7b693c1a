"""A robot arm of two slender links on servo drives, with vibration control by the bending of the links.

The arm moves in a horizontal plane: links of aluminium, 1 m x 40 mm x 6 mm, the motor of the elbow (1 kg) and a load
(0.2 kg) at their ends. Each drive has a velocity loop inside of a position loop, and a current loop of first order; the
velocity asked for follows the bending of its link, as strain gauges at its root measure it:

    w* = K_p (q_ref - q) + w_ref + K_e eta_1,    tau* = J K_w (w* - w),    T_c tau' = tau* - tau

Source: direct strain feedback of Luo, IEEE Trans. Robotics and Automation 9 (1993), here to the velocity, as drives
take it; own data. Known facts: the arm comes to rest with straight links where it was sent. Its two modes below 10 Hz
have 0.26 and 0.17 of the critical damping, and 0.05 and 0.06 without feedback (K_e = 0), where the drives hold the
joints and the links ring.
"""

from typing import Any

from mbfmu import load
from mbfmu.model import (
    Beam,
    Block,
    Body,
    Component,
    Defined,
    Parameter,
    Port,
    Revolute,
    State,
    Subsystem,
    System,
    Wire,
    World,
    connect,
    wire,
)  # fmt: skip

TARGETS = {"shoulder": 1.0, "elbow": -0.8}
"""Angles at the end, rad."""
INERTIAS = {"shoulder": 3.5, "elbow": 0.4}
"""Of the arm about each joint, kg.m2, for the gains."""


def link_drive() -> Block:
    """Return drive and controller of a joint: motion asked for, motion and bending in, torque out."""
    return Block(
        name="link_drive",
        description="Servo drive of a flexible link, with strain feedback",
        inputs=(
            Port("q_ref", "rad", "angle asked for"),
            Port("w_ref", "rad/s", "its rate"),
            Port("q", "rad", "angle"),
            Port("w", "rad/s", "angular velocity"),
            Port("eta", "m", "deflection of the link in its first mode"),
        ),
        states=(State("current_torque", "(J*K_w*(w_command - w) - current_torque)/T_c", "N.m", 0.0, "torque"),),
        defined=(
            Defined("w_command", "K_p*(q_ref - q) + w_ref + K_e*eta", "rad/s", "velocity asked for"),
            Defined("tau", "current_torque", "N.m", "torque on the joint", output=True),
        ),
        parameters=(
            Parameter("J", 1.0, "kg.m2", "inertia of the arm", min=1e-9),
            Parameter("K_p", 4.0, "1/s", "gain of the position", min=0),
            Parameter("K_w", 60.0, "1/s", "gain of the velocity", min=0),
            Parameter("K_e", 8.0, "1/(m.s)", "gain of the bending"),
            Parameter("T_c", 1e-3, "s", "time constant of the current loop", min=1e-9),
        ),
    )


def flexible_robot(modes: int = 2) -> System:
    """Return the arm; `upper.eta[1]` and `fore.eta[1]` are what the strain gauges measure.

    Args:
        modes: number of bending modes of each link.
    """
    link: dict[str, Any] = {
        "L": 1.0,
        "rho": 2700.0,
        "A": 2.4e-4,
        "E": 7e10,
        "I_z": 7.2e-10,
        "zeta": 0.002,
        "modes": modes,
    }
    drives: list[Component | Subsystem] = []
    wires: list[Wire] = []
    for joint, beam in (("shoulder", "upper"), ("elbow", "fore")):
        path, drive = f"{joint}_path", f"{joint}_drive"
        drives += [
            Subsystem(path, load("trajectory"), {"y_1": TARGETS[joint], "T": 1.2}),
            Subsystem(drive, link_drive(), {"J": INERTIAS[joint]}),
        ]
        wires += [
            wire(f"{path}.y", f"{drive}.q_ref"),
            wire(f"{path}.rate", f"{drive}.w_ref"),
            wire(f"{joint}.phi", f"{drive}.q"),
            wire(f"{joint}.w", f"{drive}.w"),
            wire(f"{beam}.eta[1]", f"{drive}.eta"),
            wire(f"{drive}.tau", f"{joint}.tau"),
        ]
    return System(
        name="flexible_robot",
        description="A robot arm of two flexible links with vibration control",
        planar=True,
        components=(
            World(g=0.0),
            Revolute("shoulder", phi=0.0, w=0.0, actuated=True),
            Beam("upper", **link),
            Body("motor", m=1.0, I_33=2e-3),
            Revolute("elbow", phi=0.0, w=0.0, actuated=True),
            Beam("fore", **link),
            Body("load", m=0.2, I_33=1e-4),
            *drives,
        ),
        connections=(
            connect("world.frame_b", "shoulder.frame_a"),
            connect("shoulder.frame_b", "upper.frame_a"),
            connect("upper.frame_b", "motor.frame_a"),
            connect("upper.frame_b", "elbow.frame_a"),
            connect("elbow.frame_b", "fore.frame_a"),
            connect("fore.frame_b", "load.frame_a"),
        ),
        wires=tuple(wires),
    )
