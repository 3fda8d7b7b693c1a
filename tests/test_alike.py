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
