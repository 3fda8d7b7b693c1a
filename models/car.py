"""A car: double wishbones and a steering rack in front, trailing arms behind, four tyres of the Magic Formula.

Of each front wheel, wishbones and upright are bodies that ball joints close to a loop, and a tie rod goes from the
upright to the rack, which follows the steering wheel through a spring with damping. Springs and dampers act on the
lower wishbones and on the trailing arms, anti-roll bars on the difference of the two sides. Drive and brakes act
between wheel and upright. The torque of a brake is smoothed below 2 rad/s: on a slope the car creeps.

Sources: the tyres are those of `tyre_185_80R14.tir`; layout after Milliken & Milliken, Race Car Vehicle Dynamics,
1995, chapters 17 and 19; sizes, masses and rates are own choice of a car of 1.5 t. x points ahead, y to the left, z up.
At the start the car drives straight on at `v` and settles on its springs within 1 mm. Known facts: the tyres' loads
carry the weight; straight on the car keeps its line, as the tyres of its sides are mirrored; in a wide bend its yaw
rate is that of the bicycle model with the cornering stiffness and the trail of its tyres, to 2 %.
"""

from pathlib import Path

from mbfmu.model import (
    AbsoluteSensor,
    AffineDrive,
    AxesSpring,
    Block,
    Body,
    BodyShape,
    Component,
    Connection,
    Defined,
    Distance,
    FixedTranslation,
    FreeMotion,
    Parameter,
    Port,
    Prismatic,
    Revolute,
    RotationalDamper,
    RotationalSpring,
    Spherical,
    SpringDamper,
    Subsystem,
    System,
    Tyre,
    Wire,
    World,
    connect,
    wire,
)

TYRE = Path(__file__).with_name("tyre_185_80R14.tir")
Point = tuple[float, float, float]
FRONT, REAR = 1.2, -1.4
"""Places of the axles, m, before the centre of mass."""
WHEEL: dict[str, Point] = {"front": (FRONT, 0.75, 0.3533), "rear": (REAR, 0.75, 0.3564)}
"""Centres of the left wheels, m, seen from the ground below the centre of mass."""
LOWER: tuple[Point, Point] = ((FRONT + 0.005, 0.35, 0.22), (FRONT + 0.005, 0.68, 0.20))
UPPER: tuple[Point, Point] = ((FRONT - 0.02, 0.42, 0.50), (FRONT - 0.02, 0.65, 0.48))
"""Pivot and ball joint of the left wishbones, m; the balls give a kingpin inclination of 6 and a caster of 5 deg."""
TIE_ROD: tuple[Point, Point] = ((FRONT - 0.13, 0.37, 0.253), (FRONT - 0.13, 0.66, 0.243))
"""Ends of the left tie rod at rack and upright, m."""
STRUT: tuple[Point, Point] = ((FRONT + 0.005, 0.47, 0.60), (FRONT + 0.005, 0.57, 0.2067))
"""Ends of the left spring at body and lower wishbone, m."""
PIVOT: Point = (REAR + 0.45, 0.70, 0.33)
"""Pivot of the left trailing arm, m."""
ROLLING = 0.3682
"""Rolling radius, m."""
SIDES = {"l": 1.0, "r": -1.0}
WHEELS = ("fl", "fr", "rl", "rr")
BRAKE = {"f": 0.33, "r": 0.17}
"""Share of each brake."""


