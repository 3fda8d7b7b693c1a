"""The search for equilibria: from the start, and from where the mechanism can get from there."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.equilibria.failures import failure, outside, refuse_loose
from mbfmu.analysis.equilibria.newton import (
    FARTHEST,
    LONGEST,
    MOST_STEPS,
    RANK,
    SETTLED,
    SHORT,
    Found,
    evaluated,
    newton,
)
from mbfmu.analysis.equilibria.problem import EquilibriumProblem, Unknowns, outputs_at, whole
from mbfmu.analysis.linearization.mechanism import Point, linearized
from mbfmu.dae.start import column
from mbfmu.errors import UsageError

Array = npt.NDArray[np.float64]

COARSE = 0.03
"""Singular value of the scaled slopes, relative to the largest, that counts as zero in a second try: where a line of
equilibria bends, the first try makes corrections along it."""
AROUND = (3.0, 1.0)
"""Distances of further starts from the user's, m, rad or nominal sizes: nearly opposite, and beside."""
STIFF = 1e5
"""Acceleration per displacement, 1/s2, from which springs are so stiff that they lead back from a start beside."""
UNEVEN = 0.05
"""Largest further shift of a start, for starts that are singular positions."""
STEP_ASIDE = 0.01
"""Displacement, m or rad, by which a direction is tried for stiff springs."""
MOST_STARTS = 8
"""Largest number of degrees of freedom along which other starts lie."""
PARALLEL = 0.99
"""Cosine of the angle between two directions of motion from which they count as one."""
SAME = 1e-6
"""Largest difference of two equilibria that count as one, relative to the sizes of the unknowns."""
MOST_BRANCHES = 6
"""Largest number of further equilibria that are reported."""
LATER = (0.0, 0.37, 1.1)
"""Times at which a motion is compared with itself to see whether it is steady, s."""
STEADY = 1e-6
"""Largest change of accelerations, m/s2 or rad/s2, and of scaled rates of states, 1/s, in a steady motion."""
PLACE = "place"
"""Kind of the equations of coordinates that are held."""
BOUND = ("constraint", PLACE)
"""Kinds of the equations that bind coordinates."""
MOST_FIRST = 60
"""Largest number of corrections from the start before loads are raised in steps."""
PART, LEAST_PART = 1 / 8, 1 / 512
"""Largest and least part of the loads by which they are raised at once."""
FIRST_PART = 0.3
"""Part of the search that the equilibrium of the start takes, for the progress that is shown."""
MOST_AROUND = 36
"""Number of starts around it, about, for the same."""
CLOSINGS = 3
"""Number of corrections after each part of the way of held coordinates."""
QUATERNION = 4
"""Number of entries of a quaternion, which with all signs reversed is the same rotation."""


def search(
    problem: EquilibriumProblem, progress: Callable[[float], None] = lambda _: None
) -> tuple[Found, list[Found], tuple[str, ...]]:
    """Return the equilibrium, those around, and notices.

    Args:
        problem: unknowns and equations.
        progress: called with the fraction done, approximately.

    Raises:
        EquilibriumError: there is none, or it is not determined.
    """
    # the equilibrium to which the start leads, which must be determined
    begin = _first(problem)
    progress(FIRST_PART)
    if begin.met:
        refuse_loose(problem, begin)
    solutions = [begin] if begin.met else []
    seen = [_signature(problem, item) for item in solutions]
    # Newton's method from starts around it; every solution counts once
    loose = None
    for index, x in enumerate(_around(problem), 1):
        other = newton(problem, x)
        progress(1 - (1 - FIRST_PART) * FIRST_PART / (FIRST_PART + index / MOST_AROUND))
        if other.met and other.rank < len(other.x):
            loose = loose or other
        elif other.met:
            signature_of_other = _signature(problem, other)
            if not any(_is_one(signature_of_other, signature) for signature in seen):
                solutions.append(other)
                seen.append(signature_of_other)
    # those within the limits of the model
    inside = [item for item in solutions if not outside(problem, item)]
    if loose and not solutions:
        refuse_loose(problem, loose)
    if not inside:
        raise failure(problem, solutions[0] if solutions else begin)

    def distance(item: Found) -> float:
        return float(np.linalg.norm((item.x - problem.first) / problem.sizes))

    # the first is that of the start, else the nearest stable one
    if begin in inside:
        others = sorted(inside[1:], key=distance)
        return begin, others[:MOST_BRANCHES], ()
    nearest_first = sorted(inside, key=distance)
    first = next((item for item in nearest_first if _stable(problem, item)), nearest_first[0])
    text = "Newton's method fails from the start values; this equilibrium was found from a start beside them"
    others = [item for item in nearest_first if item is not first]
    return first, others[:MOST_BRANCHES], (f"{problem.dae.name}: {text}",)


