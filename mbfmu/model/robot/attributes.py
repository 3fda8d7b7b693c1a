"""Attributes of XML elements as checked numbers and names."""

import math
import re
from dataclasses import dataclass

from mbfmu.errors import AxisError, MbfmuError, ValueRangeError
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.source import SourceText

GREATEST = 1e30
"""Largest magnitude of a number, beyond which it is a mistake."""
LEAST = 1e-60
"""Magnitude of a number below which it counts as zero, as products and quotients of such numbers leave their range."""
SMALLEST = 1e-30
"""Smallest length of an axis with a direction."""
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Attributes:
    """A reader of numbers and names of elements, which raises errors with their lines."""

    source: SourceText

    def error(self, element: XmlElement, message: MbfmuError | str) -> MbfmuError:
        """Return an error with file and line of an element in front, see `Source.error`."""
        return (element.source or self.source).error(element.line, message)

    def name(self, element: XmlElement, attribute: str = "name") -> str:
        name = element.attributes.get(attribute, "")
        if not name:
            raise self.error(element, f'a <{element.tag}> needs {attribute}="..."')
        return name

    def numbers(self, element: XmlElement, attribute: str, default: str, count: int) -> tuple[float, ...]:
        """Return the numbers of an attribute, separated by blanks."""
        text = element.attributes.get(attribute, default)
        return self.parsed(element, f'<{element.tag} {attribute}="{text}">', text, count)

    def parsed(self, element: XmlElement, shown: str, text: str, count: int) -> tuple[float, ...]:
        """Return the numbers of a text, separated by blanks.

        Args:
            element: element that holds it, for messages.
            shown: the text as it stands there, for messages.
            text: the text.
            count: how many numbers it has to have.

        Raises:
            ModelFileError: it has more or fewer.
            ValueRangeError: one is no number, or too large.
        """
        words = text.split()
        if len(words) != count:
            raise self.error(element, f"{shown}: it needs {count} number(s), not {len(words)}")
        numbers = []
        for word in words:
            value = float(word) if NUMBER.fullmatch(word) else math.inf
            if abs(value) > GREATEST:
                raise self.error(element, ValueRangeError(f"{shown}: {word} is not a number that a robot can have"))
            numbers.append(0.0 if 0 < abs(value) < LEAST else value)
        return tuple(numbers)

    def number(self, element: XmlElement, attribute: str, default: str, least: float = -math.inf) -> float:
        (value,) = self.numbers(element, attribute, default, 1)
        if value < least:
            message = ValueRangeError(f"<{element.tag} {attribute}>: {value:g} must be at least {least:g}")
            raise self.error(element, message)
        return value

    def direction(self, element: XmlElement, attribute: str, default: str, owner: str) -> tuple[float, ...]:
        """Return three numbers as a unit vector.

        Args:
            element: the element.
            attribute: its attribute.
            default: the numbers where it has none.
            owner: kind and name of what has the axis, for messages.

        Raises:
            AxisError: it is zero.
        """
        n = self.numbers(element, attribute, default, 3)
        length = math.hypot(*n)
        if length < SMALLEST:
            raise self.error(element, AxisError(f"{owner}: the axis has no direction"))
        return tuple(item / length for item in n)

    def one(self, element: XmlElement, tag: str) -> XmlElement:
        """Return the child of a tag, which may be there again word by word; one without attributes if there is none.

        Raises:
            ModelFileError: there are several, and not alike.
        """
        children = list(element.all(tag))
        if any(item.children or (item.attributes, item.text) != (children[0].attributes, children[0].text)
               for item in children[1:]):  # fmt: skip
            raise self.error(children[1], f"a <{element.tag}> has one <{tag}> at most")
        return children[0] if children else XmlElement(tag, {}, element.line, source=element.source)
