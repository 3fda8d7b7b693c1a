"""The equations of motion: every function of a Dae against another route to the same quantity."""

import importlib
import itertools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from flexible_mechanisms import FLEXIBLE
from harness import thorough
from interpreted import Interpreted
from mechanisms import (
    EVERY,
    floater,
    free_body,
    geared_arm,
    planar_rig,
    slider_crank,
    spatial_arm,
    spatial_four_bar,
    spatial_two_link,
)

import mbfmu
from mbfmu.dae import COORDINATES, Dae, absolute, derive
from mbfmu.errors import ModelError, StepperError
from mbfmu.kernel import compose
from mbfmu.kernel import vector as packed
from mbfmu.kernel.runtime import OK
from mbfmu.model import (
    AbsoluteSensor,
    Body,
    BodyShape,
    Damper,
    FixedRotation,
    FixedTranslation,
    Force,
    FreeMotion,
    Joint,
    JointCoordinate,
    Parameter,
    Pose,
    Revolute,
    RotationalRotor,
    Spring,
    System,
    World,
    connect,
)
from mbfmu.model.frame import SX, Frame
from mbfmu.stepper import make_scheme

Array = npt.NDArray[np.float64]

SEEDS = range(4)


class Case(NamedTuple):
    """A mechanism of the table in certain coordinates."""

    name: str
    coordinates: str = "absolute"


def bending_with_rotors() -> System:
    """Return an arm of two beams with rotors on both axes."""
    arm = FLEXIBLE["arm"]
    rotors = [RotationalRotor(f"{joint}_rotor", joint=joint, J=0.02) for joint in ("shoulder", "elbow")]
    return replace(arm, components=(*arm.components, *rotors))


QUICK = ("arm", "branched", "four_bar")
"""Mechanisms with modes that are too quick for differences."""

BENDING = {f"flexible {name}": partial(replace, model) for name, model in FLEXIBLE.items() if name not in QUICK}
ALL = {**EVERY, **BENDING, "geared_arm": geared_arm, "flexible geared_arm": bending_with_rotors}
"""Functions that make the mechanisms, by name."""
CASES = [Case(name, coordinates) for name in sorted(ALL) for coordinates in COORDINATES]
DRIVEN = [case for case in CASES if any(getattr(item, "actuated", False) for item in ALL[case.name]().components)]
"""Cases with inputs."""


FLEXIBLE_FEW = (
    Case("flexible backward", "absolute"),
    Case("flexible geared_arm", "absolute"),
    Case("flexible arm in space", "joint"),
)
"""Cases that stand for all with flexible bodies."""


def represents(case: Case) -> bool:
    """The smaller mechanisms in absolute coordinates, and all but those that are free in space in joint coordinates."""
    if case.name.startswith("flexible"):
        return case in FLEXIBLE_FEW
    small = ("geared_arm", "slider_crank", "planar_rig", "free_body", "spatial_pendulum")
    return case.name in small if case.coordinates == "absolute" else case.name not in {"free_body", "floater"}


every = pytest.mark.parametrize("case", thorough(zip(CASES), represents), ids="-".join)
both = pytest.mark.parametrize("coordinates", COORDINATES)

RATE_OF_EFFORT = {"tau": "w", "f": "v", "f_rel": "v_rel", "t_rel": "w_rel"}


# -- routes in NumPy ------------------------------------------------------------------------------------------------


def column(value: Any) -> Array:
    """A CasADi column as an array, shape (n,)."""
    return np.array(ca.DM(value), dtype=float).reshape(-1)


def matrix(value: Any) -> Array:
    """A CasADi matrix as an array, shape (n, m)."""
    return np.array(ca.DM(value), dtype=float)


def largest(value: Any) -> float:
    """The largest absolute value of a CasADi column or an array; 0 if it is empty."""
    return float(np.abs(column(value)).max(initial=0.0))


def slope(f: Callable[[float], Array], h: float = 1e-3) -> Array:
    """f'(0) by central differences of order 8: error h^8 f^(9)/630, about 1e-27 f^(9), and round-off 1e-13 |f|."""
    weights = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    return np.asarray(sum(weight * (f(k * h) - f(-k * h)) for k, weight in weights)) / h


def gradient(f: Callable[[Array], float], q: Array) -> Array:
    """The gradient of a scalar function by central differences of order 8."""
    return np.array([slope(lambda e, d=d: np.array(f(q + e * d))) for d in np.eye(len(q))])


def rotation(Q: Array) -> Array:
    """The rotation matrix of a quaternion, normalised, by Rodrigues' formula."""
    w, *e = Q / np.linalg.norm(Q)
    K = np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
    R: Array = np.eye(3) + 2 * w * K + 2 * K @ K
    return R


def turn(phi: float) -> Array:
    return np.array([[math.cos(phi), -math.sin(phi)], [math.sin(phi), math.cos(phi)]])


