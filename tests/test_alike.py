"""Alike formulas as calls of one function: the equations, motions and derivatives of the same formulas written out."""

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from test_batch import WIDTHS, differing
from test_sensitivity import near, weights_of

import mbfmu
from benchmarks.scale import tree
from mbfmu import Sensitivity
from mbfmu.dae import Dae, alike, derive
from mbfmu.dae.frontal import plan_of
from mbfmu.dae.kkt import OverMass, SchurFactor
from mbfmu.kernel import compiled_library, compose, vector
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.runtime import Compiled
from mbfmu.prepared.prepare import prepare
from mbfmu.stepper import make_scheme

FUNCTIONS = (
    "Phi", "Phi_q", "Phi_t", "gamma", "force", "free_acceleration", "mass_solve", "M", "momentum", "momentum_rate",
    "impulse", "impulse_rate", "kinetic", "potential", "output",
)  # fmt: skip
MODELS: dict[str, Callable[[], Any]] = {
    "chain": lambda: mbfmu.load("chain", {"N": 8, "spatial": True}),
    "tree": lambda: tree(15),
}
"""Models in space with parts that are alike."""
NEVER, ALWAYS = 10**9, 2
"""Numbers of alike formulas from which they become calls."""


def equations(monkeypatch: pytest.MonkeyPatch, model: str, many: int) -> Dae:
    """Return the equations of a model in absolute coordinates."""
    monkeypatch.setattr(alike, "MANY", many)
    return derive(MODELS[model](), "absolute")


def numbers_for(function: Any, dae: Dae) -> list[npt.NDArray[np.float64]]:
    """Return random arguments of a function of the equations, with their own parameters."""
    rng = np.random.default_rng(0)
    places = function.n_in() - 2, function.n_in() - 1  # the parameters are last, but for the time
    given = [rng.normal(size=function.numel_in(k)) for k in range(function.n_in())]
    for k in places:
        if function.numel_in(k) == dae.n_p:
            given[k] = dae.extended(dae.p_default())
    return given


