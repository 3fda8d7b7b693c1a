"""Other names for a Dae's variables."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mbfmu.dae.dae import Dae
from mbfmu.errors import UnknownNameError, nearest


def with_names(dae: Dae, names: Mapping[str, str], driven: frozenset[str]) -> Dae:
    """Return the equations with some variables called otherwise.

    Args:
        dae: the equations.
        names: the full name of each variable that is called otherwise, by its new name.
        driven: names of the inputs that a wire goes to: they may have other names, for wires, but are no variables.

    Raises:
        UnknownNameError: there is no variable of a full name.
    """
    if not names:
        return dae
    groups = (dae.inputs, dae.parameters, dae.bound, dae.outputs, dae.states, dae.start.starts)
    known = [item.name for group in groups for item in group]
    for name, full in names.items():
        if full not in known and full not in driven:
            raise UnknownNameError(
                f"names of '{dae.name}': {name} = '{full}', but there is no such variable; {nearest(full, known)}"
            )
    called = {full: name for name, full in names.items()}

    def renamed(items: Iterable[Any]) -> tuple[Any, ...]:
        result = []
        for item in items:
            changes = {"name": called.get(item.name, item.name)}
            if getattr(item, "derivative_of", None):
                changes["derivative_of"] = called.get(item.derivative_of, item.derivative_of)
            result.append(replace(item, **changes))
        return tuple(result)

    return replace(
        dae,
        inputs=renamed(dae.inputs),
        parameters=renamed(dae.parameters),
        bound=renamed(dae.bound),
        outputs=renamed(dae.outputs),
        states=renamed(dae.states),
        formulas=tuple(called.get(name, name) for name in dae.formulas),
        start=replace(dae.start, starts=renamed(dae.start.starts)),
        about=replace(dae.about, other_names=(*dae.about.other_names, *names.items())),
    )
