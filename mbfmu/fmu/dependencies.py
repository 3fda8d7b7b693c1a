"""Dependencies of the variables of an FMU, from the very functions that compute them.

A structural zero of these functions is a zero at every point; each other entry is declared as a dependency.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from mbfmu.dae import Dae
from mbfmu.dae.states import rate_signals, state_places, state_signals
from mbfmu.kernel.bundle import Bundle, FormulaFunctions

Names = tuple[str, ...]
Reach = npt.NDArray[np.bool_]
"""Whether each entry of a vector depends on each known, shape (entries, knowns)."""


def running_dependencies(dae: Dae, bundle: Bundle, time: str, stabilization: str) -> dict[str, Names]:
    """Return what outputs depend on after the initialisation, and in model exchange the states' time derivatives too.

    Knowns are inputs, parameters and the time; in model exchange also the continuous states, and for the time
    derivatives the rate at which a state beside the constraints tends to them.

    Args:
        dae: the equations.
        bundle: the functions of the kernel; those of model exchange have rates.
        time: name of the time.
        stabilization: name of that rate.

    Returns:
        Names of the knowns by the name of the unknown.
    """
    exchanged = dict(zip(state_places(dae), _names(state_signals(dae)), strict=True)) if bundle.rates else {}
    knowns = (exchanged, _numbered(dae.inputs), _numbered(dae.parameters), {0: time})
    outputs = _by_row(bundle.outputs, knowns)
    dependencies = {item.name: outputs.get(row, ()) for row, item in enumerate(dae.outputs)}
    if bundle.rates:
        rates, back = _by_row(bundle.rates, knowns), _by_row(bundle.drift, knowns) if bundle.drift else {}
        for index, name in zip(state_places(dae), _names(rate_signals(dae)), strict=True):
            stabilised = (*back[index], stabilization) if index in back else ()
            dependencies[name] = tuple(dict.fromkeys((*rates.get(index, ()), *stabilised)))
    return dependencies


def initial_dependencies(dae: Dae, bundle: Bundle, time: str, stabilization: str) -> dict[str, Names]:
    """Return what outputs, states and their time derivatives depend on in the initialisation mode.

    Knowns are start values, inputs, parameters and the time; see `running_dependencies`.
    """
    knowns = [*_names(dae.starts), *_names(dae.inputs), *_names(dae.parameters), time]
    ends = np.cumsum([0, bundle.ns, bundle.nu, bundle.np, 1])
    s, u, p, t = (np.eye(len(knowns), dtype=bool)[a:b] for a, b in pairwise(ends))
    # the order of `initialize` in start.c: start, begin, and with modes switch and begin again
    x = _solved(bundle.formulas["start"], s, u, p, t)
    x = _solved(bundle.formulas["begin"], x, u, p, t)
    if "switch" in bundle.formulas:
        switched = _solved(bundle.formulas["begin"], _solved(bundle.formulas["switch"], x, u, p, t), u, p, t)
        x[: len(switched)] |= switched
    dependencies = dict(zip(_names(dae.outputs), _chosen(_reach(bundle.outputs, x, u, p, t), knowns), strict=False))
    if bundle.rates:
        indices = list(state_places(dae))
        rates = _reach(bundle.rates, x, u, p, t)
        dependencies.update(zip(_names(state_signals(dae)), _chosen(x[indices], knowns), strict=True))
        back = _reach(bundle.drift, x, u, p, t) if bundle.drift else np.zeros_like(rates)
        names = [*knowns, stabilization]
        every = np.hstack([rates | back, back.any(axis=1, keepdims=True)])
        dependencies.update(zip(_names(rate_signals(dae)), _chosen(every[indices], names), strict=True))
    return dependencies


def bound_on(dae: Dae) -> dict[str, Names]:
    """Return the names of the parameters that each calculated parameter depends on."""
    on = _by_row(dae.bound_values, (_numbered(dae.parameters),))
    return {item.name: on.get(row, ()) for row, item in enumerate(dae.bound)}


def _names(items: Iterable[Any]) -> list[str]:
    return [item.name for item in items]


def _numbered(items: Iterable[Any]) -> dict[int, str]:
    return dict(enumerate(_names(items)))


def _by_row(function: Any, knowns: Sequence[Mapping[int, str]]) -> dict[int, Names]:
    """Return the names of the knowns that each row of a function's first result depends on, by row.

    Args:
        function: CasADi Function.
        knowns: for each of its arguments the names of those entries that count, by their indices.
    """
    names_by_row: dict[int, Names] = {}
    for argument, names in enumerate(knowns):
        for row, column in zip(*function.jac_sparsity(0, argument).get_triplet(), strict=True):
            if column in names:
                names_by_row[row] = (*names_by_row.get(row, ()), names[column])
    return names_by_row


def _chosen(reach: Reach, knowns: Sequence[str]) -> list[Names]:
    """Return the names of the knowns of each row."""
    return [tuple(knowns[column] for column in np.flatnonzero(row).tolist()) for row in reach]


def _reach(function: Any, *reaches: Reach | None) -> Reach:
    """Return what a function's first result depends on, from what its arguments do; None: they are constant."""
    (columns,) = {item.shape[1] for item in reaches if item is not None}
    reached = np.zeros((function.numel_out(0), columns), dtype=bool)
    for argument, item in enumerate(reaches):
        if item is not None and item.size:
            entries = function.jac_sparsity(0, argument)
            rows, columns_met = entries.get_triplet()
            slope = csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns_met)), shape=entries.shape)
            reached |= slope @ item[: entries.shape[1]].astype(np.float32) > 0
    return reached


def _solved(formula: FormulaFunctions, x: Reach, u: Reach, p: Reach, t: Reach) -> Reach:
    """Return what the result of a formula depends on, stage by stage: a correction repeats until nothing is new."""
    z = np.zeros((formula.unknowns, u.shape[1]), dtype=bool)
    for guess, correct, offset, size in zip(formula.guess, formula.correct, formula.places, formula.sizes, strict=True):
        block = slice(offset, offset + size)
        z[block] = _reach(guess, x, u, None, p, t, None, z)
        while correct:
            after = z[block] | _reach(correct, x, u, None, p, t, None, z)
            if np.array_equal(after, z[block]):
                break
            z[block] = after
    return _reach(formula.result, x, u, None, p, t, None, z)
