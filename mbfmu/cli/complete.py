"""Completion by a shell on Tab: names from the tables of models, recipes and steppers, and names inside a model."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from mbfmu.errors import MbfmuError

if TYPE_CHECKING:
    from mbfmu.model import Model
    from mbfmu.stepper import Family


def models() -> list[str]:
    """Return the names of the models in models/."""
    from mbfmu.model.library import known_models

    return list(known_models())


def exported() -> list[str]:
    """Return the names of the models in models/ and of the recipes in fmus/."""
    from mbfmu.fmu.recipe import known_recipes

    return [*models(), *known_recipes()]


def steppers() -> list[str]:
    """Return the steppers."""
    return list(_families())


def stepper_list(incomplete: str) -> list[str]:
    """Return comma-separated steppers: the text typed so far, with each stepper that may come next."""
    typed, comma, _ = incomplete.rpartition(",")
    return [f"{typed}{comma}{name}" for name in steppers()]


def options(context: typer.Context) -> list[tuple[str, str]]:
    """Return the options of the stepper named before, as KEY=VALUE if an option has choices."""
    family = _families().get(context.params.get("stepper") or "")
    return [
        (f"{key}={choice}", option.text)
        for key, option in (family.options if family else {}).items()
        for choice in option.choices or ("",)
    ]


def values(context: typer.Context) -> list[str]:
    """Return the parameters and start values of the model named before."""
    return _of_model(context, lambda model: [f"{name}=" for name in model.values()])


def start_values(context: typer.Context) -> list[str]:
    """Return the start values of the model named before."""
    return _of_model(context, lambda model: list(model.start_values()))


def inputs(context: typer.Context) -> list[str]:
    """Return the inputs of the model named before."""
    from mbfmu.dae import derive

    return _of_model(context, lambda model: [f"{item.name}=" for item in derive(model).inputs])


def input_names(context: typer.Context) -> list[str]:
    """Return the names of the inputs of the model named before."""
    return [name.removesuffix("=") for name in inputs(context)]


def outputs(context: typer.Context) -> list[str]:
    """Return the outputs of the model named before."""
    from mbfmu.dae import derive

    return _of_model(context, lambda model: [item.name for item in derive(model).outputs])


def frames(context: typer.Context) -> list[str]:
    """Return the parts, and the frames of parts, whose positions are outputs of the model named before."""
    end = ".r_0[1]"
    return [name.removesuffix(end) for name in outputs(context) if name.endswith(end)]


def held(context: typer.Context) -> list[str]:
    """Return the outputs and inputs of the model named before."""
    from mbfmu.dae import derive

    def names(model: "Model") -> list[str]:
        dae = derive(model)
        return [f"{item.name}=" for item in (*dae.outputs, *dae.inputs)]

    return _of_model(context, names)


def locus_names(context: typer.Context) -> list[str]:
    """Return the parameters, inputs and outputs of the model named before."""
    names = dict.fromkeys([*(f"{name}=" for name in inputs_and_parameters(context)), *held(context)])
    return list(names)


def inputs_and_parameters(context: typer.Context) -> list[str]:
    """Return the inputs and parameters of the model named before."""
    from mbfmu.dae import derive

    def names(model: "Model") -> list[str]:
        dae = derive(model)
        return [*(item.name for item in dae.inputs), *(item.name for item in dae.parameters)]

    return _of_model(context, names)


def shown_list(context: typer.Context, incomplete: str) -> list[str]:
    """Return comma-separated outputs: the text typed so far, with each output that may come next."""
    typed, comma, _ = incomplete.rpartition(",")
    return [f"{typed}{comma}{name}" for name in outputs(context)]


def display_units(incomplete: str) -> list[str]:
    """Return comma-separated display units: the text typed so far, with each unit that may come next."""
    from mbfmu.base.units import DISPLAYED

    typed, comma, _ = incomplete.rpartition(",")
    return [f"{typed}{comma}{name}" for name in DISPLAYED]


def coordinates(context: typer.Context, incomplete: str) -> list[str]:
    """Return the kinds of coordinates; after a colon, with each name of the model named before that may come next."""
    from mbfmu.dae.choice import KINDS, choosable
    from mbfmu.model import flatten
    from mbfmu.model.system import System

    kind, colon, typed = incomplete.partition(":")
    if not colon:
        return list(KINDS)
    before = typed[: typed.rfind(",") + 1]

    def names(model: "Model") -> list[str]:
        choices = choosable(flatten(model), kind) if isinstance(model, System) else ()
        return [f"{kind}:{before}{name}" for name in choices]

    return _of_model(context, names)


def backends() -> list[str]:
    """Return the back ends of an export."""
    from mbfmu.fmu.export import PLATFORMS

    return list(PLATFORMS)


def versions() -> list[str]:
    """Return the versions of FMI."""
    from mbfmu.fmu.native import VERSIONS

    return list(VERSIONS)


def kinds() -> list[str]:
    """Return the kinds of an FMU."""
    from mbfmu.fmu.export import KINDS

    return list(KINDS)


def platforms(context: typer.Context) -> list[str]:
    """Return the platforms that the back end named before can be exported for."""
    from mbfmu.fmu.export import PLATFORMS

    return [*PLATFORMS.get(context.params.get("backend") or "python", ()), "all"]


def rules() -> list[tuple[str, str]]:
    """Return the rules of the check with their claims."""
    from mbfmu.checker import RULES

    return [(rule.name, rule.claim) for rule in RULES]


def upward() -> list[str]:
    """Return the axes that can point upwards."""
    from mbfmu.show.viewer.motion import UPWARD

    return list(UPWARD)


def _families() -> "dict[str, Family]":
    """Return the table of steppers; a warning has no place behind a prompt."""
    import mbfmu

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mbfmu.steppers()


def _of_model(context: typer.Context, read: "Callable[[Model], list[str]]") -> list[str]:
    """Return texts read from the model named before; none if there is no such model, or it is invalid."""
    from mbfmu.model.library import load

    named = context.params.get("model") or next(
        iter(context.args), None
    )  # Click leaves it there before an unfinished option
    try:
        return read(load(named)) if named else []
    except MbfmuError:
        return []