@pytest.mark.parametrize("model", MODELS)
def test_calls_change_no_equation(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    found = [equations(monkeypatch, model, many) for many in (NEVER, ALWAYS)]
    calling = 0
    for name in FUNCTIONS:
        plain, other = (getattr(dae, name) for dae in found)
        given = numbers_for(plain, found[0])
        values = [np.array(ca.DM(function(*given))) for function in (plain, other)]
        assert np.abs(values[0] - values[1]).max(initial=0) <= 1e-13 * (1 + np.abs(values[0]).max(initial=0)), name
        calling += bool(other.find_functions(0))
    assert calling > 4


@pytest.mark.parametrize("model", MODELS)
def test_accelerations_by_fronts_meet_the_equations_of_motion_and_the_constraints(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    plain = equations(monkeypatch, model, NEVER)
    dae = equations(monkeypatch, model, ALWAYS)
    assert plan_of(
        dae.C(*(dae.symbols()[k] for k in (0, 4, 5))).sparsity(),
        dae.over_mass(dae.symbols()[0], dae.symbols()[4]).bodies,
    )
    rng = np.random.default_rng(0)
    p, t, u, z = dae.extended(dae.p_default()), 0.3, rng.normal(size=len(dae.inputs)), np.zeros(dae.n_z)
    q, v = rng.normal(size=dae.n), rng.normal(size=dae.n)
    a, lambda_ = (np.array(item) for item in dae.acceleration(q, v, z, u, p, t))
    M, P = (np.array(ca.DM(item)) for item in (plain.M(q, p), plain.Phi_q(q, p, t)))
    force, gamma = (np.array(item) for item in (plain.force(q, v, z, u, p, t), plain.gamma(q, v, p, t)))
    motion = M @ a + P.T @ lambda_ - force
    assert np.abs(motion).max() <= 1e-10 * np.abs(P.T @ lambda_).max()  # measured: up to 4e-13
    assert np.abs(P @ a - gamma).max() <= 1e-10 * np.abs(gamma).max() * np.linalg.cond(P)  # measured: up to 1e-13


@pytest.mark.parametrize(
    ("stepper", "options"),
    [
        ("rattle", {"iteration": "simplified"}),
        pytest.param("projected", {"order": 4}, marks=pytest.mark.further),
        pytest.param("rattle", {}, marks=pytest.mark.further),
        pytest.param("generalized_alpha", {}, marks=pytest.mark.further),
        pytest.param("local", {}, marks=pytest.mark.further),
    ],
)
def test_mechanisms_with_calls_move_as_those_without(
    monkeypatch: pytest.MonkeyPatch, stepper: str, options: dict[str, Any]
) -> None:
    found = []
    for many in (NEVER, ALWAYS):
        dae = equations(monkeypatch, "chain", many)
        bundle = compose(dae, make_scheme(dae, stepper, options))
        assert any("V *const memory" in text for name, text in c_sources(bundle).items() if name.endswith(".c")) == (
            many < NEVER
        )
        kernel = Compiled(str(compiled_library(bundle)))
        s = dict(zip([item.name for item in dae.starts], dae.s_default(), strict=True))
        s.update({f"joint{i}.w": 0.3 * i * (-1) ** i for i in range(1, 9)})
        u, p = vector(dae.u_default()), vector(dae.p_default())
        x, started = kernel.initialize(vector(list(s.values())), u, p, 0.0, 1e-3)
        x1, status = kernel.advance(x, u, u, p, 0.0, 1e-3, 30)
        assert started.code == status.code == 0
        found.append(np.array(kernel.outputs(x1, u, p, 0.03)))
        named = dict(zip([item.name for item in dae.outputs], found[-1], strict=False))
        assert named["constraint.position"] < 1e-12
    assert np.abs(found[0] - found[1]).max() <= 1e-8 * np.abs(found[0]).max()  # measured: 1e-11


def kkt_factors(monkeypatch: pytest.MonkeyPatch, M: Any, C: Any, lengths: tuple[float, ...] = ()) -> list[SchurFactor]:
    """Return the factors of ``[M C^T; C 0]``, bodies of three coordinates each, without calls and with them."""
    n = M.shape[0]
    bodies, found = [k // 3 for k in range(n)], []
    for many in (NEVER, ALWAYS):
        monkeypatch.setattr(alike, "MANY", many)
        over = OverMass(lambda f: ca.solve(M, f), lengths, bodies, bodies, ca.inv(M))
        found.append(SchurFactor(over, C, M))
    assert [bool(item._fronts) for item in found] == [False, True]
    return found


def bodies_in_a_row(count: int) -> tuple[Any, Any, Any]:
    """Return symbols, M and C of bodies of three coordinates, each held to the one before by two rows of slopes."""
    x = ca.SX.sym("x", count * 6)
    M = ca.diagcat(*(ca.diag(x[6 * k : 6 * k + 3]) + 0.5 for k in range(count)))
    rows = ca.SX(2 * count, 3 * count)
    for k in range(count):
        rows[2 * k : 2 * k + 2, 3 * k : 3 * k + 3] = ca.vertcat(
            x[6 * k + 3 : 6 * k + 6].T, ca.SX([[0, 1, 0]]) * x[6 * k]
        )
        if k:
            rows[2 * k : 2 * k + 2, 3 * k - 3 : 3 * k] = -ca.vertcat(
                x[6 * k - 3 : 6 * k].T, ca.SX([[0, 0, 1]]) * x[6 * k]
            )
    return x, M, ca.sparsify(rows)


def test_a_pass_meets_both_equations_of_motion_and_the_constraint_of_their_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, M, C = bodies_in_a_row(7)
    k, n = C.shape
    rng = np.random.default_rng(0)
    numbers = rng.uniform(1, 2, x.numel())
    y, y1, mu, f, e, g = (rng.normal(size=size) for size in (n, n, k, n, n, k))
    M_, C_ = (np.array(ca.DM(ca.Function("f", [x], [ca.densify(item)])(numbers))) for item in (M, C))
    for factor in kkt_factors(monkeypatch, M, C):
        found = factor.corrected(*map(ca.SX, (y, y1, mu, f, e, g)))
        new, new1, nu, size = (np.array(item).ravel() for item in ca.Function("f", [x], list(found))(numbers))
        assert np.abs(M_ @ new + C_.T @ nu - f).max() < 1e-12  # measured: 1e-14
        assert np.abs(M_ @ (new - (new1 - y1)) - e).max() < 1e-12
        assert np.abs(C_ @ (new - y + new1 - y1) / 2 + g).max() < 1e-12
        assert size == pytest.approx(np.abs(new - y).sum() + np.abs(new1 - y1).sum(), rel=1e-13)


@pytest.mark.parametrize("weighed", [False, True])
def test_rows_that_lose_their_independence_or_length_give_no_number(
    monkeypatch: pytest.MonkeyPatch, weighed: bool
) -> None:
    x, M, C = bodies_in_a_row(7)
    numbers = np.random.default_rng(0).uniform(1, 2, x.numel())
    for factor in kkt_factors(monkeypatch, M, C, (1.0,) * C.shape[0] if weighed else ()):
        solved = ca.Function("f", [x], list(factor.solve(ca.SX.ones(C.shape[1]), ca.SX.ones(C.shape[0]))))
        assert np.isfinite(np.array(solved(numbers)[0])).all()
        lost = numbers.copy()
        lost[6 * 3 + 3 : 6 * 3 + 6] = (1e-6, 1.0, 1e-6)  # the first row of the fourth body is next to its second
        assert np.isfinite(np.array(solved(lost)[0])).all()
        lost[6 * 2 + 3 : 6 * 2 + 6] = (1e-7, 1e-7, 1.0)  # and so are their parts for the body before
        lost[6 * 3 + 3 : 6 * 3 + 6] = (1e-7, 1.0, 1e-7)
        assert np.isnan(np.array(solved(lost)[0])).any()


@pytest.mark.further
def test_lanes_with_calls_have_the_bits_of_each_instance_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "MANY", ALWAYS)
    model = mbfmu.load("chain", {"N": 6, "spatial": True})
    prepared = prepare(model, "rattle", {"iteration": "simplified"}, 1e-3, 0.0, "absolute")
    assert differing(prepared, 11, WIDTHS[-1], 5)[0] == 0


@pytest.mark.further
def test_the_adjoint_of_calls_gives_what_their_tangents_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "MANY", ALWAYS)
    run = Sensitivity(
        mbfmu.load("chain", {"N": 5, "spatial": True}), 0.02, ("l", "joint2.w", "world.g"), stepper="rattle",
        options={"iteration": "simplified"}, coordinates="absolute", output_interval=0.005,
    )  # fmt: skip
    outputs, slopes = run.jacobian()
    weights = weights_of(outputs)
    assert near(run.gradient(weights).values, np.einsum("ij,ijk->k", weights, slopes), 1e-10)


def test_formulas_that_differ_in_more_than_symbols_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "MANY", 3)
    x = ca.SX.sym("x", 8)
    values = [x[k] ** 2 + x[k + 1] for k in range(3)] + [x[3] ** 2 + 2, x[4] ** 2 + x[4], x[5] ** 2 - x[6]]
    found = alike.alike("f", values)
    assert [bool(item.kind) for item in found] == [True] * 3 + [False] * 3
    slopes = ca.Function("slopes", [x], [alike.slopes(found, x), ca.jacobian(ca.vertcat(*values), x)])
    one, other = slopes(np.arange(1.0, 9.0))
    assert np.array_equal(np.array(ca.DM(one)), np.array(ca.DM(other)))


