"""Random mechanisms: trees of joints in random directions and either way round, with forces, gears and loops."""

import math
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from states import Random, closed, column, outputs, shown
from two_frames import product, random_axis, random_turn, rotation

from mbfmu.dae import derive
from mbfmu.model import (
    AbsoluteSensor,
    AxisForce,
    AxisLaw,
    Body,
    Bushing,
    Component,
    Connection,
    Cylindrical,
    Damper,
    Distance,
    Fixed,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Gear,
    Joint,
    LineForce,
    Planar,
    PointOnLine,
    Prismatic,
    RelativeSensor,
    Revolute,
    RollingWheel,
    RotationalDamper,
    RotationalFriction,
    RotationalSpring,
    Screw,
    Spherical,
    Spring,
    System,
    TranslationalDamper,
    TranslationalFriction,
    TranslationalSpring,
    Universal,
    World,
    WorldForce,
    WorldTorque,
    connect,
)

Array = npt.NDArray[np.float64]


def vec(rng: Random, planar: bool, size: float) -> tuple[float, ...]:
    """A random vector of the plane or of space."""
    return tuple((size * rng.normal(size=2 if planar else 3)).tolist())


def in_plane(rng: Random) -> tuple[float, float]:
    """A random direction of the plane."""
    angle = rng.uniform(-math.pi, math.pi)
    return (math.cos(angle), math.sin(angle))


def perpendicular(rng: Random) -> dict[str, tuple[float, ...]]:
    """A random normal `n`, and a random direction `n_x` across it."""
    n = np.array(random_axis(rng))
    n_x = np.cross(n, random_axis(rng))
    return {"n": tuple(n.tolist()), "n_x": tuple((n_x / np.linalg.norm(n_x)).tolist())}


def starts(rng: Random, *names: str) -> dict[str, float]:
    """Random start values."""
    return {name: float(rng.uniform(-1, 1)) for name in names}


def turned(rng: Random) -> dict[str, tuple[float, ...]]:
    """The start values of a joint that turns freely in space."""
    return {"Q_rel": tuple(random_turn(rng, False).tolist()), "w_rel": vec(rng, False, 0.7)}


Fields = Callable[[Random], dict[str, Any]]

IN_SPACE: dict[type[Joint], Fields] = {
    Revolute: lambda rng: {"n": random_axis(rng), **starts(rng, "phi", "w")},
    Prismatic: lambda rng: {"n": random_axis(rng), **starts(rng, "s", "v")},
    Cylindrical: lambda rng: {"n": random_axis(rng), **starts(rng, "s", "v", "phi", "w")},
    Universal: lambda rng: {
        "n_a": random_axis(rng), "n_b": random_axis(rng), **starts(rng, "phi_a", "phi_b", "w_a", "w_b"),
    },
    Spherical: lambda rng: turned(rng),
    Planar: lambda rng: {**perpendicular(rng), **starts(rng, "s_x", "s_y", "phi", "v_x", "v_y", "w")},
    Screw: lambda rng: {"n": random_axis(rng), "pitch": float(rng.uniform(0.2, 0.8)), **starts(rng, "phi", "w")},
    Fixed: lambda rng: {"r": vec(rng, False, 0.3)},
    FreeMotion: lambda rng: {"r_rel": vec(rng, False, 0.5), "v_rel": vec(rng, False, 0.7), **turned(rng)},
}  # fmt: skip
"""Joints of space, with random directions and start values."""

IN_PLANE: dict[type[Joint], Fields] = {
    Revolute: lambda rng: starts(rng, "phi", "w"),
    Prismatic: lambda rng: {"n": in_plane(rng), **starts(rng, "s", "v")},
    Planar: lambda rng: {"n_x": in_plane(rng), **starts(rng, "s_x", "s_y", "phi", "v_x", "v_y", "w")},
    PointOnLine: lambda rng: {"n": in_plane(rng), **starts(rng, "s", "v", "phi", "w")},
    RollingWheel: lambda rng: {"n": in_plane(rng), "radius": float(rng.uniform(0.2, 0.5)), **starts(rng, "phi", "w")},
    Fixed: lambda rng: {"r": vec(rng, True, 0.3)},
    FreeMotion: lambda rng: {"r_rel": vec(rng, True, 0.5), "v_rel": vec(rng, True, 0.7), **starts(rng, "phi", "w")},
}
"""Joints of the plane, with random directions and start values."""

TURN = (Revolute, Screw, RollingWheel)
SLIDE = (Prismatic, Cylindrical, Planar, PointOnLine)


