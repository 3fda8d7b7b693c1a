"""A whole excavator of the 1.8 t class: boom, stick and bucket, their three hydraulic axes and sampled controllers.

The plane of the boom alone moves. The bucket turns by a four-bar linkage: the cylinder `curl` pushes the rocker, and a
link goes from there to the bucket's ear. Of a cylinder, barrel and rod are masses at its two pins. One pump with a
pressure compensator feeds a line, and three proportional valves feed the cylinders from there (the blocks `pump`,
`line`, `servo_valve` and `cylinder`; own choice: one pump where the real machine has two or three). Each joint has a
controller that computes every T seconds from the angle measured: the speed of the joint that its path asks for, and a
PI controller of the angle; the sum times the lever arm of the cylinder, over the speed of the rod at full opening, is
the command of the valve. The path is one of `waypoints` through eight points, and repeats every 10 s: reach out, dig,
curl, lift, dump, return.

Sources of the numbers: 14.3 kW in a machine of the 1.8 t class (Caterpillar 301.8: Pro Builder, "Mini excavator range
from Caterpillar"); 40 to 50 l/min at 16 MPa in machines of 1.5 to 1.95 t (Telstone Solutions, "Evaluating hydraulic
system pressure vs. job type"), from which 46 l/min at up to 18 MPa is own choice; bores and rods of the series of ISO
3320. Lengths, masses, strokes and gains are own choice of usual size, for a bucket that digs 2.1 m deep.

At the start everything rests: pressures, spools, the pump's displacement and the integral parts of the controllers
(`STARTS`) balance weight and leakage. They belong to these numbers: with others the machine settles during the first
half second. Known facts: in it nothing moves; at the cylinders' pins work is neither made nor lost, so that the power
put in by the pump's shaft is stored or lost as the blocks say.
"""

from dataclasses import replace
from math import pi, sqrt

from mbfmu import load
from mbfmu.errors import ValueRangeError
from mbfmu.model import (
    Block,
    Body,
    BodyShape,
    Defined,
    FixedTranslation,
    LineForce,
    Parameter,
    Port,
    RelativeSensor,
    Revolute,
    Sampled,
    Subsystem,
    System,
    World,
    connect,
    guess,
    wire,
)

JOINTS = {"lift": "boom", "crowd": "stick", "curl": "bucket"}
"""What each cylinder moves."""
PINS = {
    "lift": ("lift_foot", "lift_eye"),
    "crowd": ("crowd_foot", "crowd_eye"),
    "curl": ("curl_foot", "rocker_arm"),
}
"""The parts whose frame_b the two pins of each cylinder are."""
TIMES = (0.0, 0.5, 2.0, 4.5, 6.25, 8.0, 9.25, 10.0)
"""Times of the points of the dig cycle, s: rest, reach out, dig, curl, lift, dump, return."""
PATHS = {
    "boom": (0.35, 0.35, -0.05, 0.0, 0.25, 0.5, 0.5, 0.35),
    "stick": (-1.0, -1.0, -1.0, -2.0, -2.1, -1.5, -1.2, -1.0),
    "bucket": (-0.3, -0.3, -0.3, -0.9, -1.8, -1.8, -0.6, -0.3),
}
"""Angles of the joints there, rad."""
SIZES = {
    "lift": {"D": 0.063, "d": 0.036, "L": 0.46, "s_0": -0.61},
    "crowd": {"D": 0.063, "d": 0.036, "L": 0.50, "s_0": -0.90},
    "curl": {"D": 0.050, "d": 0.028, "L": 0.40, "s_0": -0.60},
}
"""Bore, rod and stroke of each cylinder, m; its pins are -s_0 apart with the rod in."""
VALVE = {"q_n": 6e-4, "dp_n": 3.5e6, "w_v": 200.0, "D_v": 0.8, "c": 2e-3, "p_r": 2.2e7}
"""A proportional valve of 36 l/min with a spool of 32 Hz."""
DEAD = {"V_0a": 2e-4, "V_0b": 2e-4, "C_i": 6e-12}
"""Dead volumes of a cylinder with its lines; a leakage past its piston that damps the oil while the valve is closed."""
STARTS = {
    "lift": (0.009595966681040635, 9627060.500653978, 8162941.178320496),
    "crowd": (-0.03795533524803638, 6341181.909300017, 11448819.769674456),
    "curl": (-0.027074560647087072, 6983442.375998753, 10806559.302975722),
}
"""At the start: position of the spool, pressures in the chambers (Pa)."""
START_LINE, START_PUMP = 17790001.678974472, 0.104999160512764
"""At the start: pressure in the line (Pa) and displacement of the pump."""
ARMS = {"lift": 0.34, "crowd": -0.23, "curl": -0.17}
"""Change of each cylinder's length by the joint's angle, m/rad, at the middle of its way."""


