"""Corrections come to rest at the round-off of the coordinates, however large these are."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from harness import DEFAULTS, ENDS, both_kernels, label, run, thorough
from mechanisms import distant_arm

import mbfmu
from mbfmu.kernel import vector
from mbfmu.prepared.prepare import prepare

Scheme = tuple[str, Mapping[str, Any]]

DISTANCE = 1e7
"""Distance of a mechanism from the origin, m: positions there are multiples of 1.9e-9 m."""
VELOCITIES = "moreau"
"""The stepper that finds velocities instead of displacements, to less than positions there allow."""
ANGLES = ("shoulder.phi", "elbow.phi")


def moved(distance: float, scheme: Scheme) -> list[float]:
    """Return the angles of an arm, in absolute coordinates, after 0.1 s."""
    end = run(prepare(distant_arm(distance), scheme[0], scheme[1], 1e-3, coordinates="absolute"), 0.1, 1e-3)
    return [end.y[name] for name in ANGLES]


@pytest.mark.parametrize(
    "scheme",
    thorough(((item,) for item in ENDS if item[0] != VELOCITIES), lambda scheme: scheme in DEFAULTS),
    ids=label,
)
def test_a_mechanism_far_from_the_origin_moves_as_one_near_it(scheme: Scheme) -> None:
    """Measured differences are up to 5e-9 rad; `block` goes on from a history, which adds them up: 1.1e-5 rad."""
    assert moved(DISTANCE, scheme) == pytest.approx(moved(1.0, scheme), abs=1e-4 if scheme[0] == "block" else 1e-7)


@pytest.mark.parametrize("iteration", ["newton", "simplified"])
def test_both_kernels_come_to_rest_far_from_the_origin(iteration: str) -> None:
    prepared = prepare(distant_arm(DISTANCE), "rattle", {"iteration": iteration}, 1e-3, coordinates="absolute")
    compiled, interpreted = (run(prepared, 0.05, 1e-3, kernel=kernel) for kernel in both_kernels(prepared))
    assert compiled.status.iterations == pytest.approx(interpreted.status.iterations, abs=5)
    assert [compiled.y[name] for name in ANGLES] == pytest.approx([interpreted.y[name] for name in ANGLES], abs=1e-6)


def test_a_long_chain_takes_no_more_corrections_than_a_short_one() -> None:
    found = []
    for N in (8, 64):
        links = mbfmu.load("chain", {"N": N, "spatial": True})
        prepared = prepare(links, "rattle", {"iteration": "simplified"}, 1e-3, coordinates="absolute")
        kernel, p, s = prepared.kernel, vector(prepared.dae.p_default()), prepared.dae.s_default()
        names = [item.name for item in prepared.dae.start.starts]
        for i in range(1, N + 1):
            s[names.index(f"joint{i}.w")] = 0.1 * math.sin(i)
        nothing = vector([0.0] * len(prepared.dae.inputs))
        x, _ = kernel.initialize(vector(s), nothing, p, 0.0, 1e-3)
        _, status = kernel.advance(x, nothing, nothing, p, 0.0, 1e-3, 600)
        found.append(status.iterations)
    assert found[1] <= found[0]
