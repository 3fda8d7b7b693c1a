"""A rate limiter: its output follows the input, by no more than a given way each period.

Source: Astrom & Hagglund, PID Controllers: Theory, Design, and Tuning, 1995, section 3.5 (limits of set points, against
windup). It begins at the start value of `y`. The numbers are own choice. Known facts: after a jump the output is a ramp
of the rate `rising` or `falling` that ends at the input exactly.
"""

from mbfmu.model import Block, Defined, Parameter, Port, Sampled


def rate_limiter() -> Sampled:
    """Return the block: `u` in, `y` out."""
    block = Block(
        name="rate_limiter",
        description="Signal whose rate is limited",
        inputs=(Port("u", "1", "signal"),),
        defined=(
            Defined(
                "y", "min(previous(y) + Ts*rising, max(previous(y) - Ts*falling, u))", "1", "signal, limited", True
            ),
        ),
        parameters=(
            Parameter("rising", 1.0, "1/s", "greatest rate upwards", min=0),
            Parameter("falling", 1.0, "1/s", "greatest rate downwards", min=0),
            Parameter("Ts", 0.001, "s", "period", min=1e-6),
        ),
    )
    return Sampled(block, period="Ts")
