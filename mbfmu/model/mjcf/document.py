"""MJCF file -> elements, with the files it includes in their places."""

from dataclasses import replace
from pathlib import Path

from mbfmu.errors import ModelFileError
from mbfmu.model.robot.xml import XmlElement, elements_of
from mbfmu.model.source import SourceText, read_bytes

LARGEST = 30_000_000
"""Largest number of bytes of a file."""
DEEPEST, LONGEST = 400, 5_000_000
"""Largest number of elements in each other, and of characters of an attribute, such as the vertices of a mesh."""


def read_document(path: Path) -> XmlElement:
    """Return the root element of an MJCF file.

    Args:
        path: path of the file; those it includes are sought beside it, and beside the file that includes them.

    Raises:
        ModelFileError: a file is missing, is no XML, is included twice, or its root is not ``<mujoco>``.
    """
    seen: set[Path] = set()
    root = _root(path, seen)
    if root.tag != "mujoco":
        raise _error(root, f"the root of an MJCF file is <mujoco>, not <{root.tag}>")
    return replace(root, children=_expanded(root, path.parent, seen))


def _root(path: Path, seen: set[Path]) -> XmlElement:
    seen.add(path.resolve())
    return elements_of(read_bytes(path, LARGEST), SourceText(str(path), path.parent), DEEPEST, LONGEST)


def _expanded(element: XmlElement, main: Path, seen: set[Path]) -> list[XmlElement]:
    """Return the children of an element, with included files in their places."""
    children: list[XmlElement] = []
    for child in element.children:
        if child.tag != "include":
            children.append(replace(child, children=_expanded(child, main, seen)))
            continue
        name = child.attributes.get("file", "")
        if not name:
            raise _error(child, 'an <include> needs file="..."')
        beside = child.source.folder if child.source and child.source.folder else main
        path = next((folder / name for folder in (main, beside) if (folder / name).is_file()), None)
        if path is None:
            raise _error(child, f"<include>: there is no file '{name}' in '{main}'")
        if path.resolve() in seen:
            raise _error(child, f"<include>: '{name}' is included twice: a file may be included once")
        children += _expanded(_root(path, seen), main, seen)
    return children


def _error(element: XmlElement, message: str) -> Exception:
    return element.source.error(element.line, message) if element.source else ModelFileError(message)
