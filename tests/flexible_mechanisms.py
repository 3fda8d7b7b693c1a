"""Mechanisms with flexible bodies: in trees and a loop, in rows, on the world itself, held backward, and branched."""

from itertools import pairwise
from typing import Any

import mbfmu
from mbfmu.model import (
    Beam,
    Body,
    BodyShape,
    Component,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Prismatic,
    Revolute,
    Spherical,
    SpringDamper,
    System,
    World,
    connect,
)  # fmt: skip

BEAM: dict[str, Any] = {"L": 1.0, "rho": 1000.0, "A": 1e-3, "E": 1e5, "I_z": 1e-6, "I_y": 2e-6, "I_t": 1e-6, "G": 4e4}
TIP: dict[str, Any] = {"m": 0.5, "r_CM": (0.1, 0.05, 0.0), "I_11": 0.02, "I_22": 0.03, "I_33": 0.04}
CENTRAL: dict[str, Any] = {"r_CM": (0.0, 0.0, 0.0)}
TIP_BODY = Body("tip", **TIP)


def chain(*components: Component, planar: bool = True) -> System:
    """Return parts and joints in a row, each one's frame_b on the next one's frame_a, from the world outward."""
    names = ["world", *(item.name for item in components)]
    row = [(f"{a}.frame_b", f"{b}.frame_a") for a, b in pairwise(names)]
    return System(
        "chain",
        planar=planar,
        components=(World(), *components),
        connections=tuple(connect(*pair) for pair in row),
    )


def beam(name: str, **fields: Any) -> Beam:
    return Beam(name, **BEAM | {"modes": 2, "zeta": 0.02} | fields)


def backward(*, planar: bool) -> System:
    """A hinge that holds a beam at its frame_b, and a body on its frame_a."""
    body = Body("load", **TIP)
    return System(
        "backward", planar=planar, components=(World(), Revolute("hinge", n=(0, 0, 1)), beam("rod"), body),
        connections=(
            connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_b"),
            connect("rod.frame_a", "load.frame_a"),
        ),
    )  # fmt: skip


def branched(*, planar: bool) -> System:
    """A free hub with two beams, one of them with hinged bodies in the middle and at the end, and a spring."""
    return System(
        "branched", planar=planar,
        components=(
            World(), FreeMotion("free"), Body("hub", **TIP | CENTRAL), FixedTranslation("arm", r=(0.2, 0.1, 0.0)),
            FixedRotation("turn", n=(0, 0, 1), angle=0.7), beam("left"), beam("right", at=(0.4,), axial=1),
            Revolute("middle", n=(0, 0, 1), actuated=True), Body("weight", **TIP), Revolute("end", n=(0, 0, 1)),
            Body("tail", **TIP), SpringDamper("spring", c=50.0, d=1.0, s_unstretched=0.3),
        ),
        connections=tuple(connect(*pair) for pair in (
            ("world.frame_b", "free.frame_a"), ("free.frame_b", "hub.frame_a"), ("hub.frame_a", "left.frame_a"),
            ("hub.frame_a", "arm.frame_a"), ("arm.frame_b", "turn.frame_a"), ("turn.frame_b", "right.frame_a"),
            ("right.frame_1", "middle.frame_a"), ("middle.frame_b", "weight.frame_a"),
            ("right.frame_b", "end.frame_a"), ("end.frame_b", "tail.frame_a"), ("left.frame_b", "spring.frame_a"),
            ("weight.frame_a", "spring.frame_b"),
        )),
    )  # fmt: skip


SPATIAL = {"planar": False}
CART = BodyShape("cart", **TIP | {"r": (0.2, 0.3, 0.0)} | CENTRAL)
FLEXIBLE = {
    "hinge": chain(Revolute("hinge"), beam("rod", modes=3)),
    "arm": chain(
        Revolute("shoulder", actuated=True), beam("upper"), Revolute("elbow", actuated=True), beam("fore"), TIP_BODY
    ),
    "row": chain(Revolute("hinge"), beam("one"), beam("two", axial=1), beam("three", modes=1)),
    "brackets": chain(
        Revolute("hinge"), beam("rod"), FixedTranslation("bracket", r=(0.1, 0.0)),
        Revolute("end"), TIP_BODY,
    ),
    "slider": chain(Prismatic("slide"), CART, beam("mast"), TIP_BODY),
    "clamped": chain(beam("root"), Revolute("hinge"), TIP_BODY),
    "backward": backward(planar=True),
    "branched": branched(planar=True),
    "four_bar": mbfmu.load("flexible_four_bar"),
    "hinge in space": chain(Revolute("hinge", n=(0, 1, 0)), beam("rod", torsion=1), **SPATIAL),
    "arm in space": chain(
        Revolute("shoulder", n=(0, 0, 1)), beam("upper", modes=1, torsion=1), Revolute("elbow", n=(0, 1, 0)),
        beam("fore", modes=1, axial=1), TIP_BODY, **SPATIAL,
    ),
    "row in space": chain(Spherical("ball"), beam("one", modes=1), beam("two", modes=1, torsion=1), **SPATIAL),
    "clamped in space": chain(
        beam("root", modes=1, torsion=1), Revolute("hinge", n=(1, 0, 0)), TIP_BODY, **SPATIAL
    ),
    "backward in space": backward(planar=False),
    "branched in space": branched(planar=False),
}  # fmt: skip
"""Mechanisms by name."""
