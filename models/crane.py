"""A hydraulic loader crane: boom and jib in the vertical plane, each moved by a cylinder that closes a loop.

Source: own data of a small forestry crane; bars with their cylinders as two bodies each, a load at the tip. The column
is fixed (a slewing column would only carry the plane round). Known facts: without friction the cylinder forces that
hold a pose follow from virtual work, f ds = sum m g dy; with them the crane stands still.
"""

from mbfmu.model import Body, BodyShape, FixedTranslation, Parameter, Prismatic, Revolute, System, World, connect


def crane() -> System:
    """Return the crane; `lift.s` and `tilt.s` are the strokes of the cylinders, `lift.f` and `tilt.f` their forces.

    `boom.phi` is the boom's angle above the horizontal, `jib.phi` the jib's against the boom (negative: hanging).
    """
    return System(
        name="crane",
        description="A hydraulic loader crane with two cylinders",
        planar=True,
        parameters=(
            Parameter("load", 200.0, "kg", "mass of the load at the tip", min=1e-9),
            Parameter("L1", 3.5, "m", "length of the boom", min=1e-9),
            Parameter("L2", 2.5, "m", "length of the jib", min=1e-9),
        ),
        components=(
            World(g=9.81),
            FixedTranslation("top", r=(0.0, 2.0)),
            FixedTranslation("bracket", r=(0.25, 0.8)),
            Revolute("boom", phi=0.5, w=0.0),
            BodyShape("beam1", m=250.0, r=("L1", 0), r_CM=("0.45*L1", 0.05), I_33="250*L1**2/12"),
            FixedTranslation("lug1", r=(1.0, -0.15)),
            FixedTranslation("lug2", r=(1.9, 0.35)),
            Revolute("jib", phi=-1.0, w=0.0),
            BodyShape("beam2", m=120.0, r=("L2", 0), r_CM=("0.4*L2", 0.03), I_33="120*L2**2/12"),
            FixedTranslation("lug3", r=(-0.3, 0.25)),
            Body("hook", m="load"),
            Revolute("lift_foot"),
            BodyShape("barrel1", m=40.0, r=(0, 1.3), r_CM=(0, 0.6), I_33=4.0),
            Prismatic("lift", n=(0, 1), actuated=True),
            Body("rod1", m=20.0, r_CM=(0, -0.5), I_33=2.0),
            Revolute("lift_eye"),
            Revolute("tilt_foot"),
            BodyShape("barrel2", m=25.0, r=(1.1, 0), r_CM=(0.5, 0), I_33=2.0),
            Prismatic("tilt", n=(1, 0), actuated=True),
            Body("rod2", m=12.0, r_CM=(-0.4, 0), I_33=1.0),
            Revolute("tilt_eye"),
        ),
        connections=(
            connect("world.frame_b", "top.frame_a"),
            connect("world.frame_b", "bracket.frame_a"),
            connect("top.frame_b", "boom.frame_a"),
            connect("boom.frame_b", "beam1.frame_a"),
            connect("beam1.frame_a", "lug1.frame_a"),
            connect("beam1.frame_a", "lug2.frame_a"),
            connect("beam1.frame_b", "jib.frame_a"),
            connect("jib.frame_b", "beam2.frame_a"),
            connect("beam2.frame_a", "lug3.frame_a"),
            connect("beam2.frame_b", "hook.frame_a"),
            connect("bracket.frame_b", "lift_foot.frame_a"),
            connect("lift_foot.frame_b", "barrel1.frame_a"),
            connect("barrel1.frame_b", "lift.frame_a"),
            connect("lift.frame_b", "rod1.frame_a"),
            connect("rod1.frame_a", "lift_eye.frame_a"),
            connect("lift_eye.frame_b", "lug1.frame_b"),
            connect("lug2.frame_b", "tilt_foot.frame_a"),
            connect("tilt_foot.frame_b", "barrel2.frame_a"),
            connect("barrel2.frame_b", "tilt.frame_a"),
            connect("tilt.frame_b", "rod2.frame_a"),
            connect("rod2.frame_a", "tilt_eye.frame_a"),
            connect("tilt_eye.frame_b", "lug3.frame_b"),
        ),
    )
