"""A Luenberger observer of a motor axis: from its torque and its measured angle to angle, velocity and load torque.

The axis is J w' = tau - b w - tau_load, with a load that is taken as constant; the gains place all three poles of the
error at -w_o (Luenberger, An introduction to observers, IEEE Trans. Automatic Control 16, 1971; a load as a further
state: Friedland, Control System Design, 1986). `kalman_filter` finds its gains from the noise instead. The numbers are
those of `bldc_motor`, w_o is own choice. Known facts: the error has the characteristic polynomial (s + w_o)^3, and a
constant load is found without error.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State


def observer() -> Block:
    """Return the observer: `tau`, `phi` in, `phi_hat`, `w_hat`, `load_hat` out, which are states."""
    return Block(
        name="observer",
        description="Luenberger observer of a motor axis: torque and angle in, velocity and load out",
        inputs=(
            Port("tau", "N.m", "torque of the motor"),
            Port("phi", "rad", "angle, measured"),
        ),
        states=(
            State("phi_hat", "w_hat + l_1*e", "rad", 0.0, "angle, estimated"),
            State("w_hat", "(tau - b*w_hat - load_hat)/J + l_2*e", "rad/s", 0.0, "velocity, estimated", 1e2),
            State("load_hat", "-l_3*e", "N.m", 0.0, "load torque, estimated"),
        ),
        defined=(Defined("e", "phi - phi_hat", "rad", "what the measurement corrects by", True),),
        parameters=(
            Parameter("J", 3e-5, "kg.m2", "inertia", min=1e-12),
            Parameter("b", 1e-5, "N.m.s/rad", "viscous friction", min=0),
            Parameter("w_o", 500.0, "rad/s", "the poles are -w_o", min=1e-6),
            Parameter("l_1", "3*w_o - b/J", "1/s", "gain of the angle"),
            Parameter("l_2", "3*w_o**2 - b/J*l_1", "1/s2", "gain of the velocity"),
            Parameter("l_3", "J*w_o**3", "N.m/(rad.s)", "gain of the load"),
        ),
    )
