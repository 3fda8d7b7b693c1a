"""A sample-and-hold: it takes its input at each sampling, and keeps it until the next, or as long as `hold` is 1.

Source: Astrom & Wittenmark, Computer-Controlled Systems, 1997, chapter 2 (zero-order hold). The period is own choice.
Known facts: it delays a slow signal by half of its period.
"""

from mbfmu.model import Block, Defined, Parameter, Port, Sampled


def sample_and_hold() -> Sampled:
    """Return the block: `u`, `hold` in, `y` out."""
    block = Block(
        name="sample_and_hold",
        description="Samples its input and holds it",
        inputs=(Port("u", "1", "signal"), Port("hold", "1", "1: the output stays as it is; 0: it is sampled")),
        defined=(Defined("y", "where(hold >= 0.5, previous(y), u)", "1", "signal, held", True),),
        parameters=(Parameter("Ts", 0.001, "s", "period", min=1e-6),),
    )
    return Sampled(block, period="Ts")
