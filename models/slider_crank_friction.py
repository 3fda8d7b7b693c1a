"""Planar slider-crank with Coulomb friction in its guide, in proportion to the guide's own reaction.

Source: own problem, with uniform bars; the force N of the guide and the friction mu |N| are solved for together. Known
facts, from integration between the dead centres, reversals and changes of sign of N with two methods and step sizes,
which agree to 13 digits: without torque it comes to rest after 1.3928386218058584 s at 279.63302727 degrees from
10 rad/s, and after 1.0728515175957745 s at 76.52659367 degrees, in its fourth turn, from 25 rad/s.
"""

from math import pi

from mbfmu.model import Body, BodyShape, GuideFriction, Parameter, Prismatic, Revolute, System, World, connect


def slider_crank_friction() -> System:
    """Return the slider-crank; `theta` is measured from +x, `slider_x` from the crank's bearing."""
    return System(
        name="slider_crank_friction",
        description="A planar slider-crank with friction in its guide",
        planar=True,
        parameters=(
            Parameter("r", 0.1, "m", "length of the crank", min=1e-9),
            Parameter("l", 0.3, "m", "length of the rod", min=1e-9),
            Parameter("m_crank", 0.5, "kg", "mass of the crank", min=1e-9),
            Parameter("m_rod", 1.0, "kg", "mass of the rod", min=1e-9),
            Parameter("m_slider", 0.5, "kg", "mass of the slider", min=1e-9),
            Parameter("mu", 0.3, "1", "coefficient of friction in the guide", min=0),
        ),
        components=(
            World(g=9.81),
            Revolute("crank", phi=pi / 4, w=10.0, actuated=True),
            BodyShape("link1", m="m_crank", r=("r", 0), r_CM=("r/2", 0), I_33="m_crank*r**2/12"),
            Revolute("rod"),
            BodyShape("link2", m="m_rod", r=("l", 0), r_CM=("l/2", 0), I_33="m_rod*l**2/12"),
            Revolute("pin"),
            Prismatic("guide", n=(1, 0)),
            Body("slider", m="m_slider", I_33=1e-3),
            GuideFriction("friction", joint="guide", mu="mu", mu_s="mu"),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "link1.frame_a"),
            connect("link1.frame_b", "rod.frame_a"),
            connect("rod.frame_b", "link2.frame_a"),
            connect("link2.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "slider.frame_a"),
            connect("world.frame_b", "guide.frame_a"),
            connect("guide.frame_b", "slider.frame_a"),
        ),
        names={
            "torque": "crank.tau",
            "theta": "crank.phi",
            "omega": "crank.w",
            "slider_x": "guide.s",
            "slider_v": "guide.v",
            "friction_x": "friction.f_t",
        },
    )
