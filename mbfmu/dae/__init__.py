"""Model -> Dae, by automatic differentiation and recursive algorithms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mbfmu.dae.absolute import absolute
from mbfmu.dae.choice import chosen
from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import refuse_switched, switched
from mbfmu.dae.events.stepping import stepped
from mbfmu.dae.first_order import first_order
from mbfmu.dae.joint import JointTree, joint
from mbfmu.dae.lagrangian import lagrangian
from mbfmu.dae.linear_algebra.redundancy import independent
from mbfmu.dae.naming import with_names
from mbfmu.dae.parts.sampling import Sampling
from mbfmu.dae.pressed import pressed
from mbfmu.dae.signals import Clock, Layout, MemorySignal, ParameterSignal, Signal, StateSignal
from mbfmu.errors import StepperError, UnknownNameError, UsageError, nearest
from mbfmu.model import Block, LagrangianSystem, Model, Sampled, System, flatten
from mbfmu.model.mechanism import flatten_block

__all__ = [
    "COORDINATES", "Clock", "Dae", "Layout", "MemorySignal", "ParameterSignal", "Sampling", "Signal", "StateSignal",
    "absolute", "derive", "first_order", "joint", "lagrangian", "refuse_switched",
]  # fmt: skip

COORDINATES = {"absolute": absolute, "joint": joint}
"""Functions that derive a System's equations, by the name of its coordinates."""

MOST_NAMES = 4
"""Number of contacts that a message names."""


def derive(
    model: Model,
    coordinates: str | None = None,
    formulas: Mapping[str, str] | None = None,
    choices: Sequence[str] = (),
    by_step: bool | None = None,
    weightless: bool = False,
) -> Dae:
    """Derive the equations of a model of any kind.

    Args:
        model: the mechanism or block.
        coordinates: see `CoordinateChoice`; None: joint coordinates if they are fewer. Lagrangians and blocks have
            their own.
        formulas: inputs that are expressions of ``time`` in the equations, by name. If one of them is a sampled input
            (see `Input`), all of these are formulas: they change at every instant, and those not given are zero.
        choices: coordinates with a start value or a guess for which a parameter chooses between both.
        by_step: whether the stepper decides the forces of gaps and frictions (see `stepped`); else modes do, which
            change at events. None: it does where modes cannot.
        weightless: whether parts that lack mass or inertia get some, as only the motion counts; else that is an error.

    Raises:
        ModelError: the model is invalid; the message says what to mend.
        UnknownNameError: a formula is given for an input that does not exist, or a choice for no such coordinate.
        UsageError: there are no such coordinates, or no start values that depend on each other to choose between.
        StepperError: modes are asked for, and there is friction in space at several contacts.
    """
    plain = _derived(model, coordinates, formulas or {}, choices, weightless)
    undetermined = plain.switches is not None and plain.switches.undetermined
    if by_step is None:
        by_step = undetermined
    if plain.switches and undetermined and not by_step:
        sliding = plain.switches.in_space
        more = ", ..." if len(sliding) > MOST_NAMES else ""
        listed = ", ".join(f"'{item}'" for item in sliding[:MOST_NAMES]) + more
        raise StepperError(
            f"'{plain.name}' has friction in space at several contacts ({listed}): what sticks at several has no "
            "unique forces, and steppers that go from event to event do not take it, nor does model exchange; take the "
            "stepper 'moreau', or mu = 0 at others"
        )
    dae = stepped(plain) if by_step else switched(plain)
    if isinstance(model, LagrangianSystem):
        shown = {item.name for group in (dae.inputs, dae.outputs, dae.starts) for item in group}
        names = {
            name: full for name, full in model.names.items() if full in shown or not by_step
        }  # modes are not shown
        dae = with_names(dae, names, frozenset())
    known = [item.name for item in dae.inputs]
    for name in formulas or {}:
        if name not in known:
            raise UnknownNameError(f"'{model.name}' has no input '{name}'; {nearest(name, known)}")
    return dae


def _derived(
    model: Model, coordinates: str | None, formulas: Mapping[str, str], choices: Sequence[str], weightless: bool
) -> Dae:
    if isinstance(model, LagrangianSystem | Block | Sampled) or model.only_blocks:
        if coordinates is not None:
            raise UsageError(f"'{model.name}' is given by equations and has coordinates of its own")
        if choices:
            raise UsageError(
                f"'{model.name}' has no joints, whose start values depend on each other: leave --choose out"
            )
        if isinstance(model, LagrangianSystem):
            return lagrangian(model, {model.names.get(name, name): text for name, text in formulas.items()})
        return first_order(flatten(model, formulas) if isinstance(model, System) else flatten_block(model, formulas))
    supplied: dict[str, Any] = {"formulas": formulas, "choices": choices, "weightless": weightless}
    made: Callable[..., Dae]
    if coordinates is None:
        tree = JointTree(replace(flatten(model, formulas, choices), weightless=weightless))
        made = joint if tree.smaller else absolute
        dae = tree.dae() if tree.smaller else absolute(model, **supplied)
    else:
        choice = chosen(coordinates)
        made = partial(joint, choice=choice) if choice.mixed else COORDINATES[choice.kind]
        dae = made(model, **supplied)
    return pressed(independent(dae, lambda **more: made(model, **supplied, **more)))
