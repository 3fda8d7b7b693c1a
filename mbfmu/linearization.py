"""Linearization: the state-space form of a model about a state that meets its constraints, from exact derivatives.

About (q0, v0, z0, u0), with C = [Phi_q; G], c = [Phi_t; g], the accelerations a of the index-1 form and the rates f of
the first-order states, small deviations obey

    Phi_q dq = 0,    C dv = -K dq,  K = (C v + c)_q,
    dv' = a_q dq + a_v dv + a_z dz + a_u du,    dz' = f_q dq + f_v dv + f_z dz + f_u du.

The states are the deviations of some coordinates, chosen by pivoting, on which the others depend: dq = V xi with
Phi_q V = 0, and dv = W eta - R K dq with C W = 0, C R = 1 and R zero in the chosen rows; then dz.
"""

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from scipy.linalg import lu_factor, lu_solve, qr

from mbfmu.arguments import checked
from mbfmu.dae import Dae
from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.files import ending_of, write_aside
from mbfmu.kernel import vector
from mbfmu.model import Model
from mbfmu.model.library import model_of
from mbfmu.prepared.prepare import prepare

Array = npt.NDArray[np.float64]

ARRAYS, NAMES = ("A", "B", "C", "D", "x0", "u0", "y0"), ("states", "inputs", "outputs")
"""Fields of a linearization in a file, beside the eigenvalues: arrays, and tuples of names."""
ENDINGS = (".npz", ".json")
"""Endings of the files that a linearization is written to."""
PREFERENCE = 0.1
"""Weight of the columns of driven joints, by which the other joints depend on them unless that is badly conditioned."""


@dataclass(frozen=True)
class Linear:
    """x' = A x + B u, y = C x + D u, for deviations from the point of linearization.

    Args:
        A: shape (n_x, n_x).
        B: shape (n_x, n_u).
        C: shape (n_y, n_x).
        D: shape (n_y, n_u).
        states: names of x: coordinates, their rates as ``der(...)``, and first-order states.
        inputs: names of u.
        outputs: names of y.
        x0: the state, in SI units.
        u0: the inputs.
        y0: the outputs.
        rest: largest acceleration of the chosen coordinates, or largest rate of the first-order states, at that point;
            0 in an equilibrium at rest.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    x0: Array
    u0: Array
    y0: Array
    rest: float

    @property
    def eigenvalues(self) -> npt.NDArray[np.complex128]:
        """Eigenvalues of A, 1/s, the least damped first."""
        found: npt.NDArray[np.complex128] = np.linalg.eigvals(self.A).astype(np.complex128)
        return found[np.lexsort((found.imag, -found.real))]

    def data(self) -> dict[str, Any]:
        """Return everything as JSON data: matrices as rows, eigenvalues as [real, imaginary]."""
        found = {name: getattr(self, name).tolist() for name in ARRAYS}
        found |= {name: list(getattr(self, name)) for name in NAMES}
        return found | {"rest": self.rest, "eigenvalues": [[value.real, value.imag] for value in self.eigenvalues]}

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write everything as .npz or .json.

        Raises:
            UsageError: the path has another suffix.
        """
        target = Path(path)
        if ending_of(target, ENDINGS) == ".json":
            return write_aside(target, json.dumps(self.data(), indent=1).encode())
        content = io.BytesIO()
        arrays = {name: np.array(getattr(self, name)) for name in (*ARRAYS, *NAMES, "eigenvalues")}
        np.savez(content, allow_pickle=False, **arrays)
        return write_aside(target, content.getvalue())


@checked
def linearize(
    model: Model | str | os.PathLike[str],
    values: Mapping[str, Any] | None = None,
    *,
    inputs: Mapping[str, float] | None = None,
    outputs: Sequence[str] = (),
    coordinates: str | None = None,
) -> Linear:
    """Return the state-space form of a mechanism about its consistent start, or of a block about its start values.

    Args:
        model: the mechanism or block, a name in models/, or the path of a model file.
        values: start values and parameters that differ from the model's, by name, in SI units.
        inputs: inputs by name, in SI units; the others have their start values, mostly 0.
        outputs: names of outputs; () for all outputs that can be connected, such as those of the joints.
        coordinates: ``absolute`` or ``joint``; None: joint coordinates if they are fewer.

    Raises:
        ModelError, StartError: the model or its start is invalid.
        UnknownNameError: there is no such output, parameter, start value or input.
        UsageError: an input is not a finite number, or the values are so large that the equations are not.
    """
    prepared = prepare(model_of(model, values), "direct", None, 1e-3, 0.0, coordinates)
    dae = prepared.dae
    known, driven = [item.name for item in dae.outputs], [item.name for item in dae.inputs]
    chosen = tuple(outputs) or tuple(item.name for item in dae.outputs if item.kind == "output")
    for kind, asked, names in (("output", chosen, known), ("input", inputs or (), driven)):
        for name in asked:
            if name not in names:
                raise UnknownNameError(f"{dae.name} has no {kind} '{name}'; {nearest(name, names)}")
    u0 = np.array([float((inputs or {}).get(item.name, item.start)) for item in dae.inputs])
    if not np.all(np.isfinite(u0)):
        raise UsageError("inputs must be finite numbers")
    x = prepared.initial_state(vector(u0))
    start = prepared.scheme.read(list(x)[: prepared.scheme.step.x.numel()], dae.extended(dae.p_default()), 0.0)
    q0, v0, z0 = (np.array(item).ravel() for item in start)
    return _about(dae, q0, v0, z0, u0, chosen)


