"""Joints and forces of a URDF beside its tree: loops that close, and springs between links."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbfmu.errors import UnknownNameError, nearest
from mbfmu.model.forces import AffineThruster, Bushing, SpringDamper
from mbfmu.model.forces.stop import NO_LIMIT
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.loops import CLOSING
from mbfmu.model.robot.robot import AXIAL, Array, Limit, Origin, RobotForce, RobotJoint, RobotLink, RobotLoop
from mbfmu.model.robot.unread import left_out, quiet, unless_off
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.sdf.axes import pitch_of
from mbfmu.model.sdf.texts import Texts

KINDS = {**{kind: kind for kind in CLOSING}, "spherical": "ball"}
"""Kinds of joints that close loops, by the type of their element."""
ENDS = {"loop_joint": ("link1", "link2"), "loop": ("predecessor", "successor")}
"""Elements of the two ends of a loop: that of Drake and Isaac Sim, and that of URDF+."""
BALL, BUSHING, SPRING = "drake:ball_constraint", "drake:linear_bushing_rpy", "drake:linear_spring_damper"

ENDLESS = 1e15
"""Magnitude of a limit, rad or m, from which on it is none."""


def pose_of(reader: Attributes, element: XmlElement) -> Origin:
    """Return the pose that the attributes ``xyz`` and ``rpy`` of an element state."""
    x, y, z = reader.numbers(element, "xyz", "0 0 0", 3)
    roll, pitch, yaw = reader.numbers(element, "rpy", "0 0 0", 3)
    return Origin((x, y, z), (roll, pitch, yaw))


@dataclass(frozen=True)
class LoopReader:
    """A reader of loops, and of forces between links.

    Args:
        reader: reader of attributes.
        root: the ``<robot>``.
        links: links by name.
        joints: joints of the tree by name, each after the joint that carries its parent.
    """

    reader: Attributes
    root: XmlElement
    links: Mapping[str, RobotLink]
    joints: Mapping[str, RobotJoint]

    def loops(self) -> Iterator[RobotLoop]:
        """Yield the joints that close loops.

        Raises:
            UnknownNameError: one is of a type that closes none, or joins a link that is not there.
            ModelError: one has what is not read.
        """
        for tag, ends in ENDS.items():
            for element in self.root.all(tag):
                yield self._loop(element, [self.reader.one(element, end) for end in ends])
        for index, element in enumerate(self.root.all(BALL), 1):
            a, b, *points = self._parts(element, "body_A body_B p_AP p_BQ")
            at = [Origin(self.vector(item)) for item in points]
            yield closing(f"ball_{index}", element.line, "ball", (self.link(a), self.link(b)), at)
        for gazebo in self.root.all("gazebo"):
            for element in gazebo.all("joint"):
                yield self._gazebo(element)

    def forces(self) -> Iterator[RobotForce]:
        """Yield the springs and dampers between links, and the propellers."""
        yield from self._propellers()
        for index, element in enumerate(self.root.all(BUSHING), 1):
            names = "frameA frameC force_stiffness force_damping torque_stiffness torque_damping"
            a, b, *numbers = self._parts(element, names, "drake:bushing_")
            c, d, c_phi, d_phi = (self.vector(item) for item in numbers)
            turning: dict[str, Any] = {f"c_phi_{k + 1}": item for k, item in enumerate(c_phi)}
            turning |= {f"d_phi_{k + 1}": item for k, item in enumerate(d_phi)}
            (link_a, at_a), (link_b, at_b) = self._frame(a), self._frame(b)
            bushing = Bushing("bushing", c=c, d=d, **turning)
            yield RobotForce(f"bushing_{index}", element.line, (link_a, link_b), (at_a, at_b), (bushing,))
        for index, element in enumerate(self.root.all(SPRING), 1):
            a, b, *rest = self._parts(element, "body_A body_B p_AP p_BQ free_length stiffness damping")
            first, second = (Origin(self.vector(item)) for item in rest[:2])
            length, c_line, d_line = (self.reader.number(item, "value", "", least=0.0) for item in rest[2:])
            spring = SpringDamper("spring", c=c_line, s_unstretched=length, d=d_line)
            yield RobotForce(f"line_{index}", element.line, (self.link(a), self.link(b)), (first, second), (spring,))

    def _propellers(self) -> Iterator[RobotForce]:
        """Yield the propellers of older files of Drake: a force and a torque along an axis, by an input."""
        reader = self.reader
        for element in self.root.all("force_element"):
            list(left_out(reader, element, {"propellor"}, {}))
            item, name = reader.one(element, "propellor"), reader.name(element)
            list(left_out(reader, item, {"parent", "origin", "axis"}, {}))
            thrust, moment = (reader.number(item, f"scale_factor_{key}", "0") for key in ("thrust", "moment"))
            limits = {
                key: reader.number(item, attribute, str(default))
                for key, attribute, default in (
                    ("u_least", "lower_limit", -NO_LIMIT),
                    ("u_greatest", "upper_limit", NO_LIMIT),
                )
            }
            n = reader.direction(reader.one(item, "axis"), "xyz", "1 0 0", f"propellor '{name}'")
            link, at = self.link(reader.one(item, "parent"), "link"), pose_of(reader, reader.one(item, "origin"))
            force, torque = (tuple(scale * x for x in n) for scale in (thrust, moment))
            thruster = AffineThruster("thruster", force=force, torque=torque, **limits)
            yield RobotForce(name, element.line, (link, link), (at, at), (thruster,))

    def _parts(self, element: XmlElement, names: str, prefix: str = "") -> list[XmlElement]:
        """Return the children of an element whose tags have its own, or a prefix, in front; others are rejected."""
        tags = [f"{prefix or element.tag + '_'}{name}" for name in names.split()]
        list(left_out(self.reader, element, tags, {}))
        return [self.reader.one(element, tag) for tag in tags]

    def _loop(self, element: XmlElement, ends: list[XmlElement]) -> RobotLoop:
        """Return the loop of an element with two ends and an axis, which has the same numbers in both their frames."""
        reader, name = self.reader, self.reader.name(element)
        list(left_out(reader, element, {"axis", *(end.tag for end in ends)}, {}))
        for end in ends:
            list(left_out(reader, end, {"origin"}, {}))
        kind = self.kind(element, name)
        at = [pose_of(reader, reader.one(end, "origin") if any(end.all("origin")) else end) for end in ends]
        axis: tuple[float, ...] = (1.0, 0.0, 0.0)
        if kind in AXIAL:
            axis = reader.direction(reader.one(element, "axis"), "xyz", "1 0 0", f"joint '{name}'")
        return closing(name, element.line, kind, [self.link(end, "link") for end in ends], at, axis)

    def _gazebo(self, element: XmlElement) -> RobotLoop:
        """Return a joint of Gazebo between two links, which stands in the frame of the child where all are at zero."""
        reader, name = self.reader, self.reader.name(element)
        screw = element.attributes.get("type") == "screw"
        pitches = {"screw_thread_pitch", "thread_pitch"} if screw else set()
        list(left_out(reader, element, {"parent", "child", "pose", "axis", *pitches}, {}))
        kind, axis = "screw" if screw else self.kind(element, name), reader.one(element, "axis")
        outer = unless_off("resolves the axis in the model, which is not read: resolve it in the child's frame")
        list(left_out(reader, axis, {"xyz", "limit", "dynamics"}, {"use_parent_model_frame": outer}))
        limit, dynamics = reader.one(axis, "limit"), reader.one(axis, "dynamics")
        list(left_out(reader, limit, {"lower", "upper"}, quiet("effort velocity")))
        list(left_out(reader, dynamics, {"damping", "friction"}, {}))
        a, b = (self.known(item, item.text) for item in (reader.one(element, tag) for tag in ("parent", "child")))
        x, y, z, *angles = texts(reader, reader.one(element, "pose"), "0 0 0 0 0 0")
        end = Origin((x, y, z), (angles[0], angles[1], angles[2]))
        n: tuple[float, ...] = (1.0, 0.0, 0.0)
        if kind in AXIAL:
            xyz = reader.one(axis, "xyz")
            shown = XmlElement("xyz", {"xyz": xyz.text or "0 0 1"}, xyz.line, source=xyz.source)
            n = reader.direction(shown, "xyz", "", f"joint '{name}'")
        places = places_of(self.joints)
        seen = np.linalg.inv(places.get(a, np.eye(4))) @ places.get(b, np.eye(4)) @ end.matrix
        loop = closing(name, element.line, kind, (a, b), [Origin.of(seen[:3, 3], seen[:3, :3]), end], n)
        if kind not in AXIAL:
            return loop
        advance = pitch_of(Texts(reader.source), element) / (2 * math.pi) if screw else 0.0
        damping, friction = (texts(reader, reader.one(dynamics, tag), "0")[0] for tag in ("damping", "friction"))
        bounds = [texts(reader, reader.one(limit, tag), "1e16")[0] for tag in ("lower", "upper")]
        held = Limit(*bounds) if max(map(abs, bounds)) < ENDLESS else Limit()
        joint = replace(loop.joint, damping=damping, friction=friction, limit=held, advance=advance)
        return replace(loop, joint=joint)

    def kind(self, element: XmlElement, name: str) -> str:
        """Return the kind of a joint that closes a loop, by the type of its element."""
        kind = self.reader.name(element, "type")
        if kind not in KINDS:
            message = f"<{element.tag} name='{name}'>: no loop closes by the type '{kind}': remove it; "
            raise self.reader.error(element, UnknownNameError(message + nearest(kind, KINDS)))
        return KINDS[kind]

    def link(self, element: XmlElement, attribute: str = "name") -> str:
        """Return the link that an attribute names."""
        return self.known(element, self.reader.name(element, attribute))

    def known(self, element: XmlElement, name: str) -> str:
        """Return the name of a link that is there."""
        if name not in self.links:
            message = f"<{element.tag}>: there is no link '{name}'; {nearest(name, self.links)}"
            raise self.reader.error(element, UnknownNameError(message))
        return name

    def vector(self, element: XmlElement) -> tuple[float, float, float]:
        """Return the three numbers of an element's value."""
        x, y, z = self.reader.numbers(element, "value", "", 3)
        return x, y, z

    def _frame(self, element: XmlElement) -> tuple[str, Origin]:
        """Return the link that an element names and the pose there: that of the ``<frame>`` it names, if it is one."""
        name = self.reader.name(element)
        frame = next((item for item in self.root.all("frame") if item.attributes.get("name") == name), None)
        return (
            (self.link(element), Origin()) if frame is None else (self.link(frame, "link"), pose_of(self.reader, frame))
        )


