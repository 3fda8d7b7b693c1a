"""The equations given away: they are those of the simulation, their slopes those of differences, and exports agree."""

import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from harness import extra

import mbfmu
from mbfmu.analysis.equations.derivatives import hessian, jacobian
from mbfmu.analysis.linearization.mechanism import point_of
from mbfmu.errors import MbfmuError, UnknownNameError, UsageError
from mbfmu.kernel import vector
from mbfmu.model.library import known_models
from mbfmu.prepared.prepare import prepare_run
from mbfmu.prepared.settings import RunSettings

QUICK = ("two_link", "slider_crank", "stick_slip", "sampled_pid", "ice_skate")
"""Joints, a loop, friction, sampled blocks, and a nonholonomic constraint."""
WITHOUT = ("pile",)
"""Models whose contact forces are not unique, which have no equations of their own."""
gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def column(value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(value, dtype=np.float64).ravel()


def refute(name: str) -> float:
    """Return how far the equations are from those of a simulation at the start, relative to 1 and to their units."""
    equations = mbfmu.equations(name)
    start = equations.start
    # all outputs of the compiled kernel, accelerations and reactions among them
    prepared = prepare_run(equations.model, RunSettings(stepper="projected"))
    x = prepared.initial_state(stepping=False)
    u, p = vector(prepared.outline.u_default()), vector(prepared.outline.p_default())
    y = np.array(prepared.kernel.outputs(x, u, p, 0.0))[: equations.sizes["y"]]
    found = column(equations.outputs(*start))
    units = np.array([item.unit.partition(".")[0] for item in equations.quantities["y"]])  # torques follow from forces
    scale = np.array([1 + np.max(np.abs(y[units == unit])) for unit in units])
    # the implicit form at the explicit solution: another way through the same equations
    a, lambda_ = column(equations.acceleration(*start)), column(equations.multipliers(*start))
    slope = np.concatenate([start.v, a, column(equations.flow(*start))])
    state = np.concatenate(start[:3])
    residual = column(equations.residual(slope, state, lambda_, start.u, start.p, start.t))
    size = 1 + np.abs(np.concatenate([column(equations.force(*start)), lambda_, a])).max(initial=0)
    assert np.array_equal(slope, column(equations.rhs(state, start.u, start.p, start.t)))
    return max(np.max(np.abs(found - y) / scale, initial=0), np.max(np.abs(residual), initial=0) / size)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "names",
    [
        QUICK,
        pytest.param(sorted(set(known_models()) - {*QUICK, *WITHOUT}), marks=(pytest.mark.further, pytest.mark.long)),
    ],
)
def test_accelerations_and_all_outputs_are_those_of_the_simulation(names: tuple[str, ...]) -> None:
    away = {name: refute(name) for name in names}
    assert {name: size for name, size in away.items() if not size <= 1e-12} == {}


@pytest.mark.parametrize(("name", "time"), [("stick_slip", 5.2035), ("sampled_pid", 0.5035)])
def test_modes_and_what_sampled_blocks_remember_stand_in_p_later_too(name: str, time: float) -> None:
    """The friction slips then, and the instant is between two samplings."""
    equations, run = mbfmu.equations(name), RunSettings(stepper="projected", step=5e-4)
    state = point_of(prepare_run(equations.model, run), equations.dae, {}, time)
    result = mbfmu.simulate(name, time, stepper="projected", step=5e-4, output_interval=time, error_samples=0)
    found = column(equations.outputs(*state))
    assert found == pytest.approx([result[key][-1] for key in equations.names["y"]], rel=1e-12, abs=1e-12)
    assert not np.array_equal(state.p, equations.start.p)
    if name == "stick_slip":
        assert equations.start.p[equations.names["p"].index("belt.sticks")] == 1
        assert state.p[equations.names["p"].index("belt.sticks")] == 0
        assert column(equations.guards(*state)).min() > 0


