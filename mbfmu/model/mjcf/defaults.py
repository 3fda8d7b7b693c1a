"""Default classes: attributes that elements take over from the classes they belong to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mbfmu.errors import NameInUseError, UnknownNameError, nearest
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import XmlElement

MAIN = "main"
ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
"""Attributes that state an orientation, each in its own way: one of an element replaces any other of its class."""

PARTIAL = ("gear", "size", "stiffness", "damping")
"""Attributes that may have fewer numbers than those of a class, which keeps the others."""


@dataclass(frozen=True)
class Defaults:
    """The default classes of a model.

    Args:
        reader: reader of attributes.
        parents: name of the class that each class is in; empty for the outermost.
        given: the elements of each class, in the order of the file.
    """

    reader: Attributes
    parents: dict[str, str] = field(default_factory=lambda: {MAIN: ""})
    given: dict[str, list[XmlElement]] = field(default_factory=lambda: {MAIN: []})

    def chain(self, element: XmlElement, inherited: str) -> list[str]:
        """Return the classes that an element takes attributes from, the outermost first.

        Args:
            element: the element, which may name a class.
            inherited: class that the elements around it set; empty for none.

        Raises:
            UnknownNameError: there is no such class.
        """
        name = element.attributes.get("class", inherited) or MAIN
        if name not in self.parents:
            message = UnknownNameError(
                f"<{element.tag}>: there is no default class '{name}'; {nearest(name, self.parents)}"
            )
            raise self.reader.error(element, message)
        classes: list[str] = []
        while name:
            classes.insert(0, name)
            name = self.parents[name]
        return classes

    def elements(self, element: XmlElement, tags: tuple[str, ...], inherited: str) -> list[XmlElement]:
        """Return the elements of some tags in the classes of an element, the outermost first."""
        return [item for name in self.chain(element, inherited) for item in self.given[name] if item.tag in tags]

    def filled(self, element: XmlElement, inherited: str = "", tag: str = "") -> XmlElement:
        """Return an element with the attributes of its classes, where it has none of its own.

        Args:
            element: the element.
            inherited: class that the elements around it set.
            tag: tag of such elements in the classes; empty for its own.
        """
        merged: dict[str, str] = {}
        for item in (*self.elements(element, (tag or element.tag,), inherited), element):
            if any(name in item.attributes for name in ORIENTATIONS):
                merged = {name: value for name, value in merged.items() if name not in ORIENTATIONS}
            merged = over(merged, item.attributes)
        return replace(element, attributes=merged)


def over(before: Mapping[str, str], attributes: Mapping[str, str]) -> dict[str, str]:
    """Return attributes of classes with those of an element over them."""
    merged = {**before, **attributes}
    for name in PARTIAL:
        if name in before and name in attributes:
            words = attributes[name].split()
            merged[name] = " ".join((*words, *before[name].split()[len(words) :]))
    return merged


def defaults_of(root: XmlElement, reader: Attributes) -> Defaults:
    """Return the default classes of a model.

    Raises:
        ModelError: a class has no name, or a name that another class has.
    """
    defaults = Defaults(reader)

    def read(element: XmlElement, name: str) -> None:
        for item in element.children:
            if item.tag != "default":
                defaults.given[name].append(item)
                continue
            inner = reader.name(item, "class")
            if inner in defaults.parents:
                raise reader.error(item, NameInUseError(f"there are two default classes '{inner}': rename one"))
            defaults.parents[inner], defaults.given[inner] = name, []
            read(item, inner)

    for index, element in enumerate(root.all("default")):
        outermost = element.attributes.get("class", MAIN)
        if index == 0 and outermost != MAIN:  # older files name it as they like
            defaults.parents[outermost], defaults.given[outermost] = MAIN, []
        read(element, MAIN)
    return defaults
