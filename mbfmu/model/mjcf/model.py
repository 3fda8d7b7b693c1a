"""MJCF -> Model: bodies, loops, drives and the start as checked data, and notices of what is not used."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mbfmu.errors import ModelError, first_of
from mbfmu.model.mjcf.actuators import Actuators, Ends, actuators_of
from mbfmu.model.mjcf.bodies import WORLD, Bodies, bodies_of, joint_path
from mbfmu.model.mjcf.closures import Equalities, equalities_of
from mbfmu.model.mjcf.defaults import defaults_of
from mbfmu.model.mjcf.document import read_document
from mbfmu.model.mjcf.geoms import meshes_of
from mbfmu.model.mjcf.keyframe import Keyframe, keyframe_of
from mbfmu.model.mjcf.poses import turned
from mbfmu.model.mjcf.settings import Settings, flag_of, settings_of
from mbfmu.model.mjcf.tendons import Tendon, tendons_of
from mbfmu.model.mjcf.tree import robot_of
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.masses import accelerations_of_axes
from mbfmu.model.robot.robot import Origin, Robot
from mbfmu.model.robot.tree import eased, mended
from mbfmu.model.robot.xml import Element
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.source import Source

READ = {"compiler", "option", "size", "default", "worldbody", "tendon", "equality", "actuator", "keyframe"}
"""Sections of a model that are read."""
SILENT = {"visual", "statistic", "custom", "asset"}
"""Sections that have no effect on the motion by themselves."""
REFUSED = {"deformable": "<deformable>", "extension": "<extension>, with plugins"}
"""Sections that would change the motion, and are not modelled."""


@dataclass(frozen=True)
class Model:
    """The content of an MJCF file.

    Args:
        robot: its bodies and joints.
        found: its bodies and sites as the file has them.
        tendons: its fixed tendons, by name.
        equalities: its equalities.
        actuators: its actuators.
        keyframe: its start.
    """

    robot: Robot
    found: Bodies
    tendons: Mapping[str, Tendon]
    equalities: Equalities
    actuators: Actuators
    keyframe: Keyframe


def read_model(path: Path, options: RobotOptions | None = None) -> Model:
    """Read what an MJCF file describes.

    Args:
        path: path of the file.
        options: what is asked of it.

    Raises:
        ModelFileError: a file is missing, or is no MJCF.
        ModelError: the model is invalid, or has what a system cannot have.
    """
    asked = options or RobotOptions()
    root = read_document(path)
    source = Source(str(path), path.parent)
    reader = Attributes(source)
    _check_sections(root, reader)
    settings = settings_of(root, reader, path.parent)
    defaults = defaults_of(root, reader)
    found = bodies_of(root, defaults, settings, meshes_of(root, defaults, settings))
    joints = found.joints
    tendons, spatial, told = tendons_of(root, defaults, settings, joints)
    equalities = equalities_of(root, defaults, settings, found, tendons)
    actuators = actuators_of(root, defaults, settings, Ends(joints, tendons, frozenset(spatial), found.sites))
    _check_held_weight(reader, found, actuators, settings)
    keyframe = keyframe_of(root, reader, joints, actuators.count)
    armatures: dict[str, float] = {}
    for item in (*actuators.found.values(), *actuators.idle.values()):
        for joint in item.joints if item.armature else ():
            armatures[joint] = armatures.get(joint, 0.0) + item.armature
    name = root.attributes.get("model", path.stem)
    robot = robot_of(found, source, name, keyframe.joints, armatures, equalities.guessed, settings.gravity)
    changed, fixed = mended(robot.links, robot.joints)
    robot = _based(eased(replace(robot, joints=changed), asked), asked.base)
    notices = (
        *_unused(root, found),
        *told,
        *equalities.notices,
        *actuators.notices,
        *fixed,
        *_decided(found, keyframe, actuators),
    )
    return Model(
        replace(robot, notices=notices), found, tendons, equalities, _damped(actuators, robot, found), keyframe
    )


def _check_sections(root: Element, reader: Attributes) -> None:
    for item in root.children:
        if item.tag in REFUSED:
            raise reader.error(item, ModelError(f"{REFUSED[item.tag]} is not modelled: remove it"))
    if not any(item.children for item in root.all("worldbody")):
        raise reader.error(root, ModelError("a model needs a <worldbody> with a <body>"))


def _check_held_weight(reader: Attributes, found: Bodies, actuators: Actuators, settings: Settings) -> None:
    """Raise an error if actuators hold the weight of bodies as a system here cannot have it."""
    held = [name for name, body in found.bodies.items() if body.gravcomp and body.solid.m and any(settings.gravity)]
    for name in dict.fromkeys(joint for body in held for joint in joint_path(found, body)):
        joint, what = found.joints[name], ""
        if not flag_of(reader, joint.element, "actuatorgravcomp", False):
            continue
        if joint.efforts:
            what = "and actuatorfrcrange, which would limit the weight it holds: remove one of them"
        elif not actuators.count or not settings.flags["actuation"]:
            what = "and no actuator of the model acts, which leaves the weight to fall: remove it"
        if what:
            raise reader.error(joint.element, ModelError(f"joint '{name}' has actuatorgravcomp, {what}"))


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


def _damped(actuators: Actuators, robot: Robot, found: Bodies) -> Actuators:
    """Return actuators with the damping that a damping ratio asks for, at the references of the joints."""
    if not any(item.law.dampratio for item in actuators.found.values()):
        return actuators
    names, eased = accelerations_of_axes(robot, {name: joint.ref for name, joint in found.joints.items()})
    changed = {}
    for name, item in actuators.found.items():
        if item.law.dampratio:
            pulled = np.array([item.joints.get(joint, 0.0) for joint in names])
            eased_by = float(pulled @ eased @ pulled)
            d = 2 * item.law.dampratio * math.sqrt(item.law.gain[0] / eased_by) if eased_by > 0 else 0.0
            item = replace(item, law=replace(item.law, bias=(*item.law.bias[:2], -d)))
        changed[name] = item
    return replace(actuators, found=changed)


def _unused(root: Element, found: Bodies) -> Iterator[str]:
    """Yield what the file has and the system has not."""
    counts: Counter[str] = Counter()
    for item in root.children:
        if item.tag not in READ | SILENT:
            for inner in item.children or [item]:
                counts[inner.tag if item.tag != "sensor" else "sensor"] += 1
    counts += found.unused
    if counts:
        yield "not used: " + ", ".join(f"{count} <{tag}>" for tag, count in counts.most_common())
    if found.touching:
        yield f"contacts are left out: {found.touching} geoms could touch others"
    if found.mocap:
        yield f"mocap bodies are fixed: {first_of([repr(name) for name in found.mocap])}"
    left = [
        repr(joint.name)
        for joint in found.joints.values()
        if joint.kind in {"ball", "free"} and (joint.limits or joint.friction)
    ]
    if left:
        yield f"limits and friction of joints without an axis are left out: {first_of(left)}"
    if any(
        item.attributes.get(key, "0").split() not in (["0"], ["0"] * 3)
        for item in root.all("option")
        for key in ("density", "viscosity", "wind")
    ):
        yield "the forces of a fluid are left out"


def _decided(found: Bodies, keyframe: Keyframe, actuators: Actuators) -> Iterator[str]:
    """Yield what was decided."""
    if keyframe.joints:
        yield f"the start is the keyframe '{keyframe.name}'" if keyframe.name else "the start is the first keyframe"
    if found.joints and not actuators.found:
        yield "no actuator drives a joint: the system has no inputs"
