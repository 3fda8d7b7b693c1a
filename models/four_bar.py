"""Planar four-bar linkage, a crank-rocker: one loop, one degree of freedom.

Source: own data, bars of 1 kg per metre; crank 0.5 m, coupler 1.2 m, rocker 1.0 m on bearings 1.3 m apart. Known
facts: shortest and longest bar together are shorter than the other two (Grashof), so the crank turns fully while the
rocker swings; the energy is constant without a torque.
"""

from math import pi

from mbfmu.model import BodyShape, FixedTranslation, Parameter, Revolute, System, World, connect


def four_bar() -> System:
    """Return the four-bar; `crank.phi` is measured from +x, `rocker.phi` from +y."""
    return System(
        name="four_bar",
        description="A planar four-bar linkage (crank-rocker), driven at the crank",
        planar=True,
        parameters=(
            Parameter("d", 1.3, "m", "distance of the bearings", min=1e-9),
            Parameter("l1", 0.5, "m", "length of the crank", min=1e-9),
            Parameter("l2", 1.2, "m", "length of the coupler", min=1e-9),
            Parameter("l3", 1.0, "m", "length of the rocker", min=1e-9),
            Parameter("mu", 1.0, "kg/m", "mass per length of the bars", min=1e-9),
        ),
        components=(
            World(g=9.81),
            Revolute("crank", phi=pi / 3, w=6.0, actuated=True),
            BodyShape("bar1", m="mu*l1", r=("l1", 0), r_CM=("l1/2", 0), I_33="mu*l1**3/12"),
            Revolute("coupler"),
            BodyShape("bar2", m="mu*l2", r=("l2", 0), r_CM=("l2/2", 0), I_33="mu*l2**3/12"),
            Revolute("pin"),
            FixedTranslation("bearing", r=("d", 0)),
            Revolute("rocker"),
            BodyShape("bar3", m="mu*l3", r=(0, "l3"), r_CM=(0, "l3/2"), I_33="mu*l3**3/12"),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "bar1.frame_a"),
            connect("bar1.frame_b", "coupler.frame_a"),
            connect("coupler.frame_b", "bar2.frame_a"),
            connect("bar2.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "bar3.frame_b"),
            connect("world.frame_b", "bearing.frame_a"),
            connect("bearing.frame_b", "rocker.frame_a"),
            connect("rocker.frame_b", "bar3.frame_a"),
        ),
    )
