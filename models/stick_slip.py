"""A mass on a running belt, held by a spring: it sticks to the belt, slips back, and sticks again.

The friction of the belt is at most F_s while the mass sticks, and F_k + (F_s - F_k)/(1 + delta |v - v_belt|) while it
slips. Source: Leine, van Campen, de Kraker & van den Steen, Stick-slip vibrations induced by alternate friction models,
Nonlinear Dynamics 16, 1998: F_k = 0, c = 0; Coulomb's law is F_k = F_s. Known facts: it sticks as long as
|k x + c v_belt| <= F_s, and with Leine's numbers a limit cycle of 12.001 s slips from x = F_s/k on.
"""

from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter


def stick_slip() -> LagrangianSystem:
    """Return the mass; `x` is measured from where the spring is free, `v` is its rate, `belt.sticks` the mode."""
    return LagrangianSystem(
        name="stick_slip",
        description="A mass on a belt that sticks and slips",
        coordinates=(Coordinate("x", "m", 0.0, 0.2, "place"),),
        kinetic="m*der(x)**2/2",
        potential="k*x**2/2",
        dissipation="c*der(x)**2/2",
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("k", 1.0, "N/m", "stiffness of the spring", min=0),
            Parameter("c", 0.0, "N.s/m", "damping between mass and ground", min=0),
            Parameter("v_belt", 0.2, "m/s", "velocity of the belt"),
            Parameter("F_s", 1.0, "N", "largest friction while it sticks", min=0),
            Parameter("F_k", 0.0, "N", "friction at large slip rates", min=0),
            Parameter("delta", 3.0, "s/m", "decrease of the friction with the slip rate", min=0),
        ),
        contacts=(
            Contact("belt", slide="x - v_belt*time", sliding="F_k + (F_s - F_k)/(1 + delta*speed)", static="F_s"),
        ),
        names={"v": "der(x)"},
    )
