"""Linearization: eigenvalues in closed form, the same in both coordinates, the slopes of the motion itself."""

import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.signal
from harness import thorough
from test_moves import swing

import mbfmu
from mbfmu.analysis.linearization import Linear
from mbfmu.errors import FmuError, ResultWarning, UnknownNameError, UsageError
from mbfmu.model import Block, Defined, RotationalDamper, Sampled, Subsystem, System

PENDULUM_DOWN = {"shoulder.phi": -math.pi / 2, "elbow.phi": 0.0}
LOOPS = {"slider_crank": {"crank.phi": -math.pi / 2 + 0.3}, "four_bar": {}, "crane": {}}


@pytest.mark.parametrize("torque", [0.0, 2.0])
def test_a_form_at_the_equilibrium_is_that_of_the_start_in_it(torque: float) -> None:
    there = {"inputs": {"shoulder.tau": torque}} if torque else {}
    form = mbfmu.linearize("two_link", {"shoulder.phi": -1.0}, at="equilibrium", **there)
    assert form.rest < 1e-9
    rest = mbfmu.equilibrium("two_link", hold={"shoulder.tau": torque}, values={"shoulder.phi": -1.0})
    begun = mbfmu.linearize("two_link", rest.values)
    np.testing.assert_allclose(form.A, begun.A, atol=1e-9)
    assert mbfmu.linearize("two_link", {"shoulder.phi": -1.0}, **there).rest > 1.0


def test_a_form_at_an_equilibrium_in_which_a_joint_is_held_is_that_of_the_start_in_it() -> None:
    held = {"hold": {"shoulder.phi": 0.5}, "free": ("shoulder.tau",)}
    form = mbfmu.linearize("two_link", {"elbow.phi": -2.0}, at="equilibrium", **held)
    assert form.rest < 1e-9
    rest = mbfmu.equilibrium("two_link", values={"elbow.phi": -2.0}, **held)
    assert rest.values["shoulder.phi"] == pytest.approx(0.5, abs=1e-12)
    np.testing.assert_allclose(form.A, mbfmu.linearize("two_link", rest.values).A, atol=1e-9)
    with pytest.raises(UsageError, match="--hold and --free-input are for --at equilibrium"):
        mbfmu.linearize("two_link", hold={"shoulder.phi": 0.5})


def test_a_double_pendulum_at_rest_has_the_frequencies_of_its_mass_and_stiffness_matrix(two_link: System) -> None:
    """M x'' + S x = 0 about hanging, from the textbook matrices of two uniform rods."""
    l1, l2, m1, m2, g = 1.0, 2.0, 1.0, 1.0, 9.8
    M = np.array([
        [m1 * l1**2 / 3 + m2 * (l1**2 + l2**2 / 3 + l1 * l2), m2 * (l2**2 / 3 + l1 * l2 / 2)],
        [m2 * (l2**2 / 3 + l1 * l2 / 2), m2 * l2**2 / 3],
    ])  # fmt: skip
    S = g * np.array([[m1 * l1 / 2 + m2 * (l1 + l2 / 2), m2 * l2 / 2], [m2 * l2 / 2, m2 * l2 / 2]])
    expected = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, S)).real))
    found = mbfmu.linearize(two_link, PENDULUM_DOWN)
    assert found.rest < 1e-12
    assert found.states == ("shoulder.phi", "elbow.phi", "der(shoulder.phi)", "der(elbow.phi)")
    values = found.eigenvalues
    np.testing.assert_allclose(values.real, 0, atol=1e-12)
    np.testing.assert_allclose(np.sort(values.imag)[2:], expected, rtol=1e-12)
    np.testing.assert_allclose(found.B[2:], np.linalg.inv(M), rtol=1e-12)


def test_damping_shows_in_the_real_parts(two_link: System) -> None:
    damped = System(
        "damped", (*two_link.components, RotationalDamper("d", joint="elbow", d=0.5)), two_link.connections,
        parameters=two_link.parameters, planar=True,
    )  # fmt: skip
    assert mbfmu.linearize(damped, PENDULUM_DOWN).eigenvalues.real.max() < -1e-3


