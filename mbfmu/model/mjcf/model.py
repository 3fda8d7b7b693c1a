"""MJCF -> Model: bodies, loops, drives and the start as checked data, and notices of what is not used."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.errors import ModelError, first_of
from mbfmu.model.mjcf.actuators import Actuators, Ends, actuators_of
from mbfmu.model.mjcf.attachments import attached
from mbfmu.model.mjcf.bodies import WORLD, MjcfBodies, bodies_of, joint_path
from mbfmu.model.mjcf.closures import Equalities, equalities_of, joints_along
from mbfmu.model.mjcf.defaults import defaults_of
from mbfmu.model.mjcf.document import read_document
from mbfmu.model.mjcf.geoms import meshes_of
from mbfmu.model.mjcf.keyframe import Keyframe, check_mocap, keyframe_of
from mbfmu.model.mjcf.poses import turned
from mbfmu.model.mjcf.replicas import replicated
from mbfmu.model.mjcf.settings import Settings, flag_of, settings_of
from mbfmu.model.mjcf.tendons import ROPE, SpatialTendon, Tendon, still, tendons_of
from mbfmu.model.mjcf.tree import robot_of
from mbfmu.model.mjcf.unread import unread
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.masses import Mobility, mobility_of
from mbfmu.model.robot.robot import Array, Origin, Robot
from mbfmu.model.robot.stiffness import stop_stiffness
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
        stops: stiffness of the stop of each tendon with limits.
        keyframe: its start.
    """

    robot: Robot
    bodies: MjcfBodies
    settings: Settings
    tendons: Mapping[str, Tendon]
    ropes: Mapping[str, SpatialTendon]
    equalities: Equalities
    actuators: Actuators
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
    _check_forces(reader, bodies, choices)
    tendons, spatial = tendons_of(root, defaults, settings, bodies, choices.limits)
    equalities = equalities_of(root, defaults, settings, bodies, {**tendons, **spatial})
    actuators = actuators_of(root, defaults, settings, Ends(joints, tendons, spatial, bodies.sites))
    _check_held_weight(reader, bodies, actuators, settings)
    _check_passed(reader, bodies, spatial, actuators)
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
    held = {key for item in equalities.coupled for key in (*item.a, *item.b)}
    held |= {key for item in (*actuators.acting.values(), *actuators.idle.values()) for key in item.joints}
    ropes = {name: item for name, item in spatial.items() if item.acts or ROPE + name in held}
    damped, stops = _damped(actuators, robot, bodies, ropes), _stops(tendons, robot, bodies, ropes)
    return MjcfModel(
        replace(robot, notices=notices), bodies, settings, tendons, ropes, equalities, damped, stops, keyframe
    )


def _check_forces(reader: Attributes, bodies: MjcfBodies, choices: RobotOptions) -> None:
    """Raise an error if limits act on joints without an axis."""
    for joint in bodies.joints.values():
        if joint.kind not in {"ball", "free"}:
            continue
        if joint.limits and choices.limits:
            message = (
                f"joint '{joint.name}': the range of a ball joint is not modelled: remove it, or read without limits"
            )
            raise reader.error(joint.element, ModelError(f"{message} (--no-limits)"))


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
        *((f"actuator '{item.name}'", item.joints) for item in actuators.acting.values()),
    ]
    for label, joints in acting:
        for name in joints:
            if name in idle:
                said = f"joint '{name}' moves no mass, and the {label} acts on it: give its body a mass, or remove both"
                raise reader.error(bodies.joints[name].element, ModelError(said))


def _between(bodies: MjcfBodies, first: str, second: str) -> set[str]:
    """Return the joints between two bodies."""
    return set(joint_path(bodies, first)) ^ set(joint_path(bodies, second))


def _check_held_weight(reader: Attributes, bodies: MjcfBodies, actuators: Actuators, settings: Settings) -> None:
    """Raise an error if actuators hold the weight of bodies as a system here cannot have it."""
    held = [name for name, body in bodies.bodies.items() if body.gravcomp and body.solid.m and any(settings.gravity)]
    for name in dict.fromkeys(joint for body in held for joint in joint_path(bodies, body)):
        joint, message = bodies.joints[name], ""
        if not flag_of(reader, joint.element, "actuatorgravcomp", False):
            continue
        if joint.efforts:
            message = "and actuatorfrcrange, which would limit the weight it holds: remove one of them"
        elif not actuators.count or not settings.flags["actuation"]:
            message = "and no actuator of the model acts, which leaves the weight to fall: remove it"
        if message:
            raise reader.error(joint.element, ModelError(f"joint '{name}' has actuatorgravcomp, {message}"))


