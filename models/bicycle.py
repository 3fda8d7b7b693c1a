"""A bicycle that rides by itself: the Whipple model of four rigid bodies, with wheels that roll without slipping.

Source: Meijaard, Papadopoulos, Ruina & Schwab, Linearized dynamics equations for the balance and steer of a bicycle: a
benchmark and review, Proc. R. Soc. A 463, 2007, table 1. Known facts, of the upright ride straight on: the linearized
equations of lean and steer M q'' + v C1 q' + (g K0 + v^2 K2) q = 0 with the matrices of its eq. 6.1 to 6.4; the weave
oscillates from 0.684 m/s on and is stable above 4.29238253634111 m/s, the capsize below 6.02426201538837 m/s.
"""

from math import cos, pi, sin, tan

from mbfmu.model import Body, FixedTranslation, Parameter, Revolute, RollingDisk, System, World, connect

TILT = pi / 10
"""Angle of the steer axis against the vertical, rad."""
UP, LEFT = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
REACH = f"(w + c - r_F*{tan(TILT)!r})"
"""Distance from the rear wheel to the steer axis at the height of the front hub, m."""


def bicycle() -> System:
    """Return the bicycle, which rides at `v` along x, with y to the left and z upwards.

    `rear.theta` is its lean to the right, `steer.phi` the steer to the left, `rear.psi` its heading.
    """
    right = tuple(-item for item in LEFT)
    return System(
        name="bicycle",
        description="A bicycle whose wheels roll without slipping, as in the benchmark of 2007",
        parameters=(
            Parameter("v", 4.6, "m/s", "speed at the start"),
            Parameter("w", 1.02, "m", "wheel base", min=1e-9),
            Parameter("c", 0.08, "m", "trail"),
            Parameter("r_R", 0.3, "m", "radius of the rear wheel", min=1e-9),
            Parameter("r_F", 0.35, "m", "radius of the front wheel", min=1e-9),
        ),
        components=(
            World(g=9.81, n=(0, 0, -1)),
            RollingDisk(
                "rear", n_a=UP, n=right, radius="r_R",
                phi=0.0, theta=0.0, psi=0.0, s_x=0.0, s_y=0.0, w_theta=0.0, v_x="v",
            ),
            Body("rear_wheel", m=2.0, I_11=0.0603, I_22=0.12, I_33=0.0603),
            Revolute("rear_hub", n=LEFT),
            Body(
                "frame", m=85.0, r_CM=(0.3, 0.0, "0.9 - r_R"), I_11=9.2, I_22=11.0, I_33=2.8, I_31=-2.4
            ),
            FixedTranslation("head", r=(REACH, 0.0, "r_F - r_R")),
            Revolute("steer", n=(-sin(TILT), 0.0, cos(TILT)), phi=0.0, w=0.0),
            Body(
                "fork", m=4.0, r_CM=(f"0.9 - {REACH}", 0.0, "0.7 - r_F"),
                I_11=0.05892, I_22=0.06, I_33=0.00708, I_31=0.00756,
            ),
            FixedTranslation("dropout", r=(f"w - {REACH}", 0.0, 0.0)),
            Revolute("front_hub", n=LEFT, phi=0.0),
            Body("front_wheel", m=3.0, I_11=0.1405, I_22=0.28, I_33=0.1405),
            RollingDisk("front", n_a=UP, n=right, radius="r_F"),
        ),
        connections=(
            connect("world.frame_b", "rear.frame_a"),
            connect("rear.frame_b", "rear_wheel.frame_a"),
            connect("rear.frame_b", "rear_hub.frame_a"),
            connect("rear_hub.frame_b", "frame.frame_a"),
            connect("frame.frame_a", "head.frame_a"),
            connect("head.frame_b", "steer.frame_a"),
            connect("steer.frame_b", "fork.frame_a"),
            connect("fork.frame_a", "dropout.frame_a"),
            connect("dropout.frame_b", "front_hub.frame_a"),
            connect("front_hub.frame_b", "front_wheel.frame_a"),
            connect("world.frame_b", "front.frame_a"),
            connect("front.frame_b", "front_wheel.frame_a"),
        ),
    )  # fmt: skip
