"""A boom with its hydraulic servo in one system: a rod, the cylinder that turns it, its valve and its controller.

A uniform rod (mass m, length l) is hinged at the origin, at the angle q from the horizontal; the cylinder goes from
ground, at (px, py), to the point at bx of the rod. Its piston is at x = length - x2, and with chambers of the areas A1
and A2 the force p1 A1 - p2 A2 - d x' pushes:

    p1' = beta/V1 (Q1 - A1 x'),   p2' = beta/V2 (Q2 + A2 x'),   V1 = V0 + A1 x,   V2 = V0 + A2 (x2 - x)
    Q1 = K u s(ps - p1),  Q2 = -K u s(p2 - tank)   for u >= 0;   Q1 = K u s(p1 - tank),  Q2 = -K u s(ps - p2)  for u < 0
    u'' + 2 zeta w u' + w^2 u = w^2 kp (r - q),   w = 2 pi f,    s(p) = p/(p^2 + 1e8)^(1/4)

The angle asked for, r, is 0 until t1 and ref from there on. The law of the orifices: Merritt, Hydraulic Control
Systems, 1967; made smooth near zero as own choice, like all numbers. Known facts: at the start the cylinder carries the
rod at rest, whatever its mass, so that nothing moves until t1; in the end q is ref.
"""

from mbfmu.model import (
    Block,
    BodyShape,
    Defined,
    FixedTranslation,
    LineForce,
    Parameter,
    Port,
    RelativeSensor,
    Revolute,
    Sampled,
    State,
    Subsystem,
    System,
    World,
    connect,
    wire,
)

AREAS = (
    Parameter("A1", 0.0012, "m2", "area of chamber 1", min=1e-9),
    Parameter("A2", 0.0008, "m2", "area of chamber 2", min=1e-9),
)
OIL = (
    *AREAS,
    Parameter("V0", 0.0002, "m3", "dead volume of each chamber", min=1e-9),
    Parameter("x2", 0.5, "m", "stroke, and length of the cylinder with the piston at x = 0", min=1e-9),
    Parameter("beta", 1.2e9, "Pa", "bulk modulus", min=1.0),
    Parameter("ps", 15e6, "Pa", "supply pressure"),
    Parameter("tank", 0.0, "Pa", "tank pressure"),
    Parameter("K", 2e-7, "m3/(s.Pa(1/2))", "coefficient of an edge of the open valve", min=0),
    Parameter("kp", 8.0, "1/rad", "gain of the controller"),
    Parameter("zeta", 0.8, "1", "damping ratio of the spool", min=0),
    Parameter("f", 60.0, "Hz", "frequency of the spool", min=1e-9),
    Parameter("d", 6000.0, "N.s/m", "viscous friction of the cylinder", min=0),
)
COMMAND = (
    Parameter("ref", 0.1, "rad", "angle asked for from t1 on"),
    Parameter("t1", 0.1, "s", "time of the command", min=0),
)
BOOM = (
    Parameter("m", 20.0, "kg", "mass of the rod", min=1e-9),
    Parameter("l", 2.0, "m", "length of the rod", min=1e-9),
    Parameter("g", 9.81, "m/s2", "gravity acceleration"),
    Parameter("px", 0.3, "m", "place of the cylinder's foot"),
    Parameter("py", -0.4, "m", "place of the cylinder's foot"),
    Parameter("bx", 0.6, "m", "place of the piston's end on the rod"),
)


P2 = 5e6
"""Pressure in chamber 2 at the start, Pa."""
CARRYING = f"({P2}*A2 + m*g*l/2*sqrt((bx - px)**2 + py**2)/(-bx*py))/A1"
"""Pressure in chamber 1 with which the cylinder carries the rod at rest at q = 0, Pa."""


