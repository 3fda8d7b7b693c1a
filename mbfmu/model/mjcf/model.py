"""MJCF -> Model: bodies, loops, drives and the start as checked data, and notices of what is not used."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mbfmu.errors import ModelError, first_of
from mbfmu.model.mjcf.actuators import Actuators, actuators_of
from mbfmu.model.mjcf.attachments import attached
from mbfmu.model.mjcf.bodies import WORLD, MjcfBodies, bodies_of, joint_path
from mbfmu.model.mjcf.closures import Equalities, equalities_of
from mbfmu.model.mjcf.defaults import defaults_of
from mbfmu.model.mjcf.document import read_document
from mbfmu.model.mjcf.eased import damped, mobility_at_references, stops_of
from mbfmu.model.mjcf.effort_limits import SharedLimit, held
from mbfmu.model.mjcf.geoms import meshes_of
from mbfmu.model.mjcf.keyframe import Keyframe, check_mocap, keyframe_of
from mbfmu.model.mjcf.replicas import replicated
from mbfmu.model.mjcf.settings import Settings, settings_of
from mbfmu.model.mjcf.tendons import ROPE, SpatialTendon, Tendon, tendons_of
from mbfmu.model.mjcf.transmissions import Ends
from mbfmu.model.mjcf.tree import robot_of
from mbfmu.model.mjcf.unread import unread
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.rigid_pose import turned
from mbfmu.model.robot.robot import Origin, Robot
from mbfmu.model.robot.tree import eased, mended
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.source import SourceText


@dataclass(frozen=True)
class MjcfModel:
    """The content of an MJCF file.

    Args:
        robot: its bodies and joints.
        bodies: its bodies and sites as the file has them.
        settings: its settings.
        tendons: its fixed tendons, by name.
        ropes: its spatial tendons that act or are acted on, by name.
        equalities: its equalities.
        actuators: its actuators.
        shared: limits of what several of them put on joints and tendons.
        stops: stiffness of the stop of each tendon with limits, by its name, and ball joint, by its key (`BALL`).
        keyframe: its start.
    """

    robot: Robot
    bodies: MjcfBodies
    settings: Settings
    tendons: Mapping[str, Tendon]
    ropes: Mapping[str, SpatialTendon]
    equalities: Equalities
    actuators: Actuators
    shared: tuple[SharedLimit, ...]
    stops: Mapping[str, float]
    keyframe: Keyframe


def read_model(path: Path, options: RobotOptions | None = None) -> MjcfModel:
    """Read what an MJCF file describes.

    Args:
        path: path of the file.
        options: choices that the file leaves open.

    Raises:
        ModelFileError: a file is missing, or is no MJCF.
        ModelError: the model is invalid, or has what a system cannot have.
    """
    choices = options or RobotOptions()
    root = read_document(path, choices.outside)
    source = SourceText(str(path), path.parent)
    reader = Attributes(source)
    left = Counter(unread(reader, root))
    root, left_there = attached(root, path, choices.outside)
    left += left_there
    settings = settings_of(root, reader, path.parent)
    root = replicated(root, reader, settings)
    defaults = defaults_of(root, reader)
    bodies = bodies_of(root, defaults, settings, meshes_of(root, defaults, settings))
    joints = bodies.joints
    tendons, spatial = tendons_of(root, defaults, settings, bodies, choices.limits)
    equalities = equalities_of(root, defaults, settings, bodies, {**tendons, **spatial})
    actuators = actuators_of(root, defaults, settings, Ends(bodies, tendons, spatial))
    actuators, shared = held(reader, bodies, {**tendons, **spatial}, actuators, settings)
    keyframe = keyframe_of(root, reader, joints, actuators.count, actuators.stateful)
    check_mocap(reader, root, [bodies.bodies[item].pose for item in bodies.mocap])
    armatures: dict[str, float] = {}
    for item in (*actuators.acting.values(), *actuators.idle.values()):
        for joint in item.joints if item.armature else ():
            armatures[joint] = armatures.get(joint, 0.0) + item.armature
    name = root.attributes.get("model", path.stem)
    robot = robot_of(bodies, source, name, keyframe.joints, armatures, equalities.guessed, settings.gravity)
    changed, fixed = mended(robot.links, robot.joints)
    idle = {item for item, joint in changed.items() if joint.kind != robot.joints[item].kind}
    _check_idle(reader, bodies, idle, tendons, equalities, actuators)
    robot = _settled(replace(robot, joints=changed), bodies, settings, spatial)
    robot = _based(eased(robot, choices), choices.base)
    notices = (
        *_unused(left, bodies),
        *equalities.notices,
        *actuators.notices,
        *fixed,
        *_decided(bodies, keyframe, actuators),
    )
    combined = {key for item in equalities.coupled for key in (*item.a, *item.b)}
    combined |= {key for item in (*actuators.acting.values(), *actuators.idle.values()) for key in item.joints}
    ropes = {name: item for name, item in spatial.items() if item.acts or ROPE + name in combined}
    damping, stops = damped(actuators, robot, bodies, ropes), stops_of(tendons, robot, bodies, ropes, choices.limits)
    return MjcfModel(
        replace(robot, notices=notices), bodies, settings, tendons, ropes, equalities, damping, shared, stops, keyframe
    )


def _check_idle(
    reader: Attributes,
    bodies: MjcfBodies,
    idle: set[str],
    tendons: Mapping[str, Tendon],
    equalities: Equalities,
    actuators: Actuators,
) -> None:
    """Raise an error if something acts on joints that move no mass, as MuJoCo has none."""
    acting: list[tuple[str, Collection[str]]] = [
        *((f"equality '{item.name}'", {*item.a, *item.b}) for item in equalities.coupled),
        *((f"equality '{item.name}'", _between(bodies, *item.bodies)) for item in equalities.closures),
        *((f"tendon '{item.name}'", item.ratios) for item in tendons.values() if item.stiffness or item.damping),
        *((f"actuator '{item.name}'", {*item.joints, item.on.turned}) for item in actuators.acting.values()),
    ]
    for label, joints in acting:
        for name in joints:
            if name in idle:
                said = f"joint '{name}' moves no mass, and the {label} acts on it: give its body a mass, or remove both"
                raise reader.error(bodies.joints[name].element, ModelError(said))


def _between(bodies: MjcfBodies, first: str, second: str) -> set[str]:
    """Return the joints between two bodies."""
    return set(joint_path(bodies, first)) ^ set(joint_path(bodies, second))


def _settled(robot: Robot, bodies: MjcfBodies, settings: Settings, ropes: Mapping[str, SpatialTendon]) -> Robot:
    """Return a robot whose joints with a time constant T and a damping ratio zeta have stiffness and damping.

    With the inertia J on the joint at the references, ``c = J / (T zeta)^2`` and ``d = 2 J / T``.
    """
    settling = {name: joint.settling for name, joint in bodies.joints.items() if any(joint.settling)}
    if not settling:
        return robot
    mobility = mobility_at_references(robot, bodies, ropes)
    joints = dict(robot.joints)
    spring, damper = (settings.flags["passive"] and settings.flags[name] for name in ("spring", "damper"))
    for name, (T, zeta) in settling.items():
        if joints[name].kind != "fixed" and (eased_by := mobility.eased_by(name)) > 0:
            c, d = 1 / (eased_by * (T * zeta) ** 2), 2 / (eased_by * T)
            joints[name] = replace(joints[name], stiffness=c if spring else 0.0, damping=d if damper else 0.0)
    return replace(robot, joints=joints)


def _based(robot: Robot, base: str) -> Robot:
    """Return a robot whose bodies at the world are fixed or float, as asked."""
    kinds = {"fixed": ("floating", "fixed"), "floating": ("fixed", "floating")}.get(base)
    if kinds is None:
        return robot
    joints: dict[str, Any] = {}
    for name, joint in robot.joints.items():
        if joint.parent == WORLD and joint.kind == kinds[0]:
            pose = joint.origin
            if base == "fixed" and joint.start:
                pose = Origin.of(joint.start[:3], turned(np.array(joint.start[3:])))
            joint = replace(joint, kind=kinds[1], origin=pose, start=(), rate=())
        joints[name] = joint
    return replace(robot, joints=joints)


def _unused(left: Counter[str], bodies: MjcfBodies) -> Iterator[str]:
    """Yield what the file has and the system has not, without an effect on the motion, and contacts."""
    counts = left + bodies.unused
    if outside := counts.pop("body", 0):
        yield f"left out, as MuJoCo does: {outside} <body> beside the <worldbody>, in which bodies stand"
    if not bodies.bodies:
        yield "there are no bodies: the system is the world alone"
    if counts:
        yield "not used: " + ", ".join(f"{count} <{tag}>" for tag, count in counts.most_common())
    if bodies.touching:
        yield f"contacts are left out: {bodies.touching} geoms could touch others"
    if bodies.mocap:
        yield f"mocap bodies are fixed: {first_of([repr(name) for name in bodies.mocap])}"


def _decided(bodies: MjcfBodies, keyframe: Keyframe, actuators: Actuators) -> Iterator[str]:
    """Yield what was decided."""
    if keyframe.joints:
        yield f"the start is the keyframe '{keyframe.name}'" if keyframe.name else "the start is the first keyframe"
    if bodies.joints and not actuators.acting:
        yield "no actuator drives a joint: the system has no inputs"
