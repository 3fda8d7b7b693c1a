"""An orifice, fixed or adjustable: from the pressures at its ends to the flow through it.

Equation: q = C_d A x sqrt(2/rho) dp/(dp^2 + dp_0^2)^(1/4), turbulent for large drops of pressure and laminar for small
ones; dp_0 = rho/2 (Re_t nu/(C_d D_h))^2 is the drop at which the turbulent flow has the Reynolds number Re_t of the
transition, as in MathWorks' orifices (Simscape Fluids). The energy of the oil is that of `cylinder`.

Sources of the numbers: Re_t and the discharge coefficient are usual values of sharp edges; oil of the class ISO VG 46
at 40 degrees; the area is own choice. Known facts: q = C_d A sqrt(2 dp/rho) far above dp_0, to (dp_0/dp)^2/4.
"""

from mbfmu.model import Block, Defined, Parameter, Port


def orifice() -> Block:
    """Return the orifice: `p_1`, `p_2`, `opening` in, `q` out."""
    return Block(
        name="orifice",
        description="Orifice, turbulent and laminar: pressures in, flow out",
        inputs=(
            Port("p_1", "Pa", "pressure where positive flow comes from", 0.0, 1e6),
            Port("p_2", "Pa", "pressure where it goes", 0.0, 1e6),
            Port("opening", "1", "part of the area that is open, 0 to 1", 1.0),
        ),
        defined=(
            Defined("x", "max(0, min(1, opening))", "1", "opening within its limits"),
            Defined("dp", "p_1 - p_2", "Pa", "drop of pressure", nominal=1e6),
            Defined("q", "C_d*A*x*sqrt(2/rho)*dp/sqrt(sqrt(dp**2 + dp_0**2))", "m3/s", "flow", True, 1e-4),
            Defined(
                "lost", "q*beta*(exp(p_1/beta) - exp(p_2/beta))", "W", "power turned into heat", True, 1e2
            ),
        ),
        parameters=(
            Parameter("A", 5e-6, "m2", "area, fully open", min=0),
            Parameter("C_d", 0.64, "1", "discharge coefficient", min=1e-6),
            Parameter("D_h", 2.5e-3, "m", "hydraulic diameter", min=1e-9),
            Parameter("Re_t", 150.0, "1", "Reynolds number of the transition", min=1e-3),
            Parameter("rho", 870.0, "kg/m3", "density of the oil", min=1e-9),
            Parameter("nu", 4.6e-5, "m2/s", "kinematic viscosity of the oil", min=1e-12),
            Parameter("dp_0", "rho/2*(Re_t*nu/(C_d*D_h))**2", "Pa", "drop of pressure at the transition"),
            Parameter("beta", 1.2e9, "Pa", "bulk modulus of the oil", min=1e6),
        ),
    )  # fmt: skip
