"""The Stewart platform `stewart` on six hydraulic servo axes: it heaves and pitches, as a motion simulator does.

Each leg is a `cylinder` behind a `servo_valve`, fed at a constant pressure. A controller computes every millisecond:
the legs' lengths l and rates l' for the heave and pitch asked for, and the valves' commands,

    z = z_0 + heave x(t),  theta = pitch x(t - T/4),  x = r(t) sin(2 pi t/T),  d = r_0 + R_y(theta) b - a,  l = |d|
    command = (K_p (l - l_0 - s) + l')/v_max - K_d (p_L - mean of p_L) + command_0,    p_L = p_a - A_b/A_a p_b

with a and b the joints of a leg on the ground and on the platform, and r(t) rising from 0 to 1 by the polynomial of
`trajectory`. The velocity that a full command gives an unloaded rod is v_max. The load pressure p_L, without its mean
over T_p, damps the oil, which hardly does so itself (feedforward, gain and dynamic pressure feedback: Merritt,
Hydraulic Control Systems, 1967, chapters 6 and 8; inverse kinematics: Merlet, Parallel Robots, 2006, chapter 3). The
cylinders and gains are own choice of usual size. Known facts: pressures and spools start where flows and forces are in
balance, whatever the weights, the supply and the cylinders, of valves without overlap; nothing moves until t_0.
"""

from dataclasses import replace
from math import pi, sqrt

import numpy as np

from mbfmu import load
from mbfmu.model import Block, Defined, Parameter, Port, Sampled, Subsystem, System, Wire, wire

Vector = tuple[float, ...]
LEGS = range(1, 7)
HEIGHT = 2.0
"""Of the platform at the start, m."""
CYLINDER = {"D": 0.063, "d": 0.036, "L": 1.0, "s_0": 0.4}
A_A, A_B = pi / 4 * 0.063**2, pi / 4 * (0.063**2 - 0.036**2)
"""Areas of the pistons, m2."""
SUPPLY = 2.1e7
"""Pressure above that of the tank, Pa."""


def supply() -> Block:
    """Return the supply of all valves."""
    return Block(
        name="supply",
        description="Supply of constant pressure",
        defined=(
            Defined("p_s", "p_0", "Pa", "pressure of the supply", True, 1e7),
            Defined("p_t", "0", "Pa", "pressure of the tank", True, 1e6),
        ),
        parameters=(Parameter("p_0", SUPPLY, "Pa", "pressure of the supply", min=0),),
    )