def product(a: Array, b: Array) -> Array:
    """The Hamilton product of two quaternions."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def cross(r: Array, f: Array) -> Array:
    """The moment of a force, shape (1,) in the plane."""
    return np.array([r[0] * f[1] - r[1] * f[0]]) if len(r) == 2 else np.cross(r, f)


# -- mechanisms at random places ------------------------------------------------------------------------------------


@cache
def dae_of(case: Case) -> Dae:
    return derive(ALL[case.name](), case.coordinates)


@cache
def accelerating(dae: Dae) -> Any:
    return dae.acceleration


def quaternions(dae: Dae) -> list[slice]:
    """Where the quaternions are among the coordinates."""
    return [slice(k, k + 4) for k, name in enumerate(dae.coordinates) if name.endswith((".Q[1]", ".Q_rel[1]"))]


def tangent(dae: Dae, q: Array) -> Array:
    """The projector along the quaternions: it takes out the direction in which a norm would change."""
    P = np.eye(dae.n)
    for at in quaternions(dae):
        Q = q[at] / np.linalg.norm(q[at])
        P[at, at] -= np.outer(Q, Q)
    return P


def random_parameters(dae: Dae, rng: np.random.Generator, conservative: bool = False) -> Array:
    p = dae.p_default() * rng.uniform(0.95, 1.05, len(dae.parameters))
    if conservative:
        p[[k for k, item in enumerate(dae.parameters) if item.name.endswith((".d", ".zeta"))]] = 0.0
    return p


def anywhere(dae: Dae, rng: np.random.Generator, conservative: bool = False) -> tuple[Array, Array, Array]:
    """Random (q, v, p) off the constraints, with quaternions of any length."""
    p = random_parameters(dae, rng, conservative)
    q = column(dae.start.guess(dae.s_default(), p, 0.0)) + 0.3 * rng.normal(size=dae.n)
    return q, rng.normal(size=dae.n), p


def closed(dae: Dae, q: Array, p: Array, t: float = 0.0) -> Array:
    """The nearby q with Phi = 0, by Gauss-Newton in NumPy."""
    for _ in range(200 if dae.m else 0):
        step = np.linalg.lstsq(
            matrix(dae.constraints.Phi_q(q, p, t)), -column(dae.constraints.Phi(q, p, t)), rcond=None
        )[0]
        q = q + step * min(1.0, 0.3 / max(1e-300, float(np.abs(step).max())))
    assert largest(dae.constraints.Phi(q, p, t)) < 1e-12
    return q


def admissible(dae: Dae, seed: int, conservative: bool = False) -> tuple[Array, Array, Array, Array]:
    """Random (q, v, u, p) with Phi = 0 and Phi_q v + Phi_t = 0."""
    rng = np.random.default_rng(seed)
    p = random_parameters(dae, rng, conservative)
    q = closed(dae, column(dae.start.guess(dae.s_default(), p, 0.0)) + 0.2 * rng.normal(size=dae.n), p)
    v = rng.normal(size=dae.n)
    drift = matrix(dae.constraints.Phi_q(q, p, 0.0)) @ v + column(dae.constraints.Phi_t(q, p, 0.0))
    v -= np.linalg.pinv(matrix(dae.constraints.Phi_q(q, p, 0.0))) @ drift
    return q, v, rng.normal(size=len(dae.inputs)), p


def kinetic_hessian(dae: Dae, q: Array, p: Array) -> Array:
    """T_vv from values of T alone: T is quadratic in v, so that polarisation is exact."""

    def T(v: Array) -> float:
        return float(dae.energies.kinetic(q, v, p))

    e = np.eye(dae.n)
    return np.array([[T(e[i] + e[j]) - T(e[i]) - T(e[j]) for j in range(dae.n)] for i in range(dae.n)])


def kinetic_slope(dae: Dae, q: Array, v: Array, p: Array) -> Array:
    """T_v from values of T alone, as `kinetic_hessian`."""

    def T(v: Array) -> float:
        return float(dae.energies.kinetic(q, v, p))

    return np.array([T(v + e) - T(v) - T(e) for e in np.eye(dae.n)])


def outputs(dae: Dae, q: Array, v: Array, u: Array, p: Array) -> dict[str, float]:
    """All outputs by name, with the accelerations and multipliers of the index-1 form."""
    a, lambda_ = accelerating(dae)(q, v, [], u, p, 0.0)
    values = column(dae.output(q, v, [], column(dae.angles(q, p, 0.0)), a, lambda_, u, p, 0.0))
    return dict(zip((item.name for item in dae.outputs), values.tolist(), strict=True))


def parameters(dae: Dae, p: Array) -> dict[str, float]:
    return dict(zip((item.name for item in dae.parameters), p.tolist(), strict=True))


def vector(values: dict[str, float], name: str, size: int = 3) -> Array:
    return np.array([values[name]] if size == 1 else [values[f"{name}[{k}]"] for k in range(1, size + 1)])


# -- mass, momentum and energy --------------------------------------------------------------------------------------


@every
def test_the_mass_matrix_is_symmetric_and_positive_definite_everywhere(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, _, p = anywhere(dae, np.random.default_rng(seed))
        M = matrix(dae.equations.M(q, p))
        np.testing.assert_allclose(M, M.T, atol=4e-16 * np.abs(M).max())
        assert np.linalg.eigvalsh(M).min() > 1e-6 * np.abs(M).max()


@every
def test_the_mass_matrix_is_the_hessian_of_the_kinetic_energy_along_unit_quaternions(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, _, _, p = admissible(dae, seed)
        H, P = kinetic_hessian(dae, q, p), tangent(dae, q)
        np.testing.assert_allclose(matrix(dae.equations.M(q, p)) @ P, H @ P, atol=1e-13 * (1 + np.abs(H).max()))


@every
def test_half_v_M_v_is_the_kinetic_energy_of_admissible_velocities(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, _, p = admissible(dae, seed)
        assert float(dae.energies.kinetic(q, v, p)) == pytest.approx(
            v @ matrix(dae.equations.M(q, p)) @ v / 2, rel=1e-12
        )


@every
def test_M_v_is_the_momentum_of_admissible_velocities(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, _, p = admissible(dae, seed)
        np.testing.assert_allclose(
            column(dae.equations.momentum(q, v, p)), matrix(dae.equations.M(q, p)) @ v, rtol=1e-12, atol=1e-12
        )


@every
def test_the_impulse_is_M_v_for_any_velocity(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, p = anywhere(dae, np.random.default_rng(seed))
        M = matrix(dae.equations.M(q, p))
        np.testing.assert_allclose(
            column(dae.equations.impulse(q, v, p)), M @ v, atol=1e-13 * (1 + largest(M) * largest(v))
        )


@every
def test_momentum_is_the_gradient_of_the_kinetic_energy_for_any_velocity(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, p = anywhere(dae, np.random.default_rng(seed))
        H = kinetic_hessian(dae, q, p)
        np.testing.assert_allclose(column(dae.equations.momentum(q, v, p)), H @ v, atol=1e-12 * (1 + np.abs(H).max()))


@every
def test_the_mass_matrix_is_constant_if_the_dae_says_so(case: Case) -> None:
    dae = dae_of(case)
    q, _, p = anywhere(dae, np.random.default_rng(0))
    assert dae.equations.constant_mass == np.array_equal(
        matrix(dae.equations.M(q, p)), matrix(dae.equations.M(q + 0.1, p))
    )


@every
def test_mass_solve_is_the_inverse_of_the_mass_matrix_everywhere(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, _, p = anywhere(dae, rng)
        M, f = matrix(dae.equations.M(q, p)), rng.normal(size=dae.n)
        solved = column(dae.equations.mass_solve(q, p, f))
        np.testing.assert_allclose(M @ solved, f, atol=1e-13 * (1 + largest(M) * largest(solved)))


@every
def test_columns_that_are_solved_together_are_those_solved_alone(case: Case) -> None:
    dae = dae_of(case)
    q, p = ca.SX.sym("q", dae.n), ca.SX.sym("p", dae.n_p)
    over_mass, f = dae.over_mass(q, p), ca.densify(ca.vertcat(dae.constraints.Phi_q(q, p, 0.0), ca.SX.eye(dae.n))).T
    alone = ca.horzcat(*(dae.equations.mass_solve(q, p, f[:, column]) for column in range(f.shape[1])))
    both = ca.Function("both", [q, p], [ca.densify(over_mass(ca.sparsify(f))), alone])
    together, apart = both(*anywhere(dae, np.random.default_rng(0))[::2])
    np.testing.assert_array_equal(matrix(together), matrix(apart))


def test_explicit_steps_of_a_long_chain_in_joint_coordinates_build_no_mass_matrix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(importlib.import_module("mbfmu.dae.joint"), "mass_matrix", never)
    dae = derive(mbfmu.load("chain", {"N": 20, "spatial": True}), "joint")
    assert compose(dae, make_scheme(dae, "direct", {}))
    with pytest.raises(AssertionError):
        _ = dae.equations.M


@every
def test_free_acceleration_is_what_the_force_gives_the_mass_everywhere(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, v, p = anywhere(dae, rng)
        u = rng.normal(size=len(dae.inputs))
        M, force = matrix(dae.equations.M(q, p)), column(dae.equations.force(q, v, [], u, p, 0.0))
        free = column(dae.equations.free_acceleration(q, v, [], u, p, 0.0))
        np.testing.assert_allclose(M @ free, force, atol=1e-13 * (1 + largest(M) * largest(free)))


# -- constraints ----------------------------------------------------------------------------------------------------


@every
def test_Phi_q_is_the_derivative_of_Phi(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, p = anywhere(dae, np.random.default_rng(seed))
        along = slope(lambda e, q=q, v=v, p=p: column(dae.constraints.Phi(q + e * v, p, 0.0)))
        np.testing.assert_allclose(matrix(dae.constraints.Phi_q(q, p, 0.0)) @ v, along, atol=1e-10)


def second_derivative_of_Phi(dae: Dae, q: Array, v: Array, a: Array, p: Array, t: float, h: float = 5e-3) -> Array:
    """Phi'' along q + v e + a e^2/2 by differences of order 8: error h^8/3150 Phi^(10), 1e-22; round-off 1e-11."""

    def Phi(e: float) -> Array:
        return column(dae.constraints.Phi(q + e * v + e * e / 2 * a, p, t + e))

    weights = ((1, 8 / 5), (2, -1 / 5), (3, 8 / 315), (4, -1 / 560))
    pairs = sum(weight * (Phi(k * h) + Phi(-k * h)) for k, weight in weights)
    return np.asarray(pairs - 205 / 72 * Phi(0)) / h**2


@every
def test_gamma_is_what_the_second_derivative_of_Phi_lacks_of_Phi_q_a(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, v, p = anywhere(dae, rng)
        a = rng.normal(size=dae.n)
        claimed = matrix(dae.constraints.Phi_q(q, p, 0.0)) @ a - column(dae.constraints.gamma(q, v, p, 0.0))
        np.testing.assert_allclose(claimed, second_derivative_of_Phi(dae, q, v, a, p, 0.0), atol=1e-7)


@every
def test_the_constraints_are_independent(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, _, _, p = admissible(dae, seed)
        assert np.linalg.svd(matrix(dae.constraints.Phi_q(q, p, 0.0)), compute_uv=False).min(initial=1.0) > 1e-3


# -- forces ---------------------------------------------------------------------------------------------------------


@every
def test_force_is_the_euler_lagrange_expression_of_kinetic_and_potential(case: Case) -> None:
    """force = T_q - (T_v)_q v - V_q, up to the quaternion's own direction, where M has its regularising term."""
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed, conservative=True)
        T_q = gradient(lambda x, v=v, p=p: float(dae.energies.kinetic(x, v, p)), q)
        V_q = gradient(lambda x, p=p: float(dae.energies.potential(x, p, 0.0)), q)
        turning = slope(lambda e, q=q, v=v, p=p: kinetic_slope(dae, q + e * v, v, p))
        expected = T_q - turning - V_q
        found = column(dae.equations.force(q, v, [], 0 * u, p, 0.0))
        np.testing.assert_allclose(tangent(dae, q) @ (found - expected), 0, atol=1e-9 * (1 + np.abs(expected).max()))


@every
def test_force_is_the_euler_lagrange_expression_of_M_everywhere(case: Case) -> None:
    """With T = v M v/2, off the constraints too: force = T_q - (M v)_q v - V_q."""
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, p = anywhere(dae, np.random.default_rng(seed), conservative=True)
        L_q = gradient(
            lambda x, v=v, p=p: v @ matrix(dae.equations.M(x, p)) @ v / 2 - float(dae.energies.potential(x, p, 0.0)), q
        )
        expected = L_q - slope(lambda e, q=q, v=v, p=p: matrix(dae.equations.M(q + e * v, p)) @ v)
        found = column(dae.equations.force(q, v, [], np.zeros(len(dae.inputs)), p, 0.0))
        np.testing.assert_allclose(found, expected, atol=1e-9 * (1 + np.abs(expected).max()))


