"""Block -> Dae: first-order equations z' = flow(z, u, p, t), without coordinates or constraints."""

from collections.abc import Mapping
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Assembly, Dae, ParameterSignal, Signal, StateSignal
from mbfmu.model.block import Block
from mbfmu.model.expression import Expression


def first_order(block: Block, formulas: Mapping[str, str] | None = None) -> Dae:
    """Derive the equations of a block.

    Args:
        block: the block.
        formulas: inputs that are given as expressions of ``time``, by name; those that are not real stay inputs.
    """
    free = [item for item in block.parameters if not isinstance(item.value, str)]
    bound = [item for item in block.parameters if isinstance(item.value, str)]
    z, u, p = (_column(ca.SX.sym(item.name) for item in items) for items in (block.states, block.inputs, free))
    t, none = ca.SX.sym("t"), ca.SX(0, 1)
    values: dict[str, Any] = {"time": t}
    values.update((symbol.name(), symbol) for column in (z, u, p) for symbol in column.elements())
    given = {
        item.name: (formulas or {})[item.name]
        for item in block.inputs
        if item.name in (formulas or {}) and item.type == "Real"
    }
    values.update((name, Expression(text).evaluate(lambda _: t)) for name, text in given.items())
    texts = block.texts()

    def value(name: str) -> Any:
        if name not in values:
            values[name] = Expression(texts[name]).evaluate(value)
        return values[name]

    def function(name: str, arguments: list[Any], result: Any) -> Any:
        return ca.Function(name, arguments, [ca.cse(ca.densify(result))])

    defined = [value(item.name) for item in block.defined]
    whole, moving, constraint = [none, none, z, u, p, t], [none, none, p, t], [none, p, t]
    return Dae(
        name=block.name,
        description=block.description,
        coordinates=(),
        inputs=tuple(
            Signal(
                item.name,
                item.unit,
                item.description,
                "input",
                start=float(item.start),
                nominal=item.nominal,
                type=item.type,
            )
            for item in block.inputs
        ),
        parameters=tuple(
            ParameterSignal(
                item.name, item.unit, item.description, float(item.value), item.min, item.max, True, type=item.type
            )
            for item in free
        ),
        bound=tuple(Signal(item.name, item.unit, item.description, "parameter", type=item.type) for item in bound),
        outputs=(
            *(Signal(item.name, item.unit, item.description, nominal=item.nominal) for item in block.states),
            *(
                Signal(
                    item.name,
                    item.unit,
                    item.description,
                    "output" if item.output else "local",
                    nominal=item.nominal,
                    type=item.type,
                )
                for item in block.defined
            ),
        ),
        states=tuple(
            StateSignal(item.name, item.unit, item.description, item.start, item.nominal) for item in block.states
        ),
        m=0,
        k=0,
        M=function("M", [none, p], ca.SX(0, 0)),
        mass_solve=function("mass_solve", [none, p, none], none),
        free_acceleration=function("free_acceleration", whole, none),
        force=function("force", whole, none),
        flow=function("flow", whole, _column(Expression(item.rate).evaluate(value) for item in block.states)),
        Phi=function("Phi", constraint, none),
        Phi_q=function("Phi_q", constraint, ca.SX(0, 0)),
        Phi_t=function("Phi_t", constraint, none),
        gamma=function("gamma", moving, none),
        G=function("G", constraint, ca.SX(0, 0)),
        g=function("g", constraint, none),
        gamma_G=function("gamma_G", moving, none),
        momentum=function("momentum", [none, none, p], none),
        momentum_rate=function("momentum_rate", whole, none),
        impulse_rate=function("impulse_rate", whole, none),
        kinetic=function("kinetic", [none, none, p], ca.SX(0)),
        potential=function("potential", constraint, ca.SX(0)),
        angles=function("angles", constraint, none),
        output=function("output", [none, none, z, none, none, none, u, p, t], ca.vertcat(z, *defined)),
        bound_values=function("bound_values", [p], _column(value(item.name) for item in bound)),
        n_angles=0,
        assembly=Assembly(
            starts=(),
            closing=function("closing", constraint, none),
            positions=function("positions", [none, none, p, t], none),
            rates=function("rates", [none, none, none, p, t], none),
            sizes=function("sizes", constraint, none),
            leanings=function("leanings", [none, none, p, t], none),
            guess=function("guess", constraint, none),
            mass_metric=False,
            counted=function("counted", [none, none, p, t], none),
            position_names=(),
            rate_names=(),
            loops=(),
            constraint_names=(),
            norms=0,
        ),
        constant_mass=True,
        formulas=tuple(given),
    )


def _column(items: Any) -> Any:
    return ca.vertcat(ca.SX(0, 1), *items)
