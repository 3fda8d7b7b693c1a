"""Bricard's mechanism: five bars on six revolute joints, one degree of freedom that no count of constraints finds.

Source: IFToMM multibody benchmark A04 (Gonzalez, Dopico, Lugris & Cuadrado, a benchmarking system for multibody
system simulation software, Multibody Syst. Dyn. 16, 2006): bars 1 m, 1 kg, 0.1 m square, along the edges of a cube.
Known facts: of 30 equations for 30 freedoms one is redundant in every position, so the mechanism moves and one joint
reaction is not unique. With a = j0.phi and sin b = sin a/(1 + sin a) the joints lie at (cos a, 0, -sin a), (cos a (1 -
sin b), -cos b, -sin b), (cos a, -cos b (1 + sin a), 1 - sin a), (0, -cos b, 1 - sin b); released at rest a swings from
0 to pi and back in 4.9917 s.
"""

from mbfmu.model import (
    AbsoluteSensor,
    BodyShape,
    Component,
    Connection,
    FixedTranslation,
    Revolute,
    System,
    World,
    connect,
)

BARS = ((1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0))
"""Directions of the bars at the start."""
AXES = ((0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))
"""Axes of the joints at the start."""


def bricard() -> System:
    """Return the mechanism; all angles `j0.phi` to `j5.phi` are zero at the start, `p1.r` to `p4.r` are the joints."""
    along, across = 0.02 / 12, 1.01 / 12
    components: list[Component] = [World(g=9.81), FixedTranslation("ground", r=(0, 0, 1))]
    connections: list[Connection] = [connect("world.frame_b", "ground.frame_a")]
    last = "world.frame_b"
    for i, bar in enumerate(BARS):
        I_11, I_22, I_33 = (along if item else across for item in bar)
        components += [
            Revolute(f"j{i}", n=AXES[i], **({"phi": 0.0, "w": 0.0} if i == 0 else {})),
            BodyShape(f"bar{i + 1}", m=1.0, r=bar, r_CM=tuple(x / 2 for x in bar), I_11=I_11, I_22=I_22, I_33=I_33),
        ]
        connections += [connect(last, f"j{i}.frame_a"), connect(f"j{i}.frame_b", f"bar{i + 1}.frame_a")]
        if i:
            components.append(AbsoluteSensor(f"p{i}"))
            connections.append(connect(last, f"p{i}.frame_a"))
        last = f"bar{i + 1}.frame_b"
    return System(
        name="bricard",
        description="Bricard's mechanism: a loop of six revolute joints that moves though it should not",
        components=(*components, Revolute("j5", n=AXES[5])),
        connections=(*connections, connect(last, "j5.frame_a"), connect("j5.frame_b", "ground.frame_b")),
    )
