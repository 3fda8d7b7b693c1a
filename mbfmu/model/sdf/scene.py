"""The models of an SDF file as one: links, joints and frames with the names of the models around them in front."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mbfmu.errors import ModelError
from mbfmu.model.robot.assembly import quaternion
from mbfmu.model.robot.robot import Array
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.sdf.includes import DEFAULT, included, merges, sdf_of
from mbfmu.model.sdf.poses import MODEL, WORLD, Poses, own_pose
from mbfmu.model.sdf.texts import Texts
from mbfmu.model.source import SourceText

DEEPEST = 30
"""Largest number of models in each other."""
MOST = 5_000
"""Largest number of models, links, joints and frames."""
NAMING = {"pose": "relative_to", "xyz": "expressed_in", "mimic": "joint", "drake:mimic": "joint"}
"""Attribute of an element that names a link, a joint or a frame."""


@dataclass(frozen=True)
class Scene:
    """The models of a file as one.

    Args:
        root: root element of the file.
        world: its world; None: it has none.
        element: the model, without models in it.
        still: names of the links of static models.
        canonical: name of the link that stands for the model.
        models: the models of the file and of those that it includes, as they are written.
        roots: root elements of the files that it includes.
    """

    root: XmlElement
    world: XmlElement | None
    element: XmlElement
    still: frozenset[str]
    canonical: str
    models: tuple[XmlElement, ...]
    roots: tuple[XmlElement, ...]


def scene_of(path: Path, options: RobotOptions) -> Scene:
    """Return the models of an SDF file as one: the only one by itself, several in the frame of their world.

    Args:
        path: path of the file.
        options: with the folders of packages.

    Raises:
        ModelFileError: a file is missing, or is no SDF.
        ModelError: there is no model, or models are in each other without end.
    """
    root = sdf_of(path)
    reader = Texts(SourceText(str(path), path.parent))
    worlds = list(root.all("world"))
    if len(worlds) > 1:
        raise reader.error(worlds[1], ModelError("a file has one <world> at most: write each in a separate file"))
    tops = [item for around in (root, *worlds) for item in around.children if item.tag in {"model", "include"}]
    outside = [item for item in root.children if item.tag in {"model", "include"}]
    if not tops or len(outside) > 1:
        message = f"a file has a <world>, or one <model>, not {len(outside)}: write each in a separate file"
        raise reader.error(root, ModelError(message))
    flat = _Flat(reader, options, path)
    version = root.attributes.get("version", DEFAULT)
    world = worlds[0] if worlds else None
    alone = len(tops) == 1 and not (world and any(world.all("joint")))
    if alone:
        model, version = flat.resolved(tops[0], version)
        if world is not None and outside:
            world = None
    else:
        model = XmlElement("model", {"name": worlds[0].attributes.get("name", "world")}, worlds[0].line,
                           [item for item in worlds[0].children if item.tag in {"model", "include", "joint", "frame"}],
                           source=worlds[0].source)  # fmt: skip
    children = list(flat.children(model, version, "", 0, False))
    if alone:
        flat.models.append(model)
    written = [item for item in model.children if item.tag == "pose"] if alone else []
    element = replace(model, children=[*written, *children])
    canonical = flat.canonical(model) if alone else WORLD
    return Scene(root, world, element, frozenset(flat.still), canonical, tuple(flat.models), tuple(flat.roots))


@dataclass
class _Flat:
    """The models that were read.

    Args:
        reader: reader of values.
        options: with the folders of packages.
        path: path of the file.
        still: names of the links of static models.
        models: the models.
        roots: root elements of the files that are included.
        count: number of elements so far.
        known: models by the identity of the element that holds or names each, with the version of their files.
    """

    reader: Texts
    options: RobotOptions
    path: Path
    still: set[str] = field(default_factory=set)
    models: list[XmlElement] = field(default_factory=list)
    roots: list[XmlElement] = field(default_factory=list)
    count: int = 0
    known: dict[int, tuple[XmlElement, XmlElement, str]] = field(default_factory=dict)

    def resolved(self, element: XmlElement, version: str) -> tuple[XmlElement, str]:
        """Return a model, or the one that an include names, and the version of the format it is written in."""
        if element.tag == "model":
            return element, version
        if id(element) not in self.known:
            model, root = included(self.reader, element, self.options, self.path)
            self.roots.append(root)
            self.known[id(element)] = element, model, root.attributes.get("version", DEFAULT)
        return self.known[id(element)][1:]

    def children(
        self, model: XmlElement, version: str, scope: str, depth: int, static: bool, merged: str = ""
    ) -> Iterator[XmlElement]:
        """Yield the links, joints and frames of a model and of those in it.

        Args:
            model: the model.
            version: version of the format.
            scope: names of the models around its elements, with colons between them; empty for the outermost.
            depth: number of models around it.
            static: whether one of these is static.
            merged: name of the frame that stands for the model, if it is merged into the one around it.
        """
        reader = self.reader
        still = static or reader.flag(model, "static", False)
        for item in model.children:
            self.count += 1
            if depth > DEEPEST or self.count > MOST:
                message = f"more than {DEEPEST} models in each other, or {MOST} links, joints and frames in all"
                raise reader.error(item, ModelError(message))
            if item.tag in {"link", "joint", "frame"}:
                named = _Named(reader, scope, version, still, merged)
                yield named.element(item)
                if still and item.tag == "link":
                    self.still.add(named.name(reader.name(item)))
            elif item.tag in {"model", "include"}:
                inner, inner_version = self.resolved(item, version)
                self.models.append(inner)
                around, joined = _Named(reader, scope, version, still, merged), merges(item)
                name = around.name(f"_merged__{reader.name(inner)}__model__" if joined else reader.name(inner))
                link = self.canonical(inner)
                held = (around.name(link) if joined else f"{name}::{link}") if link else ""
                yield self.frame(inner, inner_version, around, name, held)
                yield from self.children(
                    inner, inner_version, scope if joined else name, depth + 1, still, name if joined else ""
                )

    def frame(self, model: XmlElement, version: str, around: "_Named", name: str, held: str) -> XmlElement:
        """Return the frame of a model in another one, which stands where its placement frame is placed.

        Args:
            model: the model.
            version: version of the format.
            around: writer of the elements of the model around it.
            name: name of the frame.
            held: name of the link that stands for the model; empty if it has none.
        """
        reader, attributes = self.reader, model.attributes
        stated = reader.one(model, "pose")
        base = around.name(stated.attributes.get("relative_to") or MODEL)
        pose = own_pose(reader, model)
        if placed := attributes.get("placement_frame"):
            pose = pose @ np.linalg.inv(self.poses(model, version).of(placed, model))
        attached = {"attached_to": held} if held else {}
        inside = [_posed(stated, pose, base)]
        return XmlElement("frame", {"name": name, **attached}, model.line, inside, source=model.source)

    def poses(self, model: XmlElement, version: str) -> Poses:
        """Return the poses in a model by itself."""
        apart = _Flat(self.reader, self.options, self.path, known=self.known)
        items = {item.attributes.get("name", ""): item for item in apart.children(model, version, "", 0, False)}
        joints = [item for item in items.values() if item.tag == "joint"]
        return Poses(self.reader, items, {item.attributes["name"]: _end(self.reader, item, "child") for item in joints})

    def canonical(self, model: XmlElement) -> str:
        """Return the name of the link that stands for a model, within it; empty if it has none."""
        if stated := model.attributes.get("canonical_link"):
            return stated
        if link := next(model.all("link"), None):
            return link.attributes.get("name", "")
        for item in model.children:
            if item.tag in {"model", "include"}:
                inner, _ = self.resolved(item, "")
                if name := self.canonical(inner):
                    return name if merges(item) else f"{inner.attributes.get('name', '')}::{name}"
        return ""


@dataclass(frozen=True)
class _Named:
    """A writer of elements with the names of the models around them in front."""

    reader: Texts
    scope: str
    version: str
    still: bool
    merged: str = ""

    @property
    def base(self) -> str:
        """Name of the frame of the model; empty for that of the outermost."""
        return self.merged or self.scope

    def name(self, text: str) -> str:
        """Return a name that is written within the model."""
        if text == WORLD or not text:
            return text
        if text == MODEL:
            return self.base or MODEL
        return f"{self.scope}::{text}" if self.scope else text

    def element(self, element: XmlElement) -> XmlElement:
        """Return a link, a joint or a frame of the model."""
        element = self._inside(element)
        attributes = {**element.attributes, "name": self.name(self.reader.name(element))}
        children = element.children
        if element.tag == "frame" and (self.base or "attached_to" in attributes):
            attributes["attached_to"] = self.name(attributes.get("attached_to", MODEL))
        if element.tag == "joint" and self.still:
            attributes["type"] = "fixed"
        if element.tag == "link" and self.base:
            pose = self.reader.one(element, "pose")
            if not pose.attributes.get("relative_to"):
                children = [item for item in children if item.tag != "pose"]
                children.append(replace(pose, attributes={**pose.attributes, "relative_to": self.base}))
        return replace(element, attributes=attributes, children=children)

    def _inside(self, element: XmlElement) -> XmlElement:
        """Return an element whose references have the names of the models in front, and axes their frames."""
        attributes = dict(element.attributes)
        key = NAMING.get(element.tag, "")
        if attributes.get(key):
            attributes[key] = self.name(attributes[key])
        children = [self._inside(item) for item in element.children]
        words = element.words
        if element.tag in {"parent", "child"}:
            words = [self.name(element.text)]
            if "link" in attributes:
                attributes["link"] = self.name(attributes["link"])
        if element.tag in {"axis", "axis2"}:
            outer = self.reader.flag(element, "use_parent_model_frame", False) or _older(self.version)
            children = [self._resolved(item) if outer and item.tag == "xyz" else item for item in children]
        return replace(element, attributes=attributes, children=children, words=words)

    def _resolved(self, xyz: XmlElement) -> XmlElement:
        """Return a direction resolved in the model, unless it says otherwise."""
        frame = xyz.attributes.get("expressed_in") or self.base or MODEL
        return replace(xyz, attributes={**xyz.attributes, "expressed_in": frame})


def _end(reader: Texts, joint: XmlElement, tag: str) -> str:
    """Return the name of the link or frame that a joint has as its ``parent`` or ``child``."""
    item = reader.one(joint, tag)
    return item.text or item.attributes.get("link", "")


def _posed(stated: XmlElement, pose: Array, base: str) -> XmlElement:
    """Return the <pose> of a matrix, shape (4, 4), relative to a frame."""
    s, x, y, z = quaternion(pose[:3, :3])
    text = " ".join(repr(float(item)) for item in (*pose[:3, 3], x, y, z, s))
    attributes = {"relative_to": base, "rotation_format": "quat_xyzw"}
    return XmlElement("pose", attributes, stated.line, [], [text], stated.source)


def _older(version: str) -> bool:
    """Return whether the axes of joints are resolved in the model's frame, as before version 1.5."""
    words = version.split(".")
    return words[0] == "1" and len(words) > 1 and words[1].isdigit() and int(words[1]) < 5
