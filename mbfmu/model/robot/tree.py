"""The tree of a robot: what carries what, and the changes that make it move."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from mbfmu.errors import ModelError, UnknownNameError, first_of, nearest
from mbfmu.model.robot.assembly import quaternion
from mbfmu.model.robot.lending import coupled, moving_mass
from mbfmu.model.robot.robot import AXIAL, Limit, Origin, Robot, RobotJoint, RobotLink
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.source import SourceText


def mended(
    links: Mapping[str, RobotLink], joints: Mapping[str, RobotJoint], held: Collection[str] = ()
) -> tuple[dict[str, RobotJoint], tuple[str, ...]]:
    """Return the joints, those fixed that move no mass and are coupled with none that does, and notices.

    Args:
        links: the links by name.
        joints: the joints by name, each after the joint that carries its parent.
        held: names of the links that joints of loops hold.
    """
    moving = _moving(links, joints, held)
    idle = [name for name, joint in joints.items() if joint.kind != "fixed" and name not in moving]
    still = [f"'{name}'" for name, joint in joints.items() if joint.mimic and joint.kind == "fixed"]
    changed = {
        name: replace(joint, kind="fixed", mimic=None) if name not in moving or joint.kind == "fixed" else joint
        for name, joint in joints.items()
    }
    kinds = {
        "fixed, as they move nothing with mass": [f"'{name}'" for name in idle],
        "mimicking of joints that are fixed is left out": still,
    }
    return changed, tuple(f"{label}: {first_of(names)}" for label, names in kinds.items() if names)


def _moving(links: Mapping[str, RobotLink], joints: Mapping[str, RobotJoint], held: Collection[str] = ()) -> set[str]:
    """Return the names of the joints that move mass, or are coupled with one that does."""
    moving = moving_mass(links, joints, held)
    return moving | {name for rates in coupled(joints) if moving & rates.keys() for name in rates}


def eased(robot: Robot, options: RobotOptions) -> Robot:
    """Return a robot without the limits and the friction that are not wanted."""
    loops = {name: replace(loop, joint=_eased(loop.joint, options)) for name, loop in robot.loops.items()}
    return replace(robot, joints={name: _eased(joint, options) for name, joint in robot.joints.items()}, loops=loops)


def _eased(joint: RobotJoint, options: RobotOptions) -> RobotJoint:
    limit = joint.limit if options.limits else replace(joint.limit, lower=None, upper=None)
    return replace(joint, limit=limit, friction=joint.friction if options.friction else 0.0)


def based(robot: Robot, base: str) -> Robot:
    """Return a robot whose root is fixed to the world or floats, as asked; tell of one that is fixed without a word."""
    root = robot.links[robot.root]
    floating = [item for item in robot.joints.values() if item.parent == root.name and item.kind == "floating"]
    if base == "fixed":
        fixed = {joint.name: replace(joint, kind="fixed") for joint in floating}
        return replace(robot, joints={**robot.joints, **fixed})
    carried = {root.name}
    for joint in robot.joints.values():
        if joint.kind == "fixed" and joint.parent in carried:
            carried.add(joint.child)
    m = sum(robot.links[name].m for name in carried)
    if base == "floating" and (m or not floating):
        return _on_ground(robot, "floating", Origin())
    if m:
        message = f"the root link '{root.name}' ({m:g} kg with what is fixed to it) is fixed to the world: "
        return replace(robot, notices=(*robot.notices, f"{message}--floating frees it, --fixed says that it is meant"))
    return robot


def placed(robot: Robot, pose: Origin) -> Robot:
    """Return a robot that stands elsewhere in the world; where it floats, there it starts.

    Args:
        robot: the robot.
        pose: pose of its root link in the world.
    """
    root, P = robot.links[robot.root], pose.matrix
    leaving = [joint for joint in robot.joints.values() if joint.parent == root.name]
    if root.massive or root.visuals or robot.loops or any(joint.kind != "floating" for joint in leaving):
        return _on_ground(robot, "fixed", pose)
    moved = {}
    for joint in leaving:
        at = joint.origin.matrix
        S = np.linalg.inv(at) @ P @ at
        start = (*(float(item) for item in S[:3, 3]), *quaternion(S[:3, :3]))
        moved[joint.name] = replace(joint, start=start)
    return replace(robot, joints={**robot.joints, **moved})


def _on_ground(robot: Robot, kind: str, pose: Origin) -> Robot:
    """Return a robot whose root is carried by a joint of a kind, called root_joint, which stands in the world."""
    root = robot.links[robot.root]
    ground, name = unlike("world", robot.links), unlike("root_joint", robot.joints)
    still = RobotLink(ground, root.line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    joint = RobotJoint(name, root.line, kind, ground, root.name, pose, (1.0, 0.0, 0.0), 0.0, 0.0, Limit(), None)
    links, joints = {ground: still, **robot.links}, {name: joint, **robot.joints}
    return replace(robot, links=links, joints=joints, root=ground)


def unlike(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that is not taken: the given one, with underscores at its end if need be."""
    while name in taken:
        name += "_"
    return name


