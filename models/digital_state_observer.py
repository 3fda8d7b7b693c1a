"""A sampled observer of a motor axis: from its torque and its measured angle to angle, velocity and load torque.

The axis is J w' = tau - tau_load, with a torque that is held over each period and a load that is taken as constant. At
each sampling the state is predicted exactly and corrected by the measured angle; the gains place all three poles of the
error at z = exp(-w_o Ts) (the critically damped filter of Brookner, Tracking and Kalman Filtering Made Easy, 1998,
chapter 1; with the torque known, Franklin, Powell & Workman, Digital Control of Dynamic Systems, 1998, section 8.2).
The numbers are those of `observer`. Known facts: a constant load is found without error, and with torques that are held
no motion of the axis disturbs the estimate.
"""

from mbfmu.model import Block, Defined, Parameter, Port, Sampled


def digital_state_observer() -> Sampled:
    """Return the observer: `tau`, `phi` in, `phi_hat`, `w_hat`, `load_hat` out."""
    block = Block(
        name="digital_state_observer",
        description="Sampled observer of a motor axis: torque and angle in, velocity and load out",
        inputs=(
            Port("tau", "N.m", "torque of the motor, held from this sampling to the next"),
            Port("phi", "rad", "angle, measured"),
        ),
        defined=(
            Defined("started", "1", "1", "1 from the first sampling on"),
            Defined(
                "a", "previous(started)*(previous(tau) - previous(load_hat))/J", "rad/s2", "acceleration", nominal=1e3
            ),
            Defined(
                "e", "phi - previous(phi_hat) - previous(started)*Ts*previous(w_hat) - Ts**2/2*a", "rad",
                "what the measurement corrects by", True,
            ),
            Defined("phi_hat", "phi - (1 - l_1)*e", "rad", "angle, estimated", True),
            Defined("w_hat", "previous(w_hat) + Ts*a + l_2*e", "rad/s", "velocity, estimated", True, 1e2),
            Defined("load_hat", "previous(load_hat) - J*l_3*e", "N.m", "load torque, estimated", True),
        ),
        parameters=(
            Parameter("J", 3e-5, "kg.m2", "inertia", min=1e-12),
            Parameter("w_o", 500.0, "rad/s", "the poles are those of exp(-w_o t)", min=1e-6),
            Parameter("Ts", 0.001, "s", "period", min=1e-6),
            Parameter("theta", "exp(-w_o*Ts)", "1", "place of the poles"),
            Parameter("l_1", "1 - theta**3", "1", "gain of the angle"),
            Parameter("l_2", "1.5*(1 - theta)**2*(1 + theta)/Ts", "1/s", "gain of the velocity"),
            Parameter("l_3", "(1 - theta)**3/Ts**2", "1/s2", "gain of the acceleration"),
        ),
    )  # fmt: skip
    return Sampled(block, period="Ts")
