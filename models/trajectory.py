"""A trajectory generator: from one value to another and there at rest, by a polynomial of degree five in time.

Source: the polynomial with rest at both ends, 10 x^3 - 15 x^4 + 6 x^5 (Spong, Hutchinson & Vidyasagar, Robot Modeling
and Control, 2006, 5.5.2). Known facts: the greatest rate is 15/8 (y_1 - y_0)/T, half way.
"""

from mbfmu.model import Block, Defined, Parameter


def trajectory() -> Block:
    """Return the generator: `y`, `rate` and `acceleration` out."""
    return Block(
        name="trajectory",
        description="From one value to another, at rest at both ends",
        defined=(
            Defined("x", "max(0, min(1, (time - t_0)/T))", "1", "part of the time that is over"),
            Defined("y", "y_0 + (y_1 - y_0)*x**3*(10 - 15*x + 6*x**2)", "1", "value", output=True),
            Defined("rate", "(y_1 - y_0)/T*30*x**2*(1 - x)**2", "1/s", "its rate", output=True),
            Defined("acceleration", "(y_1 - y_0)/T**2*60*x*(1 - x)*(1 - 2*x)", "1/s2", "the rate's rate", output=True),
        ),
        parameters=(
            Parameter("y_0", 0.0, "1", "value at the start"),
            Parameter("y_1", 1.0, "1", "value at the end"),
            Parameter("t_0", 0.0, "s", "time at which it starts"),
            Parameter("T", 1.0, "s", "time it takes", min=1e-9),
        ),
    )
