"""A rimless wheel that walks down rough ground: a slope with waves, given as a height field, under its eight feet.

Source: own data; the wheel is that of `rimless_wheel` (McGeer, Passive dynamic walking, Int. J. Robotics Res. 9, 1990).
Each foot meets the ground where it is, so that no two steps are alike. Known facts: without waves (A = 0) it walks as
`rimless_wheel` does, turned by the slope; feet neither sink nor slip; the energy falls at every impact and is constant
in between.
"""

from math import cos, pi, sin

from mbfmu.model import Body, FixedTranslation, Parameter, Planar, PointOnHeightField, System, World, connect

LEGS = 8


def rough_walker() -> System:
    """Return the wheel with two feet on the ground, as after an impact; gravity points along -y."""
    half = pi / LEGS
    angles = [half + 2 * half * number for number in range(LEGS)]
    tips = range(1, LEGS + 1)
    return System(
        name="rough_walker",
        description="A rimless wheel that walks down a slope with waves",
        planar=True,
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("l", 1.0, "m", "length of the legs", min=1e-9),
            Parameter("J", 0.2, "kg.m2", "inertia about the hub", min=1e-9),
            Parameter("mu", 1.0, "1", "coefficient of friction", min=0.0),
            Parameter("b", 0.08, "rad", "slope of the ground"),
            Parameter("A", 0.01, "m", "height of the waves"),
            Parameter("length", 5.0, "m", "length of the waves", min=1e-9),
            Parameter("w_0", -1.1, "rad/s", "rate at the start"),
        ),
        components=(
            World("world"),
            Planar(
                "rolling", s_x=f"l*{cos(half)!r}*sin(b)", s_y=f"l*{cos(half)!r}*cos(b)", phi="-b", w="w_0",
                v_x=f"-w_0*l*{cos(half)!r}*cos(b) - w_0*l*{sin(half)!r}*sin(b)",
                v_y=f"w_0*l*{cos(half)!r}*sin(b) - w_0*l*{sin(half)!r}*cos(b)",
            ),
            Body("hub", m="m", I_33="J"),
            *(
                FixedTranslation(f"leg_{k}", r=(f"l*{sin(angle)!r}", f"-l*{cos(angle)!r}"))
                for k, angle in zip(tips, angles, strict=True)
            ),
            *(PointOnHeightField(f"tip_{k}", mu="mu", height="-tan(b)*x + A*(cos(2*pi*x/length) - 1)") for k in tips),
        ),
        connections=(
            connect("world.frame_b", "rolling.frame_a"),
            connect("rolling.frame_b", "hub.frame_a"),
            *(connect("hub.frame_a", f"leg_{k}.frame_a") for k in tips),
            *(connect("world.frame_b", f"tip_{k}.frame_a") for k in tips),
            *(connect(f"leg_{k}.frame_b", f"tip_{k}.frame_b") for k in tips),
        ),
    )  # fmt: skip