def _check_passed(
    reader: Attributes, bodies: MjcfBodies, ropes: Mapping[str, SpatialTendon], actuators: Actuators
) -> None:
    """Raise an error if an actuator at a site or on a spatial tendon acts through joints that limit forces."""
    for item in actuators.acting.values():
        passed = set(joint_path(bodies, bodies.sites[item.site].body)) if item.site else set()
        for key in item.joints:
            passed |= joints_along(bodies, ropes, key) if key.startswith(ROPE) else set()
        if joint := next((name for name in sorted(passed) if bodies.joints[name].efforts), ""):
            message = f"joint '{joint}' has actuatorfrcrange, and the actuator '{item.name}' acts through it from afar"
            message += ", which is not modelled: remove one of them"
            raise reader.error(bodies.joints[joint].element, ModelError(message))


def _settled(robot: Robot, bodies: MjcfBodies, settings: Settings, ropes: Mapping[str, SpatialTendon]) -> Robot:
    """Return a robot whose joints with a time constant T and a damping ratio zeta have stiffness and damping.

    With the inertia J on the joint at the references, ``c = J / (T zeta)^2`` and ``d = 2 J / T``.
    """
    settling = {name: joint.settling for name, joint in bodies.joints.items() if any(joint.settling)}
    if not settling:
        return robot
    mobility = _mobility(robot, bodies, ropes)
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


def _damped(actuators: Actuators, robot: Robot, bodies: MjcfBodies, ropes: Mapping[str, SpatialTendon]) -> Actuators:
    """Return actuators with the damping that a damping ratio asks for, at the references of the joints."""
    if not any(item.law.dampratio for item in actuators.acting.values()):
        return actuators
    ratios = {name: item.joints for name, item in actuators.acting.items() if item.law.dampratio}
    eased, changed = _eased(ratios, robot, bodies, ropes), {}
    for name, item in actuators.acting.items():
        if (eased_by := eased.get(name, 0.0)) > 0:
            d = 2 * item.law.dampratio * math.sqrt(item.law.gain[0] / eased_by)
            item = replace(item, law=replace(item.law, bias=(*item.law.bias[:2], -d)))
        changed[name] = item
    return replace(actuators, acting=changed)


def _stops(
    tendons: Mapping[str, Tendon], robot: Robot, bodies: MjcfBodies, ropes: Mapping[str, SpatialTendon]
) -> dict[str, float]:
    """Return the stiffness of the stop of each tendon with limits that can move."""
    limited = {name: tendon.ratios for name, tendon in tendons.items() if tendon.limits}
    limited |= {name: {ROPE + name: 1.0} for name, rope in ropes.items() if rope.limits}
    eased = _eased(limited, robot, bodies, ropes) if limited else {}
    return {name: stop_stiffness(1 / item) for name, item in eased.items() if item > 0}


def _eased(
    combinations: Mapping[str, Mapping[str, float]],
    robot: Robot,
    bodies: MjcfBodies,
    ropes: Mapping[str, SpatialTendon],
) -> dict[str, float]:
    """Return the acceleration along combinations of axes by an effort there, at the references of the joints."""
    mobility, eased = _mobility(robot, bodies, ropes), {}
    for name, ratios in combinations.items():
        row = mobility.along({key: ratio for key, ratio in ratios.items() if key in robot.joints})
        for key in ratios:
            if key.startswith(ROPE):
                row = row + ratios[key] * _rope_row(mobility, ropes[key.removeprefix(ROPE)])
        eased[name] = mobility.eased(row)
    return eased


def _mobility(robot: Robot, bodies: MjcfBodies, ropes: Mapping[str, SpatialTendon]) -> Mobility:
    """Return how easily a robot moves at the references of its joints, with the armature of ropes."""
    mobility = mobility_of(robot, {name: joint.ref for name, joint in bodies.joints.items()})
    heavy = [rope for rope in ropes.values() if rope.armature]
    return mobility.loaded([(_rope_row(mobility, rope), rope.armature) for rope in heavy])


def _rope_row(mobility: Mobility, rope: SpatialTendon) -> Array:
    """Return the rate of a rope's length per rate that mimics no other."""
    held = [(site, *mobility.frames[site.body]) for site in rope.frames]
    frames = (still(r + R @ site.pose.r, R @ site.pose.R) for site, R, r in held)
    row = np.zeros(mobility.follow.shape[1])
    for (site, _, _), pull in zip(held, rope.rope("rope").pulls(None, *frames), strict=True):
        force, torque = (np.array(ca.evalf(ca.SX(item))).ravel() for item in pull)
        row = row + mobility.of_point(site.body, site.pose.r, force, torque)
    return row


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
