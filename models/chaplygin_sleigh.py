"""Chaplygin's sleigh: a body on a smooth plane with a knife edge behind its centre of mass.

Source: Chaplygin 1911; Neimark & Fufaev, Dynamics of Nonholonomic Systems, 1972, ch. III. Known facts: with v along
the blade at the contact and w the turning rate, v' = a w^2 and w' = -m a v w/(I + m a^2), solved by v = V tanh(k V
(t - t0)) and w = V sqrt(m/A)/cosh(k V (t - t0)) with A = I + m a^2, k = m a/A; the energy is constant, yet the motion
tends to straight sliding with the centre of mass ahead.
"""

from mbfmu.model import Body, FreeMotion, KnifeEdge, Parameter, System, World, connect


def chaplygin_sleigh() -> System:
    """Return the sleigh; `sleigh.r_0` is the contact of the blade, `sleigh.phi` its heading."""
    return System(
        name="chaplygin_sleigh",
        description="Chaplygin's sleigh on a horizontal plane",
        planar=True,
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("a", 0.3, "m", "blade to centre of mass"),
            Parameter("I", 0.2, "kg.m2", "inertia about the centre of mass", min=1e-9),
        ),
        components=(
            World(g=0.0),
            FreeMotion("free"),
            KnifeEdge("blade"),
            Body("sleigh", m="m", r_CM=("a", 0), I_33="I", r_0=(0.0, 0.0), v_0=(0.4, 0.0), phi=0.0, w=1.5),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "sleigh.frame_a"),
            connect("world.frame_b", "blade.frame_a"),
            connect("blade.frame_b", "sleigh.frame_a"),
        ),
    )
