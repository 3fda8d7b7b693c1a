"""A gymnast in flight: trunk with head, arms, thighs and shanks in the sagittal plane, moved by the joints' torques.

Source: the survey of Hong & Liu, Advances in Mechanics 1989, names human flight as a task of its own; masses, centres
and radii of gyration after Dempster in Winter, Biomechanics and Motor Control of Human Movement, 4th ed., table 4.1,
lengths after Drillis & Contini, fig. 4.1. Known facts: whatever the joints do, the centre of mass flies a parabola and
the angular momentum about it is constant; still the body can turn itself, as a falling cat does.
"""

from mbfmu.model import Body, BodyShape, FreeMotion, Parameter, Revolute, System, World, connect


def gymnast() -> System:
    """Return the gymnast, upright at zero angles; `flight.phi` is the trunk's angle, both arms and legs move as one."""
    return System(
        name="gymnast",
        description="A gymnast in flight, driven at shoulders, hips and knees",
        planar=True,
        parameters=(
            Parameter("M", 70.0, "kg", "mass of the whole body", min=1e-9),
            Parameter("H", 1.75, "m", "height of the whole body", min=1e-9),
            Parameter("trunk_l", "0.288*H", "m", "hip to shoulder", min=1e-9),
            Parameter("arm_l", "0.332*H", "m", "shoulder to wrist", min=1e-9),
            Parameter("thigh_l", "0.245*H", "m", "hip to knee", min=1e-9),
            Parameter("shank_l", "0.246*H", "m", "knee to ankle", min=1e-9),
        ),
        components=(
            World(g=9.81),
            FreeMotion("flight", r_rel=(0.0, 1.2), v_rel=(0.6, 4.2), phi=0.0, w=-3.0),
            BodyShape(
                "trunk",
                m="0.578*M",
                r=(0, "trunk_l"),
                r_CM=(0, "0.66*trunk_l"),
                I_33="0.578*M*(0.503*trunk_l)**2",
            ),
            Revolute("shoulder", phi=0.0, w=0.0, actuated=True),
            Body("arms", m="0.1*M", r_CM=(0, "0.53*arm_l"), I_33="0.1*M*(0.368*arm_l)**2"),
            Revolute("hip", phi=0.0, w=0.0, actuated=True),
            BodyShape(
                "thighs",
                m="0.2*M",
                r=(0, "-thigh_l"),
                r_CM=(0, "-0.433*thigh_l"),
                I_33="0.2*M*(0.323*thigh_l)**2",
            ),
            Revolute("knee", phi=0.0, w=0.0, actuated=True),
            Body("shanks", m="0.122*M", r_CM=(0, "-0.606*shank_l"), I_33="0.122*M*(0.416*shank_l)**2"),
        ),
        connections=(
            connect("world.frame_b", "flight.frame_a"),
            connect("flight.frame_b", "trunk.frame_a"),
            connect("trunk.frame_b", "shoulder.frame_a"),
            connect("shoulder.frame_b", "arms.frame_a"),
            connect("trunk.frame_a", "hip.frame_a"),
            connect("hip.frame_b", "thighs.frame_a"),
            connect("thighs.frame_b", "knee.frame_a"),
            connect("knee.frame_b", "shanks.frame_a"),
        ),
    )
