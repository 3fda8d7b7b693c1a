"""Classes that a model uses from other files of the package that it stands in."""

import re
from pathlib import Path

from mbfmu.errors import ModelError
from mbfmu.model.modelica.library import CLASSES
from mbfmu.model.modelica.stubs import WRITTEN
from mbfmu.model.source import SourceText, read_bytes

NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
WITHIN = re.compile(r"\s*within\b[\s\w.]*;", re.ASCII)
LARGEST = 1_000_000
"""Largest number of bytes of all files together."""


def classes_beside(code: str, home: str, source: SourceText) -> dict[str, str]:
    """Return the text of the classes that a text uses from other files of its package, and so on, by full name.

    A class ``A.B.C`` is looked for in the folder of the package ``A.B``, as Modelica does: first from the package that
    the text stands in, then from those around it. Classes of Modelica's library that mbfmu has itself are left out, and
    all others of it but its examples.

    Args:
        code: the text without comments and strings.
        home: path of the package that it stands in.
        source: its file.

    Raises:
        ModelError: they are too large together.
    """
    classes: dict[str, str] = {}
    todo = [(code, home, source.folder or Path())]
    size = 0
    while todo:
        text, package, folder = todo.pop()
        around = _packages(package, folder)
        for name in dict.fromkeys(NAME.findall(text)):
            full, file = _file(name, around)
            if file is None or full in classes or not _is_read(full):
                continue
            content = read_bytes(file, LARGEST).decode("utf-8", "replace")
            size += len(content)
            if size > LARGEST:
                raise source.error(1, ModelError(f"the classes that it uses have more than {LARGEST} bytes"))
            inner = WITHIN.match(content)
            classes[full] = content[inner.end() :] if inner else content
            todo.append((classes[full], full.rpartition(".")[0], file.parent))
    return classes


def _packages(package: str, folder: Path) -> list[tuple[str, Path]]:
    """Return the packages around a file, from the one that it stands in, each with its folder."""
    around = []
    while package and (folder / "package.mo").is_file() and folder.name == package.rpartition(".")[2]:
        around.append((package, folder))
        package, folder = package.rpartition(".")[0], folder.parent
    return around


def _file(name: str, around: list[tuple[str, Path]]) -> tuple[str, Path | None]:
    """Return the full name and the file of a class, None if it is in no file of these packages."""
    for package, folder in around:
        file = folder.joinpath(*name.split(".")).with_suffix(".mo")
        if file.is_file() and file.name != "package.mo":
            return f"{package}.{name}", file
    if around:
        root, folder = around[-1]
        file = folder.parent.joinpath(*name.split(".")).with_suffix(".mo")
        if name.startswith(f"{root}.") and file.is_file():
            return name, file
    return "", None


def _is_read(full: str) -> bool:
    """Return whether a class is one that its own file says."""
    standard = full.startswith(("Modelica.", "PlanarMechanics.")) and ".Examples." not in full
    return not standard and full not in CLASSES and full not in WRITTEN
