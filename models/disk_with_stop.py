"""A pendulum whose disk hits a stop where it hangs lowest.

The mass m is at the distance l from the hinge and hangs at phi = 0; the stop keeps phi at or above stop_at_phi. Known
facts, with the stop at 0: sin(phi_max/2) shrinks by e at each impact, and with k = sin(phi_max/2) a flight takes
2 K(k) sqrt(l/g), K the complete elliptic integral. The flights do not get shorter than pi sqrt(l/g): it never rests.
"""

from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter


def disk_with_stop() -> LagrangianSystem:
    """Return the pendulum; `phi` is its angle, `omega` its rate."""
    return LagrangianSystem(
        name="disk_with_stop",
        description="A pendulum that hits a stop",
        coordinates=(Coordinate("phi", "rad", 1.0, 0.0, "angle"),),
        kinetic="m*l**2*der(phi)**2/2",
        potential="-m*g*l*cos(phi)",
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("l", 1.0, "m", "distance of the mass from the hinge", min=1e-9),
            Parameter("g", 9.81, "m/s2", "gravity acceleration", min=0),
            Parameter("e", 0.6, "1", "restitution", min=0, max=1),
            Parameter("stop_at_phi", 0.0, "rad", "angle of the stop"),
        ),
        contacts=(Contact("stop", gap="phi - stop_at_phi", restitution="e", unit="rad"),),
        names={"omega": "der(phi)"},
    )
