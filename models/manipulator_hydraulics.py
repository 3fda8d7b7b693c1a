"""The hydraulics of a manipulator's cylinder: a valve with two half bridges, two chambers of compressible oil.

Source of the equations and of every number: the LIM co-simulation benchmark of a hydraulic manipulator, as its program
has them; `hydraulic_manipulator` is the other half. Known facts: with k = k0 and s = 0.5 m the pressures
3170846.154 and 4529153.846 Pa stay, and hold 8829 N.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State

FLOW_IN = "cd*sqrt(2/rho)*sqrt(pp - {p})"
FLOW_OUT = "cd*sqrt(2/rho)*sqrt({p} - pt)"
BULK = "(1 + b1*{p} - b2*{p}**2)/(b1 - 2*b2*{p})"


def manipulator_hydraulics() -> Block:
    """Return the hydraulics: length `s`, rate `v` and valve position `k` in, force `f` out."""
    supply, drain = "A_max*k", "A_max*(1 - k)"
    return Block(
        name="manipulator_hydraulics",
        description="Valve and cylinder of the hydraulic manipulator",
        inputs=(
            Port("s", "m", "length of the cylinder from eye to eye", start=0.5),
            Port("v", "m/s", "rate of the length", nominal=0.1),
            Port("k", "1", "position of the valve, 0 to 1", start=0.45434558959805127),
        ),
        states=(
            State(
                "p1", f"beta1/(A*l1)*(A*v + {supply}*{FLOW_IN.format(p='p1')} - {drain}*{FLOW_OUT.format(p='p1')})",
                "Pa", 3170846.1538461535, "pressure in the chamber that pulls", 1e6,
            ),
            State(
                "p2", f"beta2/(A*l2)*(-A*v + {drain}*{FLOW_IN.format(p='p2')} - {supply}*{FLOW_OUT.format(p='p2')})",
                "Pa", 4529153.846153847, "pressure in the chamber that pushes", 1e6,
            ),
        ),
        defined=(
            Defined("l1", "lc/2 + s0 - s", "m", "length of chamber 1"),
            Defined("l2", "lc/2 + s - s0", "m", "length of chamber 2"),
            Defined("beta1", BULK.format(p="p1"), "Pa", "bulk modulus in chamber 1", nominal=1e9),
            Defined("beta2", BULK.format(p="p2"), "Pa", "bulk modulus in chamber 2", nominal=1e9),
            Defined("f", "(p2 - p1)*A - c*v", "N", "force of the cylinder, pushing", output=True, nominal=1e4),
        ),
        parameters=(
            Parameter("A", 0.0065, "m2", "area of the piston", min=1e-9),
            Parameter("lc", 0.442, "m", "stroke", min=1e-9),
            Parameter("s0", 0.5, "m", "length of the cylinder at mid-stroke"),
            Parameter("c", 1e5, "N.s/m", "viscous friction", min=0),
            Parameter("A_max", 5e-4, "m2", "opening of the valve at k = 1", min=0),
            Parameter("cd", 0.67, "1", "discharge coefficient", min=0),
            Parameter("rho", 850.0, "kg/m3", "density of the oil", min=1e-9),
            Parameter("pp", 7.6e6, "Pa", "pressure of the pump"),
            Parameter("pt", 1e5, "Pa", "pressure of the tank"),
            Parameter("b1", 6.53e-10, "1/Pa", "compressibility of the oil", min=0),
            Parameter("b2", 1.19e-18, "1/Pa2", "its decrease with pressure", min=0),
        ),
    )  # fmt: skip
