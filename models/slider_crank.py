"""Planar slider-crank: crank, rod and a block on a horizontal guide; one loop, one degree of freedom.

Source: the usual textbook mechanism with uniform bars (l = 1, 2 m; m = 1, 2 kg; block 1 kg). Known facts: released at
rest at 45 degrees it swings without loss, the energy is constant. With the rod longer than the crank it has no
singular position.
"""

from math import pi

from mbfmu.model import Body, BodyShape, Parameter, Prismatic, Revolute, System, World, connect


def slider_crank() -> System:
    """Return the slider-crank; `crank.phi` is measured from +x, `slider.s` from the crank's bearing."""
    return System(
        name="slider_crank",
        description="A planar slider-crank, driven at the crank",
        planar=True,
        parameters=(
            Parameter("l1", 1.0, "m", "length of the crank", min=1e-9),
            Parameter("l2", 2.0, "m", "length of the rod", min=1e-9),
            Parameter("m1", 1.0, "kg", "mass of the crank", min=1e-9),
            Parameter("m2", 2.0, "kg", "mass of the rod", min=1e-9),
            Parameter("m3", 1.0, "kg", "mass of the block", min=1e-9),
        ),
        components=(
            World(g=9.81),
            Revolute("crank", phi=pi / 4, w=0.0, actuated=True),
            BodyShape("link1", m="m1", r=("l1", 0), r_CM=("l1/2", 0), I_33="m1*l1**2/12"),
            Revolute("rod"),
            BodyShape("link2", m="m2", r=("l2", 0), r_CM=("l2/2", 0), I_33="m2*l2**2/12"),
            Revolute("pin"),
            Prismatic("slider", n=(1, 0)),
            Body("block", m="m3", I_33=0.01),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "link1.frame_a"),
            connect("link1.frame_b", "rod.frame_a"),
            connect("rod.frame_b", "link2.frame_a"),
            connect("link2.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "block.frame_a"),
            connect("world.frame_b", "slider.frame_a"),
            connect("slider.frame_b", "block.frame_a"),
        ),
    )
