"""Robot -> System.

A link with inertia becomes a `Body` of its name, and a joint becomes the joint component of its name. Fixed joints, and
the origins of other joints, become `FixedTranslation` or `FixedRotation`; a link without inertia is only a frame.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mbfmu.errors import NameInUseError, UnknownNameError, nearest
from mbfmu.model.component import Component, Value, guess
from mbfmu.model.couplings import Gear
from mbfmu.model.forces import (
    AngularSpring,
    Bushing,
    CartesianFriction,
    ConstantForce,
    LimitedForce,
    LimitedTorque,
    RotationalDamper,
    RotationalFriction,
    RotationalRotor,
    RotationalSpring,
    RotationalStop,
    TranslationalDamper,
    TranslationalFriction,
    TranslationalRotor,
    TranslationalSpring,
    TranslationalStop,
    WorldForce,
    WorldTorque,
)
from mbfmu.model.joints import Coincident, Fixed, FreeMotion, Planar, Prismatic, Revolute, Screw, Spherical
from mbfmu.model.parts import Body, FixedRotation, FixedTranslation, World
from mbfmu.model.robot.lending import lent
from mbfmu.model.robot.robot import AXIAL, Array, Origin, Robot, RobotJoint, RobotLink
from mbfmu.model.robot.stiffness import bounds_of, start_of, suited
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.system import System
from mbfmu.model.system_data import Connection, connect

WORLD = "world"
VELOCITY = 1.0
"""Maximum rate, rad/s or m/s, of a joint whose file states none or one close to zero."""


def system_of(robot: Robot, options: RobotOptions | None = None) -> System:
    """Return a robot as a system.

    Args:
        robot: the robot, with the options applied that change it.
        options: those that add components to it.

    Raises:
        NameInUseError: two names are the same when written as identifiers.
        UnknownNameError: a wrench is asked for on a link that is not there.
    """
    choices = options or RobotOptions()
    grown, suits = _Grown(robot, choices), suited(robot)
    names, frames = grown.names, grown.frames
    grown.tree()
    grown.between()
    # on the axes: drives, springs, friction, stops, and what joints mimic
    borrowed = lent(robot, {name: start_of(joint) for name, joint in robot.joints.items()})
    for joint in (*robot.joints.values(), *(loop.joint for loop in robot.loops.values())):
        stop, inertia = suits.stops.get(joint.name, 0.0), borrowed.get(joint.name, 0.0)
        grown.components += _along(joint, names, choices, stop, inertia)
    # forces and torques on links as inputs
    for target in choices.wrenches:
        if target not in robot.links:
            raise UnknownNameError(f"there is no link '{target}' for a wrench; {nearest(target, robot.links)}")
        for acting in (WorldForce(names["force", target]), WorldTorque(names["torque", target])):
            grown.add(acting, frame_b=frames[target])
    # A joint that carries nothing has a frame at its end, as every frame is connected to something.
    taken = {end for pair in grown.connections for end in pair}
    for joint in robot.joints.values():
        end = "" if joint.kind == "fixed" else f"{names['joint', joint.name]}.frame_b"
        if end and end not in taken:
            grown.add(FixedTranslation(names["end", joint.name]), frame_a=end)
    name = identifier(robot.name)
    description = f"{robot.name}, from {'an' if robot.format == 'MJCF' else 'a'} {robot.format}"
    components, connections = tuple(grown.components), tuple(grown.connections)
    return System(name, components, connections, description=description, stepper=suits.stepper)


class _Grown:
    """The components and connections of a robot, as far as they were added."""

    def __init__(self, robot: Robot, choices: RobotOptions) -> None:
        self.robot, self.choices = robot, choices
        self.names = names_of(robot)
        self.frames = frames_of(robot, self.names)
        self.components: list[Component] = [_world(robot.gravity)]
        self.connections: list[Connection] = []

    def add(self, component: Component, **ends: str) -> None:
        """Add a component, with its frames connected to others."""
        self.components.append(component)
        self.connections += [connect(other, f"{component.name}.{frame}") for frame, other in ends.items()]

    def held(self, name: str, origin: Origin, frame: str) -> str:
        """Return the full name of the frame at an origin on another one, adding the part that holds it there."""
        holder = bracket(name, origin)
        if holder is None:
            return frame
        self.add(holder, frame_a=frame)
        return f"{name}.frame_b"

    def tree(self) -> None:
        """Add the tree: a bracket to each joint, the joint with its damper, and the body of the link."""
        robot, names = self.robot, self.names
        if robot.links[robot.root].massive:
            self.add(_body(names["link", robot.root], robot.links[robot.root]), frame_a=f"{WORLD}.frame_b")
        for joint in robot.joints.values():
            end = self.held(names["origin", joint.name], joint.origin, self.frames[joint.parent])
            if joint.kind != "fixed":
                name = names["joint", joint.name]
                self.add(_joint(name, joint, self.choices), frame_a=end)
                if joint.kind in {"ball", "floating"} and joint.damping:
                    damper = _round_damper(names["damper", joint.name], joint)
                    self.add(damper, frame_a=end, frame_b=f"{name}.frame_b")
                if joint.kind in {"ball", "floating"} and joint.friction:
                    f_c = joint.friction if joint.kind == "floating" else 0.0
                    friction = CartesianFriction(names["friction", joint.name], f_c=f_c, t_c=joint.friction)
                    self.add(friction, frame_a=end, frame_b=f"{name}.frame_b")
                if joint.kind == "ball" and joint.stiffness:
                    spring = AngularSpring(names["spring", joint.name], c=joint.stiffness)
                    self.add(spring, frame_a=end, frame_b=f"{name}.frame_b")
                end = f"{name}.frame_b"
            link = robot.links[joint.child]
            if link.massive:
                self.add(_body(names["link", link.name], link), frame_a=end)
            if link.weightless and link.m and any(robot.gravity):  # held by what it weighs
                x, y, z = (-link.m * item for item in robot.gravity)
                r: Any = tuple(map(float, link.r_CM))
                self.add(ConstantForce(names["weight", link.name], f=(x, y, z), r=r), frame_b=end)

    def between(self) -> None:
        """Add what stands between frames of two links: the joints that close loops, springs and dampers."""
        names, frames = self.names, self.frames
        for loop in self.robot.loops.values():
            joint, name = loop.joint, names["joint", loop.joint.name]
            a = self.held(names["origin", joint.name], joint.origin, frames[joint.parent])
            b = self.held(names["end", joint.name], loop.end, frames[joint.child])
            plain = {"ball": Coincident, "fixed": Fixed}.get(joint.kind)
            self.add(plain(name) if plain else _joint(name, joint, self.choices), frame_a=a, frame_b=b)
            if joint.kind == "ball" and joint.damping:
                self.add(_round_damper(names["damper", joint.name], joint), frame_a=a, frame_b=b)
        for force in self.robot.forces:
            a, b = (
                self.held(names[f"frame_{side}", force.name], origin, frames[link])
                for side, origin, link in zip("ab", force.origins, force.links, strict=True)
            )
            for item in force.components:
                ends = {"frame_a": a, "frame_b": b} if "frame_a" in item.frames else {"frame_b": b}
                self.add(replace(item, name=names[item.name, force.name]), **ends)


def _round_damper(name: str, joint: RobotJoint) -> Bushing:
    """Return the damping of a joint without one axis."""
    about: dict[str, Any] = dict.fromkeys(("d_phi_1", "d_phi_2", "d_phi_3"), joint.damping)
    return Bushing(name, d=(joint.damping,) * 3 if joint.kind == "floating" else (0.0,) * 3, **about)


def _world(gravity: tuple[float, float, float]) -> World:
    g = math.hypot(*gravity)
    x, y, z = (item / g for item in gravity) if g else (0.0, 0.0, -1.0)
    return World(WORLD, g=g, n=(x, y, z))


def names_of(robot: Robot) -> dict[tuple[str, str], str]:
    """Return the name of each component, by kind (``link``, ``joint``, ``origin`` and so on) and name in the URDF.

    Joints keep their names; ``_link`` is appended to the name of a link that a joint has too.
    """
    names: dict[tuple[str, str], str] = {}
    taken = {WORLD: "the world"}

    def take(kind: str, name: str, wanted: str, line: int) -> None:
        if wanted in taken:
            message = f"{kind} '{name}' and {taken[wanted]} are both '{wanted}' as a name of a component: rename one"
            raise robot.source.error(line, NameInUseError(message))
        taken[wanted] = f"{kind} '{name}'"
        names[kind, name] = wanted

    closing = [loop.joint for loop in robot.loops.values()]
    for joint in (*robot.joints.values(), *closing):
        if joint.kind != "fixed" or joint in closing:
            take("joint", joint.name, identifier(joint.name), joint.line)
    reserved = set(taken)
    for link in robot.links.values():
        if link.massive:
            name = identifier(link.name)
            take("link", link.name, f"{name}_link" if name in reserved else name, link.line)
    for items, kinds in (
        (
            (*robot.joints.values(), *closing),
            ("origin", "damper", "spring", "friction", "stop", "mimic", "rotor", "drive", "end"),
        ),
        (robot.links.values(), ("force", "torque", "weight")),
        (robot.forces, ("frame_a", "frame_b", "spring", "bushing", "thruster")),
    ):
        for item in items:
            for kind in kinds:
                wanted = f"{identifier(item.name)}_{kind}"
                while wanted in taken:
                    wanted += "_"
                take(kind, item.name, wanted, item.line)
    return names


def frames_of(robot: Robot, names: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return the full name of each link's frame in the system, by the link's name in the URDF."""
    frames: dict[str, str] = {}
    carriers = {joint.child: joint for joint in robot.joints.values()}
    for link in (robot.root, *(joint.child for joint in robot.joints.values())):
        carrier = carriers.get(link)
        if robot.links[link].massive:
            frames[link] = f"{names['link', link]}.frame_a"
        elif carrier is None:
            frames[link] = f"{WORLD}.frame_b"
        elif carrier.kind != "fixed":
            frames[link] = f"{names['joint', carrier.name]}.frame_b"
        elif _moved(carrier.origin):
            frames[link] = f"{names['origin', carrier.name]}.frame_b"
        else:
            frames[link] = frames[carrier.parent]
    return frames