@cache
def hanging(name: str, coordinates: str) -> Linear:
    """A closed loop about a position in which its inputs hold it at rest."""
    model = mbfmu.load(name).with_values(LOOPS[name])
    plain = mbfmu.linearize(model, coordinates="joint")
    rows = slice(len(plain.states) // 2, None)
    first = mbfmu.linearize(model, coordinates="joint", outputs=accelerations(plain))
    rest = first.y0
    u = -np.linalg.solve(plain.B[rows], rest)
    return mbfmu.linearize(model, inputs=dict(zip(plain.inputs, u.tolist(), strict=True)), coordinates=coordinates)


def accelerations(linear: Linear) -> tuple[str, ...]:
    """The accelerations of the states, by the names of the joints' outputs."""
    places = linear.states[: len(linear.states) // 2]
    return tuple(f"{name.rpartition('.')[0]}.a" for name in places)


@pytest.mark.parametrize("name", thorough(zip(LOOPS), lambda name: name != "crane"))
def test_in_an_equilibrium_both_coordinates_have_the_same_eigenvalues_and_transfer_function(name: str) -> None:
    joint, absolute = hanging(name, "joint"), hanging(name, "absolute")
    assert max(joint.rest, absolute.rest) < 1e-9
    np.testing.assert_allclose(
        np.sort_complex(joint.eigenvalues**2), np.sort_complex(absolute.eigenvalues**2), rtol=1e-8, atol=1e-8
    )
    for s in (0.3, 2j, 1 + 5j):
        one, other = (
            item.C @ np.linalg.solve(s * np.eye(len(item.A)) - item.A, item.B) + item.D for item in (joint, absolute)
        )
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["slider_crank", "arm6", "rolling_disk"])
def test_a_small_deviation_moves_as_the_linear_system(name: str) -> None:
    """Two runs that start close to each other, over 1 ms: their difference by Taylor series with A, to second order."""
    model = mbfmu.load(name)
    linear = mbfmu.linearize(model)
    n, half = len(linear.states), len(linear.states) // 2
    first, away = linear.states[0], 1e-5
    dx = np.zeros(n)
    dx[0] = away
    ends = []
    for value in (linear.x0[0], linear.x0[0] + away):
        run = mbfmu.simulate(model.with_values({first: value}), 1e-3, stepper="direct", step=1e-4, output_interval=1e-3)
        ends.append(np.array([run[item][-1] for item in linear.states[:half] if item in run.names]))
    moved = (dx + 1e-3 * linear.A @ dx)[:half]
    shown = [k for k, item in enumerate(linear.states[:half]) if item in run.names]
    np.testing.assert_allclose(ends[1] - ends[0], moved[shown], rtol=1e-3, atol=1e-9)


def test_files_hold_the_matrices(two_link: System, tmp_path: Path) -> None:
    linear = mbfmu.linearize(two_link)
    read = json.loads(linear.write(tmp_path / "arm.json").read_text(encoding="utf-8"))
    packed = np.load(linear.write(tmp_path / "arm.npz"))
    for name in ("A", "B", "C", "D"):
        assert np.array_equal(read[name], getattr(linear, name))
        assert np.array_equal(packed[name], getattr(linear, name))
    assert tuple(read["states"]) == tuple(packed["states"]) == linear.states
    with pytest.raises(UsageError, match=r"must end in \.npz or \.json"):
        linear.write(tmp_path / "arm.mat")


def test_what_is_not_there_is_named(two_link: System) -> None:
    with pytest.raises(UnknownNameError, match=r"no input 'shoulder.tou'; did you mean 'shoulder.tau'"):
        mbfmu.linearize(two_link, inputs={"shoulder.tou": 1.0})
    with pytest.raises(UnknownNameError, match=r"no output 'elbow\.fi'"):
        mbfmu.linearize(two_link, outputs=("elbow.fi",))
    with pytest.raises(UsageError, match="finite"):
        mbfmu.linearize(two_link, inputs={"shoulder.tau": math.nan})


@pytest.mark.parametrize(("model", "name"), [("two_link", "shoulder.w"), ("hydraulic_servo", "p_a")])
def test_values_beyond_what_the_equations_bear_are_refused(model: str, name: str) -> None:
    with pytest.raises(UsageError, match="not finite at these values; take smaller ones"):
        mbfmu.linearize(mbfmu.load(model), {name: 1e308})


# -- modes -----------------------------------------------------------------------------------------------------------


def test_modes_of_the_weakest_spring_are_found_in_silence() -> None:
    """SciPy's balancing warns there, and warnings are errors here."""
    linear, A = mbfmu.linearize("two_link"), np.array([[0.0, 1.0], [-1e-40, 0.0]])
    weak = replace(linear, A=A, states=("s", "der(s)"), coordinates=("s",), q0=np.zeros(1), V=np.eye(1, 2))
    assert all(abs(mode.eigenvalue) <= 2e-20 for mode in weak.modes)


@pytest.mark.parametrize("name", ["two_link", "four_bar", "crane", "arm6"])
def test_a_mode_is_a_motion_that_keeps_its_shape(name: str) -> None:
    linear = mbfmu.linearize(name, LOOPS.get(name))
    size = np.linalg.norm(linear.A, 2)
    for mode in linear.modes:
        np.testing.assert_allclose(linear.A @ mode.shape, mode.eigenvalue * mode.shape, atol=1e-7 * size)
        assert np.abs(mode.shape).max() == pytest.approx(1.0)
        assert mode.shares.sum() == pytest.approx(1.0)
    values = [mode.eigenvalue for mode in linear.modes]
    left = [*values, *(value.conjugate() for value in values if value.imag)]
    assert len(left) == len(linear.eigenvalues)
    for value in linear.eigenvalues:
        nearest = min(left, key=lambda other: abs(other - value))
        assert abs(nearest - value) < 1e-7 * size
        left.remove(nearest)


def damped(ratio: float) -> Linear:
    """An oscillator of 10 rad/s."""
    return Linear(
        np.array([[0.0, 1.0], [-100.0, -20.0 * ratio]]), np.zeros((2, 0)), np.zeros((0, 2)), np.zeros((0, 0)),
        ("x", "der(x)"), (), (), np.zeros(2), np.zeros(0), np.zeros(0), 0.0, ("x",), np.zeros(1), np.eye(1, 2),
    )  # fmt: skip


@pytest.mark.parametrize("ratio", [-0.1, 1e-10, 1e-3, 0.5, 1.0])
def test_the_damping_ratio_of_an_oscillator_is_found_down_to_round_off(ratio: float) -> None:
    mode = damped(ratio).modes[0]  # two of one eigenvalue where the damping is critical
    assert mode.damping == pytest.approx(ratio, rel=1e-4)
    assert mode.frequency == pytest.approx(10 / math.tau * math.sqrt(1 - ratio**2), abs=1e-6)


def test_damping_that_is_round_off_is_zero_in_every_model_without_damping() -> None:
    down = {"shoulder.phi": -math.pi / 2, "elbow.phi": 0.0}
    seen = 0.0
    for turn in (0.0, 1e-9, 0.3):
        linear = mbfmu.linearize("two_link", {**down, "shoulder.phi": down["shoulder.phi"] + turn})
        turned = np.random.default_rng(0).normal(size=(4, 4))  # the same system in other states, with their rounding
        A = np.linalg.solve(turned, linear.A @ turned)
        mixed = Linear(
            A, linear.B, linear.C, linear.D, linear.states, (), (), linear.x0, linear.u0, linear.y0, 0.0, (),
            np.zeros(0), np.zeros((0, 4)),
        )  # fmt: skip
        seen = max(seen, float(np.abs(mixed.eigenvalues.real).max()))
        assert [mode.damping for mode in (*linear.modes, *mixed.modes)] == [0.0] * 4
    assert seen > 0  # measured 5e-15: there was something to leave out


def test_shares_say_which_states_a_mode_is_made_of() -> None:
    """Two oscillators that hardly touch each other: each mode is one of them."""
    A = np.zeros((4, 4))
    A[:2, 2:], A[2:, :2] = np.eye(2), [[-1.0, 1e-6], [1e-6, -25.0]]
    empty = np.zeros(0)
    slow, fast = Linear(
        A, np.zeros((4, 0)), np.zeros((0, 4)), np.zeros((0, 0)), ("a", "b", "der(a)", "der(b)"), (), (), np.zeros(4),
        empty, empty, 0.0, (), empty, np.zeros((0, 4)),
    ).modes  # fmt: skip
    np.testing.assert_allclose(slow.shares, [0.5, 0, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(fast.shares, [0, 0.5, 0, 0.5], atol=1e-6)


# -- chosen states, later states, FMUs -------------------------------------------------------------------------------


@pytest.mark.parametrize("states", [("boom.phi", "jib.phi"), ("lift.s", "tilt.s"), ("boom.phi", "tilt.s")])
def test_any_coordinates_that_determine_the_others_can_be_states(states: tuple[str, str]) -> None:
    usual = hanging("crane", "joint")
    inputs = dict(zip(usual.inputs, usual.u0.tolist(), strict=True))
    found = mbfmu.linearize("crane", inputs=inputs, states=states, coordinates="joint")
    assert set(found.states) == {*states, *(f"der({name})" for name in states)}
    s = 1 + 2j
    one, other = (item.C @ np.linalg.solve(s * np.eye(4) - item.A, item.B) + item.D for item in (usual, found))
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_states_that_cannot_be_chosen_are_refused_with_those_that_can() -> None:
    with pytest.raises(UsageError, match="crane has 2 degrees of freedom: name 2 coordinates"):
        mbfmu.linearize("crane", states=("boom.phi",))
    with pytest.raises(UsageError, match=r"do not determine the other coordinates here: take others, such as \w+"):
        mbfmu.linearize("crane", states=("boom.phi", "lift.s"), coordinates="joint")  # of one loop
    with pytest.raises(UnknownNameError, match=r"no coordinate 'bom\.phi'; did you mean 'boom\.phi'"):
        mbfmu.linearize("crane", states=("bom.phi", "jib.phi"))


def test_a_later_state_of_a_run_is_linearized_as_a_start_there() -> None:
    names, inputs = ("shoulder.phi", "elbow.phi", "shoulder.w", "elbow.w"), {"shoulder.tau": "3*time"}
    model = mbfmu.load("two_link")
    run = mbfmu.simulate(model, 0.2, step=1e-3, inputs=inputs)
    there = {name: float(run[name][-1]) for name in names}
    late = mbfmu.linearize(model, inputs=inputs, at=0.2)
    start = mbfmu.linearize(model, there, inputs={"shoulder.tau": 0.6})
    assert late.t0 == 0.2
    for name in ("A", "B", "C", "D", "x0", "u0", "y0"):
        np.testing.assert_allclose(getattr(late, name), getattr(start, name), rtol=1e-7, atol=1e-7)
    with pytest.raises(UsageError, match=r"the time of the point is -1\.0 s"):
        mbfmu.linearize(model, at=-1.0)


@pytest.mark.parametrize("motion", [(0.3, 0.5, 0.2), ("0.3+0.5*time+0.1*time**2", "0.5+0.2*time", "0.2")])
@pytest.mark.parametrize("at", [None, 0.1])
def test_a_given_motion_is_where_a_run_has_it(motion: tuple[float | str, ...], at: float | None) -> None:
    """Measured: the same to the bit."""
    inputs = dict(zip(("drive.phi", "drive.w", "drive.a"), motion, strict=True))
    run = mbfmu.simulate(swing(), 0.1, inputs=inputs)
    found = mbfmu.linearize(swing(), inputs=inputs, at=at)
    expected = [run[name][-1 if at else 0] for name in found.outputs]
    assert found.states == ()
    np.testing.assert_allclose(found.y0, expected, rtol=1e-10, atol=1e-10)


def test_an_fmu_has_the_state_space_form_of_its_model(two_link_fmu: Path, tmp_path: Path) -> None:
    model = mbfmu.load("two_link")
    path = mbfmu.export(model, tmp_path / "native.fmu", backend="native", stepper="rattle")
    values, inputs = {"shoulder.phi": -1.2, "elbow.phi": 0.4, "elbow.w": 0.7}, {"elbow.tau": 2.0}
    expected = mbfmu.linearize(model, values, inputs=inputs)
    found = mbfmu.linearize(path, values, inputs=inputs, outputs=expected.outputs)
    order = [found.states.index(name) for name in ("shoulder.phi", "elbow.phi", "shoulder.w", "elbow.w")]
    assert found.inputs == expected.inputs
    np.testing.assert_allclose(found.A[np.ix_(order, order)], expected.A, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.B[order], expected.B, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.C[:, order], expected.C, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.D, expected.D, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.y0, expected.y0, rtol=1e-9, atol=1e-9)
    assert found.rest == pytest.approx(expected.rest, rel=1e-9)
    with pytest.raises(FmuError, match="gives no directional derivatives: export it with --backend native"):
        mbfmu.linearize(two_link_fmu)
    with pytest.raises(UsageError, match="is an FMU, which is linearized about its start: leave at out"):
        mbfmu.linearize(path, at=1.0)
    with pytest.raises(UnknownNameError, match=r"has no variable 'elbow\.fi'"):
        mbfmu.linearize(path, {"elbow.fi": 1.0})


@pytest.mark.parametrize(
    ("model", "fmi", "told"),
    [
        ("hydraulic_monolith", "2.0", r"states whose time derivatives are not variables \(p2, u, du\)"),
        ("bouncing_ball", "2.0", r"has events \(ground\.closed, ground\.impacts, events\.count\)"),
        ("sampled_pid", "2.0", r"has events \(pid\.e, pid\.again"),
        ("sampled_pid", "3.0", r"has events \(.*\.clock"),
    ],
)
def test_an_fmu_tells_of_what_its_form_leaves_out(model: str, fmi: str, told: str, tmp_path: Path) -> None:
    path = mbfmu.export(mbfmu.load(model), tmp_path / "left_out.fmu", backend="native", fmi=fmi)
    with pytest.warns(ResultWarning) as found:
        mbfmu.linearize(path)
    assert any(re.search(told, str(item.message)) for item in found)


# -- sampled data --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [0.002, 0.1])
def test_held_inputs_give_the_matrices_of_a_zero_order_hold(period: float) -> None:
    plain = mbfmu.linearize("cart_pendulum")
    found = mbfmu.linearize("cart_pendulum", period=period)
    A, B, C, D, _ = scipy.signal.cont2discrete((plain.A, plain.B, plain.C, plain.D), period)
    for one, other in ((found.A, A), (found.B, B), (found.C, C), (found.D, D)):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-14)
    assert found.eigenvalues == pytest.approx(plain.eigenvalues, abs=1e-9)
    assert found.period == period


def test_a_model_with_sampled_blocks_has_the_slopes_of_its_own_motion_over_a_period() -> None:
    """By finite differences of two simulations, on another route than the matrices."""
    balanced = 0.9 + 9.81 / 2 * math.sin(0.9) / 60  # so that the gain alone carries the rod's weight
    start = {"phi": 0.9, "Ki": 0.0, "Kd": 0.0, "ref": balanced}

    def after(**more: float) -> np.ndarray[Any, Any]:
        run = mbfmu.Simulation("sampled_pid", stepper="radau", step=1e-4, values={**start, **more})
        run.step(None, 1e-3)
        return np.array([run["phi"], run["omega"]])

    form, small = mbfmu.linearize("sampled_pid", start), 1e-6
    slopes = [
        (after(phi=0.9 + small) - after(phi=0.9 - small)) / (2 * small),
        (after(omega=small) - after(omega=-small)) / (2 * small),
    ]
    assert form.A[:2, :2] == pytest.approx(np.column_stack(slopes), rel=1e-7, abs=1e-9)
    assert form.states[:2] == ("hinge.phi", "der(hinge.phi)")
    assert form.period == 1e-3


def test_the_modes_of_a_sampled_loop_are_those_its_motion_decays_with() -> None:
    form = mbfmu.linearize("sampled_pid", {"phi": 1.0})
    slowest = form.modes[0].eigenvalue
    assert slowest.imag == 0
    run = mbfmu.simulate("sampled_pid", stop=6.0, step=1e-3, stepper="projected", output_interval=0.5)
    left = 1.0 - run["phi"][-3:]
    assert np.log(left[1:] / left[:-1]) / 0.5 == pytest.approx([slowest.real] * 2, rel=1e-3)


def test_several_periods_have_no_one_linear_form() -> None:
    count = Block("count", defined=(Defined("n", "previous(n) + 1", output=True),))
    system = System("two", (Subsystem("a", Sampled(count, 0.1)), Subsystem("b", Sampled(count, 0.2))))
    with pytest.raises(UsageError, match=r"'a' computes every 0\.1 s and 'b' every 0\.2 s"):
        mbfmu.linearize(system)


@pytest.mark.parametrize("period", [0.0, -1.0, math.nan])
def test_a_period_of_sampling_is_positive(period: float) -> None:
    with pytest.raises(UsageError, match="the period is"):
        mbfmu.linearize("cart_pendulum", period=period)


def test_a_sampled_block_that_only_gives_a_command_leaves_the_form_continuous() -> None:
    plain = mbfmu.linearize("hydraulic_monolith")
    assert plain.period == 0
    assert plain.states == ("hinge.phi", "der(hinge.phi)", "p1", "p2", "u", "du")
    assert plain.eigenvalues.real[0] == pytest.approx(0, abs=1e-9)  # without leakage the pressures have no level
    assert plain.eigenvalues.real[1] < -8
