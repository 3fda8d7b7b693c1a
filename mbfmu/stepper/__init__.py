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
from mbfmu.stepper.scheme import Choice, Family, Option, Scheme, option, states_beside_motion

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

Usual = tuple[str, str]
"""A stepper that is taken if none is named, with the reason."""

__all__ = [
    "FAMILIES",
    "Choice",
    "Family",
    "Option",
    "Scheme",
    "family_of",
    "make_scheme",
    "named",
    "option",
    "steppers",
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
    given = dict(options or {})
    if not isinstance(stepper, Choice):
        return stepper, given
    if given:
        raise StepperError(f"{stepper!r} has its options already: leave options={given} out")
    return stepper.name, stepper.options()


def usual_stepper(dae: Dae) -> Usual:
    """Return the name of the stepper that suits the structure of a model, with the reason."""
    if not dae.n:
        return "radau", "a block of first-order equations may be stiff, and radau damps what the step cannot resolve"
    if states_beside_motion(dae):
        return "radau", "first-order states beside a motion may be stiff, and radau damps what the step cannot resolve"
    if dae.switches and dae.switches.undetermined:
        return "moreau", "several frictions in space need not have unique forces, and moreau steps with any of them"
    if dae.k:
        return "projected", "the constraints are nonholonomic, and projected keeps them to round-off at the least cost"
    if dae.switching:
        return "projected", (
            "what hits, sticks and stops is met as exactly as the motion between its events, and projected is the most "
            "accurate at its cost; if springs or dampers are stiff for the step, take rattle or radau"
        )
    if not dae.resisting:
        return "projected", "no spring, damper or the like can be stiff, and projected is the most accurate at its cost"
    return "rattle", (
        "rattle takes springs, dampers and the like that are stiff for the step; if they are not, projected is more "
        "accurate at less cost (see mbfmu compare)"
    )


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
    if dae.switches and not dae.switching and (found := dae.switches.by_events):
        names = ", ".join(f"'{item}'" for item in found)
        raise StepperError(
            f"stepper '{name}' has Newton's restitution and friction alone, and '{dae.name}' has a pull, a strength or "
            f"another impact law ({names}): take a stepper that goes from event to event, such as 'projected'"
        )
    return family.make(dae, **chosen)
