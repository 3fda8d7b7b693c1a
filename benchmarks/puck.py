"""A puck that is thrown on a plane: it lands without restitution, slides and comes to rest.

It does not turn. Known facts: it lands after sqrt(2 height/g) with the speed v_n; the impact takes mu v_n of its speed
along the plane, and friction then mu g each second; all of it happens along one line.
"""

from mbfmu.model import Body, Parameter, PointOnPlane, Prismatic, System, World, connect


def puck() -> System:
    """Return the puck in flight."""
    return System(
        name="puck",
        description="A puck that lands, slides and rests",
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("mu", 0.3, "1", "coefficient of friction", min=0.0),
            Parameter("height", 0.2, "m", "height at the start", min=0.0),
            Parameter("v_1", 1.5, "m/s", "velocity at the start"),
            Parameter("v_2", 2.0, "m/s", "velocity at the start"),
        ),
        components=(
            World("world", n=(0, 0, -1)),
            Prismatic("way_1", n=(1, 0, 0), v="v_1"),
            Prismatic("way_2", n=(0, 1, 0), v="v_2"),
            Prismatic("way_3", n=(0, 0, 1), s="height"),
            Body("body", m="m", I_11=1.0, I_22=1.0, I_33=1.0),
            PointOnPlane("plane", mu="mu"),
        ),
        connections=(
            connect("world.frame_b", "way_1.frame_a"),
            connect("way_1.frame_b", "way_2.frame_a"),
            connect("way_2.frame_b", "way_3.frame_a"),
            connect("way_3.frame_b", "body.frame_a"),
            connect("world.frame_b", "plane.frame_a"),
            connect("way_3.frame_b", "plane.frame_b"),
        ),
    )
