"""A 4/3 servo or proportional valve: four edges on a spool of second order, from a command to the flows of two ports.

It takes the pressures of the volumes around it and gives the flows between them, so that it can be wired to a
`cylinder`, a `line` or an `accumulator` without a circle. Equations: Merritt, Hydraulic Control Systems, 1967, chapter
5; Jelali & Kroll, Hydraulic Servo-systems, 2003, chapter 4. An edge that is open by x lets K x s(dp) through, with
s(dp) = dp/(dp^2 + dp_0^2)^(1/4), which is the square root of the drop of pressure with a laminar start, as in
MathWorks' orifices (Simscape Fluids). An edge opens by (x + sqrt(x^2 + c^2))/2 with x the spool's way beyond its
overlap: the clearance c makes the passage through the middle smooth and leaks c/2 there (own choice). Make-up valves
let oil in from the tank below its pressure, and relief valves let it out above p_r.

Oil at a pressure p carries h(p) = beta (exp(p/beta) - 1) of energy a volume: p of flow work, and the rest of
compression, for which the power of flows, stored energy and heat are in balance to round-off (`cylinder`). Pressures
are above the atmosphere's.

Sources of the numbers: flow of the largest valve of Moog's Series 32, 54 l/min at 210 bar, so 105 bar at each edge;
the spool is an approximation of second order as in Thayer, Transfer functions for Moog servovalves, Moog Technical
Bulletin 103, 1965; all else is own choice of usual size. Known facts: fully open, with dp_n at an edge, it lets q_n
through.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State

EDGE = "({x} + sqrt(({x})**2 + c**2))/2"
"""Opening of an edge whose spool is x beyond the overlap."""
FLOW = "K*{opening}*({dp})/sqrt(sqrt(({dp})**2 + dp_0**2))"
"""Flow through an edge."""
CHECKS = "G_r*max(0, {p} - p_r) - G_m*max(0, p_t - {p})"
"""Flow through the relief valve of a port to the tank, without that through its make-up valve."""


def servo_valve() -> Block:
    """Return the valve: `command`, `p_a`, `p_b`, `p_s`, `p_t` in, `q_a`, `q_b`, `q_s`, `q_t` out."""
    return Block(
        name="servo_valve",
        description="Servo valve with four edges: command and pressures in, flows out",
        inputs=(
            Port("command", "1", "position of the spool asked for, -1 to 1; positive feeds port a"),
            Port("p_a", "Pa", "pressure at port a", 6e6, 1e6),
            Port("p_b", "Pa", "pressure at port b", 9e6, 1e6),
            Port("p_s", "Pa", "pressure of the supply", 2.1e7, 1e7),
            Port("p_t", "Pa", "pressure of the tank", 0.0, 1e6),
        ),
        states=(
            State("y", "y_rate", "1", 0.0, "position of the spool, -1 to 1"),
            State("y_rate", "w_v**2*(asked - y) - 2*D_v*w_v*y_rate", "1/s", 0.0, "rate of the spool", 1e2),
        ),
        defined=(
            Defined("asked", "max(-1, min(1, command))", "1", "command within its limits"),
            Defined("x_p", EDGE.format(x="y - lap"), "1", "opening of the edges s-a and b-t"),
            Defined("x_n", EDGE.format(x="-y - lap"), "1", "opening of the edges s-b and a-t"),
            Defined("q_sa", FLOW.format(opening="x_p", dp="p_s - p_a"), "m3/s", "flow from s to a", nominal=1e-4),
            Defined("q_sb", FLOW.format(opening="x_n", dp="p_s - p_b"), "m3/s", "flow from s to b", nominal=1e-4),
            Defined(
                "q_at", f"{FLOW.format(opening='x_n', dp='p_a - p_t')} + {CHECKS.format(p='p_a')}", "m3/s",
                "flow from a to t, through edge, relief and make-up valve", nominal=1e-4,
            ),
            Defined(
                "q_bt", f"{FLOW.format(opening='x_p', dp='p_b - p_t')} + {CHECKS.format(p='p_b')}", "m3/s",
                "flow from b to t, through edge, relief and make-up valve", nominal=1e-4,
            ),
            Defined("q_a", "q_sa - q_at", "m3/s", "flow out of port a", True, 1e-4),
            Defined("q_b", "q_sb - q_bt", "m3/s", "flow out of port b", True, 1e-4),
            Defined("q_s", "q_sa + q_sb", "m3/s", "flow taken from the supply", True, 1e-4),
            Defined("q_t", "q_at + q_bt", "m3/s", "flow into the tank", True, 1e-4),
            *(
                Defined(f"h_{port}", f"beta*(exp(p_{port}/beta) - 1)", "J/m3", f"energy of oil at {port}", nominal=1e7)
                for port in "abst"
            ),
            Defined("P", "h_s*q_s - h_t*q_t", "W", "power taken from supply and tank", True, 1e3),
            Defined("lost", "P - h_a*q_a - h_b*q_b", "W", "power turned into heat", True, 1e3),
        ),
        parameters=(
            Parameter("q_n", 9e-4, "m3/s", "flow of the open valve at dp_n", min=0),
            Parameter("dp_n", 1.05e7, "Pa", "drop of pressure at an edge at q_n", min=1),
            Parameter("K", "q_n/sqrt(dp_n)", "m3/(s.Pa(1/2))", "flow of the open valve over the root of the drop"),
            Parameter("dp_0", 1e4, "Pa", "drop of pressure below which the flow is laminar", min=1),
            Parameter("lap", 0.0, "1", "overlap of the edges in strokes of the spool; negative: underlap", -1, 1),
            Parameter("c", 1e-3, "1", "clearance of the edges in strokes of the spool", min=1e-15),
            Parameter("w_v", 1000.0, "rad/s", "natural frequency of the spool", min=1),
            Parameter("D_v", 0.6, "1", "damping ratio of the spool", min=0),
            Parameter("G_m", 1e-8, "m3/(s.Pa)", "conductance of a make-up valve", min=0),
            Parameter("p_r", 3.5e7, "Pa", "pressure at which the relief valves of a and b open", min=0),
            Parameter("G_r", 1e-9, "m3/(s.Pa)", "conductance of a relief valve", min=0),
            Parameter("beta", 1.2e9, "Pa", "bulk modulus of the oil", min=1e6),
        ),
    )  # fmt: skip