def servo() -> Block:
    """Return controller, valve and chambers: angle and motion of the piston in, force out."""
    drop = "({0})/(({0})**2 + 1e8)**0.25"
    up, down = "K*max(u, 0)*", "K*min(u, 0)*"
    return Block(
        name="servo",
        description="Controller, servo valve and cylinder",
        inputs=(
            Port("q", "rad", "angle measured"),
            Port("r", "rad", "angle asked for"),
            Port("x", "m", "place of the piston", nominal=0.1),
            Port("v", "m/s", "speed of the piston", nominal=0.1),
        ),
        states=(
            State("p1", "beta/V1*(Q1 - A1*v)", "Pa", 5e6, "pressure in chamber 1", 1e6),
            State("p2", "beta/V2*(Q2 + A2*v)", "Pa", P2, "pressure in chamber 2", 1e6),
            State("u", "du", "1", 0.0, "place of the spool"),
            State("du", "w_v**2*(kp*(r - q) - u) - 2*zeta*w_v*du", "1/s", 0.0, "speed of the spool", 1e2),
        ),
        defined=(
            Defined("w_v", "2*pi*f", "rad/s", "natural frequency of the spool", nominal=1e2),
            Defined("V1", "V0 + A1*x", "m3", "volume of chamber 1", nominal=1e-3),
            Defined("V2", "V0 + A2*(x2 - x)", "m3", "volume of chamber 2", nominal=1e-3),
            Defined(
                "Q1", up + drop.format("ps - p1") + " + " + down + drop.format("p1 - tank"),
                "m3/s", "flow into chamber 1", nominal=1e-3,
            ),
            Defined(
                "Q2", "-" + up + drop.format("p2 - tank") + " - " + down + drop.format("ps - p2"),
                "m3/s", "flow into chamber 2", nominal=1e-3,
            ),
            Defined("force", "p1*A1 - p2*A2 - d*v", "N", "force that pushes", output=True, nominal=1e3),
        ),
        parameters=OIL,
    )  # fmt: skip


def command() -> Sampled:
    """Return the angle asked for: 0 until t1."""
    block = Block(
        name="command",
        description="A step",
        defined=(Defined("r", "ref", "rad", "angle asked for", output=True),),
        parameters=COMMAND,
    )
    return Sampled(block, period=1e6, offset="t1")


def hydraulic_monolith() -> System:
    """Return the boom with its servo."""
    return System(
        name="hydraulic_monolith",
        description="A boom with its hydraulic servo and controller in one system",
        planar=True,
        parameters=(*BOOM, *OIL, *COMMAND),
        components=(
            World(g="g"),
            Revolute("hinge", phi=0.0, w=0.0),
            BodyShape("rod", m="m", r=("l", 0.0), r_CM=("l/2", 0.0), I_33="m*l**2/12"),
            FixedTranslation("foot", r=("px", "py")),
            FixedTranslation("eye", r=("bx", 0.0)),
            LineForce("cylinder"),
            RelativeSensor("piston"),
            Subsystem("servo", servo(), {**{item.name: item.name for item in OIL}, "p1": CARRYING}),
            Subsystem("command", command(), {item.name: item.name for item in COMMAND}),
        ),
        connections=(
            connect("world.frame_b", "hinge.frame_a"),
            connect("hinge.frame_b", "rod.frame_a"),
            connect("world.frame_b", "foot.frame_a"),
            connect("rod.frame_a", "eye.frame_a"),
            connect("foot.frame_b", "cylinder.frame_a"),
            connect("eye.frame_b", "cylinder.frame_b"),
            connect("foot.frame_b", "piston.frame_a"),
            connect("eye.frame_b", "piston.frame_b"),
        ),
        wires=(
            wire("hinge.phi", "servo.q"),
            wire("command.r", "servo.r"),
            wire("piston.distance", "servo.x", offset="-x2"),
            wire("piston.distance_rate", "servo.v"),
            wire("servo.force", "cylinder.f"),
        ),
        names={
            "q": "hinge.phi",
            "w": "hinge.w",
            "p1": "servo.p1",
            "p2": "servo.p2",
            "u": "servo.u",
            "du": "servo.du",
        },
    )
