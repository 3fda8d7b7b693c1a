"""The table of steppers: one row for each family."""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from mbfmu.dae import Dae
from mbfmu.errors import StepperError, UnknownNameError, nearest
from mbfmu.steppers import (
    baumgarte,
    block_multistep,
    direct,
    gauss,
    generalized_alpha,
    lobatto,
    local,
    nodal_impulse,
    partition,
    projected,
    radau,
    rattle,
)
from mbfmu.steppers.scheme import Family, Option, Scheme

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        direct.FAMILY,
        baumgarte.FAMILY,
        partition.FAMILY,
        projected.FAMILY,
        local.FAMILY,
        block_multistep.FAMILY,
        gauss.FAMILY,
        nodal_impulse.FAMILY,
        rattle.FAMILY,
        generalized_alpha.FAMILY,
        radau.FAMILY,
        lobatto.FAMILY,
    )
}

__all__ = ["FAMILIES", "Family", "Option", "Scheme", "make_scheme", "steppers"]


def steppers() -> tuple[Family, ...]:
    """Return the table of steppers."""
    return tuple(FAMILIES.values())


class _Table(ModuleType):
    """A module that can be called, as `mbfmu.steppers()` is a function and `mbfmu.steppers` this package."""

    def __call__(self) -> tuple[Family, ...]:
        return steppers()


sys.modules[__name__].__class__ = _Table


def make_scheme(dae: Dae, name: str, options: Mapping[str, Any] | None = None) -> Scheme:
    """Return the stepper of a name, made for a Dae.

    Args:
        dae: the equations.
        name: name of the family.
        options: values by name; a text is converted to the type of the option's value.

    Raises:
        UnknownNameError: there is no such stepper.
        StepperError: there is no such option or choice, or the stepper cannot take the model.
    """
    if name not in FAMILIES:
        raise UnknownNameError(f"there is no stepper '{name}'; {nearest(name, FAMILIES)}")
    family = FAMILIES[name]
    chosen = {key: option.default for key, option in family.options.items()}
    for key, value in (options or {}).items():
        if key not in family.options:
            raise StepperError(f"stepper '{name}' has no option '{key}'; {nearest(key, family.options)}")
        try:
            chosen[key] = family.options[key].read(value)
        except (KeyError, ValueError):
            allowed = family.options[key].allowed
            raise StepperError(f"stepper '{name}': {key}={value} is not allowed; allowed: {allowed}") from None
    if dae.states and not family.states:
        able = ", ".join(f"'{item.name}'" for item in FAMILIES.values() if item.states)
        raise StepperError(
            f"stepper '{name}' takes no first-order states, and '{dae.name}' has {dae.n_z}: choose one of {able}"
        )
    return family.make(dae, **chosen)