@every
def test_momentum_rate_is_the_gradient_of_the_lagrangian_everywhere(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, p = anywhere(dae, np.random.default_rng(seed), conservative=True)
        expected = gradient(
            lambda x, v=v, p=p: float(dae.energies.kinetic(x, v, p)) - float(dae.energies.potential(x, p, 0.0)), q
        )
        found = column(dae.equations.momentum_rate(q, v, [], np.zeros(len(dae.inputs)), p, 0.0))
        np.testing.assert_allclose(found, expected, atol=1e-9 * (1 + np.abs(expected).max()))


@every
def test_impulse_rate_is_the_force_and_the_change_of_the_mass_matrix(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, v, p = anywhere(dae, rng)
        u = rng.normal(size=len(dae.inputs))
        turning = slope(lambda e, q=q, v=v, p=p: matrix(dae.equations.M(q + e * v, p)) @ v)
        expected = column(dae.equations.force(q, v, [], u, p, 0.0)) + turning
        found = column(dae.equations.impulse_rate(q, v, [], u, p, 0.0))
        np.testing.assert_allclose(found, expected, atol=1e-10 * (1 + np.abs(expected).max()))


@every
def test_the_momentum_changes_by_its_rate_and_the_constraint_forces(case: Case) -> None:
    """d/dt momentum + Phi_q^T lambda - momentum_rate is zero but for the norm constraints' multipliers.

    Those belong to M, not to the kinetic energy, so that in each quaternion's four rows a multiple of Q may remain.
    """
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed)
        a, lambda_ = map(column, accelerating(dae)(q, v, [], u, p, 0.0))
        rate = slope(
            lambda e, q=q, v=v, a=a, p=p: column(dae.equations.momentum(q + e * v + e * e / 2 * a, v + e * a, p))
        )
        Phi_q = matrix(dae.constraints.Phi_q(q, p, 0.0))
        left = rate + Phi_q.T @ lambda_ - column(dae.equations.momentum_rate(q, v, [], u, p, 0.0))
        size = 1 + max(largest(rate), largest(lambda_))
        np.testing.assert_allclose(tangent(dae, q) @ left, 0, atol=1e-9 * size)


@every
def test_the_acceleration_meets_the_equations_of_motion(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed)
        a, lambda_ = map(column, accelerating(dae)(q, v, [], u, p, 0.0))
        M, Phi_q, force = (
            matrix(dae.equations.M(q, p)),
            matrix(dae.constraints.Phi_q(q, p, 0.0)),
            column(dae.equations.force(q, v, [], u, p, 0.0)),
        )
        size = 1 + largest(lambda_) + largest(force)
        np.testing.assert_allclose(M @ a + Phi_q.T @ lambda_, force, atol=1e-11 * size)
        np.testing.assert_allclose(Phi_q @ a, column(dae.constraints.gamma(q, v, p, 0.0)), atol=1e-11 * size)


@pytest.mark.parametrize("case", thorough(zip(DRIVEN), represents), ids="-".join)
def test_each_effort_adds_its_power(case: Case) -> None:
    dae = dae_of(case)
    assert dae.inputs
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed)
        shown = outputs(dae, q, v, u, p)
        without = column(dae.equations.force(q, v, [], 0 * u, p, 0.0))
        for k, item in enumerate(dae.inputs):
            joint, effort = item.name.split(".")
            label, bracket, index = effort.partition("[")
            only = np.where(np.arange(len(u)) == k, u, 0.0)
            power = (column(dae.equations.force(q, v, [], only, p, 0.0)) - without) @ v
            expected = u[k] * shown[f"{joint}.{RATE_OF_EFFORT[label]}{bracket}{index}"]
            assert power == pytest.approx(expected, rel=1e-10, abs=1e-11)


Shown = dict[str, float]


def dissipated_by_arm(shown: Shown, p: Shown) -> float:
    gap = vector(shown, "b3.r_0") - vector(p, "anchor.r")
    rate = gap @ vector(shown, "b3.v_0") / np.linalg.norm(gap)
    return float(-p["damper.d"] * rate**2 - p["brake.d"] * shown["j1.w"] ** 2)


def dissipated_by_rig(shown: Shown, p: Shown) -> float:
    gap = vector(shown, "stone.r_0", 2) - vector(shown, "bar.r_0", 2)
    rate = gap @ (vector(shown, "stone.v_0", 2) - vector(shown, "bar.v_0", 2)) / np.linalg.norm(gap)
    return float(-p["shock.d"] * rate**2 - p["brake.d"] * shown["rail.v"] ** 2 - p["rub.d"] * shown["hinge.w"] ** 2)


def dissipated_by_pendulum(shown: Shown, p: Shown) -> float:
    R, tip = rotation(vector(shown, "body.Q", 4)), vector(p, "tip.r")
    gap = vector(shown, "body.r_0") + R @ tip - vector(p, "anchor.r")
    speed = vector(shown, "body.v_0") + R @ np.cross(vector(shown, "body.w_a"), tip)
    return float(-p["damper.d"] * (gap @ speed / np.linalg.norm(gap)) ** 2)


DISSIPATED: dict[str, Callable[[Shown, Shown], float]] = {
    "spatial_arm": dissipated_by_arm,
    "planar_rig": dissipated_by_rig,
    "spatial_pendulum": dissipated_by_pendulum,
}
"""The power of the dampers from outputs alone, W (negative); other mechanisms are taken without damping."""


@every
def test_energy_changes_by_the_power_of_inputs_and_dampers(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed, conservative=case.name not in DISSIPATED)
        a, _ = map(column, accelerating(dae)(q, v, [], u, p, 0.0))

        def energy(e: float, q: Array = q, v: Array = v, a: Array = a, p: Array = p) -> Array:
            place, speed = q + e * v + e * e / 2 * a, v + e * a
            return np.array(float(dae.energies.kinetic(place, speed, p)) + float(dae.energies.potential(place, p, 0.0)))

        shown = outputs(dae, q, v, u, p)
        power = DISSIPATED[case.name](shown, parameters(dae, p)) if case.name in DISSIPATED else 0.0
        for effort, item in zip(u, dae.inputs, strict=True):
            joint, label = item.name.split(".")
            label, bracket, index = label.partition("[")
            power += effort * shown[f"{joint}.{RATE_OF_EFFORT[label]}{bracket}{index}"]
        assert float(slope(energy)) == pytest.approx(power, rel=1e-8, abs=1e-8 * (1 + abs(float(energy(0.0)))))


def planar_heights(shown: dict[str, float], body: str, r_CM: tuple[float, float]) -> float:
    return shown[f"{body}.r_0[2]"] + float(turn(shown[f"{body}.phi"])[1] @ r_CM)


def test_the_potential_of_the_spatial_arm_is_weight_and_springs_by_hand() -> None:
    dae = dae_of(Case("spatial_arm"))
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed)
        value, shown = parameters(dae, p), outputs(dae, q, v, u, p)
        gap = vector(shown, "b3.r_0") - vector(value, "anchor.r")
        height = {name: q[at.start - 1] for name, at in zip(("b1", "b2", "b3"), quaternions(dae), strict=True)}
        weight = value["world.g"] * sum(value[f"{name}.m"] * z for name, z in height.items())
        spring = value["spring.c"] * (np.linalg.norm(gap) - value["spring.s_unstretched"]) ** 2 / 2
        coil = value["coil.c"] * (shown["j1.phi"] - value["coil.phi_rel0"]) ** 2 / 2
        assert shown["energy.potential"] == pytest.approx(weight + spring + coil, rel=1e-12)


def test_the_potential_of_the_planar_rig_is_weight_and_springs_by_hand() -> None:
    dae = dae_of(Case("planar_rig"))
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed)
        value, shown = parameters(dae, p), outputs(dae, q, v, u, p)
        length = value["l"]
        weight = value["world.g"] * (
            value["cart.m"] * planar_heights(shown, "cart", (value["cart.r_CM[1]"], value["cart.r_CM[2]"]))
            + 2 * length * planar_heights(shown, "bar", (length / 2, value["bar.r_CM[2]"]))
            + value["tip.m"] * planar_heights(shown, "tip", (value["tip.r_CM[1]"], value["tip.r_CM[2]"]))
            + value["stone.m"] * planar_heights(shown, "stone", (value["stone.r_CM[1]"], value["stone.r_CM[2]"]))
        )
        gap = vector(shown, "stone.r_0", 2) - vector(shown, "tip.r_0", 2)
        rope = value["rope.c"] * (np.linalg.norm(gap) - value["rope.s_unstretched"]) ** 2 / 2
        coil = value["coil.c"] * (shown["rail.s"] - value["coil.s_rel0"]) ** 2 / 2
        leaf = value["leaf.c"] * (shown["hinge.phi"] - value["leaf.phi_rel0"]) ** 2 / 2
        assert shown["energy.potential"] == pytest.approx(weight + rope + coil + leaf, rel=1e-12)


