"""Two uniform links in the vertical plane, driven at both joints.

Source: Wang, Zhao, Pan, numerical solution of the differential-algebraic equations of multibody dynamics, example 1
(l = 1, 2 m; m = 1, 1 kg; horizontal, at rest). Known facts: without torques the energy, 0 at the start, is constant.
"""

from mbfmu.model import BodyShape, Parameter, Revolute, System, World, connect


def two_link() -> System:
    """Return the two-link arm; `shoulder.phi` is measured from +x, `elbow.phi` from the first link."""
    return System(
        name="two_link",
        description="Two uniform links in the vertical plane, driven at shoulder and elbow",
        planar=True,
        parameters=(
            Parameter("l1", 1.0, "m", "length of link 1", min=1e-9),
            Parameter("l2", 2.0, "m", "length of link 2", min=1e-9),
            Parameter("m1", 1.0, "kg", "mass of link 1", min=1e-9),
            Parameter("m2", 1.0, "kg", "mass of link 2", min=1e-9),
        ),
        components=(
            World(g=9.8),
            Revolute("shoulder", phi=0.0, w=0.0, actuated=True),
            BodyShape("link1", m="m1", r=("l1", 0), r_CM=("l1/2", 0), I_33="m1*l1**2/12"),
            Revolute("elbow", phi=0.0, w=0.0, actuated=True),
            BodyShape("link2", m="m2", r=("l2", 0), r_CM=("l2/2", 0), I_33="m2*l2**2/12"),
        ),
        connections=(
            connect("world.frame_b", "shoulder.frame_a"),
            connect("shoulder.frame_b", "link1.frame_a"),
            connect("link1.frame_b", "elbow.frame_a"),
            connect("elbow.frame_b", "link2.frame_a"),
        ),
    )