def car() -> System:
    """Return the car; inputs are the angle of the steering wheel, to the left, and the torques of drive and brakes."""
    components: list[Component | Subsystem] = [
        World(g=9.81, n=(0, 0, -1)),
        FreeMotion("free", r_rel=(0.0, 0.0, 0.0), Q_rel=(1.0, 0, 0, 0), v_rel=("v", 0.0, 0.0), w_rel=(0.0, 0.0, 0.0)),
        Body("body", m="m", r_CM=(0.0, 0.0, "h"), I_11=400.0, I_22=1900.0, I_33=2100.0, shape="box(3.8, 1.3, 0.8)"),
        FixedTranslation("ahead", r=("preview", 0.0, 0.0)),
        AbsoluteSensor("view"),
        FixedTranslation("rack_place", r=(TIE_ROD[0][0], 0.0, TIE_ROD[0][2])),
        Prismatic("rack", n=(0, -1, 0), s=0.0, v=0.0),
        Body("rack_bar", m=5.0, I_11=0.1, I_22=0.01, I_33=0.1),
        AffineDrive(
            "steering", joints=("rack",), ratios=(1.0,), gain="c_steer*i_steer", bias_s="-c_steer", bias_v="-d_steer"
        ),
        AxesSpring("front_bar", joints=("fl_lower", "fr_lower"), ratios=(1.0, 1.0), c="c_front_bar"),
        AxesSpring("rear_bar", joints=("rl_arm", "rr_arm"), ratios=(1.0, -1.0), c="c_rear_bar"),
        Subsystem("pedals", pedals()),
    ]
    connections = [
        connect("world.frame_b", "free.frame_a"),
        connect("free.frame_b", "body.frame_a"),
        connect("body.frame_a", "ahead.frame_a"),
        connect("ahead.frame_b", "view.frame_a"),
        connect("body.frame_a", "rack_place.frame_a"),
        connect("rack_place.frame_b", "rack.frame_a"),
        connect("rack.frame_b", "rack_bar.frame_a"),
    ]
    wires: list[Wire] = []
    for corner in WHEELS:
        parts, joined = (front_corner if corner[0] == "f" else rear_corner)(corner, SIDES[corner[1]])
        components += parts
        connections += joined
        wires += [
            wire(f"{corner}_hub.w", f"pedals.w_{corner}"),
            wire(f"pedals.tau_{corner}", f"{corner}_hub.tau"),
        ]
    return System(
        name="car",
        description="A car with double wishbones, trailing arms and tyres of the Magic Formula",
        parameters=(
            Parameter("v", 80 / 3.6, "m/s", "speed at the start"),
            Parameter("m", 1330.0, "kg", "mass of the body", min=1.0),
            Parameter("h", 0.55, "m", "height of its centre of mass"),
            Parameter("mu", 1.0, "1", "friction of the road over that of the tyres' measurements", min=1e-9),
            Parameter("c_front", 70e3, "N/m", "stiffness of a front spring", min=0),
            Parameter("d_front", 5.5e3, "N.s/m", "damping constant of a front damper", min=0),
            Parameter("c_rear", 4.5e3, "N.m/rad", "stiffness of a trailing arm's spring", min=0),
            Parameter("d_rear", 350.0, "N.m.s/rad", "damping constant of a trailing arm's damper", min=0),
            Parameter("c_front_bar", 1.6e3, "N.m/rad", "stiffness of the front anti-roll bar", min=0),
            Parameter("c_rear_bar", 0.6e3, "N.m/rad", "stiffness of the rear anti-roll bar", min=0),
            Parameter("c_steer", 4e5, "N/m", "stiffness of the steering at the rack", min=0),
            Parameter("d_steer", 4e3, "N.s/m", "damping constant of the steering at the rack", min=0),
            Parameter("i_steer", 0.008, "m/rad", "way of the rack for the angle of the steering wheel"),
            Parameter("preview", 14.0, "m", "place of the sensor `view` before the centre of mass"),
        ),
        components=tuple(components),
        connections=tuple(connections),
        wires=tuple(wires),
        names={"steer": "steering.u", "drive": "pedals.drive", "brake": "pedals.brake"},
    )


def pedals() -> Block:
    """Return drive and brakes: torques of all wheels together and speeds of the wheels in, torque of each wheel out."""
    return Block(
        name="pedals",
        description="Drive of the rear wheels and brakes of all",
        inputs=(
            Port("drive", "N.m", "torque of the drive on both wheels", nominal=1e3),
            Port("brake", "N.m", "torque of the brakes on all wheels, at least 0", nominal=1e3),
            *(Port(f"w_{corner}", "rad/s", "angular velocity of the wheel", nominal=100.0) for corner in WHEELS),
        ),
        defined=tuple(
            Defined(
                f"tau_{corner}",
                f"{0.5 * (corner[0] == 'r')!r}*drive - {BRAKE[corner[0]]!r}*max(0, brake)*tanh(w_{corner}/w_0)",
                "N.m", "torque on the wheel", True, 1e3,
            )
            for corner in WHEELS
        ),
        parameters=(Parameter("w_0", 2.0, "rad/s", "speed over which a brake's torque is smoothed", min=1e-6),),
    )  # fmt: skip


def wheel(corner: str, carrier: str) -> tuple[list[Component | Subsystem], list[Connection]]:
    """Return a wheel on a hub at frame_b of its carrier, with its tyre."""
    return [
        Revolute(f"{corner}_hub", n=(0, 1, 0), phi=0.0, w=f"v/{ROLLING!r}", actuated=True),
        Body(f"{corner}_wheel", m=18.0, I_11=0.6, I_22=1.0, I_33=0.6),
        Tyre(f"{corner}_tyre", data=str(TYRE), mirrored=corner[1] == "r", mu="mu"),
    ], [
        connect(f"{carrier}.frame_b", f"{corner}_hub.frame_a"),
        connect(f"{corner}_hub.frame_b", f"{corner}_wheel.frame_a"),
        connect("world.frame_b", f"{corner}_tyre.frame_a"),
        connect(f"{corner}_wheel.frame_a", f"{corner}_tyre.frame_b"),
    ]