def closing(
    name: str,
    line: int,
    kind: str,
    links: Sequence[str],
    at: Sequence[Origin],
    axis: tuple[float, ...] = (1.0, 0.0, 0.0),
) -> RobotLoop:
    """Return a loop that a passive joint closes.

    Args:
        name: name of the joint.
        line: line in the file.
        kind: kind of the joint.
        links: names of the two links.
        at: the joint's frame seen from each link.
        axis: unit vector, resolved in the joint's frame.
    """
    (a, b), (first, second) = links, at
    joint = RobotJoint(name, line, kind, a, b, first, axis, 0.0, 0.0, Limit(), None, driven=False)
    return RobotLoop(joint, second)


def texts(reader: Attributes, element: XmlElement, default: str) -> tuple[float, ...]:
    """Return the numbers in an element, as many as the default has, which stand where it is empty."""
    text = element.text or default
    return reader.parsed(element, f"<{element.tag}>{text}</{element.tag}>", text, len(default.split()))


def places_of(joints: Mapping[str, RobotJoint]) -> dict[str, Array]:
    """Return the pose of each link that a joint carries, seen from the root, where all joints are at zero."""
    places: dict[str, Array] = {}
    for joint in joints.values():
        places[joint.child] = places.get(joint.parent, np.eye(4)) @ joint.origin.matrix
    return places
