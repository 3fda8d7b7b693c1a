"""Models in Python: files with a function that returns a model."""

import inspect
import os
import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from mbfmu.errors import MbfmuError, ModelFileError, ValueRangeError
from mbfmu.model import Model
from mbfmu.model.component import Value


def read_python(path: Path, values: dict[str, Value]) -> Model:
    """Return the model of a .py file: what its function of the file's name returns, or its only function.

    Args:
        path: path of the file.
        values: by name; those that are arguments of the function are removed, and given to it.

    Raises:
        ModelFileError: the file or its function fails, or it has no such function; the message names file and line.
    """
    name = f"mbfmu_model_{path.stem}"
    absolute = os.path.abspath(path)  # the form that tracebacks have
    spec = spec_from_file_location(name, path, loader=SourceFileLoader(name, absolute))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
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


def _argument(name: str, value: Value, default: Any) -> Any:
    """Return a value as the type of the argument's default."""
    if isinstance(default, int) and not float(value).is_integer():
        raise ValueRangeError(f"{name} = {value} must be a whole number")
    return type(default)(value) if isinstance(default, int | float) else value