@pytest.mark.parametrize("g", [0.0, 1.62, 9.81, -3.0])
def test_the_world_pulls_with_g(g: float) -> None:
    dae = absolute(spatial_arm().with_values({"spring.c": 0.0, "coil.c": 0.0, "damper.d": 0.0, "world.g": g}))
    rng = np.random.default_rng(0)
    q, p = rng.normal(size=dae.n), dae.p_default()
    heights, masses = q[2::7], np.array([1.2, 0.7, 0.5])
    assert float(dae.energies.potential(q, p, 0.0)) == pytest.approx(g * masses @ heights, rel=1e-14, abs=1e-14)


def test_a_free_body_falls_along_gravity_whatever_its_turning() -> None:
    dae = absolute(free_body(g=1.62))
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed)
        a = column(dae.acceleration(q, v, [], u, p, 0.0)[0])
        np.testing.assert_allclose(a[:3], [0, -p[[i.name for i in dae.parameters].index("world.g")], 0], atol=1e-13)


def test_a_spring_without_length_has_no_direction_and_no_force() -> None:
    free = FreeMotion("free", r_rel=(0, 0), v_rel=(0, 0), phi=0.0, w=0.0)
    ends = (connect("world.frame_b", "rope.frame_a"), connect("rope.frame_b", "bob.frame_a"))
    ends += (connect("world.frame_b", "shock.frame_a"), connect("shock.frame_b", "bob.frame_a"))
    more = (Spring("rope", c=50.0, s_unstretched=0.3), Damper("shock", d=2.0))
    dae = absolute(hung_on(free, *more, world=World(g=0.0), ends=ends))
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_array_equal(column(dae.equations.force(np.zeros(3), v, [], np.zeros(0), dae.p_default(), 0.0)), 0)


# -- outputs --------------------------------------------------------------------------------------------------------


H = 2.5e-4


@cache
def swung(case: Case) -> dict[str, Array]:
    """All outputs over 20 steps of 0.25 ms with constant inputs: the error of RK4 is invisible beside 1e-9."""
    dae = dae_of(case)
    kernel = Interpreted(compose(dae, make_scheme(dae, "direct")))
    u, still = packed([0.5 + 0.25 * k for k in range(len(dae.inputs))]), packed([0.0] * len(dae.inputs))
    p = packed(dae.p_default())
    x, status = kernel.initialize(packed(dae.s_default()), u, p, 0.0, H)
    rows = [list(kernel.outputs(x, u, p, 0.0))]
    for k in range(20):
        x, status = kernel.advance(x, u, still, p, k * H, H, 1)
        assert status.code == OK
        rows.append(list(kernel.outputs(x, u, p, (k + 1) * H)))
    return dict(zip((item.name for item in dae.outputs), np.array(rows).T, strict=False))


@every
def test_what_is_called_a_derivative_is_the_time_derivative(case: Case) -> None:
    result, h = swung(case), H
    pairs = [(item.name, item.derivative_of) for item in dae_of(case).outputs if item.derivative_of is not None]
    assert pairs
    for rate, of in pairs:
        x = result[of]
        # differences of order 4: error h^4/30 x^(5), round-off 2e-16 |x| / h
        slopes = (8 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / (12 * h)
        np.testing.assert_allclose(result[rate][2:-2], slopes, atol=2e-9 * (1 + np.abs(x).max()), err_msg=rate)


@every
def test_every_joint_gives_its_coordinate_rate_and_acceleration(case: Case) -> None:
    signals = {item.name: item for item in dae_of(case).outputs}
    for joint in (item for item in ALL[case.name]().components if isinstance(item, Revolute)):
        assert signals[f"{joint.name}.w"].derivative_of == f"{joint.name}.phi"
        assert signals[f"{joint.name}.a"].derivative_of == f"{joint.name}.w"


Place = tuple[str | None, str]
"""A body, None for the world, and the output that says where the joint's frame is on it."""

SPATIAL_JOINTS: dict[str, dict[str, tuple[Place, Place, tuple[float, ...] | None]]] = {
    "spatial_arm": {
        "j1": ((None, ""), ("b1", "r_0"), (0, 0, 1)),
        "j2": (("b1", "frame_b.r_0"), ("b2", "r_0"), (0, 1, 0)),
        "j3": (("b2", "frame_b.r_0"), ("b3", "r_0"), None),
    },
    "spatial_four_bar": {
        "crank": ((None, ""), ("b1", "r_0"), (0, 0, 1)),
        "s1": (("b1", "frame_b.r_0"), ("b2", "r_0"), None),
        "s2": (("b2", "frame_b.r_0"), ("b3", "frame_b.r_0"), None),
    },
    "floater": {
        "free": ((None, ""), ("base", "r_0"), None),
        "ball": (("base", "frame_b.r_0"), ("arm", "r_0"), None),
        "wrist": (("hand", "r_0"), ("arm", "frame_b.r_0"), (0.6, 0, -0.8)),
        "tether": (("base", "frame_b.r_0"), ("kite", "r_0"), None),
    },
}


@pytest.mark.parametrize(
    ("name", "joint"), [(name, joint) for name, table in SPATIAL_JOINTS.items() for joint in table]
)
@both
def test_the_coordinates_of_a_joint_are_how_its_bodies_lie_and_turn(name: str, joint: str, coordinates: str) -> None:
    """Position, quaternion and angular velocity of frame_b seen from frame_a, resolved in frame_a, by hand."""
    dae = dae_of(Case(name, coordinates))
    at_a, at_b, axis = SPATIAL_JOINTS[name][joint]
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed)
        shown = outputs(dae, q, v, u, p)

        def seen(place: Place, shown: dict[str, float] = shown) -> tuple[Array, Array, Array]:
            body, where = place
            if body is None:
                return np.zeros(3), np.array([1.0, 0, 0, 0]), np.zeros(3)
            Q = vector(shown, f"{body}.Q", 4)
            return vector(shown, f"{body}.{where}"), Q, rotation(Q) @ vector(shown, f"{body}.w_a")

        (r_a, Q_a, w_a), (r_b, Q_b, w_b) = seen(at_a), seen(at_b)
        R_a = rotation(Q_a)
        Q_rel, w_rel, r_rel = product(np.array([Q_a[0], *-Q_a[1:]]), Q_b), R_a.T @ (w_b - w_a), R_a.T @ (r_b - r_a)
        if f"{joint}.phi" in shown:
            phi, n = shown[f"{joint}.phi"], np.array(axis)
            turned = rotation(np.array([math.cos(phi / 2), *(math.sin(phi / 2) * n)]))
            np.testing.assert_allclose(rotation(Q_rel), turned, atol=1e-11)
            np.testing.assert_allclose(w_rel, shown[f"{joint}.w"] * n, atol=1e-11)
        elif f"{joint}.s" in shown:
            np.testing.assert_allclose(r_rel, shown[f"{joint}.s"] * np.array(axis), atol=1e-11)
            np.testing.assert_allclose(rotation(Q_rel), np.eye(3), atol=1e-11)
        else:
            np.testing.assert_allclose(vector(shown, f"{joint}.Q_rel", 4), Q_rel, atol=1e-11)
            np.testing.assert_allclose(vector(shown, f"{joint}.w_rel"), w_rel, atol=1e-11)
        if f"{joint}.r_rel[1]" in shown:
            np.testing.assert_allclose(vector(shown, f"{joint}.r_rel"), r_rel, atol=1e-11)
        elif f"{joint}.s" not in shown:
            np.testing.assert_allclose(r_rel, 0, atol=1e-11)


@every
def test_the_energy_outputs_are_the_functions_of_the_dae(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, u, p = admissible(dae, seed)
        shown = outputs(dae, q, v, u, p)
        T, V = float(dae.energies.kinetic(q, v, p)), float(dae.energies.potential(q, p, 0.0))
        assert shown["energy.kinetic"] == pytest.approx(T, rel=1e-14)
        assert shown["energy.potential"] == pytest.approx(V, rel=1e-13, abs=1e-13)
        assert shown["energy.total"] == pytest.approx(T + V, rel=1e-13, abs=1e-13)


@every
def test_the_constraint_outputs_are_the_largest_residuals(case: Case) -> None:
    dae = dae_of(case)
    for seed in SEEDS:
        q, v, p = anywhere(dae, np.random.default_rng(seed))
        shown = outputs(dae, q, v, np.zeros(len(dae.inputs)), p)
        rates = matrix(dae.constraints.Phi_q(q, p, 0.0)) @ v + column(dae.constraints.Phi_t(q, p, 0.0))
        assert shown["constraint.position"] == pytest.approx(largest(dae.constraints.Phi(q, p, 0.0)), rel=1e-13)
        assert shown["constraint.velocity"] == pytest.approx(largest(rates), rel=1e-12)


@every
def test_every_output_has_a_name_of_its_own(case: Case) -> None:
    names = [item.name for item in dae_of(case).outputs]
    assert len(set(names)) == len(names)


# -- reactions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("angle", [-math.pi / 2, 0.3, 2.0])
def test_a_body_held_at_rest_presses_its_weight_on_the_joint(planar: bool, angle: float) -> None:
    """The cut force is what the body at frame_b does to the joint: m g down, resolved in frame_b."""
    m, g, r, dim = 2.0, 9.81, 0.4, 2 if planar else 3
    body = Body("bob", m=m, r_CM=(r, 0, 0), I_11=0.1, I_22=0.1, I_33=0.1)
    hung = (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "bob.frame_a"))
    system = System(
        "pendulum", (World(g=g), Revolute("hinge", phi=angle, w=0.0, actuated=True), body), hung, planar=planar
    )
    holding = m * g * r * math.cos(angle)
    result = mbfmu.simulate(system, 0.01, step=1e-3, inputs={"hinge.tau": lambda _: holding})
    shown = {name: float(result[name][0]) for name in result.names}
    R = np.eye(dim)
    R[:2, :2] = turn(angle)
    np.testing.assert_allclose(vector(shown, "hinge.frame_b.f", dim), (R.T @ [0, -m * g, 0][:dim]), atol=1e-12)
    torque = shown["hinge.frame_b.t"] if planar else shown["hinge.frame_b.t[3]"]
    assert torque == pytest.approx(-holding, abs=1e-12)
    assert result["hinge.a"][0] == pytest.approx(0.0, abs=1e-12)


