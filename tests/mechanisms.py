"""Mechanisms for tests: planar and spatial, with and without loops."""

from itertools import pairwise

from mbfmu.model import (
    Body,
    BodyShape,
    Component,
    Damper,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Parameter,
    Prismatic,
    Revolute,
    RotationalDamper,
    RotationalRotor,
    RotationalSpring,
    Spherical,
    Spring,
    System,
    TranslationalDamper,
    TranslationalRotor,
    TranslationalSpring,
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


def distant_arm(distance: float) -> System:
    """Spatial arm of two links with a hinge about z and one about y, at a distance from the origin, m."""
    links = {
        name: BodyShape(name, m=1.0, r=(1, 0, 0), r_CM=(0.5, 0, 0), I_11=0.01, I_22=0.08, I_33=0.08)
        for name in ("upper", "lower")
    }
    components = (
        World(g=9.81),
        FixedTranslation("base", r=(distance, 0, 0)),
        Revolute("shoulder", n=(0, 0, 1), phi=0.3),
        links["upper"],
        Revolute("elbow", n=(0, 1, 0), phi=0.3),
        links["lower"],
    )
    frames = ["world.frame_b", *(f"{item.name}.frame_{side}" for item in components[1:] for side in "ab")]
    return System(
        name="distant_arm",
        components=components,
        connections=tuple(connect(*pair) for pair in zip(frames[::2], frames[1::2], strict=False)),
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


def spatial_pendulum() -> System:
    """A heavy, unsymmetric body turning about a fixed point, braked by a damper to the world; driven by nothing."""
    return System(
        name="spatial_pendulum",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Spherical("ball", Q_rel=(0.9, 0.3, -0.2, 0.1), w_rel=(1.0, -2.0, 1.5)),
            Body("body", m=1.3, r_CM=(0.1, 0.2, -0.3), I_11=0.2, I_22=0.3, I_33=0.25, I_21=0.02, I_32=-0.03),
            FixedTranslation("anchor", r=(1.0, 0.5, 0.2)),
            FixedTranslation("tip", r=(0.3, 0.1, -0.4)),
            Damper("damper", d=0.3),
        ),
        connections=(
            connect("world.frame_b", "ball.frame_a"),
            connect("ball.frame_b", "body.frame_a"),
            connect("body.frame_a", "tip.frame_a"),
            connect("world.frame_b", "anchor.frame_a"),
            connect("anchor.frame_b", "damper.frame_a"),
            connect("tip.frame_b", "damper.frame_b"),
        ),
    )


def oscillator() -> System:
    """A unit mass on a unit spring, driven along its guide: s = u + (1 - u) cos t for a held force u."""
    return System(
        name="oscillator",
        planar=True,
        components=(
            World(g=0.0),
            Prismatic("guide", n=(1, 0), s=1.0, v=0.0, actuated=True),
            Body("mass", m=1.0, I_33=1.0),
            TranslationalSpring("spring", joint="guide", c=1.0),
        ),
        connections=(connect("world.frame_b", "guide.frame_a"), connect("guide.frame_b", "mass.frame_a")),
    )


MECHANISMS = {
    make.__name__: make for make in (slider_crank, spatial_arm, free_body, spatial_two_link, spatial_pendulum)
}


def spatial_four_bar() -> System:
    """Spatial RSSR four-bar: one loop, two degrees of freedom (the coupler spins about its own line)."""
    return System(
        name="spatial_four_bar",
        components=(
            World(g=9.81),
            Revolute("crank", n=(0, 0, 1), phi=0.6, w=1.5, actuated=True),
            BodyShape("b1", m=0.8, r=(0.5, 0, 0), r_CM=(0.25, 0, 0.02), I_11=0.01, I_22=0.03, I_33=0.03),
            Spherical("s1"),
            BodyShape("b2", m=1.1, r=(1.5, 0, 0), r_CM=(0.7, 0.05, 0), I_11=0.02, I_22=0.2, I_33=0.21, I_32=0.004),
            Spherical("s2"),
            BodyShape("b3", m=0.9, r=(0, 1.0, 0), r_CM=(0, 0.5, 0), I_11=0.08, I_22=0.01, I_33=0.08),
            FixedTranslation("ground", r=(2.0, 0, 0.3)),
            Revolute("rocker", n=(0, -0.6, 0.8)),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "b1.frame_a"),
            connect("b1.frame_b", "s1.frame_a"),
            connect("s1.frame_b", "b2.frame_a"),
            connect("b2.frame_b", "s2.frame_a"),
            connect("s2.frame_b", "b3.frame_b"),
            connect("world.frame_b", "ground.frame_a"),
            connect("ground.frame_b", "rocker.frame_a"),
            connect("rocker.frame_b", "b3.frame_a"),
        ),
    )


