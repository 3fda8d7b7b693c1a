"""The state [q; v; z] and its time derivative as outputs, for solvers that integrate the equations themselves."""

from collections.abc import Iterable
from dataclasses import replace

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.signals import Signal

PREFIX = "state."
"""Beginning of the names of the entries of the state."""
UNITS = {"x": "m", "y": "m", "r": "m", "phi": "rad"}
"""Units of the coordinates of a free body, by the last part of their names; others of its coordinates have none."""


def state_places(dae: Dae) -> tuple[int, ...]:
    """Return the places in [q; v; z] of the state's entries: of all but slack coordinates, which stay at rest at 0."""
    n = dae.unswitched.n
    return (*range(n), *range(dae.n, dae.n + n), *range(2 * dae.n, 2 * dae.n + dae.n_z))


def measured_places(dae: Dae) -> tuple[int, ...]:
    """Return the places in [q; v; z] of what errors of steps are estimated of: forces that a step averages are none."""
    averaged = {2 * dae.n + k for k, item in enumerate(dae.states) if not item.controlled}
    return tuple(place for place in state_places(dae) if place not in averaged)


def state_signals(dae: Dae) -> tuple[Signal, ...]:
    """Return the state's entries as quantities that a user sees."""
    coordinates = dae.coordinates[: dae.unswitched.n]
    units = units_of(dae, coordinates)
    signals = [Signal(PREFIX + name, unit, "state: coordinate") for name, unit in zip(coordinates, units, strict=True)]
    for name, unit in zip(coordinates, units, strict=True):
        signals.append(Signal(f"{PREFIX}rate.{name}", per_second(unit), "state: rate of a coordinate"))
    for item in dae.states:
        text = f"state: {item.description or 'of first order'}"
        signals.append(Signal(PREFIX + item.name, item.unit, text, nominal=item.nominal))
    return tuple(signals)


def rate_signals(dae: Dae) -> tuple[Signal, ...]:
    """Return the time derivatives of the state's entries as quantities that a user sees."""
    return tuple(
        Signal(
            f"der({item.name})", per_second(item.unit), f"time derivative of {item.name}", derivative_of=item.name,
            nominal=item.nominal,
        )
        for item in state_signals(dae)
    )  # fmt: skip


def indicator_signals(guards: Iterable[str]) -> tuple[Signal, ...]:
    """Return the event indicators of guards, of which is given what each belongs to, as quantities that a user sees."""
    return tuple(
        Signal(f"events.indicator[{index}]", "1", f"positive until an event of {guard}")
        for index, guard in enumerate(guards, 1)
    )


def with_states(dae: Dae, indicators: bool = False) -> Dae:
    """Return the equations with the state and its time derivative among the outputs.

    Args:
        dae: the equations.
        indicators: whether event indicators are outputs too.
    """
    q, v, z, u, p, t = dae.symbols()
    turned, a = ca.SX.sym("turned", dae.n_angles), ca.SX.sym("a", dae.n)
    lambda_ = ca.SX.sym("lambda_", dae.m + dae.k)
    indices = list(state_places(dae))
    y = dae.output(q, v, z, turned, a, lambda_, u, p, t)
    more = ca.vertcat(ca.vertcat(q, v, z)[indices], ca.vertcat(v, a, dae.equations.flow(q, v, z, u, p, t))[indices])
    signals = (*state_signals(dae), *rate_signals(dae))
    if indicators and dae.switching:
        more = ca.vertcat(more, dae.switching.guards(q, v, z, a, lambda_, u, p, t))
        signals += indicator_signals(dae.switching.guard_names)
    output = merged("output", [q, v, z, turned, a, lambda_, u, p, t], [ca.densify(ca.vertcat(y, more))])
    return replace(dae, outputs=(*dae.outputs, *signals), output=output)


def units_of(dae: Dae, coordinates: Iterable[str]) -> list[str]:
    """Return the units of coordinates: those of outputs of the same name, or those of a free body."""
    called = {full: name for name, full in dae.about.other_names}
    known = {item.name: item.unit for item in dae.outputs}
    units = []
    for name in coordinates:
        last = name.rpartition(".")[2].partition("[")[0]
        units.append(known.get(called.get(name, name), UNITS.get(last, "1")))
    return units


def per_second(unit: str) -> str:
    """Return the unit of a time derivative."""
    known = {"1": "1/s", "1/s": "1/s2", "m/s": "m/s2", "rad/s": "rad/s2"}
    return known.get(unit, f"{unit}/s" if "/" not in unit else f"({unit})/s")
