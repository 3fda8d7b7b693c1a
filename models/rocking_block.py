"""A rigid block that rocks from one corner to the other on the ground, and comes to rest.

Source: Housner, The behavior of inverted pendulum structures during earthquakes, Bull. Seismol. Soc. Am. 53, 1963.
The block is 2 b wide and 2 h high, its corners are R = sqrt(b^2 + h^2) away from the centre and at the angle
alpha = atan(b/h) from its axis; it turns by phi, from rest at theta_0, about the corner `left` while phi > 0 and about
`right` while phi < 0. Known facts: with friction that prevents slip and p^2 = 3 g/(4 R), phi'' = -p^2 sin(alpha - phi)
for phi > 0; each time both corners touch, the rate falls to 1 - 3/2 sin(alpha)^2 of what it was; for a slender block
the period of rocking with the amplitude theta is nearly 4/p acosh(1/(1 - theta/alpha)). A block that is tilted by more
than alpha falls over. (Its upper corners touch nothing.)
"""

from mbfmu.model import Body, FixedTranslation, Parameter, Planar, PointOnPlane, System, World, connect

CORNERS = {"left": ("-b", "-h"), "right": ("b", "-h")}
"""Lower corners, seen from the centre of the block."""


def rocking_block() -> System:
    """Return the block at rest on its corner `left`; the ground is the x axis."""
    return System(
        name="rocking_block",
        description="A block that rocks from corner to corner until it rests",
        planar=True,
        parameters=(
            Parameter("b", 0.2, "m", "half width", min=1e-9),
            Parameter("h", 0.6, "m", "half height", min=1e-9),
            Parameter("m", 100.0, "kg", "mass", min=1e-9),
            Parameter("mu", 1.0, "1", "coefficient of friction", min=0.0),
            Parameter("theta_0", 0.2, "rad", "tilt at the start", min=0.0),
        ),
        components=(
            World("world", n=(0.0, -1.0)),
            Planar(
                "free", s_x="b*cos(theta_0) - h*sin(theta_0) - b", s_y="b*sin(theta_0) + h*cos(theta_0)",
                phi="theta_0", v_x=0.0, v_y=0.0, w=0.0,
            ),
            Body("block", m="m", I_33="m*(b**2 + h**2)/3"),
            *(FixedTranslation(f"{name}_corner", r=r) for name, r in CORNERS.items()),
            *(PointOnPlane(name, mu="mu") for name in CORNERS),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "block.frame_a"),
            *(connect("block.frame_a", f"{name}_corner.frame_a") for name in CORNERS),
            *(connect("world.frame_b", f"{name}.frame_a") for name in CORNERS),
            *(connect(f"{name}_corner.frame_b", f"{name}.frame_b") for name in CORNERS),
        ),
    )  # fmt: skip