def _first(problem: EquilibriumProblem) -> Found:
    """Return where Newton's method ends from the start, first with held coordinates brought to their values.

    Where it does not end soon, loads are raised in steps.
    """
    begins: list[Found] = []
    brought = _brought(problem)
    for x in (problem.first,) if brought is problem.first else (brought, problem.first):
        begins.append(newton(problem, x, most=MOST_FIRST))
        if begins[-1].met:
            return begins[-1]
        if not begins[-1].settled and (loaded := _loaded(problem, x)):
            return loaded
        for coarse in (RANK, COARSE):
            begins.append(newton(problem, x, coarse))
            if begins[-1].met:
                return begins[-1]
    return begins[1]


def _loaded(problem: EquilibriumProblem, x: Array) -> Found | None:
    """Return the equilibrium to which loads lead that are raised in steps; None if a step fails, however small.

    The loads are those that the start lacks: with its residuals f_0, the equations f(x) = (1 - part) f_0 hold there for
    the part 0, and part 1 is the equilibrium (Allgower & Georg, Introduction to Numerical Continuation Methods, 2003).
    """
    f_0, done, part, found = evaluated(problem, x)[0], 0.0, PART, None
    if not np.all(np.isfinite(f_0)):
        return None
    while done < 1:
        ahead = min(1.0, done + part)
        found = newton(problem, x, most=MOST_FIRST, left=(1 - ahead) * f_0)
        if found.met:
            x, done, part = found.x, ahead, min(PART, 2 * part)
        elif part <= LEAST_PART:
            return None
        else:
            part /= 2
    return found


def _brought(problem: EquilibriumProblem) -> Array:
    """Return where the mechanism gets if held coordinates go to their values, with its loops closed all the way."""
    x, n = problem.first, problem.dae.n
    held = np.array([kind == PLACE for kind in problem.kinds if kind in BOUND], dtype=bool)
    gaps, _ = _binding(problem, x)
    far = float(np.max(np.abs(gaps[held]), initial=0.0))
    if not LONGEST < far <= FARTHEST:
        return x
    # the gap of what is held closes in equal parts, each by dq = -C^+ gap; further corrections close the loops
    for left in range(math.ceil(far / LONGEST), 0, -1):
        part = np.where(held, 1 / left, 1.0)
        for _ in range(CLOSINGS):
            gaps, C = _binding(problem, x)
            if not (np.all(np.isfinite(C)) and np.all(np.isfinite(gaps))):
                return problem.first
            x = x.copy()
            x[:n] -= np.linalg.pinv(C, rcond=RANK) @ (part * gaps)
            part = np.where(held, 0.0, 1.0)
    return x


def _binding(problem: EquilibriumProblem, x: Array) -> tuple[Array, Array]:
    """Return residuals and slopes of the equations that bind coordinates, shapes (m,) and (m, n)."""
    f, J = evaluated(problem, x)
    bound = np.array([kind in BOUND for kind in problem.kinds], dtype=bool)
    return f[bound], J[bound, : problem.dae.n]


