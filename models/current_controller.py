"""The current loop of a brushless motor in the rotor's frame: from references of the currents to the voltages.

Two PI controllers, whose zeros cancel the poles of the coils (k_p = w_c L, k_i = w_c R), after what the rotation
induces is fed forward; the length of the voltage is limited to u_max, with back-calculation against windup (Astrom &
Hagglund, PID Controllers, 1995, 3.5; Krause, Wasynczuk & Sudhoff, Analysis of Electric Machinery and Drive Systems,
2002). Its numbers are those of `bldc_motor`. Known facts: within the limit, each current follows its reference as 1/(1
+ s/w_c), whatever the velocity.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State


def current_controller() -> Block:
    """Return the controller: `i_d_ref`, `i_q_ref`, `i_d`, `i_q`, `w` in, `u_d`, `u_q` out."""
    return Block(
        name="current_controller",
        description="Current loop of a brushless motor: references and currents in, voltages out",
        inputs=(
            Port("i_d_ref", "A", "reference of the current that makes no torque"),
            Port("i_q_ref", "A", "reference of the current that makes torque"),
            Port("i_d", "A", "current that makes no torque"),
            Port("i_q", "A", "current that makes torque"),
            Port("w", "rad/s", "angular velocity of the rotor", nominal=1e2),
        ),
        states=(
            State("x_d", "w_c*R*(i_d_ref - i_d) + w_c*(u_d - raw_d)", "V", 0.0, "integral part of the d axis"),
            State("x_q", "w_c*R*(i_q_ref - i_q) + w_c*(u_q - raw_q)", "V", 0.0, "integral part of the q axis"),
        ),
        defined=(
            Defined("raw_d", "w_c*L_d*(i_d_ref - i_d) + x_d - p*w*L_q*i_q", "V", "u_d asked for", nominal=10.0),
            Defined("raw_q", "w_c*L_q*(i_q_ref - i_q) + x_q + p*w*(L_d*i_d + psi)", "V", "u_q asked for", nominal=10.0),
            Defined("part", "u_max/sqrt(max(u_max**2, raw_d**2 + raw_q**2))", "1", "part of it that is given"),
            Defined("u_d", "part*raw_d", "V", "voltage of the d axis", True, 10.0),
            Defined("u_q", "part*raw_q", "V", "voltage of the q axis", True, 10.0),
        ),
        parameters=(
            Parameter("w_c", 3000.0, "rad/s", "bandwidth of the loop", min=0),
            Parameter(
                "u_max", 27.7, "V", "limit of the voltage: that of the supply, 48 V, over the root of 3", min=1e-6
            ),
            Parameter("p", 4.0, "1", "number of pole pairs", min=1),
            Parameter("R", 0.12, "Ohm", "resistance of a phase", min=0),
            Parameter("L_d", 2.0e-4, "H", "inductance of the d axis", min=0),
            Parameter("L_q", 2.4e-4, "H", "inductance of the q axis", min=0),
            Parameter("psi", 0.0105, "Wb", "flux of the magnets", min=0),
        ),
    )
