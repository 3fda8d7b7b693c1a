"""A two-axle bogie on a straight track under a frame that moves at constant speed: above a critical speed it hunts.

Source: textbook (Wickens, Fundamentals of Rail Vehicle Dynamics, 2003; Knothe & Stichel, Rail Vehicle Dynamics, 2017);
own data, of the size of a passenger coach. Each wheelset turns in axle boxes, which bushings join to the bogie's frame;
a bushing stands for the secondary suspension to the car body, which is heavy and runs straight. Wheels are cones, rails
circular arcs, creep forces of Kalker's linear theory with the saturation of Shen, Hedrick & Elkins. Known facts: the
critical speed of the linear equations of lateral motion and yaw (tests/test_bogies.py).
"""

from math import atan, cos, sin

from mbfmu.model import (
    Body,
    Bushing,
    Component,
    Connection,
    ConstantForce,
    CutForce,
    FixedTranslation,
    FreeMotion,
    Parameter,
    Revolute,
    System,
    WheelsetOnTrack,
    World,
    connect,
)

LEFT = (0.0, 1.0, 0.0)
RADIUS, HALF_GAUGE, ARM = 0.46, 0.75, 1.0
"""Radius of the wheels, half of the gauge, and from the middle of an axle to its boxes, m."""
RAIL = 0.3
"""Radius of the rails, m."""
AXLES = (("front", "l"), ("rear", "-l"))
"""Names and places of the wheelsets."""


def bogie(taper: float = 0.05) -> System:
    """Return the bogie, with x along the track, y to the left and z upwards, seen from the moving frame.

    Args:
        taper: slope of the wheels' cones.
    """
    components: list[Component] = [
        World(g=9.81, n=(0, 0, -1)),
        FreeMotion(
            "place", r_rel=(0.0, "y", f"{RADIUS} - (m_f*9.81 + W)/(4*c_z)"), v_rel=(0.0, 0.0, 0.0),
            Q_rel=(1, 0, 0, 0), w_rel=(0.0, 0.0, 0.0),
        ),
        Body("frame", m="m_f", I_11=1500.0, I_22=2000.0, I_33=2500.0),
        ConstantForce("load", f=(0.0, 0.0, "-W")),
        FixedTranslation("middle", r=(0.0, 0.0, f"{RADIUS} - (m_f*9.81 + W)/(4*c_z)")),
        Bushing("secondary", c=("c_2", "c_2", "c_2"), d=("d_2", "d_2", "d_2"), c_phi_3="c_yaw"),
    ]  # fmt: skip
    connections: list[Connection] = [
        connect("world.frame_b", "place.frame_a"),
        connect("place.frame_b", "frame.frame_a"),
        connect("frame.frame_a", "load.frame_b"),
        connect("world.frame_b", "middle.frame_a"),
        connect("middle.frame_b", "secondary.frame_a"),
        connect("frame.frame_a", "secondary.frame_b"),
    ]
    for name, place in AXLES:
        components += [
            FreeMotion(
                f"{name}_place", r_rel=(place, 0.0, RADIUS), v_rel=(0.0, 0.0, 0.0), Q_rel=(1, 0, 0, 0),
                w_rel=(0.0, 0.0, 0.0),
            ),
            Body(f"{name}_boxes", m=200.0, I_11=150.0, I_22=10.0, I_33=150.0),
            Revolute(f"{name}_axle", n=LEFT, phi=0.0, w=f"v/{RADIUS}"),
            Body(f"{name}_wheels", m="m_w", I_11="I_w", I_22=100.0, I_33="I_w"),
            CutForce(f"{name}_load", joint=f"{name}_axle"),
            _track(f"{name}_track", taper),
        ]  # fmt: skip
        connections += [
            connect("world.frame_b", f"{name}_place.frame_a"),
            connect(f"{name}_place.frame_b", f"{name}_boxes.frame_a"),
            connect(f"{name}_boxes.frame_a", f"{name}_axle.frame_a"),
            connect(f"{name}_axle.frame_b", f"{name}_wheels.frame_a"),
            connect("world.frame_b", f"{name}_track.frame_a"),
            connect(f"{name}_wheels.frame_a", f"{name}_track.frame_b"),
        ]
        for side, sign in (("left", 1), ("right", -1)):
            spring = f"{name}_{side}"
            components += [
                FixedTranslation(f"{spring}_seat", r=(place, sign * ARM, 0.0)),
                FixedTranslation(f"{spring}_box", r=(0.0, sign * ARM, 0.0)),
                Bushing(spring, c=("c_x", "c_y", "c_z"), d=("d_1", "d_1", "d_1"), c_phi_2=1e4, d_phi_2=1e3),
            ]
            connections += [
                connect("frame.frame_a", f"{spring}_seat.frame_a"),
                connect(f"{name}_boxes.frame_a", f"{spring}_box.frame_a"),
                connect(f"{spring}_seat.frame_b", f"{spring}.frame_a"),
                connect(f"{spring}_box.frame_b", f"{spring}.frame_b"),
            ]
    return System(
        name="bogie",
        description="A two-axle bogie that hunts above its critical speed",
        parameters=(
            Parameter("v", 50.0, "m/s", "speed along the track"),
            Parameter("y", 0.0, "m", "shift of the frame to the left at the start"),
            Parameter("l", 1.25, "m", "half of the wheel base", min=1e-9),
            Parameter("m_f", 2500.0, "kg", "mass of the frame", min=1e-9),
            Parameter("m_w", 1200.0, "kg", "mass of a wheelset", min=1e-9),
            Parameter("I_w", 700.0, "kg.m2", "moment of inertia of a wheelset about x and z", min=1e-9),
            Parameter("W", 1e5, "N", "weight that the car body puts on the frame", min=0),
            Parameter("c_x", 4e6, "N/m", "stiffness of an axle box along the track", min=0),
            Parameter("c_y", 2e6, "N/m", "stiffness of an axle box across", min=0),
            Parameter("c_z", 2e6, "N/m", "stiffness of an axle box upwards", min=1e-9),
            Parameter("d_1", 5e3, "N.s/m", "damping of an axle box", min=0),
            Parameter("c_2", 3e5, "N/m", "stiffness of the secondary suspension", min=0),
            Parameter("d_2", 2e4, "N.s/m", "damping of the secondary suspension", min=0),
            Parameter("c_yaw", 5e5, "N.m/rad", "stiffness of the secondary suspension against yaw", min=0),
            Parameter("f", 8e6, "N", "creep coefficient at 35 kN", min=0),
        ),
        stepper="radau",
        components=tuple(components),
        connections=tuple(connections),
    )


def _track(name: str, taper: float) -> WheelsetOnTrack:
    lean = atan(taper)
    return WheelsetOnTrack(
        name,
        wheel=f"{RADIUS} - {taper!r}*s",
        rail=f"sqrt({RAIL}**2 - (s - {RAIL * sin(lean)!r})**2) - {RAIL * cos(lean)!r}",
        half_gauge=HALF_GAUGE, v="v", f_11="f", f_22="f", N_0=35e3, mu=0.3,
    )  # fmt: skip
