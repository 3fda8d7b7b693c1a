"""Mechanisms for tests: planar and spatial, with and without loops."""

from mbfmu.model import (
    Body,
    BodyShape,
    Damper,
    FixedTranslation,
    FreeMotion,
    Parameter,
    Prismatic,
    Revolute,
    RotationalDamper,
    RotationalSpring,
    Spherical,
    Spring,
    System,
    World,
    connect,
)


def slider_crank(crank_phi: float = 0.7, l1: float = 1.0, l2: float = 2.0) -> System:
    """Planar slider-crank: one loop, one degree of freedom."""
    return System(
        name="slider_crank",
        planar=True,
        parameters=(Parameter("l1", l1, "m"), Parameter("l2", l2, "m")),
        components=(
            World(g=9.81),
            Revolute("crank", phi=crank_phi, w=0.0, actuated=True),
            BodyShape("link", m=1.0, r=("l1", 0), r_CM=("l1/2", 0), I_33="l1**2/12"),
            Revolute("rod"),
            BodyShape("coupler", m=2.0, r=("l2", 0), r_CM=("l2/2", 0), I_33="2*l2**2/12"),
            Revolute("pin"),
            Prismatic("slider", n=(1, 0)),
            Body("block", m=1.0, I_33=0.1),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "link.frame_a"),
            connect("link.frame_b", "rod.frame_a"),
            connect("rod.frame_b", "coupler.frame_a"),
            connect("coupler.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "block.frame_a"),
            connect("world.frame_b", "slider.frame_a"),
            connect("slider.frame_b", "block.frame_a"),
        ),
    )


def spatial_arm(actuated: bool = True) -> System:
    """Open spatial chain: revolute, prismatic, spherical; springs and dampers of every kind."""
    return System(
        name="spatial_arm",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Revolute("j1", n=(0, 0, 1), phi=0.3, w=1.0, actuated=actuated),
            BodyShape("b1", m=1.2, r=(0.8, 0, 0.1), r_CM=(0.4, 0, 0), I_11=0.02, I_22=0.1, I_33=0.11, I_21=0.005),
            Prismatic("j2", n=(0, 1, 0), s=0.2, v=-0.3, actuated=actuated),
            BodyShape("b2", m=0.7, r=(0, 0.5, 0), r_CM=(0.05, 0.25, 0.02), I_11=0.05, I_22=0.01, I_33=0.05),
            Spherical("j3", Q_rel=(0.9, 0.1, -0.2, 0.3), w_rel=(0.5, -1.0, 0.7)),
            Body("b3", m=0.5, r_CM=(0.1, 0.2, -0.1), I_11=0.03, I_22=0.02, I_33=0.04),
            FixedTranslation("anchor", r=(1.5, 0.5, 1.0)),
            Spring("spring", c=20.0, s_unstretched=0.5),
            Damper("damper", d=0.4),
            RotationalSpring("coil", joint="j1", c=3.0, phi_rel0=0.1),
            RotationalDamper("brake", joint="j1", d=0.2),
        ),
        connections=(
            connect("world.frame_b", "j1.frame_a"),
            connect("j1.frame_b", "b1.frame_a"),
            connect("b1.frame_b", "j2.frame_a"),
            connect("j2.frame_b", "b2.frame_a"),
            connect("b2.frame_b", "j3.frame_a"),
            connect("j3.frame_b", "b3.frame_a"),
            connect("world.frame_b", "anchor.frame_a"),
            connect("anchor.frame_b", "spring.frame_a"),
            connect("spring.frame_b", "b3.frame_a"),
            connect("anchor.frame_b", "damper.frame_a"),
            connect("damper.frame_b", "b3.frame_a"),
        ),
    )


def free_body(g: float = 0.0) -> System:
    """One rigid body in free motion, turning about all axes."""
    return System(
        name="free_body",
        components=(
            World(g=g),
            FreeMotion(
                "free", r_rel=(0, 0, 0), v_rel=(1.0, -0.5, 0.2), Q_rel=(0.9, 0.1, -0.3, 0.2), w_rel=(1.0, 2.0, 3.0)
            ),
            Body("body", m=1.5, r_CM=(0.1, -0.2, 0.3), I_11=0.2, I_22=0.3, I_33=0.4, I_21=0.02),
        ),
        connections=(connect("world.frame_b", "free.frame_a"), connect("free.frame_b", "body.frame_a")),
    )


def spatial_two_link() -> System:
    """The planar two-link arm of models/, built from spatial parts."""
    return System(
        name="spatial_two_link",
        components=(
            World(g=9.8),
            Revolute("shoulder", phi=0.0, w=0.0, actuated=True),
            BodyShape("link1", m=1.0, r=(1.0, 0, 0), r_CM=(0.5, 0, 0), I_11=0.01, I_22=1 / 12, I_33=1 / 12),
            Revolute("elbow", phi=0.0, w=0.0, actuated=True),
            BodyShape("link2", m=1.0, r=(2.0, 0, 0), r_CM=(1.0, 0, 0), I_11=0.01, I_22=1 / 3, I_33=1 / 3),
        ),
        connections=(
            connect("world.frame_b", "shoulder.frame_a"),
            connect("shoulder.frame_b", "link1.frame_a"),
            connect("link1.frame_b", "elbow.frame_a"),
            connect("elbow.frame_b", "link2.frame_a"),
        ),
    )


MECHANISMS = {make.__name__: make for make in (slider_crank, spatial_arm, free_body, spatial_two_link)}