def motion_controller(feet: list[Vector], heads: list[Vector]) -> Sampled:
    """Return the controller: strokes of the legs in, commands of the valves out.

    Args:
        feet: joints of the legs on the ground, m.
        heads: joints of the legs on the platform, seen from it, m.
    """
    defined = [
        Defined("x", "max(0, min(1, (time - t_0)/T_r))", "1", "part of the rise that is over"),
        Defined("r", "x**3*(10 - 15*x + 6*x**2)", "1", "amplitude"),
        Defined("r_rate", "30*x**2*(1 - x)**2/T_r", "1/s", "its rate"),
        Defined("angle", "2*pi/T*(time - t_0)", "rad", "phase of the motion"),
        Defined("z", f"{HEIGHT} + heave*r*sin(angle)", "m", "height asked for", True),
        Defined("z_rate", "heave*(r_rate*sin(angle) + 2*pi/T*r*cos(angle))", "m/s", "its rate"),
        Defined("theta", "-pitch*r*cos(angle)", "rad", "pitch asked for", True),
        Defined("theta_rate", "pitch*(2*pi/T*r*sin(angle) - r_rate*cos(angle))", "rad/s", "its rate"),
    ]
    for k, a, b in zip(LEGS, feet, heads, strict=True):
        home = sqrt((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 + HEIGHT**2)
        across = (b[1] - a[1]) ** 2
        defined += [
            Defined(f"d_x{k}", f"{b[0]!r}*cos(theta) - {a[0]!r}", "m", f"from end to end of leg {k}, along x"),
            Defined(f"d_z{k}", f"z - {b[0]!r}*sin(theta)", "m", f"from end to end of leg {k}, along z"),
            Defined(f"l_{k}", f"sqrt(d_x{k}**2 + {across!r} + d_z{k}**2)", "m", f"length of leg {k}"),
            Defined(f"s_ref{k}", f"l_{k} - {home!r}", "m", f"stroke asked for of leg {k}", True, 0.1),
            Defined(
                f"v_ref{k}",
                f"(-d_x{k}*{b[0]!r}*sin(theta)*theta_rate + d_z{k}*(z_rate - {b[0]!r}*cos(theta)*theta_rate))/l_{k}",
                "m/s", "its rate", nominal=0.1,
            ),
            Defined(
                f"mean_{k}", f"previous(mean_{k}) + (1 - exp(-Ts/T_p))*(p_L{k} - previous(mean_{k}))", "Pa",
                f"mean of the load pressure of leg {k}", nominal=1e6,
            ),
            Defined(f"p_L{k}", f"p_a{k} - A_ba*p_b{k}", "Pa", f"load pressure of leg {k}", nominal=1e6),
            Defined(
                f"command_{k}",
                f"(K_p*(s_ref{k} - s_{k}) + v_ref{k})/v_max - K_d*(p_L{k} - mean_{k}) + command_0{k}",
                "1", f"command of valve {k}", True,
            ),
        ]  # fmt: skip
    block = Block(
        name="controller",
        description="Motion of the platform, legs' lengths and their controllers",
        inputs=(
            *(Port(f"s_{k}", "m", f"stroke of leg {k}", nominal=0.1) for k in LEGS),
            *(
                Port(f"p_{side}{k}", "Pa", f"pressure in chamber {side} of leg {k}", 0.0, 1e6)
                for k in LEGS
                for side in "ab"
            ),
        ),
        defined=tuple(defined),
        parameters=(
            Parameter("heave", 0.1, "m", "amplitude of the height"),
            Parameter("pitch", 0.06, "rad", "amplitude of the pitch"),
            Parameter("T", 3.0, "s", "period of the motion", min=1e-3),
            Parameter("t_0", 0.1, "s", "time at which the motion begins", min=0),
            Parameter("T_r", 1.0, "s", "time over which its amplitude rises", min=1e-3),
            Parameter("K_p", 20.0, "1/s", "gain of the position", min=0),
            Parameter("K_d", 1e-7, "1/Pa", "gain of the load pressure", min=0),
            Parameter("T_p", 0.1, "s", "time over which its mean is taken", min=1e-6),
            Parameter("A_ba", A_B / A_A, "1", "area of chamber b over that of a", min=0),
            Parameter("v_max", 9e-4 / A_A, "m/s", "velocity of an unloaded rod at full command", min=1e-9),
            *(Parameter(f"command_0{k}", 0.0, "1", f"command of valve {k} at rest") for k in LEGS),
            Parameter("Ts", 1e-3, "s", "period of the controller", min=1e-6),
        ),
    )
    return Sampled(block, period="Ts")


def holding(feet: list[Vector], heads: list[Vector]) -> list[Parameter]:
    """Return the forces that the legs push with at home, as parameters that follow the weights.

    A leg carries weights of its own, at a distance from its foot, as one bar does: what is across the leg rests on foot
    and head by the lever, and what is along the tube on the foot, along the rod on the drive. The forces along the
    legs and the weights that rest on the platform are in balance.

    Args:
        feet: joints of the legs on the ground, m.
        heads: joints of the legs on the platform, seen from it, m.
    """
    up = np.array([0.0, 0.0, 1.0])
    ways = [np.array(head) + HEIGHT * up - np.array(foot) for foot, head in zip(feet, heads, strict=True)]
    axes = [way / np.linalg.norm(way) for way in ways]

    def wrench(force: np.ndarray, head: Vector) -> np.ndarray:
        return np.concatenate([force, np.cross(head, force)])

    legs = np.array([wrench(axis, head) for axis, head in zip(axes, heads, strict=True)]).T
    terms = {"platform.m": np.linalg.solve(legs, wrench(up, (0.0, 0.0, 0.0)))}
    for k, (way, axis, head) in enumerate(zip(ways, axes, heads, strict=True)):
        across = (up - axis[2] * axis) / np.linalg.norm(way)
        lever = np.linalg.solve(legs, wrench(across, head))
        terms[f"tube{k + 1}.m*tube{k + 1}.r_CM[3]"] = lever
        terms[f"rod{k + 1}.m*(home{k + 1}.r[3] + rod{k + 1}.r_CM[3])"] = lever
        terms[f"rod{k + 1}.m"] = axis[2] * np.eye(6)[k]
    return [
        Parameter(
            f"hold{k}",
            "world.g*(" + " + ".join(f"{float(part[k - 1])!r}*{term}" for term, part in terms.items()) + ")",
            "N", f"force that leg {k} pushes with at the start",
        )
        for k in LEGS
    ]  # fmt: skip


def balance(k: int) -> list[Parameter]:
    """Return pressures of both chambers and the place of the spool at which leg k rests, as parameters.

    What flows into chamber a leaks past the piston and leaves chamber b, through edges that are alike: p_a + p_b = p_0,
    and each edge has the same flow as the one opposite. With the drops p_0 - p_a and p_a, the roots S_1 and S_2 of
    these, the openings x_p and x_n = c^2/(4 x_p), and the leakage L: K x_p S_1 - K x_n S_2 = L.
    """
    valve, oil = f"valve{k}", f"cylinder{k}"
    into, out, leakage = f"supply.p_0 - p_a{k}", f"p_a{k}", f"{oil}.C_i*(2*p_a{k} - supply.p_0)"
    roots = [f"({dp})/(({dp})**2 + {valve}.dp_0**2)**0.25" for dp in (into, out)]
    return [
        Parameter(f"p_a{k}", f"(hold{k} + {oil}.A_b*supply.p_0)/({oil}.A_a + {oil}.A_b)", "Pa", f"p_a of leg {k}"),
        Parameter(f"p_b{k}", f"supply.p_0 - p_a{k}", "Pa", f"p_b of leg {k}"),
        *(Parameter(f"S_{i}{k}", f"{valve}.K*{root}", "m3/s", f"flow of drop {i}") for i, root in enumerate(roots, 1)),
        Parameter(
            f"x_p{k}", f"({leakage} + sqrt(({leakage})**2 + S_1{k}*S_2{k}*{valve}.c**2))/(2*S_1{k})", "1",
            f"opening of the edges s-a and b-t of valve {k}",
        ),
        Parameter(f"y{k}", f"x_p{k} - {valve}.c**2/(4*x_p{k})", "1", f"place of the spool of valve {k}"),
    ]  # fmt: skip


def stewart_hydraulic() -> System:
    """Return the platform with its axes; `leg1.s` to `leg6.s` are the legs' extensions from home."""
    platform = load("stewart")
    assert isinstance(platform, System)
    mounts = {item.name: item for item in platform.components if hasattr(item, "r")}
    feet, heads = ([tuple(map(float, mounts[f"{end}{k}"].r)) for k in LEGS] for end in ("foot", "head"))
    rest = {f"mean_{k}": f"p_a{k} - controller.A_ba*p_b{k}" for k in LEGS}
    rest |= {f"command_0{k}": f"y{k}" for k in LEGS}
    components: list[Subsystem] = [
        Subsystem("supply", supply()), Subsystem("controller", motion_controller(feet, heads), rest),
    ]  # fmt: skip
    wires: list[Wire] = []
    for k in LEGS:
        valve, oil, leg = f"valve{k}", f"cylinder{k}", f"leg{k}"
        components += [
            Subsystem(valve, load("servo_valve"), {"y": f"y{k}"}),
            Subsystem(oil, load("cylinder"), {**CYLINDER, "p_a": f"p_a{k}", "p_b": f"p_b{k}"}),
        ]
        wires += [
            wire(f"{leg}.s", f"controller.s_{k}"),
            *(wire(f"{oil}.p_{side}", f"controller.p_{side}{k}") for side in "ab"),
            wire(f"controller.command_{k}", f"{valve}.command"),
            *(wire(f"supply.{name}", f"{valve}.{name}") for name in ("p_s", "p_t")),
            *(wire(f"{oil}.{name}", f"{valve}.{name}") for name in ("p_a", "p_b")),
            *(wire(f"{valve}.{name}", f"{oil}.{name}") for name in ("q_a", "q_b")),
            *(wire(f"{leg}.{name}", f"{oil}.{name}") for name in ("s", "v")),
            wire(f"{oil}.f", f"{leg}.f"),
        ]
    return replace(
        platform,
        name="stewart_hydraulic",
        description="A Stewart platform on six hydraulic servo axes with their controller",
        parameters=(*holding(feet, heads), *(item for k in LEGS for item in balance(k))),
        components=(*platform.components, *components),
        wires=tuple(wires),
    )
