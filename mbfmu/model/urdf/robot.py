"""URDF -> Robot: links, joints and visuals as checked numbers, and notices of what is not used."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mbfmu.errors import (
    AxisError,
    MbfmuError,
    ModelError,
    NameInUseError,
    UnknownNameError,
    ValueRangeError,
    nearest,
)
from mbfmu.model.physical import inertia_matrix
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.source import Source, read_bytes
from mbfmu.model.urdf.xacro import expanded, first_macro
from mbfmu.model.urdf.xml import Element, elements_of

Array = npt.NDArray[np.float64]
LARGEST = 10_000_000
"""Largest number of bytes of a file."""
MOST = 5_000
"""Largest number of links of a robot."""
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
AXIAL = ("revolute", "continuous", "prismatic")
"""Kinds of joints that move along or about one axis."""
GREATEST, SMALLEST = 1e30, 1e-30
"""Largest magnitude of a number, beyond which it is a mistake, and smallest length of an axis with a direction."""
ROUNDED = 1e-9
"""Largest relative size of a negative moment of inertia that counts as rounding."""
DUST = 1e-15
"""Largest magnitude of a negative moment of inertia that counts as rounding, kg.m2."""
MOST_SAID = 3
"""Largest number of things of one kind that a notice names."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Origin:
    """A pose: moved by `xyz`, then turned by the fixed angles `rpy`.

    Args:
        xyz: translation, m.
        rpy: angles about the axes x, y and z of the frame before the move, in this order, rad.
    """

    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def R(self) -> Array:
        """Rotation matrix, shape (3, 3): ``Rz(yaw) Ry(pitch) Rx(roll)``."""
        (cr, cp, cy), (sr, sp, sy) = ([f(angle) for angle in self.rpy] for f in (math.cos, math.sin))
        return np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )


