"""Flexible pendulum of beams in a row: horizontal and at rest, they fall and bend far; see `flexible_pendulum`.

Source: own data for comparing programs: L = 1 m, EI = 5 N.m2, rho A = 1 kg/m. Known facts: the energy is constant; the
tip of the inextensible beam, which a Ritz method gives too, is met with an error that falls with the square of the
number of beams. A rigid rod would turn by phi'' = -3 g/(2 L) cos(phi).
"""

from mbfmu.errors import ValueRangeError
from mbfmu.model import Beam, Component, Connection, Parameter, Revolute, System, World, connect


def beam_pendulum(number: int = 4, modes: int = 2) -> System:
    """Return the pendulum.

    Args:
        number: number of beams in a row, `beam1` at the hinge.
        modes: number of bending modes of each.
    """
    if number < 1:
        raise ValueRangeError(f"beam_pendulum: number = {number} must be at least 1")
    components: list[Component] = [World(), Revolute("hinge", phi=0.0, w=0.0)]
    connections: list[Connection] = [connect("world.frame_b", "hinge.frame_a")]
    last = "hinge.frame_b"
    for k in range(1, number + 1):
        components.append(Beam(f"beam{k}", L=f"L/{number}", rho="rhoA", A=1.0, E="EI", I_z=1.0, modes=modes))
        connections.append(connect(last, f"beam{k}.frame_a"))
        last = f"beam{k}.frame_b"
    return System(
        name="beam_pendulum",
        description="A pendulum of beams in a row that bends far",
        planar=True,
        stepper="radau",
        parameters=(
            Parameter("L", 1.0, "m", "length", min=1e-9),
            Parameter("EI", 5.0, "N.m2", "bending stiffness", min=0),
            Parameter("rhoA", 1.0, "kg/m", "mass per length", min=1e-9),
        ),
        components=tuple(components),
        connections=tuple(connections),
    )