def _around(problem: EquilibriumProblem) -> Iterable[Array]:
    """Yield other starts: where the mechanism comes to rest, and where it gets along each of its degrees of freedom."""
    dae = problem.dae
    n_q = dae.n
    first_state = n_q * (2 if problem.moving else 1)
    states = range(first_state, first_state + sum(item.start is not None for item in dae.states))
    # a small shift that differs from unknown to unknown, which leaves singular positions
    uneven = np.zeros(len(problem.first))
    for index, k in enumerate([*range(n_q), *states], 1):
        uneven[k] = UNEVEN * math.sin(index)
    # directions in which the constraints leave the mechanism free, each once
    ways: list[Array] = []
    for k in range(n_q):
        ahead = _way(problem, problem.first, np.eye(n_q)[k])[0]
        if ahead.any() and not any(abs(ahead @ way) > PARALLEL for way in ways) and len(ways) < MOST_STARTS:
            ways.append(ahead / np.linalg.norm(ahead))
    # where it comes to rest; beside the start; and from there along each direction and state; not against stiff springs
    begun = _fastest(problem, problem.first)

    def bends(x: Array, distance: float) -> bool:
        return _fastest(problem, x) - begun > STIFF * distance

    shifted = _walked(problem, problem.first, uneven[:n_q], UNEVEN)
    stiff = bends(shifted, UNEVEN)
    if n_q and not problem.moving and not stiff:
        yield _released(problem, shifted)
    for sign in (1.0, -1.0):
        beside = _walked(problem, problem.first, sign * uneven[:n_q], UNEVEN).copy()
        beside[n_q:] += sign * (uneven * problem.sizes)[n_q:]
        if not stiff:
            yield beside
        for distance in AROUND:
            for way in ways:
                if not bends(_walked(problem, problem.first, sign * way, STEP_ASIDE), STEP_ASIDE):
                    yield _walked(problem, problem.first if stiff else beside, sign * way, distance)
            for k in states:
                moved = beside.copy()
                moved[k] += sign * distance * problem.sizes[k]
                yield moved


def _fastest(problem: EquilibriumProblem, x: Array) -> float:
    """Return the largest acceleration there."""
    f = evaluated(problem, x)[0]
    return float(np.max(np.abs(f[[kind == "acceleration" for kind in problem.kinds]]), initial=0.0))


def _way(problem: EquilibriumProblem, x: Array, ahead: Array) -> tuple[Array, Array]:
    """Return the part of a direction of the coordinates that constraints leave free, and the correction to meet them.

    Both have the shape (n,); the values of coordinates that are held count as constraints.
    """
    n = problem.dae.n
    gaps, C = _binding(problem, x)
    if not (np.all(np.isfinite(C)) and np.all(np.isfinite(gaps))):
        return np.zeros(n), np.zeros(n)
    inverse = np.linalg.pinv(C, rcond=RANK)
    free = ahead - inverse @ (C @ ahead)
    return np.where(np.abs(free) > RANK, free, 0.0), -inverse @ gaps


def _walked(problem: EquilibriumProblem, x: Array, ahead: Array, distance: float) -> Array:
    """Return where the mechanism gets in a direction, with its loops closed all the way.

    Args:
        problem: unknowns and equations.
        x: unknowns at the start.
        ahead: direction of the coordinates, shape (n,).
        distance: how far the fastest coordinate moves, m or rad.
    """
    n, steps = problem.dae.n, math.ceil(distance / LONGEST)
    if not n:
        return x
    # a step along the free part of the direction, then back onto the constraints
    for _ in range(steps):
        free, _ = _way(problem, x, ahead)
        size = float(np.max(np.abs(free), initial=0.0))
        if not size:
            break
        ahead, x = free / size, x.copy()
        x[:n] += distance / steps * ahead
        x[:n] += _way(problem, x, ahead)[1]
    return x


