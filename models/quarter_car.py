"""A quarter of a car: body and wheel above each other on springs, over a road, with a force in the suspension.

Source: the usual two-mass model of ride comfort (for example Gillespie, Fundamentals of Vehicle Dynamics, ch. 5); own
data of a mid-size car. Known facts: linear, so the motion is a matrix exponential; body and wheel bounce at about 1.2
and 11 Hz.
"""

from dataclasses import dataclass
from typing import Any

from mbfmu.model import (
    Body,
    Input,
    Parameter,
    Prismatic,
    System,
    TranslationalDamper,
    TranslationalSpring,
    World,
    connect,
)
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class Tyre(TranslationalSpring):
    """A linear spring between wheel and road: ``f = -c (s - z)``; the input `z`, m, is the height of the road."""

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        """Return the road."""
        return (Input("z", "m", "height of the road"),)

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        """Return what the road adds to the spring's own force -c s."""
        return p.c * p.z


def quarter_car() -> System:
    """Return the quarter car; `hub.s` and `suspension.s` are zero where the springs are without force."""
    return System(
        name="quarter_car",
        description="A quarter of a car with an active suspension",
        planar=True,
        parameters=(
            Parameter("m_s", 300.0, "kg", "sprung mass", min=1e-9),
            Parameter("m_u", 40.0, "kg", "unsprung mass", min=1e-9),
            Parameter("k_s", 18e3, "N/m", "stiffness of the suspension", min=0),
            Parameter("c_s", 1.4e3, "N.s/m", "damping constant of the suspension", min=0),
            Parameter("k_t", 180e3, "N/m", "stiffness of the tyre", min=0),
        ),
        components=(
            World(g=9.81),
            Prismatic("hub", n=(0, 1), s=0.0, v=0.0),
            Body("wheel", m="m_u", I_33=1.0),
            Tyre("tyre", joint="hub", c="k_t"),
            Prismatic("suspension", n=(0, 1), s=0.0, v=0.0, actuated=True),
            Body("car", m="m_s", I_33=100.0),
            TranslationalSpring("spring", joint="suspension", c="k_s"),
            TranslationalDamper("damper", joint="suspension", d="c_s"),
        ),
        connections=(
            connect("world.frame_b", "hub.frame_a"),
            connect("hub.frame_b", "wheel.frame_a"),
            connect("wheel.frame_a", "suspension.frame_a"),
            connect("suspension.frame_b", "car.frame_a"),
        ),
    )
