"""A hydraulic servo axis: 4/3 proportional valve and differential cylinder, from a command to a force.

Displacement and velocity of the rod come in, the force goes out, as a master couples it with a mechanism. Equations:
Jelali & Kroll, Hydraulic Servo-systems, 2003, chapter 4 (valve of second order, orifices, chambers, friction); Merritt,
Hydraulic Control Systems, 1967, chapters 3 and 5. Pressures are above the atmosphere's.

Sources of the numbers: bore and rod of the series of ISO 3320; flow of the largest valve of Moog's Series 32, 54 l/min
at 210 bar, so 105 bar at each edge; oil of the LIM hydraulic manipulator benchmark. The spool is an approximation of
second order as in Thayer, Transfer functions for Moog servovalves, Moog Technical Bulletin 103, 1965; its frequency and
damping, leakage, friction, dead volumes and make-up valves are own choice of usual size. Known facts: with the spool
in the middle and no leakage the pressures stay; without a load, p_t = 0 and a small command the rod moves at
q_n sqrt((p_s - p_a)/dp_n)/A_a.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State

PRESSURE = "min(max({p}, 0), 1e8)"
"""Within which the law of the oil holds."""
BULK = f"(1 + b1*{PRESSURE} - b2*{PRESSURE}**2)/(b1 - 2*b2*{PRESSURE})"
DROP = "K*({dp})/(({dp})**2 + dp_0**2)**0.25"


def hydraulic_servo() -> Block:
    """Return the axis: `command`, `s`, `v` in, `f` out; s = 0 is the stroke `s_0` of the piston."""

    def flow(chamber: str) -> tuple[str, str]:
        return DROP.format(dp=f"p_s - p_{chamber}"), DROP.format(dp=f"p_{chamber} - p_t")

    (in_a, out_a), (in_b, out_b) = flow("a"), flow("b")
    return Block(
        name="hydraulic_servo",
        description="Servo valve and differential cylinder: command, displacement and velocity in, force out",
        inputs=(
            Port("command", "1", "opening of the valve asked for, -1 to 1; positive pushes"),
            Port("s", "m", "displacement of the rod", nominal=0.1),
            Port("v", "m/s", "velocity of the rod", nominal=0.1),
        ),
        states=(
            State("y", "y_rate", "1", 0.0, "position of the spool, -1 to 1"),
            State("y_rate", "w_v**2*(asked - y) - 2*D_v*w_v*y_rate", "1/s", 0.0, "rate of the spool", 1e2),
            State("p_a", "beta_a/V_a*(q_a - A_a*v - q_i)", "Pa", 6e6, "pressure in the chamber that pushes", 1e6),
            State("p_b", "beta_b/V_b*(q_b + A_b*v + q_i)", "Pa", 9e6, "pressure in the chamber of the rod", 1e6),
        ),
        defined=(
            Defined("asked", "max(-1, min(1, command))", "1", "command within its limits"),
            Defined("V_a", "V_0 + A_a*max(0, s_0 + s)", "m3", "volume of chamber a", nominal=1e-3),
            Defined("V_b", "V_0 + A_b*max(0, L - s_0 - s)", "m3", "volume of chamber b", nominal=1e-3),
            Defined("beta_a", BULK.format(p="p_a"), "Pa", "bulk modulus in chamber a", nominal=1e9),
            Defined("beta_b", BULK.format(p="p_b"), "Pa", "bulk modulus in chamber b", nominal=1e9),
            Defined(
                "q_a", f"max(y, 0)*{in_a} - max(-y, 0)*{out_a} + G_m*max(0, p_t - p_a)",
                "m3/s", "flow into chamber a, through valve and make-up valve", nominal=1e-3,
            ),
            Defined(
                "q_b", f"max(-y, 0)*{in_b} - max(y, 0)*{out_b} + G_m*max(0, p_t - p_b)",
                "m3/s", "flow into chamber b, through valve and make-up valve", nominal=1e-3,
            ),
            Defined("q_i", "C_i*(p_a - p_b)", "m3/s", "leakage past the piston", nominal=1e-6),
            Defined(
                "f_r", "(F_c + (F_s - F_c)*exp(-(v/v_s)**2))*tanh(v/v_0) + b*v", "N", "friction of the seals",
                nominal=1e2,
            ),
            Defined("f", "A_a*p_a - A_b*p_b - f_r", "N", "force of the rod, pushing", output=True, nominal=1e4),
            Defined("P", f"p_s*(max(y, 0)*{in_a} + max(-y, 0)*{in_b})", "W", "power of the supply", nominal=1e3),
        ),
        parameters=(
            Parameter("D", 0.063, "m", "bore", min=1e-3),
            Parameter("d", 0.036, "m", "diameter of the rod", min=0),
            Parameter("L", 0.5, "m", "stroke", min=1e-3),
            Parameter("s_0", 0.25, "m", "stroke of the piston at s = 0", min=0),
            Parameter("A_a", "pi/4*D**2", "m2", "area of the piston"),
            Parameter("A_b", "pi/4*(D**2 - d**2)", "m2", "area on the side of the rod", min=0),
            Parameter("V_0", 1e-4, "m3", "dead volume of each chamber with its line", min=1e-9),
            Parameter("p_s", 2.1e7, "Pa", "pressure of the supply", min=0),
            Parameter("p_t", 0.0, "Pa", "pressure of the tank", min=0),
            Parameter("q_n", 9e-4, "m3/s", "flow of the open valve at dp_n", min=0),
            Parameter("dp_n", 1.05e7, "Pa", "drop of pressure at each edge at q_n", min=1),
            Parameter("K", "q_n/sqrt(dp_n)", "m3/(s.Pa(1/2))", "flow of the open valve over the root of the drop"),
            Parameter("dp_0", 1e4, "Pa", "drop of pressure below which the flow is laminar", min=1),
            Parameter("w_v", 1000.0, "rad/s", "natural frequency of the spool", min=1),
            Parameter("D_v", 0.6, "1", "damping ratio of the spool", min=0),
            Parameter("C_i", 1e-13, "m3/(s.Pa)", "conductance of the leakage past the piston", min=0),
            Parameter("G_m", 1e-8, "m3/(s.Pa)", "conductance of the make-up valves", min=0),
            Parameter("b1", 6.53e-10, "1/Pa", "compressibility of the oil", min=0),
            Parameter("b2", 1.19e-18, "1/Pa2", "its decrease with pressure", min=0),
            Parameter("F_c", 200.0, "N", "Coulomb friction", min=0),
            Parameter("F_s", 300.0, "N", "friction on breaking loose", min=0),
            Parameter("v_s", 0.02, "m/s", "velocity at which it has fallen off", min=1e-6),
            Parameter("v_0", 0.005, "m/s", "velocity within which friction changes its sign", min=1e-6),
            Parameter("b", 500.0, "N.s/m", "viscous friction", min=0),
        ),
    )  # fmt: skip
