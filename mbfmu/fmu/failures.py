"""Table of variables -> facts for messages on failed steps: quantities by their usual sizes, bounds, and advice."""

import math
from collections.abc import Iterable
from typing import Any

from mbfmu.fmu.interface import Interface, Variable, interface
from mbfmu.kernel.failure import Bound, Facts, Quantity
from mbfmu.prepared.failures import conflict_at
from mbfmu.prepared.prepare import Prepared


def quantities(table: Interface) -> dict[str, tuple[Quantity, ...]]:
    """Return those of `Facts` by their fields; states are outputs with a start value or a rate that is an output.

    In a kernel for model exchange they are its own states, with offsets in its state and rates.
    """
    real = [item for item in table.variables if item.type == "Real"]
    outputs = [item for item in real if item.kind == "output"]
    if table.exchange:
        states, rates = [state for state, _ in table.states], {state.name: rate for state, rate in table.states}
    else:
        rates = {item.derivative_of: item for item in outputs if item.derivative_of}
        states = [item for item in outputs if item.start_offset is not None or item.name in rates]
    forces, gaps = ({f"{name}.{of}" for name in table.gaps} for of in ("f_n", "gap"))
    return {
        "inputs": tuple(_quantities((item for item in real if item.kind == "input"), {})),
        "states": tuple(_quantities(states, rates)),
        "forces": tuple(_quantities((item for item in outputs if item.name in forces), {})),
        "gaps": tuple(_quantities((item for item in outputs if item.name in gaps), {})),
    }


def bounds(table: Interface) -> tuple[Bound, ...]:
    """Return the bounds of calculated parameters that the parameters may leave."""
    return tuple(
        Bound(item.name, item.unit, item.offset, item.min, item.max)
        for item in table.variables
        if item.causality == "calculatedParameter" and (math.isfinite(item.min) or math.isfinite(item.max))
    )


def _quantities(items: Iterable[Variable], rates: dict[str, Variable]) -> Iterable[Quantity]:
    for item in items:
        usual, rate = max(abs(item.nominal), abs(item.start or 0.0)), rates.get(item.name)
        of_rate = (rate.offset, rate.unit) if rate else ()
        yield Quantity(item.name, item.unit, usual, item.offset, *of_rate)


def facts(prepared: Prepared) -> Facts:
    """Return the facts that messages on the steps of a model need, outside an FMU."""
    table = interface(prepared)

    def cause(x: Any, p: Any, t: float) -> str:
        return conflict_at(prepared, x, p, t)

    return Facts(prepared.dae.name, table.guards, **quantities(table), remedies=table.remedies, cause=cause)
