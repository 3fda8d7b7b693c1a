"""Linearization: eigenvalues in closed form, the same in both coordinates, the slopes of the motion itself."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import UnknownNameError, UsageError
from mbfmu.linearization import Linear
from mbfmu.model import RotationalDamper, System

PENDULUM_DOWN = {"shoulder.phi": -math.pi / 2, "elbow.phi": 0.0}
LOOPS = {"slider_crank": {"crank.phi": -math.pi / 2 + 0.3}, "four_bar": {}, "crane": {}}


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


@pytest.mark.parametrize("name", LOOPS)
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
