"""A hydraulic cylinder with two chambers: from the flows of its ports and the motion of its rod to its force.

Position and velocity of the rod come from a mechanism, which takes the force; the pressures are states, so that valves
can be wired to them without a circle. Equations: Merritt, Hydraulic Control Systems, 1967, chapter 6 (chambers of
compressible oil, p' = beta/V (q - V'), laminar leakage, viscous friction). A cushion at each end of the stroke is a
spring with damping after Hunt & Crossley, J. Appl. Mech. 42 (1975): f = k d (1 + lambda d'), with d the depth in the
cushion, a ramp whose start is smoothed over -e..e by a polynomial, so that its second derivative has no jump (own
choice).

With flows measured at the pressure of the chamber, oil of a constant bulk modulus carries h = p + e of energy a
volume, e(p) = beta (exp(p/beta) - 1) - p of it as compression: then V e is the energy stored in a chamber, and h_a q_a
+ h_b q_b = stored' + lost + f v holds to round-off. Pressures are above the atmosphere's.

Sources of the numbers: bore and rod of the series of ISO 3320; all else is own choice of usual size. Known facts: with
both ports closed a small movement meets the stiffness beta (A_a^2/V_a + A_b^2/V_b); far from the ends of its stroke
the force is A_a p_a - A_b p_b - b v.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State

WITHIN = "max(-e, min(e, {x}))"
RAMP = "((z_{end} + e)**3*(3*e - z_{end})/(16*e**3) + max(0, {x} - e))"
"""max(0, x), smoothed between -e and e."""
AREA = "(((z_{end} + e)**4*e - (z_{end} + e)**5/5)/(16*e**3) + e*max(0, {x} - e) + max(0, {x} - e)**2/2)"
"""Its integral over x."""
ENDS = {"i": "-x", "o": "x - L"}
"""Way beyond each end of the stroke: rod in, rod out."""


def cylinder() -> Block:
    """Return the cylinder: `s`, `v`, `q_a`, `q_b` in, `f` out; s = 0 is the stroke `s_0` of the piston."""
    cushions = " + ".join(AREA.format(end=end, x=beyond) for end, beyond in ENDS.items())
    return Block(
        name="cylinder",
        description="Hydraulic cylinder: flows and motion of the rod in, force and pressures out",
        inputs=(
            Port("s", "m", "displacement of the rod, outwards", nominal=0.1),
            Port("v", "m/s", "velocity of the rod", nominal=0.1),
            Port("q_a", "m3/s", "flow into chamber a, which pushes", nominal=1e-4),
            Port("q_b", "m3/s", "flow into chamber b, which pulls", nominal=1e-4),
        ),
        states=(
            State("p_a", "beta/V_a*(q_a - q_i - A_a*v)", "Pa", 6e6, "pressure in chamber a", 1e6),
            State("p_b", "beta/V_b*(q_b + q_i + A_b*v)", "Pa", 9e6, "pressure in chamber b", 1e6),
        ),
        defined=(
            Defined("x", "s_0 + s", "m", "stroke of the piston, 0 to L", nominal=0.1),
            Defined("V_a", "V_0a + A_a*x", "m3", "volume of chamber a", nominal=1e-3),
            Defined("V_b", "V_0b + A_b*(L - x)", "m3", "volume of chamber b", nominal=1e-3),
            Defined("q_i", "C_i*(p_a - p_b)", "m3/s", "leakage past the piston", nominal=1e-6),
            Defined("f_p", "A_a*p_a - A_b*p_b", "N", "force of the pressures", nominal=1e4),
            *(
                item
                for end, beyond in ENDS.items()
                for item in (
                    Defined(f"z_{end}", WITHIN.format(x=beyond), "m", "way beyond, within -e..e", nominal=1e-3),
                    Defined(f"d_{end}", RAMP.format(end=end, x=beyond), "m", "depth in the cushion", nominal=1e-3),
                )
            ),
            Defined("f_e", "k*(d_i*(1 - lambda_*v) - d_o*(1 + lambda_*v))", "N", "force of the cushions", nominal=1e4),
            Defined("f", "f_p + f_e - b*v", "N", "force of the rod, pushing", True, 1e4),
            Defined("h_a", "beta*(exp(p_a/beta) - 1)", "J/m3", "energy of the oil of a", nominal=1e7),
            Defined("h_b", "beta*(exp(p_b/beta) - 1)", "J/m3", "energy of the oil of b", nominal=1e7),
            Defined("P", "h_a*q_a + h_b*q_b", "W", "power of the flows into the cylinder", True, 1e3),
            Defined(
                "stored", f"V_a*(h_a - p_a) + V_b*(h_b - p_b) + k*({cushions})",
                "J", "energy of the compressed oil and of the cushions", True, 1e2,
            ),
            Defined(
                "lost", "q_i*(h_a - h_b) + (b + k*lambda_*(d_i + d_o))*v**2", "W", "power turned into heat", True, 1e2
            ),
        ),
        parameters=(
            Parameter("D", 0.063, "m", "bore", min=1e-3),
            Parameter("d", 0.036, "m", "diameter of the rod", min=0),
            Parameter("L", 0.5, "m", "stroke", min=1e-3),
            Parameter("s_0", 0.25, "m", "stroke of the piston at s = 0"),
            Parameter("A_a", "pi/4*D**2", "m2", "area of the piston"),
            Parameter("A_b", "pi/4*(D**2 - d**2)", "m2", "area on the side of the rod", min=0),
            Parameter("V_0a", 1e-4, "m3", "dead volume of chamber a with its line", min=1e-9),
            Parameter("V_0b", 1e-4, "m3", "dead volume of chamber b with its line", min=1e-9),
            Parameter("beta", 1.2e9, "Pa", "bulk modulus of the oil", min=1e6),
            Parameter("C_i", 1e-13, "m3/(s.Pa)", "conductance of the leakage past the piston", min=0),
            Parameter("b", 2000.0, "N.s/m", "viscous friction", min=0),
            Parameter("k", 5e7, "N/m", "stiffness of the cushions", min=0),
            Parameter("lambda_", 5.0, "s/m", "damping of the cushions, of their force for each m/s", min=0),
            Parameter("e", 1e-3, "m", "way over which the cushions begin", min=1e-9),
        ),
    )  # fmt: skip
