"""Replicas: copies of elements of the tree, each in a frame of its own, and of what refers to them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from mbfmu.errors import ModelError
from mbfmu.model.mjcf.poses import pose_of
from mbfmu.model.mjcf.settings import Settings
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import MOST, XmlElement

KINDS = {"joint": "joint", "freejoint": "joint", "body": "body", "site": "site", "geom": "geom"}
"""Kinds of the elements of the tree that others name, by tag."""
REFERENCES = {
    **dict.fromkeys(("joint", "joint1", "joint2", "jointinparent"), "joint"),
    **dict.fromkeys(("body", "body1", "body2"), "body"),
    **dict.fromkeys(("site", "site1", "site2", "refsite", "cranksite", "slidersite", "sidesite"), "site"),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), "tendon"),
    "geom": "geom",
}
"""Kind of what an attribute names."""
SECTIONS = ("tendon", "equality", "actuator")
"""Sections of elements that name others: those that others name come first."""
Name = tuple[str, str]
"""Kind and name of an element."""


def replicated(root: XmlElement, reader: Attributes, settings: Settings) -> XmlElement:
    """Return the root of a model with frames in place of its replicas, as MuJoCo expands them.

    A name in a replica has the number of the copy at its end, with as many digits as the number of copies; a tendon, an
    equality or an actuator of what is replicated is copied with it.

    Args:
        root: root element.
        reader: reader of attributes.
        settings: settings of the model.

    Raises:
        ModelError: there are too many copies.
    """
    replicas = _Replicas(reader, settings, {tag: [*_in(root, tag)] for tag in SECTIONS})
    children = [replicas.expanded(item) if item.tag == "worldbody" else item for item in root.children]
    if not replicas.count:
        return root
    kept = [item for item in children if item.tag not in SECTIONS]
    sections = [XmlElement(tag, {}, root.line, items, source=root.source) for tag, items in replicas.sections.items()]
    return replace(root, children=[*kept, *sections])


@dataclass
class _Replicas:
    """The copies that were made.

    Args:
        reader: reader of attributes.
        settings: settings of the model.
        sections: the elements of the sections that name others, by tag.
        count: number of elements that were written.
    """

    reader: Attributes
    settings: Settings
    sections: dict[str, list[XmlElement]] = field(default_factory=dict)
    count: int = 0

    def expanded(self, element: XmlElement) -> XmlElement:
        """Return an element with frames in place of the replicas in it, the inner ones first."""
        children: list[XmlElement] = []
        for child in element.children:
            inner = self.expanded(child) if child.children else child
            children += self.copies(inner) if child.tag == "replicate" else [inner]
        return replace(element, children=children)

    def copies(self, element: XmlElement) -> Iterator[XmlElement]:
        """Yield the frames of a replica: the k-th has k times the angles, moved by the offset in the last one."""
        reader, attributes = self.reader, element.attributes
        count = reader.number(element, "count", "", least=1.0)
        self.count += int(count) * size_of(element)
        if count != int(count) or self.count > MOST:
            message = f"<replicate count>: {count:g} must be a whole number, that leads to at most {MOST} elements"
            raise reader.error(element, ModelError(message))
        digits = len(str(int(count)))
        endings = [f"{attributes.get('sep', '')}{index:0{digits}d}" for index in range(int(count))]
        self.refer({name for item in element.children for name in names_in(item)}, endings)
        offset, angles = (np.array(reader.numbers(element, key, "0 0 0", 3)) for key in ("offset", "euler"))
        r = np.zeros(3)
        for index, ending in enumerate(endings):
            texts = {key: " ".join(map(repr, x.tolist())) for key, x in (("pos", r), ("euler", index * angles))}
            inside = [_named(item, ending) for item in element.children]
            frame = XmlElement("frame", texts, element.line, inside, source=element.source)
            yield frame
            r = r + pose_of(reader, frame, self.settings).R @ offset

    def refer(self, names: set[Name], endings: list[str]) -> None:
        """Add copies of the elements that name what a replica holds.

        Args:
            names: names of what it holds, to which those of tendons are added.
            endings: ends of the names of the copies.
        """
        for tag, items in self.sections.items():
            copied: list[XmlElement] = []
            for item in items:
                own = {*references(item), *(name for inner in item.children for name in references(inner))}
                if not own & names:
                    copied.append(item)
                    continue
                if tag == "tendon" and (name := item.attributes.get("name")):
                    names.add(("tendon", name))
                copied += [_referring(item, ending, names) for ending in endings]
            self.sections[tag] = copied


def _in(root: XmlElement, tag: str) -> Iterator[XmlElement]:
    for section in root.all(tag):
        yield from section.children


def size_of(element: XmlElement) -> int:
    """Return the number of elements of an element, itself among them."""
    return 1 + sum(map(size_of, element.children))


def names_in(element: XmlElement) -> Iterator[Name]:
    """Yield the kinds and names of what stands in an element of the tree, itself among it."""
    if element.tag in KINDS and (name := element.attributes.get("name")):
        yield KINDS[element.tag], name
    for item in element.children:
        yield from names_in(item)


def references(element: XmlElement) -> Iterator[Name]:
    """Yield the kinds and names of what an element names."""
    yield from ((REFERENCES[key], name) for key, name in element.attributes.items() if key in REFERENCES)


def _named(element: XmlElement, ending: str) -> XmlElement:
    """Return an element of the tree whose names have an ending."""
    attributes = {key: text + ending if key == "name" else text for key, text in element.attributes.items()}
    return replace(element, attributes=attributes, children=[_named(item, ending) for item in element.children])


def _referring(element: XmlElement, ending: str, names: Collection[Name]) -> XmlElement:
    """Return an element, and those in it, whose own name and some names of others have an ending."""
    attributes = {
        key: text + ending if key == "name" or (key in REFERENCES and (REFERENCES[key], text) in names) else text
        for key, text in element.attributes.items()
    }
    return replace(
        element, attributes=attributes, children=[_referring(item, ending, names) for item in element.children]
    )