@dataclass(frozen=True)
class Balance:
    """What the balance of forces needs to know of a mechanism besides its outputs.

    Args:
        system: the mechanism.
        joints: (joint, body at frame_a or None for the world, body at frame_b, where that is in its frame_a).
        gravity: m/s2.
        centres: centre of mass of each body in its frame_a.
        inertias: mass and inertia about the centre of mass of each body.
        products: I_21, I_31, I_32 of the bodies that have some.
    """

    system: System
    joints: tuple[tuple[str, str | None, str, tuple[float, ...]], ...]
    gravity: tuple[float, ...]
    centres: dict[str, tuple[float, ...]]
    inertias: dict[str, tuple[float, tuple[float, float, float]]]
    products: dict[str, tuple[float, float, float]]


NO_PRODUCTS = (0.0, 0.0, 0.0)
HERE = (0.0, 0.0, 0.0)


def two_link_balance(system: System) -> Balance:
    return Balance(
        system,
        (("shoulder", None, "link1", HERE), ("elbow", "link1", "link2", HERE)),
        (0.0, -9.8, 0.0),
        {"link1": (0.5, 0, 0), "link2": (1.0, 0, 0)},
        {"link1": (1.0, (0.01, 1 / 12, 1 / 12)), "link2": (1.0, (0.01, 1 / 3, 1 / 3))},
        {},
    )


BALANCES: dict[str, Callable[[], Balance]] = {
    "two_link": lambda: two_link_balance(mbfmu.load("two_link")),
    "spatial_two_link": lambda: two_link_balance(spatial_two_link()),
    "slider_crank": lambda: Balance(
        slider_crank(),
        (
            ("crank", None, "link", HERE),
            ("rod", "link", "coupler", HERE),
            ("pin", "coupler", "block", HERE),
            ("slider", None, "block", HERE),
        ),
        (0.0, -9.81, 0.0),
        {"link": (0.5, 0, 0), "coupler": (1.0, 0, 0), "block": (0.0, 0, 0)},
        {"link": (1.0, (0, 0, 1 / 12)), "coupler": (2.0, (0, 0, 2 / 3)), "block": (1.0, (0, 0, 0.1))},
        {},
    ),
    "spatial_arm": lambda: Balance(
        spatial_arm().with_values({"spring.c": 0.0, "damper.d": 0.0, "coil.c": 0.0, "brake.d": 0.0}),
        (("j1", None, "b1", HERE), ("j2", "b1", "b2", HERE), ("j3", "b2", "b3", HERE)),
        (0.0, 0.0, -9.81),
        {"b1": (0.4, 0, 0), "b2": (0.05, 0.25, 0.02), "b3": (0.1, 0.2, -0.1)},
        {
            "b1": (1.2, (0.02, 0.1, 0.11)),
            "b2": (0.7, (0.05, 0.01, 0.05)),
            "b3": (0.5, (0.03, 0.02, 0.04)),
        },
        {"b1": (0.005, 0.0, 0.0)},
    ),
    "spatial_four_bar": lambda: Balance(
        spatial_four_bar(),
        (
            ("crank", None, "b1", HERE),
            ("s1", "b1", "b2", HERE),
            ("s2", "b2", "b3", (0, 1.0, 0)),
            ("rocker", None, "b3", HERE),
        ),
        (0.0, -9.81, 0.0),
        {"b1": (0.25, 0, 0.02), "b2": (0.7, 0.05, 0), "b3": (0, 0.5, 0)},
        {"b1": (0.8, (0.01, 0.03, 0.03)), "b2": (1.1, (0.02, 0.2, 0.21)), "b3": (0.9, (0.08, 0.01, 0.08))},
        {"b2": (0.0, 0.0, 0.004)},
    ),
    "floater": lambda: Balance(
        floater(),
        (
            ("free", None, "base", HERE),
            ("ball", "base", "arm", HERE),
            ("wrist", "hand", "arm", (0, 0.3, 0.2)),
            ("tether", "base", "kite", HERE),
        ),
        (0.0, 0.0, -9.81),
        {"base": (0.05, 0, 0.02), "arm": (0, 0.2, 0.1), "hand": (0.1, -0.1, 0.05), "kite": (0.02, 0.05, -0.03)},
        {
            "base": (2.0, (0.1, 0.15, 0.2)),
            "arm": (0.8, (0.04, 0.02, 0.03)),
            "hand": (0.5, (0.01, 0.02, 0.015)),
            "kite": (0.3, (0.02, 0.03, 0.04)),
        },
        {"base": (0.0, 0.01, 0.0), "kite": (0.0, 0.0, 0.002)},
    ),
}


def watched(system: System, bodies: Iterable[str]) -> System:
    """The system with a sensor on every body, for its angular acceleration."""
    sensors = tuple(AbsoluteSensor(f"of_{body}") for body in bodies)
    ends = tuple(connect(f"{body}.frame_a", f"of_{body}.frame_a") for body in bodies)
    return replace(system, components=system.components + sensors, connections=system.connections + ends)


@pytest.mark.parametrize(
    ("name", "coordinates"),
    thorough(itertools.product(sorted(BALANCES), COORDINATES), lambda *case: represents(Case(*case))),
)
def test_cut_forces_and_gravity_accelerate_every_body(name: str, coordinates: str) -> None:
    """Newton and Euler for each body, from outputs: a joint does the opposite of the cut force to the body at frame_b.

    A joint is massless, so that it passes the cut force, and its moment, on to the body at frame_a.
    """
    case = BALANCES[name]()
    dae, planar = derive(watched(case.system, case.centres), coordinates), case.system.planar
    dim, turning = (2, 1) if planar else (3, 3)
    gravity = np.array(case.gravity[:dim])
    for seed in SEEDS:
        q, v, u, _ = admissible(dae, seed)
        p = dae.p_default()
        q = closed(dae, q, p)
        v -= np.linalg.pinv(matrix(dae.constraints.Phi_q(q, p, 0.0))) @ matrix(dae.constraints.Phi_q(q, p, 0.0)) @ v
        shown = outputs(dae, q, v, u, p)
        R = {
            body: turn(shown[f"{body}.phi"]) if planar else rotation(vector(shown, f"{body}.Q", 4))
            for body in case.centres
        }
        origin = {body: vector(shown, f"{body}.r_0", dim) for body in case.centres}
        centre = {body: origin[body] + R[body] @ np.array(r[:dim]) for body, r in case.centres.items()}
        force = {body: m * gravity for body, (m, _) in case.inertias.items()}
        torque = {body: np.zeros(turning) for body in case.centres}
        for joint, near, far, place_in_far in case.joints:
            f = R[far] @ vector(shown, f"{joint}.frame_b.f", dim)
            t = vector(shown, f"{joint}.frame_b.t", turning)
            t = t if planar else R[far] @ t
            place = origin[far] + R[far] @ np.array(place_in_far[:dim])
            force[far] = force[far] - f
            torque[far] = torque[far] - t - cross(place - centre[far], f)
            if near is not None:
                force[near] = force[near] + f
                torque[near] = torque[near] + t + cross(place - centre[near], f)
        for body in case.centres:
            m, principal = case.inertias[body]
            arm = R[body] @ np.array(case.centres[body][:dim])
            a_CM = vector(shown, f"{body}.a_0", dim)
            if planar:
                w, alpha = shown[f"{body}.w"], shown[f"of_{body}.z"]
                a_CM = a_CM + alpha * np.array([-arm[1], arm[0]]) - w**2 * arm
                inertial = np.array([principal[2] * alpha])
            else:
                w_a = vector(shown, f"{body}.w_a")
                w, alpha = R[body] @ w_a, vector(shown, f"of_{body}.z")
                a_CM = a_CM + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
                I_21, I_31, I_32 = case.products.get(body, NO_PRODUCTS)
                J = np.diag(principal) + np.array([[0, I_21, I_31], [I_21, 0, I_32], [I_31, I_32, 0]])
                inertial = R[body] @ (J @ R[body].T @ alpha + np.cross(w_a, J @ w_a))
            size = 1 + max(np.abs(force[b]).max() for b in force) + np.abs(vector(shown, f"{body}.a_0", dim)).max()
            np.testing.assert_allclose(force[body], m * a_CM, atol=1e-10 * size)
            np.testing.assert_allclose(torque[body], inertial, atol=1e-10 * size)


