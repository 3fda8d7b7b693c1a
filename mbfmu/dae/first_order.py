"""Blocks -> Dae: first-order equations z' = flow(z, u, p, t), without coordinates or constraints."""

from typing import Any

import casadi as ca

from mbfmu.dae.assembly import parameters
from mbfmu.dae.dae import Assembly, Dae, Signal
from mbfmu.dae.equations import network_parts
from mbfmu.dae.naming import with_names
from mbfmu.dae.network import Network
from mbfmu.model.expression import Expression
from mbfmu.model.mechanism import Mechanism, resolve


def first_order(mechanism: Mechanism) -> Dae:
    """Derive the equations of a block, or of blocks and their wires.

    Args:
        mechanism: the blocks, see `flatten_block` and `flatten`.

    Raises:
        ModelError: a wire leads nowhere or signals form a circle.
    """
    free = [entry for entry in mechanism.entries.values() if entry.free]
    bound = [entry for entry in mechanism.entries.values() if not entry.free]
    symbols = {entry.name: ca.SX.sym(entry.name) for entry in free}
    t, none = ca.SX.sym("t"), ca.SX(0, 1)
    formulas = {name: Expression(text).evaluate(lambda _: t) for name, text in mechanism.formulas.items()}
    net = Network(mechanism, symbols, t, formulas)
    network = net.connected()
    z, u = _column(net.z.values()), network.u
    p = _column([*symbols.values(), *net.d.values()])

    def function(name: str, arguments: list[Any], result: Any) -> Any:
        return ca.Function(name, arguments, [ca.cse(ca.densify(result))])

    shown = [value for _, value in network.shown]
    whole, moving, constraint = [none, none, z, u, p, t], [none, none, p, t], [none, p, t]
    dae = Dae(
        name=mechanism.name,
        description=mechanism.description,
        coordinates=(),
        inputs=network.signals,
        parameters=parameters(free, p, network.timing),
        bound=tuple(
            Signal(e.name, e.quantity.unit, e.quantity.description, "parameter", type=e.quantity.type) for e in bound
        ),
        outputs=tuple(signal for signal, _ in network.shown),
        states=network.states,
        m=0,
        k=0,
        M=function("M", [none, p], ca.SX(0, 0)),
        mass_solve=function("mass_solve", [none, p, none], none),
        free_acceleration=function("free_acceleration", whole, none),
        force=function("force", whole, none),
        flow=function("flow", whole, network.flow),
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
        output=function("output", [none, none, z, none, none, none, u, p, t], _column(shown)),
        bound_values=function("bound_values", [p], _column(resolve(mechanism, entry, symbols) for entry in bound)),
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
        formulas=tuple(item.name for item in network.signals if item.name in formulas and item.type == "Real"),
        **network_parts(network, none, none, z, p, t),
    )
    return with_names(dae, mechanism.names, network.driven)


def _column(items: Any) -> Any:
    return ca.vertcat(ca.SX(0, 1), *items)