@pytest.mark.parametrize(("model", "coordinates"), [("n_four_bar", "absolute"), ("chain", "joint")])
def test_joint_coordinates_and_mechanisms_in_the_plane_call_nothing(
    monkeypatch: pytest.MonkeyPatch, model: str, coordinates: str
) -> None:
    monkeypatch.setattr(alike, "MANY", ALWAYS)
    dae = derive(mbfmu.load(model, {"N": 6, **({"spatial": True} if model == "chain" else {})}), coordinates)
    sources = c_sources(compose(dae, make_scheme(dae, "projected", {"order": 4})))
    assert not any("V *const memory" in text for name, text in sources.items() if name.endswith(".c"))


def test_an_entry_that_recurs_is_given_once_where_asked() -> None:
    """A matrix of two masses and a symmetric block has 2 + 3 distinct ones of 9 entries that are no numbers."""
    m, J = ca.SX.sym("m", 2), ca.tril2symm(ca.tril(ca.SX.sym("J", 2, 2)))
    matrix = ca.diagcat(m[0] * ca.SX.eye(3), 2.0, m[1], m[1], J)
    given = [alike.argument(matrix, distinct) for distinct in (False, True)]
    assert [item.given.numel() for item in given] == [9, 5]
    x = ca.SX.sym("x", 5)
    read = ca.Function("read", [x], [ca.densify(given[1].renamed(x).matrix)])
    expected = ca.Function("expected", [ca.vertcat(*given[1].given.elements())], [ca.densify(matrix)])
    numbers = np.random.default_rng(0).normal(size=5)
    assert (np.array(read(numbers)) == np.array(expected(numbers))).all()