def test_planar_and_spatial_two_link_are_one_mechanism(two_link: System) -> None:
    """Two formulations of one arm over 1 s; RK4 at 1 ms leaves 1e-10 of either."""
    torques = {"shoulder.tau": "3*sin(5*time)", "elbow.tau": "1 - time"}
    flat, deep = (
        mbfmu.simulate(system, 1.0, stepper="direct", step=1e-3, output_interval=0.01, inputs=torques)
        for system in (two_link, spatial_two_link())
    )
    same = {f"{joint}.{label}": f"{joint}.{label}" for joint in ("shoulder", "elbow") for label in ("phi", "w", "a")}
    same |= {f"{joint}.frame_b.f[{k}]": f"{joint}.frame_b.f[{k}]" for joint in ("shoulder", "elbow") for k in (1, 2)}
    same |= {f"{joint}.frame_b.t": f"{joint}.frame_b.t[3]" for joint in ("shoulder", "elbow")}
    same |= {name: name for name in ("energy.total", "energy.kinetic", "link2.r_0[1]", "link2.frame_b.r_0[2]")}
    same |= {"momentum.angular": "momentum.angular[3]", "momentum.linear[1]": "momentum.linear[1]"}
    for one, other in same.items():
        np.testing.assert_allclose(flat[one], deep[other], atol=1e-7, err_msg=one)
    assert np.abs(flat["shoulder.phi"]).max() > 0.5
    for out_of_plane in ("shoulder.frame_b.f[3]", "elbow.frame_b.t[1]", "elbow.frame_b.t[2]", "link2.r_0[3]"):
        np.testing.assert_allclose(deep[out_of_plane], 0, atol=1e-9, err_msg=out_of_plane)


# -- free bodies ----------------------------------------------------------------------------------------------------


def test_a_free_body_keeps_its_linear_and_angular_momentum() -> None:
    result = mbfmu.simulate(free_body(g=0.0), 2.0, stepper="rattle", step=1e-2)
    for name in ("momentum.linear", "momentum.angular"):
        for k in (1, 2, 3):
            column_k = result[f"{name}[{k}]"]
            # 200 steps, each exact to the Newton tolerance of 1e-14
            np.testing.assert_allclose(column_k, column_k[0], atol=1e-11)
    assert np.ptp(result["body.w_a[1]"]) > 0.1


def test_the_momentum_outputs_are_sums_over_the_bodies() -> None:
    result = swung(Case("free_body"))
    m, centre = 1.5, np.array([0.1, -0.2, 0.3])
    J = np.array([[0.2, 0.02, 0], [0.02, 0.3, 0], [0, 0, 0.4]])
    for k in (0, 10, 20):
        shown = {name: float(values[k]) for name, values in result.items()}
        R, w_a = rotation(vector(shown, "body.Q", 4)), vector(shown, "body.w_a")
        r_CM = vector(shown, "body.r_0") + R @ centre
        v_CM = vector(shown, "body.v_0") + R @ np.cross(w_a, centre)
        np.testing.assert_allclose(vector(shown, "momentum.linear"), m * v_CM, atol=1e-12)
        np.testing.assert_allclose(
            vector(shown, "momentum.angular"), m * np.cross(r_CM, v_CM) + R @ J @ w_a, atol=1e-12
        )


def test_the_centre_of_mass_of_a_free_body_falls_on_a_parabola() -> None:
    g = 3.7
    result = mbfmu.simulate(free_body(g=g), 1.0, stepper="rattle", step=1e-2, output_interval=0.1)
    centres = np.array(
        [
            [result[f"body.r_0[{i}]"][k] for i in (1, 2, 3)]
            + rotation(np.array([result[f"body.Q[{i}]"][k] for i in (1, 2, 3, 4)])) @ [0.1, -0.2, 0.3]
            for k in range(len(result.time))
        ]
    )
    start = np.array([result[f"momentum.linear[{i}]"][0] for i in (1, 2, 3)]) / 1.5
    t = result.time[:, None]
    # a method of order 2 is exact for a parabola
    np.testing.assert_allclose(centres, centres[0] + start * t - [0, g / 2, 0] * t**2, atol=1e-12)


@pytest.mark.parametrize(("w", "first"), [(8.0, 0.0), (-8.0, 0.0), (8.0, 5.0), (-8.0, -6.0)])
@pytest.mark.parametrize("axis", [(0, 0, 1), (0.48, -0.6, 0.64)])
def test_a_spatial_angle_counts_on_over_many_turns(w: float, first: float, axis: tuple[float, ...]) -> None:
    inertia = {"I_11": 0.2, "I_22": 0.2, "I_33": 0.2}
    system = System(
        "top",
        (World(g=0.0), Revolute("spin", n=axis, phi=first, w=w), Body("disc", m=1.0, **inertia)),
        (connect("world.frame_b", "spin.frame_a"), connect("spin.frame_b", "disc.frame_a")),
    )
    result = mbfmu.simulate(system, 4.0, stepper="direct", step=2e-3, output_interval=0.05)
    assert abs(result["spin.phi"][-1]) > 4 * 2 * math.pi
    # RK4 on a quaternion at half the rate: (w h / 2)^5 / 120 a step, 2e-14 in 2000 steps
    np.testing.assert_allclose(result["spin.phi"], first + w * result.time, atol=1e-8)


# -- rigid groups ---------------------------------------------------------------------------------------------------


def merged_and_single(planar: bool, turned: bool = False) -> tuple[System, System]:
    """Two bodies fixed to each other by a rod and a bracket, and the one body that they are, by hand.

    Args:
        planar: in the plane, or in space.
        turned: the rod and the bracket are put in the other way round.
    """
    tilt, n = 0.7, np.array([0.0, 0, 1]) if planar else np.array([0.48, 0.6, 0.64])
    rod, bracket = np.array([0.5, 0.1, 0.0 if planar else 0.2]), np.array([0.2, -0.3, 0.0 if planar else 0.1])
    m1, r1, J1 = 1.2, np.array([0.1, 0.2, 0.0 if planar else -0.1]), np.diag([0.1, 0.2, 0.25])
    m2, r2, J2 = 0.8, np.array([0.3, -0.1, 0.0 if planar else 0.2]), np.diag([0.15, 0.05, 0.12])
    R = rotation(np.array([math.cos(tilt / 2), *(math.sin(tilt / 2) * n)]))
    place2, turned2 = rod + bracket + R @ r2, R @ J2 @ R.T
    m = m1 + m2
    centre = (m1 * r1 + m2 * place2) / m
    J = sum(
        Ji + mi * (d @ d * np.eye(3) - np.outer(d, d))
        for mi, Ji, d in ((m1, J1, r1 - centre), (m2, turned2, place2 - centre))
    )

    def inertia(J: Array) -> dict[str, float]:
        labels = {"I_11": (0, 0), "I_22": (1, 1), "I_33": (2, 2), "I_21": (1, 0), "I_31": (2, 0), "I_32": (2, 1)}
        return {label: float(J[at]) for label, at in labels.items() if not planar or label == "I_33"}

    joint = Revolute("hinge", n=tuple(n), phi=0.4, w=1.5, actuated=True)
    rods = (
        FixedTranslation("rod", r=tuple(-rod if turned else rod)),
        FixedRotation(
            "bracket",
            r=tuple(-R.T @ bracket if turned else bracket),
            n=tuple(n),
            angle=-tilt if turned else tilt,
        ),
    )
    near, far = ("frame_b", "frame_a") if turned else ("frame_a", "frame_b")
    hung = (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "first.frame_a"))
    merged = System(
        "merged",
        (
            World(n=(0.6, -0.8, 0)),
            joint,
            Body("first", m=m1, r_CM=tuple(r1), **inertia(J1)),
            *rods,
            Body("second", m=m2, r_CM=tuple(r2), **inertia(J2)),
        ),
        (
            *hung,
            connect("first.frame_a", f"rod.{near}"),
            connect(f"rod.{far}", f"bracket.{near}"),
            connect(f"bracket.{far}", "second.frame_a"),
        ),
        planar=planar,
    )
    one = Body("first", m=m, r_CM=tuple(centre), **inertia(J))
    single = System("single", (World(n=(0.6, -0.8, 0)), joint, one), hung, planar=planar)
    return merged, single


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("turned", [True, False])
@both
def test_a_rigid_group_has_the_equations_of_the_body_it_is(planar: bool, turned: bool, coordinates: str) -> None:
    group, body = (derive(system, coordinates) for system in merged_and_single(planar, turned))
    assert group.coordinates == body.coordinates
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v, u = rng.normal(size=group.n), rng.normal(size=group.n), rng.normal(size=1)
        for at in quaternions(group):
            q[at] /= np.linalg.norm(q[at])
        p1, p2 = group.p_default(), body.p_default()
        np.testing.assert_allclose(
            matrix(group.equations.M(q, p1)), matrix(body.equations.M(q, p2)), rtol=1e-13, atol=1e-14
        )
        for name in ("force", "momentum_rate"):
            one, other = (
                column(getattr(dae.equations, name)(q, v, [], u, p, 0.0)) for dae, p in ((group, p1), (body, p2))
            )
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            column(group.constraints.Phi(q, p1, 0.0)), column(body.constraints.Phi(q, p2, 0.0)), atol=1e-14
        )