def front_corner(corner: str, side: float) -> tuple[list[Component | Subsystem], list[Connection]]:
    """Return a front wheel with wishbones, upright, tie rod, spring and damper; side is 1 for the left, -1."""
    lower, ball = (mirrored(point, side) for point in LOWER)
    upper, top = (mirrored(point, side) for point in UPPER)
    inner, outer = (mirrored(point, side) for point in TIE_ROD)
    mount, foot = (mirrored(point, side) for point in STRUT)
    centre = mirrored(WHEEL["front"], side)
    middle = tuple(between(ball, centre)[k] * 0.5 for k in range(3))
    parts, joined = wheel(corner, f"{corner}_upright")
    return [
        FixedTranslation(f"{corner}_lower_pivot", r=lower),
        Revolute(f"{corner}_lower", n=(1, 0, 0), phi=0.0, w=0.0),
        BodyShape(f"{corner}_lower_arm", r=between(lower, ball), m=5.0, I_11=0.06, I_22=0.06, I_33=0.06),
        FixedTranslation(f"{corner}_spring_foot", r=between(lower, foot)),
        FixedTranslation(f"{corner}_spring_mount", r=mount),
        SpringDamper(f"{corner}_spring", c="c_front", s_unstretched=distance(mount, foot) + 0.0813, d="d_front"),
        Spherical(f"{corner}_ball", Q_rel=(1.0, 0.0, 0.0, 0.0)),
        FixedTranslation(f"{corner}_upright", r=between(ball, centre)),
        Body(f"{corner}_upright_mass", m=15.0, r_CM=middle, I_11=0.3, I_22=0.2, I_33=0.2),
        FixedTranslation(f"{corner}_top", r=between(ball, top)),
        FixedTranslation(f"{corner}_steering_arm", r=between(ball, outer)),
        FixedTranslation(f"{corner}_upper_pivot", r=upper),
        Revolute(f"{corner}_upper", n=(1, 0, 0)),
        BodyShape(f"{corner}_upper_arm", r=between(upper, top), m=3.0, I_11=0.02, I_22=0.02, I_33=0.02),
        Spherical(f"{corner}_upper_ball"),
        FixedTranslation(f"{corner}_rack_end", r=(0.0, inner[1], 0.0)),
        Distance(f"{corner}_tie_rod", l=distance(inner, outer)),
        *parts,
    ], [
        connect("body.frame_a", f"{corner}_lower_pivot.frame_a"),
        connect(f"{corner}_lower_pivot.frame_b", f"{corner}_lower.frame_a"),
        connect(f"{corner}_lower.frame_b", f"{corner}_lower_arm.frame_a"),
        connect(f"{corner}_lower_arm.frame_a", f"{corner}_spring_foot.frame_a"),
        connect("body.frame_a", f"{corner}_spring_mount.frame_a"),
        connect(f"{corner}_spring_mount.frame_b", f"{corner}_spring.frame_a"),
        connect(f"{corner}_spring_foot.frame_b", f"{corner}_spring.frame_b"),
        connect(f"{corner}_lower_arm.frame_b", f"{corner}_ball.frame_a"),
        *(
            connect(f"{corner}_ball.frame_b", f"{corner}_{name}.frame_a")
            for name in ("upright", "upright_mass", "top", "steering_arm")
        ),
        connect("body.frame_a", f"{corner}_upper_pivot.frame_a"),
        connect(f"{corner}_upper_pivot.frame_b", f"{corner}_upper.frame_a"),
        connect(f"{corner}_upper.frame_b", f"{corner}_upper_arm.frame_a"),
        connect(f"{corner}_upper_arm.frame_b", f"{corner}_upper_ball.frame_a"),
        connect(f"{corner}_top.frame_b", f"{corner}_upper_ball.frame_b"),
        connect("rack.frame_b", f"{corner}_rack_end.frame_a"),
        connect(f"{corner}_rack_end.frame_b", f"{corner}_tie_rod.frame_a"),
        connect(f"{corner}_steering_arm.frame_b", f"{corner}_tie_rod.frame_b"),
        *joined,
    ]


def rear_corner(corner: str, side: float) -> tuple[list[Component | Subsystem], list[Connection]]:
    """Return a rear wheel on its trailing arm, with spring and damper; side is 1 for the left, -1."""
    pivot, centre = mirrored(PIVOT, side), mirrored(WHEEL["rear"], side)
    parts, joined = wheel(corner, f"{corner}_trailing")
    return [
        FixedTranslation(f"{corner}_pivot", r=pivot),
        Revolute(f"{corner}_arm", n=(0, 1, 0), phi=0.0, w=0.0),
        BodyShape(f"{corner}_trailing", r=between(pivot, centre), m=20.0, I_11=0.5, I_22=0.5, I_33=0.5),
        RotationalSpring(f"{corner}_spring", joint=f"{corner}_arm", c="c_rear", phi_rel0=-0.3167),
        RotationalDamper(f"{corner}_damper", joint=f"{corner}_arm", d="d_rear"),
        *parts,
    ], [
        connect("body.frame_a", f"{corner}_pivot.frame_a"),
        connect(f"{corner}_pivot.frame_b", f"{corner}_arm.frame_a"),
        connect(f"{corner}_arm.frame_b", f"{corner}_trailing.frame_a"),
        *joined,
    ]


def mirrored(point: Point, side: float) -> Point:
    """Return a point of the left side for a side."""
    return (point[0], side * point[1], point[2])


def between(a: Point, b: Point) -> Point:
    """Return the vector from one point to another."""
    return (b[0] - a[0], b[1] - a[1], b[2] - a[2])


def distance(a: Point, b: Point) -> float:
    """Return the distance of two points."""
    return sum(x * x for x in between(a, b)) ** 0.5
