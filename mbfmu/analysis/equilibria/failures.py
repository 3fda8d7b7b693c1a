"""The errors of a search: what nothing determines, and what remains unmet, with what mends it."""

import numpy as np

from mbfmu.analysis.equilibria.newton import MET, RANK, Found, evaluated
from mbfmu.analysis.equilibria.problem import EquilibriumProblem, Unknowns, outputs_at, position_slopes, whole
from mbfmu.errors import MOST_SAID, EquilibriumError, first_of

SHARE = 0.1
"""Smallest share of an unknown in an undetermined direction, relative to the largest, for a message to name it."""
DECIMALS = 9
"""Number of decimals of a value that a message proposes."""


def outside(problem: EquilibriumProblem, solution: Found) -> str:
    """Return what is outside its bounds; an empty text if all is inside."""
    for name, (least, most) in problem.bounds.items():
        value = solution.x[problem.names.index(name)]
        if not least <= value <= most:
            return f"{name} = {value:g} is outside its bounds {least:g} to {most:g}"
    return ""


def refuse_loose(problem: EquilibriumProblem, solution: Found) -> None:
    """Raise an error if the equations do not determine all unknowns."""
    if solution.rank == len(solution.x):
        return
    dae, missing = problem.dae, len(solution.x) - solution.rank
    shares = np.max(np.abs(solution.loose) / np.max(np.abs(solution.loose), axis=1, keepdims=True), axis=0)
    loose = [name for name, share in zip(problem.names, shares, strict=True) if share > SHARE]
    outputs = {item.name for item in dae.outputs}
    holdable = [name for name in loose if name in outputs] or _moved_outputs(problem, solution)
    freed = [name for name in loose if name in problem.free]
    ways = []
    if holdable:
        at = problem.at(solution.x)
        value = round(_value(problem, at, holdable[0]), DECIMALS)
        ways.append(f"--hold {holdable[0]}={value + 0.0:.4g}")
    if freed:
        ways.append(f"leave {freed[0]} out of --free")
    raise EquilibriumError(
        f"{dae.name}: {_counts(problem)}, and nothing determines {first_of(loose)}: "
        + (f"hold {missing} of them" if len(loose) > 1 else "hold it" if holdable or not freed else "")
        + (", such as " if ways and (holdable or len(loose) > 1) else "")
        + " or ".join(ways)
    )


def _value(problem: EquilibriumProblem, at: Unknowns, name: str) -> float:
    dae, p = problem.dae, whole(problem.dae, at.u, at.p, at.q)
    if name in dae.coordinates:
        return float(at.q[dae.coordinates.index(name)]) + 0.0
    return outputs_at(dae, at, p)[name]


def _moved_outputs(problem: EquilibriumProblem, solution: Found) -> list[str]:
    """Return the joints' coordinates that change along what nothing determines."""
    dae, at = problem.dae, problem.at(solution.x)
    names = [name for name in problem.positions if name not in problem.hold]
    if not (dae.n and names):
        return []
    slopes = position_slopes(dae, at, whole(dae, at.u, at.p, at.q), names)
    moved = np.max(np.abs(slopes @ solution.loose[:, : dae.n].T), axis=1, initial=0.0)
    order = np.argsort(-moved, kind="stable")
    return [names[k] for k in order if moved[k] > SHARE * np.max(moved, initial=0.0) > 0]


def failure(problem: EquilibriumProblem, closest: Found) -> EquilibriumError:
    """Return the error of a search without a result."""
    dae = problem.dae
    if wrong := outside(problem, closest) if closest.met else "":
        return EquilibriumError(f"{dae.name}: the equilibrium found is impossible: {wrong}; free something else")
    if not np.all(np.isfinite(closest.f)):
        return EquilibriumError(
            f"{dae.name}: the equations are not finite at the start; bring the start values nearer to an equilibrium"
        )
    order = [k for k in np.argsort(-closest.gaps, kind="stable") if closest.gaps[k] > MET]
    left = (
        "; ".join(f"{problem.equations[k]} by {abs(closest.f[k]):.3g}" for k in order[:MOST_SAID])
        or "none of them alone"
    )
    helpers = _helpers(problem, closest)
    ways = [f"free what can balance it (--free {helpers[0]})"] if helpers else []
    driven = [name for name in problem.rates if f"{name} = 0" in (problem.equations[k] for k in order)]
    if driven:
        ways.append(f"hold the rate of a steady motion (--hold {driven[0]}=VALUE)")
    if problem.hold:
        ways.append("hold less or other values")
    ways.append("begin nearer to an equilibrium (--set)")
    return EquilibriumError(
        f"{dae.name}: no equilibrium near the start: {_counts(problem)}, and these remain unmet: {left}: "
        + "; or ".join(ways)
    )


def _helpers(problem: EquilibriumProblem, closest: Found) -> list[str]:
    """Return the inputs that could balance what remains, best first: of equal ones those of joints that are held."""
    dae = problem.dae
    others = [item.name for item in dae.inputs if item.name not in (*problem.free, *problem.given)]
    if not others:
        return []
    wider = EquilibriumProblem(dae, problem.start, (*problem.free, *others), {**problem.hold, **problem.given})
    known = dict(zip(problem.names, closest.x, strict=True))
    x = np.array([known.get(name, value) for name, value in zip(wider.names, wider.first, strict=True)])
    f, J = evaluated(wider, x)
    scale = np.divide(closest.gaps, np.abs(closest.f), out=np.ones_like(closest.f), where=closest.f != 0)
    held = {name.rpartition(".")[0] for name in problem.hold}
    columns = [wider.names.index(name) for name in problem.names]

    def left(name: str) -> float:
        some = scale[:, None] * J[:, [*columns, wider.names.index(name)]]
        rest = scale * f - some @ np.linalg.lstsq(some, scale * f, rcond=RANK)[0]
        return round(float(np.linalg.norm(rest) / np.linalg.norm(scale * f)), 3)

    rest = {name: left(name) for name in others}
    return sorted(
        (name for name in others if rest[name] < 1), key=lambda name: (rest[name], name.rpartition(".")[0] not in held)
    )


def _counts(problem: EquilibriumProblem) -> str:
    return f"{len(problem.equations)} equations for {len(problem.names)} unknowns"