@pytest.mark.parametrize("planar", [True, False])
def test_a_rigid_group_moves_like_the_body_it_is(planar: bool) -> None:
    group, body = (
        mbfmu.simulate(system, 0.5, stepper="direct", step=1e-3, inputs={"hinge.tau": "2*cos(3*time)"})
        for system in merged_and_single(planar)
    )
    for name in body.names:
        np.testing.assert_allclose(group[name], body[name], atol=1e-11, err_msg=name)
    assert np.ptp(group["hinge.phi"]) > 0.1


def test_a_body_in_a_rigid_group_is_where_the_rod_and_the_bracket_put_it() -> None:
    run = mbfmu.simulate(merged_and_single(planar=False)[0], 0.1, stepper="direct", step=1e-3)
    tilt, n = 0.7, np.array([0.48, 0.6, 0.64])
    bracket = np.array([math.cos(tilt / 2), *(math.sin(tilt / 2) * n)])
    for k in (0, -1):
        shown = {name: float(run[name][k]) for name in run.names}
        Q = vector(shown, "first.Q", 4)
        offset = rotation(Q) @ np.array([0.7, -0.2, 0.3])
        np.testing.assert_allclose(vector(shown, "second.r_0"), vector(shown, "first.r_0") + offset, atol=1e-12)
        np.testing.assert_allclose(vector(shown, "second.Q", 4), product(Q, bracket), atol=1e-12)
        np.testing.assert_allclose(
            rotation(vector(shown, "second.Q", 4)) @ vector(shown, "second.w_a"),
            rotation(Q) @ vector(shown, "first.w_a"),
            atol=1e-12,
        )


# -- joints and forces of a user ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PointOnCircle(Joint):
    """The origin of frame_b stays at distance `radius` from the origin of frame_a (planar)."""

    radius: float = 1.0

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        gap = b.r_0 - a.r_0
        return (ca.dot(gap, gap) - self.radius**2) / (2 * self.radius)

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        turning = JointCoordinate(
            "spin", "rad", b.phi - a.phi, "spin_rate", "rad/s", "spin_acc", "rad/s2", "spin_tau", "N.m"
        )
        return (turning,)

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(ca.SX([self.radius, 0]), coordinates["spin"])


@dataclass(frozen=True)
class Driven(Joint):
    """A revolute whose angle is `amplitude` sin(`omega` time) (planar)."""

    amplitude: float = 0.8
    omega: float = 3.0

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.vertcat(b.r_0 - a.r_0, b.phi - a.phi - self.amplitude * ca.sin(self.omega * p.time))

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        return Pose(ca.SX(2, 1), self.amplitude * ca.sin(self.omega * p.time))


@dataclass(frozen=True)
class KnifeEdge(Joint):
    """The origin of frame_b does not slip along the y axis of frame_b (planar)."""

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.dot(b.R @ ca.SX([0, 1]), b.v_0 - a.v_0)


@dataclass(frozen=True)
class Star(Force):
    """The pull of a star at frame_a: V = -mu / distance."""

    mu: float = 1.0

    def potential(self, p: Any, a: Frame, b: Frame) -> SX:
        return -self.mu / ca.norm_2(b.r_0 - a.r_0)


def hung_on(joint: Joint, *more: Any, world: World | None = None, body: Body | None = None, ends: Any = ()) -> System:
    body = body or Body("bob", m=1.0, I_33=0.5)
    connections = (connect("world.frame_b", f"{joint.name}.frame_a"), connect(f"{joint.name}.frame_b", "bob.frame_a"))
    return System("rig", (world or World(), joint, body, *more), (*connections, *ends), planar=True)


def test_a_point_on_a_circle_of_a_user_swings_like_a_pendulum() -> None:
    """The bob of r = 1 m, let go level with the centre, against the same bob on a massless arm of mbfmu."""
    bead = hung_on(PointOnCircle("wire"))
    arm = hung_on(Revolute("hinge", phi=0.0), body=Body("bob", m=1.0, r_CM=(1.0, 0), I_33=1e-9))
    run, reference = (mbfmu.simulate(system, 1.0, stepper="direct", step=1e-3) for system in (bead, arm))
    np.testing.assert_allclose(run["constraint.position"], 0, atol=1e-9)
    np.testing.assert_allclose(run["bob.r_0[1]"], np.cos(reference["hinge.phi"]), atol=1e-7)
    np.testing.assert_allclose(run["bob.r_0[2]"], np.sin(reference["hinge.phi"]), atol=1e-7)
    assert run["bob.r_0[2]"].min() < -0.99


def test_a_point_on_a_circle_of_a_user_stays_there_with_every_stepper_that_says_so() -> None:
    for stepper in ("rattle", "local"):
        run = mbfmu.simulate(hung_on(PointOnCircle("wire")), 1.0, stepper=stepper, step=1e-2)
        np.testing.assert_allclose(np.hypot(run["bob.r_0[1]"], run["bob.r_0[2]"]), 1.0, atol=1e-12)
        np.testing.assert_allclose(run["constraint.velocity"], 0, atol=1e-11)


@pytest.mark.parametrize(("stepper", "close"), [("direct", 1e-8), ("rattle", 1e-13), ("local", 1e-13)])
def test_a_joint_driven_in_time_follows_the_clock(stepper: str, close: float) -> None:
    body = Body("bob", m=1.0, r_CM=(0.5, 0), I_33=0.1)
    run = mbfmu.simulate(hung_on(Driven("drive"), body=body), 2.0, stepper=stepper, step=2e-3, output_interval=0.02)
    phi, w = 0.8 * np.sin(3 * run.time), 2.4 * np.cos(3 * run.time)
    np.testing.assert_allclose(run["bob.phi"], phi, atol=close)
    np.testing.assert_allclose(run["bob.w"], w, atol=close * 10)


def test_a_joint_driven_in_time_tells_its_torque() -> None:
    """The drive gives the bob (I + m r^2) phi'' + m g r cos phi; the cut torque is what the bob gives the drive."""
    body = Body("bob", m=1.0, r_CM=(0.5, 0), I_33=0.1)
    run = mbfmu.simulate(hung_on(Driven("drive"), body=body), 2.0, stepper="rattle", step=2e-3, output_interval=0.02)
    phi, phidd = 0.8 * np.sin(3 * run.time), -7.2 * np.sin(3 * run.time)
    torque = (0.1 + 0.25) * phidd + 9.81 * 0.5 * np.cos(phi)
    np.testing.assert_allclose(run["drive.frame_b.t"], -torque, atol=1e-10)


def test_gamma_holds_the_terms_of_a_constraint_that_moves() -> None:
    dae = absolute(hung_on(Driven("drive"), body=Body("bob", m=1.0, r_CM=(0.5, 0), I_33=0.1)))
    rng = np.random.default_rng(0)
    for t in rng.uniform(0, 2, 5):
        q, v, a, p = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), dae.p_default()
        claimed = matrix(dae.constraints.Phi_q(q, p, t)) @ a - column(dae.constraints.gamma(q, v, p, t))
        np.testing.assert_allclose(claimed, second_derivative_of_Phi(dae, q, v, a, p, t), atol=1e-8)
        Phi_t = slope(lambda e, q=q, p=p, t=t: column(dae.constraints.Phi(q, p, t + e)))
        np.testing.assert_allclose(column(dae.constraints.Phi_t(q, p, t)), Phi_t, atol=1e-10)


def skate() -> System:
    """Gao's skate on a slope: m = I = 1, unit pull along x, a spin of 1 rad/s (P4 of METHODS, 5.3)."""
    free = FreeMotion("free", r_rel=(0, 0), v_rel=(0, 0), phi=0.0, w=1.0)
    ends = (connect("world.frame_b", "blade.frame_a"), connect("blade.frame_b", "bob.frame_a"))
    body = Body("bob", m=1.0, I_33=1.0)
    return hung_on(free, KnifeEdge("blade"), world=World(g=1.0, n=(1, 0)), body=body, ends=ends)