def _released(problem: EquilibriumProblem, x: Array) -> Array:
    """Return about where the mechanism comes to rest if it is released and hardly moves for resistance.

    Each step goes along the accelerations at rest, which are the steepest descent of the potential energy in the metric
    of the mass matrix; its length halves when the direction turns back.
    """
    n, length, last = problem.dae.n, LONGEST, np.zeros(problem.dae.n)
    moved = np.array([kind == "acceleration" for kind in problem.kinds], dtype=bool)
    for _ in range(MOST_STEPS):
        ahead, closing = _way(problem, x, evaluated(problem, x)[0][moved])
        size = float(np.max(np.abs(ahead), initial=0.0))
        if ahead @ last < 0:
            length /= 2
        if length < SHORT or not SETTLED < size < math.inf:
            break
        last, x = ahead, x.copy()
        x[:n] += length * ahead / size + closing
    return x


def _signature(problem: EquilibriumProblem, solution: Found) -> Array:
    """Return numbers that are the same for one equilibrium, whatever full turns and signs of quaternions it came by."""
    dae, at = problem.dae, problem.at(solution.x)
    numbers = list((solution.x / problem.sizes)[dae.n * (2 if problem.moving else 1) :])
    if not dae.n:
        return np.array(numbers)
    y, units = outputs_at(dae, at, whole(dae, at.u, at.p, at.q)), {item.name: item.unit for item in dae.outputs}
    groups: dict[str, list[str]] = {}
    for name in problem.positions:
        groups.setdefault(name.partition("[")[0], []).append(name)
    for names in groups.values():
        values = np.array([y[name] for name in names])
        if units[names[0]] == "rad":
            numbers += [*np.cos(values), *np.sin(values)]
        elif units[names[0]] == "1" and len(names) == QUATERNION:
            numbers += np.outer(values, values).ravel().tolist()
        else:
            numbers += values.tolist()
    return np.array(numbers)


def _is_one(one: Array, other: Array) -> bool:
    return bool(np.max(np.abs(one - other) / np.maximum(1, np.abs(other)), initial=0.0) <= SAME)


def _stable(problem: EquilibriumProblem, solution: Found) -> bool:
    return not np.any(eigenvalues(problem, solution).real > 0)


def eigenvalues(problem: EquilibriumProblem, solution: Found) -> npt.NDArray[np.complex128]:
    """Return the eigenvalues of the linearization there, 1/s, each conjugate pair once; none if it changes in time.

    In a steady motion it does unless only coordinates move whose value the motion does not depend on; sampled blocks of
    several periods change it too.
    """
    dae, at = problem.dae, problem.at(solution.x)
    if _others_move(problem, at) or not lasts(problem, solution):
        return np.zeros(0, dtype=np.complex128)
    try:
        linear = linearized(dae, Point(at.q, at.v, at.z, at.u, whole(dae, at.u, at.p, at.q), 0.0), ())
    except UsageError:  # several periods
        return np.zeros(0, dtype=np.complex128)
    return np.array([mode.eigenvalue for mode in linear.modes], dtype=np.complex128)


def _others_move(problem: EquilibriumProblem, at: Unknowns) -> bool:
    """Return whether coordinates move whose rates are not held."""
    rates = zip(problem.dae.coordinates, at.v, strict=True)
    return any(abs(v) > SETTLED and name not in problem.hold for name, v in rates)


def lasts(problem: EquilibriumProblem, solution: Found) -> bool:
    """Return whether a motion in which the held coordinates alone move stays steady: nothing depends on their values.

    It is not judged where others move, such as quaternions, whose rates change.
    """
    dae, at = problem.dae, problem.at(solution.x)
    if not problem.moving or _others_move(problem, at):
        return True
    p = whole(dae, at.u, at.p, at.q)
    here, *later = (
        np.concatenate(
            [
                column(dae.acceleration(at.q + time * at.v, at.v, at.z, at.u, p, time)[0]),
                column(dae.equations.flow(at.q + time * at.v, at.v, at.z, at.u, p, time)) / dae.nominal_states,
            ]
        )
        for time in LATER
    )
    return all(bool(np.max(np.abs(item - here), initial=0.0) <= STEADY) for item in later)
