"""A hanging chain of N equal links, planar or spatial: how the cost of a method grows with the number of bodies.

Source: own data for comparing programs: uniform links 1 m, 1 kg (spatial: boxes 0.1 m square, with hinges about z and
y in turn), stretched out horizontally and at rest. Known facts: the energy is constant; N = 1 is the pendulum
phi'' = -3 g/(2 l) cos(phi).
"""

from mbfmu.errors import ValueRangeError
from mbfmu.model import BodyShape, Component, Connection, Parameter, Revolute, System, World, connect


def chain(N: int = 8, spatial: bool = False) -> System:
    """Return the chain; gravity points along -y.

    Args:
        N: number of links.
        spatial: hinges about z and y in turn; else all about z, in the plane.
    """
    if N < 1:
        raise ValueRangeError(f"chain: N = {N} must be at least 1")
    components: list[Component] = [World(g=9.81)]
    connections: list[Connection] = []
    last = "world.frame_b"
    for i in range(1, N + 1):
        across = "m*(l**2 + w**2)/12" if spatial else "m*l**2/12"
        shape = {"I_11": "m*w**2/6", "I_22": across} if spatial else {}
        n = (0, 0, 1) if i % 2 or not spatial else (0, 1, 0)
        r, r_CM = (("l", 0, 0), ("l/2", 0, 0)) if spatial else (("l", 0), ("l/2", 0))
        components += [
            Revolute(f"joint{i}", n=n, phi=0.0, w=0.0, actuated=i == 1),
            BodyShape(f"link{i}", m="m", r=r, r_CM=r_CM, I_33=across, **shape),
        ]
        connections += [connect(last, f"joint{i}.frame_a"), connect(f"joint{i}.frame_b", f"link{i}.frame_a")]
        last = f"link{i}.frame_b"
    width = (Parameter("w", 0.1, "m", "side of the square section", min=1e-9),) if spatial else ()
    return System(
        name="chain",
        description=f"A chain of {N} links" + (" with hinges about z and y in turn" if spatial else " in the plane"),
        planar=not spatial,
        parameters=(
            Parameter("l", 1.0, "m", "length of a link", min=1e-9),
            Parameter("m", 1.0, "kg", "mass of a link", min=1e-9),
            *width,
        ),
        components=tuple(components),
        connections=tuple(connections),
    )
