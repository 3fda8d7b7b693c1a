"""A block on an incline, pushed to and fro: it stays, or slides and stays again.

Along x, downhill, the push P sin(omega_push t) acts; the normal force is N = m g cos(alpha). Known facts: the block
stays as long as |m g sin(alpha) + P sin(omega_push t)| <= mu N, exactly, for any time; without push it slides by
x = g (sin(alpha) - mu cos(alpha)) t^2/2 if alpha is above the angle of friction, atan(mu).
"""

from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter


def incline() -> LagrangianSystem:
    """Return the block, which begins at rest; `v` is the rate of `x`, `plane.sticks` the mode."""
    return LagrangianSystem(
        name="incline",
        description="A block on an incline that sticks or slides",
        coordinates=(Coordinate("x", "m", 0.0, 0.0, "place, downhill"),),
        kinetic="m*der(x)**2/2",
        potential="-(m*g*sin(alpha) + P*sin(omega_push*time))*x",
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("g", 9.81, "m/s2", "gravity acceleration", min=0),
            Parameter("mu", 0.5, "1", "friction", min=0),
            Parameter("alpha", 0.4172828481007255, "rad", "angle of the incline"),
            Parameter("P", 4.0, "N", "amplitude of the push"),
            Parameter("omega_push", 4.0, "rad/s", "angular frequency of the push"),
        ),
        contacts=(Contact("plane", slide="x", sliding="mu*normal", normal="m*g*cos(alpha)"),),
        names={"v": "der(x)"},
    )
