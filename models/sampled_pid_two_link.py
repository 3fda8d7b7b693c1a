"""A two-link arm with a sampled PID controller on each hinge, both of one period.

Uniform links of 0.5 m and 1 kg, hinged end to end, hang at rest. The first controller measures the angle of the first
link, the second the angle between the links; its torque acts on the second link and reacts on the first. The difference
equations are those of `sampled_pid`. Own choice of numbers.
"""

from mbfmu import load
from mbfmu.model import BodyShape, Parameter, Revolute, Subsystem, System, World, connect, wire

GAINS = {
    "hinge1": {"Kp": 80.0, "Ki": 60.0, "Kd": 10.0, "Tf": 0.005, "ref": 0.8},
    "hinge2": {"Kp": 40.0, "Ki": 30.0, "Kd": 4.0, "Tf": 0.005, "ref": -0.5},
}
"""Gains of the controllers, called by the hinges they turn."""


def sampled_pid_two_link() -> System:
    """Return the arm with its controllers; both angles are 0 where it hangs."""
    controller = next(item for item in load("sampled_pid").components if item.name == "pid").system
    return System(
        name="sampled_pid_two_link",
        description="A two-link arm with a sampled PID controller on each hinge",
        planar=True,
        parameters=(
            Parameter("m", 1.0, "kg", "mass of a link", min=1e-9),
            Parameter("l", 0.5, "m", "length of a link", min=1e-9),
            Parameter("g", 9.81, "m/s2", "gravity acceleration"),
            Parameter("Ts", 0.001, "s", "period of the controllers", min=1e-6),
        ),
        components=(
            World(g="g"),
            Revolute("shoulder", phi=0.0, w=0.0, actuated=True),
            BodyShape("link1", m="m", r=(0.0, "-l"), r_CM=(0.0, "-l/2"), I_33="m*l**2/12"),
            Revolute("elbow", phi=0.0, w=0.0, actuated=True),
            BodyShape("link2", m="m", r=(0.0, "-l"), r_CM=(0.0, "-l/2"), I_33="m*l**2/12"),
            *(Subsystem(name, controller, {**gains, "Ts": "Ts"}) for name, gains in GAINS.items()),
        ),
        connections=(
            connect("world.frame_b", "shoulder.frame_a"),
            connect("shoulder.frame_b", "link1.frame_a"),
            connect("link1.frame_b", "elbow.frame_a"),
            connect("elbow.frame_b", "link2.frame_a"),
        ),
        wires=(
            wire("shoulder.phi", "hinge1.angle"),
            wire("hinge1.u", "shoulder.tau"),
            wire("elbow.phi", "hinge2.angle"),
            wire("hinge2.u", "elbow.tau"),
        ),
        names={
            "a": "shoulder.phi",
            "wa": "shoulder.w",
            "b": "link2.phi",
            "wb": "link2.w",
            "u1": "hinge1.u",
            "u2": "hinge2.u",
        },
    )
