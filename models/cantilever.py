"""Cantilever: a steel beam clamped at one end, 1 m long, 10 mm x 10 mm.

Source: Euler and Bernoulli's beam; cos(bL) cosh(bL) = -1 gives its natural frequencies, 8.355, 52.36 and 146.6 Hz. More
`modes` bring them closer to these, exponentially.
"""

from mbfmu.model import Beam, Fixed, System, World, connect


def cantilever(modes: int = 4, planar: int = 1) -> System:
    """Return the cantilever with a number of bending modes in each direction, without gravity."""
    return System(
        name="cantilever",
        description="A clamped beam",
        planar=bool(planar),
        components=(
            World(g=0.0),
            Fixed("root"),
            Beam("beam", L=1.0, rho=7850.0, A=1e-4, E=2.1e11, I_z=1e-8 / 12, modes=modes),
        ),
        connections=(connect("world.frame_b", "root.frame_a"), connect("root.frame_b", "beam.frame_a")),
    )
