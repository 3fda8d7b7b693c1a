"""A lead or lag compensator K (1 + T_1 s)/(1 + T_2 s).

Source: Franklin, Powell & Emami-Naeini, Feedback Control of Dynamic Systems, 1994, chapter 6. The numbers are to be
chosen; those here are of no system. Known facts: with T_1 > T_2 it leads, the most at 1/sqrt(T_1 T_2) and there by
asin((T_1 - T_2)/(T_1 + T_2)); with T_1 < T_2 it lags.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State


def lead_lag() -> Block:
    """Return the compensator: `u` in, `y` out."""
    return Block(
        name="lead_lag",
        description="Lead or lag compensator",
        inputs=(Port("u", "1", "signal"),),
        states=(State("x", "(u - x)/T_2", "1", 0.0, "signal behind the lag"),),
        defined=(Defined("y", "K*(x + T_1/T_2*(u - x))", "1", "output", True),),
        parameters=(
            Parameter("K", 1.0, "1", "gain at rest"),
            Parameter("T_1", 0.1, "s", "time constant of the numerator", min=0),
            Parameter("T_2", 0.01, "s", "time constant of the denominator", min=1e-9),
        ),
    )
