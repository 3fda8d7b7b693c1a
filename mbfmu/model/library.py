"""Finding and reading model files: by path, or by name in models/."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mbfmu.base.arguments import checked
from mbfmu.errors import ModelFileError, UnknownNameError, nearest
from mbfmu.model import Model
from mbfmu.model.readers import SUFFIXES, format_of, read_other
from mbfmu.model.robot_files import read_robot
from mbfmu.model.robot_options import RobotOptions

PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """Return a folder of data, ``models`` or ``fmus``: beside the package in a checkout, else inside the wheel."""
    beside = PACKAGE.parent / name
    return beside if (PACKAGE.parent / "pyproject.toml").is_file() and beside.is_dir() else PACKAGE / "data" / name


def known_models() -> dict[str, Path]:
    """Return the files of the models that can be read by name, by that name."""
    files: dict[str, Path] = {}
    for suffix in SUFFIXES:
        for path in folder("models").glob(f"*{suffix}"):
            if not path.stem.startswith("_"):
                files.setdefault(path.stem, path)
    return dict(sorted(files.items()))


@checked
def load(
    source: str | os.PathLike[str],
    values: Mapping[str, Any] | None = None,
    free: Iterable[str] = (),
    robot: RobotOptions | None = None,
) -> Model:
    """Read a mechanism or a block.

    Args:
        source: name of a file in models/, or path of a file: a .py file with a function of the file's name (or with a
            single function) that returns a `System`, a `LagrangianSystem` or a `Block`; a .toml file, which is data
            only (`docs/toml.md`); a .mo file of Modelica's multibody library, whose last model is read, or with
            ``FILE.mo:NAME`` the one named; the description of a robot: a .urdf or .xacro file, an .sdf file, or
            the .xml file of MuJoCo, MJCF; or a file that another installed package reads (`docs/plugins.md`).
        values: by name, arguments of the .py file's function, such as a number of links, and parameters and start
            values of the model.
        free: names of start values that are only where the search begins, see `System.with_values`.
        robot: how the description of a robot is to be read, a `RobotOptions`.

    Raises:
        UnknownNameError: there is no model of that name, or a name in `values` does not exist in it.
        UsageError: `robot` is given, and the model is no description of a robot.
        ModelFileError: the file is missing, does not parse, or does not give a model.
        ModelError: the model is invalid.
    """
    left = dict(values or {})
    system = _read(source, left, robot)
    free = tuple(free)
    return system.with_values(left, free) if left or free else system


def model_of(model: Model | str | os.PathLike[str], values: Mapping[str, Any] | None = None) -> Model:
    """Return the model that a user gives: itself, or as `load` reads it.

    Args:
        model: a model, a name in models/, or the path of a model file.
        values: parameters and start values by name, and arguments of a .py file's function.

    Raises:
        MbfmuError: see `load`.
    """
    return model.with_values(values or {}) if isinstance(model, Model) else load(model, values)


def is_fmu(source: Any) -> bool:
    """Return whether what a user gives is the path of an .fmu file."""
    return isinstance(source, str | os.PathLike) and Path(source).suffix == ".fmu"


def _read(source: str | os.PathLike[str], values: dict[str, Any], robot: RobotOptions | None) -> Model:
    """Read a model, and remove from `values` those that its function takes."""
    text, modelica, name = os.fspath(source).partition(".mo:")
    text += modelica.removesuffix(":")
    path = Path(text)
    looks_like_path = path.suffix != "" or os.sep in text
    if not looks_like_path:
        known = known_models()
        if text not in known:
            raise UnknownNameError(f"there is no model '{text}'; {nearest(text, known)}")
        path = known[text]
    if not os.path.isfile(path):
        raise ModelFileError(f"there is no model file '{path}'")
    if robot is not None:
        return read_robot(path, robot)
    row = format_of(path)
    if row is None:
        return read_other(path)
    taken: dict[str, tuple[Any, ...]] = {
        "": (),
        "values": (values,),
        "name": (name,),
        "options": (),
        "library": (load,),
    }
    model: Model = row.read(path, *taken[row.takes])
    return model
