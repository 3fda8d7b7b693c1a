"""A skate on an inclined plane: one body, one nonholonomic constraint.

Source: Gao et al., discrete integration of nonholonomic constrained dynamical systems, first example
(L = (x'^2 + y'^2 + phi'^2)/2 + x, x' sin phi = y' cos phi). Known facts: from rest at the origin with phi' = w,
x = sin(wt)^2/(2 w^2), y = (wt - sin(2wt)/2)/(2 w^2), phi = w t; the energy is constant.
"""

from mbfmu.model import Body, FreeMotion, KnifeEdge, System, World, connect


def ice_skate() -> System:
    """Return the skate; +x points down the incline."""
    return System(
        name="ice_skate",
        description="A skate on an inclined plane, with a knife edge",
        planar=True,
        components=(
            World(g=1.0, n=(1, 0)),
            FreeMotion("free"),
            KnifeEdge("blade"),
            Body("skate", m=1.0, I_33=1.0, r_0=(0.0, 0.0), v_0=(0.0, 0.0), phi=0.0, w=1.0),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "skate.frame_a"),
            connect("world.frame_b", "blade.frame_a"),
            connect("blade.frame_b", "skate.frame_a"),
        ),
    )
