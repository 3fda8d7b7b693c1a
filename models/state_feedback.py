"""State feedback u = forward - k_1 (x_1 - r_1) - ... - k_N (x_N - r_N), within limits; an example of four states.

Source: Friedland, Control System Design, 1986. The gains are those that place all four poles of `cart_pendulum`,
linearised about the upright pole, at -4 rad/s, with x_1 to x_4 its `rail.s`, `hinge.phi`, `rail.v` and `hinge.w`, by
Ackermann's formula; r_2 = pi/2. Known facts: the closed loop has the characteristic polynomial (s + 4)^4.
"""

import math

from mbfmu.model import Block, Defined, Parameter, Port

UPRIGHT = (0.0, math.pi / 2, 0.0, 0.0)
GAINS = (-10.960244648318, 56.476097859327, -11.060244648318, 11.104097859327)


def state_feedback() -> Block:
    """Return the controller: `x_1` to `x_4`, `r_1` to `r_4`, `forward` in, `u` out."""
    numbers = range(1, len(GAINS) + 1)
    return Block(
        name="state_feedback",
        description="Feedback of four states, within limits",
        inputs=(
            *(Port(f"x_{k}", "1", f"state {k}", start) for k, start in enumerate(UPRIGHT, 1)),
            *(Port(f"r_{k}", "1", f"reference of state {k}", start) for k, start in enumerate(UPRIGHT, 1)),
            Port("forward", "1", "added before the limits"),
        ),
        defined=(
            Defined("raw", "forward" + "".join(f" - k_{k}*(x_{k} - r_{k})" for k in numbers), "1", "without limits"),
            Defined("u", "max(-u_max, min(u_max, raw))", "1", "output", True),
        ),
        parameters=(
            *(Parameter(f"k_{k}", gain, "1", f"gain of state {k}") for k, gain in enumerate(GAINS, 1)),
            Parameter("u_max", 1e9, "1", "limit of the output", min=0),
        ),
    )
