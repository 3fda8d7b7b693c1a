"""A pendulum that a sampled PID controller turns: the plant is continuous, the controller computes every millisecond.

The rod hangs at phi = 0 and turns by the torque u, which is held from one sampling to the next:

    J_hinge phi'' = u - d phi' - m g (l/2) sin(phi),    m = 1 kg, l = 1 m
    e = ref - phi,   I += Ki Ts e,   D = (Tf D + Kd (e - e_before))/(Tf + Ts),   u = Kp e + I + D

with I = 0 before the first sampling and D = 0 at it. Own choice of numbers. Known facts: the torque jumps at the
samplings only, and with Ki > 0 the pendulum comes to rest at ref.
"""

from mbfmu.model import (
    Block,
    BodyShape,
    Defined,
    Parameter,
    Port,
    Revolute,
    RotationalDamper,
    Sampled,
    Subsystem,
    System,
    World,
    connect,
    wire,
)

GAINS = (
    Parameter("Kp", 60.0, "N.m/rad", "gain of the error"),
    Parameter("Ki", 40.0, "N.m/(rad.s)", "gain of its integral"),
    Parameter("Kd", 12.0, "N.m.s/rad", "gain of its derivative"),
    Parameter("Tf", 0.005, "s", "time constant of the derivative's filter", min=0),
    Parameter("ref", 1.0, "rad", "angle asked for"),
)
PERIOD = Parameter("Ts", 0.001, "s", "period of the controller", min=1e-6)


def controller(name: str, gains: tuple[Parameter, ...] = GAINS) -> Sampled:
    """Return the sampled controller: angle in, torque out."""
    block = Block(
        name=name,
        description="PID controller as difference equations",
        inputs=(Port("angle", "rad", "angle measured"),),
        defined=(
            Defined("e", "ref - angle", "rad", "error"),
            Defined("again", "min(previous(again) + 1, 1)", "1", "1 from the first sampling on"),
            Defined("I", "previous(I) + Ki*Ts*e", "N.m", "integral part"),
            Defined("D", "previous(again)*(Tf*previous(D) + Kd*(e - previous(e)))/(Tf + Ts)", "N.m", "derivative part"),
            Defined("I_before_sample", "previous(I)", "N.m", "integral part before the sampling"),
            Defined("D_before_sample", "previous(D)", "N.m", "derivative part before the sampling"),
            Defined("u", "Kp*e + I + D", "N.m", "torque asked for, from the sampling on", output=True),
        ),
        parameters=(*gains, PERIOD),
    )
    return Sampled(block, period="Ts")


def sampled_pid() -> System:
    """Return the pendulum with its controller; phi = 0 hangs."""
    return System(
        name="sampled_pid",
        description="A pendulum that a sampled PID controller turns",
        planar=True,
        parameters=(
            Parameter("J_hinge", 1 / 3, "kg.m2", "inertia of the rod about the hinge", min=0.2500001),
            Parameter("g", 9.81, "m/s2", "gravity acceleration"),
            Parameter("viscous_hinge_damping", 0.1, "N.m.s/rad", "damping of the hinge", min=0),
            *GAINS,
            PERIOD,
        ),
        components=(
            World(g="g"),
            Revolute("hinge", phi=0.0, w=0.0, actuated=True),
            BodyShape("rod", m=1.0, r=(0.0, -1.0), r_CM=(0.0, -0.5), I_33="J_hinge - 1/4"),
            RotationalDamper("damper", joint="hinge", d="viscous_hinge_damping"),
            Subsystem("pid", controller("pid"), {item.name: item.name for item in (*GAINS, PERIOD)}),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
        wires=(wire("hinge.phi", "pid.angle"), wire("pid.u", "hinge.tau")),
        names={
            "phi": "hinge.phi",
            "omega": "hinge.w",
            "u_applied_from_t": "pid.u",
            "I_before_sample": "pid.I_before_sample",
            "D_before_sample": "pid.D_before_sample",
        },
    )
