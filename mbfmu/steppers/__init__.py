"""The table of steppers: one row a family."""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from mbfmu.dae import Equations, Ode
from mbfmu.errors import StepperError, UnknownNameError, nearest
from mbfmu.steppers import (
    baumgarte,
    block,
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
        block.FAMILY,
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
    """Lets `mbfmu.steppers()` be called, though `mbfmu.steppers` is this package."""

    def __call__(self) -> tuple[Family, ...]:
        return steppers()


sys.modules[__name__].__class__ = _Table


def make_scheme(dae: Equations, name: str, options: Mapping[str, Any] | None = None) -> Scheme:
    """Return the stepper of a name, made for a Dae.

    Args:
        dae: the equations.
        name: of the family.
        options: values by name; text is read as the kind of value the option takes.

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
    if not isinstance(dae, Ode):
        return family.make(dae, **chosen)
    if family.make_first_order is None:
        able = ", ".join(f"'{item.name}'" for item in FAMILIES.values() if item.make_first_order)
        raise StepperError(f"stepper '{name}' is for mechanisms, and '{dae.name}' is a block: take {able}")
    return family.make_first_order(dae, **chosen)
