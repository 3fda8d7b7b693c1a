"""A rimless wheel that walks down a slope: eight legs whose tips are points on a plane, with friction.

The simplest passive walker (McGeer, Passive dynamic walking, Int. J. Robotics Res. 9, 1990; Coleman, Chatterjee &
Ruina, Motions of a rimless spoked wheel, Dyn. Stab. Syst. 12, 1997). Each step is an inverted pendulum about the foot
that sticks, until the next foot hits without restitution and the last one leaves. Known facts: with the legs 2 a apart,
the slope b and the inertia I = J + m l^2 about a foot, an impact leaves the part eta = (J + m l^2 cos(2 a))/I of the
speed, and the speed before impacts tends to w with w^2 = 4 m g l sin(a) sin(b)/(I (1 - eta^2)).

The slope is the x axis; gravity is inclined.
"""

from math import cos, pi, sin

from mbfmu.model import Body, FixedTranslation, Parameter, Planar, PointOnPlane, System, World, connect

LEGS = 8
SLOPE = 0.08
"""Slope of the plane, rad."""


def rimless_wheel() -> System:
    """Return the wheel with two feet on the ground, as after an impact."""
    half = pi / LEGS
    angles = [half + 2 * half * number for number in range(LEGS)]
    tips = range(1, LEGS + 1)
    return System(
        name="rimless_wheel",
        description="A rimless wheel that walks down a slope",
        planar=True,
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("l", 1.0, "m", "length of the legs", min=1e-9),
            Parameter("J", 0.2, "kg.m2", "inertia about the hub", min=1e-9),
            Parameter("mu", 1.0, "1", "coefficient of friction", min=0.0),
            Parameter("w_0", -1.1, "rad/s", "rate at the start"),
        ),
        components=(
            World("world", n=(sin(SLOPE), -cos(SLOPE))),
            Planar(
                "rolling", s_x=0.0, s_y=f"l*{cos(half)!r}", phi=0.0, w="w_0",
                v_x=f"-w_0*l*{cos(half)!r}", v_y=f"-w_0*l*{sin(half)!r}",
            ),
            Body("hub", m="m", I_33="J"),
            *(
                FixedTranslation(f"leg_{k}", r=(f"l*{sin(angle)!r}", f"-l*{cos(angle)!r}"))
                for k, angle in zip(tips, angles, strict=True)
            ),
            *(PointOnPlane(f"tip_{k}", mu="mu") for k in tips),
        ),
        connections=(
            connect("world.frame_b", "rolling.frame_a"),
            connect("rolling.frame_b", "hub.frame_a"),
            *(connect("hub.frame_a", f"leg_{k}.frame_a") for k in tips),
            *(connect("world.frame_b", f"tip_{k}.frame_a") for k in tips),
            *(connect(f"leg_{k}.frame_b", f"tip_{k}.frame_b") for k in tips),
        ),
    )  # fmt: skip
