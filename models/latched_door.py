"""A door that is thrown shut, held by a magnet, and pulled open by a spring whose other end turns away.

The door is at the angle phi >= 0, the other end of the spring at drift times the time. Known facts: with
omega = sqrt(c/J) the door moves as phi = drift t + A cos(omega t) + B sin(omega t); what arrives at phi = 0 is caught,
and held until the spring has the torque of the magnet, at the time pull/(c drift), wherever it came from before.
"""

from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter


def latched_door() -> LagrangianSystem:
    """Return the door; `phi` is its angle, `omega` its rate, `latch.f_n` the torque of the magnet, below 0."""
    return LagrangianSystem(
        name="latched_door",
        description="A door that a magnet holds up to a torque",
        coordinates=(Coordinate("phi", "rad", 0.6, -3.0, "angle"),),
        kinetic="J*der(phi)**2/2",
        potential="c*(phi - drift*time)**2/2",
        parameters=(
            Parameter("J", 2.0, "kg.m2", "inertia about the hinge", min=1e-9),
            Parameter("c", 20.0, "N.m/rad", "spring constant", min=0),
            Parameter("drift", 0.2, "rad/s", "rate of the other end of the spring"),
            Parameter("pull", 6.0, "N.m", "torque that the magnet holds", min=0),
            Parameter("e", 0.4, "1", "restitution at the stop", min=0, max=1),
            Parameter("phi_stop", 0.7, "rad", "angle of the stop"),
        ),
        contacts=(
            Contact("latch", gap="phi", pull="pull", unit="rad"),
            Contact("stop", gap="phi_stop - phi", restitution="e", unit="rad"),
        ),
        names={"omega": "der(phi)"},
    )
