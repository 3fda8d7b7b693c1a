"""Export recipes: a model, its stepper and its defaults in one .toml file."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mbfmu.errors import ModelFileError, nearest
from mbfmu.model.library import folder

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Recipe:
    """What to export, and how.

    Args:
        model: name or path of the model.
        stepper: name of the stepper; None: the one the model names.
        options: its options.
        step: default of solver.step, s.
        tolerance: default of solver.tolerance.
        stop: default stop time, s.
        values: parameters and start values that differ from the model's.
        coordinates: ``absolute`` or ``joint``; None: joint coordinates if they are fewer.
    """

    model: str
    stepper: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    step: float = 1e-3
    tolerance: float = 0.0
    stop: float = 10.0
    values: dict[str, float] = field(default_factory=dict)
    coordinates: str | None = None


def known_recipes() -> dict[str, Path]:
    """Return the recipes that have a name, by name."""
    return {path.stem: path for path in sorted(folder("fmus").glob("*.toml"))}


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe.

    Raises:
        ModelFileError: the file is missing, does not parse, or says something a recipe has no place for.
    """
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(f"cannot read the recipe '{os.fspath(path)}': {error}") from None
    kinds: dict[str, tuple[type, ...]] = {
        "model": (str,), "stepper": (str,), "options": (dict,), "step": (int, float), "tolerance": (int, float),
        "stop": (int, float),
        "values": (dict,), "coordinates": (str,),
    }  # fmt: skip
    for key, value in data.items():
        if key not in kinds:
            raise ModelFileError(f"recipe '{os.fspath(path)}': there is no '{key}'; {nearest(key, kinds)}")
        if isinstance(value, bool) or not isinstance(value, kinds[key]):
            raise ModelFileError(f"recipe '{os.fspath(path)}': {key} = {value!r} is not a {kinds[key][-1].__name__}")
    if "model" not in data:
        raise ModelFileError(f"recipe '{os.fspath(path)}' names no model")
    return Recipe(**data)
