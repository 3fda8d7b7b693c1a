"""The table of steppers: one row for each family."""

from collections.abc import Mapping
from typing import Any

from mbfmu.base.extensions import STEPPERS, registered
from mbfmu.dae import Dae
from mbfmu.errors import StepperError, UnknownNameError, nearest
from mbfmu.stepper import (
    baumgarte,
    block_multistep,
    direct,
    gauss,
    generalized_alpha,
    lobatto,
    local,
    moreau,
    nodal_impulse,
    partition,
    projected,
    radau,
    rattle,
)
from mbfmu.stepper.scheme import Choice, Family, Limits, Option, Scheme, option
from mbfmu.stepper.usual import SHARE, Usual, usual_stepper

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
        moreau.FAMILY,
    )
}

__all__ = [
    "FAMILIES",
    "SHARE",
    "Choice",
    "Family",
    "Limits",
    "Option",
    "Scheme",
    "Usual",
    "family_of",
    "make_scheme",
    "named",
    "option",
    "steppers",
    "usual_stepper",
]


def steppers() -> dict[str, Family]:
    """Return the families of steppers by name: those of mbfmu, and those that other installed packages register.

    A family says what it preserves and needs, its order and source, and its options with what is allowed.
    """
    return {**FAMILIES, **registered(STEPPERS, Family, FAMILIES)}


def family_of(name: str) -> Family:
    """Return the family of a name.

    Raises:
        UnknownNameError: there is no such stepper.
    """
    family = FAMILIES.get(name) or (known := steppers()).get(name)  # other packages are asked only if need be
    if family is None:
        raise UnknownNameError(f"there is no stepper '{name}'; {nearest(name, known)}")
    return family


def named(stepper: str | Choice | None, options: Mapping[str, Any] | None) -> tuple[str | None, dict[str, Any]]:
    """Return name and options of a stepper that a user gives by its name and options, or as one object.

    Raises:
        StepperError: it is an object, and options are given beside it.
    """
    chosen = dict(options or {})
    if not isinstance(stepper, Choice):
        return stepper, chosen
    if chosen:
        raise StepperError(f"{stepper!r} has its options already: leave options={chosen} out")
    return stepper.name, stepper.options()


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
    family = family_of(name)
    chosen = {key: item.default for key, item in family.options.items()}
    for key, value in (options or {}).items():
        if key not in family.options:
            raise StepperError(f"stepper '{name}' has no option '{key}'; {nearest(key, family.options)}")
        chosen[key] = family.options[key].checked(name, key, value)
    if dae.states and not family.states:
        able = ", ".join(f"'{item.name}'" for item in FAMILIES.values() if item.states)
        raise StepperError(
            f"stepper '{name}' takes no first-order states, and '{dae.name}' has {dae.n_z}: choose one of {able}"
        )
    if dae.switches and not dae.switching and (reason := dae.switches.by_events):
        names = ", ".join(f"'{item}'" for item in reason)
        raise StepperError(
            f"stepper '{name}' has Newton's restitution and friction alone, and '{dae.name}' has a pull, a strength, "
            f"another impact law, losses of a gear or a one-way clutch ({names}): take a stepper that goes from event "
            "to event, such as 'projected'"
        )
    return family.make(dae, **chosen)
