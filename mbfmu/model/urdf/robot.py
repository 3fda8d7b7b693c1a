"""URDF -> Robot: links, joints and visuals as checked numbers, and notices of what is not used."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mbfmu.errors import (
    MbfmuError,
    ModelError,
    NameInUseError,
    UnknownNameError,
    ValueRangeError,
    first_of,
    nearest,
)
from mbfmu.model.physical import inertia_matrix
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.loops import held, looped, unique
from mbfmu.model.robot.robot import AXIAL, DUST, Limit, Mimic, Origin, Robot, RobotJoint, RobotLink, Visual
from mbfmu.model.robot.tree import based, check_mimics, eased, mended, outward, placed, root_of
from mbfmu.model.robot.xml import XmlElement, elements_of
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.source import SourceText, read_bytes
from mbfmu.model.urdf.beside import beside
from mbfmu.model.urdf.gazebo import additions_of
from mbfmu.model.urdf.loops import LoopReader, pose_of
from mbfmu.model.urdf.unread import check_axes, unread, weightless
from mbfmu.model.urdf.xacro import expanded, first_macro, left_over

LARGEST = 10_000_000
"""Largest number of bytes of a file."""
MOST = 5_000
"""Largest number of links of a robot."""
WORLD = "world"
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
KINDS = {**{kind: kind for kind in TYPES}, "spherical": "ball"}
"""Kind of a joint by its type, with a type of Bullet's."""
OLD = "joint_properties"
"""Name of ``<dynamics>`` before ROS 1.0."""
ROUNDED = 1e-9
"""Largest relative size of a negative moment of inertia that counts as rounding."""


def read_robot(path: Path, options: RobotOptions | None = None) -> Robot:
    """Read a robot.

    Args:
        path: path of the .urdf or .xacro file.
        options: choices that the file leaves open.

    Raises:
        ModelFileError: the file is missing, is no URDF, or has xacro in it and its reader is not installed.
        ModelError: the robot is invalid; the message begins with file and line.
    """
    choices = options or RobotOptions()
    content, source = read_bytes(path, LARGEST), SourceText(str(path), path.parent)
    root = elements_of(content, source)
    if (macro := first_macro(root)) and not (path.suffix == ".urdf" and left_over(root)):
        content = expanded(path, source, macro, choices, LARGEST)
        source = SourceText(f"{path} as xacro expands it", path.parent)
        root = elements_of(content, source)
    return _robot(root, source, choices, path)


def robot_of(content: bytes, source: SourceText, options: RobotOptions | None = None) -> Robot:
    """Return the robot of a URDF document."""
    return _robot(elements_of(content, source), source, options or RobotOptions())


