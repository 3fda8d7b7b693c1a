"""SDF -> Robot: links, joints and visuals as checked numbers, and notices of what is not used."""

import math
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
    first_of,
    nearest,
)
from mbfmu.model.robot.assembly import axis_angle
from mbfmu.model.robot.loops import held, looped, unique
from mbfmu.model.robot.robot import Array, Limit, Origin, Robot, RobotJoint, RobotLink, RobotLoop, Visual
from mbfmu.model.robot.tree import check_mimics, eased, mended, outward, unlike
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.sdf.axes import pitch_of, with_axis
from mbfmu.model.sdf.inertials import inertial_of
from mbfmu.model.sdf.poses import MODEL, WORLD, Poses, own_pose
from mbfmu.model.sdf.scene import Scene, scene_of
from mbfmu.model.sdf.texts import Texts
from mbfmu.model.sdf.unread import unread
from mbfmu.model.source import SourceText

MOST = 5_000
"""Largest number of links of a model."""
KINDS = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "screw": "screw",
         "fixed": "fixed", "ball": "ball", "universal": "revolute", "revolute2": "revolute"}  # fmt: skip
"""Kind of a robot's joint for each type; the last two are two such joints."""
DOUBLE = ("universal", "revolute2")
SHAPES = {"box": (("size", 3),), "sphere": (("radius", 1),), "cylinder": (("radius", 1), ("length", 1)),
          "capsule": (("radius", 1), ("length", 1)), "mesh": (("scale", 3),)}  # fmt: skip
UNTOLD = {"self_collide", "allow_auto_disable", "enable_wind", "kinematic", "must_be_base_link"}
"""Elements that no notice reports if they are false."""


def read_robot(path: Path, options: RobotOptions | None = None) -> Robot:
    """Read the model of an SDF file: the one in it, or the only one of its world.

    Args:
        path: path of the file.
        options: choices that the file leaves open.

    Raises:
        ModelFileError: the file is missing, or is no SDF.
        ModelError: the model is invalid, or has what is not read; the message begins with file and line.
    """
    choices = options or RobotOptions()
    scene = scene_of(path, choices)
    source = SourceText(str(path), path.parent)
    reader = Texts(source)
    x, y, z = _gravity(reader, scene.world)
    robot = _Model(reader, scene, choices).robot(source)
    return eased(replace(robot, gravity=(x, y, z)), choices)


def _gravity(reader: Texts, world: XmlElement | None) -> tuple[float, ...]:
    """Return the gravity of a world, which older files have in its <physics>."""
    places = [] if world is None else [world, *world.all("physics")]
    element = next((item for item in places if any(item.all("gravity"))), XmlElement("world", {}, 1))
    return reader.values(element, "gravity", "0 0 -9.81", 3)


