"""Closed loops of a robot: the joints around them, and the checks of the joints that close them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mbfmu.errors import ModelError, NameInUseError
from mbfmu.model.robot.robot import Robot, RobotJoint, RobotLoop
from mbfmu.model.source import SourceText

CLOSING = ("revolute", "continuous", "prismatic", "fixed", "ball")
"""Kinds of joints that close loops."""


def around(joints: Mapping[str, RobotJoint], loop: RobotLoop) -> set[str]:
    """Return the names of the joints on the tree between the two links of a loop."""
    carriers = {joint.child: joint for joint in joints.values()}
    ways = []
    for link in (loop.joint.parent, loop.joint.child):
        way: set[str] = set()
        while link in carriers:
            way.add(carriers[link].name)
            link = carriers[link].parent
        ways.append(way)
    return ways[0] ^ ways[1]


def looped(robot: Robot, loops: Mapping[str, RobotLoop]) -> Robot:
    """Return a robot with loops; the joints around them start where the search for a closed pose leads.

    Raises:
        ModelError: no joint moves in a loop.
    """
    joints = dict(robot.joints)
    for loop in loops.values():
        inside = around(joints, loop)
        if not any(joints[name].kind != "fixed" for name in inside):
            message = f"the joint '{loop.joint.name}' joins links that are fixed to each other: remove it"
            raise robot.source.error(loop.joint.line, ModelError(message))
        joints |= {name: replace(joints[name], guessed=True) for name in inside}
    closing = {name: replace(loop, joint=replace(loop.joint, guessed=True)) for name, loop in loops.items()}
    return replace(robot, joints=joints, loops=closing)


def unique(loops: Iterable[RobotLoop], joints: Mapping[str, RobotJoint], source: SourceText) -> dict[str, RobotLoop]:
    """Return loops by the names of the joints that close them.

    Raises:
        NameInUseError: two joints have one name.
    """
    named: dict[str, RobotLoop] = {}
    for loop in loops:
        name = loop.joint.name
        if name in named or name in joints:
            raise source.error(loop.joint.line, NameInUseError(f"there are two joints '{name}': rename one"))
        named[name] = loop
    return named


def held(loops: Mapping[str, RobotLoop]) -> set[str]:
    """Return the names of the links that joints of loops hold."""
    return {link for loop in loops.values() for link in (loop.joint.parent, loop.joint.child)}
