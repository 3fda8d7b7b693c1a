"""Export recipes: a model, its stepper and its defaults in one .toml file."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mbfmu.errors import ModelError, ModelFileError, nearest, reason_of
from mbfmu.model.component import Value
from mbfmu.model.expression import constant, guessed
from mbfmu.model.library import folder, known_models
from mbfmu.model.toml import is_model

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
        values: parameters and start values that differ from the model's, see `System.with_values`.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        fmi: version of FMI, ``2.0`` or ``3.0``.
    """

    model: str
    stepper: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    step: float = 1e-3
    tolerance: float = 0.0
    stop: float = 10.0
    values: dict[str, Value] = field(default_factory=dict)
    coordinates: str | None = None
    fmi: str = "2.0"

    def choices(self) -> dict[str, Any]:
        """Return what `export` takes besides the mechanism, by the names of its arguments."""
        names = ("stepper", "options", "step", "tolerance", "stop", "coordinates", "fmi")
        return {name: getattr(self, name) for name in names}

    def exchanged(self) -> "Recipe":
        """Return the recipe for model exchange, where the master's solver takes the place of the stepper."""
        return replace(self, stepper=None, options={}, tolerance=0.0)

    def changed(self, options: Mapping[str, Any], **choices: Any) -> "Recipe":
        """Return the recipe with choices that go before its own; its options are those of its stepper.

        Args:
            options: of the stepper.
            choices: by the names of the recipe; None: as the recipe says.
        """
        supplied = {name: value for name, value in choices.items() if value is not None}
        kept = self.options if supplied.get("stepper", self.stepper) == self.stepper else {}
        return replace(self, **supplied, options={**kept, **options})


def known_recipes() -> dict[str, Path]:
    """Return the recipes that have a name, by name."""
    return {path.stem: path for path in sorted(folder("fmus").glob("*.toml"))}


def find_recipe(source: str) -> Recipe:
    """Return the recipe of a name or path; a model by itself is a recipe that leaves all else as it is.

    Raises:
        ModelFileError: as of `read_recipe`.
    """
    if source.endswith(".toml"):
        return Recipe(source) if is_model(Path(source)) else read_recipe(source)
    known = known_recipes()
    return read_recipe(known[source]) if source in known and source not in known_models() else Recipe(source)


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe.

    Raises:
        ModelFileError: the file is missing, does not parse, or says something a recipe has no place for.
    """
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(f"cannot read the recipe '{os.fspath(path)}': {reason_of(error)}") from None
    kinds: dict[str, tuple[type, ...]] = {
        "model": (str,), "stepper": (str,), "options": (dict,), "step": (int, float), "tolerance": (int, float),
        "stop": (int, float),
        "values": (dict,), "coordinates": (str,), "fmi": (str,),
    }  # fmt: skip
    for key, value in data.items():
        if key not in kinds:
            raise ModelFileError(f"recipe '{os.fspath(path)}': there is no '{key}'; {nearest(key, kinds)}")
        if isinstance(value, bool) or not isinstance(value, kinds[key]):
            raise ModelFileError(f"recipe '{os.fspath(path)}': {key} = {value!r} is not a {kinds[key][-1].__name__}")
    for key, value in data.get("values", {}).items():
        if isinstance(value, str) and guessed(value) is None:
            try:
                data["values"][key] = constant(value)
            except ModelError as error:
                raise ModelFileError(f"recipe '{os.fspath(path)}': {key} = '{value}': {error}") from None
    if "model" not in data:
        raise ModelFileError(f"recipe '{os.fspath(path)}' names no model")
    return Recipe(**data)
