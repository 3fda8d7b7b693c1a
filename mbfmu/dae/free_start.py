"""Notices on what a start leaves free: poses, of which a near one is taken, and rates, by the least energy."""

from collections.abc import Iterator, Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.start import TOLERANCE, column, free_directions, pose_equations, rate_equations

Array = npt.NDArray[np.float64]

MOVED = 1e-6
"""Change of a coordinate from where the search begins, m or rad, from which it is reported."""
SHARE = 1e-6
"""Smallest part of a free motion that counts as motion of a joint."""
MANY = 2000
"""Number of coordinates above which free rates are not computed for a notice."""
SHOWN = 4
"""Largest number of coordinates or rates that a notice names."""


def free_notices(dae: Dae, first: Array, x: Array, s: Array, p: Array) -> Iterator[str]:
    """Yield notices on rates that no start value determines, and on coordinates without a guess too, if they move.

    Args:
        dae: the equations.
        first: pose where the search begins, in the coordinates in which closed poses are sought.
        x: the closed pose, in the same.
        s: start values of the assembly, shape (number of them,).
        p: parameters, shape (n_p,).
    """
    yield from _free_pose(dae, first, x, s, p)
    yield from _free_rates(dae, column(dae.start.pose(x, s, p, 0.0)), s, p)


def _free_pose(dae: Dae, first: Array, x: Array, s: Array, p: Array) -> Iterator[str]:
    if np.max(np.abs(x - first), initial=0.0) <= MOVED:
        return
    ways = free_directions(pose_equations(dae, x, s, p, 0.0))
    if not ways.shape[1]:
        return
    of, symbol = dae.start, ca.MX.sym("x", len(x))
    slope = ca.Function("slope", [symbol], [ca.jacobian(of.pose(symbol, s, p, 0.0), symbol)])
    posed, begun = (column(of.pose(item, s, p, 0.0)) for item in (x, first))
    taken, before = (_outputs(dae, q, np.zeros(dae.n), p) for q in (posed, begun))
    parents = {item.name: item.derivative_of for item in dae.outputs}
    free = [parents[name] for name in _moving(dae, posed, np.array(slope(x)) @ ways, p)]
    apart = {
        name: abs(taken[name] - before[name])
        for name in free
        if name in taken and dae.full_names.get(name, name) not in of.met_names
    }
    names = sorted((name for name in apart if apart[name] > MOVED), key=lambda name: -apart[name])
    if names:
        texts = [f"{name} = {taken[name]:.5g} (from {before[name]:.5g})" for name in names]
        yield (
            f"{dae.name}: start values and guesses leave the pose free; the search for a closed one, which moves the "
            f"joints as little as it can, leads to {_listed(texts)}; give more of them to choose another"
        )


def _free_rates(dae: Dae, q: Array, s: Array, p: Array) -> Iterator[str]:
    system = rate_equations(dae, q, s, p, 0.0)
    if system is None or not system[1].any():
        return
    sparse, c = system
    if dae.n > MANY:
        if ca.sprank(sparse) < dae.n:
            yield f"{dae.name}: start values leave velocities free, which take the minimum kinetic energy"
        return
    C = np.array(sparse)
    ways = free_directions(C)
    # rates of shapes are zero unless they are freed on purpose: what only they leave free is not reported
    shapes = [index for _, numbers in dae.about.flexible for index in numbers]
    if not free_directions(np.vstack([C, np.eye(dae.n)[shapes]])).shape[1]:
        return
    v = -np.linalg.lstsq(C, c, rcond=None)[0]
    pushed = np.column_stack([column(dae.equations.momentum(q, way, p)) for way in ways.T])
    v = v - ways @ np.linalg.solve(ways.T @ pushed, ways.T @ column(dae.equations.momentum(q, v, p)))
    rates, supplied, size = _outputs(dae, q, v, p), set(dae.start.rate_names), np.max(np.abs(v))
    names = [
        name
        for name in _moving(dae, q, ways, p)
        if dae.full_names.get(name, name) not in supplied and abs(rates[name]) > TOLERANCE * size
    ]
    if names:
        names.sort(key=lambda name: -abs(rates[name]))
        yield (
            f"{dae.name}: start values leave velocities free, which take the minimum kinetic energy: "
            f"{_listed([f'{name} = {rates[name]:.5g}' for name in names])}; give more start values, such as "
            f"{names[0]} = 0, to choose others"
        )


def _moving(dae: Dae, q: Array, ways: Array, p: Array) -> list[str]:
    """Return names of the rates of joints that change along some motions, shape (n, number of them)."""
    still = _outputs(dae, q, np.zeros(dae.n), p)
    changed = [_outputs(dae, q, way, p) for way in ways.T]
    with_rates = {item.derivative_of for item in dae.outputs}
    return [
        item.name
        for item in dae.outputs
        if item.kind == "output"
        and item.name in with_rates
        and any(abs(each[item.name] - still[item.name]) > SHARE for each in changed)
    ]


def _outputs(dae: Dae, q: Array, v: Array, p: Array) -> dict[str, float]:
    """Return the outputs at some coordinates and rates, by name; without accelerations and forces."""
    still, nothing = np.zeros(dae.n), np.zeros(dae.m + dae.k)
    u, z = dae.u_default(), np.zeros(dae.n_z)
    y = column(dae.output(q, v, z, dae.angles(q, p, 0.0), still, nothing, u, p, 0.0))
    return {item.name: float(value) for item, value in zip(dae.outputs, y, strict=True)}


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - SHOWN
    return ", ".join(texts[:SHOWN]) + (f" and {more} more" if more > 0 else "")
