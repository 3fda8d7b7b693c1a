"""Four-bar linkage with a flexible coupler: crank and rocker are rigid, the rod between them bends.

Source: the usual linkage, with a light rod of 1000 kg/m3, 1e-3 m2 and EI = 200 N.m2, whose first bending frequency
between its pins is 34.9 rad/s. It begins undeformed and at rest, and falls.
"""

from mbfmu.model import Beam, BodyShape, FixedTranslation, Revolute, System, World, connect


def flexible_four_bar(modes: int = 2) -> System:
    """Return the linkage; `rod.eta[1]` is the deflection of its far end in its first mode."""
    return System(
        name="flexible_four_bar",
        description="A four-bar linkage with a flexible coupler",
        planar=True,
        components=(
            World(),
            Revolute("crank", phi=1.0, w=0.0, actuated=True),
            BodyShape("link1", m=1.0, r=(1.0, 0), r_CM=(0.5, 0), I_33=0.1),
            Revolute("pin1"),
            Beam("rod", L=2.0, rho=1000.0, A=1e-3, E=2e9, I_z=1e-7, modes=modes, zeta=0.01),
            Revolute("pin2"),
            BodyShape("link2", m=1.0, r=(1.5, 0), r_CM=(0.75, 0), I_33=0.2),
            Revolute("rocker"),
            FixedTranslation("base", r=(2.0, 0)),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "link1.frame_a"),
            connect("link1.frame_b", "pin1.frame_a"),
            connect("pin1.frame_b", "rod.frame_a"),
            connect("rod.frame_b", "pin2.frame_a"),
            connect("pin2.frame_b", "link2.frame_a"),
            connect("link2.frame_b", "rocker.frame_a"),
            connect("world.frame_b", "base.frame_a"),
            connect("base.frame_b", "rocker.frame_b"),
        ),
    )
