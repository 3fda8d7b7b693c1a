"""The sampled current loop of a brushless motor in the rotor's frame: from references of the currents to the voltages.

The `current_controller`, two decoupled PI controllers whose zeros cancel the poles of the coils, computed at each
sampling: the integral parts by a forward difference (Astrom & Hagglund, PID Controllers, 1995, 3.6), with the same
limit of the voltage's length and back-calculation. All numbers are those of `current_controller`; 10 kHz is usual in
servo drives. Known facts: a motor that stands still comes to the currents asked for without an error.
"""

from dataclasses import replace

from mbfmu import load
from mbfmu.model import Block, Defined, Parameter, Sampled

INTEGRAL = (
    "previous(x_{a}) + previous(started)*w_c*Ts*(R*(previous(i_{a}_ref) - previous(i_{a}))"
    " + previous(u_{a}) - previous(raw_{a}))"
)


def digital_current_controller() -> Sampled:
    """Return the controller: `i_d_ref`, `i_q_ref`, `i_d`, `i_q`, `w` in, `u_d`, `u_q` out."""
    continuous = load("current_controller")
    assert isinstance(continuous, Block)
    block = replace(
        continuous,
        name="digital_current_controller",
        description="Sampled current loop of a brushless motor: references and currents in, voltages out",
        states=(),
        defined=(
            Defined("started", "1", "1", "1 from the first sampling on"),
            *(Defined(f"x_{a}", INTEGRAL.format(a=a), "V", f"integral part of the {a} axis") for a in "dq"),
            *continuous.defined,
        ),
        parameters=(*continuous.parameters, Parameter("Ts", 1e-4, "s", "period", min=1e-6)),
    )
    return Sampled(block, period="Ts")
