"""A follower on an eccentric disk that turns at a constant speed: above a certain speed it leaves the cam and hits it.

Source: textbook (Norton, Cam Design and Manufacturing Handbook, 2nd ed. 2009, on follower jump). The disk of radius R
is pivoted d off its centre; a spring, compressed by x_0 at the lowest place, presses the follower down. The follower
has a flat face, or a roller of radius r; neither rubs. Known facts: in contact the lift is R + d sin(theta) under a
flat face, d sin(theta) + sqrt((R + r)^2 - d^2 cos(theta)^2) under a roller; as the speed w grows, the follower first
leaves the cam at its top, where d w^2 (1 + k) = g + c (x_0 + 2 d)/m, with k = 0 for a flat face and k = d/(R + r) for
a roller. (With a spring so stiff that c > m w^2 it leaves earlier in the turn.)
"""

import math

from mbfmu.errors import ValueRangeError
from mbfmu.model import (
    AxisMotion,
    Body,
    CircleOnCircle,
    CircleOnLine,
    Component,
    FixedRotation,
    FixedTranslation,
    Parameter,
    Prismatic,
    Revolute,
    System,
    TranslationalSpring,
    World,
    connect,
)


def cam_follower(follower: str = "flat") -> System:
    """Return cam and follower in contact, at mid-lift and rising; `guide.s` is the lift.

    Args:
        follower: `flat` or `roller`.
    """
    if follower not in {"flat", "roller"}:
        raise ValueRangeError(f"cam_follower: follower = {follower} must be flat or roller")
    flat = follower == "flat"
    size = () if flat else (Parameter("r", 0.02, "m", "radius of the roller", min=1e-9),)
    touch: Component = (
        CircleOnLine("touch", radius="R", e="e") if flat else CircleOnCircle("touch", radius_a="r", radius_b="R", e="e")
    )
    return System(
        name="cam_follower",
        description=f"A {follower} follower on an eccentric cam that it may leave",
        planar=True,
        parameters=(
            Parameter("R", 0.04, "m", "radius of the cam", min=1e-9),
            Parameter("d", 0.01, "m", "eccentricity of the cam", min=1e-9),
            *size,
            Parameter("m", 0.2, "kg", "mass of the follower", min=1e-9),
            Parameter("c", 500.0, "N/m", "stiffness of the spring", min=0),
            Parameter("x_0", 0.02, "m", "compression of the spring at the lowest place", min=0),
            Parameter("e", 0.3, "1", "restitution", min=0, max=1),
            Parameter("w", 120.0, "rad/s", "speed of the cam"),
        ),
        components=(
            World("world", n=(0.0, -1.0)),
            Revolute("shaft", phi=0.0),
            Body("cam", m=1.0, I_33="R**2/2"),
            FixedTranslation("centre", r=("d", 0.0)),
            AxisMotion("drive", joint="shaft", s="w*time"),
            Prismatic("guide", n=(0.0, 1.0), s="R" if flat else "sqrt((R + r)**2 - d**2)", v="d*w"),
            Body("follower", m="m", I_33=1e-4),
            FixedRotation("face", angle=math.pi),
            TranslationalSpring("spring", joint="guide", c="c", s_rel0="R - d - x_0" if flat else "R + r - d - x_0"),
            touch,
        ),
        connections=(
            connect("world.frame_b", "shaft.frame_a"),
            connect("shaft.frame_b", "cam.frame_a"),
            connect("cam.frame_a", "centre.frame_a"),
            connect("world.frame_b", "guide.frame_a"),
            connect("guide.frame_b", "follower.frame_a"),
            connect("follower.frame_a", "face.frame_a"),
            connect("face.frame_b", "touch.frame_a"),
            connect("centre.frame_b", "touch.frame_b"),
        ),
    )