def mechanism() -> System:
    """Return boom, stick, bucket and linkage; forces of the cylinders in, distances of their pins out."""
    return System(
        name="excavator",
        description="Excavator of 1.8 t: a dig cycle with hydraulics and sampled controllers",
        planar=True,
        parameters=(Parameter("load", 40.0, "kg", "mass in the bucket", min=0),),
        components=(
            World(g=9.81),
            FixedTranslation("pivot", r=(0.0, 0.5)),
            FixedTranslation("lift_foot", r=(0.2, -0.35)),
            Revolute("boom", phi=PATHS["boom"][0], w=0.0),
            BodyShape("beam", m=80.0, r=(1.85, 0.0), r_CM=(0.9, 0.2), I_33=26.0),
            FixedTranslation("lift_eye", r=(0.7, 0.3)),
            Body("lift_rod", m=7.0),
            FixedTranslation("crowd_foot", r=(0.75, 0.42)),
            Body("crowd_barrel", m=9.0),
            Revolute("stick", phi=PATHS["stick"][0], w=0.0),
            BodyShape("arm", m=40.0, r=(1.05, 0.0), r_CM=(0.36, 0.06), I_33=5.0),
            FixedTranslation("crowd_eye", r=(-0.22, 0.1)),
            Body("crowd_rod", m=6.0),
            FixedTranslation("curl_foot", r=(0.12, 0.24)),
            Body("curl_barrel", m=7.0),
            Revolute("bucket", phi=PATHS["bucket"][0], w=0.0),
            BodyShape("shell", m=35.0, r=(0.65, 0.0), r_CM=(0.24, 0.02), I_33=1.8),
            FixedTranslation("inside", r=(0.27, 0.04)),
            Body("soil", m="load"),
            FixedTranslation("ear", r=(-0.081, 0.138)),
            FixedTranslation("rocker_pin", r=(0.88, 0.03)),
            Revolute("rocker", phi=guess(1.85)),
            BodyShape("rocker_arm", m=4.0, r=(0.2, 0.0), r_CM=(0.1, 0.0), I_33=0.02),
            Body("curl_rod", m=4.0),
            Revolute("link"),
            BodyShape("link_arm", m=5.0, r=(0.2, 0.0), r_CM=(0.1, 0.0), I_33=0.03),
            Revolute("closing", phi=guess(0.04)),
            *(LineForce(name) for name in JOINTS),
            *(RelativeSensor(f"{name}_pins") for name in JOINTS),
        ),
        connections=(
            connect("world.frame_b", "pivot.frame_a"),
            connect("pivot.frame_b", "lift_foot.frame_a"),
            connect("pivot.frame_b", "boom.frame_a"),
            connect("boom.frame_b", "beam.frame_a"),
            connect("beam.frame_a", "lift_eye.frame_a"),
            connect("lift_eye.frame_b", "lift_rod.frame_a"),
            connect("beam.frame_a", "crowd_foot.frame_a"),
            connect("crowd_foot.frame_b", "crowd_barrel.frame_a"),
            connect("beam.frame_b", "stick.frame_a"),
            connect("stick.frame_b", "arm.frame_a"),
            connect("arm.frame_a", "crowd_eye.frame_a"),
            connect("crowd_eye.frame_b", "crowd_rod.frame_a"),
            connect("arm.frame_a", "curl_foot.frame_a"),
            connect("curl_foot.frame_b", "curl_barrel.frame_a"),
            connect("arm.frame_b", "bucket.frame_a"),
            connect("bucket.frame_b", "shell.frame_a"),
            connect("shell.frame_a", "inside.frame_a"),
            connect("inside.frame_b", "soil.frame_a"),
            connect("shell.frame_a", "ear.frame_a"),
            connect("arm.frame_a", "rocker_pin.frame_a"),
            connect("rocker_pin.frame_b", "rocker.frame_a"),
            connect("rocker.frame_b", "rocker_arm.frame_a"),
            connect("rocker_arm.frame_b", "curl_rod.frame_a"),
            connect("rocker_arm.frame_b", "link.frame_a"),
            connect("link.frame_b", "link_arm.frame_a"),
            connect("link_arm.frame_b", "closing.frame_a"),
            connect("ear.frame_b", "closing.frame_b"),
            *(
                connect(f"{pin}.frame_b", f"{item}.{frame}")
                for name, pins in PINS.items()
                for item in (name, f"{name}_pins")
                for pin, frame in zip(pins, ("frame_a", "frame_b"), strict=True)
            ),
        ),
    )


