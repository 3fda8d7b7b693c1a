"""Values of SDF elements, most of which are texts in them."""

from dataclasses import dataclass

from mbfmu.errors import ModelError, ValueRangeError
from mbfmu.model.robot.attributes import GREATEST, NUMBER, Attributes
from mbfmu.model.robot.xml import XmlElement

INFINITE = 1e16
"""Magnitude from which on a number means infinity."""
INFINITIES = {"inf": INFINITE, "+inf": INFINITE, "-inf": -INFINITE}


@dataclass(frozen=True)
class Texts(Attributes):
    """A reader of values of elements, which raises errors with their lines."""

    def text(self, element: XmlElement, tag: str, default: str | None = None) -> str:
        """Return the text of the child of a tag.

        Raises:
            ModelFileError: there is none, and no default.
        """
        text = self.one(element, tag).text
        if not text and default is None:
            raise self.error(element, f"a <{element.tag}> needs a <{tag}> with a text")
        return text or (default or "")

    def values(self, element: XmlElement, tag: str, default: str, count: int) -> tuple[float, ...]:
        """Return the numbers in the child of a tag."""
        item = self.one(element, tag)
        text = item.text or default
        return self.parsed(item, f"<{tag}>{text}</{tag}>", text, count)

    def value(self, element: XmlElement, tag: str, default: str, least: float | None = None) -> float:
        """Return the number in the child of a tag, which may be infinite.

        Raises:
            ValueRangeError: it is less than the least one.
        """
        word = self.text(element, tag, default).lower()
        if NUMBER.fullmatch(word) and abs(float(word)) > GREATEST:  # as the greatest number that there is
            word = "-inf" if word.startswith("-") else "inf"
        value = INFINITIES[word] if word in INFINITIES else self.values(element, tag, default, 1)[0]
        if least is not None and value < least:
            message = ValueRangeError(f"<{tag}>: {value:g} must be at least {least:g}")
            raise self.error(self.one(element, tag), message)
        return value

    def flag(self, element: XmlElement, tag: str, default: bool) -> bool:
        """Return whether the child of a tag says ``true`` or ``1``.

        Raises:
            ModelError: it says neither this nor ``false`` or ``0``.
        """
        word = self.text(element, tag, str(default)).lower()
        if word not in {"true", "false", "0", "1"}:
            raise self.error(self.one(element, tag), ModelError(f"<{tag}>{word}</{tag}> is neither true nor false"))
        return word in {"true", "1"}
