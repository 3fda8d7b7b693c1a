"""Ode: the equations of a block as named functions: x' = rate(x, u, p, t), y = output(x, u, p, t)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Function, Layout, ParameterSignal, Signal
from mbfmu.model.block import Block
from mbfmu.model.expression import Expression


@dataclass(frozen=True)
class Ode(Layout):
    """First-order equations and their layout.

    Args:
        name: of the block.
        description: one line.
        inputs: entries of u.
        parameters: entries of p; all may change during a run.
        bound: parameters that follow from others.
        outputs: entries of y; the states are among them.
        states: entries of x, with their start values.
        nominal: the size that signals and states usually have, by name.
        rate: Function (x, u, p, t) -> x'.
        output: Function (x, u, p, t) -> y.
        bound_values: Function p -> values of `bound`.
    """

    name: str
    description: str
    inputs: tuple[Signal, ...]
    parameters: tuple[ParameterSignal, ...]
    bound: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    states: tuple[ParameterSignal, ...]
    nominal: Mapping[str, float]
    rate: Function
    output: Function
    bound_values: Function

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def starts(self) -> tuple[ParameterSignal, ...]:
        """The start values of the states."""
        return self.states


def ode(block: Block) -> Ode:
    """Derive the equations of a block."""
    free = [item for item in block.parameters if not isinstance(item.value, str)]
    bound = [item for item in block.parameters if isinstance(item.value, str)]
    x = [ca.SX.sym(item.name) for item in block.states]
    u = [ca.SX.sym(item.name) for item in block.inputs]
    p = [ca.SX.sym(item.name) for item in free]
    t = ca.SX.sym("t")
    values: dict[str, Any] = {"time": t}
    values.update((symbol.name(), symbol) for symbol in (*x, *u, *p))
    texts = block.texts()

    def value(name: str) -> Any:
        if name not in values:
            values[name] = Expression(texts[name]).evaluate(value)
        return values[name]

    def function(name: str, results: list[Any], *given: list[Any]) -> Any:
        stacked = ca.densify(ca.vertcat(ca.SX(0, 1), *results))
        return ca.Function(name, [ca.vertcat(ca.SX(0, 1), *item) for item in given], [ca.cse(stacked)])

    rates = [Expression(item.rate).evaluate(value) for item in block.states]
    unbounded = (-float("inf"), float("inf"))
    return Ode(
        name=block.name,
        description=block.description,
        inputs=tuple(
            Signal(item.name, item.unit, item.description, "input", start=item.start) for item in block.inputs
        ),
        parameters=tuple(
            ParameterSignal(item.name, item.unit, item.description, float(item.value), item.min, item.max, True)
            for item in free
        ),
        bound=tuple(Signal(item.name, item.unit, item.description, "parameter") for item in bound),
        outputs=(
            *(Signal(item.name, item.unit, item.description) for item in block.states),
            *(
                Signal(item.name, item.unit, item.description, "output" if item.output else "local")
                for item in block.defined
            ),
        ),
        states=tuple(
            ParameterSignal(item.name, item.unit, item.description, item.start, *unbounded, False)
            for item in block.states
        ),
        nominal={item.name: item.nominal for item in block.quantities},
        rate=function("rate", rates, x, u, p, [t]),
        output=function("output", [*x, *(value(item.name) for item in block.defined)], x, u, p, [t]),
        bound_values=function("bound_values", [value(item.name) for item in bound], p),
    )
