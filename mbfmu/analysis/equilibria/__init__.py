"""Equilibrium: where a machine stays at rest or moves steadily, the trim that holds it there, and its stability.

The unknowns x are the coordinates q, the first-order states z and what is freed: inputs and parameters. In a steady
motion, in which rates are held, the rates v are unknown too. At t = 0 they meet

    Phi(q, p) = 0,    a(q, v, z, u, p) = 0,    z' = 0,    the values that are held,

with the accelerations a of the index-1 form, in which the forces of the constraints balance the others. At rest v = 0;
in a steady motion [Phi_q; G] v + [Phi_t; g] = 0, and the rates of joints that are not held, and the accelerations of
all joints, are zero.

problem.py    unknowns and equations
newton.py     Newton's method for them
search.py     further equilibria around the start
failures.py   the errors of a search
result.py     Equilibrium, and start files
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mbfmu.analysis.equilibria.problem import EquilibriumProblem, SearchStart
from mbfmu.analysis.equilibria.result import (
    ENDINGS,
    STABLE,
    UNDECIDED,
    UNSTABLE,
    Equilibrium,
    Item,
    read_start,
    told,
    write_start,
)
from mbfmu.analysis.equilibria.search import search
from mbfmu.base.arguments import checked
from mbfmu.dae import Dae, derive, refuse_switched
from mbfmu.errors import UsageError
from mbfmu.model import Model
from mbfmu.model.library import model_of

__all__ = [
    "ENDINGS",
    "STABLE",
    "UNDECIDED",
    "UNSTABLE",
    "Equilibrium",
    "Item",
    "equilibrium",
    "equilibrium_of",
    "read_start",
    "write_start",
]


@checked
def equilibrium(
    model: Model | str | os.PathLike[str],
    *,
    free: Sequence[str] = (),
    hold: Mapping[str, float] | None = None,
    values: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Equilibrium:
    """Return the equilibrium of a mechanism or a block that Newton's method finds from its start, with those around.

    Args:
        model: the mechanism or block, a name in models/, or the path of a model file.
        free: names of inputs and parameters that are unknown beside the coordinates and the first-order states.
        hold: values that outputs, such as coordinates, rates, states or forces, or inputs are to have, in SI units, by
            name. A rate that is held at another value than zero makes it a steady motion, and its coordinate, on which
            nothing may depend, keeps its start value.
        values: start values, inputs and parameters that differ from the model's, by name.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        progress: called with the fraction done, approximately.

    Raises:
        EquilibriumError: there is no equilibrium near the start, or the equations do not determine it.
        UnknownNameError: there is nothing of a name.
        ModelError: the model is invalid.
        UsageError: something is both free and held, or a value is not finite.
    """
    system = model_of(model, values)
    for name, value in (hold or {}).items():
        if not math.isfinite(value):
            raise UsageError(f"hold: {name} = {value} must be a finite number")
    dae = derive(system, coordinates)
    refuse_switched(dae, "the search for an equilibrium")
    return equilibrium_of(system, dae, hold or {}, values or {}, tuple(free), progress)


def equilibrium_of(
    system: Model,
    dae: Dae,
    hold: Mapping[str, float],
    values: Mapping[str, Any],
    free: tuple[str, ...] = (),
    progress: Callable[[float], None] = lambda _: None,
) -> Equilibrium:
    """Return the equilibrium of equations; arguments and errors as for `equilibrium`.

    Args:
        system: the model.
        dae: its equations.
        hold: values by name.
        values: values that the result passes on, by name.
        free: names of what is unknown too.
        progress: called with the fraction done, approximately.
    """
    problem = EquilibriumProblem(dae, SearchStart.of(dae, hold), free, dict(hold))
    first, others, notices = search(problem, progress)
    equilibria = [told(system, problem, item, values, notices) for item in (first, *others)]
    return replace(equilibria[0], branches=tuple(equilibria[1:]))
