"""A Stewart platform: a plate on six legs, each of two bodies on a universal and a spherical joint, driven in length.

Source: Smith & Wendlandt, creating a Stewart platform model using SimMechanics, MATLAB Digest 2002: radii 3 m and 1 m,
2 m apart at home, joints in pairs 5 and 20 degrees wide; a plate of steel 50 mm thick, legs of a steel tube and a rod.
Known facts: five loops, six degrees of freedom; at home all legs are equally long, 3.154 m, and carry the same force.
"""

from math import acos, cos, hypot, pi, radians, sin, sqrt

from mbfmu.model import (
    Body,
    Component,
    Connection,
    FixedRotation,
    FixedTranslation,
    Prismatic,
    Spherical,
    System,
    Universal,
    World,
    connect,
)

DENSITY = 76e3 / 9.81
HEIGHT = 2.0
BASE, TOP = 3.0, 1.0
"""Radii of the joints."""


def stewart() -> System:
    """Return the platform; `leg1.s` to `leg6.s` are the legs' extensions from home, `leg1.f` and so on their forces."""
    plate = DENSITY * pi * TOP**2 * 0.05
    components: list[Component] = [
        World(g=9.81, n=(0, 0, -1)),
        Body(
            "platform",
            m=plate,
            I_11=plate * (3 * TOP**2 + 0.05**2) / 12,
            I_22=plate * (3 * TOP**2 + 0.05**2) / 12,
            I_33=plate * TOP**2 / 2,
            r_0=(0.0, 0.0, HEIGHT),
            v_0=(0.0, 0.0, 0.0),
            Q=(1.0, 0.0, 0.0, 0.0),
            w_a=(0.0, 0.0, 0.0),
        ),
    ]
    connections: list[Connection] = []
    for i in range(6):
        side = 2 * (i % 2) - 1
        foot, head = radians(120 * (i // 2) + 2.5 * side), radians(120 * (i // 2) + 50 * side)
        start = BASE * cos(foot), BASE * sin(foot), 0.0
        ball = TOP * cos(head), TOP * sin(head), 0.0
        leg = ball[0] - start[0], ball[1] - start[1], HEIGHT
        length = sqrt(sum(x * x for x in leg))
        across = hypot(leg[0], leg[1])
        k = i + 1
        components += [
            FixedRotation(f"foot{k}", r=start, n=(-leg[1] / across, leg[0] / across, 0.0), angle=acos(HEIGHT / length)),
            Universal(f"base{k}", n_a=(1, 0, 0), n_b=(0, 1, 0)),
            _cylinder(f"tube{k}", 0.75 * length, 0.375 * length, 0.05, 0.03),
            FixedTranslation(f"home{k}", r=(0, 0, length)),
            Prismatic(f"leg{k}", n=(0, 0, 1), actuated=True),
            _cylinder(f"rod{k}", 0.75 * length, -0.375 * length, 0.03, 0.0),
            FixedTranslation(f"head{k}", r=ball),
            Spherical(f"ball{k}"),
        ]
        connections += [
            connect("world.frame_b", f"foot{k}.frame_a"),
            connect(f"foot{k}.frame_b", f"base{k}.frame_a"),
            connect(f"base{k}.frame_b", f"tube{k}.frame_a"),
            connect(f"tube{k}.frame_a", f"home{k}.frame_a"),
            connect(f"home{k}.frame_b", f"leg{k}.frame_a"),
            connect(f"leg{k}.frame_b", f"rod{k}.frame_a"),
            connect(f"rod{k}.frame_a", f"ball{k}.frame_a"),
            connect(f"ball{k}.frame_b", f"head{k}.frame_b"),
            connect(f"head{k}.frame_a", "platform.frame_a"),
        ]
    return System(
        name="stewart",
        description="A Stewart platform, driven at its six legs",
        components=tuple(components),
        connections=tuple(connections),
    )


def _cylinder(name: str, length: float, middle: float, outer: float, inner: float) -> Body:
    """Return a steel tube along z whose middle is that far from frame_a."""
    m = DENSITY * pi * (outer**2 - inner**2) * length
    round_ = m * (outer**2 + inner**2)
    across = (3 * round_ + m * length**2) / 12
    return Body(name, m=m, r_CM=(0, 0, middle), I_11=across, I_22=across, I_33=round_ / 2)
