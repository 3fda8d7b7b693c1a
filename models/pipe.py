"""A column of oil in a pipe, with its inertia and its laminar friction: from the pressures at its ends to its flow.

It stands between two volumes, such as two of `line`: several of both are a long line. Equations: rho l/A q' = p_1 -
p_2 - R q with R of Hagen and Poiseuille, 128 rho nu l/(pi d^4) (Merritt, Hydraulic Control Systems, 1967, chapter 3).
The same volume leaves as enters; what its energy of compression changes by is counted as heat, which is exact in sum
and e(p)/p of the flow work, less than a hundredth. The numbers are own choice. Known facts: between a constant
pressure and a volume V it swings with sqrt(beta A/(V rho l)); at rest p_1 - p_2 = R q.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State


def pipe() -> Block:
    """Return the column: `p_1`, `p_2` in, `q` out."""
    return Block(
        name="pipe",
        description="Column of oil with inertia and friction: pressures in, flow out",
        inputs=(
            Port("p_1", "Pa", "pressure where positive flow comes from", 0.0, 1e6),
            Port("p_2", "Pa", "pressure where it goes", 0.0, 1e6),
        ),
        states=(State("q", "(p_1 - p_2 - R*q)/I", "m3/s", 0.0, "flow", 1e-4),),
        defined=(
            Defined("P", "q*beta*(exp(p_1/beta) - exp(p_2/beta))", "W", "power taken from both ends", True, 1e2),
            Defined("stored", "I*q**2/2", "J", "kinetic energy", True, 1.0),
            Defined("lost", "P - q*(p_1 - p_2) + R*q**2", "W", "power turned into heat", True, 1e2),
        ),
        parameters=(
            Parameter("d", 0.02, "m", "inner diameter", min=1e-6),
            Parameter("l", 3.0, "m", "length", min=1e-6),
            Parameter("rho", 870.0, "kg/m3", "density of the oil", min=1e-9),
            Parameter("nu", 4.6e-5, "m2/s", "kinematic viscosity of the oil", min=0),
            Parameter("A", "pi/4*d**2", "m2", "area"),
            Parameter("I", "rho*l/A", "kg/m4", "inertance"),
            Parameter("R", "128*rho*nu*l/(pi*d**4)", "Pa.s/m3", "resistance"),
            Parameter("beta", 1.2e9, "Pa", "bulk modulus of the oil", min=1e6),
        ),
    )