@pytest.mark.parametrize(
    ("name", "coordinates"),
    [("slider_crank", "absolute"), pytest.param("heavy_top", "absolute", marks=pytest.mark.further)],
)
def test_jacobians_are_those_of_differences(name: str, coordinates: str) -> None:
    equations = mbfmu.equations(name, coordinates=coordinates)
    q, v, z, u, p, t = equations.start
    x, random = np.concatenate([q, v, z]), np.random.default_rng(1)
    direction, h = random.standard_normal(len(x) + len(u)), 1e-5
    dx, du = np.split(direction, [len(x)])

    def difference(function: Any, *pairs: Any) -> Any:
        above, below = (column(function(*(at + sign * h * by for at, by in pairs))) for sign in (1, -1))
        return (above - below) / (2 * h)

    J = jacobian(equations.rhs, ("x", "u"))(x, u, p, t)
    by_difference = difference(lambda x, u: equations.rhs(x, u, p, t), (x, dx), (u, du))
    assert column(J @ direction) == pytest.approx(by_difference, rel=1e-6, abs=1e-5)
    # second derivatives of weights^T rhs, from the first
    weights = random.standard_normal(len(x))
    H = hessian(equations.rhs, ("x", "u"))(x, u, p, t, weights)
    slopes = jacobian(equations.rhs, ("x", "u"))
    by_difference = difference(lambda x, u: slopes(x, u, p, t).T @ weights, (x, dx), (u, du))
    assert column(H @ direction) == pytest.approx(by_difference, rel=1e-5, abs=1e-4)
    # constraints, and their rate along a motion
    dq = dx[: len(q)]
    rate = column(equations.constraint_jacobian(q, p, t) @ dq)
    assert rate == pytest.approx(difference(lambda q: equations.constraints(q, p, t), (q, dq)), abs=1e-8)
    assert column(equations.constraint_rate(q, dq, p, t)) == pytest.approx(rate, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "frame"),
    [("two_link", "link2.frame_b"), pytest.param("arm6", "link6", marks=pytest.mark.further), ("heavy_top", "top")],
)
def test_a_frame_moves_as_its_jacobian_says(name: str, frame: str) -> None:
    equations = mbfmu.equations(name)
    q, _, _, _, p, t = equations.start
    q = np.random.default_rng(2).standard_normal(len(q))
    v = np.random.default_rng(3).standard_normal(len(q))
    if name == "heavy_top":
        q[-4:] /= np.linalg.norm(q[-4:])
        v[-4:] -= q[-4:] * (q[-4:] @ v[-4:])
    J_r, J_w = equations.frame_jacobian(frame)(q, p, t)
    (r1, R1), (r0, R0) = (equations.pose(frame)(q + sign * 1e-6 * v, p, t) for sign in (1, -1))
    assert column(J_r @ v) == pytest.approx(column(r1 - r0) / 2e-6, abs=1e-7)
    turn = np.array((R1 - R0) @ equations.pose(frame)(q, p, t)[1].T) / 2e-6
    w = [turn[2, 1], turn[0, 2], turn[1, 0]] if len(turn) == 3 else [turn[1, 0]]
    assert column(J_w @ v) == pytest.approx(w, abs=1e-7)


@pytest.mark.parametrize("name", ["two_link", "slider_crank"])
def test_the_implicit_form_moves_as_a_run_does(name: str) -> None:
    inputs = {mbfmu.equations(name).names["u"][0]: "2*sin(5*time)"}
    found = mbfmu.equations(name).simulate(0.1, 0.01, inputs=inputs)
    run = mbfmu.simulate(name, 0.1, step=1e-3, output_interval=0.01, inputs=inputs, error_samples=0)
    assert {key: found.units[key] for key in found.names} == {key: run.units[key] for key in found.names}
    for key in found.names:
        assert found[key] == pytest.approx(run[key], rel=1e-7, abs=1e-7 * (1 + np.abs(run[key]).max()))


@pytest.mark.parametrize(
    ("name", "solver"), [("two_link", "cvodes"), pytest.param("slider_crank", "idas", marks=pytest.mark.further)]
)
def test_an_integrator_of_casadi_takes_the_equations(name: str, solver: str) -> None:
    equations = mbfmu.equations(name)
    start = equations.start
    problem = equations.to_casadi()
    step = ca.integrator("step", solver, problem, 0.0, 0.2, {"abstol": 1e-10, "reltol": 1e-10})
    unknown = np.concatenate([column(equations.acceleration(*start)), column(equations.multipliers(*start))])
    supplied = {"z0": unknown} if "z" in problem else {}
    end = step(x0=np.concatenate(start[:3]), p=start.p, u=start.u, **supplied)["xf"]
    run = mbfmu.simulate(name, 0.2, step=1e-3, error_samples=0)
    assert column(end)[: len(start.q)] == pytest.approx([run[key][-1] for key in equations.names["q"]], abs=1e-7)