def check_mimics(links: Mapping[str, RobotLink], joints: Mapping[str, RobotJoint], source: SourceText) -> None:
    """Raise an error if a joint with an axis mimics one without, or itself, directly or over others.

    Args:
        links: the links by name.
        joints: the joints by name, each after the joint that carries its parent.
        source: the file, for messages.

    Raises:
        UnknownNameError: it mimics a joint that is not there.
        ModelError: it mimics one that has no axis, or itself, or one without mass by a multiplier of 0.
    """
    moving = _moving(links, joints)
    axial = {name: joint for name, joint in joints.items() if joint.kind in AXIAL}
    for name, joint in axial.items():
        if joint.mimic is None:
            continue
        other = joint.mimic.joint
        if other in axial:
            if not joint.mimic.multiplier and name in moving and other not in moving:
                message = f"joint '{name}' mimics '{other}', which moves no mass, with a multiplier of 0: make it fixed"
                raise source.error(joint.mimic.line, ModelError(message))
            continue
        if other in joints:
            message = (
                f"joint '{name}' mimics '{other}', which is {joints[other].kind}: remove <mimic>, or make both fixed"
            )
            raise source.error(joint.mimic.line, ModelError(message))
        near = nearest(other, axial.keys() - {name})
        message = f"joint '{name}' mimics '{other}', which is not there: remove <mimic>; {near}"
        raise source.error(joint.mimic.line, UnknownNameError(message))
    good: set[str] = set()
    for first in axial:
        name = first
        way: set[str] = set()
        while name not in good:
            way.add(name)
            mimic = axial[name].mimic
            if mimic is None:
                break
            if mimic.joint in way:
                message = f"joint '{name}' mimics itself, directly or over others"
                raise source.error(mimic.line, ModelError(message))
            name = mimic.joint
        good |= way


def root_of(links: Mapping[str, RobotLink], joints: Mapping[str, RobotJoint], source: SourceText, line: int) -> str:
    """Return the link that no joint carries."""
    carriers: dict[str, RobotJoint] = {}
    for joint in joints.values():
        if joint.child in carriers:
            other = carriers[joint.child].name
            message = f"link '{joint.child}' is the child of two joints, '{other}' and '{joint.name}': a URDF is a tree"
            raise source.error(joint.line, ModelError(message))
        carriers[joint.child] = joint
    roots = [name for name in links if name not in carriers]
    if not roots:
        raise source.error(line, ModelError("every link is the child of a joint: a tree needs a root"))
    if len(roots) > 1:
        message = f"both '{roots[0]}' and '{roots[1]}' are the child of no joint: join them; a URDF has one root"
        raise source.error(links[roots[1]].line, ModelError(message))
    return roots[0]


def outward(joints: Mapping[str, RobotJoint], root: str, source: SourceText) -> dict[str, RobotJoint]:
    """Return the joints in the order of the tree."""
    leaving: dict[str, list[RobotJoint]] = {}
    for joint in joints.values():
        leaving.setdefault(joint.parent, []).append(joint)
    order: dict[str, RobotJoint] = {}
    reached = [root]
    for name in reached:  # grows in the loop
        for joint in leaving.get(name, ()):
            order[joint.name] = joint
            reached.append(joint.child)
    lost = next((joint for joint in joints.values() if joint.name not in order), None)
    if lost:
        message = f"joint '{lost.name}' is in a loop of joints that nothing carries: a URDF is a tree"
        raise source.error(lost.line, ModelError(message))
    return order
