"""A delay of N samples: y_n = u_(n - N), such as that of a bus or of a computation.

Source: Astrom & Wittenmark, Computer-Controlled Systems, 1997, chapter 2 (the delay operator q^-N). The period is own
choice. `x_0` is the input sampled last, `x_k` that of k samplings before; `y` is x_N. The start values of all are what
counts as sampled before the first sampling. Known facts: its transfer function is z^-N.
"""

from mbfmu.errors import ValueRangeError
from mbfmu.model import Block, Defined, Parameter, Port, Sampled


def sample_delay(N: int = 1) -> Sampled:
    """Return the block: `u` in, `y` out.

    Args:
        N: number of periods, at least 1.
    """
    if N < 1:
        raise ValueRangeError(f"N = {N} must be at least 1: a delay takes one period or more")
    block = Block(
        name="sample_delay",
        description="Delay of a whole number of samples",
        inputs=(Port("u", "1", "signal"),),
        defined=(
            Defined("x_0", "u", "1", "signal, sampled last"),
            *(Defined(f"x_{k}", f"previous(x_{k - 1})", "1", f"signal of {k} samples before") for k in range(1, N)),
            Defined("y", f"previous(x_{N - 1})", "1", "signal, delayed", True),
        ),
        parameters=(Parameter("Ts", 0.001, "s", "period", min=1e-6),),
    )
    return Sampled(block, period="Ts")