def engine() -> Block:
    """Return what the hydraulics get from outside: speed of the shaft and pressures."""
    return Block(
        name="engine",
        description="Speed of the shaft, pressure of the compensator, pressure of the tank",
        defined=(
            Defined("w", "2*pi*n", "rad/s", "angular velocity of the shaft", True, 1e2),
            Defined("p_ref", "p_max", "Pa", "pressure at which the pump gives nothing", True, 1e7),
            Defined("p_t", "p_tank", "Pa", "pressure of the tank", True, 1e6),
        ),
        parameters=(
            Parameter("n", 2300 / 60, "1/s", "turns of the shaft a second", min=0),
            Parameter("p_max", 18e6, "Pa", "pressure at which the pump gives nothing", min=0),
            Parameter("p_tank", 0.0, "Pa", "pressure of the tank"),
        ),
    )


def oil() -> System:
    """Return pump, line, valves and cylinders: commands and motions of the rods in, forces out."""
    beta = {"beta": "beta"}
    return System(
        name="oil",
        description="Pump, line, and a valve and a cylinder for each axis",
        planar=True,
        parameters=(Parameter("beta", 1.2e9, "Pa", "bulk modulus of the oil", min=1e6),),
        components=(
            Subsystem("engine", engine()),
            Subsystem("pump", load("pump"), {"x": START_PUMP, "V_t": 20e-6, "p_r": 2.1e7, **beta}),
            Subsystem("line", load("line", {"N": 4}), {"p": START_LINE, "V": 1e-3, **beta}),
            *(
                Subsystem(f"{name}_valve", load("servo_valve"), {"y": STARTS[name][0], **VALVE, **beta})
                for name in JOINTS
            ),
            *(
                Subsystem(
                    name,
                    load("cylinder"),
                    {"p_a": STARTS[name][1], "p_b": STARTS[name][2], **sizes, **DEAD, **beta},
                )
                for name, sizes in SIZES.items()
            ),
        ),
        wires=(
            wire("engine.w", "pump.w"),
            wire("engine.p_ref", "pump.p_ref"),
            wire("engine.p_t", "pump.p_t"),
            wire("line.p", "pump.p"),
            wire("pump.q", "line.q_1"),
            *(wire(f"{name}_valve.q_s", f"line.q_{k}", -1) for k, name in enumerate(JOINTS, 2)),
            *(wire("line.p", f"{name}_valve.p_s") for name in JOINTS),
            *(wire("engine.p_t", f"{name}_valve.p_t") for name in JOINTS),
            *(wire(f"{name}.p_{port}", f"{name}_valve.p_{port}") for name in JOINTS for port in "ab"),
            *(wire(f"{name}_valve.q_{port}", f"{name}.q_{port}") for name in JOINTS for port in "ab"),
        ),
    )


