"""A low-pass filter of first or second order.

Equations: y' = w_c (u - y), or y'' = w_c^2 (u - y) - 2 D w_c y'; with D = 1/sqrt(2) Butterworth's (Butterworth, On the
theory of filter amplifiers, Wireless Engineer 7, 1930). The numbers are to be chosen; those here are of no system.
Known facts: at w_c it lets 1/sqrt(2) through, with a lag of 45 or 90 degrees.
"""

from mbfmu.errors import ValueRangeError
from mbfmu.model import Block, Defined, Parameter, Port, State


def low_pass(order: int = 1) -> Block:
    """Return the filter: `u` in, `y` out.

    Args:
        order: 1 or 2.
    """
    if order not in {1, 2}:
        raise ValueRangeError(f"order = {order} must be 1 or 2: put filters in series for a higher order")
    second = order == 2
    return Block(
        name="low_pass",
        description=f"Low-pass filter of order {order}",
        inputs=(Port("u", "1", "signal"),),
        states=(
            State("x", "rate" if second else "w_c*(u - x)", "1", 0.0, "filtered signal"),
            *[State("rate", "w_c**2*(u - x) - 2*D*w_c*rate", "1/s", 0.0, "its rate", 1e2)] * second,
        ),
        defined=(Defined("y", "x", "1", "output", True),),
        parameters=(
            Parameter("w_c", 100.0, "rad/s", "corner frequency", min=1e-9),
            *[Parameter("D", 0.7071067811865476, "1", "damping ratio", min=0)] * second,
        ),
    )