class Builder:
    """A mechanism in the making.

    Args:
        rng: where its numbers come from.
        planar: in the plane, or in space.
    """

    def __init__(self, rng: Random, planar: bool) -> None:
        self.rng, self.planar = rng, planar
        self.world = World(n=(0.6, -0.8, 0.0))
        self.bodies: list[Component] = []
        self.rest: list[Component] = []
        self.connections: list[Connection] = []
        self.joints: list[Joint] = []
        self.tips = ["corner.frame_b"]
        self.put(FixedTranslation("corner", r=vec(rng, planar, 1.0)), frame_a="world.frame_b")

    def put(self, component: Component, **ends: str) -> None:
        """Add a component and connect its frames."""
        self.rest.append(component)
        self.connections += [connect(f"{component.name}.{frame}", other) for frame, other in ends.items()]

    def system(self, name: str) -> System:
        """What has been built; a body comes before the brackets on it, whose group so has its axes."""
        components = (self.world, *self.bodies, *self.rest)
        return System(name, components, tuple(self.connections), planar=self.planar)

    def bracket(self, name: str, frame: str) -> str:
        """Fix a bracket to a frame, either way round, or none; return the frame at its end."""
        rng = self.rng
        kind = rng.integers(4)
        if kind == 0:
            return frame
        r = vec(rng, self.planar, 0.4)
        turn = {} if self.planar else {"n": random_axis(rng)}
        part = FixedTranslation(name, r=r) if kind == 1 else FixedRotation(name, r=r, angle=rng.uniform(-2, 2), **turn)
        ends = ("frame_a", "frame_b") if rng.integers(2) else ("frame_b", "frame_a")
        self.put(part, **{ends[0]: frame})
        return f"{name}.{ends[1]}"

    def body(self, number: int) -> str:
        """Add a body with a tip for forces; return its frame."""
        rng, name = self.rng, f"b{number}"
        inertia = {"I_33": float(rng.uniform(0.1, 0.2))}
        if not self.planar:
            inertia |= {label: float(rng.uniform(0.1, 0.2)) for label in ("I_11", "I_22")}
            inertia |= {label: float(rng.uniform(-0.02, 0.02)) for label in ("I_21", "I_31", "I_32")}
        self.bodies.append(Body(name, m=float(rng.uniform(0.5, 2)), r_CM=vec(rng, self.planar, 0.2), **inertia))
        self.put(FixedTranslation(f"tip{number}", r=vec(rng, self.planar, 0.5)), frame_a=f"{name}.frame_a")
        self.tips.append(f"tip{number}.frame_b")
        return f"{name}.frame_a"

    def hang(self, number: int, joint: Joint, near: str) -> None:
        """Hang a new body on a joint, either way round."""
        one = self.bracket(f"near{number}", near)
        two = self.bracket(f"far{number}", self.body(number))
        ends = ("frame_a", "frame_b") if self.rng.integers(2) else ("frame_b", "frame_a")
        self.joints.append(joint)
        self.put(joint, **{ends[0]: one, ends[1]: two})

    def forces(self) -> None:
        """Add forces between random points, from outside and on the axes of joints, and sensors."""
        rng = self.rng
        for item in (Spring("spring", c=8.0, s_unstretched=0.4), Damper("damper", d=0.6), LineForce("ram"),
                     Bushing("bushing", c=(3.0,) * (2 if self.planar else 3), d_phi_3=0.2, c_phi_3=0.5),
                     RelativeSensor("between")):  # fmt: skip
            a, b = rng.choice(len(self.tips), 2, replace=False)
            self.put(item, frame_a=self.tips[a], frame_b=self.tips[b])
        for item in (WorldForce("push"), WorldTorque("twist", resolve="frame_b"), WorldForce("jet", resolve="frame_b")):
            self.put(item, frame_b=self.tips[rng.integers(1, len(self.tips))])
        self.put(AbsoluteSensor("at"), frame_a=self.tips[rng.integers(1, len(self.tips))])
        for joint in self.joints:
            self.rest += self.on_axis(joint)

    def on_axis(self, joint: Joint) -> list[AxisForce]:
        """A spring, a damper, friction or a formula on the axis of a joint, or nothing."""
        name, kind = f"on_{joint.name}", self.rng.integers(5)
        if not isinstance(joint, (*TURN, *SLIDE)) or kind == 4:
            return []
        if kind == 3:
            return [AxisLaw(name, joint=joint.name, formula="-2*s - 0.3*v + sin(3*time)")]
        if isinstance(joint, SLIDE):
            return [
                TranslationalSpring(name, joint=joint.name, c=5.0, s_rel0=0.2),
                TranslationalDamper(name, joint=joint.name, d=0.4),
                TranslationalFriction(name, joint=joint.name, f_c=0.7, peak=1.3, v_0=0.2, v_s=0.5),
            ][kind : kind + 1]
        return [
            RotationalSpring(name, joint=joint.name, c=5.0, phi_rel0=0.2),
            RotationalDamper(name, joint=joint.name, d=0.4),
            RotationalFriction(name, joint=joint.name, f_c=0.7, peak=1.3, v_0=0.2, v_s=0.5),
        ][kind : kind + 1]


