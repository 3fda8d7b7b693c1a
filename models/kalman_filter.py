"""A Kalman-Bucy filter of a motor axis: from its torque and its measured angle to angle, velocity and load torque.

The axis is phi' = w, J w' = tau - b w - tau_load + noise of intensity q_w, tau_load' = noise of intensity q_l; the
angle is measured with noise of intensity r. The covariance P of the errors, whose six entries are states, obeys
Riccati's equation P' = A P + P A^T + Q - P C^T C P/r, and the gains are P C^T/r (Kalman & Bucy, New results in linear
filtering and prediction theory, J. Basic Eng. 83, 1961). The inertia and the friction are those of `bldc_motor`, the
intensities own choice. Known facts: P comes to the solution of the algebraic Riccati equation, from wherever it
starts.
"""

from mbfmu.model import Block, Defined, Parameter, Port, State

NAMES = ("phi", "w", "load")
UNITS = {"P_11": "rad2", "P_12": "rad2/s", "P_13": "rad.N.m", "P_22": "rad2/s2", "P_23": "rad.N.m/s", "P_33": "N2.m2"}
SIZES = (1e-3, 0.3, 3e-3)
"""Usual errors at the start."""


def entry(i: int, j: int) -> str:
    """Return the name of an entry of the covariance, of which the upper half is kept."""
    return f"P_{min(i, j) + 1}{max(i, j) + 1}"


def kalman_filter() -> Block:
    """Return the filter: `tau`, `phi` in, `phi_hat`, `w_hat`, `load_hat` out, which are states."""
    A = {(0, 1): "1", (1, 1): "(-b/J)", (1, 2): "(-1/J)"}
    Q = {(1, 1): "q_w/J**2", (2, 2): "q_l"}

    def rate(i: int, j: int) -> str:
        terms = [f"{text}*{entry(k, j)}" for (row, k), text in A.items() if row == i]
        terms += [f"{text}*{entry(i, k)}" for (row, k), text in A.items() if row == j]
        return " + ".join([*terms, Q.get((i, j), "0")]) + f" - {entry(i, 0)}*{entry(j, 0)}/r"

    return Block(
        name="kalman_filter",
        description="Kalman-Bucy filter of a motor axis: torque and angle in, velocity and load out",
        inputs=(
            Port("tau", "N.m", "torque of the motor"),
            Port("phi", "rad", "angle, measured"),
        ),
        states=(
            State("phi_hat", "w_hat + P_11/r*e", "rad", 0.0, "angle, estimated"),
            State("w_hat", "(tau - b*w_hat - load_hat)/J + P_12/r*e", "rad/s", 0.0, "velocity, estimated", 1e2),
            State("load_hat", "P_13/r*e", "N.m", 0.0, "load torque, estimated"),
            *(
                State(
                    entry(i, j), rate(i, j), UNITS[entry(i, j)],
                    SIZES[i] ** 2 if i == j else 0.0, f"covariance of the errors of {NAMES[i]} and {NAMES[j]}",
                    SIZES[i] * SIZES[j],
                )
                for i in range(3)
                for j in range(i, 3)
            ),
        ),
        defined=(Defined("e", "phi - phi_hat", "rad", "what the measurement corrects by", True),),
        parameters=(
            Parameter("J", 3e-5, "kg.m2", "inertia", min=1e-12),
            Parameter("b", 1e-5, "N.m.s/rad", "viscous friction", min=0),
            Parameter("q_w", 1e-9, "N2.m2.s", "intensity of the torque's noise", min=0),
            Parameter("q_l", 1e-3, "N2.m2/s", "intensity of the noise that drives the load", min=0),
            Parameter("r", 1e-9, "rad2.s", "intensity of the measurement's noise", min=1e-300),
        ),
    )  # fmt: skip