def axis_angle(R: Array) -> tuple[tuple[float, ...], float]:
    """Return unit axis and angle (rad, 0 to pi) of a rotation matrix, shape (3, 3); for angle 0 any axis."""
    trace = float(np.trace(R))
    squares = np.array([1 + trace, *(1 + 2 * R[k, k] - trace for k in range(3))])  # 4 Q_k^2
    first = int(np.argmax(squares))
    spin = (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    if first == 0:
        Q = np.array([squares[0], *spin])
    else:
        Q = np.array([spin[first - 1], *(R[first - 1, k] + R[k, first - 1] for k in range(3))])
        Q[first] = squares[first]
    Q *= math.copysign(1.0, Q[0]) / np.linalg.norm(Q)
    length = float(np.linalg.norm(Q[1:]))
    if length < 1e-100:  # no turn that a rotation matrix could show
        return (0.0, 0.0, 1.0), 0.0
    return tuple(float(item) for item in Q[1:] / length), 2 * math.atan2(length, float(Q[0]))


def quaternion(R: Array) -> tuple[float, float, float, float]:
    """Return the unit quaternion of a rotation matrix, scalar first."""
    n, angle = axis_angle(R)
    x, y, z = (float(np.sin(angle / 2) * item) for item in n)
    return float(np.cos(angle / 2)), x, y, z


def identifier(name: str) -> str:
    """Return a name as an ASCII identifier: underscores replace what cannot be in one."""
    ascii_name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return ascii_name if ascii_name.isidentifier() else f"_{ascii_name}"


def _moved(origin: Origin) -> bool:
    return any(origin.xyz) or any(origin.rpy)


def bracket(name: str, origin: Origin) -> FixedTranslation | None:
    """Return the part that holds an origin; None if that is no move."""
    if not _moved(origin):
        return None
    n, angle = axis_angle(origin.R)
    if angle == 0:
        return FixedTranslation(name, r=origin.xyz)
    return FixedRotation(name, r=origin.xyz, n=n, angle=angle)


def _body(name: str, link: RobotLink) -> Body:
    inertia: dict[str, Any] = {f"I_{k + 1}{j + 1}": float(link.inertia[k, j]) for k in range(3) for j in range(k + 1)}
    return Body(name, m=link.m, r_CM=link.r_CM, **inertia)


def _joint(name: str, joint: RobotJoint, options: RobotOptions) -> Component:
    begin = guess if joint.guessed else _given
    if joint.kind in {"floating", "ball"}:
        whole = (0.0,) * 3 * (joint.kind == "floating")
        start, moving = joint.start or (*whole, 1.0, 0.0, 0.0, 0.0), joint.rate or (*whole, 0.0, 0.0, 0.0)
        turn: dict[str, Any] = {
            "Q_rel": tuple(begin(item) for item in start[-4:]),
            "w_rel": None if joint.guessed else moving[-3:],
        }
        if joint.kind == "ball":
            return Spherical(name, actuated=joint.driven, J=joint.rotor, **turn)
        shift: dict[str, Any] = {
            "r_rel": tuple(begin(item) for item in start[:3]),
            "v_rel": None if joint.guessed else moving[:3],
        }
        return FreeMotion(name, **shift, **turn)
    if joint.kind == "planar":
        zero: dict[str, Any] = dict.fromkeys(("s_x", "s_y", "phi", "v_x", "v_y", "w"), 0.0)
        return Planar(name, n=joint.axis, n_x=_across(joint.axis), **zero)
    coordinate = None if joint.mimic else begin(start_of(joint))
    rate = None if joint.mimic or joint.guessed else (joint.rate or (0.0,))[0]
    driven = joint.driven and joint.mimic is None and not (options.effort_limits and joint.limit.effort)
    if joint.kind == "prismatic":
        return Prismatic(name, n=joint.axis, s=coordinate, v=rate, actuated=driven)
    if joint.kind == "screw":
        pitch = 2 * math.pi * joint.advance
        return Screw(name, n=joint.axis, pitch=pitch, phi=coordinate, w=rate, actuated=driven)
    return Revolute(name, n=joint.axis, phi=coordinate, w=rate, actuated=driven)


def _given(value: float) -> Value:
    return value


def _across(n: tuple[float, ...]) -> tuple[float, ...]:
    """Return x, made perpendicular to a unit vector; y if they are parallel."""
    normal = np.array(n)
    for direction in np.eye(3)[:2]:
        rest = direction - normal * (normal @ direction)
        length = np.linalg.norm(rest)
        if length > 1e-6:
            return tuple(float(item) for item in rest / length)
    raise AssertionError("x and y are both parallel to n")


def _along(
    joint: RobotJoint, names: Mapping[tuple[str, str], str], options: RobotOptions, c: float, borrowed: float
) -> list[Component]:
    """Return the components on the axis of a joint: its drive, spring, damping, friction, stops, and what it mimics.

    Args:
        joint: the joint.
        names: names of the components.
        options: what is asked of the robot.
        c: stiffness of the joint's stop.
        borrowed: inertia that the joint gets from the one that it mimics, kg.m2 or kg.
    """
    if joint.kind not in AXIAL:
        return []
    name = names["joint", joint.name]
    sliding = joint.kind == "prismatic"
    damper: Any = TranslationalDamper if sliding else RotationalDamper
    spring: Any = TranslationalSpring if sliding else RotationalSpring
    friction: Any = TranslationalFriction if sliding else RotationalFriction
    stop: Any = TranslationalStop if sliding else RotationalStop
    rotor: Any = TranslationalRotor if sliding else RotationalRotor
    drive: Any = LimitedForce if sliding else LimitedTorque
    components: list[Component] = []
    if joint.damping:
        components.append(damper(names["damper", joint.name], joint=name, d=joint.damping))
    if joint.stiffness:
        rest = {"s_rel0" if sliding else "phi_rel0": joint.rest}
        components.append(spring(names["spring", joint.name], joint=name, c=joint.stiffness, **rest))
    if joint.friction:
        components.append(friction(names["friction", joint.name], joint=name, f_c=joint.friction))
    if joint.rotor:
        components.append(rotor(names["rotor", joint.name], joint=name, J=joint.rotor))
    if options.effort_limits and joint.limit.effort and joint.driven and not joint.mimic:
        components.append(drive(names["drive", joint.name], joint=name, limit=joint.limit.effort))
    lower, upper = bounds_of(joint)
    if math.isfinite(lower):
        d = c / (joint.limit.velocity if joint.limit.velocity > 1e-3 * VELOCITY else VELOCITY)
        components.append(stop(names["stop", joint.name], joint=name, lower=lower, upper=upper, c=c, d=d))
    if joint.mimic:
        components.append(
            Gear(
                names["mimic", joint.name],
                joint_a=name,
                joint_b=names["joint", joint.mimic.joint],
                ratio=joint.mimic.multiplier,
                offset=joint.mimic.offset,
                lent=borrowed,
            )
        )
    return components
