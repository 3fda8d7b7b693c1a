"""A gripper that closes two round fingertips on a box and lifts it by friction.

A hoist carries two fingers that slide sideways; each is pushed by a force, `left.f` and `right.f`, towards the box. The
box stands on the ground until the force `lift.f` raises the hoist. Source: own data. Known facts: fingers that press
with f hold the box, while the hoist rises with the acceleration a, exactly if 2 mu f >= m (g + a); then all move as one
body of the mass M + 2 m_f + m, and the box does not turn. Otherwise the box lags, with 2 mu f upwards on it and
downwards on the gripper. (The sides count as unbounded: a box that has slipped below the fingers is still held.)
"""

import math

from mbfmu.model import (
    Body,
    CircleOnLine,
    FixedRotation,
    FixedTranslation,
    Parameter,
    Planar,
    PointOnPlane,
    Prismatic,
    System,
    World,
    connect,
)

SIDES = {"left": -1, "right": 1}
"""Where each finger is, seen from the box."""
FEET = {"foot_left": "-w", "foot_right": "w"}
"""Lower corners of the box."""


def gripper() -> System:
    """Return the gripper open above the box on the ground; `lift.s` is the height of the fingertips."""
    return System(
        name="gripper",
        description="A gripper that lifts a box by friction",
        planar=True,
        parameters=(
            Parameter("m", 2.0, "kg", "mass of the box", min=1e-9),
            Parameter("w", 0.05, "m", "half width of the box", min=1e-9),
            Parameter("h", 0.08, "m", "half height of the box", min=1e-9),
            Parameter("M", 3.0, "kg", "mass of the hoist", min=1e-9),
            Parameter("m_f", 0.5, "kg", "mass of a finger", min=1e-9),
            Parameter("r", 0.015, "m", "radius of a fingertip", min=0),
            Parameter("gap", 0.02, "m", "distance of each fingertip from the box at the start", min=0),
            Parameter("mu", 0.4, "1", "coefficient of friction of the fingertips", min=0),
            Parameter("mu_ground", 0.3, "1", "coefficient of friction of the ground", min=0),
        ),
        components=(
            World("world", n=(0.0, -1.0)),
            Prismatic("lift", n=(0.0, 1.0), s="h", v=0.0, actuated=True),
            Body("hoist", m="M", I_33=0.1),
            *(
                Prismatic(side, n=(-sign, 0.0), s="-(w + gap + r)", v=0.0, actuated=True)
                for side, sign in SIDES.items()
            ),
            *(Body(f"{side}_finger", m="m_f", I_33=0.01) for side in SIDES),
            Planar("free", s_x=0.0, s_y="h", phi=0.0, v_x=0.0, v_y=0.0, w=0.0),
            Body("box", m="m", I_33="m*(w**2 + h**2)/3"),
            *(
                FixedRotation(f"{side}_side", r=(f"{sign}*w", 0.0), angle=-sign * math.pi / 2)
                for side, sign in SIDES.items()
            ),
            *(FixedTranslation(f"{name}_corner", r=(x, "-h")) for name, x in FEET.items()),
            *(CircleOnLine(f"{side}_tip", radius="r", mu="mu") for side in SIDES),
            *(PointOnPlane(name, mu="mu_ground") for name in FEET),
        ),
        connections=(
            connect("world.frame_b", "lift.frame_a"),
            connect("lift.frame_b", "hoist.frame_a"),
            *(connect("hoist.frame_a", f"{side}.frame_a") for side in SIDES),
            *(connect(f"{side}.frame_b", f"{side}_finger.frame_a") for side in SIDES),
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "box.frame_a"),
            *(connect("box.frame_a", f"{side}_side.frame_a") for side in SIDES),
            *(connect("box.frame_a", f"{name}_corner.frame_a") for name in FEET),
            *(connect(f"{side}_side.frame_b", f"{side}_tip.frame_a") for side in SIDES),
            *(connect(f"{side}_finger.frame_a", f"{side}_tip.frame_b") for side in SIDES),
            *(connect("world.frame_b", f"{name}.frame_a") for name in FEET),
            *(connect(f"{name}_corner.frame_b", f"{name}.frame_b") for name in FEET),
        ),
        input_starts={"left.f": 30.0, "right.f": 30.0, "lift.f": 4.0 * 9.81},
    )  # fmt: skip
