"""A heavy symmetric top that spins fast about a fixed point.

Source: Geradin & Cardona, Flexible Multibody Dynamics, 2001; Bruls & Cardona, on the use of Lie group time integrators
in multibody dynamics, J. Comput. Nonlinear Dyn. 5, 2010: m = 15 kg, centre of mass 1 m from the fixed point along the
axis, spin 150 rad/s. Known facts: energy, vertical angular momentum and the spin about the axis are constant; a top
that starts at the angle theta precesses steadily at the roots of Jt cos(theta) W^2 - Ja w3 W + m g l = 0 (Jt about the
fixed point, w3 the spin).
"""

from mbfmu.model import BodyShape, Parameter, Spherical, System, World, connect


def heavy_top() -> System:
    """Return the top; its axis is y of the body, `top.r_0` is the centre of mass, gravity points along -z."""
    return System(
        name="heavy_top",
        description="A heavy symmetric top with a fast spin",
        parameters=(
            Parameter("m", 15.0, "kg", "mass", min=1e-9),
            Parameter("l", 1.0, "m", "fixed point to centre of mass", min=1e-9),
            Parameter("Jt", 0.234375, "kg.m2", "inertia across the axis, about the centre of mass", min=1e-9),
            Parameter("Ja", 0.46875, "kg.m2", "inertia about the axis", min=1e-9),
        ),
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Spherical("pivot"),
            BodyShape(
                "top",
                m="m",
                r=(0, "-l", 0),
                I_11="Jt",
                I_22="Ja",
                I_33="Jt",
                Q=(1.0, 0.0, 0.0, 0.0),
                w_a=(0.0, 150.0, -4.61538),
            ),
        ),
        connections=(connect("world.frame_b", "pivot.frame_a"), connect("pivot.frame_b", "top.frame_b")),
    )
