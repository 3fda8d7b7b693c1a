"""Random consistent states of a mechanism in joint and in absolute coordinates, and all outputs there."""

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_ivp
from two_frames import product, rotation

from mbfmu.dae import Dae, derive
from mbfmu.dae.start import assembled
from mbfmu.model import System

Array = npt.NDArray[np.float64]
Random = np.random.Generator


def column(value: Any) -> Array:
    """A CasADi column as an array, shape (n,)."""
    return np.array(ca.DM(value), dtype=float).reshape(-1)


def matrix(value: Any) -> Array:
    """A CasADi matrix as an array, shape (n, m)."""
    return np.array(ca.DM(value), dtype=float)


def closed(dae: Dae, q: Array, t: float = 0.0) -> Array:
    """The nearby q with Phi = 0, by Gauss-Newton in NumPy."""
    p = dae.extended(dae.p_default())
    for _ in range(60):
        gap = column(dae.constraints.Phi(q, p, t))
        if np.abs(gap).max(initial=0.0) < 1e-13:
            return q
        step = -np.linalg.pinv(matrix(dae.constraints.Phi_q(q, p, t)), rcond=1e-10) @ gap
        q = q + step * min(1.0, 0.3 / max(1e-300, float(np.abs(step).max())))
    np.testing.assert_allclose(gap, 0, atol=1e-12)
    return q


def constraints(dae: Dae, q: Array, t: float) -> Array:
    """[Phi_q; G], shape (m + k, n)."""
    p = dae.extended(dae.p_default())
    return np.vstack([matrix(dae.constraints.Phi_q(q, p, t)), matrix(dae.constraints.G(q, p, t))])


@cache
def start_place(dae: Dae, t: float = 0.0) -> Array:
    """The coordinates of the start values."""
    return column(assembled(dae, dae.s_default().tolist(), dae.extended(dae.p_default()).tolist(), t))


def admissible(dae: Dae, rng: Random, away: float = 0.3, t: float = 0.0) -> tuple[Array, Array, Array]:
    """Random (q, v, u) near the start that meet the constraints."""
    p = dae.extended(dae.p_default())
    q = closed(dae, start_place(dae, t) + away * rng.normal(size=dae.n), t)
    v, C = rng.normal(size=dae.n), constraints(dae, q, t)
    v -= np.linalg.pinv(C, rcond=1e-10) @ (
        C @ v + np.concatenate([column(dae.constraints.Phi_t(q, p, t)), column(dae.constraints.g(q, p, t))])
    )
    return q, v, rng.normal(size=len(dae.inputs))


def accelerations(dae: Dae, q: Array, v: Array, u: Array, t: float = 0.0) -> tuple[Array, Array]:
    """Accelerations and multipliers of the index-1 form, by NumPy from the mass matrix."""
    p, n = dae.extended(dae.p_default()), dae.n
    M, C = matrix(dae.equations.M(q, p)), constraints(dae, q, t)
    given = (
        dae.equations.force(q, v, [], u, p, t),
        dae.constraints.gamma(q, v, p, t),
        dae.constraints.gamma_G(q, v, p, t),
    )
    zeros = np.zeros((len(C), len(C)))
    found = np.linalg.solve(np.block([[M, C.T], [C, zeros]]), np.concatenate([column(item) for item in given]))
    return found[:n], found[n:]


def outputs(dae: Dae, q: Array, v: Array, u: Array, t: float = 0.0) -> dict[str, float]:
    """All outputs by name, with the accelerations and multipliers of the index-1 form."""
    p = dae.extended(dae.p_default())
    a, lambda_ = accelerations(dae, q, v, u, t)
    values = column(dae.output(q, v, [], column(dae.angles(q, p, t)), a, lambda_, u, p, t))
    return dict(zip((item.name for item in dae.outputs), values.tolist(), strict=True))


def started(dae: Dae) -> tuple[Array, Array]:
    """Coordinates at the start, and the least velocities that the constraints and start values ask for."""
    s, p = dae.s_default(), dae.extended(dae.p_default())
    q = start_place(dae)
    still = np.zeros(dae.n)
    rest = column(dae.start.rates(q, still, s, p, 0.0))
    rates = [column(dae.start.rates(q, e, s, p, 0.0)) - rest for e in np.eye(dae.n)]
    rows = np.vstack([constraints(dae, q, 0.0), np.array(rates).T])
    asked = np.concatenate([column(dae.constraints.Phi_t(q, p, 0.0)), column(dae.constraints.g(q, p, 0.0)), rest])
    v = -np.linalg.lstsq(rows, asked, rcond=1e-10)[0]
    np.testing.assert_allclose(rows @ v, -asked, atol=1e-9)
    return q, v


