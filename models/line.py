"""A volume of oil between N flows, such as a line, a hose or a manifold: from the flows to the pressure.

Equation: p' = beta/V (q_1 + ... + q_N), each flow counted as it comes in; the energy of the oil is that of `cylinder`.
The inertia of the oil, which matters in long lines, is a block of its own: `pipe`. The numbers are own choice: a line
of 3 m and 20 mm. Known facts: under a constant flow the pressure rises by beta q t/V.
"""

from mbfmu.errors import ValueRangeError
from mbfmu.model import Block, Defined, Parameter, Port, State


def line(N: int = 2) -> Block:
    """Return the volume: `q_1` to `q_N` in, `p` out.

    Args:
        N: number of flows, at least 1.
    """
    if N < 1:
        raise ValueRangeError(f"N = {N} must be at least 1: a volume without a flow keeps its pressure")
    flows = [f"q_{k}" for k in range(1, N + 1)]
    return Block(
        name="line",
        description="Volume of oil: flows in, pressure out",
        inputs=tuple(Port(name, "m3/s", "flow into the volume", nominal=1e-4) for name in flows),
        states=(State("p", f"beta/V*({' + '.join(flows)})", "Pa", 2e7, "pressure", 1e7),),
        defined=(
            Defined("h", "beta*(exp(p/beta) - 1)", "J/m3", "energy of the oil that flows", nominal=1e7),
            Defined("stored", "V*(h - p)", "J", "energy of the compressed oil", True, 1e2),
        ),
        parameters=(
            Parameter("V", 1e-3, "m3", "volume", min=1e-9),
            Parameter("beta", 1.2e9, "Pa", "bulk modulus of the oil", min=1e6),
        ),
    )
