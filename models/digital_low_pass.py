"""A sampled low-pass filter of first order: y_n = y_(n-1) + a (u_n - y_(n-1)), with a = 1 - exp(-Ts/T).

Source: Astrom & Wittenmark, Computer-Controlled Systems, 1997, chapter 2: the lag 1/(1 + T s) with an input that is
held over the period that ends at the sampling. The numbers are own choice. Known facts: after a step of the input from
0 to 1, the output is 1 - exp(-(n + 1) Ts/T) at the n-th sampling from it.
"""

from mbfmu.model import Block, Defined, Parameter, Port, Sampled


def digital_low_pass() -> Sampled:
    """Return the filter: `u` in, `y` out."""
    block = Block(
        name="digital_low_pass",
        description="Sampled low-pass filter of first order",
        inputs=(Port("u", "1", "signal"),),
        defined=(Defined("y", "previous(y) + a*(u - previous(y))", "1", "signal, filtered", True),),
        parameters=(
            Parameter("T", 0.01, "s", "time constant", min=1e-9),
            Parameter("Ts", 0.001, "s", "period", min=1e-6),
            Parameter("a", "1 - exp(-Ts/T)", "1", "weight of the newest sample"),
        ),
    )
    return Sampled(block, period="Ts")
