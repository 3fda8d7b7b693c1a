"""A gas-loaded accumulator: from N flows to the pressure.

Equations: the gas obeys the polytropic law (p + p_n) V_g^n = (p_0 + p_n) V_0^n, n between 1 (slow, isothermal) and 1.4
(fast, adiabatic nitrogen), in absolute pressures; p_n is the atmosphere's. The oil is compressible, and V_d of it
always remains. Below the precharge p_0 the bladder comes to rest on its seat: over a fall w of the pressure the
capacity of the gas goes to zero by a polynomial (own choice), so that the rate of the pressure does not jump. The
energy of the oil is that of `cylinder`; that of the gas is the integral of its pressure above the atmosphere's over
the oil taken in.

It is a volume of its own: a valve, an orifice or a pipe stands between it and another one. The numbers are own choice
of usual size. Known facts: with stiff oil, p + p_n = (p_0 + p_n) (V_0/(V_0 - V))^n after a volume V has come in at
p_0.
"""

from mbfmu.errors import ValueRangeError
from mbfmu.model import Block, Defined, Parameter, Port, State


def accumulator(N: int = 1) -> Block:
    """Return the accumulator: `q_1` to `q_N` in, `p` out.

    Args:
        N: number of flows, at least 1.
    """
    if N < 1:
        raise ValueRangeError(f"N = {N} must be at least 1: an accumulator without a flow keeps its pressure")
    flows = [f"q_{k}" for k in range(1, N + 1)]
    return Block(
        name="accumulator",
        description="Accumulator with gas: flows in, pressure out",
        inputs=tuple(Port(name, "m3/s", "flow into the accumulator", nominal=1e-4) for name in flows),
        states=(State("p", f"({' + '.join(flows)})/C", "Pa", 1.5e7, "pressure", 1e7),),
        defined=(
            Defined("x", "max(0, min(1, 1 + (p - p_0)/w))", "1", "part by which the bladder has left its seat"),
            Defined("p_g", "max(p, p_0) + p_n", "Pa", "pressure of the gas, absolute", nominal=1e7),
            Defined("V_g", "V_0*((p_0 + p_n)/p_g)**(1/n)", "m3", "volume of the gas, off its seat", nominal=1e-3),
            Defined("V_o", "V_d + C_0*w*(x**3 - x**4/2) + V_0 - V_g", "m3", "volume of the oil", nominal=1e-3),
            Defined("C", "V_o/beta + V_g/(n*p_g)*x**2*(3 - 2*x)", "m3/Pa", "capacity", nominal=1e-10),
            Defined("h", "beta*(exp(p/beta) - 1)", "J/m3", "energy of the oil that flows", nominal=1e7),
            Defined(
                "gas", "(p_g*V_g - (p_0 + p_n)*V_0)/(n - 1) - p_n*(V_0 - V_g)", "J", "energy of the compressed gas",
                nominal=1e3,
            ),
            Defined(
                "seat", "C_0*w*((p_0 - w)*(x**3 - x**4/2) + w*(3*x**4/4 - 2*x**5/5))", "J",
                "energy taken in before the bladder is off its seat", nominal=1e2,
            ),
            Defined("stored", "V_o*(h - p) + gas + seat", "J", "energy of the compressed gas and oil", True, 1e3),
        ),
        parameters=(
            Parameter("V_0", 1e-3, "m3", "volume of the gas at the precharge", min=1e-9),
            Parameter("p_0", 1e7, "Pa", "pressure of the precharge", min=0),
            Parameter("n", 1.3, "1", "polytropic exponent; 1.001 is isothermal to a thousandth", min=1.001),
            Parameter("p_n", 101325.0, "Pa", "pressure of the atmosphere", min=0),
            Parameter("C_0", "V_0/(n*(p_0 + p_n))", "m3/Pa", "capacity of the gas at the precharge"),
            Parameter("w", 1e6, "Pa", "fall of pressure below the precharge that seats the bladder", min=1),
            Parameter("V_d", 1e-4, "m3", "volume of the oil that always remains", min=1e-9),
            Parameter("beta", 1.2e9, "Pa", "bulk modulus of the oil", min=1e6),
        ),
    )  # fmt: skip
