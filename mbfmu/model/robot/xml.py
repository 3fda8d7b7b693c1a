"""XML -> elements with their lines; document types, entities and references to other files are rejected."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from mbfmu.model.source import SourceText

DEEPEST = 64
MOST = 200_000
"""Largest number of elements of a document."""
LONGEST = 10_000
"""Largest number of characters of an attribute's value."""


@dataclass(frozen=True)
class XmlElement:
    """An element.

    Args:
        tag: tag with its prefix, as written.
        attributes: values of the attributes by name.
        line: line where it begins, from 1.
        children: the elements in it.
        words: the pieces of text in it, without those of its children.
        source: the document it stands in.
    """

    tag: str
    attributes: Mapping[str, str]
    line: int
    children: "list[XmlElement]" = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    source: SourceText | None = None

    @property
    def text(self) -> str:
        """Text in the element, without that of its children and without blanks around it."""
        return "".join(self.words).strip()

    def all(self, tag: str) -> "Iterator[XmlElement]":
        """Yield the children of a tag."""
        return (item for item in self.children if item.tag == tag)


def elements_of(content: bytes, source: SourceText, deepest: int = DEEPEST, longest: int = LONGEST) -> XmlElement:
    """Return the root element of a document.

    Args:
        content: the document.
        source: source of the document, for messages.
        deepest: largest number of elements in each other.
        longest: largest number of characters of an attribute's value.

    Raises:
        ModelFileError: the document is no well-formed XML, declares a document type, or is nested too deeply or too
            long.
    """
    parser = expat.ParserCreate()
    top = XmlElement("", {}, 1)
    stack = [top]
    count = 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if len(stack) > deepest or count > MOST:
            raise source.error(line, f"more than {deepest} elements deep, or {MOST} in all: no robot is that large")
        if any(len(value) > longest for value in attributes.values()):
            raise source.error(line, f"<{tag}>: an attribute of more than {longest} characters")
        element = XmlElement(tag, attributes, line, source=source)
        stack[-1].children.append(element)
        stack.append(element)

    def end(_: str) -> None:
        stack.pop()

    def refuse(*_: Any) -> Any:
        raise source.error(
            parser.CurrentLineNumber, "a document type is declared, which could define entities: remove the <!DOCTYPE>"
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: stack[-1].words.append(text)
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(_without_dashes(_declared(content)), True)
    except expat.ExpatError as error:
        raise source.error(error.lineno, f"this is not valid XML: {expat.ErrorString(error.code)}") from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not have
        raise source.error(1, f"this is not valid XML: {error}") from None
    return top.children[0]


def _declared(content: bytes) -> bytes:
    """Return a document whose declaration comes first: XML has no blanks there, but other readers take them."""
    rest = content.lstrip(b" \t\r\n")
    if len(rest) == len(content) or not rest.startswith(b"<?xml") or (end := rest.find(b"?>")) < 0:
        return content
    return rest[: end + 2] + content[: len(content) - len(rest)] + rest[end + 2 :]


def _without_dashes(content: bytes) -> bytes:
    """Return a document whose comments have no dashes: XML has no pairs of them there, but other readers take these."""
    parts, done = [], 0
    while (begin := content.find(b"<!--", done)) >= 0 and (end := content.find(b"-->", begin + 4)) >= 0:
        parts += [content[done : begin + 4], content[begin + 4 : end].replace(b"-", b" ")]
        done = end
    return b"".join([*parts, content[done:]])
