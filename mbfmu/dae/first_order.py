"""Blocks -> Dae: first-order equations z' = flow(z, u, p, t), without coordinates or constraints."""

from typing import Any

import casadi as ca

from mbfmu.dae.assembly import parameters
from mbfmu.dae.calculated import calculated
from mbfmu.dae.dae import Dae
from mbfmu.dae.equations import first_states_of, sampling_of
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.motionless import without_motion
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

    bound_values = _column(resolve(mechanism, entry, symbols) for entry in bound)
    dae = without_motion(
        z, u, p, t, network.flow, _column(value for _, value in network.shown),
        name=mechanism.name,
        description=mechanism.description,
        inputs=network.signals,
        parameters=parameters(free, p, network.timing),
        bound=calculated(bound, ca.vertsplit(bound_values), free),
        outputs=tuple(signal for signal, _ in network.shown),
        states=network.states,
        bound_values=merged("bound_values", [p], [ca.densify(bound_values)]),
        formulas=tuple(item.name for item in network.signals if item.name in formulas and item.type == "Real"),
        first_states=first_states_of(network, none, none, p, t),
        sampling=sampling_of(network, none, none, z, p, t),
    )  # fmt: skip
    return with_names(dae, mechanism.names, network.driven)


def _column(items: Any) -> Any:
    return ca.vertcat(ca.SX(0, 1), *items)
