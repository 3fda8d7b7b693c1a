"""Equations whose contact forces a stepper decides, step by step, instead of modes and events.

The mean force of each gap and slip velocity over the last step is a first-order state, and so are the residuals of
the laws of contact in that step. The stepper sets them; as equations they are constant.
"""

from dataclasses import replace

import casadi as ca
from casadi import Function

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import EFFORTS, Rows, labels
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.naming import with_names
from mbfmu.dae.parts.gaps import FrictionSignal, Switches
from mbfmu.dae.signals import Signal, StateSignal
from mbfmu.model.frame import SX

RESIDUALS = (
    ("contacts.signorini", "1", "maximum residual of the law of normal impulses in the last step, as a velocity"),
    ("contacts.coulomb", "1", "maximum excess of a friction over its limit in the last step, as a velocity"),
    ("contacts.dissipation", "J", "largest lack of dissipation of a friction in the last step"),
)
"""Name, unit and text of the residuals of the laws of contact."""


def stepped(dae: Dae) -> Dae:
    """Return the equations with the forces of gaps and frictions as states; equations without such as they are.

    The outputs are ``X.gap``, ``X.f_n``, ``X.slip``, ``X.f_t`` and the residuals.

    Args:
        dae: the equations. The inputs through which gaps and frictions act are no longer inputs then.
    """
    switches = dae.switches
    if switches is None:
        return dae
    # States: the mean forces over the last step, then the residuals of the laws of contact
    forces, residuals = _states(switches)
    outer = switches.outer(len(dae.inputs))
    longer = replace(
        dae,
        inputs=tuple(dae.inputs[k] for k in outer),
        sampled=tuple(outer.index(k) for k in dae.sampled),
        states=(*dae.states, *forces, *residuals),
        switches=replace(switches, forces=dae.n_z),
    )

    # The equations with these forces as inputs; the rates of the states are 0
    q, v, z, u, p, t = symbols = longer.symbols()
    turned, a = ca.SX.sym("turned", dae.n_angles), ca.SX.sym("a", dae.n)
    lambda_ = ca.SX.sym("lambda_", dae.m + dae.k)
    s = ca.SX.sym("s", len(dae.starts) - len(dae.start.starts))
    plain_z, force = z[: dae.n_z], z[dae.n_z :]
    acting = switches.inputs(len(dae.inputs), u, force)
    values = [q, v, plain_z, acting, p, t]
    constant = ca.SX.zeros(force.numel())
    first = dae.start.first_states(q, v, s, p, t) if dae.start.first_states else s

    # Outputs
    y = dae.output(q, v, plain_z, turned, a, lambda_, acting, p, t)
    shown = _outputs(switches, forces, Rows(dae, q, v, p, t), force)

    def function(name: str, arguments: list[SX], result: SX) -> Function:
        return merged(name, arguments, [ca.densify(result)])

    whole = replace(
        longer,
        outputs=(*dae.outputs, *(signal for signal, _ in shown)),
        output=function(
            "output", [q, v, z, turned, a, lambda_, u, p, t], ca.vertcat(y, *(value for _, value in shown))
        ),
        equations=dae.equations.reading(symbols, values, constant),
        energies=dae.energies.reading(symbols, values),
        start=replace(dae.start, first_states=function("first_states", [q, v, s, p, t], ca.vertcat(first, constant))),
        sampling=dae.sampling and dae.sampling.reading(symbols, values),
    )
    known = {item.name for item in whole.outputs}
    return with_names(whole, {name: full for name, full in switches.names if full in known}, frozenset())


def _rates(switches: Switches) -> list[tuple[FrictionSignal, str]]:
    """Return the friction that each slip velocity belongs to, and what follows its names."""
    return [
        (switches.frictions[j], label)
        for group in switches.groups for j, label in zip(group, labels(group), strict=True)
    ]  # fmt: skip


def _states(switches: Switches) -> tuple[list[StateSignal], list[StateSignal]]:
    """Return the states for the forces of gaps and slip velocities, and those for the residuals."""
    forces = [
        *((f"{item.name}.f_n", EFFORTS[item.unit]) for item in switches.gaps),
        *((f"{item.name}.f_t{end}", EFFORTS[item.unit]) for item, end in _rates(switches)),
    ]
    residuals = [(name, unit) for name, unit, _ in RESIDUALS]
    of_forces, of_residuals = (
        [StateSignal(name, unit, "", None, controlled=False) for name, unit in group] for group in (forces, residuals)
    )
    return of_forces, of_residuals


def _outputs(switches: Switches, forces: list[StateSignal], rows: Rows, values: SX) -> list[tuple[Signal, SX]]:
    """Return the outputs of gaps, slip velocities and residuals.

    Args:
        switches: gaps and frictions.
        forces: the states of their forces.
        rows: gaps and slip velocities at a state.
        values: forces, then residuals, SX.
    """
    result: list[tuple[Signal, SX]] = []

    def add(name: str, unit: str, text: str, value: SX) -> None:
        result.append((Signal(name, unit, text, "output"), value))

    for i, gap in enumerate(switches.gaps):
        add(f"{gap.name}.gap", gap.unit, "gap", rows.gap[i])
        add(forces[i].name, forces[i].unit, "mean force of the gap over the last step", values[i])
    for j, (item, end) in enumerate(_rates(switches)):
        add(f"{item.name}.slip{end}", f"{item.unit}/s", "slip rate", rows.slip[j])
        text, index = "mean friction over the last step, along the slip velocity", len(switches.gaps) + j
        add(forces[index].name, forces[index].unit, text, values[index])
    for index, (name, unit, text) in enumerate(RESIDUALS, len(forces)):
        add(name, unit, text, values[index])
    return result
