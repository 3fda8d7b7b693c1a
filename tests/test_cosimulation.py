"""Coupled runs: the coupling error shrinks with the order of the extrapolation, rollback meets a tolerance."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.cosimulation import couple
from mbfmu.errors import FmuError, StepError, UnknownNameError, UsageError
from mbfmu.fmu.ssp import Wire
from mbfmu.model import Body, Prismatic, System, World, connect

STIFFNESS = 4.0
CROSSED = (Wire("a.rail.s", "b.rail.f", -STIFFNESS), Wire("b.rail.s", "a.rail.f", -STIFFNESS))
"""Each mass is drawn back by where the other one is: moving alike, both swing as cos(2 t)."""


def mass() -> System:
    """A mass of 1 kg on a rail, 1 m from where no force draws it."""
    return System(
        name="mass",
        planar=True,
        components=(World(g=0.0), Prismatic("rail", s=1.0, v=0.0, actuated=True), Body("body", m=1.0, I_33=1.0)),
        connections=(connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "body.frame_a")),
    )


@pytest.fixture(scope="module", params=["python", "native"])
def masses(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("masses") / "mass.fmu"
    mbfmu.export(mass(), path, stepper="rattle", step=1e-3, backend=request.param)
    return {"a": path, "b": path}


def error(masses: dict[str, Path], step: float, **how: Any) -> float:
    """The largest error of the positions over 2 s."""
    found = couple(masses, CROSSED, 2.0, step, outputs=("a.rail.s", "b.rail.s"), **how)
    exact = np.cos(math.sqrt(STIFFNESS) * found.time)
    return max(float(np.abs(found[name] - exact).max()) for name in ("a.rail.s", "b.rail.s"))


@pytest.mark.parametrize("order", ["jacobi", "gauss_seidel"])
@pytest.mark.parametrize("extrapolation", [0, 1])
def test_the_coupling_error_has_the_order_of_the_extrapolation_and_one_more(
    masses: dict[str, Path], order: Any, extrapolation: int
) -> None:
    coarse, fine = (error(masses, step, order=order, extrapolation=extrapolation) for step in (0.02, 0.01))
    measured = math.log2(coarse / fine)
    assert measured > extrapolation + 0.8
    assert fine < (0.2 if extrapolation == 0 else 2e-3)  # one after the other they part, and that grows as exp(2 t)


def test_a_tolerance_is_met_with_steps_that_rollback_chooses(masses: dict[str, Path]) -> None:
    loose, tight = (error(masses, 0.1, extrapolation=1, tolerance=tolerance) for tolerance in (1e-4, 1e-6))
    assert tight < 0.2 * loose
    assert tight < 1e-3
    found = couple(masses, CROSSED, 2.0, 0.1, extrapolation=1, tolerance=1e-5)
    steps = np.diff(found.time)
    assert found.time[-1] == 2.0
    assert steps.min() < 0.9 * steps.max() <= 0.1


def test_steps_done_again_meet_what_both_sides_do_over_the_whole_step(masses: dict[str, Path]) -> None:
    once, twice, often = (error(masses, 0.02, passes=passes) for passes in (1, 2, 6))
    assert twice < 0.2 * once
    assert often < 0.02 * once
    one_after_the_other = error(masses, 0.02, order="gauss_seidel", passes=6)
    assert one_after_the_other == pytest.approx(often, rel=1e-3)  # where they agree, the way there is forgotten
    assert math.log2(often / error(masses, 0.01, passes=6)) == pytest.approx(2.0, abs=0.3)


def test_inputs_may_follow_the_time(masses: dict[str, Path]) -> None:
    """x'' = sin t from rest."""
    found = couple(
        {"a": masses["a"]}, (), 1.0, 1e-3, extrapolation=1, inputs={"a.rail.f": math.sin}, values={"a.rail.s": 0.0}
    )
    np.testing.assert_allclose(found["a.rail.s"], found.time - np.sin(found.time), atol=1e-6)
    assert found.units["a.rail.s"] == "m"


def test_a_number_is_an_input_that_stays_and_a_pair_of_names_is_a_connection(masses: dict[str, Path]) -> None:
    """x'' = 2 from rest."""
    found = couple({"a": masses["a"]}, (), 1.0, 0.1, inputs={"a.rail.f": 2}, values={"a.rail.s": 0.0})
    np.testing.assert_allclose(found["a.rail.s"], found.time**2, atol=1e-9)
    pairs = [(wire.start, wire.end) for wire in CROSSED]
    runs = [couple(masses, ends, 0.1, 0.01) for ends in (pairs, [Wire(*pair) for pair in pairs])]
    assert np.array_equal(runs[0].values, runs[1].values)


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        ({"stop": -1.0}, UsageError, "stop time"),
        ({"step": math.nan}, UsageError, "communication step"),
        ({"order": "gauss"}, UsageError, "no order 'gauss'"),
        ({"extrapolation": 2}, UsageError, "extrapolation = 2"),
        ({"passes": 0}, UsageError, "passes = 0"),
        ({"tolerance": -1e-3}, UsageError, "tolerance"),
        ({"values": {"c.rail.s": 1.0}}, UnknownNameError, "no component 'c'"),
        ({"values": {"a.rail.x": 1.0}}, UnknownNameError, "'a' has no Real variable 'rail.x'"),
        ({"inputs": {"a.rail.s": math.sin}}, UsageError, "is not an input but output"),
        ({"inputs": {"a.rail.f": math.sin}}, UsageError, "connected twice"),
        ({"fmus": {"a": "nothing.fmu", "b": "nothing.fmu"}}, FmuError, "there is no FMU"),
        (
            {"inputs": {"a.rail.f": lambda _: 1e90}, "connections": ()},
            StepError,
            "by 0.01 s: mass: no step from t = 0 s",
        ),
    ],
)
def test_mistakes_are_named(masses: dict[str, Path], change: dict[str, Any], kind: type[Exception], text: str) -> None:
    given: dict[str, Any] = {"fmus": masses, "connections": CROSSED, "stop": 0.1, "step": 0.01, **change}
    run: Callable[..., Any] = couple
    with pytest.raises(kind, match=text):
        run(given.pop("fmus"), given.pop("connections"), given.pop("stop"), given.pop("step"), **given)
