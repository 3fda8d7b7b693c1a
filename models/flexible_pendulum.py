"""Flexible pendulum: a hinged beam, straight, horizontal and at rest, falls and bends far while gravity comes up.

Source: own data for comparing programs. The beam is Simo and Reissner's, with shear and rotary inertia. Gravity grows
within `ramp` s from 0 to g, as g (10 u^3 - 15 u^4 + 6 u^5) with u = time/ramp, and stays there: then the energy is
constant. With ramp = 0 it is released at once, which excites every bending mode.
"""

from dataclasses import dataclass
from typing import Any

from mbfmu.model import (
    AbsoluteSensor,
    Component,
    FlexibleLine,
    Force,
    Parameter,
    Revolute,
    System,
    Value,
    World,
    connect,
    law,
    quantity,
)
from mbfmu.model.flexible.line import weights
from mbfmu.model.frame import SX, Frame

SHORT = 1e-9
"""Shortest duration of the ramp, s, that is told from none."""


@dataclass(frozen=True)
class Weight(Force):
    """The weight of a point under gravity along -y that changes with the time.

    Args:
        m: mass, kg.
        a: gravity acceleration as a formula of time, m/s2.
    """

    m: Value = quantity(1.0, "kg", "mass", min=0)
    a: Value = law(9.81, "m/s2", "gravity acceleration as a formula of time")

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        return p.m * p.a() * b.r_0[1]


def flexible_pendulum(elements: int = 8) -> System:
    """Return the pendulum; the tip is at `tip.r`.

    Args:
        elements: number of elements of the beam.
    """
    u = f"min(time/max(ramp, {SHORT}), 1)"
    at = tuple(k / elements for k in range(1, elements))
    ends = ("frame_a", *(f"frame_{k}" for k in range(1, elements)), "frame_b")
    components: list[Component] = [
        World(g=0.0),
        Revolute("hinge", phi=0.0, w=0.0),
        FlexibleLine(
            "beam", L="L", rho="rhoA", A=1.0, E="EA", I_z="EI/EA", G="GA_s", k_y=1.0, k_I="rhoI*EA/(rhoA*EI)",
            elements=elements, at=at,
        ),
    ]  # fmt: skip
    components.append(AbsoluteSensor("tip"))
    connections = [
        connect("world.frame_b", "hinge.frame_a"),
        connect("hinge.frame_b", "beam.frame_a"),
        connect("beam.frame_b", "tip.frame_a"),
    ]
    for k, (share, end) in enumerate(zip(weights(elements), ends, strict=True)):
        components.append(Weight(f"weight{k}", m=f"{share}*rhoA*L/{elements}", a=f"g*{u}**3*(10 - 15*{u} + 6*{u}**2)"))
        connections.append(connect(f"beam.{end}", f"weight{k}.frame_b"))
    return System(
        name="flexible_pendulum",
        description="A pendulum that bends far",
        planar=True,
        stepper="radau",
        parameters=(
            Parameter("L", 1.0, "m", "length", min=1e-9),
            Parameter("EI", 5.0, "N.m2", "bending stiffness", min=1e-9),
            Parameter("EA", 5e6, "N", "stiffness in tension", min=1e-9),
            Parameter("GA_s", 2e6, "N", "shear stiffness", min=1e-9),
            Parameter("rhoA", 1.0, "kg/m", "mass per length", min=1e-9),
            Parameter("rhoI", 1e-6, "kg.m", "rotary inertia per length", min=0),
            Parameter("g", 9.81, "m/s2", "gravity acceleration"),
            Parameter("ramp", 0.25, "s", "duration in which gravity comes up", min=0),
        ),
        components=tuple(components),
        connections=tuple(connections),
    )
