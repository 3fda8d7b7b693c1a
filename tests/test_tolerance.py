"""Error control: the achieved error follows the tolerance, and a call depends on its arguments alone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import DEFAULTS, label, thorough

import mbfmu
from mbfmu.errors import FmuError, StartError, StepError, StepperError, UsageError
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import NOT_ACCURATE, OK
from mbfmu.model import System
from mbfmu.prepared.prepare import prepare

REFERENCE = json.loads((Path(__file__).parent / "references" / "two_link.json").read_text(encoding="utf-8"))
ANGLES = ("shoulder.phi", "elbow.phi")
CONTROLLED = [
    *(scheme for scheme in DEFAULTS if scheme[0] not in {"gauss", "block"}),
    ("gauss", {"projection": "symmetric"}),
    ("direct", {"method": "dopri5"}),
    ("projected", {"order": 8}),
    ("lobatto", {"stages": 4}),
]
"""All but gauss without projection, whose own error grows faster than any step can help."""


def error_of(system: System, scheme: tuple[str, Mapping[str, Any]], tolerance: float) -> float:
    """Return the error of the joint angles after 2 s, in one output interval."""
    result = mbfmu.simulate(
        system, 2.0, stepper=scheme[0], options=scheme[1], step=1.0, tolerance=tolerance, output_interval=2.0
    )
    return max(abs(result[name][-1] - float(REFERENCE[name][-1])) for name in ANGLES)


@pytest.mark.parametrize("scheme", CONTROLLED, ids=label)
def test_the_achieved_error_follows_the_tolerance(scheme: tuple[str, Mapping[str, Any]], two_link: System) -> None:
    """The motion itself carries errors on: at most tenfold here; methods of order 2 come to round-off below 1e-8."""
    order = prepare(two_link, scheme[0], scheme[1], 1.0).scheme.order
    tolerances = (1e-4, 1e-6, 1e-8, 1e-10) if order > 2 else (1e-4, 1e-6, 1e-8)
    errors = [error_of(two_link, scheme, tolerance) for tolerance in tolerances]
    for tolerance, error in zip(tolerances, errors, strict=True):
        assert error < 10 * tolerance
    slope = np.log10(errors[0] / errors[-1]) / np.log10(tolerances[0] / tolerances[-1])
    assert 0.8 < slope < 1.4


def test_a_tolerance_that_round_off_does_not_allow_is_refused_with_the_remedy(two_link: System) -> None:
    with pytest.raises(StepError, match=r"meets solver\.tolerance.*stepper of higher order"):
        error_of(two_link, ("rattle", {}), 1e-13)


def test_a_tolerance_out_of_reach_keeps_the_state(two_link: System) -> None:
    prepared = prepare(two_link, "rattle", {}, 1.0)
    p, u = vector(prepared.dae.p_default()), vector([0.0, 0.0])
    x = prepared.initial_state(u)
    x1, status = prepared.kernel.control(x, u, u, p, 0.0, 0.01, 0.01, 1e-15)
    assert status.code == NOT_ACCURATE
    assert bytes(x1) == bytes(x)


@pytest.mark.parametrize(("name", "options"), [("projected", {"order": 8}), ("projected", {}), ("rattle", {})])
def test_a_restored_state_chooses_the_same_steps_again(name: str, options: dict[str, Any], two_link: System) -> None:
    """The step chosen last is part of the state: calls go on with it, and a rollback is exact to the last bit."""
    prepared = prepare(two_link, name, options, 1.0)
    p, u = vector(prepared.dae.p_default()), vector([3.0, -1.0])
    kernel = prepared.kernel
    start = kernel.control(prepared.initial_state(u), u, u, p, 0.0, 0.1, 1.0, 1e-7)[0]
    ends = []
    for _ in range(2):
        x = start
        for k in range(5):
            x, status = kernel.control(x, u, u, p, 0.1 + 0.03 * k, 0.03, 1.0, 1e-7)
            assert status.code == OK
        ends.append(bytes(x))
    assert ends[0] == ends[1]
    fresh = vector([*start[:-1], 0.0])
    others = (kernel.control(item, u, u, p, 0.1, 0.5, 1.0, 1e-7)[0] for item in (fresh, start))
    assert len({bytes(item) for item in others}) == 2  # what was chosen before decides


@pytest.mark.parametrize(("name", "options"), [("projected", {"order": 8}), ("projected", {}), ("rattle", {})])
@pytest.mark.parametrize("sliver", [1e-8, 1e-10, 1e-13])
def test_a_sliver_of_a_span_is_one_step_and_leaves_the_chosen_step_as_it_was(
    sliver: float, name: str, options: dict[str, Any], two_link: System
) -> None:
    """A master that sums its steps ends with such a rest, of which round-off leaves no estimate."""
    prepared = prepare(two_link, name, options, 0.01)
    p, u = vector(prepared.dae.p_default()), vector([3.0, -1.0])
    kernel, x, t, steps = prepared.kernel, prepared.initial_state(u), 0.0, 0.0
    assert kernel.control(x, u, u, p, t, sliver, 0.01, 1e-6)[1].substeps == 1  # also before any other
    for _ in range(20):
        x, status = kernel.control(x, u, u, p, t, 0.01, 0.01, 1e-6)
        t, steps, chosen = t + 0.01, steps + status.substeps, x[-1]
        x, status = kernel.control(x, u, u, p, t, sliver, 0.01, 1e-6)
        t += sliver
        assert (status.code, status.substeps) == (OK, 1)
        assert x[-1] >= chosen
    assert steps < 400


@pytest.mark.parametrize(("name", "options"), [("rattle", {}), ("projected", {"order": 8})])
def test_slivers_between_steps_neither_refuse_nor_multiply_the_steps_of_a_loop(
    name: str, options: dict[str, Any]
) -> None:
    """What round-off leaves of the constraints is a large rate over so short a time."""
    prepared = prepare(mbfmu.load("slider_crank"), name, options, 0.01, coordinates="absolute")
    p, u = vector(prepared.dae.p_default()), vector(prepared.dae.u_default())
    counts = []
    for sliver in (0.0, 1e-9, 1e-13):
        x, t, steps = prepared.initial_state(u), 0.0, 0.0
        for span in [0.01, sliver] * 10 if sliver else [0.01] * 10:
            x, status = prepared.kernel.control(x, u, vector([0.0] * len(u)), p, t, span, 0.01, 1e-7)
            assert status.code == OK
            t, steps = t + span, steps + status.substeps
        counts.append(steps)
    assert counts[1] == pytest.approx(counts[0] + 10, abs=2)
    assert counts[2] == pytest.approx(counts[0] + 10, abs=2)


def test_an_embedded_estimate_replaces_the_two_half_steps(two_link: System) -> None:
    """A step of order 8 with its own estimate solves its stage once; a whole and two half steps, three times."""
    prepared = prepare(two_link, "projected", {"order": 8}, 0.1, coordinates="absolute")
    assert prepared.scheme.estimate_order == 7
    p, u = vector(prepared.dae.p_default()), vector([3.0, -1.0])
    x = prepared.initial_state(u)
    _, equal = prepared.kernel.advance(x, u, u, p, 0.0, 0.01, 1)
    _, chosen = prepared.kernel.control(x, u, u, p, 0.0, 0.01, 0.01, 1e-2)
    assert chosen.substeps == 1
    assert chosen.iterations == equal.iterations


@pytest.mark.parametrize(
    "scheme",
    [("direct", {"method": "dopri5"}), ("projected", {"order": 8}), ("radau", {"stages": 3})],
    ids=label,
)
def test_few_steps_are_repeated(scheme: tuple[str, Mapping[str, Any]], two_link: System) -> None:
    """By the errors of two steps: 3 to 7 of 100, where by that of the last step alone it is 18 to 28."""
    prepared = prepare(two_link, *scheme, 1.0)
    p, u = vector(prepared.dae.p_default()), vector([0.0, 0.0])
    given = (prepared.initial_state(u), u, u, p, 0.0, 10.0, 1.0, 1e-6)
    end, whole = prepared.kernel.control(*given)
    same, status = prepared.kernel.control(*given, int(1.12 * whole.substeps))
    assert status.code == OK
    assert status.substeps == whole.substeps > 50
    assert same[:] == end[:]


def test_no_step_is_longer_than_solver_step(two_link: System) -> None:
    prepared = prepare(two_link, "projected", {"order": 8}, 1.0)
    p, u = vector(prepared.dae.p_default()), vector([0.0, 0.0])
    _, status = prepared.kernel.control(prepared.initial_state(u), u, u, p, 0.0, 1.0, 0.01, 1e-2)
    assert status.substeps >= 100


def test_an_fmu_with_a_tolerance_equals_the_kernel_and_the_tolerance_is_tunable(
    two_link: System, tmp_path: Path
) -> None:
    chosen = {"step": 0.05, "tolerance": 1e-7}
    path = mbfmu.export(two_link, tmp_path / "arm.fmu", stepper="projected", **chosen)
    assert mbfmu.check(path) == []
    inside = mbfmu.simulate(path, 1.0, output_interval=0.1)
    outside = mbfmu.simulate(two_link, 1.0, stepper="projected", output_interval=0.1, **chosen)
    loose = mbfmu.simulate(path, 1.0, output_interval=0.1, tolerance=1e-3)
    for name in ANGLES:
        assert inside[name] == pytest.approx(outside[name], abs=1e-13)
        assert 1e-9 < np.abs(inside[name] - loose[name]).max() < 1e-2


@pytest.mark.parametrize(
    ("name", "options"),
    thorough(
        [("block", {}), ("direct", {"method": "abm4"}), ("direct", {"method": "ab7"})], lambda name, _: name == "block"
    ),
)
def test_multistep_methods_refuse_a_tolerance(
    name: str, options: dict[str, str], two_link: System, tmp_path: Path
) -> None:
    """Their first history is no better than the step it was made with."""
    with pytest.raises(StepperError, match="cannot choose its steps by a tolerance"):
        mbfmu.simulate(two_link, 1.0, stepper=name, options=options, tolerance=1e-6)
    path = mbfmu.export(two_link, tmp_path / "arm.fmu", stepper=name, options=options)
    with pytest.raises(FmuError, match=r"solver\.tolerance = 1e-06: outside its bounds \[0\.0, 0\.0\]"):
        mbfmu.simulate(path, 0.1, tolerance=1e-6)


def test_a_history_that_cannot_be_made_is_refused_with_the_remedy(two_link: System) -> None:
    with pytest.raises(StartError, match="first history with a step of 1e\\+100 s; take a smaller step"):
        mbfmu.simulate(two_link, 2e100, stepper="direct", options={"method": "abm4"}, step=1e100)


@pytest.mark.parametrize("tolerance", [-1e-6, 0.2, float("nan"), float("inf")])
def test_a_tolerance_that_is_none_is_refused(tolerance: float, two_link: System) -> None:
    with pytest.raises(UsageError, match="the tolerance is"):
        mbfmu.simulate(two_link, 1.0, tolerance=tolerance)
