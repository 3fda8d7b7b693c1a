"""Default classes: attributes that elements take over from the classes they belong to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mbfmu.errors import NameInUseError, UnknownNameError, nearest
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import XmlElement

MAIN = "main"
APART = "default apart"
"""Tag of default classes of an attached model, which take nothing over from those of the other."""
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
        merged: the attributes that elements of a tag take from a class and those around it, once they were needed.
        laws: the laws that actuators take from a class and those around it, once they were needed.
    """

    reader: Attributes
    parents: dict[str, str] = field(default_factory=lambda: {MAIN: ""})
    given: dict[str, list[XmlElement]] = field(default_factory=lambda: {MAIN: []})
    merged: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    laws: dict[str, Any] = field(default_factory=dict)

    def chain(self, element: XmlElement, inherited: str) -> list[str]:
        """Return the classes that an element takes attributes from, the outermost first.

        Args:
            element: the element, which may name a class.
            inherited: class that the elements around it set; empty for none.

        Raises:
            UnknownNameError: there is no such class.
        """
        name = self.class_of(element, inherited)
        classes: list[str] = []
        while name:
            classes.append(name)
            name = self.parents[name]
        return classes[::-1]

    def class_of(self, element: XmlElement, inherited: str) -> str:
        """Return the innermost class that an element takes attributes from; see `chain`."""
        name = element.attributes.get("class", inherited) or MAIN
        if name not in self.parents:
            message = UnknownNameError(
                f"<{element.tag}>: there is no default class '{name}'; {nearest(name, self.parents)}"
            )
            raise self.reader.error(element, message)
        return name

    def filled(self, element: XmlElement, inherited: str = "", tag: str = "") -> XmlElement:
        """Return an element with the attributes of its classes, where it has none of its own.

        Args:
            element: the element.
            inherited: class that the elements around it set.
            tag: tag of such elements in the classes; empty for its own.
        """
        key = self.class_of(element, inherited), tag or element.tag
        if key not in self.merged:
            merged: dict[str, str] = {}
            for name in self.chain(element, inherited):
                for item in self.given[name]:
                    if item.tag == key[1]:
                        merged = _with(merged, item.attributes)
            self.merged[key] = merged
        return replace(element, attributes=_with(self.merged[key], element.attributes))


def _with(before: Mapping[str, str], attributes: Mapping[str, str]) -> dict[str, str]:
    """Return attributes of classes with those of an element over them, whose orientation replaces any other."""
    if any(name in attributes for name in ORIENTATIONS):
        before = {name: value for name, value in before.items() if name not in ORIENTATIONS}
    return over(before, attributes)


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
    for element in root.all(APART):
        name = reader.name(element, "class")
        if name in defaults.parents:
            raise reader.error(element, NameInUseError(f"there are two default classes '{name}': rename one"))
        defaults.parents[name], defaults.given[name] = "", []
        read(element, name)
    return defaults
