"""A wheelset on a straight track, sprung to a frame that moves at constant speed: at this speed it hunts.

Source: Simeon, Fuehrer & Rentrop, Introduction to differential-algebraic equations in vehicle system dynamics, Surveys
on Mathematics for Industry 1 (1991), as given with its start and reference solution in the test set for initial value
problem solvers (Mazzia & Magherini, 2008). Wheels are cones, rails circular arcs; creep forces follow Kalker's linear
theory with the saturation of Jaschinski, for the contact ellipse at a normal force of 80 N. The equations of the test
set differ a little: their slip takes the yaw angle over the cosine of the contact angle for the yaw, their contact
ellipse changes with the rolling radius, and their yaw spring also turns the wheels. Known facts: the published state
after 10 s, which the same constraints and inertia give with these changes (tests/test_wheelsets.py); the hunting of
this model has the same amplitude.
"""

from math import cos, pi, sin, sqrt, tan

from mbfmu.model import (
    Body,
    Parameter,
    Prismatic,
    Revolute,
    RotationalSpring,
    System,
    TranslationalSpring,
    WheelsetOnTrack,
    World,
    connect,
)

FORWARD, LEFT, UP = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
CONE, RADIUS, RAIL, HALF_GAUGE = 0.0262, 0.1, 0.06, 0.1506
"""Angle of the cones, rad; radius of the wheels on their nominal circles, of the rails, and half of the gauge, m."""
C_11, C_22, C_23 = 4.72772197, 4.27526987, 1.97203505
"""Kalker's coefficients."""
SHEAR, NORMAL = 7.92e10, 80.0
"""Shear modulus, Pa, and normal force for which the creep coefficients are taken, N."""
ELLIPSE = 3 * (1 - 0.28) * 1.3537956 / (2 * pi * SHEAR * sqrt(0.7115218))
"""Cube of the mean semi-axis of the contact ellipse over the normal force and over the radius of curvature, 1/Pa."""
START = {"along": 1.1241e-6, "lateral": 1.4941e-3, "yaw": -2.8573e-4}


def wheelset() -> System:
    """Return the wheelset, with x along the track, y to the left and z upwards, seen from the moving frame."""
    mean = (ELLIPSE * NORMAL / (cos(CONE) / (2 * RADIUS) + 1 / (2 * RAIL))) ** (1 / 3)
    return System(
        name="wheelset",
        description="A wheelset that hunts on a straight track",
        parameters=(
            Parameter("v", 30.0, "m/s", "speed along the track"),
            Parameter("c", 12800.0, "N/m", "stiffness along the track and across", min=0),
        ),
        stepper="radau",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Prismatic("along", n=FORWARD, s=START["along"], v=0.0),
            Prismatic("lateral", n=LEFT, s=START["lateral"], v=0.0),
            Prismatic("height", n=UP),
            Revolute("yaw", n=UP, phi=START["yaw"], w=0.0),
            Revolute("roll", n=FORWARD),
            Revolute("spin", n=LEFT, phi=0.0, w=f"v/{RADIUS}"),
            Body("wheels", m=16.08, I_11=0.366, I_22=0.0605, I_33=0.366),
            TranslationalSpring("spring_along", joint="along", c="c"),
            TranslationalSpring("spring_lateral", joint="lateral", c="c"),
            RotationalSpring("spring_yaw", joint="yaw", c="c*0.19**2"),
            WheelsetOnTrack(
                "track",
                wheel=f"{RADIUS} - {tan(CONE)!r}*s",
                rail=f"sqrt({RAIL}**2 - (s - {RAIL * sin(CONE)!r})**2) - {RADIUS + RAIL * cos(CONE)!r}",
                half_gauge=HALF_GAUGE, v="v", f_11=SHEAR * mean**2 * C_11, f_22=SHEAR * mean**2 * C_22,
                f_23=SHEAR * mean**3 * C_23, N_0=NORMAL, mu=0.12, reach_wheel=0.15, reach_rail=0.058,
                saturation="tanh",
            ),
        ),
        connections=(
            connect("world.frame_b", "along.frame_a"),
            connect("along.frame_b", "lateral.frame_a"),
            connect("lateral.frame_b", "height.frame_a"),
            connect("height.frame_b", "yaw.frame_a"),
            connect("yaw.frame_b", "roll.frame_a"),
            connect("roll.frame_b", "spin.frame_a"),
            connect("spin.frame_b", "wheels.frame_a"),
            connect("world.frame_b", "track.frame_a"),
            connect("wheels.frame_a", "track.frame_b"),
        ),
    )  # fmt: skip
