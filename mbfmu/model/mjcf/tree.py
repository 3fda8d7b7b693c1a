"""Bodies of a model -> Robot: links and joints one after the other."""

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import numpy as np

from mbfmu.model.mjcf.bodies import WORLD, MjcfBodies, ModelBody
from mbfmu.model.mjcf.joints import ModelJoint
from mbfmu.model.mjcf.keyframe import JointStart
from mbfmu.model.robot.rigid_pose import HERE, RigidPose, about
from mbfmu.model.robot.robot import Limit, Origin, Robot, RobotJoint, RobotLink
from mbfmu.model.robot.tree import unlike
from mbfmu.model.source import SourceText

KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "ball", "free": "floating"}


def robot_of(
    bodies: MjcfBodies,
    source: SourceText,
    name: str,
    starts: Mapping[str, JointStart],
    armatures: Mapping[str, float],
    guessed: frozenset[str],
    gravity: tuple[float, float, float],
) -> Robot:
    """Return the bodies of a model as a robot.

    The joints of a body stand one after the other, with links without mass between them. One with a reference is turned
    back by it, so that its coordinate is that of the model.

    Args:
        bodies: the bodies.
        source: file of the model.
        name: name of the model.
        starts: coordinates and rates of joints at the start, by name.
        armatures: inertia that actuators add to the axes of joints, by name.
        guessed: names of the joints whose start is only where the search for closed loops begins.
        gravity: m/s2.
    """
    links = {WORLD: RobotLink(WORLD, 1, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))}
    joints: dict[str, RobotJoint] = {}
    taken = {**bodies.joints, **bodies.bodies}
    taken_by_links: ChainMap[str, Any] = ChainMap(taken, links)
    taken_by_joints: ChainMap[str, Any] = ChainMap(taken, joints)

    def add(joint: RobotJoint, body: ModelBody | None) -> None:
        joints[joint.name] = joint
        links[joint.child] = _link(joint.child, joint.line, body)

    for body in bodies.bodies.values():
        line, parent, before = body.element.line, body.parent, body.pose
        last = np.zeros(3)
        for index, joint in enumerate(body.joints):
            if joint.kind == "free":
                before, at = HERE, np.zeros(3)
            else:
                at = last if joint.kind == "slide" else joint.r
            end = index == len(body.joints) - 1 and not at.any()
            child = body.name if end else unlike(f"{body.name}_part{index + 1}", taken_by_links)
            origin = before @ RigidPose(at - last, np.eye(3)) @ _back(joint)
            start = starts.get(joint.name, JointStart())
            armature = 0.0 if joint.kind == "free" else joint.armature
            item = RobotJoint(
                joint.name, joint.element.line, KINDS[joint.kind], parent, child, Origin.of(origin.r, origin.R),
                tuple(float(item) for item in joint.axis) if joint.kind in {"hinge", "slide"} else (1.0, 0.0, 0.0),
                joint.damping, joint.friction, _limit(joint), None,
                armature + armatures.get(joint.name, 0.0), joint.stiffness, joint.rest,
                start.position or _reference(joint, body.pose), start.rate, joint.name in guessed, False,
            )  # fmt: skip
            add(item, body if end else None)
            parent, before, last = child, HERE, at
        if body.name not in links:
            before = before @ RigidPose(-last, np.eye(3))
            tie = unlike(f"{body.name}_fixed", taken_by_joints)
            none = Limit()
            origin_of = Origin.of(before.r, before.R)
            add(
                RobotJoint(tie, line, "fixed", parent, body.name, origin_of, (1.0, 0.0, 0.0), 0.0, 0.0, none, None),
                body,
            )
    return Robot(name, source, links, joints, WORLD, (), "MJCF", gravity)


def _link(name: str, line: int, body: ModelBody | None) -> RobotLink:
    if body is None:
        return RobotLink(name, line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    solid, _ = body.armed
    inertia = (solid.I + solid.I.T) / 2
    size = np.abs(inertia).max()
    inertia = np.where(np.abs(inertia) < 1e-16 * size, 0.0, inertia)
    r = tuple(float(item) for item in solid.r)
    return RobotLink(name, body.element.line, float(solid.m), r, inertia, body.visuals)


def _back(joint: ModelJoint) -> RigidPose:
    """Return the motion from the reference to the zero of a joint's coordinate."""
    if joint.kind == "hinge" and joint.ref:
        return RigidPose(np.zeros(3), about(joint.axis, -joint.ref))
    return RigidPose(-joint.ref * joint.axis, np.eye(3)) if joint.kind == "slide" else HERE


def _reference(joint: ModelJoint, pose: RigidPose) -> tuple[float, ...]:
    """Return the coordinates of a joint at its reference."""
    from mbfmu.model.robot.assembly import quaternion

    if joint.kind == "free":
        return (*(float(item) for item in pose.r), *quaternion(pose.R))
    return (1.0, 0.0, 0.0, 0.0) if joint.kind == "ball" else (joint.ref,)


def _limit(joint: ModelJoint) -> Limit:
    if joint.limits is None or joint.kind not in {"hinge", "slide"}:
        return Limit()
    return Limit(*joint.limits, max(map(abs, joint.efforts)) if joint.efforts else 0.0)
