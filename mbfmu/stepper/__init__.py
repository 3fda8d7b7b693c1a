"""The table of steppers: one row for each family."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from mbfmu.base.extensions import STEPPERS, registered
from mbfmu.dae import Dae
from mbfmu.dae.vibration import Rates, fastest
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
from mbfmu.stepper.explicit import RK4
from mbfmu.stepper.scheme import Choice, Family, Limits, Option, Scheme, option, states_beside_motion

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

SHARE = 0.9
"""Fraction of the longest step without growing errors, up to which a stepper is the default."""
SLOWEST = 1e-3
"""Rate, rad/s or 1/s, up to which a motion counts as having none, as forces have round-off errors."""


class Usual(NamedTuple):
    """The stepper that is taken if none is named.

    Args:
        name: of the family.
        reason: why.
        least: step above which it is taken, s.
        most: longest step for which it is taken, s.
    """

    name: str
    reason: str
    least: float = 0.0
    most: float = math.inf

    def suits(self, step: float) -> bool:
        """Return whether it is taken for equal steps of a length, s; 0: steps are chosen for a tolerance."""
        return self.least < step <= self.most or not step


__all__ = [
    "FAMILIES",
    "Choice",
    "Family",
    "Limits",
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
    chosen = dict(options or {})
    if not isinstance(stepper, Choice):
        return stepper, chosen
    if chosen:
        raise StepperError(f"{stepper!r} has its options already: leave options={chosen} out")
    return stepper.name, stepper.options()


def usual_stepper(dae: Dae, step: float) -> Usual:
    """Return the stepper that suits the structure of a model, and how fast it vibrates and settles at its start.

    Args:
        dae: the equations.
        step: length of equal steps, s; 0 if steps are chosen for a tolerance.
    """
    damps = "may be stiff, and radau damps what the step cannot resolve"
    if not dae.n:
        return Usual("radau", f"a block of first-order equations {damps}")
    if states_beside_motion(dae):
        return Usual("radau", f"first-order states beside a motion {damps}")
    if dae.switches and dae.switches.undetermined:
        return Usual(
            "moreau", "several frictions in space need not have unique forces, and moreau steps with any of them"
        )
    if dae.k:
        return Usual(
            "projected", "the constraints are nonholonomic, and projected keeps them to round-off at the least cost"
        )
    if not (dae.switching or dae.equations.resisting):
        return Usual(
            "projected", "no spring, damper or the like can be stiff, and projected is the most accurate at its cost"
        )
    rates = fastest(dae)
    if dae.switching:
        most = _longest(RK4.limits, rates)
        if step <= most:
            return Usual(
                "projected",
                "what hits, sticks and stops is met as exactly as the motion between its events, and projected is the "
                f"most accurate at its cost{_below(most)}",
                most=most,
            )
        return Usual("radau", f"{_too_fast('projected', rates, most)}, and radau has no such limit", least=most)
    most = _longest(rattle.LIMITS, rates)
    if step <= most:
        return Usual(
            "rattle",
            f"rattle takes dampers that are stiff for the step{_below(most, ', and springs')}; if none is stiff, "
            "projected is more accurate at less cost (see mbfmu compare)",
            most=most,
        )
    return Usual(
        "generalized_alpha",
        f"{_too_fast('rattle', rates, most)}, and generalized_alpha has no such limit and damps what the step cannot "
        "resolve",
        least=most,
    )


def _longest(limits: Limits, rates: Rates) -> float:
    """Return the longest step, s, for which a stepper with these limits is chosen."""
    bounds = (SHARE * limit / rate for limit, rate in zip(limits, rates, strict=True) if rate > SLOWEST)
    return min(bounds, default=math.inf)


def _below(most: float, reason: str = "") -> str:
    """Return the words on the longest step for which a stepper is chosen, if there is one."""
    return f"{reason} up to steps of {most:.3g} s" if most < math.inf else ""


def _too_fast(stepper: str, rates: Rates, most: float) -> str:
    """Return the reason why a stepper is not chosen."""
    vibrates = f"vibrates at up to {rates.vibration:.4g} rad/s" if rates.vibration > SLOWEST else ""
    settles = f"settles at up to {rates.decay:.4g} 1/s" if rates.decay > SLOWEST else ""
    fast = " and ".join(filter(None, (vibrates, settles)))
    return f"the mechanism {fast} where it starts, for which {stepper} needs steps of at most {most:.3g} s"


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
            f"stepper '{name}' has Newton's restitution and friction alone, and '{dae.name}' has a pull, a strength or "
            f"another impact law ({names}): take a stepper that goes from event to event, such as 'projected'"
        )
    return family.make(dae, **chosen)
