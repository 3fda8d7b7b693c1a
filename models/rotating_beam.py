"""Rotating beam: a beam clamped to the axis of a rotor that turns at a constant rate, as a helicopter's blade.

Source: Wright, Smith, Thresher & Wang, J. Appl. Mech. 49 (1982). At the rate gamma sqrt(EI/(rho A L^4)) the frequencies
in the plane of rotation are 3.6218 and 22.526 times sqrt(EI/(rho A L^4)) for gamma = 2, and 4.2632 and 26.129 for
gamma = 6; out of it 4.1373 and 22.615, and 7.3604 and 26.809. At rest they are 3.5160 and 22.034.
"""

from mbfmu.model import AxisMotion, Beam, Parameter, Revolute, System, World, connect


def rotating_beam(modes: int = 6, planar: int = 1) -> System:
    """Return the beam with a number of bending modes in each direction; EI, rho A and L are 1.

    Args:
        modes: number of bending modes in each direction.
        planar: 1: bending in the plane of rotation alone; 0: out of it too.
    """
    return System(
        name="rotating_beam",
        description="A beam on a rotor that turns at a constant rate",
        planar=bool(planar),
        parameters=(Parameter("gamma", 2.0, "rad/s", "rate of the rotor, which is sqrt(EI/(rho A L^4)) times gamma"),),
        components=(
            World(g=0.0),
            Revolute("rotor"),
            AxisMotion("drive", joint="rotor", s="gamma*time"),
            Beam("beam", L=1.0, rho=1000.0, A=1e-3, E=1e7, I_z=1e-7, I_y=1e-7, modes=modes),
        ),
        connections=(connect("world.frame_b", "rotor.frame_a"), connect("rotor.frame_b", "beam.frame_a")),
    )
