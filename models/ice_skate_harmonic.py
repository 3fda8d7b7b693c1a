"""A skate in a harmonic potential: one body, one nonholonomic constraint, a force of the model's own.

Source: Gao et al., discrete integration of nonholonomic constrained dynamical systems, second example
(V = x^2/2 + y^2, unit mass and inertia; start (0, 0, 1) with velocity (cos 1, sin 1, 1)). Known facts: phi = 1 + t,
the energy 1 is constant.
"""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

from mbfmu.model import Body, Force, Frame, FreeMotion, KnifeEdge, System, World, connect


@dataclass(frozen=True)
class Well(Force):
    """Potential of frame_b in the axes of the world: x^2/2 + y^2."""

    def potential(self, p: Any, a: Frame, b: Frame) -> Any:
        """Return the potential energy, J."""
        x, y = b.r_0[0] - a.r_0[0], b.r_0[1] - a.r_0[1]
        return x**2 / 2 + y**2


def ice_skate_harmonic() -> System:
    """Return the skate in the well."""
    return System(
        name="ice_skate_harmonic",
        description="A skate in a harmonic potential, with a knife edge",
        planar=True,
        components=(
            World(g=0.0),
            FreeMotion("free"),
            KnifeEdge("blade"),
            Well("well"),
            Body("skate", m=1.0, I_33=1.0, r_0=(0.0, 0.0), v_0=(cos(1.0), sin(1.0)), phi=1.0, w=1.0),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "skate.frame_a"),
            connect("world.frame_b", "blade.frame_a"),
            connect("blade.frame_b", "skate.frame_a"),
            connect("world.frame_b", "well.frame_a"),
            connect("well.frame_b", "skate.frame_a"),
        ),
    )
