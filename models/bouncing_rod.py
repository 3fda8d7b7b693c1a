"""A rod that falls on the ground and bounces from one end to the other.

The centre of mass is at (x, y), the rod at the angle theta from the horizontal; its ends are half the length L from
the centre. Each end hits with Newton's restitution e and rubs with Coulomb's friction mu. Known facts: without friction
x does not change, the energy is constant in flight, and the impulse at an end that hits with the speed s is
(1 + e) s/(1/m + (L/2 cos theta)^2/J).
"""

import math

from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter


def bouncing_rod(L: float = 1.0, theta: float = math.pi / 6, clearance_of_lower_end: float = 0.5) -> LagrangianSystem:
    """Return the rod; `end1` is the end at -L/2, the lower one for 0 < theta < pi.

    Args:
        L: length, m.
        theta: angle at the start, rad.
        clearance_of_lower_end: height of the lower end at the start, m.
    """
    y = clearance_of_lower_end + L / 2 * abs(math.sin(theta))
    return LagrangianSystem(
        name="bouncing_rod",
        description="A rod that bounces on its ends",
        coordinates=(
            Coordinate("x", "m", 0.0, 0.0, "place of the centre"),
            Coordinate("y", "m", y, 0.0, "height of the centre"),
            Coordinate("theta", "rad", theta, 0.0, "angle from the horizontal"),
        ),
        kinetic="m*(der(x)**2 + der(y)**2)/2 + J*der(theta)**2/2",
        potential="m*g*y",
        parameters=(
            Parameter("L", L, "m", "length", min=1e-9),
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("J", 1 / 12, "kg.m2", "inertia about the centre", min=1e-12),
            Parameter("g", 9.81, "m/s2", "gravity acceleration", min=0),
            Parameter("e", 0.5, "1", "restitution", min=0, max=1),
            Parameter("mu", 0.0, "1", "friction", min=0),
        ),
        contacts=tuple(
            Contact(
                name,
                gap=f"y {sign} L/2*sin(theta)",
                restitution="e",
                slide=f"x {sign} L/2*cos(theta)",
                sliding="mu*normal",
            )
            for name, sign in (("end1", "-"), ("end2", "+"))
        ),
        names={"v": "der(y)", "omega": "der(theta)"},
    )
