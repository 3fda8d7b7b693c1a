"""Inputs over time: they act as the stepper needs them, whatever the stop time and the output interval."""

import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness import cache_key
from scipy.integrate import solve_ivp
from test_moves import swing

import mbfmu
from mbfmu.errors import FmuError, StepError, UnknownNameError, UsageError
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK, UNFINISHED
from mbfmu.model import Block, Coordinate, Defined, LagrangianSystem, Port, State, System
from mbfmu.prepared.prepare import prepare
from mbfmu.run.inputs import course, courses, formulas, pieces
from mbfmu.run.model import CALL

Array = npt.NDArray[np.float64]

WAVE = "30*sin(12.566*time)"
TIMES = np.array([0.0, 0.1234, 0.35, 0.6, 0.60004, 0.9, 1.3])
FORCES = np.array([5.0, 20.0, -30.0, 10.0, -25.0, 15.0, 0.0])


def wave(t: float) -> float:
    return 30 * math.sin(12.566 * t)


@pytest.fixture(scope="module")
def cart() -> System:
    """A pendulum on a cart that a force drives."""
    found = mbfmu.load("cart_pendulum")
    assert isinstance(found, System)
    return found


@pytest.fixture(scope="module")
def cart_fmus(cart: System, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same as FMUs of both back ends, h = 1 ms."""
    folder = tmp_path_factory.mktemp("cart")
    return {
        backend: mbfmu.export(cart, folder / f"{backend}.fmu", stepper="projected", backend=backend)
        for backend in ("python", "native")
    }


@pytest.fixture
def forces(tmp_path: Path) -> str:
    """A table of forces, with one very steep line."""
    path = tmp_path / "forces.csv"
    rows = "".join(f"{t!r},{f!r}\n" for t, f in zip(TIMES.tolist(), FORCES.tolist(), strict=True))
    path.write_text(f"time,rail.f\n{rows}", encoding="utf-8")
    return str(path)


def exact(force: Callable[[float], float], corners: Array, stop: float = 1.0) -> Array:
    """Return s and phi of cart and pole at the stop time, by equations written by hand, from corner to corner."""
    M, m, length, d, g = 1.0, 0.2, 0.6, 0.1, 9.81
    c, inertia = length / 2, m * length**2 / 3

    def rate(t: float, y: Array) -> list[float]:
        _, phi, v, w = y
        t = min(max(t, start + 1e-12), end - 1e-12)  # a force that jumps at a corner has done so before or does after
        matrix = np.array([[M + m, -m * c * math.sin(phi)], [-m * c * math.sin(phi), inertia]])
        right = [force(t) - d * v + m * c * math.cos(phi) * w**2, -m * g * c * math.cos(phi)]
        return [v, w, *np.linalg.solve(matrix, right)]

    y, times = np.array([0.0, math.pi / 2 - 0.05, 0.0, 0.0]), [0.0, *corners[(corners > 0) & (corners < stop)], stop]
    for start, end in pairwise(times):
        y = solve_ivp(rate, (start, end), y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return np.asarray(y[:2])


def place(source: Any, given: Any, stop: float = 1.0, **choices: Any) -> Array:
    """Return s and phi at 1 s of a run to a stop time."""
    if not isinstance(source, Path):
        choices = {"stepper": "projected", **choices}
    run = mbfmu.simulate(source, stop, inputs={"rail.f": given}, **choices)
    row = np.argmin(np.abs(run.time - 1.0))
    assert run.time[row] == pytest.approx(1.0, abs=1e-12)
    return np.array([run["rail.s"][row], run["hinge.phi"][row]])


# -- what acts between the outputs ----------------------------------------------------------------------------------


def test_the_stop_time_does_not_change_the_motion_under_a_formula(cart: System) -> None:
    expected = exact(wave, np.empty(0))
    for stop in (1.0, 5.0, 20.0):
        np.testing.assert_allclose(place(cart, WAVE, stop), expected, rtol=0, atol=1e-9)


def test_the_output_interval_does_not_change_the_motion_under_a_table(cart: System, forces: str) -> None:
    """A table is met exactly: its lines end where steps end."""
    expected = exact(lambda t: float(np.interp(t, TIMES, FORCES)), TIMES)
    for interval in (1.0, 0.25, 2e-3, None):
        found = place(cart, forces, output_interval=interval)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_a_table_that_holds_its_values_acts_as_steps(cart: System, forces: str) -> None:
    expected = exact(lambda t: float(FORCES[np.searchsorted(TIMES, t, side="right") - 1]), TIMES)
    for interval in (1.0, 0.05):
        found = place(cart, forces, output_interval=interval, input_hold=True)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    run = mbfmu.simulate(cart, 1.0, output_interval=0.05, inputs={"rail.f": forces}, input_hold=True)
    np.testing.assert_array_equal(run["rail.f"][[0, 2, 3, 12, 13, 18, 20]], [5, 5, 20, 10, -25, 15, 15])


def test_a_function_is_followed_by_lines_from_step_to_step(cart: System) -> None:
    """Its error falls with the square of the step, whatever the output interval."""
    expected = exact(wave, np.empty(0))
    errors = []
    for step in (4e-3, 2e-3):
        ends = [place(cart, wave, step=step, output_interval=interval) for interval in (1.0, 0.02)]
        np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-11)
        errors.append(np.abs(ends[0] - expected).max())
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(
    ("stepper", "options", "order", "steps"),
    [("rattle", {}, 2, (4e-3, 2e-3)), ("projected", {"order": 5}, 5, (1e-2, 5e-3)), ("radau", {}, 5, (2e-2, 1e-2))],
)
def test_a_formula_takes_no_order_from_a_stepper(
    stepper: str, options: dict[str, Any], order: int, steps: tuple[float, float], cart: System
) -> None:
    expected = exact(wave, np.empty(0))
    errors = [np.abs(place(cart, WAVE, stepper=stepper, options=options, step=step) - expected).max() for step in steps]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_a_tolerance_sees_a_formula_and_a_function(cart: System) -> None:
    expected = exact(wave, np.empty(0))
    chosen = {"step": 0.1, "tolerance": 1e-9, "output_interval": 1.0}
    np.testing.assert_allclose(place(cart, WAVE, **chosen), expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(place(cart, wave, **{**chosen, "step": 1e-3}), expected, rtol=0, atol=1e-4)


def test_blocks_and_lagrangians_have_formulas_in_their_equations() -> None:
    block = Block("rest", (Port("u"),), (State("x", "u - x"),), (Defined("y", "x + u", output=True),))
    run = mbfmu.simulate(block, 3.0, step=0.05, output_interval=0.5, inputs={"u": "cos(time)"})
    t = run.time
    x = (np.cos(t) + np.sin(t) - np.exp(-t)) / 2
    np.testing.assert_allclose(run["x"], x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["y"], x + np.cos(t), rtol=0, atol=1e-9)
    mass = LagrangianSystem("mass", (Coordinate("x", "m"),), kinetic="der(x)**2/2", inputs={"x": "f"})
    run = mbfmu.simulate(mass, 2.0, stepper="projected", step=0.5, output_interval=0.5, inputs={"f": "6*time"})
    np.testing.assert_allclose(run["x"], run.time**3, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run["f"], 6 * run.time)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_a_motion_given_by_formulas_is_met_exactly(coordinates: str) -> None:
    """Nothing is sampled: rate and acceleration are the derivatives of the formula of the angle."""
    inputs = {"drive.phi": "0.5*sin(2*time)", "drive.w": "cos(2*time)", "drive.a": "-2*sin(2*time)"}
    run = mbfmu.simulate(swing(), 2.0, output_interval=0.1, inputs=inputs, coordinates=coordinates)
    t = run.time
    np.testing.assert_allclose(run["hinge.phi"], 0.5 * np.sin(2 * t), rtol=0, atol=1e-12)
    np.testing.assert_allclose(run["hinge.w"], np.cos(2 * t), rtol=0, atol=1e-10)
    torque = -2 * np.sin(2 * t) / 3 + 9.81 / 2 * np.cos(0.5 * np.sin(2 * t))
    np.testing.assert_allclose(run["drive.tau"], torque, rtol=0, atol=1e-9)
    assert run["constraint.velocity"].max() < 1e-10


def test_a_motion_is_given_by_formulas_alone_or_by_none() -> None:
    inputs: dict[str, Any] = {"drive.phi": "0.5*sin(2*time)", "drive.w": lambda t: math.cos(2 * t)}
    with pytest.raises(UsageError, match=r"inputs drive\.w and drive\.phi describe motions"):
        mbfmu.simulate(swing(), 1.0, inputs=inputs)


# -- kernels --------------------------------------------------------------------------------------------------------


def test_numbers_need_no_equations_of_their_own_and_formulas_have_a_start_of_their_own(cart: System) -> None:
    assert formulas(courses({"rail.f": "2*pi", "other": 3.0, "third": wave})) == {}
    found = formulas(courses({"rail.f": WAVE, "other": "-3"}))
    assert found == {"rail.f": WAVE, "other": "-3.0"}
    keys = {
        cache_key(cart, None, {}, None, False, formulas=given)
        for given in ({}, {"rail.f": "time"}, {"rail.f": "2*time"})
    }
    assert len(keys) == 3


def test_numbers_are_inputs(cart: System) -> None:
    given = [mbfmu.simulate(cart, 0.1, inputs={"rail.f": value}).values for value in (2, 2.0, "2", lambda _: 2.0)]
    for other in given[1:]:
        np.testing.assert_array_equal(other, given[0])


def test_an_unknown_input_is_an_unknown_name_for_every_kind(cart: System) -> None:
    for given in ("time", wave, "3"):
        with pytest.raises(UnknownNameError, match=r"no input 'rail\.g'; did you mean 'rail\.f'"):
            mbfmu.simulate(cart, 1.0, inputs={"rail.g": given})


# -- numbers that are none ------------------------------------------------------------------------------------------


def test_a_formula_that_is_not_finite_between_outputs_is_refused_with_its_time(cart: System) -> None:
    with pytest.raises(UsageError, match=r"input rail\.f is not finite at t = 0\.3"):
        mbfmu.simulate(cart, 1.0, output_interval=0.5, inputs={"rail.f": "sqrt((time - 0.3)*(time - 0.4))"})


def test_a_formula_that_is_not_finite_where_a_first_history_needs_it_is_refused_with_its_time(cart: System) -> None:
    """A multistep method begins with steps backwards in time."""
    with pytest.raises(UsageError, match=r"input rail\.f is not finite at t = -0\.001 s"):
        mbfmu.simulate(cart, 0.1, stepper="direct", options={"method": "abm4"}, inputs={"rail.f": "sqrt(time)"})


@pytest.mark.parametrize("given", [None, "fast", [1.0, 2.0]])
def test_a_function_that_gives_no_number_is_refused_by_name_with_its_time(given: Any, cart: System) -> None:
    with pytest.raises(UsageError, match=rf"input rail\.f: its function gives {re.escape(repr(given))} at t = 0 s"):
        mbfmu.simulate(cart, 1.0, inputs={"rail.f": lambda _: given})


@pytest.mark.parametrize("method", ["abm4", "ab7"])
def test_a_multistep_method_keeps_its_step_under_a_table(method: str, cart: System, forces: str) -> None:
    """Its lines go from step to step, past the corners."""
    run = mbfmu.simulate(
        cart, 1.0, stepper="direct", options={"method": method}, output_interval=0.5, inputs={"rail.f": forces}
    )
    assert run.steps == 1000
    expected = exact(lambda t: float(np.interp(t, TIMES, FORCES)), TIMES)
    assert np.abs([run["rail.s"][-1] - expected[0], run["hinge.phi"][-1] - expected[1]]).max() < 0.05


def test_a_function_that_is_not_finite_between_outputs_is_refused_with_its_time(cart: System) -> None:
    with pytest.raises(UsageError, match=r"input rail\.f is not finite at t = 0\.3"):
        mbfmu.simulate(
            cart, 1.0, output_interval=0.5, inputs={"rail.f": lambda t: math.nan if 0.2995 < t < 0.4 else 0.0}
        )


@pytest.mark.parametrize("given", [math.nan, math.inf, "1/0", "log(0 - 1)"])
def test_a_constant_that_is_not_finite_is_refused(given: Any, cart: System) -> None:
    with pytest.raises(UsageError, match=r"input rail\.f is not finite"):
        mbfmu.simulate(cart, 1.0, inputs={"rail.f": given})


def test_holding_without_a_table_is_refused(cart: System) -> None:
    with pytest.raises(UsageError, match=r"--input-hold is for inputs from \.csv files"):
        mbfmu.simulate(cart, 1.0, inputs={"rail.f": "time"}, input_hold=True)


# -- pieces and lines -----------------------------------------------------------------------------------------------


def test_pieces_end_at_corners_and_corners_at_round_off_count_as_one(tmp_path: Path) -> None:
    path = tmp_path / "u.csv"
    path.write_text("time,u\n0.1,0\n0.3,1\n0.3000000000000004,5\n0.6,2\n", encoding="utf-8")
    table = course("u", str(path))
    assert pieces([table], 0.0, 0.5, 1e-3, False) == [0.0, 0.1, 0.3, 0.5]
    assert pieces([table], 3 * 0.1, 0.6, 1e-3, False) == [3 * 0.1, 0.6]
    values, rates = table.lines([0.0, 0.1, 0.3, 0.6, 1.0])
    assert values == pytest.approx([0.0, 0.0, 5.0, 2.0])
    assert rates == pytest.approx([0.0, 5.0, -10.0, 0.0])
    assert pieces([], 0.0, 0.01, 3e-3, True) == pytest.approx([0.0, 0.0025, 0.005, 0.0075, 0.01])
    assert pieces([], 0.0, 1.0, 1e-3, False) == [0.0, 1.0]


def test_a_line_over_a_step_leaves_out_the_jumps_at_its_ends(tmp_path: Path) -> None:
    """Whatever round-off puts the ends of the steps beside the jumps, which are at tenths."""
    path = tmp_path / "u.csv"
    rows = "".join(f"0.{k},{k - 1}\n0.{k},{-k}\n" for k in range(1, 10))
    path.write_text(f"time,u\n0,0\n{rows}1,9\n", encoding="utf-8")
    for grid in ([k / 10 for k in range(11)], [k * 0.1 for k in range(11)], [1 - (10 - k) * 0.1 for k in range(11)]):
        values, rates = course("u", str(path)).secants(grid)
        assert values == pytest.approx([-k for k in range(10)], abs=1e-12)
        ends = [value + rate * (b - a) for value, rate, (a, b) in zip(values, rates, pairwise(grid), strict=True)]
        assert ends == pytest.approx(range(10), abs=1e-12)


# -- FMUs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["formula", "function", "table", "held table"])
def test_a_native_fmu_follows_the_lines_that_a_model_follows(
    kind: str, cart: System, cart_fmus: dict[str, Path], forces: str
) -> None:
    """It takes derivatives of its inputs: a function leads to the numbers of the model, a formula to lines."""
    given: Any = {"formula": wave, "function": wave}.get(kind, forces)
    hold = kind == "held table"
    outside = mbfmu.simulate(cart, 1.0, stepper="projected", inputs={"rail.f": given}, input_hold=hold)
    inside = mbfmu.simulate(
        cart_fmus["native"], 1.0, inputs={"rail.f": WAVE if kind == "formula" else given}, input_hold=hold
    )
    np.testing.assert_allclose(inside.time, outside.time, rtol=0, atol=1e-12)
    for name in ("rail.f", "rail.s", "hinge.phi", "rail.a", "hinge.w"):
        np.testing.assert_allclose(inside[name], outside[name], rtol=0, atol=1e-11)


@pytest.mark.parametrize("backend", ["python", pytest.param("native", marks=pytest.mark.further)])
def test_the_stop_time_does_not_change_the_motion_of_an_fmu(backend: str, cart_fmus: dict[str, Path]) -> None:
    fmu, expected = cart_fmus[backend], exact(wave, np.empty(0))
    ends = [place(fmu, WAVE, stop) for stop in (1.0, 2.0)]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-10)
    assert np.abs(ends[0] - expected).max() < 1e-4


def test_a_row_of_an_fmu_holds_the_input_that_acts_from_its_time_on(cart: System, cart_fmus: dict[str, Path]) -> None:
    for fmu in cart_fmus.values():
        run = mbfmu.simulate(fmu, 0.2, output_interval=0.05, inputs={"rail.f": WAVE})
        np.testing.assert_allclose(run["rail.f"], [wave(t) for t in run.time], rtol=0, atol=1e-12)
        assert run["rail.a"][0] == pytest.approx(mbfmu.simulate(cart, 0.1)["rail.a"][0], abs=1e-12)


def test_a_step_of_an_fmu_that_fails_under_a_formula_says_when(cart_fmus: dict[str, Path]) -> None:
    for fmu in cart_fmus.values():
        with pytest.raises((StepError, FmuError), match=r"no step from t = 0\.45"):
            mbfmu.simulate(fmu, 1.0, output_interval=0.1, inputs={"rail.f": "1e90*max(0, time - 0.45033)"})
    with pytest.raises(StepError, match=r"takes 1e\+08 steps"):
        mbfmu.simulate(cart_fmus["native"], 1e5, output_interval=1e5)


# -- long intervals -------------------------------------------------------------------------------------------------


class StopError(Exception):
    """What a user's patience raises."""


@pytest.mark.parametrize("choices", [{}, {"tolerance": 1e-6}], ids=["equal", "chosen"])
def test_a_run_can_be_interrupted_within_an_output_interval(choices: dict[str, Any], two_link: System) -> None:
    """Between two calls of the kernel Python is awake: it tells the progress, and hears Ctrl-C."""
    told: list[float] = []

    def impatient(fraction: float) -> None:
        told.append(fraction)
        if len(told) == 3:
            raise StopError

    with pytest.raises(StopError):
        mbfmu.simulate(two_link, 1e5, stepper="projected", output_interval=1e5, progress=impatient, **choices)
    assert 0 < told[0] < told[1] < told[2] < 1e-3


@pytest.mark.parametrize("choices", [{}, {"tolerance": 1e-8}], ids=["equal", "chosen"])
def test_a_long_output_interval_gives_the_motion_of_short_ones(choices: dict[str, Any], cart: System) -> None:
    assert CALL < 2.5 / 1e-3
    for given in (WAVE, wave):
        ends = [
            mbfmu.simulate(
                cart, 2.5, stepper="projected", output_interval=interval, inputs={"rail.f": given}, **choices
            )["rail.s"][-1]
            for interval in (2.5, 0.5)
        ]
        assert ends[0] == pytest.approx(ends[1], abs=1e-8)


@pytest.mark.slow
def test_an_fmu_ends_a_step_that_a_tolerance_makes_endless(tmp_path: Path) -> None:
    quick = Block("quick", (), (State("x", "cos(1000*time)"),), (Defined("y", "x", output=True),))
    path = mbfmu.export(quick, tmp_path / "quick.fmu", stepper="projected", options={"order": 5}, backend="native")
    with pytest.raises((StepError, FmuError), match="takes more than 10000000 steps, of which the last ended at t = "):
        mbfmu.simulate(path, 9e3, output_interval=9e3, tolerance=1e-9)


def test_an_unfinished_call_goes_on_where_it_stands(two_link: System) -> None:
    prepared = prepare(two_link, "projected", {}, 1.0)
    p, u = vector(prepared.outline.p_default()), vector([0.3, -0.2])
    x, kernel = prepared.initial_state(u), prepared.kernel
    whole, status = kernel.control(x, u, vector([0.0, 0.0]), p, 0.0, 1.0, 0.1, 1e-8)
    assert status.code == OK
    t, calls = 0.0, 0
    while t < 1.0:
        x, status = kernel.control(x, u, vector([0.0, 0.0]), p, t, 1.0 - t, 0.1, 1e-8, 5)
        assert status.code == (UNFINISHED if calls < 2 else status.code)
        t, calls = (status.time if status.code == UNFINISHED else 1.0), calls + 1
    assert calls > 3
    *motion, step = x
    *same, as_long = whole
    # the first step of a call follows from its own error alone: other steps, whose errors stay below 1e-8
    np.testing.assert_allclose(motion, same, rtol=0, atol=2e-9)  # measured 2.4e-10
    assert step == pytest.approx(as_long, rel=0.3)
