"""A PID controller with filtered derivative, setpoint weight, limits and anti-windup.

Source: Astrom & Hagglund, PID Controllers: Theory, Design, and Tuning, 1995, section 3.3 to 3.5: derivative of the
measurement through a filter of T_d/N, back-calculation with tracking time T_t. The numbers are to be chosen; those
here are of no system. Known facts: with a constant error e the output grows by K e/T_i a second until its limit, and
comes back from there within about T_t.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State


def pid() -> Block:
    """Return the controller: `reference`, `measured`, `forward` in, `y` out."""
    return Block(
        name="pid",
        description="PID controller with filter, limits and anti-windup",
        inputs=(
            Port("reference", "1", "what should be"),
            Port("measured", "1", "what is"),
            Port("forward", "1", "added to the output before its limits"),
        ),
        states=(
            State("integral", "K/T_i*(reference - measured) + (y - raw)/T_t", "1", 0.0, "integral part"),
            State("filtered", "(measured - filtered)*N/T_d", "1", 0.0, "measurement behind the filter"),
        ),
        defined=(
            Defined("proportional", "K*(weight*reference - measured)", "1", "proportional part"),
            Defined("derivative", "-K*N*(measured - filtered)", "1", "derivative part"),
            Defined("raw", "proportional + integral + derivative + forward", "1", "output without limits"),
            Defined("y", "max(y_min, min(y_max, raw))", "1", "output", output=True),
        ),
        parameters=(
            Parameter("K", 1.0, "1", "gain"),
            Parameter("T_i", 1.0, "s", "integral time", min=1e-9),
            Parameter("T_d", 0.1, "s", "derivative time", min=1e-9),
            Parameter("N", 10.0, "1", "the filter's time constant is T_d/N", min=1e-3),
            Parameter("T_t", 0.3, "s", "tracking time of the anti-windup", min=1e-9),
            Parameter("weight", 1.0, "1", "weight of the reference in the proportional part"),
            Parameter("y_min", -1e9, "1", "least output"),
            Parameter("y_max", 1e9, "1", "greatest output"),
        ),
    )
