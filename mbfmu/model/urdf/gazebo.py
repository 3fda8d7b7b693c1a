"""Additions of the elements of Gazebo and ROS 2 in a URDF: starts, springs, followers, the robot's pose."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mbfmu.errors import ModelError, UnknownNameError, ValueRangeError, first_of, nearest
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.robot import AXIAL, Mimic, Origin, RobotJoint
from mbfmu.model.robot.unread import OFF
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.urdf.loops import texts

STARTS = ("initial_joint_position", "initialJointPosition")
"""Elements for a joint with the coordinate at which it starts."""
STIFFNESS, REST = "springStiffness", "springReference"
"""Elements for a joint with the stiffness of a spring on its axis, and the coordinate at which that is at rest."""


@dataclass(frozen=True)
class Additions:
    """Additions to a robot.

    Args:
        joints: its joints with their starts, springs and followers.
        pose: pose of the robot in the world; None: it stands at the origin.
        still: whether the whole robot is held.
        notices: what is to be told of them.
    """

    joints: Mapping[str, RobotJoint]
    pose: Origin | None
    still: bool
    notices: tuple[str, ...]


def tags_read(element: XmlElement, joints: Mapping[str, RobotJoint]) -> set[str]:
    """Return the tags that are read in a ``<gazebo>``, by what it is for: the robot, or a joint with an axis."""
    reference = element.attributes.get("reference", "")
    if not reference:
        return {"joint", "pose", "static"}
    axial = reference in joints and joints[reference].kind in AXIAL
    return {"joint", STIFFNESS, REST, *STARTS} if axial else {"joint"}


def additions_of(reader: Attributes, root: XmlElement, joints: Mapping[str, RobotJoint]) -> Additions:
    """Return what the elements of Gazebo and of ROS 2's controllers add to a robot.

    Args:
        reader: reader of values.
        root: the ``<robot>``.
        joints: its joints.

    Raises:
        ModelError: a joint follows two others, or one that is not there.
    """
    changed = dict(joints)
    pose, still, begun = None, False, []
    for element in root.all("gazebo"):
        name, read = element.attributes.get("reference", ""), tags_read(element, joints)
        for item in element.children:
            if item.tag not in read:
                continue
            if item.tag == "pose":
                pose = _pose(reader, item)
            elif item.tag == "static":
                still = still or item.text.lower() not in OFF
            elif item.tag == STIFFNESS:
                (c,) = texts(reader, item, "0")
                if c < 0:
                    raise reader.error(item, ValueRangeError(f"<{STIFFNESS}>: {c:g} must be at least 0"))
                changed[name] = replace(changed[name], stiffness=c)
            elif item.tag == REST:
                changed[name] = replace(changed[name], rest=texts(reader, item, "0")[0])
            elif item.tag in STARTS:
                changed[name] = replace(changed[name], start=texts(reader, item, "0"))
                begun.append(f"'{name}'")
    following = _followers(reader, root, changed)
    told = {
        "start values of Gazebo": begun,
        "follow others exactly, as programs have it": [f"'{name}'" for name in following],
        "<static> holds the whole robot": ["remove it to let it move"] * still,
    }
    notices = tuple(f"{label}: {first_of(names)}" for label, names in told.items() if names)
    return Additions({**changed, **following}, pose, still, notices)


def _pose(reader: Attributes, pose: XmlElement) -> Origin:
    """Return the pose of the robot in the world."""
    if pose.attributes.get("relative_to"):
        raise reader.error(pose, ModelError("a <pose> relative to a frame is not read: write that in the world"))
    x, y, z, *angles = texts(reader, pose, "0 0 0 0 0 0")
    return Origin((x, y, z), (angles[0], angles[1], angles[2]))


def _followers(reader: Attributes, root: XmlElement, joints: Mapping[str, RobotJoint]) -> dict[str, RobotJoint]:
    """Return the joints that programs make follow others where the joints themselves say nothing of it."""
    following: dict[str, RobotJoint] = {}
    for follower, rule in _rules(reader, root):
        joint = following.get(follower) or joints.get(follower)
        if joint is None or joint.kind == "fixed" or (joint.mimic and _alike(joint.mimic, rule)):
            continue
        shown = f"<mimic joint='{rule.joint}' multiplier='{rule.multiplier:g}' offset='{rule.offset:g}'/>"
        message = f"a program makes the joint '{follower}' follow as {shown} says"
        if joint.mimic or joint.kind not in AXIAL:
            raise reader.source.error(rule.line, ModelError(f"{message}, which the joint contradicts: remove one"))
        if rule.joint not in joints:
            near = nearest(rule.joint, joints)
            raise reader.source.error(rule.line, UnknownNameError(f"{message}, which is not there: remove it; {near}"))
        following[follower] = replace(joint, mimic=rule)
    return following


def _alike(one: Mimic, other: Mimic) -> bool:
    return (one.joint, one.multiplier, one.offset) == (other.joint, other.multiplier, other.offset)


def _rules(reader: Attributes, root: XmlElement) -> Iterator[tuple[str, Mimic]]:
    """Yield the joints that programs make follow others, with the rule of each."""
    for gazebo in root.all("gazebo"):
        for plugin in gazebo.all("plugin"):
            if follower := next((item.text for item in plugin.all("mimicJoint")), ""):
                named = {item.tag: item for item in plugin.children}
                yield follower, _rule(reader, plugin, named, "joint")
    for control in root.all("ros2_control"):
        for joint in control.all("joint"):
            named = {item.attributes.get("name", ""): item for item in joint.all("param")}
            if "mimic" in named and named["mimic"].text:
                yield joint.attributes.get("name", ""), _rule(reader, joint, named, "mimic")


def _rule(reader: Attributes, element: XmlElement, named: Mapping[str, XmlElement], leader: str) -> Mimic:
    """Return the rule of a joint that follows another.

    Args:
        reader: reader of values.
        element: the element of the rule.
        named: the elements in it by tag or name.
        leader: tag or name of the one with the joint that is followed.
    """
    name = named[leader].text if leader in named else ""
    multiplier, offset = _value(reader, named.get("multiplier"), 1.0), _value(reader, named.get("offset"), 0.0)
    return Mimic(name, multiplier, offset, element.line)


def _value(reader: Attributes, element: XmlElement | None, default: float) -> float:
    return default if element is None else texts(reader, element, str(default))[0]
