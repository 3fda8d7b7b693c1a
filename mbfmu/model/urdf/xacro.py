"""Xacro -> URDF, by the reader `xacro` where it is installed."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mbfmu.base import extras
from mbfmu.errors import MbfmuError, ModelFileError
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.source import SourceText
from mbfmu.model.urdf.packages import folders_of

PREFIX = "xacro:"


def first_macro(element: XmlElement) -> XmlElement | None:
    """Return the first element of xacro in an element; None if it is plain URDF, which may name xacro's namespace."""
    if element.tag.startswith(PREFIX):
        return element
    return next((macro for child in element.children if (macro := first_macro(child))), None)


def expanded(path: Path, source: SourceText, macro: XmlElement, options: RobotOptions) -> bytes:
    """Return the URDF of a xacro file.

    Args:
        path: path of the file.
        source: the same file, for messages.
        macro: its first element of xacro.
        options: with the folders of packages.

    Raises:
        ModelFileError: the reader is not installed, or it refuses the file.
    """
    try:
        import xacro
        from xacro import substitution_args
    except ImportError:
        message = f"<{macro.tag}> is xacro, which needs its reader: {extras.command('xacro')}, or run"
        raise source.error(macro.line, f"{message} `xacro {path.name} > {path.name.partition('.')[0]}.urdf`") from None

    def find(package: str) -> str:
        for folder in folders_of(package, path, options.packages):
            if folder.is_dir():
                return str(folder)
        raise ModelFileError(f"$(find {package}): give the package's folder with --package {package}=FOLDER")

    said = io.StringIO()
    try:
        with _finding(substitution_args, find), contextlib.redirect_stderr(said):
            return bytes(xacro.process_file(str(path)).toprettyxml(indent="  ", encoding="utf-8"))
    except Exception as error:  # noqa: BLE001 - macros raise any kind of error
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, MbfmuError):
            cause = cause.__context__  # the reader wraps errors, and its text repeats them
        raise source.error(1, cause or f"xacro: {str(error) or type(error).__name__}") from None


@contextlib.contextmanager
def _finding(module: Any, find: Any) -> Iterator[None]:
    """Make the reader look for packages with a function; by itself it asks ROS, which may be missing."""
    before, known = module._eval_find, dict(module._eval_dict)
    module._eval_find = module._eval_dict["find"] = find
    try:
        yield
    finally:
        module._eval_find = before
        module._eval_dict.update(known)
