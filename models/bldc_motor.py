"""A permanent-magnet synchronous (brushless) motor in the rotor's frame: from the voltages u_d, u_q to the rotor.

Equations, with amplitudes (not effective values) of phase quantities and p pole pairs: L_d i_d' = u_d - R i_d + p w
L_q i_q, L_q i_q' = u_q - R i_q - p w (L_d i_d + psi), tau_e = 3/2 p (psi i_q + (L_d - L_q) i_d i_q), J w' = tau_e -
friction - tau_load (Krause, Wasynczuk & Sudhoff, Analysis of Electric Machinery and Drive Systems, 2002). The rotor is
inside; a `gearbox` takes its velocity and gives `tau_load`. `current_controller` makes the voltages.

All numbers are own choice, of the usual size of a servomotor of 400 W. Known facts: stalled with u_q it comes to i_q =
u_q/R and the torque 3/2 p psi u_q/R; at no load and without friction it turns at u_q/(p psi).
"""

from mbfmu.model import Block, Defined, Parameter, Port, State


def bldc_motor() -> Block:
    """Return the motor: `u_d`, `u_q`, `tau_load` in, the states `w`, `phi`, `i_d`, `i_q` out."""
    return Block(
        name="bldc_motor",
        description="Brushless motor in the rotor's frame: voltages and load in, velocity and currents out",
        inputs=(
            Port("u_d", "V", "voltage of the d axis", nominal=10.0),
            Port("u_q", "V", "voltage of the q axis", nominal=10.0),
            Port("tau_load", "N.m", "torque that the load takes from the shaft"),
        ),
        states=(
            State("i_d", "(u_d - R*i_d + p*w*L_q*i_q)/L_d", "A", 0.0, "current that makes no torque of the magnets"),
            State("i_q", "(u_q - R*i_q - p*w*(L_d*i_d + psi))/L_q", "A", 0.0, "current that makes torque"),
            State("w", "(tau_e - tau_f - tau_load)/J", "rad/s", 0.0, "angular velocity of the rotor", 1e2),
            State("phi", "w", "rad", 0.0, "angle of the rotor", 1e1),
        ),
        defined=(
            Defined("tau_e", "1.5*p*(psi*i_q + (L_d - L_q)*i_d*i_q)", "N.m", "electromagnetic torque", True),
            Defined("tau_f", "tau_0*tanh(w/w_0) + b*w", "N.m", "friction", nominal=1e-2),
            Defined("supplied", "1.5*(u_d*i_d + u_q*i_q)", "W", "electric power", True, 1e2),
            Defined(
                "stored", "0.75*(L_d*i_d**2 + L_q*i_q**2) + J*w**2/2", "J", "energy of the coils and of the rotor", True
            ),
            Defined("lost", "1.5*R*(i_d**2 + i_q**2) + tau_f*w", "W", "power turned into heat", True, 10.0),
        ),
        parameters=(
            Parameter("p", 4.0, "1", "number of pole pairs", min=1),
            Parameter("R", 0.12, "Ohm", "resistance of a phase", min=1e-6),
            Parameter("L_d", 2.0e-4, "H", "inductance of the d axis", min=1e-9),
            Parameter("L_q", 2.4e-4, "H", "inductance of the q axis", min=1e-9),
            Parameter("psi", 0.0105, "Wb", "flux of the magnets", min=1e-9),
            Parameter("J", 3e-5, "kg.m2", "inertia of the rotor", min=1e-12),
            Parameter("b", 1e-5, "N.m.s/rad", "viscous friction", min=0),
            Parameter("tau_0", 0.01, "N.m", "torque of the dry friction", min=0),
            Parameter("w_0", 1.0, "rad/s", "velocity within which the friction changes its sign", min=1e-6),
        ),
    )