@dataclass(frozen=True)
class Visual:
    """The look of a link, which has no effect on the motion.

    Args:
        link: name of the link in the URDF.
        frame: full name of the link's frame in the system.
        origin: origin of the geometry, seen from the frame.
        kind: ``box``, ``cylinder``, ``sphere``, ``capsule`` or ``mesh``.
        size: the sides of a box, radius and length of a cylinder or capsule, the radius of a sphere, m; the scale of a
            mesh.
        mesh: file of a mesh, as written (often ``package://...``); empty for other kinds.
        colour: red, green, blue, alpha from 0 to 1; None if none is given.
    """

    link: str
    frame: str
    origin: Origin
    kind: str
    size: tuple[float, ...]
    mesh: str = ""
    colour: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Link:
    """A link.

    Args:
        name: name in the URDF.
        line: line in the URDF.
        m: mass, kg; 0 for a link without inertia.
        r_CM: centre of mass, m, resolved in the link's frame.
        inertia: about the centre of mass, shape (3, 3), kg.m2, resolved in the link's frame.
        visuals: the link's visuals, with `frame` still empty.
        unseen: what is wrong with visuals that were left out.
    """

    name: str
    line: int
    m: float
    r_CM: tuple[float, ...]
    inertia: Array
    visuals: tuple[Visual, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def massive(self) -> bool:
        """Return whether the link has mass or inertia."""
        return self.m > 0 or bool(self.inertia.any())


@dataclass(frozen=True)
class Limit:
    """The limits of a joint; a bound that is not given is None.

    Args:
        lower, upper: least and greatest coordinate, rad or m.
        effort: greatest effort of its drive, N.m or N.
        velocity: greatest rate, rad/s or m/s.
    """

    lower: float | None = None
    upper: float | None = None
    effort: float = 0.0
    velocity: float = 0.0


@dataclass(frozen=True)
class Mimic:
    """The rule of a joint that follows another: its coordinate is ``multiplier * other + offset``."""

    joint: str
    multiplier: float
    offset: float
    line: int


@dataclass(frozen=True)
class RobotJoint:
    """A joint.

    Args:
        name: name in the URDF.
        line: line in the URDF.
        kind: one of `KINDS`.
        parent, child: names of links.
        origin: origin of the joint and of the child's frame, seen from the parent's frame.
        axis: unit vector, resolved in the joint's frame.
        damping: damping constant, N.m.s/rad or N.s/m.
        friction: Coulomb friction, N.m or N.
        limit: limits of its motion.
        mimic: the joint it follows, if any.
        rotor: inertia of the rotors of its drives, as it acts on the axis, kg.m2 or kg.
    """

    name: str
    line: int
    kind: str
    parent: str
    child: str
    origin: Origin
    axis: tuple[float, ...]
    damping: float
    friction: float
    limit: Limit
    mimic: Mimic | None
    rotor: float = 0.0


@dataclass(frozen=True)
class Robot:
    """A tree of links and joints, with what was asked of it applied to it.

    Args:
        name: name in the URDF.
        source: file of the robot, for messages.
        links: links by name.
        joints: joints by name, each after the joint that carries its parent.
        root: name of the link that no joint carries.
        notices: what was left out, or decided where the file says nothing.
    """

    name: str
    source: Source
    links: Mapping[str, Link]
    joints: Mapping[str, RobotJoint]
    root: str
    notices: tuple[str, ...] = ()


def read_robot(path: Path, options: RobotOptions | None = None) -> Robot:
    """Read a robot.

    Args:
        path: path of the .urdf or .xacro file.
        options: what is asked of it.

    Raises:
        ModelFileError: the file is missing, is no URDF, or has xacro in it and its reader is not installed.
        ModelError: the robot is invalid; the message begins with file and line.
    """
    asked = options or RobotOptions()
    content, source = read_bytes(path, LARGEST), Source(str(path), path.parent)
    root = elements_of(content, source)
    if macro := first_macro(root):
        content, source = expanded(path, source, macro, asked), Source(f"{path} as xacro expands it", path.parent)
        root = elements_of(content, source)
    return _robot(root, source, asked)


def robot_of(content: bytes, source: Source, options: RobotOptions | None = None) -> Robot:
    """Return the robot of a URDF document."""
    return _robot(elements_of(content, source), source, options or RobotOptions())


def _robot(root: Element, source: Source, asked: RobotOptions) -> Robot:
    """Return the robot that the root element of a document describes."""
    if macro := first_macro(root):
        raise source.error(macro.line, f"<{macro.tag}> is xacro: run `xacro file.xacro > file.urdf` first")
    if root.tag != "robot":
        raise source.error(root.line, f"the root of a URDF is <robot>, not <{root.tag}>")
    reader = _Reader(source)
    colours = {item.attributes.get("name", ""): item for item in root.all("material")}
    links: dict[str, Link] = {}
    joints: dict[str, RobotJoint] = {}
    for element in root.all("link"):
        link = reader.link(element, colours)
        if link.name in links:
            raise source.error(link.line, NameInUseError(f"there are two links '{link.name}': rename one"))
        links[link.name] = link
    if not 0 < len(links) <= MOST:
        raise source.error(root.line, f"a robot has at least one <link> and at most {MOST}, not {len(links)}")
    for element in root.all("joint"):
        joint = reader.joint(element, links)
        if joint.name in joints:
            raise source.error(joint.line, NameInUseError(f"there are two joints '{joint.name}': rename one"))
        joints[joint.name] = joint
    for name, rotor in reader.rotors(root).items():
        if name in joints and joints[name].kind in AXIAL:
            joints[name] = replace(joints[name], rotor=rotor)
    first = _root(links, joints, source, root.line)
    joints, mended = _mended(links, _outward(joints, first, source))
    _check_mimics(joints, source)
    notices = (*_unused(root), *mended, *(text for link in links.values() for text in link.unseen))
    robot = Robot(root.attributes.get("name", "robot"), source, links, joints, first, notices)
    return _based(_eased(robot, asked), asked.base)


def _mended(
    links: Mapping[str, Link], joints: Mapping[str, RobotJoint]
) -> tuple[dict[str, RobotJoint], tuple[str, ...]]:
    """Return the joints, those fixed that move nothing, and without mimicking that has no meaning."""
    massive = {name for name, link in links.items() if link.massive}
    found = dict(joints)
    idle: list[str] = []
    aimless: list[str] = []
    free: list[str] = []
    for name, joint in reversed(list(joints.items())):
        if joint.child in massive or joint.rotor:
            massive.add(joint.parent)
        elif joint.kind != "fixed":
            found[name] = replace(joint, kind="fixed", mimic=None)
            idle.insert(0, f"'{name}'")
    axial = {name for name, joint in found.items() if joint.kind in AXIAL}
    for name, joint in found.items():
        if joint.mimic and name not in axial:
            aimless.append(f"'{name}'")
        elif joint.mimic and joint.mimic.joint not in axial:
            other = joint.mimic.joint
            hint = f" ({nearest(other, axial - {name})})" if len(free) < MOST_SAID else ""
            free.append(f"'{name}' of '{other}'{hint}")
        else:
            continue
        found[name] = replace(joint, mimic=None)
    kinds = {
        "fixed, as they move nothing with mass": idle,
        "mimicking of joints without an axis is left out": aimless,
        "mimicking of what is no joint with an axis is left out": free,
    }
    return found, tuple(f"{what}: {first_of(names)}" for what, names in kinds.items() if names)


def first_of(texts: Sequence[str]) -> str:
    """Return the first texts of a list, and the number of the others."""
    return ", ".join(texts[:MOST_SAID]) + f" and {len(texts) - MOST_SAID} more" * (len(texts) > MOST_SAID)


def _eased(robot: Robot, options: RobotOptions) -> Robot:
    """Return a robot without the limits and the friction that are not wanted."""
    joints = {}
    for name, joint in robot.joints.items():
        limit = joint.limit if options.limits else replace(joint.limit, lower=None, upper=None)
        joints[name] = replace(joint, limit=limit, friction=joint.friction if options.friction else 0.0)
    return replace(robot, joints=joints)


def _based(robot: Robot, base: str) -> Robot:
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
        ground, name = _unlike("world", robot.links), _unlike("root_joint", robot.joints)
        still = Link(ground, root.line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
        joint = RobotJoint(
            name, root.line, "floating", ground, root.name, Origin(), (1.0, 0.0, 0.0), 0.0, 0.0, Limit(), None
        )
        links, joints = {ground: still, **robot.links}, {name: joint, **robot.joints}
        return replace(robot, links=links, joints=joints, root=ground)
    if m:
        what = f"the root link '{root.name}' ({m:g} kg with what is fixed to it) is fixed to the world: "
        return replace(robot, notices=(*robot.notices, f"{what}--floating frees it, --fixed says that it is meant"))
    return robot


def _unlike(name: str, taken: Mapping[str, object]) -> str:
    while name in taken:
        name += "_"
    return name


USED = {
    "robot": {"link", "joint", "material"},
    "link": {"inertial", "visual"},
    "joint": {"origin", "parent", "child", "axis", "dynamics", "limit", "mimic"},
}
"""Elements that are read, by the element they stand in."""


def _unused(root: Element) -> Iterator[str]:
    """Yield the elements that have no effect on the motion, if there are any."""
    places = (root, *root.all("link"), *root.all("joint"))
    items = (item for place in places for item in place.children if item.tag not in USED[place.tag])
    found = Counter(item.tag for item in items if not any(_rotor_inertias(item)))
    if found:
        yield "not used: " + ", ".join(f"{count} <{tag}>" for tag, count in found.most_common())


def _rotor_inertias(transmission: Element) -> Iterator[Element]:
    return (item for actuator in transmission.all("actuator") for item in actuator.all("drake:rotor_inertia"))


@dataclass(frozen=True)
class _Reader:
    """A reader of numbers and names of elements, which raises errors with their lines."""

    source: Source

    def name(self, element: Element, attribute: str = "name") -> str:
        found = element.attributes.get(attribute, "")
        if not found:
            raise self.source.error(element.line, f'a <{element.tag}> needs {attribute}="..."')
        return found

    def numbers(self, element: Element, attribute: str, default: str, count: int) -> tuple[float, ...]:
        """Return the numbers of an attribute, separated by blanks."""
        text = element.attributes.get(attribute, default)
        words = text.split()
        if len(words) != count:
            raise self.source.error(
                element.line, f'<{element.tag} {attribute}="{text}">: it needs {count} number(s), not {len(words)}'
            )
        found = []
        for word in words:
            if not NUMBER.fullmatch(word) or abs(float(word)) > GREATEST:
                what = ValueRangeError(
                    f'<{element.tag} {attribute}="{text}">: {word} is not a number that a robot can have'
                )
                raise self.source.error(element.line, what)
            found.append(float(word))
        return tuple(found)

    def number(self, element: Element, attribute: str, default: str, least: float = -math.inf) -> float:
        (found,) = self.numbers(element, attribute, default, 1)
        if found < least:
            what = ValueRangeError(f"<{element.tag} {attribute}>: {found:g} must be at least {least:g}")
            raise self.source.error(element.line, what)
        return found

    def one(self, element: Element, tag: str) -> Element:
        """Return the child of a tag; an element without attributes if there is none."""
        found = list(element.all(tag))
        if len(found) > 1:
            raise self.source.error(found[1].line, f"a <{element.tag}> has one <{tag}> at most")
        return found[0] if found else Element(tag, {}, element.line)

    def origin(self, element: Element) -> Origin:
        item = self.one(element, "origin")
        x, y, z = self.numbers(item, "xyz", "0 0 0", 3)
        roll, pitch, yaw = self.numbers(item, "rpy", "0 0 0", 3)
        return Origin((x, y, z), (roll, pitch, yaw))

    def link(self, element: Element, colours: Mapping[str, Element]) -> Link:
        name = self.name(element)
        inertial = self.one(element, "inertial")
        visuals, unseen = self.visuals(element, name, colours)
        if not any(element.all("inertial")):
            return Link(name, element.line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)), visuals, unseen)
        mass, tensor = self.one(inertial, "mass"), self.one(inertial, "inertia")
        m = self.number(mass, "value", "", least=0.0)
        moments = [self.number(tensor, key, "") for key in ("ixx", "iyy", "izz")]
        inertia = inertia_matrix(moments, [self.number(tensor, key, "0") for key in ("ixy", "ixz", "iyz")])
        if min(moments) < -max(ROUNDED * np.abs(inertia).max(), DUST):
            what = ValueRangeError(f"link '{name}': <inertia> has a moment of {min(moments):g}: it must be at least 0")
            raise self.source.error(tensor.line, what)
        np.fill_diagonal(inertia, np.maximum(moments, 0.0))
        origin = self.origin(inertial)
        turned = origin.R @ inertia @ origin.R.T
        turned[np.abs(turned) < 1e-15 * np.abs(turned).max()] = 0.0
        return Link(name, element.line, m, origin.xyz, turned if any(origin.rpy) else inertia, visuals, unseen)

    def joint(self, element: Element, links: Mapping[str, Link]) -> RobotJoint:
        name, kind = self.name(element), self.name(element, "type")
        if kind not in KINDS:
            what = UnknownNameError(f"joint '{name}': there is no type '{kind}'; {nearest(kind, KINDS)}")
            raise self.source.error(element.line, what)
        ends = {}
        for end in ("parent", "child"):
            item = self.one(element, end)
            ends[end] = self.name(item, "link")
            if ends[end] not in links:
                what = UnknownNameError(f"joint '{name}': there is no link '{ends[end]}'; {nearest(ends[end], links)}")
                raise self.source.error(item.line, what)
        axis, dynamics, limit = (self.one(element, tag) for tag in ("axis", "dynamics", "limit"))
        n = self.numbers(axis, "xyz", "1 0 0", 3)
        length = math.hypot(*n)
        if kind != "fixed" and length < SMALLEST:
            raise self.source.error(axis.line, AxisError(f"joint '{name}': the axis has no direction"))
        return RobotJoint(
            name,
            element.line,
            kind,
            ends["parent"],
            ends["child"],
            self.origin(element),
            n if kind == "fixed" else tuple(item / length for item in n),
            self.number(dynamics, "damping", "0", least=0.0),
            self.number(dynamics, "friction", "0", least=0.0),
            self.limit(limit),
            self.mimic(element),
        )

    def rotors(self, root: Element) -> dict[str, float]:
        """Return the inertia of the rotors on each joint's axis: the rotor's own times the gear's ratio squared.

        Drake's elements in an actuator, ``drake:rotor_inertia`` and ``drake:gear_ratio``; without the latter the
        transmission's ``mechanicalReduction``.
        """
        found: dict[str, float] = {}
        for transmission in root.all("transmission"):
            names = [item.attributes.get("name", "") for item in transmission.all("joint")]
            for actuator in transmission.all("actuator"):
                if not any(actuator.all("drake:rotor_inertia")):
                    continue
                own = self.number(self.one(actuator, "drake:rotor_inertia"), "value", "", least=0.0)
                gear = self.one(actuator, "drake:gear_ratio")
                texts = [*actuator.all("mechanicalReduction"), *transmission.all("mechanicalReduction")]
                if not gear.attributes and texts:
                    gear = Element(texts[0].tag, {"value": texts[0].text}, texts[0].line)
                ratio = self.number(gear, "value", "1")
                for name in names:
                    found[name] = found.get(name, 0.0) + own * ratio**2
        return found

    def limit(self, element: Element) -> Limit:
        lower, upper = (
            self.number(element, key, "0") if {"lower", "upper"} & element.attributes.keys() else None
            for key in ("lower", "upper")
        )
        if lower is not None and upper is not None and lower > upper:  # as PyBullet has it: no limits
            lower = upper = None
        effort, velocity = (self.number(element, key, "0", least=0.0) for key in ("effort", "velocity"))
        return Limit(lower, upper, effort, velocity)

    def mimic(self, element: Element) -> Mimic | None:
        if not any(element.all("mimic")):
            return None
        item = self.one(element, "mimic")
        multiplier, offset = self.number(item, "multiplier", "1"), self.number(item, "offset", "0")
        return Mimic(self.name(item, "joint"), multiplier, offset, item.line)

    def colour(self, element: Element) -> tuple[float, ...] | None:
        return next((self.numbers(item, "rgba", "", 4) for item in element.all("color")), None)

    def visuals(
        self, element: Element, link: str, colours: Mapping[str, Element]
    ) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
        """Return the visuals of a link, and what is wrong with those that cannot be drawn."""
        found, unseen = [], []
        for item in element.all("visual"):
            try:
                found.append(self.visual(item, link, colours))
            except MbfmuError as error:
                unseen.append(f"a <visual> of the link '{link}' is left out: {error}")
        return tuple(found), tuple(unseen)

    def visual(self, element: Element, link: str, colours: Mapping[str, Element]) -> Visual:
        shapes = {"box": ("size", 3), "cylinder": ("radius length", 1), "capsule": ("radius length", 1),
                  "sphere": ("radius", 1), "mesh": ("scale", 3)}  # fmt: skip
        geometry = self.one(element, "geometry")
        shape = next((item for item in geometry.children if item.tag in shapes), None)
        if shape is None:
            what = f"link '{link}': a <visual> needs a <geometry> with one of {', '.join(shapes)}"
            raise self.source.error(geometry.line, what)
        keys, count = shapes[shape.tag]
        default = "1 1 1" if shape.tag == "mesh" else ""
        size = tuple(number for key in keys.split() for number in self.numbers(shape, key, default, count))
        material = self.one(element, "material")
        common = colours.get(material.attributes.get("name", ""), material)
        colour = self.colour(material) or self.colour(common)
        mesh = self.name(shape, "filename") if shape.tag == "mesh" else ""
        return Visual(link, "", self.origin(element), shape.tag, size, mesh, colour)


