"""Prepared model -> advice on failed steps and starts, with or without an FMU."""

import math
from typing import Any

from mbfmu.dae.events.conflicts import conflict
from mbfmu.errors import first_of
from mbfmu.kernel import vector
from mbfmu.kernel.failure import REMEDIES
from mbfmu.prepared.prepare import Prepared

HIGHEST = 9
"""Highest order of the steppers."""
STIFF = "radau"
"""Stepper for forces that are stiff for the step."""
KEEPERS = ("rattle", "projected")
"""Steppers that keep the constraints."""
DRIFTED, ENERGY, ENERGY_CHOSEN = "DRIFTED", "ENERGY", "ENERGY_CHOSEN"
"""Keys of the advice against violated constraints, and against an error of the energy in equal and in chosen steps."""
IMPOSSIBLE = "INCONSISTENT_START"
"""Key of what an impossible start may be due to."""


def remedies(prepared: Prepared, corrections: int = 0) -> dict[str, str]:
    """Return advice by the outcome of a step or start; it names no stepper or setting that is in use, or out of reach.

    Args:
        prepared: the model with its stepper.
        corrections: fixed number of corrections of each stage; 0: as many as the equations need.
    """
    dae, scheme = prepared.dae, prepared.scheme
    by_steps = dae.switches is not None and dae.switching is None  # other steppers may not take its contacts
    stiff = "" if scheme.name == STIFF or by_steps else f", or for stiff forces the stepper '{STIFF}'"
    able = [name for name in KEEPERS if name != scheme.name and not (by_steps or (name == "rattle" and dae.k))]
    keeper = f", such as '{able[0]}'" if able else ""
    shorter = "take a smaller solver.step"
    ended = f"perhaps {', or '.join(dae.about.ends)}; else " if dae.about.ends else ""
    needed = (
        ", or need constraints that are redundant with the model's own and were left out"
        if dae.constraints.dropped
        else ""
    )
    chosen = "" if scheme.multistep or corrections else ", or set solver.tolerance"
    return {
        "NOT_CONVERGED": ended + (f"{shorter}, smoother inputs{stiff}" if stiff else REMEDIES["NOT_CONVERGED"]),
        "NOT_FINITE": ended + (f"check inputs and parameters, {shorter}{stiff}" if stiff else REMEDIES["NOT_FINITE"]),
        "NOT_ACCURATE": "take a larger one" + (", or a stepper of higher order" if scheme.order < HIGHEST else ""),
        "OUTPUTS_NOT_FINITE": REMEDIES["OUTPUTS_NOT_FINITE"],
        **({"TOO_LONG": REMEDIES["TOO_LONG"]} if prepared.outline.limit else {}),
        IMPOSSIBLE: f"start values contradict the constraints, or the parameters leave a loop open{needed}",
        DRIFTED: f"{shorter}, or a stepper that keeps them{keeper}" if able else shorter,
        ENERGY: f"{shorter}{chosen}",
        ENERGY_CHOSEN: "take a smaller solver.tolerance",
    }


def conflict_at(prepared: Prepared, x: Any, p: Any, t: float) -> str:
    """Return a sentence on a contact whose equations have no solution at a state; empty: there is none.

    Args:
        prepared: the model with its stepper.
        x: state.
        p: parameters.
        t: time, s.
    """
    dae, scheme = prepared.dae, prepared.scheme
    if not dae.switches:
        return ""
    p = dae.extended(list(p))
    q, v, _ = scheme.read(list(x)[: scheme.step.x.numel()], p, t)
    return conflict(dae, q, v, p, t)


def not_finite(prepared: Prepared, x: Any, u: Any, p: Any, t: float, stepped: bool = False) -> str:
    """Return the message on outputs that are not finite, which names them, and a parameter that is to blame with its 0.

    Args:
        prepared: the model with its stepper.
        x: state.
        u: inputs.
        p: parameters.
        t: time, s.
        stepped: whether steps led there; False: it is a start.
    """
    outline, kernel = prepared.outline, prepared.kernel
    y = kernel.outputs(x, u, p, t)
    wrong = [item.name for item, value in zip(outline.outputs, y, strict=False) if not math.isfinite(value)]
    remedy = REMEDIES["OUTPUTS_NOT_FINITE"] if stepped else "check parameters, start values and inputs"
    for index, item in enumerate(outline.parameters):
        if not p[index] and kernel.checked_outputs(x, u, vector([*p[:index], 1.0, *p[index + 1 :]]), t)[1]:
            remedy = f"{item.name} = 0 makes them so, give it another value"
    reported = f": {first_of(wrong)}" if wrong else ""
    return f"{outline.name}: outputs at t = {t} s are not finite{reported}; {remedy}"
