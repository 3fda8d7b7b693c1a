"""A heavy, unsymmetric rigid body turning about a fixed point.

Source: Lu & Ren, a symplectic algorithm for the dynamics of a rigid body, case 3 (J about the fixed point
(2, 1.5, 1), m = 1, centre of mass at L = 0.1 along the third body axis, started at 30 degrees with spin 1 rad/s).
Known facts: energy 1.34870489570875 J and vertical angular momentum 0.866025403784439 N.m.s are constant.
With world.g = 0 and another body.w_a it is the free body of cases 1 and 2.
"""

from math import cos, pi, sin

from mbfmu.model import Body, Parameter, Spherical, System, World, connect


def rigid_body() -> System:
    """Return the body; inertias are about the fixed point, as in the paper."""
    return System(
        name="rigid_body",
        description="A heavy, unsymmetric rigid body turning about a fixed point",
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("L", 0.1, "m", "fixed point to centre of mass"),
            Parameter("J1", 2.0, "kg.m2", "inertia about the fixed point, first axis", min=1e-9),
            Parameter("J2", 1.5, "kg.m2", "inertia about the fixed point, second axis", min=1e-9),
            Parameter("J3", 1.0, "kg.m2", "inertia about the third axis", min=1e-9),
        ),
        components=(
            World(g=9.8, n=(0, 0, -1)),
            Spherical("pivot"),
            Body(
                "body",
                m="m",
                r_CM=(0, 0, "L"),
                I_11="J1 - m*L**2",
                I_22="J2 - m*L**2",
                I_33="J3",
                Q=(cos(pi / 12), 0.0, sin(pi / 12), 0.0),
                w_a=(0.0, 0.0, 1.0),
            ),
        ),
        connections=(connect("world.frame_b", "pivot.frame_a"), connect("pivot.frame_b", "body.frame_a")),
    )
