"""Spatial slider-crank: crank and slide at right angles, joined by a rod on a spherical and a universal joint.

Source: IFToMM multibody benchmark library, spatial rigid slider-crank mechanism; masses as in exudyn's test of it.
Known facts: one loop of 17 equations for 18 freedoms; the energy is constant; the crank, started upwards with 6 rad/s,
keeps turning one way.
"""

from mbfmu.model import (
    Body,
    BodyShape,
    FixedTranslation,
    Parameter,
    Prismatic,
    Revolute,
    Spherical,
    System,
    Universal,
    World,
    connect,
)


def spatial_slider_crank() -> System:
    """Return the mechanism; `crank.phi` turns about x from the upright, `slider.s` is x of the block."""
    return System(
        name="spatial_slider_crank",
        description="A spatial slider-crank, driven at the crank",
        parameters=(
            Parameter("lAB", 0.08, "m", "length of the crank", min=1e-9),
            Parameter("lBC", 0.3, "m", "length of the rod", min=1e-9),
            Parameter("yA", 0.1, "m", "crank's bearing, beside the slide"),
            Parameter("zA", 0.12, "m", "crank's bearing, above the slide"),
        ),
        components=(
            World(g=9.81, n=(0, 0, -1)),
            FixedTranslation("bearing", r=(0, "yA", "zA")),
            Revolute("crank", n=(1, 0, 0), phi=0.0, w=6.0, actuated=True),
            BodyShape("arm", m=0.12, r=(0, 0, "lAB"), I_11=1e-4, I_22=1e-5, I_33=1e-4),
            Spherical("ball"),
            BodyShape("rod", m=0.5, r=("lBC", 0, 0), r_CM=("lBC/2", 0, 0), I_11=4e-4, I_22=4e-3, I_33=4e-3),
            Universal("cross", n_a=(1, 0, 0), n_b=(0, 1, 0)),
            Body("block", m=2.0, I_11=1e-4, I_22=1e-4, I_33=1e-4),
            Prismatic("slider", n=(1, 0, 0)),
        ),
        connections=(
            connect("world.frame_b", "bearing.frame_a"),
            connect("bearing.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "arm.frame_a"),
            connect("arm.frame_b", "ball.frame_a"),
            connect("ball.frame_b", "rod.frame_a"),
            connect("rod.frame_b", "cross.frame_b"),
            connect("cross.frame_a", "block.frame_a"),
            connect("block.frame_a", "slider.frame_b"),
            connect("slider.frame_a", "world.frame_b"),
        ),
    )
