"""Spheres that fall into a box and come to rest in a pile: many contacts with friction, for the stepper `moreau`.

Source: own data: equal solid spheres start at rest in a lattice above the floor, each layer shifted against the one
below; the box is open above. Known facts: no sphere enters another, the floor or a wall, the energy never grows, and in
the end the floor carries the weight of all but what friction at the walls does.
"""

import math

from mbfmu.errors import ValueRangeError
from mbfmu.model import (
    Body,
    Component,
    Connection,
    FixedRotation,
    FreeMotion,
    Parameter,
    SphereOnPlane,
    SphereOnSphere,
    System,
    World,
    connect,
)

RADIUS, SIDE = 0.05, 0.34
WALLS = {
    "left": ((-SIDE / 2, 0.0, 0.0), (0.0, 1.0, 0.0), math.pi / 2),
    "right": ((SIDE / 2, 0.0, 0.0), (0.0, 1.0, 0.0), -math.pi / 2),
    "front": ((0.0, -SIDE / 2, 0.0), (1.0, 0.0, 0.0), -math.pi / 2),
    "back": ((0.0, SIDE / 2, 0.0), (1.0, 0.0, 0.0), math.pi / 2),
}


def pile(N: int = 20) -> System:
    """Return the pile; gravity points along -z, the floor is the plane z = 0.

    Args:
        N: number of spheres.
    """
    if N < 1:
        raise ValueRangeError(f"pile: N = {N} must be at least 1")
    components: list[Component] = [World(g=9.81, n=(0.0, 0.0, -1.0))]
    connections: list[Connection] = []
    for name, (r, n, angle) in WALLS.items():
        components.append(FixedRotation(name, r=r, n=n, angle=angle))
        connections.append(connect("world.frame_b", f"{name}.frame_a"))
    planes = {"floor": "world.frame_b", **{name: f"{name}.frame_b" for name in WALLS}}
    inertia = {f"I_{k}{k}": "0.4*m*radius**2" for k in (1, 2, 3)}
    law = {"e": "e", "mu": "mu"}
    for i in range(1, N + 1):
        components += [
            FreeMotion(f"free{i}", r_rel=_place(i - 1), v_rel=(0.0, 0.0, 0.0), w_rel=(0.0, 0.0, 0.0)),
            Body(f"sphere{i}", m="m", **inertia),
        ]
        connections += [
            connect("world.frame_b", f"free{i}.frame_a"), connect(f"free{i}.frame_b", f"sphere{i}.frame_a")
        ]  # fmt: skip
        for name, frame in planes.items():
            components.append(SphereOnPlane(f"{name}{i}", radius="radius", **law))
            connections += [connect(frame, f"{name}{i}.frame_a"), connect(f"sphere{i}.frame_a", f"{name}{i}.frame_b")]
        for j in range(1, i):
            touch = f"touch{j}_{i}"
            components.append(SphereOnSphere(touch, radius_a="radius", radius_b="radius", **law))
            connections += [
                connect(f"sphere{j}.frame_a", f"{touch}.frame_a"), connect(f"sphere{i}.frame_a", f"{touch}.frame_b")
            ]  # fmt: skip
    return System(
        name="pile",
        description=f"{N} spheres that fall into a box",
        planar=False,
        stepper="moreau",
        parameters=(
            Parameter("radius", RADIUS, "m", "radius of a sphere", min=1e-9),
            Parameter("m", 0.5, "kg", "mass of a sphere", min=1e-9),
            Parameter("e", 0.2, "1", "restitution", min=0, max=1),
            Parameter("mu", 0.3, "1", "coefficient of friction", min=0),
        ),
        components=tuple(components),
        connections=tuple(connections),
    )


def _place(i: int) -> tuple[float, float, float]:
    """Return the start position of a sphere, m: layers of five, each shifted a little against the one below."""
    layer, k = divmod(i, 5)
    shift = 0.011 * math.sin(1.7 * layer + 0.4), 0.011 * math.cos(2.3 * layer)
    x, y = ((0.0, 0.0), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0))[k]
    return (0.085 * x + shift[0], 0.085 * y + shift[1], RADIUS + 0.02 + 0.11 * layer)
