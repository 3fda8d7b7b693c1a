"""A flyball governor whose coupler rods are stiff spring-dampers: a stiff spatial tree.

Source: IFToMM multibody benchmark A05 (Gonzalez, Dopico, Lugris & Cuadrado, a benchmarking system for multibody
system simulation software, Multibody Syst. Dyn. 16, 2006): shaft and rods 1 x 0.01 x 0.01 m, slider 0.1 m cube, 3000
kg/m3, balls 5 kg at the rods' ends, rods 30 degrees below the horizontal, springs from their midpoints to the slider.
Known facts: the springs start unstretched; the angular momentum about the shaft is constant; the energy only falls.
"""

from math import pi

from mbfmu.model import (
    Body,
    BodyShape,
    Component,
    Connection,
    FixedTranslation,
    Parameter,
    Prismatic,
    Revolute,
    SpringDamper,
    System,
    World,
    connect,
)


def flyball_governor() -> System:
    """Return the governor; `slider.s` is the height of the slider, `arm1.phi` how far a rod points down, from level."""
    thin, long = 0.3 * 2e-4 / 12, 0.3 * (1 + 1e-4) / 12
    cube = 3.0 * 0.02 / 12
    components: list[Component] = [
        World(g=9.81, n=(0, 0, -1)),
        Revolute("shaft", n=(0, 0, 1), phi=0.0, w=2 * pi, actuated=True),
        BodyShape("column", m=0.3, r=(0, 0, 1), r_CM=(0, 0, 0.5), I_11=long, I_22=long, I_33=thin),
        Prismatic("slider", n=(0, 0, 1), s=0.5, v=0.0),
        Body("sleeve", m=3.0, I_11=cube, I_22=cube, I_33=cube),
    ]
    connections: list[Connection] = [
        connect("world.frame_b", "shaft.frame_a"),
        connect("shaft.frame_b", "column.frame_a"),
        connect("column.frame_a", "slider.frame_a"),
        connect("slider.frame_b", "sleeve.frame_a"),
    ]
    for i, side in ((1, 1.0), (2, -1.0)):
        components += [
            FixedTranslation(f"hinge{i}", r=(side * 0.05, 0, 1)),
            Revolute(f"arm{i}", n=(0, side, 0), phi=pi / 6, w=0.0),
            BodyShape(f"rod{i}", m=0.3, r=(side, 0, 0), r_CM=(side / 2, 0, 0), I_11=thin, I_22=long, I_33=long),
            Body(f"ball{i}", m="ball"),
            FixedTranslation(f"middle{i}", r=(side / 2, 0, 0)),
            FixedTranslation(f"eye{i}", r=(side * 0.05, 0, 0)),
            SpringDamper(f"coupler{i}", c="K", d="C", s_unstretched=0.5),
        ]
        connections += [
            connect("column.frame_a", f"hinge{i}.frame_a"),
            connect(f"hinge{i}.frame_b", f"arm{i}.frame_a"),
            connect(f"arm{i}.frame_b", f"rod{i}.frame_a"),
            connect(f"rod{i}.frame_b", f"ball{i}.frame_a"),
            connect(f"rod{i}.frame_a", f"middle{i}.frame_a"),
            connect("sleeve.frame_a", f"eye{i}.frame_a"),
            connect(f"middle{i}.frame_b", f"coupler{i}.frame_a"),
            connect(f"eye{i}.frame_b", f"coupler{i}.frame_b"),
        ]
    return System(
        name="flyball_governor",
        description="A flyball governor with stiff spring-dampers for coupler rods",
        stepper="radau",
        parameters=(
            Parameter("ball", 5.0, "kg", "mass of each ball", min=1e-9),
            Parameter("K", 8e5, "N/m", "stiffness of each spring", min=0),
            Parameter("C", 4e4, "N.s/m", "damping constant of each spring", min=0),
        ),
        components=tuple(components),
        connections=tuple(connections),
    )