def _robot(root: XmlElement, source: SourceText, choices: RobotOptions, path: Path | None = None) -> Robot:
    """Return the robot that the root element of a document describes."""
    if (macro := first_macro(root)) and not (path and left_over(root)):
        raise source.error(macro.line, f"<{macro.tag}> is xacro: run `xacro file.xacro > file.urdf` first")
    if root.tag != "robot":
        raise source.error(root.line, f"the root of a URDF is <robot>, not <{root.tag}>")
    reader = _Reader(source)
    colours = {item.attributes.get("name", ""): item for item in root.all("material")}
    links: dict[str, RobotLink] = {}
    joints: dict[str, RobotJoint] = {}
    for element in root.all("link"):
        link = reader.link(element, colours)
        if link.name in links:
            raise source.error(link.line, NameInUseError(f"there are two links '{link.name}': rename one"))
        links[link.name] = link
    for name in weightless(root) & links.keys():
        links[name] = replace(links[name], weightless=True)
    if not 0 < len(links) <= MOST:
        raise source.error(root.line, f"a robot has at least one <link> and at most {MOST}, not {len(links)}")
    ground = next(
        (
            item
            for joint in root.all("joint")
            for item in joint.all("parent")
            if item.attributes.get("link") == WORLD and WORLD not in links
        ),
        None,
    )
    if ground is not None:  # a link of this name is not needed for the world itself
        links[WORLD] = RobotLink(WORLD, ground.line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    for element in root.all("joint"):
        joint = reader.joint(element, links)
        check_axes(reader, element, joint)
        if joint.name in joints:
            raise source.error(joint.line, NameInUseError(f"there are two joints '{joint.name}': rename one"))
        joints[joint.name] = joint
    for name, rotor in reader.rotors(root, joints).items():
        if joints[name].kind in AXIAL:
            joints[name] = replace(joints[name], rotor=rotor)
    more = additions_of(reader, root, joints)
    stated = joints = dict(more.joints)
    first = root_of(links, joints, source, root.line)
    joints = outward(joints, first, source)
    check_mimics(links, joints, source)
    there, joints, more_links = beside(path, source, links, joints) if path else ([], joints, {})
    links |= more_links
    beyond = LoopReader(reader, root, links, joints)
    loops, forces = unique((*beyond.loops(), *there), joints, source), tuple(beyond.forces())
    if more.still:
        loops, forces, joints = {}, (), {name: replace(item, kind="fixed", mimic=None) for name, item in joints.items()}
    joints, fixed = mended(links, joints, held(loops))
    unseen = (text for link in links.values() for text in link.unseen)
    notices = (*_unused(reader, root, stated), *more.notices, *_decided(root, stated), *fixed, *unseen)
    robot = Robot(root.attributes.get("name", "robot"), source, links, joints, first, notices, forces=forces)
    whole = based(eased(looped(robot, loops), choices), choices.base)
    return placed(whole, more.pose) if more.pose else whole


def _unused(reader: Attributes, root: XmlElement, joints: Mapping[str, RobotJoint]) -> Iterator[str]:
    """Yield the elements that have no effect on the motion, if there are any."""
    if tags := Counter(unread(reader, root, joints)):
        yield "not used: " + ", ".join(f"{count} {tag}" for tag, count in tags.most_common())
    if old := [f"'{name}'" for item in root.all("joint") if any(item.all(OLD)) and (name := item.attributes["name"])]:
        yield f"<{OLD}> is read as <dynamics>, its later name: {first_of(old)}"


def _decided(root: XmlElement, joints: Mapping[str, RobotJoint]) -> Iterator[str]:
    """Yield the links that are point masses, and the joints whose limits are none, as the lower one is above the other.

    Args:
        root: the ``<robot>``.
        joints: its joints.
    """
    bounded = (item for item in root.all("joint") for limit in item.all("limit") if "lower" in limit.attributes)
    names = [item.attributes["name"] for item in bounded if item.attributes["type"] != "continuous"]
    bare = (item for item in root.all("link") for inertial in item.all("inertial") if not any(inertial.all("inertia")))
    if points := [f"'{item.attributes['name']}'" for item in bare]:
        yield f"point masses, as their <inertial> has no <inertia>: {first_of(points)}"
    if swapped := [f"'{name}'" for name in names if joints[name].limit.lower is None]:
        yield f"no limits, as the lower one is above the upper one: {first_of(swapped)}"


@dataclass(frozen=True)
class _Reader(Attributes):
    """A reader of the elements of a URDF, which raises errors with their lines."""

    def origin(self, element: XmlElement) -> Origin:
        return pose_of(self, self.one(element, "origin"))

    def link(self, element: XmlElement, colours: Mapping[str, XmlElement]) -> RobotLink:
        name = self.name(element)
        inertial = self.one(element, "inertial")
        visuals, unseen = self.visuals(element, name, colours)
        if not any(element.all("inertial")):
            return RobotLink(name, element.line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)), visuals, unseen)
        mass, tensor = self.one(inertial, "mass"), self.one(inertial, "inertia")
        if not any(inertial.all("mass")):
            lack = f"link '{name}': its <inertial> has no <mass>: add one, or remove the <inertial>"
            raise self.source.error(inertial.line, lack)
        m = self.number(mass, "value", "", least=0.0)
        point = not any(inertial.all("inertia"))
        moments = [self.number(tensor, key, "0" if point else "") for key in ("ixx", "iyy", "izz")]
        inertia = inertia_matrix(moments, [self.number(tensor, key, "0") for key in ("ixy", "ixz", "iyz")])
        if min(moments) < -max(ROUNDED * np.abs(inertia).max(), DUST):
            message = ValueRangeError(
                f"link '{name}': <inertia> has a moment of {min(moments):g}: it must be at least 0"
            )
            raise self.source.error(tensor.line, message)
        np.fill_diagonal(inertia, np.maximum(moments, 0.0))
        for contact in element.all("contact"):
            for item in contact.all("inertia_scaling"):  # of Bullet
                inertia *= self.number(item, "value", "1", least=0.0)
        origin = self.origin(inertial)
        turned = origin.R @ inertia @ origin.R.T
        turned[np.abs(turned) < 1e-15 * np.abs(turned).max()] = 0.0
        return RobotLink(name, element.line, m, origin.xyz, turned if any(origin.rpy) else inertia, visuals, unseen)

    def joint(self, element: XmlElement, links: Mapping[str, RobotLink]) -> RobotJoint:
        name, kind = self.name(element), self.name(element, "type")
        if kind not in KINDS:
            message = UnknownNameError(f"joint '{name}': there is no type '{kind}'; {nearest(kind, TYPES)}")
            raise self.source.error(element.line, message)
        kind = KINDS[kind]
        ends = {}
        for end in ("parent", "child"):
            item = self.one(element, end)
            ends[end] = self.name(item, "link")
            if ends[end] not in links:
                message = UnknownNameError(
                    f"joint '{name}': there is no link '{ends[end]}'; {nearest(ends[end], links)}"
                )
                raise self.source.error(item.line, message)
        old = any(element.all(OLD))
        if old and any(element.all("dynamics")):
            twice = f"joint '{name}': <{OLD}> is an older name of <dynamics>: remove one of them"
            raise self.source.error(self.one(element, OLD).line, ModelError(twice))
        axis, dynamics, limit = (self.one(element, tag) for tag in ("axis", OLD if old else "dynamics", "limit"))
        free = kind in {"fixed", "floating", "ball"}  # whose axis may be zero
        n = (1.0, 0.0, 0.0) if free else self.direction(axis, "xyz", "1 0 0", f"joint '{name}'")
        return RobotJoint(
            name,
            element.line,
            kind,
            ends["parent"],
            ends["child"],
            self.origin(element),
            n,
            self.number(dynamics, "damping", "0", least=0.0),
            self.number(dynamics, "friction", "0", least=0.0),
            self.limit(limit),
            self.mimic(element),
        )

    def rotors(self, root: XmlElement, joints: Mapping[str, RobotJoint]) -> dict[str, float]:
        """Return the inertia of the rotors on each joint's axis: the rotor's own times the gear's ratio squared.

        Drake's elements in an actuator, ``drake:rotor_inertia`` and ``drake:gear_ratio``; without the latter the
        transmission's ``mechanicalReduction``.

        Raises:
            UnknownNameError: a joint is not there.
        """
        inertias: dict[str, float] = {}
        for transmission in root.all("transmission"):
            names = [item.attributes.get("name", "") for item in transmission.all("joint")]
            for actuator in transmission.all("actuator"):
                if not any(actuator.all("drake:rotor_inertia")):
                    continue
                inertia = self.number(self.one(actuator, "drake:rotor_inertia"), "value", "", least=0.0)
                gear = self.one(actuator, "drake:gear_ratio")
                texts = [*actuator.all("mechanicalReduction"), *transmission.all("mechanicalReduction")]
                if not gear.attributes and texts:
                    gear = XmlElement(texts[0].tag, {"value": texts[0].text}, texts[0].line)
                ratio = self.number(gear, "value", "1")
                for name in names:
                    if name not in joints:
                        message = (
                            f"the rotor of a <transmission> is for the joint '{name}', which is not there: remove it"
                        )
                        raise self.source.error(
                            transmission.line, UnknownNameError(f"{message}; {nearest(name, joints)}")
                        )
                    inertias[name] = inertias.get(name, 0.0) + inertia * ratio**2
        return inertias

    def limit(self, element: XmlElement) -> Limit:
        lower, upper = (
            self.number(element, key, "0") if {"lower", "upper"} & element.attributes.keys() else None
            for key in ("lower", "upper")
        )
        if lower is not None and upper is not None and lower > upper:  # as PyBullet has it: no limits
            lower = upper = None
        effort, velocity = (self.number(element, key, "0", least=0.0) for key in ("effort", "velocity"))
        return Limit(lower, upper, effort, velocity)

    def mimic(self, element: XmlElement) -> Mimic | None:
        if not any(element.all("mimic")):
            return None
        item = self.one(element, "mimic")
        multiplier, offset = self.number(item, "multiplier", "1"), self.number(item, "offset", "0")
        return Mimic(self.name(item, "joint"), multiplier, offset, item.line)

    def colour(self, element: XmlElement) -> tuple[float, ...] | None:
        return next((self.numbers(item, "rgba", "", 4) for item in element.all("color")), None)

    def visuals(
        self, element: XmlElement, link: str, colours: Mapping[str, XmlElement]
    ) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
        """Return the visuals of a link, and what is wrong with those that cannot be drawn."""
        visuals, unseen = [], []
        for item in element.all("visual"):
            try:
                visuals.append(self.visual(item, link, colours))
            except MbfmuError as error:
                unseen.append(f"a <visual> of the link '{link}' is left out: {error}")
        return tuple(visuals), tuple(unseen)

    def visual(self, element: XmlElement, link: str, colours: Mapping[str, XmlElement]) -> Visual:
        shapes = {"box": ("size", 3), "cylinder": ("radius length", 1), "capsule": ("radius length", 1),
                  "sphere": ("radius", 1), "mesh": ("scale", 3)}  # fmt: skip
        geometry = self.one(element, "geometry")
        shape = next((item for item in geometry.children if item.tag in shapes), None)
        if shape is None:
            message = f"link '{link}': a <visual> needs a <geometry> with one of {', '.join(shapes)}"
            raise self.source.error(geometry.line, message)
        keys, count = shapes[shape.tag]
        default = "1 1 1" if shape.tag == "mesh" else ""
        size = tuple(value for key in keys.split() for value in self.numbers(shape, key, default, count))
        material = self.one(element, "material")
        common = colours.get(material.attributes.get("name", ""), material)
        colour = self.colour(material) or self.colour(common)
        mesh = self.name(shape, "filename") if shape.tag == "mesh" else ""
        return Visual(link, "", self.origin(element), shape.tag, size, mesh, colour)