def _check_mimics(joints: Mapping[str, RobotJoint], source: Source) -> None:
    """Raise an error if a joint mimics itself, directly or over others."""
    axial = {name: joint for name, joint in joints.items() if joint.kind in AXIAL}
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
                what = f"joint '{name}' mimics itself, directly or over others"
                raise source.error(mimic.line, ModelError(what))
            name = mimic.joint
        good |= way


def _root(links: Mapping[str, Link], joints: Mapping[str, RobotJoint], source: Source, line: int) -> str:
    """Return the link that no joint carries."""
    carriers: dict[str, RobotJoint] = {}
    for joint in joints.values():
        if joint.child in carriers:
            other = carriers[joint.child].name
            what = f"link '{joint.child}' is the child of two joints, '{other}' and '{joint.name}': a URDF is a tree"
            raise source.error(joint.line, ModelError(what))
        carriers[joint.child] = joint
    roots = [name for name in links if name not in carriers]
    if not roots:
        raise source.error(line, ModelError("every link is the child of a joint: a tree needs a root"))
    if len(roots) > 1:
        what = f"both '{roots[0]}' and '{roots[1]}' are the child of no joint: join them; a URDF has one root"
        raise source.error(links[roots[1]].line, ModelError(what))
    return roots[0]


def _outward(joints: Mapping[str, RobotJoint], root: str, source: Source) -> dict[str, RobotJoint]:
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
        what = f"joint '{lost.name}' is in a circle of joints that nothing carries: a URDF is a tree"
        raise source.error(lost.line, ModelError(what))
    return order
