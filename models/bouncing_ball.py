"""A ball that falls on the ground, bounces and comes to rest after finitely long, and infinitely many impacts.

Newton's restitution: the speed after an impact is e times that before. Known facts: from rest at the height h, with
radius 0, the first impact is at t1 = sqrt(2 h/g), the peaks have the heights h e^(2 n), and the ball is at rest from
the time t1 (1 + e)/(1 - e) on, the sum of all flights.
"""

from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter


def bouncing_ball(h: float = 1.0) -> LagrangianSystem:
    """Return the ball; `y` is the height of its centre, `v` its velocity, `ground.impacts` counts.

    Args:
        h: height at the start, m.
    """
    return LagrangianSystem(
        name="bouncing_ball",
        description="A ball that bounces on the ground until it rests",
        coordinates=(Coordinate("y", "m", h, 0.0, "height of the centre"),),
        kinetic="m*der(y)**2/2",
        potential="m*g*y",
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("g", 9.81, "m/s2", "gravity acceleration", min=0),
            Parameter("e", 0.8, "1", "restitution", min=0, max=1),
            Parameter("radius", 0.0, "m", "radius", min=0),
        ),
        contacts=(Contact("ground", gap="y - radius", restitution="e"),),
        names={"v": "der(y)"},
    )