def test_acados_gets_the_implicit_form_and_the_explicit_one_where_there_are_no_constraints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    equations = mbfmu.equations("two_link")
    with pytest.raises(UsageError, match="acados_template"):
        equations.to_acados("arm")
    with pytest.raises(UsageError, match="not a name of a model"):
        equations.acados_fields("my arm")
    module = ModuleType("acados_template")
    vars(module)["AcadosModel"] = SimpleNamespace
    monkeypatch.setitem(sys.modules, "acados_template", module)
    model = equations.to_acados("arm")
    implicit = ca.Function("f", [model.xdot, model.x, model.z, model.u, model.p, model.t], [model.f_impl_expr])
    explicit = ca.Function("f", [model.x, model.u, model.p, model.t], [model.f_expl_expr])
    x, u = [0.3, -0.2, 1.0, 2.0], [1.0, -1.0]
    assert column(implicit(explicit(x, u, equations.p, 0.0), x, [], u, equations.p, 0.0)) == pytest.approx(0, abs=1e-12)
    crank = mbfmu.equations("slider_crank").to_acados("crank")
    assert (crank.name, crank.z.numel(), crank.f_impl_expr.numel()) == ("crank", 2, 8)
    assert not hasattr(crank, "f_expl_expr")  # constraints would drift


@gcc
def test_the_files_of_c_compile_and_give_the_same_bits(tmp_path: Path) -> None:
    equations = mbfmu.equations("slider_crank")
    slopes, seconds = {"acceleration": ("q", "v", "u")}, {"constraints": ("q",)}
    chosen = ("mass", "gamma", "acceleration", "outputs")
    files = equations.to_c(tmp_path / "c", chosen, jacobians=slopes, hessians=seconds)
    assert {"slider_crank.h", "slider_crank.c", "example.c"} <= {path.name for path in files}
    flags = "-std=c99 -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-parameter -O0 -ffp-contract=off"
    command = ["gcc", *flags.split(), "slider_crank.c", "example.c", "-lm", "-o", "example"]
    subprocess.run(command, cwd=tmp_path / "c", check=True)
    printed = subprocess.run([tmp_path / "c" / "example"], capture_output=True, text=True, check=True).stdout
    values: dict[str, dict[str, float]] = {}
    current: dict[str, float] = {}
    for line in printed.splitlines():
        entry, equals, value = line.partition(" = ")
        if equals:
            current[entry] = float(value)
        else:
            current = values.setdefault(line, {})
    functions = [equations.function(name) for name in chosen]
    functions += [jacobian(equations.acceleration, slopes["acceleration"]), hessian(equations.constraints, ("q",))]
    assert set(values) == {function.name() for function in functions}
    start = equations.start._asdict()
    for function in functions:
        result = function(*(start.get(name, np.zeros(2)) for name in function.name_in()))
        rows, columns = result.sparsity().get_triplet()
        label = function.name_out(0)
        expected = {f"{label}[{i}][{j}]": x for i, j, x in zip(rows, columns, result.nonzeros(), strict=True)}
        assert values[function.name()] == pytest.approx(expected, rel=1e-13, abs=1e-13)


@gcc
def test_an_example_of_c_begins_at_the_start_of_a_model_whose_zero_is_singular(tmp_path: Path) -> None:
    equations = mbfmu.equations("pendulum")
    equations.to_c(tmp_path / "c", ("rhs",))
    command = ["gcc", "-std=c99", "-O0", "-ffp-contract=off", "pendulum.c", "example.c", "-lm", "-o", "example"]
    subprocess.run(command, cwd=tmp_path / "c", check=True)
    printed = subprocess.run([tmp_path / "c" / "example"], capture_output=True, text=True, check=True).stdout
    q, v, z, u, p, t = equations.start
    values = [float(line.partition(" = ")[2]) for line in printed.splitlines()[1:]]
    assert values == pytest.approx(column(equations.rhs(np.concatenate([q, v, z]), u, p, t)), abs=1e-14)


def test_formulas_of_sympy_are_those_of_a_book() -> None:
    sp = extra("sympy", "sympy")
    M = mbfmu.equations("two_link").to_sympy(("mass",))["mass"]
    l1, l2, m1, m2, phi = sp.symbols("l1 l2 m1 m2 phi_elbow", real=True)
    M_12 = m2 * (l2**2 / 3 + l1 * l2 * sp.cos(phi) / 2)
    M_11 = m1 * l1**2 / 3 + m2 * (l1**2 + l2**2 / 3 + l1 * l2 * sp.cos(phi))
    assert sp.simplify(M - sp.Matrix([[M_11, M_12], [M_12, m2 * l2**2 / 3]])) == sp.zeros(2, 2)
    assert r"\cos{\left(\phi_{elbow} \right)}" in sp.latex(M)


