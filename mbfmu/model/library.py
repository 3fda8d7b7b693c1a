"""Finding and reading model files: by path, or by name in models/."""

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mbfmu.base.arguments import checked
from mbfmu.errors import MbfmuError, ModelFileError, UnknownNameError, UsageError, ValueRangeError, nearest
from mbfmu.model import Model
from mbfmu.model.component import Value
from mbfmu.model.robot_files import ROBOTS, read_robot
from mbfmu.model.robot_options import RobotOptions

PACKAGE = Path(__file__).resolve().parents[1]
SUFFIXES = (".py", ".toml", ".urdf")
"""Suffixes of model files; if two files have the same name, the first of these suffixes counts."""


def folder(name: str) -> Path:
    """Return a folder of data, ``models`` or ``fmus``: beside the package in a checkout, else inside the wheel."""
    beside = PACKAGE.parent / name
    return beside if (PACKAGE.parent / "pyproject.toml").is_file() and beside.is_dir() else PACKAGE / "data" / name


def known_models() -> dict[str, Path]:
    """Return the files of the models that can be read by name, by that name."""
    found: dict[str, Path] = {}
    for suffix in SUFFIXES:
        for path in folder("models").glob(f"*{suffix}"):
            if not path.stem.startswith("_"):
                found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


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
            ``FILE.mo:NAME`` the one named; or the description of a robot: a .urdf or .xacro file, or the
            .xml file of MuJoCo, MJCF.
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
    given = dict(values or {})
    system = _read(source, given, robot)
    free = tuple(free)
    return system.with_values(given, free) if given or free else system


def model_of(given: Model | str | os.PathLike[str], values: Mapping[str, Any] | None = None) -> Model:
    """Return the model that a user gives: itself, or as `load` reads it.

    Args:
        given: a model, a name in models/, or the path of a model file.
        values: parameters and start values by name, and arguments of a .py file's function.

    Raises:
        MbfmuError: see `load`.
    """
    return given.with_values(values or {}) if isinstance(given, Model) else load(given, values)


def is_fmu(given: Any) -> bool:
    """Return whether what a user gives is the path of an .fmu file."""
    return isinstance(given, str | os.PathLike) and Path(given).suffix == ".fmu"


def _read(source: str | os.PathLike[str], values: dict[str, Any], robot: RobotOptions | None) -> Model:
    """Read a model, and remove from `values` those that its function takes."""
    text, modelica, chosen = os.fspath(source).partition(".mo:")
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
    if robot is not None and path.suffix not in ROBOTS:
        raise UsageError(f"'{path}' is no robot's description: options of robots go with {', '.join(ROBOTS)} files")
    match path.suffix:
        case ".py":
            return _from_python(path, values)
        case ".toml":
            from mbfmu.model.toml import read_toml

            return read_toml(path)
        case suffix if suffix in ROBOTS:
            return read_robot(path, robot)
        case ".mo":
            from mbfmu.model.modelica import read_modelica

            return read_modelica(path, chosen)
    raise ModelFileError(f"'{path}': a model file ends in .py, .toml, .mo, .urdf, .xacro, .sdf, .xml or .mjcf")


def _argument(name: str, value: Value, default: Any) -> Any:
    """Return a value as the type of the argument's default."""
    if isinstance(default, int) and not float(value).is_integer():
        raise ValueRangeError(f"{name} = {value} must be a whole number")
    return type(default)(value) if isinstance(default, int | float) else value


def _from_python(path: Path, values: dict[str, Value]) -> Model:
    name = f"mbfmu_model_{path.stem}"
    absolute = os.path.abspath(path)  # the form that tracebacks have
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses in the file look up their module
    try:
        spec.loader.exec_module(module)
        functions = {
            key: item
            for key, item in vars(module).items()
            if callable(item) and getattr(item, "__module__", "") == name and not isinstance(item, type)
        }
        make = functions.get(path.stem) or (next(iter(functions.values())) if len(functions) == 1 else None)
        if make is None:
            raise ModelFileError(f"'{path}' needs a function '{path.stem}()' that returns a System")
        wanted = inspect.signature(make).parameters
        structure = {key: _argument(key, values.pop(key), wanted[key].default) for key in list(values) if key in wanted}
        system = make(**structure)
    except MbfmuError:
        raise
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise ModelFileError(f"'{path}'{where}: {error.msg}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any error in a user's file becomes one clear line
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == absolute]
        where = f", line {lines[-1]}" if lines else ""
        raise ModelFileError(f"'{path}'{where}: {type(error).__name__}: {' '.join(str(error).split())}") from None
    finally:
        sys.modules.pop(name, None)
    if not isinstance(system, Model):
        raise ModelFileError(f"'{path}': {path.stem}() gave a {type(system).__name__}, not a System")
    return system
