"""MJCF file -> elements, with the files it includes in their places."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from mbfmu.errors import ModelFileError
from mbfmu.model.robot.xml import MOST, XmlElement, elements_of
from mbfmu.model.source import SourceText, read_bytes

LARGEST = 30_000_000
"""Largest number of bytes of a file."""
DEEPEST, LONGEST = 400, 5_000_000
"""Largest number of elements in each other, and of characters of an attribute, such as the vertices of a mesh."""


def read_document(path: Path, outside: bool = False) -> XmlElement:
    """Return the root element of an MJCF file.

    Args:
        path: path of the file; those it includes are sought beside it, and beside the file that includes them.
        outside: whether files outside the folder of the file may be included.

    Raises:
        ModelFileError: a file is missing, is no XML, is outside, is included twice, or its root is not ``<mujoco>``; or
            all files together are nested too deeply or too long.
    """
    inclusion = _Inclusion(path, outside)
    root = inclusion.root(path)
    if root.tag != "mujoco":
        raise _error(root, f"the root of an MJCF file is <mujoco>, not <{root.tag}>")
    return replace(root, children=inclusion.expanded(root, 1))


@dataclass
class _Inclusion:
    """The inclusion of files in a file.

    Args:
        path: path of the file.
        outside: whether files outside its folder may be included.
        seen: files that are included already.
        count: number of elements so far.
    """

    path: Path
    outside: bool
    seen: set[Path] = field(default_factory=set)
    count: int = 0

    def root(self, path: Path) -> XmlElement:
        """Return the root element of a file."""
        self.seen.add(path.resolve())
        return elements_of(read_bytes(path, LARGEST), SourceText(str(path), path.parent), DEEPEST, LONGEST)

    def expanded(self, element: XmlElement, depth: int) -> list[XmlElement]:
        """Return the children of an element, with included files in their places."""
        children: list[XmlElement] = []
        for child in element.children:
            self.count += 1
            if depth > DEEPEST or self.count > MOST:
                message = f"more than {DEEPEST} elements deep, or {MOST} in all files: no robot is that large"
                raise _error(child, message)
            if child.tag == "include":
                children += self.expanded(self.root(self.found(child)), depth + 1)
            else:
                children.append(replace(child, children=self.expanded(child, depth + 1)))
        return children

    def found(self, element: XmlElement) -> Path:
        """Return the path of the file that an element includes."""
        name, main = element.attributes.get("file", ""), self.path.parent
        if not name:
            raise _error(element, 'an <include> needs file="..."')
        beside = element.source.folder if element.source and element.source.folder else main
        path = next((folder / name for folder in (main, beside) if (folder / name).is_file()), None)
        if path is None:
            raise _error(element, f"<include>: there is no file '{name}' in '{main}'")
        whole = path.resolve()
        if not (
            self.outside or any(whole.is_relative_to(item) for item in (main.resolve(), self.path.resolve().parent))
        ):
            message = f"<include>: '{name}' is outside the folder of the model: read it with --allow-outside"
            raise _error(element, f"{message} (outside=True), if it may be read")
        if whole in self.seen:
            raise _error(element, f"<include>: '{name}' is included twice: a file may be included once")
        return path


def _error(element: XmlElement, message: str) -> Exception:
    return element.source.error(element.line, message) if element.source else ModelFileError(message)