def _about(dae: Dae, q0: Array, v0: Array, z0: Array, u0: Array, chosen: tuple[str, ...]) -> Linear:
    q, v, z, u, _, _ = dae.symbols()
    p, t = ca.DM(dae.extended(dae.p_default())), ca.DM(0.0)
    a, lambda_ = dae.acceleration(q, v, z, u, p, t)
    flow = dae.flow(q, v, z, u, p, t)
    names = [item.name for item in dae.outputs]
    y = dae.output(q, v, z, dae.angles(q, p, t), a, lambda_, u, p, t)[[names.index(name) for name in chosen]]
    constraints = ca.vertcat(dae.Phi_q(q, p, t) @ v + dae.Phi_t(q, p, t), dae.G(q, p, t) @ v + dae.g(q, p, t))
    wanted = [a, flow, y, dae.Phi_q(q, p, t), dae.G(q, p, t), ca.jacobian(constraints, q)]
    wanted += [ca.jacobian(item, of) for item in (a, flow, y) for of in (q, v, z, u)]
    shown = ca.Function("linear", [q, v, z, u], [ca.densify(item) for item in wanted])
    a0, flow0, y0, P, G, K, *slopes = (np.array(item) for item in shown(q0, v0, z0, u0))
    if not all(np.all(np.isfinite(item)) for item in (a0, flow0, y0, P, G, K, *slopes)):
        raise UsageError(
            f"{dae.name}: the equations or their derivatives are not finite at these values; take smaller ones"
        )
    a_q, a_v, a_z, a_u, f_q, f_v, f_z, f_u, y_q, y_v, y_z, y_u = slopes

    driven = {item.name.rpartition(".")[0] for item in dae.inputs}
    weight = np.array([PREFERENCE if name.rpartition(".")[0] in driven else 1.0 for name in dae.coordinates])
    free_q, V, _ = _dependent(P, weight)
    free_v, W, R = _dependent(np.vstack([P, G]), weight)
    slope = -R @ K @ V  # dv = slope xi + W eta
    A = np.block([
        [slope[free_q], W[free_q], np.zeros((len(free_q), dae.n_z))],
        [(a_q @ V + a_v @ slope)[free_v], (a_v @ W)[free_v], a_z[free_v]],
        [f_q @ V + f_v @ slope, f_v @ W, f_z],
    ])  # fmt: skip
    B = np.vstack([np.zeros((len(free_q), len(u0))), a_u[free_v], f_u])
    C = np.hstack([y_q @ V + y_v @ slope, y_v @ W, y_z])
    places, rates = [dae.coordinates[k] for k in free_q], [f"der({dae.coordinates[k]})" for k in free_v]
    return Linear(
        A, B, C, y_u,
        states=(*places, *rates, *(item.name for item in dae.states)),
        inputs=tuple(item.name for item in dae.inputs), outputs=chosen,
        x0=np.concatenate([q0[free_q], v0[free_v], z0]), u0=u0, y0=y0.ravel(),
        rest=float(np.abs([*a0.ravel()[free_v], *flow0.ravel()]).max(initial=0.0)),
    )  # fmt: skip


def _dependent(C: Array, weight: Array) -> tuple[list[int], Array, Array]:
    """Return the free columns of C, V with C V = 0, and R with C R = 1 that is zero in the free rows.

    Args:
        C: matrix of full row rank, shape (k, n); V has the shape (n, n - k) and is the unit matrix in the free rows.
        weight: weights of the columns, shape (n,); columns of little weight are preferred as free ones.
    """
    k, n = C.shape
    pivots = qr(C * weight, mode="r", pivoting=True)[1] if k else np.arange(n)
    bound, free = sorted(int(column) for column in pivots[:k]), sorted(int(column) for column in pivots[k:])
    V, R = np.zeros((n, n - k)), np.zeros((n, k))
    V[free] = np.eye(n - k)
    if k:
        factor = lu_factor(C[:, bound])
        V[bound], R[bound] = -lu_solve(factor, C[:, free]), lu_solve(factor, np.eye(k))
    return free, V, R
