"""A robot arm of six joints: boxes on hinges that are horizontal and vertical in turn.

Source: own data for comparing programs: boxes 1 x 0.1 x 0.1 m, 1 kg. Known facts: an open chain, so that joint
coordinates need no constraints; released at rest at 0.1 rad in every joint it keeps its energy.
"""

from mbfmu.model import BodyShape, Component, Connection, Revolute, System, World, connect


def arm6() -> System:
    """Return the arm; at zero angles it points along +x, gravity along -z."""
    components: list[Component] = [World(g=9.81, n=(0, 0, -1))]
    connections: list[Connection] = []
    last = "world.frame_b"
    for i in range(1, 7):
        n = (0, 1, 0) if i % 2 else (0, 0, 1)
        components += [
            Revolute(f"joint{i}", n=n, phi=0.1, w=0.0, actuated=True),
            BodyShape(f"link{i}", m=1.0, r=(1, 0, 0), r_CM=(0.5, 0, 0), I_11=0.02 / 12, I_22=1.01 / 12, I_33=1.01 / 12),
        ]
        connections += [connect(last, f"joint{i}.frame_a"), connect(f"joint{i}.frame_b", f"link{i}.frame_a")]
        last = f"link{i}.frame_b"
    return System(
        name="arm6",
        description="A robot arm of six joints, driven at each",
        components=tuple(components),
        connections=tuple(connections),
    )
