"""Two links in the vertical plane, the first lifted by a hydraulic cylinder, the second swinging free.

Source: the LIM co-simulation benchmark of a hydraulic manipulator, with the mass matrix of its program (that of its
text is misprinted). The cylinder's force is the input, its length s and s' are outputs; `manipulator_hydraulics` is the
other half. Known facts: s = L1 sqrt(1 - sqrt(3)/2 cos phi); f = 8829 N holds the start.
"""

from math import pi

from mbfmu.model import (
    Body,
    BodyShape,
    FixedTranslation,
    LineForce,
    Parameter,
    RelativeSensor,
    Revolute,
    System,
    World,
    connect,
)


def hydraulic_manipulator() -> System:
    """Return the manipulator: `cylinder.f` in, `length.distance` and `length.distance_rate` out."""
    return System(
        name="hydraulic_manipulator",
        description="Two links, the first lifted by a hydraulic cylinder, the second swinging free",
        planar=True,
        parameters=(
            Parameter("L1", 1.0, "m", "length of link 1", min=1e-9),
            Parameter("L2", 0.5, "m", "length of link 2", min=1e-9),
            Parameter("m", 200.0, "kg", "mass of link 1, a uniform bar", min=1e-9),
            Parameter("mp", 250.0, "kg", "mass at the tip of link 1", min=0),
            Parameter("mh", 100.0, "kg", "mass at the tip of link 2, which has none itself", min=1e-9),
        ),
        components=(
            World(g=9.81),
            FixedTranslation("foot", r=("sqrt(3)/2*L1", 0)),
            Revolute("hinge1", phi=pi / 6, w=0.0),
            BodyShape("link1", m="m", r=("L1", 0), r_CM=("L1/2", 0), I_33="m*L1**2/12"),
            FixedTranslation("eye", r=("L1/2", 0)),
            Body("pin", m="mp"),
            Revolute("hinge2", phi=-2 * pi / 3, w=0.0),
            FixedTranslation("link2", r=("L2", 0)),
            Body("load", m="mh", I_33=1e-9),  # a point mass
            LineForce("cylinder"),
            RelativeSensor("length"),
        ),
        connections=(
            connect("world.frame_b", "foot.frame_a"),
            connect("world.frame_b", "hinge1.frame_a"),
            connect("hinge1.frame_b", "link1.frame_a"),
            connect("hinge1.frame_b", "eye.frame_a"),
            connect("link1.frame_b", "pin.frame_a"),
            connect("link1.frame_b", "hinge2.frame_a"),
            connect("hinge2.frame_b", "link2.frame_a"),
            connect("link2.frame_b", "load.frame_a"),
            connect("foot.frame_b", "cylinder.frame_a"),
            connect("eye.frame_b", "cylinder.frame_b"),
            connect("foot.frame_b", "length.frame_a"),
            connect("eye.frame_b", "length.frame_b"),
        ),
    )
