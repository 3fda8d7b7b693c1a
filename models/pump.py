"""A pump of variable displacement with a pressure compensator: from speed and pressure to a flow and a torque.

Equations: the ideal pump moves D x a radian, of which a laminar leakage is lost (Merritt, Hydraulic Control Systems,
1967, chapter 4); the compensator makes the displacement x follow (p_ref - p)/dp_c, within its limits, as a lag with
the time constant T (own choice, the simplest that swings with the line as real ones do). A relief valve guards the
outlet. The torque makes the energy h(p) of the oil (`cylinder`) and friction. `p_ref` is an input: a load-sensing pump
has the highest load's pressure and a margin there.

Feeding a line of volume V without a load, pump and line swing with the frequency w_0 = sqrt(beta D w/(V dp_c T)) and
the damping ratio 1/(2 T w_0): a larger volume, a shorter T and a larger dp_c calm them. The numbers are own choice of
usual size: 45 ml a turn, 1800 turns a minute. Known facts: at rest the pressure is p_ref - dp_c x with x = (q +
leakage)/(D w).
"""

from mbfmu.model import Block, Defined, Parameter, Port, State


def pump() -> Block:
    """Return the pump: `w`, `p`, `p_t`, `p_ref` in, `q` and `tau` out."""
    return Block(
        name="pump",
        description="Pump with pressure compensator: speed and pressures in, flow and torque out",
        inputs=(
            Port("w", "rad/s", "angular velocity of the shaft", 188.5, 1e2),
            Port("p", "Pa", "pressure at the outlet", 2e7, 1e7),
            Port("p_t", "Pa", "pressure at the inlet", 0.0, 1e6),
            Port("p_ref", "Pa", "pressure at which the displacement is zero", 2.1e7, 1e7),
        ),
        states=(State("x", "(asked - x)/T", "1", 0.5, "displacement, part of the greatest"),),
        defined=(
            Defined("asked", "max(x_min, min(1, (p_ref - p)/dp_c))", "1", "displacement that the compensator asks for"),
            Defined("q_i", "D*x*w", "m3/s", "flow of the ideal pump", nominal=1e-3),
            Defined("q_l", "C_l*(p - p_t) + G_r*max(0, p - p_r)", "m3/s", "leakage and relief", nominal=1e-5),
            Defined("q", "q_i - q_l", "m3/s", "flow out of the outlet", True, 1e-3),
            Defined("dh", "beta*(exp(p/beta) - exp(p_t/beta))", "J/m3", "energy given to the oil", nominal=1e7),
            Defined("tau", "D*x*dh + b*w", "N.m", "torque that the shaft needs", True, 1e2),
            Defined("supplied", "tau*w", "W", "power put in by the shaft", True, 1e4),
            Defined("lost", "q_l*dh + b*w**2", "W", "power turned into heat", True, 1e3),
        ),
        parameters=(
            Parameter("V_t", 4.5e-5, "m3", "greatest displacement of a turn", min=0),
            Parameter("D", "V_t/(2*pi)", "m3/rad", "greatest displacement of a radian"),
            Parameter("x_min", 0.0, "1", "least displacement, part of the greatest", -1, 1),
            Parameter("T", 0.02, "s", "time constant of the displacement", min=1e-6),
            Parameter("dp_c", 2e6, "Pa", "rise of pressure that takes the displacement from 1 to 0", min=1),
            Parameter("C_l", 1e-12, "m3/(s.Pa)", "conductance of the leakage", min=0),
            Parameter("p_r", 2.5e7, "Pa", "pressure at which the relief valve opens", min=0),
            Parameter("G_r", 1e-9, "m3/(s.Pa)", "conductance of the relief valve", min=0),
            Parameter("b", 0.02, "N.m.s/rad", "viscous friction of the shaft", min=0),
            Parameter("beta", 1.2e9, "Pa", "bulk modulus of the oil", min=1e6),
        ),
    )