@dataclass(frozen=True)
class _Model:
    """The models of a file as one."""

    reader: Texts
    scene: Scene
    asked: RobotOptions

    @property
    def element(self) -> XmlElement:
        """The model, without models in it."""
        return self.scene.element

    def robot(self, source: SourceText) -> Robot:
        """Return the links and joints of the model.

        Raises:
            ModelError: the model is invalid.
        """
        reader, model = self.reader, self.element
        named: dict[str, XmlElement] = {}
        for item in model.children:
            if item.tag in {"link", "joint", "frame"}:
                name = reader.name(item)
                if name in named or name in {WORLD, MODEL}:
                    raise reader.error(item, NameInUseError(f"there are two things named '{name}': rename one"))
                named[name] = item
        links = {name: item for name, item in named.items() if item.tag == "link"}
        if not links:
            raise reader.error(model, ModelError("a <model> needs at least one <link>"))
        if len(links) > MOST:
            raise reader.error(model, ModelError(f"a <model> has at most {MOST} links, not {len(links)}"))
        canonical = self.scene.canonical
        carriers = {name: canonical if link == MODEL else link for name, link in _carriers(named).items()}
        carriers[MODEL] = canonical
        ends = {name: self.ends(name, item, carriers, links) for name, item in named.items() if item.tag == "joint"}
        poses = Poses(reader, named, {name: self.end(named[name], "child") for name in ends})
        placed = self.placed(poses)
        poses.poses[WORLD] = np.array(np.linalg.inv(placed))
        link_notices: list[str] = []
        links_read = {WORLD: RobotLink(WORLD, model.line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))}
        links_read |= {name: self.link(name, item, poses, link_notices) for name, item in links.items()}
        joints: dict[str, RobotJoint] = {}
        carried: dict[str, str] = {}
        loops: list[RobotLoop] = []
        for name, (parent, child) in ends.items():
            parts = list(self.joint(name, named[name], parent, child, poses, placed, {**links_read, **named}))
            if child in carried or child in ancestors(parent, carried):
                loops.append(self.loop(parts, child, named[name]))
            else:
                carried[child] = parent
            for part in parts:
                joints[part.name] = part
                if part.child not in links_read:
                    links_read[part.child] = RobotLink(part.child, part.line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
        joints |= self.roots([name for name in links if name not in carried], poses, placed, {**joints, **named})
        joints = outward(joints, WORLD, source)
        check_mimics(links_read, joints, source)
        closed = unique(loops, joints, source)
        joints, fixed = mended(links_read, joints, held(closed))
        notices = (
            *self.unused(),
            *link_notices,
            *fixed,
            *(text for link in links_read.values() for text in link.unseen),
        )
        name = model.attributes.get("name", "model")
        return looped(Robot(name, source, links_read, joints, WORLD, notices, "SDF"), closed)

    def loop(self, parts: list[RobotJoint], child: str, element: XmlElement) -> RobotLoop:
        """Return the loop that a joint closes to a link that is carried already, without its last part among them.

        Raises:
            ModelError: it mimics another joint.
        """
        last, end = parts.pop(), Origin()
        if last.kind == "fixed" and parts:  # from the joint's frame to that of the link
            back = np.array(np.linalg.inv(last.origin.matrix), np.float64)
            last, end = parts.pop(), Origin.of(back[:3, 3], back[:3, :3])
        if last.mimic:
            message = f"joint '{last.name}' closes a loop and mimics another: write <mimic> in a joint that closes none"
            raise self.reader.error(element, ModelError(message))
        return RobotLoop(replace(last, child=child), end)

    def ends(
        self, name: str, element: XmlElement, carriers: Mapping[str, str], links: Mapping[str, XmlElement]
    ) -> tuple[str, str]:
        """Return the links that a joint joins; a frame stands for the link it is attached to."""
        ends = []
        for tag in ("parent", "child"):
            stated = self.end(element, tag)
            end = carriers.get(stated, stated)
            if end not in links and not (tag == "parent" and end == WORLD):
                message = f"joint '{name}': there is no link '{end}' for its <{tag}>; {nearest(end, links)}"
                raise self.reader.error(self.reader.one(element, tag), UnknownNameError(message))
            ends.append(end)
        if ends[0] == ends[1]:
            raise self.reader.error(element, ModelError(f"joint '{name}' joins the link '{ends[0]}' with itself"))
        return ends[0], ends[1]

    def end(self, joint: XmlElement, tag: str) -> str:
        """Return the name of the link or frame that a joint has as its ``parent`` or ``child``."""
        item = self.reader.one(joint, tag)
        return item.text or item.attributes.get("link", "")

    def link(self, name: str, element: XmlElement, poses: Poses, notices: list[str]) -> RobotLink:
        """Return a link; one without <inertial> has 1 kg and 1 kg.m2, as the format has it."""
        reader = self.reader
        visuals, unseen = self.visuals(name, element, poses)
        if not any(element.all("inertial")) and name not in self.scene.still:
            notices.append(f"link '{name}' has no <inertial>: 1 kg and 1 kg.m2, as SDF says")
        share = inertial_of(reader, element, name, poses)
        r = tuple(float(item) for item in share.r)
        floats = not reader.flag(element, "gravity", True)
        return RobotLink(name, element.line, share.m, r, share.I, visuals, unseen, floats)

    def placed(self, poses: Poses) -> Array:
        """Return the pose of the model in the world, shape (4, 4); it may be stated for one of the model's frames.

        Raises:
            ModelError: the pose is relative to something else in the world.
        """
        model, pose = self.element, self.reader.one(self.element, "pose")
        base = pose.attributes.get("relative_to") or WORLD
        if base != WORLD:
            message = f"the <pose> of a <model> relative to '{base}' is not read: state it in the world"
            raise self.reader.error(pose, ModelError(message))
        frame = model.attributes.get("placement_frame") or MODEL
        in_world: Array = own_pose(self.reader, model) @ np.linalg.inv(poses.of(frame, model))
        return in_world

    def joint(
        self,
        name: str,
        element: XmlElement,
        parent: str,
        child: str,
        poses: Poses,
        placed: Array,
        taken: Mapping[str, object],
    ) -> Iterator[RobotJoint]:
        """Yield a joint as one or two, and the bracket from its frame to that of the child."""
        reader = self.reader
        kind = reader.name(element, "type")
        if kind not in KINDS:
            message = f"joint '{name}': the type '{kind}' is not read; it is one of {', '.join(KINDS)}"
            raise reader.error(element, UnknownNameError(message))
        at, line = poses.of(name, element), element.line
        before = placed @ at if parent == WORLD else np.linalg.inv(poses.of(parent, element)) @ at
        after = np.linalg.inv(at) @ poses.of(child, element)
        moves = {"fixed": 0, "ball": 0}.get(kind, 2 if kind in DOUBLE else 1)
        plain = bool(np.abs(after - np.eye(4)).max() < 1e-15)
        if kind == "fixed":
            yield _bare(name, line, "fixed", parent, child, before @ after)
            return
        steps = max(moves, 1)
        for index in range(steps):
            last = index == steps - 1
            end = child if last and plain else unlike(f"{child}_part{index + 1}", taken)
            label = name if steps == 1 else f"{name}_{index + 1}"
            part = _bare(label, line, KINDS[kind], parent, end, before)
            if kind == "screw":
                part = replace(part, advance=pitch_of(reader, element) / (2 * math.pi))
            tag = "axis" if index == 0 else "axis2"
            yield with_axis(reader, part, element, tag, at, poses) if moves else part
            parent, before = end, np.eye(4)
        if not plain:
            yield _bare(unlike(f"{name}_end", taken), line, "fixed", parent, child, after)

    def roots(
        self, names: list[str], poses: Poses, placed: Array, taken: Mapping[str, object]
    ) -> dict[str, RobotJoint]:
        """Return the joints to the world of the links that no joint carries: they float, unless they are fixed."""
        joints: dict[str, RobotJoint] = {}
        for name in names:
            still = name in self.scene.still and self.asked.base != "floating"
            fixed = self.asked.base == "fixed" or still
            pose = placed @ poses.of(name, self.element)
            label = unlike("root_joint" if len(names) == 1 else f"{name}_root_joint", {**taken, **joints})
            line = self.element.line
            if fixed:
                joints[label] = _bare(label, line, "fixed", WORLD, name, pose)
                continue
            n, angle = axis_angle(pose[:3, :3])
            Q = (math.cos(angle / 2), *(math.sin(angle / 2) * item for item in n))
            start = (*(float(item) for item in pose[:3, 3]), *Q)
            joints[label] = replace(_bare(label, line, "floating", WORLD, name, np.eye(4)), start=start)
        return joints

    def visuals(self, name: str, element: XmlElement, poses: Poses) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
        """Return the visuals of a link, and what is wrong with those that cannot be drawn."""
        visuals, unseen = [], []
        for item in element.all("visual"):
            try:
                visuals.append(self.visual(name, item, poses))
            except MbfmuError as error:
                unseen.append(f"a <visual> of the link '{name}' is left out: {error}")
        return tuple(visuals), tuple(unseen)

    def visual(self, name: str, element: XmlElement, poses: Poses) -> Visual:
        """Return the look of a link.

        Raises:
            ModelError: its shape is not drawn.
        """
        reader = self.reader
        geometry = reader.one(element, "geometry")
        shape = next((item for item in geometry.children if item.tag in SHAPES), None)
        if shape is None:
            raise reader.error(geometry, ModelError(f"a <geometry> needs one of {', '.join(SHAPES)}"))
        default = {"scale": "1 1 1"}
        size = tuple(
            value
            for key, count in SHAPES[shape.tag]
            for value in reader.values(shape, key, default.get(key, ""), count)
        )
        mesh = reader.text(shape, "uri").replace("model://", "package://") if shape.tag == "mesh" else ""
        material = reader.one(element, "material")
        tone = next(material.all("diffuse"), None)
        colour = None
        if tone is not None:
            words = tone.text.split()
            colour = reader.parsed(tone, "<diffuse>", " ".join([*words, "1"] if len(words) == 3 else words), 4)
        pose = poses.in_frame(element, name)
        return Visual(name, "", Origin.of(pose[:3, 3], pose[:3, :3]), shape.tag, size, mesh, colour)

    def unused(self) -> Iterator[str]:
        """Yield the elements that are not read, if there are any."""
        items = unread(self.reader, self.scene)
        tags = Counter(item.tag for item in items if item.tag not in UNTOLD or item.text.lower() in {"true", "1"})
        counts = [f"{count} <{tag}>" for tag, count in tags.most_common()]
        if counts:
            yield "not used: " + first_of(counts)


def _carriers(named: Mapping[str, XmlElement]) -> dict[str, str]:
    """Return what each frame is attached to in the end, by name; frames in a circle are attached to one of them."""
    carriers: dict[str, str] = {}
    for name in (name for name, item in named.items() if item.tag == "frame"):
        way: dict[str, None] = {}
        while name not in way and name not in carriers and name in named and named[name].tag == "frame":
            way[name] = None
            name = named[name].attributes.get("attached_to", name)
        carriers |= dict.fromkeys(way, carriers.get(name, name))
    return carriers


def ancestors(link: str, carried: Mapping[str, str]) -> set[str]:
    """Return a link and those that carry it, by the link that carries each."""
    way = {link}
    while link in carried:
        link = carried[link]
        way.add(link)
    return way


def _bare(name: str, line: int, kind: str, parent: str, child: str, pose: Array) -> RobotJoint:
    """Return a joint without anything on its axis."""
    origin = Origin.of(pose[:3, 3], pose[:3, :3])
    return RobotJoint(name, line, kind, parent, child, origin, (1.0, 0.0, 0.0), 0.0, 0.0, Limit(), None)
