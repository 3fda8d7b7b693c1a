"""The robot arm `arm6` on six servo drives: brushless motors, elastic gears, current loops at 10 kHz, axes at 1 kHz.

Each joint has a `bldc_motor` behind a `gearbox`, whose elasticity is that of a reducer between two teeth or of a flex
spline; the angle and velocity of the motor are measured, as in industrial robots, so that the gear's twist stays
outside of the loop. A `digital_current_controller` feeds the motor; above it a cascade computes every millisecond, with
the motion asked for fed forward (Spong, Hutchinson & Vidyasagar, Robot Modeling and Control, 2006, chapter 6, with the
elastic joint of 6.5; cascades of servo drives: Gross, Hamann & Wiegartner, Electrical Feed Drives in Automation, 2001):

    w* = n (K_p (q_ref - phi/n) + w_ref),   I += K_w Ts/T_i (w* - w),   tau = K_w (w* - w) + I + n J_t a_ref
    i_q_ref = tau/(3/2 p psi), within i_max; what the limit takes from tau goes back to I within a period

J_t is rotor and stretched arm on the side of the motor, and K_w = w_v J_t. The `trajectory` of each joint goes from 0.1
rad to its target. Gyroscopic torques of the rotors are left out. Data of gears and motors: own choice, of the size of
such arms (stiffness of reducers of this torque as in Nabtesco's series RV-E); J is rotor and gear. Known facts:
currents, twists and integral parts start where they carry the arm at rest, whatever its masses, lengths, gears and
motors: nothing moves until the trajectory does.
"""

from dataclasses import replace
from math import cos, sin

import numpy as np

from mbfmu import load
from mbfmu.errors import ValueRangeError
from mbfmu.model import (
    Block,
    Component,
    Defined,
    Parameter,
    Port,
    Revolute,
    Sampled,
    Subsystem,
    System,
    Wire,
    wire,
)

START = 0.1
"""Angle of every joint at the start, rad."""
TARGETS = (-0.4, 0.8, 0.7, -0.5, 0.6, 0.9)
"""Angles at the end, rad."""
RATIOS = (160.0, 160.0, 120.0, 100.0, 80.0, 50.0)
STIFFNESSES = (1e6, 1e6, 5e5, 3e5, 1e5, 3e4)
"""Of the gears, on the side of the joints, N.m/rad."""
INERTIAS = (1e-3, 1e-3, 5e-4, 3e-4, 1e-4, 3e-5)
"""Of rotor and gear, on the side of the motor, kg.m2."""
TORQUE = 1.5 * 4 * 0.0105
"""Of the motor, N.m for each ampere."""


def axis_controller() -> Sampled:
    """Return the cascade of one axis: motion asked for and motion of the motor in, current asked for out."""
    block = Block(
        name="axis_controller",
        description="Position and velocity loop of a robot's axis",
        inputs=(
            Port("q_ref", "rad", "angle of the joint asked for"),
            Port("w_ref", "rad/s", "its rate"),
            Port("a_ref", "rad/s2", "the rate's rate"),
            Port("phi", "rad", "angle of the motor", nominal=1e1),
            Port("w", "rad/s", "angular velocity of the motor", nominal=1e2),
        ),
        defined=(
            Defined("started", "1", "1", "1 from the first sampling on"),
            Defined("w_command", "n*(K_p*(q_ref - phi/n) + w_ref)", "rad/s", "velocity asked for", nominal=1e2),
            Defined("slip", "w_command - w", "rad/s", "error of the velocity", nominal=1e2),
            Defined(
                "integral",
                "previous(integral) + previous(started)*(K_w*Ts/T_i*previous(slip) + k_t*previous(i_q_ref)"
                " - previous(torque))",
                "N.m", "integral part",
            ),
            Defined("torque", "K_w*slip + integral + n*J_t*a_ref", "N.m", "torque asked for"),
            Defined("i_q_ref", "max(-i_max, min(i_max, torque/k_t))", "A", "current asked for", True, 10.0),
        ),
        parameters=(
            Parameter("n", 100.0, "1", "ratio of the gear"),
            Parameter("J_t", 1e-3, "kg.m2", "inertia of motor and load, on the side of the motor", min=0),
            Parameter("w_v", 60.0, "rad/s", "bandwidth of the velocity loop", min=0),
            Parameter("K_w", "w_v*J_t", "N.m.s/rad", "gain of the velocity"),
            Parameter("T_i", 0.1, "s", "integral time of the velocity loop", min=1e-9),
            Parameter("K_p", 15.0, "1/s", "gain of the position", min=0),
            Parameter("k_t", TORQUE, "N.m/A", "torque of the motor over its current", min=1e-9),
            Parameter("i_max", 60.0, "A", "limit of the current", min=0),
            Parameter("Ts", 1e-3, "s", "period", min=1e-6),
        ),
    )  # fmt: skip
    return Sampled(block, period="Ts")