def random_tree(seed: int, planar: bool, least: int = 1, most: int = 6) -> Builder:
    """A tree of random joints, with a gear between two axes where there are two."""
    rng = np.random.default_rng(seed)
    made = Builder(rng, planar)
    table = IN_PLANE if planar else IN_SPACE
    kinds = list(table)
    for number in range(1, int(rng.integers(least, most + 1)) + 1):
        kind = kinds[rng.integers(len(kinds))]
        while number == 1 and kind is Fixed:
            kind = kinds[rng.integers(len(kinds))]
        parent = int(rng.integers(0, number))
        near = f"b{parent}.frame_a" if parent else "world.frame_b"
        made.hang(number, kind(f"j{number}", actuated=bool(rng.integers(2)), **table[kind](rng)), near)
    made.forces()
    # in space two bodies know the angle of a Revolute up to full turns only, so that no gear holds it in absolute
    # coordinates
    axes = [item.name for item in made.joints if isinstance(item, (*TURN, *SLIDE))
            and (planar or not isinstance(item, Revolute))]  # fmt: skip
    if len(axes) > 1 and rng.integers(2):
        made.rest.append(Gear("gear", joint_a=axes[0], joint_b=axes[-1], ratio=-1.5, offset=0.3))
    return made


def seen(values: dict[str, float], frame: str, system: System) -> tuple[Array, Array]:
    """Position and turn of a tip in the world, from the outputs of its body."""
    if frame == "corner.frame_b":
        r = np.array(next(item.r for item in system.components if item.name == "corner"))
        return r, np.zeros(1) if system.planar else np.array([1.0, 0, 0, 0])
    number = frame.removeprefix("tip").removesuffix(".frame_b")
    rod = np.array(next(item.r for item in system.components if item.name == f"tip{number}"))
    turn = shown(values, f"b{number}.{'phi' if system.planar else 'Q'}", 1 if system.planar else 4)
    return shown(values, f"b{number}.r_0", 2 if system.planar else 3) + rotation(turn) @ rod, turn


def random_loop(seed: int, planar: bool, closing: type[Joint]) -> System:
    """A random tree with one more joint, `loop`, between two of its tips, which a bracket brings together."""
    made = random_tree(seed, planar, least=3, most=4)
    rng, tree = made.rng, made.system("tree")
    dae = derive(tree, "joint")
    q = closed(dae, column(dae.start.guess(dae.s_default(), dae.p_default(), 0.0)))
    values = outputs(dae, q, np.zeros(dae.n), np.zeros(len(dae.inputs)))
    one, two = (made.tips[k] for k in rng.choice(len(made.tips), 2, replace=False))
    (r_1, turn_1), (r_2, turn_2) = (seen(values, tip, tree) for tip in (one, two))
    if closing is Distance:
        made.put(Distance("loop", l=float(np.linalg.norm(r_1 - r_2))), frame_a=one, frame_b=two)
        return made.system("loop")
    directed = closing in ({PointOnLine, Prismatic} if planar else {PointOnLine, Prismatic, Revolute, Cylindrical})
    joint = closing("loop", **({"n": in_plane(rng) if planar else random_axis(rng)} if directed else {}))
    r = tuple((rotation(turn_2).T @ (r_1 - r_2)).tolist())
    if planar:
        socket = FixedRotation("socket", r=r, angle=float(turn_1[0] - turn_2[0]))
    else:
        w, *e = product(turn_2 * [1, -1, -1, -1], turn_1)
        angle = 2 * math.atan2(np.linalg.norm(e), w)
        socket = FixedRotation("socket", r=r, n=tuple((e / np.linalg.norm(e)).tolist()), angle=angle)
    made.put(socket, frame_a=two)
    made.put(joint, frame_a=one, frame_b="socket.frame_b")
    return made.system("loop")


def in_space(system: System) -> System:
    """A planar system as a spatial one: the same joints, each of which now holds the plane as well."""

    def changed(item: Component) -> Component:
        vectors = {
            field.name: (*value, 0.0)
            for field in fields(item)
            if isinstance(value := getattr(item, field.name), tuple) and len(value) == 2
        }
        inertia = {"I_11": 0.02, "I_22": 0.03} if isinstance(item, Body) else {}
        return replace(item, **vectors, **inertia)

    return replace(system, components=tuple(changed(item) for item in system.components), planar=False)
