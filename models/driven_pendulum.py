"""A pendulum on a carriage whose motion is prescribed: a constraint that depends on time.

Known facts: with phi from the downward vertical, (I/(m d) + d) phi'' + g sin phi = -s''(t) cos phi for the carriage
at s = amplitude * sin(frequency * t), d the distance to the centre of mass; the energy is not constant.
"""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model import Body, BodyShape, Frame, Parameter, Prismatic, Revolute, System, Value, World, connect, quantity


@dataclass(frozen=True)
class Carriage(Prismatic):
    """A prismatic joint that moves as s = amplitude * sin(frequency * t)."""

    amplitude: Value = quantity(0.0, "m", "amplitude of the prescribed motion")
    frequency: Value = quantity(0.0, "rad/s", "angular frequency of the prescribed motion")

    def position(self, p: Any, a: Frame, b: Frame) -> Any:
        """Return the equations of the guide, and of the motion along it."""
        along = self.motion(p, a, b)[0].value - p.amplitude * ca.sin(p.frequency * p.time)
        return ca.vertcat(super().position(p, a, b), along)


def driven_pendulum() -> System:
    """Return the pendulum; `hinge.phi` is measured from +x, so it hangs at -pi/2."""
    return System(
        name="driven_pendulum",
        description="A pendulum on a carriage whose motion is prescribed",
        planar=True,
        parameters=(
            Parameter("l", 1.0, "m", "length of the rod", min=1e-9),
            Parameter("m", 1.0, "kg", "mass of the rod", min=1e-9),
        ),
        components=(
            World(g=9.81),
            Carriage("carriage", amplitude=0.2, frequency=3.0),
            Body("cart", m=1.0, I_33=0.1),
            Revolute("hinge", phi=-1.2, w=0.0, actuated=True),
            BodyShape("rod", m="m", r=("l", 0), r_CM=("l/2", 0), I_33="m*l**2/12"),
        ),
        connections=(
            connect("world.frame_b", "carriage.frame_a"),
            connect("carriage.frame_b", "cart.frame_a"),
            connect("cart.frame_a", "hinge.frame_a"),
            connect("hinge.frame_b", "rod.frame_a"),
        ),
    )