def holding(N: int) -> list[Parameter]:
    """Return the torques that hold an arm of N joints at rest at the start, as parameters that follow its weights."""
    turn, axes, ways = np.eye(3), [], []
    for i in range(1, N + 1):
        axis = np.array([0.0, 1.0, 0.0] if i % 2 else [0.0, 0.0, 1.0])
        cross = np.cross(np.eye(3), -axis)
        axes.append(turn @ axis)
        turn = turn @ (cos(START) * np.eye(3) + sin(START) * cross + (1 - cos(START)) * np.outer(axis, axis))
        ways.append(turn[:, 0])
    # axis . (r x e_z), for r along each link
    levers = [[float(axis @ np.cross(way, [0.0, 0.0, 1.0])) for way in ways] for axis in axes]
    found = []
    for i in range(N):
        moments = (
            f"link{k + 1}.m*({levers[i][k]!r}*link{k + 1}.r_CM[1]"
            + "".join(f" + {levers[i][j]!r}*link{j + 1}.r[1]" for j in range(i, k))
            + ")"
            for k in range(i, N)
        )
        text = f"world.g*({' + '.join(moments)})"
        found.append(Parameter(f"hold{i + 1}", text, "N.m", f"torque that holds joint {i + 1} at the start"))
    return found


def drive(i: int, load_inertia: float) -> tuple[list[Component | Subsystem], list[Wire]]:
    """Return the components of the drive of joint i and their wires.

    Args:
        i: number of the joint, from 1 on.
        load_inertia: of the stretched arm about the joint, kg.m2.
    """
    n, c, J = RATIOS[i - 1], STIFFNESSES[i - 1], INERTIAS[i - 1]
    begin, current = f"{START} + hold{i}/gear{i}.c", f"hold{i}/(gear{i}.n*1.5*motor{i}.p*motor{i}.psi)"
    inertia = J + load_inertia / n**2
    path, axis, loop, motor, gear = (f"{kind}{i}" for kind in ("path", "axis", "loop", "motor", "gear"))
    components: list[Component | Subsystem] = [
        Subsystem(path, load("trajectory"), {"y_0": begin, "y_1": TARGETS[i - 1], "t_0": 0.1, "T": 2.0}),
        Subsystem(axis, axis_controller(), {"n": n, "J_t": inertia, "integral": f"{axis}.k_t*{current}"}),
        Subsystem(loop, load("digital_current_controller"), {"x_q": f"{motor}.R*{current}"}),
        Subsystem(motor, load("bldc_motor"), {"J": J, "phi": f"{gear}.n*({begin})", "i_q": current}),
        Subsystem(gear, load("gearbox"), {"n": n, "c": c, "b": 5e-4 * c, "x": f"hold{i}/{gear}.c"}),
    ]
    wires = [
        wire(f"{path}.y", f"{axis}.q_ref"),
        wire(f"{path}.rate", f"{axis}.w_ref"),
        wire(f"{path}.acceleration", f"{axis}.a_ref"),
        wire(f"{motor}.phi", f"{axis}.phi"),
        wire(f"{motor}.w", f"{axis}.w"),
        wire(f"{axis}.i_q_ref", f"{loop}.i_q_ref"),
        *(wire(f"{motor}.{name}", f"{loop}.{name}") for name in ("i_d", "i_q", "w")),
        *(wire(f"{loop}.{name}", f"{motor}.{name}") for name in ("u_d", "u_q")),
        wire(f"{motor}.w", f"{gear}.w_1"),
        wire(f"joint{i}.w", f"{gear}.w_2"),
        wire(f"{gear}.tau_1", f"{motor}.tau_load"),
        wire(f"{gear}.tau_2", f"joint{i}.tau"),
    ]
    return components, wires


def robot_arm_drives(N: int = 6) -> System:
    """Return the arm with its drives; `joint1.phi` to `joint6.phi` are its angles.

    Args:
        N: number of joints with their links, 1 to 6.
    """
    if not 1 <= N <= len(RATIOS):
        raise ValueRangeError(f"N = {N} must be between 1 and {len(RATIOS)}, the number of joints of 'arm6'")
    arm = load("arm6")
    assert isinstance(arm, System)
    components = [
        replace(item, phi=START) if isinstance(item, Revolute) else item for item in arm.components[: 2 * N + 1]
    ]
    wires: list[Wire] = []
    for i in range(1, N + 1):
        more, between = drive(i, (N + 1 - i) ** 3 / 3)
        components += more
        wires += between
    return System(
        name="robot_arm_drives",
        description="A robot arm of six joints on brushless motors with sampled controllers",
        parameters=tuple(holding(N)),
        components=tuple(components),
        connections=arm.connections[: 2 * N],
        wires=tuple(wires),
    )