def motion(dae: Dae, stop: float, count: int = 11) -> dict[str, Array]:
    """All outputs from the start to a stop time without inputs, by SciPy from the accelerations: good to 1e-10."""
    still = np.zeros(len(dae.inputs))

    def slope(t: float, x: Array) -> Array:
        q, v = x[: dae.n], x[dae.n :]
        return np.concatenate([v, accelerations(dae, q, v, still, t)[0]])

    times = np.linspace(0, stop, count)
    run = solve_ivp(
        slope, (0, stop), np.concatenate(started(dae)), method="DOP853", t_eval=times, rtol=1e-11, atol=1e-12
    )
    rows = [outputs(dae, x[: dae.n], x[dae.n :], still, float(t)) for t, x in zip(times, run.y.T, strict=True)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]} | {"time": times}


def shown(values: dict[str, float], name: str, size: int) -> Array:
    """A vector among the outputs."""
    return np.array([values[name]] if size == 1 else [values[f"{name}[{k}]"] for k in range(1, size + 1)])


def in_absolute(dae: Dae, values: dict[str, float]) -> tuple[Array, Array]:
    """Absolute coordinates and rates of a state: where the centre of mass of every body is, by hand from outputs.

    Args:
        dae: the equations in absolute coordinates; no two bodies are fixed to each other, what is fixed to a body is
            listed after it, or turned like it, and one that carries flexible bodies has its centre of mass in frame_a.
        values: the outputs by name.
    """
    p = dae.p_default()
    given = zip((*dae.parameters, *dae.bound), (*p, *column(dae.bound_values(dae.extended(p)))), strict=True)
    lengths = {item.name: value for item, value in given}
    planar = not any(name.endswith(".Q[1]") for name in dae.coordinates)
    dim, q, v = 2 if planar else 3, [], []
    for body in dict.fromkeys(name.rpartition(".")[0] for name in dae.coordinates):
        labels = [name for name in dae.coordinates if name.startswith(f"{body}.")]
        shape = [name for name in labels if ".eta[" in name]
        if len(shape) < len(labels):
            r_0, v_0 = (shown(values, f"{body}.{label}", dim) for label in ("r_0", "v_0"))
            turn = shown(values, f"{body}.{'phi' if planar else 'Q'}", 1 if planar else 4)
            arm = rotation(turn) @ [lengths.get(f"{body}.r_CM[{k}]", 0.0) for k in range(1, dim + 1)]
            if planar:
                w = shown(values, f"{body}.w", 1)
                swept, turning = w * np.array([-arm[1], arm[0]]), w
            else:
                w_a = shown(values, f"{body}.w_a", 3)
                swept, turning = np.cross(rotation(turn) @ w_a, arm), product(turn, np.array([0.0, *w_a])) / 2
            q += [r_0 + arm, turn]
            v += [v_0 + swept, turning]
        q.append(np.array([values[name] for name in shape]))
        v.append(np.array([values[name.replace(".eta[", ".eta_t[")] for name in shape]))
    return np.concatenate(q), np.concatenate(v)


def marked(dae: Dae) -> set[str]:
    """The outputs that are not unique."""
    return {item.name for item in dae.outputs if not item.unique}


def assert_solved(dae: Dae, q: Array, v: Array, u: Array, t: float = 0.0) -> None:
    """What the articulated bodies give is the solution with the mass matrix of the composite ones."""
    p = dae.extended(dae.p_default())
    M, force = matrix(dae.equations.M(q, p)), column(dae.equations.force(q, v, [], u, p, t))
    expected = np.linalg.solve(M, force)
    for found in (dae.equations.free_acceleration(q, v, [], u, p, t), dae.equations.mass_solve(q, p, force)):
        # condition of M below 1e4
        np.testing.assert_allclose(column(found), expected, atol=1e-11 * (1 + np.abs(expected).max()))


def assert_same_motion(
    system: System, seed: int, t: float = 0.0, away: float = 0.3, coordinates: str = "joint"
) -> tuple[Dae, Dae]:
    """From random consistent states all outputs that are unique agree, accelerations and cut forces included.

    Args:
        system: the mechanism; see `in_absolute`.
        seed: of the states.
        t: time, s.
        away: how far the states are from the start.
        coordinates: joint or mixed ones.

    Returns:
        The equations in these and in absolute coordinates.
    """
    rng = np.random.default_rng(seed)
    joint, absolute = (derive(system, item) for item in (coordinates, "absolute"))
    assert joint.n - joint.m - joint.k == absolute.n - absolute.m - absolute.k
    assert marked(joint) == marked(absolute)
    for _ in range(2):
        q, v, u = admissible(joint, rng, away, t)
        assert_solved(joint, q, v, u, t)
        one = outputs(joint, q, v, u, t)
        other = outputs(absolute, *in_absolute(absolute, one), u, t)
        assert one.keys() == other.keys()
        unique = one.keys() - marked(joint)
        size = 1 + max(abs(one[name]) for name in unique)
        for name in sorted(unique):
            # two solutions with matrices of a condition below 1e4
            assert other[name] == pytest.approx(one[name], rel=1e-10, abs=1e-11 * size), name
    return joint, absolute