def test_without_sympy_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(UsageError, match=r"\[sympy\]"):
        mbfmu.equations("pendulum").to_sympy()


def test_equations_pickle_and_name_what_they_take() -> None:
    equations = mbfmu.equations("cart_pendulum", parameters=("m",))
    again, x = pickle.loads(pickle.dumps(equations)), [0.1, 0.2, 0.3, 0.4]
    assert np.array_equal(column(again.rhs(x, [1.0], [2.0], 0.0)), column(equations.rhs(x, [1.0], [2.0], 0.0)))
    whole = mbfmu.equations("cart_pendulum")
    p = whole.p
    p[whole.names["p"].index("m")] = 2.0
    assert np.array_equal(column(again.rhs(x, [1.0], [2.0], 0.0)), column(whole.rhs(x, [1.0], p, 0.0)))
    (item,) = equations.quantities["p"]
    assert (item.name, item.unit, item.min >= 0.0) == ("m", "kg", True)
    assert equations.names["x"] == ("rail.s", "hinge.phi", "der(rail.s)", "der(hinge.phi)")
    assert [item.unit for item in equations.quantities["v"]] == ["m/s", "rad/s"]
    assert equations.rhs.name_in() == ["x", "u", "p", "t"]


def test_equations_of_a_file_with_classes_of_its_own_pickle() -> None:
    equations = mbfmu.equations("quarter_car", {"c_s": 1500.0}, parameters=())
    again = pickle.loads(pickle.dumps(equations))
    assert again.names == equations.names
    state = np.arange(1.0, 1.0 + equations.sizes["x"])
    assert np.array_equal(column(again.rhs(state, [0.0], [], 0.0)), column(equations.rhs(state, [0.0], [], 0.0)))


@pytest.mark.parametrize(
    "name",
    ["stick_slip", *(pytest.param(name, marks=pytest.mark.further) for name in ("excavator_ground", "rocking_block"))],
)
def test_every_multiplier_has_a_name_and_its_place_in_the_model_of_acados(name: str) -> None:
    equations = mbfmu.equations(name)
    rows = equations.constraint_jacobian.size1_out(0)
    assert equations.sizes["lambda_"] == rows
    assert equations.acados_fields("model")["z"].numel() == rows
    switched = [item.removesuffix("_slack") for item in equations.names["q"] if item.endswith("_slack")]
    assert list(equations.names["lambda_"][-len(switched) :]) == switched


def test_the_energy_changes_by_the_power() -> None:
    equations = mbfmu.equations("two_link")
    q, v, _, u, p, t = equations.start
    v, u = np.array([1.0, -2.0]), np.array([3.0, 4.0])
    energy = lambda q, v: float(equations.kinetic(q, v, p) + equations.potential(q, p, t))  # noqa: E731
    a, h = column(equations.acceleration(q, v, [], u, p, t)), 1e-5
    rate = (energy(q + h * v, v + h * a) - energy(q - h * v, v - h * a)) / (2 * h)
    assert float(equations.power(q, v, [], u, p, t)) == pytest.approx(rate, rel=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mbfmu.equations("arm.fmu"), "is an FMU"),
        (lambda: mbfmu.equations("two_link", parameters=["l3"]), "no parameter 'l3'"),
        (lambda: mbfmu.equations("two_link").output("elbow.fi"), "no output 'elbow.fi'"),
        (lambda: mbfmu.equations("two_link").pose("link3"), "no pose of 'link3'"),
        (lambda: mbfmu.equations("two_link").function("constraints"), "no function 'constraints'"),
        (lambda: mbfmu.equations("two_link").sampling, "no sampled blocks"),
        (lambda: mbfmu.equations("two_link").guards, "no gaps or dry friction"),
        (lambda: mbfmu.equations("pid").power, "has no energy"),
        (lambda: mbfmu.equations("stick_slip").simulate(1.0), "gaps or dry friction"),
        (lambda: mbfmu.equations("sampled_pid").simulate(1.0), "has sampled blocks"),
        (lambda: mbfmu.equations("two_link").simulate(-1.0), "positive"),
        (lambda: mbfmu.equations("two_link").to_c("x", ()), "name some"),
        (lambda: mbfmu.equations("two_link").to_c("x", jacobians={"mass": ("v",)}), "no argument 'v'"),
    ],
)
def test_what_cannot_be_done_is_one_message(call: Any, message: str) -> None:
    with pytest.raises((MbfmuError, UsageError, UnknownNameError), match=message):
        call()