def controller() -> Sampled:
    """Return the controller of a joint: angle and speed asked for and angle measured in, command of the valve out."""
    block = Block(
        name="controller",
        description="PI controller of an angle with the speed fed forward",
        inputs=(
            Port("reference", "rad", "angle asked for"),
            Port("rate", "rad/s", "its rate"),
            Port("measured", "rad", "angle measured"),
        ),
        defined=(
            Defined("e", "reference - measured", "rad", "error"),
            Defined("I", "max(-I_max, min(I_max, previous(I) + k_i*T*e))", "rad/s", "integral part"),
            Defined("v", "arm*(rate + k_p*e + I)", "m/s", "speed of the rod asked for", nominal=0.1),
            Defined("command", "max(-1, min(1, where(v > 0, v/v_o, v/v_i)))", "1", "opening asked for", True),
        ),
        parameters=(
            Parameter("T", 0.005, "s", "period", min=1e-6),
            Parameter("k_p", 8.0, "1/s", "gain of the error"),
            Parameter("k_i", 16.0, "1/s2", "gain of its integral"),
            Parameter("I_max", 0.3, "rad/s", "limit of the integral part", min=0),
            Parameter("arm", 0.2, "m", "change of the cylinder's length by the angle"),
            Parameter("v_o", 0.2, "m/s", "speed of the rod at full opening, outwards", min=1e-6),
            Parameter("v_i", 0.3, "m/s", "speed of the rod at full opening, inwards", min=1e-6),
        ),
    )
    return Sampled(block, period="T")


def control() -> System:
    """Return the paths and controllers of the joints: angles in, commands of the valves out."""
    flow = VALVE["q_n"] * sqrt(8e6 / VALVE["dp_n"])  # with 8 MPa at an edge, about half of what the pump gives
    numbers = range(1, len(TIMES) + 1)
    components = []
    for name, joint in JOINTS.items():
        path = Sampled(load("waypoints", {"N": len(TIMES)}), period=0.005)
        points = {f"t_{k}": t for k, t in zip(numbers, TIMES, strict=True)}
        points |= {f"y_{k}": y for k, y in zip(numbers, PATHS[joint], strict=True)}
        bore, rod = SIZES[name]["D"], SIZES[name]["d"]
        speeds = {"v_o": flow / (pi / 4 * bore**2), "v_i": flow / (pi / 4 * (bore**2 - rod**2))}
        y = STARTS[name][0]
        rest = y * speeds["v_o" if y > 0 else "v_i"] / ARMS[name]
        components += [
            Subsystem(f"{joint}_path", path, {**points, "repeat": 1.0}),
            Subsystem(joint, controller(), {"arm": ARMS[name], **speeds, "I": rest}),
        ]
    return System(
        name="control",
        description="Paths and sampled controllers of the three joints",
        planar=True,
        components=tuple(components),
        wires=tuple(
            wire(f"{joint}_path.{source}", f"{joint}.{target}")
            for joint in PATHS
            for source, target in (("y", "reference"), ("rate", "rate"))
        ),
    )


def drives() -> System:
    """Return hydraulics and controllers: angles and motions of the rods in, forces out."""
    return System(
        name="drives",
        description="Hydraulics with their controllers",
        planar=True,
        components=(Subsystem("oil", oil()), Subsystem("control", control())),
        wires=tuple(wire(f"control.{joint}.command", f"oil.{name}_valve.command") for name, joint in JOINTS.items()),
    )


def excavator(part: str = "whole") -> System:
    """Return the machine, or a part of it.

    Args:
        part: `whole`; `mechanism`, `oil` or `control` for one of the three it is made of; `drives` for the latter two.
    """
    parts = {"mechanism": mechanism, "oil": oil, "control": control, "drives": drives}
    if part in parts:
        return parts[part]()
    if part != "whole":
        raise ValueRangeError(f"part = {part} must be whole, {', '.join(parts)}")
    machine, driven = mechanism(), drives()
    wires = (
        item
        for name, joint in JOINTS.items()
        for item in (
            wire(f"{name}_pins.distance", f"oil.{name}.s"),
            wire(f"{name}_pins.distance_rate", f"oil.{name}.v"),
            wire(f"oil.{name}.f", f"{name}.f"),
            wire(f"{joint}.phi", f"control.{joint}.measured"),
        )
    )
    return replace(
        machine,
        components=(*machine.components, *driven.components),
        wires=(*driven.wires, *wires),
    )
