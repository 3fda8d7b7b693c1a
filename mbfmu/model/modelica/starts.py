"""Start values of classes that consist of others: they belong to the joints inside."""

from collections.abc import Collection
from typing import Any

from mbfmu.errors import ModelError
from mbfmu.model.modelica.connections import named
from mbfmu.model.modelica.definitions import Definitions


def handed_down(
    variables: dict[str, Any], definitions: Definitions, made_of: Collection[str], known: Collection[str]
) -> dict[str, Any]:
    """Return variables in which a start that is fixed stands at the component whose variable it is.

    Args:
        variables: the variables of the flat model, by name.
        definitions: its equations: ``x = slide.s`` says that x starts as ``slide.s``.
        made_of: names of the components that consist of others.
        known: names of the components of the library.

    Raises:
        ModelError: both variables have a start that is fixed.
    """
    result = dict(variables)
    for name, item in variables.items():
        if name.rpartition(".")[0] not in made_of or item["variability"] != "Empty" or not any(item["fixed"] or []):
            continue
        # x = inside.x = ... = joint.s
        inner, tree = name, definitions.of(name)
        while tree is not None and (after := named(tree)) in variables and after.rpartition(".")[0] not in known:
            inner, tree = after, definitions.of(after)
        inner = (named(tree) if tree is not None else "") or inner
        owner = inner.rpartition(".")[0]
        if inner == name or owner not in known or variables[inner]["dims"] != item["dims"]:
            continue
        if any(result[inner]["fixed"] or []):
            raise ModelError(f"'{name}' and '{inner}' both have a start that is fixed: leave one out")
        result[inner] = {**result[inner], "start": item["start"], "fixed": item["fixed"]}
        result[name] = {**result[name], "fixed": None}
    return result
