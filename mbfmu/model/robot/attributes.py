"""Attributes of XML elements as checked numbers and names."""

import math
import re
from dataclasses import dataclass

from mbfmu.errors import MbfmuError, ValueRangeError
from mbfmu.model.robot.xml import Element
from mbfmu.model.source import Source

GREATEST = 1e30
"""Largest magnitude of a number, beyond which it is a mistake."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Attributes:
    """A reader of numbers and names of elements, which raises errors with their lines."""

    source: Source

    def error(self, element: Element, what: MbfmuError | str) -> MbfmuError:
        """Return an error with file and line of an element in front, see `Source.error`."""
        return (element.source or self.source).error(element.line, what)

    def name(self, element: Element, attribute: str = "name") -> str:
        found = element.attributes.get(attribute, "")
        if not found:
            raise self.error(element, f'a <{element.tag}> needs {attribute}="..."')
        return found

    def numbers(self, element: Element, attribute: str, default: str, count: int) -> tuple[float, ...]:
        """Return the numbers of an attribute, separated by blanks."""
        text = element.attributes.get(attribute, default)
        return self.parsed(element, f'<{element.tag} {attribute}="{text}">', text, count)

    def parsed(self, element: Element, shown: str, text: str, count: int) -> tuple[float, ...]:
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
        found = []
        for word in words:
            if not NUMBER.fullmatch(word) or abs(float(word)) > GREATEST:
                raise self.error(element, ValueRangeError(f"{shown}: {word} is not a number that a robot can have"))
            found.append(float(word))
        return tuple(found)

    def number(self, element: Element, attribute: str, default: str, least: float = -math.inf) -> float:
        (found,) = self.numbers(element, attribute, default, 1)
        if found < least:
            what = ValueRangeError(f"<{element.tag} {attribute}>: {found:g} must be at least {least:g}")
            raise self.error(element, what)
        return found

    def one(self, element: Element, tag: str) -> Element:
        """Return the child of a tag; an element without attributes if there is none."""
        found = list(element.all(tag))
        if len(found) > 1:
            raise self.error(found[1], f"a <{element.tag}> has one <{tag}> at most")
        return found[0] if found else Element(tag, {}, element.line, source=element.source)
