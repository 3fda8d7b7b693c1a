"""A quantizer: a signal in steps of q within limits, as a converter or an encoder gives it.

Source: Widrow & Kollar, Quantization Noise, 2008, chapter 1 (uniform quantizer, mid-tread). With `nearest` = 1 it
rounds to the nearest step, a half upwards; with 0 downwards, as a counter of whole steps does. The numbers are own
choice: an encoder of 4096 lines a turn. Known facts: the error is at most q/2 when it rounds to the nearest step, and
lies between 0 and q when it rounds down.
"""

import math

from mbfmu.model import Block, Defined, Parameter, Port, Sampled


def quantizer() -> Sampled:
    """Return the block: `u` in, `y` out."""
    block = Block(
        name="quantizer",
        description="Signal in equal steps, within limits",
        inputs=(Port("u", "1", "signal"),),
        defined=(Defined("y", "max(y_min, min(y_max, q*floor(u/q + nearest/2)))", "1", "signal, in steps", True),),
        parameters=(
            Parameter("q", 2 * math.pi / 4096, "1", "step", min=1e-12),
            Parameter("nearest", 1.0, "1", "1: rounds to the nearest step; 0: rounds down", 0, 1),
            Parameter("y_min", -1e9, "1", "least output, a multiple of q"),
            Parameter("y_max", 1e9, "1", "greatest output, a multiple of q"),
            Parameter("Ts", 0.001, "s", "period", min=1e-6),
        ),
    )
    return Sampled(block, period="Ts")
