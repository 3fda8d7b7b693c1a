"""Xacro -> URDF, by the reader `xacro` where it is installed."""

import os
from importlib.util import find_spec
from pathlib import Path

from mbfmu.base import extras
from mbfmu.model.apart import run_apart
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.source import SourceText

PREFIX = "xacro:"
WORDS = {"macro", "include", "property", "arg", "if", "unless", "insert_block", "call", "attribute", "element"}
"""Elements of xacro itself; others call macros."""


def first_macro(element: XmlElement) -> XmlElement | None:
    """Return the first element of xacro in an element; None if it is plain URDF, which may name xacro's namespace."""
    if element.tag.startswith(PREFIX):
        return element
    return next((macro for child in element.children if (macro := first_macro(child))), None)


def left_over(root: XmlElement) -> bool:
    """Return whether all that a URDF has of xacro are empty calls of macros, none of which it defines or includes.

    No reader can expand them; those of URDF leave them out.
    """
    if root.tag.startswith(PREFIX):
        return not root.children and root.tag.removeprefix(PREFIX) not in WORDS
    return "${" not in "".join(root.attributes.values()) and all(map(left_over, root.children))


def expanded(path: Path, source: SourceText, macro: XmlElement, options: RobotOptions, largest: int) -> bytes:
    """Return the URDF of a xacro file.

    Args:
        path: path of the file.
        source: the same file, for messages.
        macro: its first element of xacro.
        options: with the folders of packages and the arguments.
        largest: largest number of characters of the URDF.

    Raises:
        ModelFileError: the reader is not installed, it rejects the file, or it takes too long for it.
    """
    if find_spec("xacro") is None:
        message = f"<{macro.tag}> is xacro, which needs its reader: {extras.command('xacro')}, or run"
        raise source.error(macro.line, f"{message} `xacro {path.name} > {path.name.partition('.')[0]}.urdf`")
    packages = {name: os.path.abspath(folder) for name, folder in options.packages.items()}
    job = {
        "path": str(path),
        "packages": packages,
        "arguments": dict(options.arguments),
        "folder": os.getcwd(),
        "largest": largest,
    }
    outcome = run_apart("mbfmu.model.urdf.expand", job, source, "xacro")
    if "mistake" in outcome:
        raise source.error(1, str(outcome["mistake"]))
    return str(outcome["urdf"]).encode()
