"""The sampled current loop of a brushless motor in the rotor's frame: from references of the currents to the voltages.

The equations of `current_controller`, two decoupled PI controllers whose zeros cancel the poles of the coils, computed
at each sampling: the integral parts by a forward difference (Astrom & Hagglund, PID Controllers, 1995, 3.6), with the
same limit of the voltage's length and back-calculation. All numbers are those of `current_controller`; 10 kHz is usual
in servo drives. Known facts: a motor that stands still comes to the currents asked for without an error.
"""

from mbfmu.model import Block, Defined, Parameter, Port, Sampled

INTEGRAL = (
    "previous(x_{a}) + previous(started)*w_c*Ts*(R*(previous(i_{a}_ref) - previous(i_{a}))"
    " + previous(u_{a}) - previous(raw_{a}))"
)


def digital_current_controller() -> Sampled:
    """Return the controller: `i_d_ref`, `i_q_ref`, `i_d`, `i_q`, `w` in, `u_d`, `u_q` out."""
    block = Block(
        name="digital_current_controller",
        description="Sampled current loop of a brushless motor: references and currents in, voltages out",
        inputs=(
            Port("i_d_ref", "A", "reference of the current that makes no torque"),
            Port("i_q_ref", "A", "reference of the current that makes torque"),
            Port("i_d", "A", "current that makes no torque"),
            Port("i_q", "A", "current that makes torque"),
            Port("w", "rad/s", "angular velocity of the rotor", nominal=1e2),
        ),
        defined=(
            Defined("started", "1", "1", "1 from the first sampling on"),
            Defined("x_d", INTEGRAL.format(a="d"), "V", "integral part of the d axis"),
            Defined("x_q", INTEGRAL.format(a="q"), "V", "integral part of the q axis"),
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
            Parameter("Ts", 1e-4, "s", "period", min=1e-6),
        ),
    )
    return Sampled(block, period="Ts")
