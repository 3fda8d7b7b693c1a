"""Closed poses besides the one that the assembly finds, and start values that give way to the constraints."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from mbfmu.dae.dae import Dae
from mbfmu.dae.free_start import free_notices
from mbfmu.dae.start import TOLERANCE, column, missed

Array = npt.NDArray[np.float64]
Closed = Callable[[Array], Array | None]
"""Function that returns the closed pose which the assembly finds from a first pose, both in the coordinates in which it
is sought (`Start.sought`), shape (number of these,); None without one."""

Posed = Callable[[Array], Array]
"""Function that returns q of such coordinates, shape (n,)."""

NEARLY = 1.1
"""Largest ratio of the distances of two closed poses from the first pose, and from the guesses, for both to be told."""
APART = 0.5
"""Smallest distance of two closed poses, relative to that of one from the first pose, that makes them different."""
NEAR = 1e-3
"""Distance of the first pose from the closed one, relative to the size of the mechanism, that makes it a good guess."""
MOST = 6
"""Largest number of coordinates that are mirrored one by one."""
SHOWN = 3
"""Largest number of coordinates that a notice names."""


def start_notices(dae: Dae, closed: Closed, s: Array, p: Array) -> tuple[str, ...]:
    """Return what a user should know about a start: what gave way, another closed pose as near, and what was free.

    Args:
        dae: the equations.
        closed: how the assembly closes a pose with these start values and parameters at t = 0.
        s: start values of the assembly, shape (number of them,).
        p: parameters, shape (n_p,).
    """
    of = dae.start
    first = column(of.sought.guess(s, p, 0.0))
    reached = closed(first)
    if reached is None:
        return ()

    def posed(x: Array) -> Array:
        return column(of.pose(x, s, p, 0.0))

    branches = _other_branch(dae, closed, posed, first, reached, s, p)
    return (*_given_way(dae, posed(reached), s, p), *branches, *free_notices(dae, first, reached, s, p))


def _given_way(dae: Dae, q: Array, s: Array, p: Array) -> Iterator[str]:
    moved = zip(dae.start.position_names, missed(dae, q, s, p, 0.0), strict=True)
    changes = [f"{name} by {size:.1g}" for name, size in moved if size > TOLERANCE]
    if changes:
        yield (
            f"{dae.name}: the start values agree with each other to nine digits only, and moved to close the loops: "
            f"{', '.join(changes)}"
        )


def _other_branch(
    dae: Dae, closed: Closed, posed: Posed, first: Array, reached: Array, s: Array, p: Array
) -> Iterator[str]:
    if not dae.start.loops or dae.skeleton is None:
        return
    other = _other(dae, closed, posed, first, reached, s, p)
    if other is None:
        return
    taken, left = (_joint_coordinates(dae, posed(x), p) for x in (reached, other))
    supplied = {name.partition("[")[0] for name in dae.start.met_names}
    apart = {
        name: abs(math.remainder(left[name] - value, math.tau) if unit == "rad" else left[name] - value)
        for name, (value, unit) in _with_units(dae, taken).items()
        if name.partition("[")[0] not in supplied
    }
    names = sorted(apart, key=lambda name: -apart[name])[:SHOWN]
    if not names or apart[names[0]] < NEAR:
        return
    here, there = (", ".join(f"{name} = {pose[name]:.4g}" for name in names) for pose in (taken, left))
    guesses = ", ".join(f'{name} = "guess({left[name]:.4g})"' for name in names)
    nearer = _astray(dae, posed(other), s, p) < _astray(dae, posed(reached), s, p) / NEARLY
    yield (
        f"{dae.name}: the loops close in two ways: {here} is taken, {there} is "
        + ("nearer to the guesses. " if nearer else "about as near to where the search for the start begins. ")
        + f"To choose the other, give {guesses}; to keep this one, give it as guesses"
    )


def _other(dae: Dae, closed: Closed, posed: Posed, first: Array, reached: Array, s: Array, p: Array) -> Array | None:
    """Return a closed pose about as near to the first pose, and to the guesses, as the one found, or nearer to these.

    The other ways to close a loop lie on the other side of a singular position, which is where a guess that does not
    choose between them lies: the search begins again at mirror images of the pose found, all coordinates mirrored in
    the first pose, or one of those that moved most.
    """
    assert dae.skeleton is not None
    positions = dae.skeleton.points

    def points(x: Array) -> Array:
        return np.array(positions(posed(x), p, 0.0))

    def distance(one: Array, other: Array) -> float:
        return float(np.max(np.linalg.norm(one - other, axis=0)))

    lost = _astray(dae, posed(reached), s, p)
    start, end = points(first), points(reached)
    moved = distance(start, end)
    if moved <= NEAR * np.ptp(end, axis=1).max():
        return None
    away = reached - first
    mirrored = [-away]
    for k in np.argsort(-np.abs(away))[:MOST]:
        flipped = away.copy()
        flipped[k] = -away[k]
        mirrored.append(flipped)
    nearest, best = (NEARLY * lost + NEAR, NEARLY * moved), None
    for begin in mirrored:
        x = closed(first + begin)
        if x is None or distance(points(x), end) <= APART * moved:
            continue
        near = _astray(dae, posed(x), s, p), distance(points(x), start)
        if near[0] <= nearest[0] and (near[1] <= nearest[1] or near[0] < lost / NEARLY):
            nearest, best = near, x
    return best


def _astray(dae: Dae, q: Array, s: Array, p: Array) -> float:
    """Return the largest distance of a coordinate from its guess, m or rad."""
    return float(np.max(np.abs(column(dae.start.leanings(q, s, p, 0.0))), initial=0.0))


def _joint_coordinates(dae: Dae, q: Array, p: Array) -> dict[str, float]:
    """Return the coordinates of all joints in a pose, by name."""
    still, nothing = np.zeros(dae.n), np.zeros(dae.m + dae.k)
    u, turned = np.zeros(len(dae.inputs)), dae.angles(q, p, 0.0)
    y = column(dae.output(q, still, np.zeros(dae.n_z), turned, still, nothing, u, p, 0.0))
    rates = {item.derivative_of for item in dae.outputs if item.derivative_of}
    return {
        item.name: float(value)
        for item, value in zip(dae.outputs, y, strict=True)
        if item.kind == "output" and item.name in rates and item.derivative_of is None
    }


def _with_units(dae: Dae, values: dict[str, float]) -> dict[str, tuple[float, str]]:
    units = {item.name: item.unit for item in dae.outputs}
    return {name: (value, units[name]) for name, value in values.items()}
