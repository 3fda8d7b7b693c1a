"""Equations whose contact forces a stepper decides, step by step, instead of modes and events.

The mean force of each gap and slip rate over the last step is a first-order state, and so are the residuals of the laws
of contact in that step. The stepper sets them; as equations they are constant.
"""

from dataclasses import replace
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import EFFORTS, Rows, labels
from mbfmu.dae.merged import merged
from mbfmu.dae.naming import with_names
from mbfmu.dae.signals import Signal, StateSignal
from mbfmu.model.frame import SX

RESIDUALS = (
    ("contacts.signorini", "1", "largest residual of the law of normal impulses in the last step, in rates"),
    ("contacts.coulomb", "1", "largest excess of a friction over its limit in the last step, in rates"),
    ("contacts.dissipation", "J", "largest lack of dissipation of a friction in the last step"),
)
"""Name, unit and text of the residuals of the laws of contact."""


def stepped(dae: Dae) -> Dae:
    """Return the equations with the forces of gaps and frictions as states; equations without such as they are.

    The outputs are ``X.gap``, ``X.f_n``, ``X.slip``, ``X.f_t`` and the residuals.

    Args:
        dae: the equations. The inputs through which gaps and frictions act are no longer inputs then.
    """
    found = dae.switches
    if found is None:
        return dae
    outer = found.outer(len(dae.inputs))
    forces = [StateSignal(f"{item.name}.f_n", EFFORTS[item.unit], "", None, controlled=False) for item in found.gaps]
    rates = [
        (found.frictions[j], label) for group in found.groups for j, label in zip(group, labels(group), strict=True)
    ]
    forces += [
        StateSignal(f"{item.name}.f_t{end}", EFFORTS[item.unit], "", None, controlled=False) for item, end in rates
    ]
    residuals = [StateSignal(name, unit, "", None, controlled=False) for name, unit, _ in RESIDUALS]
    longer = replace(
        dae,
        inputs=tuple(dae.inputs[k] for k in outer),
        sampled=tuple(outer.index(k) for k in dae.sampled),
        states=(*dae.states, *forces, *residuals),
        switches=replace(found, forces=dae.n_z),
    )
    q, v, z, u, p, t = given = longer.symbols()
    turned, a = ca.SX.sym("turned", dae.n_angles), ca.SX.sym("a", dae.n)
    lambda_ = ca.SX.sym("lambda_", dae.m + dae.k)
    s = ca.SX.sym("s", len(dae.starts) - len(dae.assembly.starts))
    own, force = z[: dae.n_z], z[dae.n_z :]
    acting = found.inputs(len(dae.inputs), u, force)

    def function(name: str, arguments: list[SX], result: SX) -> Any:
        return merged(name, arguments, [ca.densify(result)])

    names = ("force", "free_acceleration", "momentum_rate", "impulse_rate", "flow")
    changed = {name: getattr(dae, name)(q, v, own, acting, p, t) for name in names}
    constant = ca.SX.zeros(force.numel())
    changed["flow"] = ca.vertcat(changed["flow"], constant)
    if dae.power is not None:
        changed["power"] = dae.power(q, v, own, acting, p, t)
    first = dae.first_states(q, v, s, p, t) if dae.first_states else s
    sampling = dae.sampling
    if sampling:
        due = ca.SX.sym("due", dae.n_c)
        after = sampling.update(q, v, own, acting, p, t, due)
        sampling = replace(sampling, update=function("update", [*given, due], after))

    rows, r_N = Rows(dae, q, v, p, t), len(found.gaps)
    signals, y = list(dae.outputs), [dae.output(q, v, own, turned, a, lambda_, acting, p, t)]

    def add(name: str, unit: str, text: str, value: SX) -> None:
        signals.append(Signal(name, unit, text, "output"))
        y.append(value)

    for i, gap in enumerate(found.gaps):
        add(f"{gap.name}.gap", gap.unit, "gap", rows.gap[i])
        add(forces[i].name, forces[i].unit, "mean force of the gap over the last step", force[i])
    for j, (item, end) in enumerate(rates):
        add(f"{item.name}.slip{end}", f"{item.unit}/s", "slip rate", rows.slip[j])
        text = "mean friction over the last step, along the slip rate"
        add(forces[r_N + j].name, forces[r_N + j].unit, text, force[r_N + j])
    for place, (name, unit, text) in enumerate(RESIDUALS, len(forces)):
        add(name, unit, text, force[place])
    whole = replace(
        longer,
        outputs=tuple(signals),
        output=function("output", [q, v, z, turned, a, lambda_, u, p, t], ca.vertcat(*y)),
        first_states=function("first_states", [q, v, s, p, t], ca.vertcat(first, constant)),
        sampling=sampling,
        **{name: function(name, list(given), result) for name, result in changed.items()},
    )
    known = {item.name for item in whole.outputs}
    return with_names(whole, {name: full for name, full in found.names if full in known}, frozenset())