def test_a_skate_of_a_user_glides_on_its_known_path() -> None:
    run = mbfmu.simulate(skate(), 5.0, stepper="direct", step=2e-3, output_interval=0.05)
    t = run.time
    # x = sin^2(t)/2, y = t/2 - sin(2t)/4, phi = t; the blade presses sideways with lambda = 2 sin t
    np.testing.assert_allclose(run["bob.r_0[1]"], np.sin(t) ** 2 / 2, atol=1e-9)
    np.testing.assert_allclose(run["bob.r_0[2]"], t / 2 - np.sin(2 * t) / 4, atol=1e-9)
    np.testing.assert_allclose(run["bob.phi"], t, atol=1e-12)
    np.testing.assert_allclose(run["constraint.velocity"], 0, atol=1e-9)
    np.testing.assert_allclose(run["blade.frame_b.f[1]"], 0, atol=1e-12)
    np.testing.assert_allclose(run["blade.frame_b.f[2]"], -2 * np.sin(t), atol=1e-8)
    np.testing.assert_allclose(run["energy.total"], run["energy.total"][0], atol=1e-9)


def test_G_and_gamma_G_are_the_derivatives_of_the_velocity_constraint() -> None:
    dae = absolute(skate())
    assert (dae.m, dae.k) == (0, 1)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v, a, p = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), dae.p_default()
        G = matrix(dae.constraints.G(q, p, 0.0))
        np.testing.assert_allclose(G, [[-math.sin(q[2]), math.cos(q[2]), 0]], atol=1e-15)

        def row(e: float, q: Array = q, v: Array = v, a: Array = a, p: Array = p) -> Array:
            place = q + e * v + e * e / 2 * a
            return matrix(dae.constraints.G(place, p, 0.0)) @ (v + e * a) + column(dae.constraints.g(place, p, 0.0))

        np.testing.assert_allclose(G @ a - column(dae.constraints.gamma_G(q, v, p, 0.0)), slope(row), atol=1e-11)


@dataclass(frozen=True)
class SpeedAsPosition(Joint):
    """Wrong: holonomic equations of velocities."""

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return b.v_0[0] - a.v_0[0]


@dataclass(frozen=True)
class SquareOfSpeed(Joint):
    """Wrong: nonholonomic equations that are not linear in the velocities."""

    def velocity(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.dot(b.v_0, b.v_0) - 1


@pytest.mark.parametrize("wrong", [SpeedAsPosition("odd"), SquareOfSpeed("odd")])
def test_equations_of_a_user_that_a_joint_cannot_have_are_refused_with_its_name(wrong: Joint) -> None:
    ends = (connect("world.frame_b", "odd.frame_a"), connect("odd.frame_b", "bob.frame_a"))
    with pytest.raises(ModelError, match="'odd'"):
        absolute(hung_on(FreeMotion("free"), wrong, ends=ends))


@pytest.mark.parametrize("stepper", ["rattle", "local", "gauss"])
def test_a_stepper_for_holonomic_constraints_refuses_a_skate(stepper: str) -> None:
    with pytest.raises(
        StepperError, match=f"'{stepper}' takes holonomic constraints only.*'rig' has 1 nonholonomic.*choose"
    ):
        make_scheme(absolute(skate()), stepper)


def test_a_force_of_a_user_keeps_a_planet_on_its_orbit() -> None:
    """mu = 2 at radius 1: the speed on the circle is sqrt(2), the pull mu / r^2."""
    free = FreeMotion("free", r_rel=(1.0, 0), v_rel=(0, math.sqrt(2)), phi=0.0, w=0.0)
    ends = (connect("world.frame_b", "star.frame_a"), connect("star.frame_b", "bob.frame_a"))
    system = hung_on(free, Star("star", mu=2.0), world=World(g=0.0), ends=ends)
    run = mbfmu.simulate(system, 4.0, stepper="direct", step=1e-3, output_interval=0.05)
    turned = math.sqrt(2) * run.time
    np.testing.assert_allclose(run["bob.r_0[1]"], np.cos(turned), atol=1e-10)
    np.testing.assert_allclose(run["bob.r_0[2]"], np.sin(turned), atol=1e-10)
    np.testing.assert_allclose(run["energy.potential"], -2.0, atol=1e-10)


# -- parameters -----------------------------------------------------------------------------------------------------


@both
def test_a_parameter_changes_a_dae_as_it_changes_the_system(coordinates: str) -> None:
    """Every parameter stays a symbol: a value put in afterwards is a value given before."""
    values = {"world.g": 3.0, "l": 0.9, "cart.m": 2.0, "coil.c": 11.0, "tip.r_CM[2]": -0.3, "bracket.angle": 1.1}
    late, early = dae_of(Case("planar_rig", coordinates)), derive(planar_rig().with_values(values), coordinates)
    p = late.p_default()
    for name, value in values.items():
        p[[item.name for item in late.parameters].index(name)] = value
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v, u = rng.normal(size=late.n), rng.normal(size=late.n), rng.normal(size=len(late.inputs))
        np.testing.assert_allclose(
            matrix(late.equations.M(q, p)), matrix(early.equations.M(q, early.p_default())), rtol=1e-14
        )
        for name in ("force", "momentum_rate"):
            one, other = (
                column(getattr(dae.equations, name)(q, v, [], u, x, 0.0))
                for dae, x in ((late, p), (early, early.p_default()))
            )
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@every
def test_a_tunable_parameter_leaves_the_constraints_and_the_places_of_all_bodies_alone(case: Case) -> None:
    dae = dae_of(case)
    q, _, p = anywhere(dae, np.random.default_rng(0))
    still, none, u = np.zeros(dae.n), np.zeros(dae.m + dae.k), np.zeros(len(dae.inputs))

    def where(p: Array) -> Array:
        """Positions and orientations of all bodies and of their frames, and the constraints."""
        y = column(dae.output(q, still, [], dae.angles(q, p, 0.0), still, none, u, p, 0.0))
        chosen = [bool(re.search(r"\.(r_0\[\d\]|phi|Q\[\d\])$", item.name)) for item in dae.outputs]
        return np.concatenate([y[chosen], column(dae.constraints.Phi(q, p, 0.0))])

    for k, item in enumerate(dae.parameters):
        assert item.tunable == np.array_equal(where(p), where(p + 0.1 * (np.arange(len(p)) == k))), item.name


def test_masses_are_tunable_where_no_place_depends_on_them() -> None:
    """In absolute coordinates a group of bodies is placed by its centre of mass, so that their masses place it."""
    names = {"joint": {"world.g", "m1", "m2"}, "absolute": {"world.g", "m1", "m2"}}
    for coordinates, expected in names.items():
        dae = derive(mbfmu.load("two_link"), coordinates)
        assert {item.name for item in dae.parameters if item.tunable} == expected
    bucket = System(
        "bucket",
        (World(), Revolute("hinge", phi=0.2), BodyShape("scoop", m=3.0, r=(0.5, 0), r_CM=(0.2, 0), I_33=0.1),
         Body("load", m=2.0, r_CM=(0.1, 0.3), I_33=0.1)),
        (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "scoop.frame_a"),
         connect("scoop.frame_b", "load.frame_a")),
        planar=True,
    )  # fmt: skip
    for coordinates, tunable in (("joint", True), ("absolute", False)):
        assert {item.name: item.tunable for item in derive(bucket, coordinates).parameters}["load.m"] == tunable


def test_a_bound_parameter_follows_its_expression() -> None:
    dae = absolute(slider_crank())
    names = [item.name for item in dae.parameters]
    p = dae.p_default()
    p[names.index("l2")] = 3.0
    bound = dict(zip((item.name for item in dae.bound), column(dae.bound_values(p)), strict=True))
    assert bound["coupler.r_CM[1]"] == 1.5
    assert bound["coupler.I_33"] == pytest.approx(2 * 3.0**2 / 12, rel=1e-15)
    assert bound["link.r[1]"] == 1.0


def test_a_parameter_of_the_system_that_nothing_uses_is_still_a_parameter() -> None:
    dae = absolute(System("idle", slider_crank().components, slider_crank().connections,
                          (*slider_crank().parameters, Parameter("unused", 7.0)), planar=True))  # fmt: skip
    assert {item.name: item.value for item in dae.parameters}["unused"] == 7.0


def test_the_shape_of_one_part_is_where_its_frame_b_is() -> None:
    system = hung_on(Revolute("hinge", phi=0.3), body=BodyShape("bob", m=1.0, r=(0.4, 0.2), I_33=0.1))
    run = mbfmu.simulate(system, 0.1, step=1e-3)
    angle = run["bob.phi"]
    np.testing.assert_allclose(run["bob.frame_b.r_0[1]"], 0.4 * np.cos(angle) - 0.2 * np.sin(angle), atol=1e-13)
    np.testing.assert_allclose(run["bob.frame_b.r_0[2]"], 0.4 * np.sin(angle) + 0.2 * np.cos(angle), atol=1e-13)


def test_the_multipliers_of_a_system_given_by_its_lagrangian_are_outputs() -> None:
    """A mass of 1 kg on a circle of 1 m: lambda = v^2 - g y carries its weight and turns its way."""
    run = mbfmu.simulate("pendulum", 1.0)
    speed, height = np.hypot(run["der(x)"], run["der(y)"]), run["y"]
    assert np.ptp(height) > 0.5
    assert run["constraint.lambda[1]"] == pytest.approx(speed**2 - 9.81 * height, abs=1e-9)