def planar_rig() -> System:
    """Planar: a cart on a tilted rail, a bar of two bodies, a free body; every kind of force of the plane."""
    return System(
        name="planar_rig",
        planar=True,
        parameters=(Parameter("l", 0.7, "m", "length of the bar", min=0.1),),
        components=(
            World(g=9.81),
            FixedRotation("bracket", r=(0.3, 0.2), angle=0.4),
            Prismatic("rail", n=(0.6, 0.8), s=0.1, v=0.2, actuated=True),
            BodyShape("cart", m=1.3, r=(0.1, 0.05), r_CM=(0.02, 0.03), I_33=0.05),
            Revolute("hinge", phi=-0.5, w=1.2, actuated=True),
            BodyShape("bar", m="2*l", r=("l", 0), r_CM=("l/2", 0.01), I_33="2*l**3/12"),
            FixedRotation("wedge", r=(0.05, -0.1), angle=0.8),
            Body("tip", m=0.4, r_CM=(0.1, 0.2), I_33=0.02),
            FreeMotion("drift", r_rel=(1.5, 0.4), v_rel=(-0.3, 0.2), phi=0.3, w=0.5, actuated=True),
            Body("stone", m=0.6, r_CM=(0.05, 0.02), I_33=0.03),
            TranslationalSpring("coil", joint="rail", c=30.0, s_rel0=0.05),
            TranslationalDamper("brake", joint="rail", d=0.7),
            RotationalSpring("leaf", joint="hinge", c=4.0, phi_rel0=0.2),
            RotationalDamper("rub", joint="hinge", d=0.15),
            Spring("rope", c=12.0, s_unstretched=0.3),
            Damper("shock", d=0.25),
        ),
        connections=(
            connect("world.frame_b", "bracket.frame_a"),
            connect("bracket.frame_b", "rail.frame_a"),
            connect("rail.frame_b", "cart.frame_a"),
            connect("cart.frame_b", "hinge.frame_a"),
            connect("hinge.frame_b", "bar.frame_a"),
            connect("bar.frame_b", "wedge.frame_a"),
            connect("wedge.frame_b", "tip.frame_a"),
            connect("world.frame_b", "drift.frame_a"),
            connect("drift.frame_b", "stone.frame_a"),
            connect("tip.frame_a", "rope.frame_a"),
            connect("rope.frame_b", "stone.frame_a"),
            connect("bar.frame_a", "shock.frame_a"),
            connect("shock.frame_b", "stone.frame_a"),
        ),
    )


def floater() -> System:
    """Spatial: a driven free base with a kite, a driven ball joint, and a hinge whose frame_a is on the outer body."""
    return System(
        name="floater",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            FreeMotion(
                "free", r_rel=(0.2, -0.1, 0.4), v_rel=(0.3, 0.1, -0.2), Q_rel=(0.8, 0.2, 0.1, -0.5),
                w_rel=(0.4, -0.6, 0.9), actuated=True,
            ),
            BodyShape("base", m=2.0, r=(0.4, 0.1, 0), r_CM=(0.05, 0, 0.02), I_11=0.1, I_22=0.15, I_33=0.2, I_31=0.01),
            Spherical("ball", Q_rel=(0.7, -0.3, 0.2, 0.6), w_rel=(-0.5, 0.8, 0.3), actuated=True),
            BodyShape("arm", m=0.8, r=(0, 0.3, 0.2), r_CM=(0, 0.2, 0.1), I_11=0.04, I_22=0.02, I_33=0.03),
            Revolute("wrist", n=(0.6, 0, -0.8), phi=0.7, w=-1.1, actuated=True),
            Body("hand", m=0.5, r_CM=(0.1, -0.1, 0.05), I_11=0.01, I_22=0.02, I_33=0.015),
            FreeMotion(
                "tether", r_rel=(-0.3, 0.5, 0.1), v_rel=(0.2, -0.4, 0.1), Q_rel=(0.6, 0.4, -0.5, 0.2),
                w_rel=(-0.7, 0.2, 0.5), actuated=True,
            ),
            Body("kite", m=0.3, r_CM=(0.02, 0.05, -0.03), I_11=0.02, I_22=0.03, I_33=0.04, I_32=0.002),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "base.frame_a"),
            connect("base.frame_b", "ball.frame_a"),
            connect("ball.frame_b", "arm.frame_a"),
            connect("arm.frame_b", "wrist.frame_b"),
            connect("hand.frame_a", "wrist.frame_a"),
            connect("base.frame_b", "tether.frame_a"),
            connect("tether.frame_b", "kite.frame_a"),
        ),
    )  # fmt: skip


def rail_arm(*more: Component) -> System:
    """Two links in space, a slide on the second, and more."""
    parts = (
        World("world", n=(0.0, 0.0, -1.0)),
        Revolute("shoulder", n=(0.0, 1.0, 0.0), phi=0.3, w=0.7, actuated=True),
        BodyShape("upper", r=(1.0, 0.0, 0.1), m=2.0, r_CM=(0.5, 0.1, 0.0), I_11=0.1, I_22=0.2, I_33=0.2),
        Revolute("elbow", n=(0.6, 0.0, 0.8), phi=-0.8, w=1.1, actuated=True),
        BodyShape("lower", r=(0.5, 0.0, 0.0), m=1.0, r_CM=(0.2, 0.0, 0.1), I_11=0.05, I_22=0.1, I_33=0.1),
        Prismatic("rail", n=(1.0, 0.0, 0.0), s=0.2, v=-0.4, actuated=True),
        Body("tool", m=0.5, I_11=0.01, I_22=0.01, I_33=0.01),
    )
    row = ("world.frame_b", "shoulder", "upper", "elbow", "lower", "rail", "tool.frame_a")
    ends = [connect(a if "." in a else f"{a}.frame_b", b if "." in b else f"{b}.frame_a") for a, b in pairwise(row)]
    return System("arm", (*parts, *more), tuple(ends))


ROTORS = (
    RotationalRotor("motor", joint="elbow", J=1e-4, ratio=80.0),
    RotationalRotor("brake", joint="elbow", J=0.02),
    TranslationalRotor("spindle", joint="rail", J=2e-5, ratio=300.0),
)
"""Rotors on the axes of `rail_arm`, two on one of them."""


def geared_arm() -> System:
    """`rail_arm` with rotors on its axes."""
    return rail_arm(*ROTORS)


EVERY = {**MECHANISMS, **{make.__name__: make for make in (spatial_four_bar, planar_rig, floater)}}
