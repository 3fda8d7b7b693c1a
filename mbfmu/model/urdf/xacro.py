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


def first_macro(element: XmlElement) -> XmlElement | None:
    """Return the first element of xacro in an element; None if it is plain URDF, which may name xacro's namespace."""
    if element.tag.startswith(PREFIX):
        return element
    return next((macro for child in element.children if (macro := first_macro(child))), None)


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
