"""Inverse dynamics as equations: the motion of all joints of a tree is input, what it takes is output.

With the coordinates q, their rates v and accelerations a as inputs there is nothing to solve for in time. The efforts u
of the drives follow from

    B u = M a - force(q, v, 0, p, t),    B = force_u,

and all other outputs from them: the Dae has neither coordinates nor states.
"""

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import refuse_switched
from mbfmu.dae.motionless import without_motion
from mbfmu.dae.signals import Signal
from mbfmu.errors import UsageError

EFFORT_UNITS = ("N", "N.m")
"""Units of inputs that are efforts."""


def inverse_of(dae: Dae) -> Dae:
    """Return the equations of the inverse dynamics: coordinates, rates and accelerations in; efforts and all else out.

    Args:
        dae: the equations of a mechanism.

    Raises:
        UsageError: it has constraints, states or inputs that are sampled, or not one drive for each of its coordinates.
    """
    refuse_switched(dae, "inverse dynamics")
    _refuse(dae)
    # Coordinate, rate and acceleration of each joint, which become inputs
    rate_of = {item.derivative_of: item for item in dae.outputs if item.derivative_of}
    shown = {item.name: item for item in dae.outputs}
    motions = [
        [shown[name], rate_of[name], rate_of[rate_of[name].name]] for name in dae.coordinates
    ]  # coordinate, rate, acceleration of each joint
    driven = [k for k, item in enumerate(dae.inputs) if item.unit in EFFORT_UNITS]
    others = [item for k, item in enumerate(dae.inputs) if k not in driven]
    motion_signals = [item for triple in zip(*motions, strict=True) for item in triple]
    # Symbols (q, v, a), and of the inputs that are no efforts
    n, none = dae.n, ca.SX(0, 1)
    x, rest = ca.SX.sym("motion", 3 * n), ca.SX.sym("others", len(others))
    q, v, a = ca.vertsplit(x, n)
    p, t, z = ca.SX.sym("p", dae.n_p), ca.SX.sym("t"), none
    u = ca.SX.zeros(len(dae.inputs))
    for k, item in enumerate(others):
        u[dae.inputs.index(item)] = rest[k]
    # The efforts tau from B tau = M a - f(q, v, u, p, t), where B = df/du of the drives
    probe = dae.symbols()
    B = ca.jacobian(dae.equations.force(*probe), probe[3])[:, driven]
    B = ca.substitute(B, ca.vertcat(probe[0], probe[1], probe[4], probe[5]), ca.vertcat(q, v, p, t))
    needed = dae.equations.M(q, p) @ a - dae.equations.force(q, v, z, u, p, t)
    effort = B.T @ needed if _selects(B) else ca.solve(ca.densify(B), needed)
    # Outputs y of the motion under these efforts
    acting = ca.SX(u)
    for k, row in enumerate(driven):
        acting[row] = effort[k]
    y = dae.output(q, v, z, dae.angles(q, p, t), a, none, acting, p, t)
    # Signals: motions and other inputs in, efforts and other outputs out
    left = [k for k, item in enumerate(dae.outputs) if item not in motion_signals]
    inputs = tuple(
        replace(item, kind="input", derivative_of=None, start=float(start))
        for item, start in zip(motion_signals, [*_start(dae), *np.zeros(2 * n)], strict=True)
    )
    kept = {dae.outputs[k].name for k in left}
    outputs = tuple(
        replace(item, derivative_of=item.derivative_of if item.derivative_of in kept else None)
        for item in (dae.outputs[k] for k in left)
    )
    efforts = tuple(replace(dae.inputs[k], kind="output", start=0.0, description=_text(dae.inputs[k])) for k in driven)
    return without_motion(
        z, ca.vertcat(x, rest), p, t, none, ca.vertcat(effort, y[left]),
        name=f"{dae.name}_inverse",
        description=f"inverse dynamics: {dae.description}",
        inputs=(*inputs, *others),
        parameters=dae.parameters,
        bound=dae.bound,
        outputs=(*efforts, *outputs),
        states=(),
        bound_values=dae.bound_values,
    )  # fmt: skip


def _refuse(dae: Dae) -> None:
    """Raise an error if the motion of the joints is not all that the equations need."""
    if not dae.n:
        raise UsageError(f"'{dae.name}' is a block of equations: inverse dynamics is that of a mechanism")
    way = "`mbfmu inverse` computes it from a table or expressions"
    if dae.m or dae.k:
        who = ", ".join(dict.fromkeys(dae.row_names)) or "nonholonomic joints"
        raise UsageError(
            f"'{dae.name}' has constraints ({who}): inverse dynamics is exported for trees of joints with one axis "
            f"each, in joint coordinates; {way}"
        )
    if dae.n_z or dae.sampled:
        names = [*(item.name for item in dae.states), *(dae.inputs[k].name for k in dae.sampled)]
        raise UsageError(
            f"'{dae.name}' has states or given motions of its own ({', '.join(names)}), which no motion gives"
        )
    q, v, z, u, p, t = dae.symbols()
    B = ca.jacobian(dae.equations.force(q, v, z, u, p, t), u)
    driven = [k for k, item in enumerate(dae.inputs) if item.unit in EFFORT_UNITS]
    idle = [name for k, name in enumerate(dae.coordinates) if not B[k, driven].nnz()]
    if idle or len(driven) != dae.n:
        raise UsageError(
            f"'{dae.name}' has {len(driven)} forces and torques as inputs for {dae.n} coordinates"
            + (f", and nothing drives {', '.join(idle)}: make these joints actuated" if idle else f"; {way}")
        )
    if ca.depends_on(B, u):
        raise UsageError(f"'{dae.name}' has inputs that do not act linearly; {way}")


def _selects(B: SX) -> bool:
    """Return whether each column is that of a unit matrix."""
    numbers = B.is_constant() and B.nnz() == B.shape[1]
    return bool(numbers and all(float(item) == 1.0 for item in B.nonzeros()))


def _start(dae: Dae) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the coordinates at the model's start, shape (n,)."""
    s = dae.s_default()[: len(dae.start.starts)]
    return np.array(dae.start.guess(s, dae.p_default(), 0.0), dtype=np.float64).ravel()


def _text(item: Signal) -> str:
    return f"{item.description}, as the motion takes it"
