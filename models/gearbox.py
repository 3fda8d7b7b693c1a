"""An elastic gear with backlash and losses between two shafts, on both of which it reacts.

It takes the velocities of both shafts and gives the torque `tau_1` that loads shaft 1 and the torque `tau_2` that
drives shaft 2. The twist x, on the side of shaft 2, is its state: x' = w_1/n - w_2. Within the backlash -a..a no teeth
touch; beyond, tau_2 = c z(x) + b z'(x) x', where z is x less the backlash (dead zone; Nordin & Gutman, Controlling
mechanical systems with backlash, Automatica 38, 2002). Its two corners are rounded over 2 e by polynomials with
continuous second derivatives (own choice); without backlash they vanish, and z = x. The teeth lose (1/eta - 1) of the
torque, against the motion, so that shaft 1 drives with the efficiency eta, and is driven with 2 - 1/eta.

The numbers are own choice of usual size. Known facts: the torques of a steady motion are in the ratio n eta; between
fixed shafts the torque is c z(x).
"""

from mbfmu.model import Block, Defined, Parameter, Port, State

SIDES = {"p": "x - a", "n": "-x - a"}
"""Way beyond the backlash, forwards and backwards."""
WITHIN = "max(-e, min(e, {beyond}))"
RAMP = "((z_{side} + e)**3*(3*e - z_{side})/(16*e**3) + max(0, {beyond} - e))"
"""max(0, way), smoothed between -e and e."""
SLOPE = "(z_{side} + e)**2*(2*e - z_{side})/(4*e**3)"
"""Its derivative."""
AREA = "(((z_{side} + e)**4*e - (z_{side} + e)**5/5)/(16*e**3) + e*max(0, {beyond} - e) + max(0, {beyond} - e)**2/2)"
"""Its integral."""


def gearbox() -> Block:
    """Return the gear: `w_1`, `w_2` in, `tau_1`, `tau_2` out."""
    ramp, slope, area = (
        [text.format(side=side, beyond=beyond) for side, beyond in SIDES.items()] for text in (RAMP, SLOPE, AREA)
    )
    return Block(
        name="gearbox",
        description="Elastic gear with backlash and losses: velocities of two shafts in, torques out",
        inputs=(
            Port("w_1", "rad/s", "angular velocity of shaft 1, the fast one", nominal=1e2),
            Port("w_2", "rad/s", "angular velocity of shaft 2"),
        ),
        states=(State("x", "slip", "rad", 0.0, "twist, on the side of shaft 2", 1e-3),),
        defined=(
            Defined("slip", "w_1/n - w_2", "rad/s", "rate of the twist", nominal=1e-1),
            *(
                Defined(f"z_{side}", WITHIN.format(beyond=beyond), "rad", "way beyond, within -e..e", nominal=1e-4)
                for side, beyond in SIDES.items()
            ),
            Defined("z", f"{ramp[0]} - {ramp[1]}", "rad", "twist of the teeth", nominal=1e-3),
            Defined("contact", f"{slope[0]} + {slope[1]}", "1", "derivative of z by x, 0 to 1"),
            Defined("tau_2", "c*z + b*contact*slip", "N.m", "torque that drives shaft 2", True, 10.0),
            Defined("tau_l", "(1/eta - 1)*abs(tau_2/n)*tanh(w_1/w_0)", "N.m", "friction of the teeth", nominal=1e-2),
            Defined("tau_1", "tau_2/n + tau_l", "N.m", "torque that loads shaft 1", True, 0.1),
            Defined("stored", f"c*({area[0]} + {area[1]})", "J", "energy of the twist", True, 1e-2),
            Defined("lost", "b*contact*slip**2 + tau_l*w_1", "W", "power turned into heat", True, 1.0),
        ),
        parameters=(
            Parameter("n", 100.0, "1", "ratio: turns of shaft 1 for one of shaft 2; negative: it turns back"),
            Parameter("c", 2e4, "N.m/rad", "stiffness, on the side of shaft 2", min=1e-6),
            Parameter("b", 20.0, "N.m.s/rad", "damping, on the side of shaft 2", min=0),
            Parameter("a", 0.0, "rad", "half of the backlash, on the side of shaft 2", min=0),
            Parameter("e", 1e-4, "rad", "half of the width over which a tooth comes into contact", min=1e-9),
            Parameter("eta", 1.0, "1", "efficiency when shaft 1 drives", min=0.01, max=1),
            Parameter("w_0", 1.0, "rad/s", "velocity of shaft 1 within which the losses change their sign", min=1e-6),
        ),
    )  # fmt: skip
