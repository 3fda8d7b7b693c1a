"""Models that an SDF file includes: from folders of packages and of Gazebo, or beside the file."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mbfmu.model.robot.unread import left_out, plugin
from mbfmu.model.robot.xml import XmlElement, elements_of
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.sdf.texts import Texts
from mbfmu.model.source import SourceText, read_bytes
from mbfmu.model.urdf.packages import folders_of

LARGEST = 10_000_000
"""Largest number of bytes of a file."""
PATHS = ("GZ_SIM_RESOURCE_PATH", "SDF_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
"""Environment variables with folders of models."""
OVER = ("pose", "static")
"""Elements of an include that replace those of the model."""
DEFAULT = "1.7"
"""Version of a file that states none."""


def sdf_of(path: Path) -> XmlElement:
    """Return the root element of an SDF file.

    Raises:
        ModelFileError: the file is missing, or is no SDF.
    """
    source = SourceText(str(path), path.parent)
    root = elements_of(read_bytes(path, LARGEST), source)
    if root.tag != "sdf":
        raise source.error(root.line, f"the root of an SDF file is <sdf>, not <{root.tag}>")
    return root


def merges(element: XmlElement) -> bool:
    """Return whether an element includes a model whose links and joints are to be those of the model around it."""
    return element.tag == "include" and element.attributes.get("merge", "false").lower() in {"true", "1"}


def included(reader: Texts, element: XmlElement, options: RobotOptions, main: Path) -> tuple[XmlElement, XmlElement]:
    """Return the model that an include names, with its name and pose there, and the root of its file.

    Args:
        reader: reader of values.
        element: the ``<include>``.
        options: with the folders of packages.
        main: path of the first file.

    Raises:
        ModelFileError: there is no such model, or its file is no SDF.
        ModelError: the include has what is not read.
    """
    list(left_out(reader, element, {"uri", "name", "placement_frame", *OVER}, {"plugin": plugin}))
    uri = reader.text(element, "uri")
    root = sdf_of(_found(reader, element, uri, options, main))
    models = list(root.all("model"))
    if len(models) != 1:
        raise reader.error(element, f"<include>: '{uri}' holds {len(models)} models, not one")
    model = models[0]
    over = [item for item in element.children if item.tag in OVER]
    kept = [item for item in model.children if item.tag not in {item.tag for item in over}]
    attributes = dict(model.attributes)
    if name := reader.text(element, "name", ""):
        attributes["name"] = name
    if frame := reader.text(element, "placement_frame", ""):
        attributes["placement_frame"] = frame
    return replace(model, attributes=attributes, children=[*over, *kept]), root


def _found(reader: Texts, element: XmlElement, uri: str, options: RobotOptions, main: Path) -> Path:
    """Return the path of the file that an include names."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        scheme, rest = "file", uri
    here = element.source.folder if element.source and element.source.folder else main.parent
    name, _, inner = rest.partition("/")
    where = f"name its folder with --package {name}=FOLDER, or the folder around it in {PATHS[0]}"
    folders: Iterator[Path] = iter(())
    if scheme in {"http", "https"}:
        where = "nothing is fetched from the network: download it, write model://NAME, and give --package NAME=FOLDER"
    elif scheme in {"model", "package"}:
        folders = (folder / inner for folder in _folders(name, main, options))
    elif scheme == "file":
        folders, where = iter([here / rest, main.parent / rest]), "it is sought beside the file"
    for path in folders:
        file = _file(path)
        if file is None:
            continue
        if scheme == "file" and not (options.outside or file.resolve().is_relative_to(main.parent.resolve())):
            message = f"<include>: '{uri}' is outside the folder of the model: read it with --allow-outside"
            raise reader.error(element, f"{message} (outside=True), if it may be read")
        return file
    raise reader.error(element, f"<include>: there is no model '{uri}': {where}")


def _folders(name: str, main: Path, options: RobotOptions) -> Iterator[Path]:
    yield from folders_of(name, main, options.packages)
    for variable in PATHS:
        for text in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(text) / name


def _file(path: Path) -> Path | None:
    """Return the file of a model, which may be in its folder, as the last of those that ``model.config`` lists."""
    if path.is_file():
        return path
    config = path / "model.config"
    if config.is_file():
        text = read_bytes(config, LARGEST).decode("utf-8", "replace")
        files = re.findall(r"<sdf(?:\s+version\s*=\s*[\"']([\d.]+)[\"'])?\s*>\s*([^<>]*?)\s*</sdf>", text)
        for _, name in sorted(files, key=lambda item: [int(part) for part in item[0].split(".") if part], reverse=True):
            if (path / name).is_file():
                return path / name
    return next((item for item in (path / "model.sdf",) if item.is_file()), None)
