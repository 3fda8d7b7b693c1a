"""Andrews' squeezing mechanism: seven planar bodies, three loops, one degree of freedom, driven by a constant torque.

Source: Schiehlen (ed.), Multibody Systems Handbook, 1990; Hairer & Wanner, Solving Ordinary Differential Equations II,
VII.7; IVP test set, problem Andrews; IFToMM multibody benchmark A03. No gravity; a stiff spring on body K3. Known
facts: from the given start at rest beta'' = 14222.4439199541 rad/s2; the energy, with the motor's work in it, is
constant; the digits published for 0.03 s are wrong from the tenth on.
"""

from mbfmu.model import (
    AxisPotential,
    BodyShape,
    FixedTranslation,
    Parameter,
    Revolute,
    Spring,
    System,
    World,
    connect,
)

BETA = -0.0617138900142764496358948458001
"""Start of the drive: the pose with Theta = 0."""


def andrews() -> System:
    """Return the mechanism; its joints are named by the angles of the literature, `beta.phi` to `epsilon.phi`.

    K1 turns by beta, K2 by beta + Theta, K3 by gamma, K4 by Phi + delta, K5 by delta, K6 by Omega + epsilon, K7 by
    epsilon; all three chains meet in the point E.
    """
    rr, d, da, e, ea, zf, fa = 0.007, 0.028, 0.0115, 0.02, 0.01421, 0.02, 0.01421
    ss, sa, sb, sc, sd = 0.035, 0.01874, 0.01043, 0.018, 0.02
    zt, ta, tb, u, ua, ub = 0.04, 0.02308, 0.00916, 0.04, 0.01228, 0.00449
    return System(
        name="andrews",
        description="Andrews' squeezing mechanism: seven bodies, three loops",
        stepper="projected",
        planar=True,
        parameters=(
            Parameter("mom", 0.033, "N.m", "torque of the motor"),
            Parameter("c0", 4530.0, "N/m", "stiffness of the spring", min=0),
            Parameter("l0", 0.07785, "m", "length of the spring without force", min=0),
        ),
        components=(
            World(g=0.0),
            FixedTranslation("A", r=(-0.06934, -0.00227)),
            FixedTranslation("B", r=(-0.03635, 0.03273)),
            FixedTranslation("C", r=(0.014, 0.072)),
            Revolute("beta", phi=BETA, w=0.0, actuated=True),
            Revolute("Theta"),
            Revolute("gamma"),
            Revolute("Phi"),
            Revolute("delta"),
            Revolute("Omega"),
            Revolute("epsilon"),
            Revolute("E3"),
            Revolute("E4"),
            Revolute("E6"),
            BodyShape("K1", m=0.04325, r=(rr, 0), r_CM=(0.00092, 0), I_33=2.194e-6),
            BodyShape("K2", m=0.00365, r=(-d, 0), r_CM=(-da, 0), I_33=4.41e-7),
            BodyShape("K3", m=0.02373, r=(0, -ss), r_CM=(sb, -sa), I_33=5.255e-6),
            BodyShape("K4", m=0.00706, r=(0, -e), r_CM=(0, -(e - ea)), I_33=5.667e-7),
            BodyShape("K5", m=0.0705, r=(zt, 0), r_CM=(ta, tb), I_33=1.169e-5),
            BodyShape("K6", m=0.00706, r=(zf, 0), r_CM=(zf - fa, 0), I_33=5.667e-7),
            BodyShape("K7", m=0.05498, r=(0, -u), r_CM=(-ub, -ua), I_33=1.912e-5),
            FixedTranslation("D", r=(sd, -sc)),
            Spring("spring", c="c0", s_unstretched="l0"),
            AxisPotential("motor", joint="beta", formula="-mom*s"),
        ),
        connections=(
            connect("world.frame_b", "A.frame_a"),
            connect("world.frame_b", "B.frame_a"),
            connect("world.frame_b", "C.frame_a"),
            connect("world.frame_b", "beta.frame_a"),
            connect("beta.frame_b", "K1.frame_a"),
            connect("K1.frame_b", "Theta.frame_a"),
            connect("Theta.frame_b", "K2.frame_a"),
            connect("B.frame_b", "gamma.frame_a"),
            connect("gamma.frame_b", "K3.frame_a"),
            connect("A.frame_b", "delta.frame_a"),
            connect("delta.frame_b", "K5.frame_a"),
            connect("K5.frame_b", "Phi.frame_a"),
            connect("Phi.frame_b", "K4.frame_a"),
            connect("A.frame_b", "epsilon.frame_a"),
            connect("epsilon.frame_b", "K7.frame_a"),
            connect("K7.frame_b", "Omega.frame_a"),
            connect("Omega.frame_b", "K6.frame_a"),
            connect("K2.frame_b", "E3.frame_a"),
            connect("E3.frame_b", "K3.frame_b"),
            connect("K2.frame_b", "E4.frame_a"),
            connect("E4.frame_b", "K4.frame_b"),
            connect("K2.frame_b", "E6.frame_a"),
            connect("E6.frame_b", "K6.frame_b"),
            connect("K3.frame_a", "D.frame_a"),
            connect("D.frame_b", "spring.frame_a"),
            connect("spring.frame_b", "C.frame_b"),
        ),
    )
