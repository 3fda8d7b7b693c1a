"""Readers of model files: one row a format, and what other installed packages add."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from mbfmu.base.extensions import READERS as GROUP
from mbfmu.base.extensions import registered
from mbfmu.errors import MbfmuError, ModelFileError, UsageError
from mbfmu.model import Model
from mbfmu.model.source import read_bytes

LARGEST = 30_000_000
"""Largest number of bytes of an XML file whose format its root decides."""
LONGEST = 60
"""Largest number of characters of an unknown root that a message shows."""
OPENING = re.compile(rb"<(?:(!--|\?|!DOCTYPE)|([A-Za-z_][\w.:-]*))")
"""Beginning of an element of XML, or of a comment, an instruction or a document type."""
CLOSING = {b"!--": b"-->", b"?": b"?>", b"!DOCTYPE": b">"}
"""Ends of what is no element, by its beginning."""
SUFFIX = re.compile(r"\.[^./\\:]+")


@dataclass(frozen=True)
class Reader:
    """A file format of models, which another package adds by an entry point.

    Args:
        name: name of the format, such as ``YAML``.
        suffixes: suffixes of its files, in lower case, such as ``(".yaml", ".yml")``; they stand for upper case too.
        read: function of the path of a file that returns its model; an error of the user's raises a `ModelFileError`.
        text: one line that says what such a file holds.

    Raises:
        UsageError: the suffixes are no tuple of texts in lower case that begin with their only dot.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], Model]
    text: str = ""

    def __post_init__(self) -> None:
        fit = isinstance(self.suffixes, tuple) and all(
            isinstance(suffix, str) and SUFFIX.fullmatch(suffix) and suffix.islower() for suffix in self.suffixes
        )
        if not fit or not self.suffixes:
            raise UsageError(f"reader '{self.name}': suffixes = {self.suffixes!r} must be a tuple such as ('.yaml',)")


@dataclass(frozen=True)
class ModelFormat:
    """A file format that mbfmu reads itself; its reader is imported when the first such file is read.

    Args:
        name: name of the format.
        suffixes: suffixes of its files.
        home: module below `mbfmu.model` and name of its reader.
        text: one line that says what such a file holds.
        takes: argument of the reader beside the path: the user's values, the name of one of the file's models, the
            options of robots, or what reads models of the library; empty: none.
        root: tag of the root of its XML, which tells formats with one suffix apart.
        robot: module and name of the reader of its links and joints; empty: it describes no robot.
    """

    name: str
    suffixes: tuple[str, ...]
    home: str
    text: str
    takes: Literal["", "values", "name", "options", "library"] = ""
    root: str = ""
    robot: str = ""

    @property
    def read(self) -> Callable[..., Any]:
        """The reader, a function of the path and of what it takes."""
        return _imported(self.home)

    @property
    def read_robot(self) -> Callable[..., Any]:
        """The reader of links and joints, a function of the path and of the options of robots."""
        return _imported(self.robot)


READERS = (
    ModelFormat("Python", (".py",), "python:read_python", "a function that returns a model", takes="values"),
    ModelFormat("TOML", (".toml",), "toml:read_toml", "a model that is data only", takes="library"),
    ModelFormat("Modelica", (".mo",), "modelica:read_modelica", "models of its multibody library", takes="name"),
    ModelFormat(
        "URDF", (".urdf", ".xacro", ".xml"), "urdf:read_urdf", "a robot of ROS",
        takes="options", root="robot", robot="urdf:read_robot",
    ),
    ModelFormat(
        "SDF", (".sdf", ".xml"), "sdf:read_sdf", "a robot of Gazebo",
        takes="options", root="sdf", robot="sdf:read_robot",
    ),
    ModelFormat(
        "MJCF", (".xml", ".mjcf"), "mjcf:read_mjcf", "a robot of MuJoCo",
        takes="options", root="mujoco", robot="mjcf:read_robot",
    ),
)  # fmt: skip
"""Formats that mbfmu reads itself; the last one is that of an XML file without any element."""
SUFFIXES = tuple(dict.fromkeys(suffix for row in READERS for suffix in row.suffixes))
"""Suffixes of model files; if two files in models/ have the same name, the first of these suffixes counts."""
ROBOTS = tuple(dict.fromkeys(suffix for row in READERS if row.robot for suffix in row.suffixes))
"""Suffixes of the files that describe robots."""


def other_readers() -> Mapping[str, Reader]:
    """Return the readers that other installed packages register, by suffix."""
    return registered(GROUP, Reader, SUFFIXES, lambda reader: reader.suffixes)


def format_of(path: Path) -> ModelFormat | None:
    """Return the format of mbfmu that a file has by its suffix, and by the root of its XML if several have the suffix.

    Args:
        path: path of the file.

    Returns:
        The format; None: no format of mbfmu has this suffix.

    Raises:
        ModelFileError: the root of the file is known to none of the formats with its suffix, or it cannot be read.
    """
    rows = [row for row in READERS if path.suffix.lower() in row.suffixes]
    if len(rows) < 2:
        return rows[0] if rows else None
    root = _root_of(read_bytes(path, LARGEST)) or rows[-1].root
    by_root = {row.root: row for row in rows}
    if root not in by_root:
        roots = joined([f"<{name}>" for name in sorted(by_root)])
        raise ModelFileError(f"'{path}': the root of a robot's file is {roots}, not <{root[:LONGEST]}>")
    return by_root[root]


def _root_of(content: bytes) -> str:
    """Return the tag of the first element of an XML file; empty if there is none."""
    position = 0
    while match := OPENING.search(content, position):
        if match[2]:
            return match[2].decode()
        end = CLOSING[match[1]]
        position = content.find(end, match.end()) + len(end)
        if position < match.end():  # it does not end
            break
    return ""


def read_other(path: Path) -> Model:
    """Read a file by the reader that another installed package registers for its suffix.

    Args:
        path: path of the file.

    Raises:
        ModelFileError: no package reads files with this suffix, the reader fails, or does not return a model.
    """
    readers, suffix = other_readers(), path.suffix.lower()
    if suffix not in readers:
        raise ModelFileError(f"'{path}': a model file ends in {joined([*SUFFIXES, *readers])}")
    reader = readers[suffix]
    try:
        model = reader.read(path)
    except MbfmuError:
        raise
    except Exception as error:  # noqa: BLE001 - any error in another package becomes one clear line
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ModelFileError(f"'{path}': the reader of {reader.name} fails with {reason}") from None
    if not isinstance(model, Model):
        raise ModelFileError(f"'{path}': the reader of {reader.name} returned a {type(model).__name__}, not a model")
    return model


def joined(names: list[str]) -> str:
    """Return names as the list of a sentence: ``a, b or c``."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _imported(home: str) -> Callable[..., Any]:
    module, _, name = home.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"mbfmu.model.{module}"), name)
    return function
