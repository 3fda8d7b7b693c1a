"""First-order states beside coordinates: every stepper integrates them with its order, whatever their unit."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from harness import DEFAULTS, ENDS, SCHEMES, Array, Run, both_kernels, label, on_arm, run, thorough
from interpreted import Interpreted
from mechanisms import oscillator, slider_crank
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.dae import Dae, Signal, StateSignal, derive
from mbfmu.errors import StartError, StepperError
from mbfmu.kernel import compose, vector
from mbfmu.model import (
    Block,
    Body,
    Defined,
    FixedTranslation,
    MaxwellDamper,
    Port,
    Prismatic,
    Revolute,
    State,
    System,
    TranslationalMaxwellDamper,
    World,
    connect,
    wire,
)
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.stepper import FAMILIES, make_scheme

Scheme = tuple[str, Mapping[str, Any]]
ARM = derive(mbfmu.load("two_link"), "absolute")
UNIT = 1e6
"""How many units of the Maxwell element's force there are to the newton."""


def with_lag_and_maxwell(dae: Dae, driven: str, held: str, T: float = 0.2, c: float = 30.0, d: float = 6.0) -> Dae:
    """Return a mechanism with two first-order states: a force that follows a wave late, and a Maxwell element.

    On the coordinate `driven` acts the force lag, lag' = (sin(t / (2 T)) - lag) / T; on the coordinate `held` a spring
    and a damper in a row, whose force f = maxwell / UNIT obeys f' = c (v - f / d).
    """
    q, v, z, u, p, t = replace(dae, states=(StateSignal("", "", ""),) * 2).symbols()
    lag, force = z[0], z[1] / UNIT
    at = [dae.coordinates.index(name) for name in (driven, held)]
    load = ca.SX(dae.n, 1)
    load[at[0]] += lag
    load[at[1]] -= force
    flow = ca.vertcat((ca.sin(t / (2 * T)) - lag) / T, UNIT * c * (v[at[1]] - force / d))
    turned, a = ca.SX.sym("turned", dae.n_angles), ca.SX.sym("a", dae.n)
    lambda_ = ca.SX.sym("lambda_", dae.m + dae.k)
    given = [q, v, z, u, p, t]

    def loaded(name: str, more: Any) -> Any:
        return ca.Function(name, given, [getattr(dae.equations, name)(q, v, [], u, p, t) + more])

    outputs = dae.output(q, v, [], turned, a, lambda_, u, p, t)
    return replace(
        dae,
        states=(StateSignal("lag", "N", "late force", 0.5, 1.0), StateSignal("maxwell", "uN", "force", 0.0, UNIT)),
        equations=replace(
            dae.equations,
            flow=ca.Function("flow", given, [flow]),
            free_acceleration=loaded("free_acceleration", dae.equations.mass_solve(q, p, load)),
            **{name: loaded(name, load) for name in ("force", "momentum_rate", "impulse_rate")},
        ),
        output=ca.Function("output", [q, v, z, turned, a, lambda_, u, p, t], [ca.vertcat(outputs, z)]),
        outputs=(*dae.outputs, Signal("lag", "N", "late force"), Signal("maxwell", "uN", "force", nominal=UNIT)),
        energies=replace(dae.energies, power=None),  # that of the spring behind the damper is not the mechanism's
    )


HELD = 0.3
"""All inputs, N.m or N."""
FLOOR = {"direct-ab7": 1e-12, "projected-7": 3e-13}
"""Errors that are no round-off, where those at steps that are stable are below 1e-10."""
DECAY = {"oscillator": 1.0, "slow oscillator": 0.5}
"""1/s, of the first-order states of two oscillators; `direct method=ab7` is not stable with the first."""
LOW = [scheme for scheme in SCHEMES if on_arm("absolute", scheme).order <= 4]
HIGH = [scheme for scheme in SCHEMES if scheme not in LOW]
HIGH_IN_TREES = [scheme for scheme in LOW if on_arm("joint", scheme).order > 4]
"""Schemes whose order constraints lower."""
WINDOW = {
    "projected-8": 0.3,
    "projected-9": 2.7,
    "block-4-equidistant-2": 0.5,
    "block-5-equidistant-2": 0.8,
    "radau-5": 0.5,
}
"""Of the measured orders, where few steps lie between the coarsest and round-off; Verner's leading error is so small on
linear equations that those of order 10 and 11 show."""
BLOCKS = {
    "hydraulic_servo": (0.02, 2e-5, {"command": 0.1}, 1e-6),
    "dc_motor": (0.02, 2e-5, {"i_ref": 1.0}, 1e-6),
    "pid": (0.2, 1e-3, {"reference": 0.1}, 1e-5),
    "trajectory": (0.5, 1e-2, {}, 1e-12),
}
"""Stop, step, inputs, and how far the steppers may be apart, in units of the nominal sizes."""


WIRED = {
    "wired two_link": (mbfmu.load("two_link"), "shoulder", (2.0, 1.0), "link2.frame_b"),
    "wired crank": (slider_crank(), "crank", (0.0, 2.0), "coupler.frame_b"),
}
"""Mechanism, the joint that a block drives, and the two ends of a Maxwell damper."""
COORDINATES = ("joint", "absolute")
MIXED = [f"{name}, {coordinates}" for name in WIRED for coordinates in COORDINATES]
"""Mechanisms whose motion and states depend on each other."""


def wired(system: System, axis: str, peg: tuple[float, float], end: str) -> System:
    """Return a mechanism with a Maxwell damper, and with a late drive that follows an angle and its rate by wires."""
    drive = Block(
        "drive",
        inputs=(Port("phi", "rad"), Port("w", "rad/s")),
        states=(State("lag", "(8*sin(2*phi) - 2*w - lag)/0.2", "N.m", start=1.0, nominal=10.0),),
        defined=(Defined("tau", "lag", "N.m", output=True),),
    )
    parts = FixedTranslation("peg", r=peg), MaxwellDamper("damper", c=30.0, d=6.0), drive
    ends = ("world.frame_b", "peg.frame_a"), ("peg.frame_b", "damper.frame_a"), ("damper.frame_b", end)
    signals = (f"{axis}.phi", "drive.phi"), (f"{axis}.w", "drive.w"), ("drive.tau", f"{axis}.tau")
    return replace(
        system,
        components=(*system.components, *parts),
        connections=(*system.connections, *(connect(*pair) for pair in ends)),
        wires=tuple(wire(*pair) for pair in signals),
    )


@cache
def problem(name: str) -> Dae:
    """A mechanism with first-order states."""
    if name in MIXED:
        base, coordinates = name.split(", ")
        return derive(wired(*WIRED[base]), coordinates)
    if name in DECAY:
        rate = DECAY[name]
        mass = derive(oscillator(), "absolute")
        return with_lag_and_maxwell(mass, "mass.x", "mass.x", T=1 / rate, c=rate / 2, d=0.5)
    if name == "crank":
        return with_lag_and_maxwell(derive(slider_crank(), "joint"), "crank.phi", "slider.s")
    return with_lag_and_maxwell(ARM, "link1.phi", "link2.phi")


def made(dae: Dae, scheme: Scheme, step: float = 0.01) -> Prepared:
    """Return equations with a stepper, as `prepare` does for a model."""
    stepper = make_scheme(dae, *scheme)
    parts = dae, stepper, compose(dae, stepper), None
    return Prepared(lambda: parts, step)


@cache
def reference(name: str, stop: float) -> Array:
    """[q; v; z] at a time, by SciPy from the accelerations of the index-1 form; the tolerance is 1e-13."""
    dae = problem(name)
    size = np.array([*[1.0] * (2 * dae.n), *dae.nominal_states])
    y, t = ca.SX.sym("y", 2 * dae.n + dae.n_z), ca.SX.sym("t")
    q, v, z = ca.vertsplit(y * size, [0, dae.n, 2 * dae.n, y.numel()])
    given = q, v, z, [HELD] * len(dae.inputs), dae.p_default(), t
    rate = ca.vertcat(v, dae.acceleration(*given)[0], dae.equations.flow(*given)) / size
    slope = ca.Function("slope", [t, y], [ca.densify(rate)])
    direct = made(dae, ("direct", {}))
    y0 = np.concatenate(read(direct, first_state(direct, Interpreted(direct.bundle), 0.01))) / size
    found = solve_ivp(
        lambda t, y: np.array(slope(t, y)).ravel(), (0.0, stop), y0, method="DOP853", rtol=1e-13, atol=1e-14
    )
    return found.y[:, -1] * size


def first_state(this: Prepared, kernel: Any, h: float) -> Any:
    """Return the state at the start, with all inputs held."""
    u = vector([HELD] * len(this.dae.inputs))
    x, status = kernel.initialize(vector(this.dae.s_default()), u, vector(this.dae.p_default()), 0.0, h)
    assert status.code == 0
    return x


def read(this: Prepared, x: Any, t: float = 0.0) -> tuple[Array, Array, Array]:
    """Return (q, v, z) of a state."""
    q, v, z = (
        np.array(item).ravel()
        for item in this.scheme.read(np.array(x)[: this.scheme.step.x.numel()], this.dae.p_default(), t)
    )
    return q, v, z


def errors_of(name: str, scheme: Scheme, stop: float, counts: tuple[int, ...]) -> dict[int, tuple[float, float]]:
    """Return the errors of [q; v] and of z, in units of their nominal size, for some numbers of steps."""
    dae, this, exact = problem(name), made(problem(name), scheme), reference(name, stop)
    kernel = Interpreted(this.bundle)
    errors = {}
    for n in counts:
        end = run(this, stop, stop / n, HELD, kernel=kernel)
        away = np.concatenate([end.q, end.v]) - exact[: 2 * dae.n]
        late = (end.z - exact[2 * dae.n :]) / dae.nominal_states
        errors[n] = float(np.linalg.norm(away)), float(np.linalg.norm(late))
    return errors


def orders(errors: dict[int, tuple[float, float]], floor: float, floor_z: float | None = None) -> tuple[float, float]:
    """Return the orders of [q; v] and of z, each from the finest pair of steps that stands clear of round-off."""
    found = []
    for kind, least in enumerate((floor, floor_z or floor)):
        n = max(n for n in errors if 2 * n in errors and errors[2 * n][kind] > least)
        found.append(math.log2(errors[n][kind] / errors[2 * n][kind]))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("name", "scheme"),
    thorough(
        (
            (name, scheme)
            for name in ("two_link", "crank", *MIXED)
            for scheme in LOW
            if not (name == "wired two_link, joint" and scheme in HIGH_IN_TREES)
        ),
        lambda name, scheme: (
            name == "wired crank, joint" or (name == "wired two_link, absolute" and scheme in DEFAULTS)
        ),
    ),
    ids=str,
)
def test_first_order_states_have_the_order_of_coordinates_and_rates(name: str, scheme: Scheme) -> None:
    claimed = make_scheme(problem(name), *scheme).order
    assert orders(errors_of(name, scheme, 0.4, (20, 40, 80, 160)), 1e-11) == pytest.approx((claimed, claimed), abs=0.15)


@pytest.mark.parametrize("scheme", thorough(zip(HIGH), lambda scheme: scheme in ENDS), ids=label)
def test_first_order_states_have_high_order_on_an_oscillator(scheme: Scheme) -> None:
    name = "slow oscillator" if scheme[1].get("method") == "ab7" else "oscillator"
    counts = (5, 6, 7, 8, 10, 12, 14, 16, 20, 28, 40, 56, 80, 112)
    made = make_scheme(problem(name), *scheme)
    shown = label((made.name, made.options))
    window, floor = WINDOW.get(shown, 0.2), FLOOR.get(shown, 1e-10)
    assert orders(errors_of(name, scheme, 8.0, counts), floor) == pytest.approx((made.order, made.order), abs=window)


@pytest.mark.parametrize(
    ("coordinates", "scheme"),
    thorough(
        [*itertools.product(COORDINATES, HIGH), *(("joint", scheme) for scheme in HIGH_IN_TREES)],
        lambda coordinates, scheme: coordinates == "absolute" and scheme in [*DEFAULTS, *HIGH[:4]],
    ),
    ids=str,
)
def test_states_coordinates_and_rates_of_a_mechanism_have_high_order_together(coordinates: str, scheme: Scheme) -> None:
    """From order 7 on a few steps lead from the coarsest to round-off: errors may fall faster than the order says."""
    name = f"wired two_link, {coordinates}"
    made_for, block = make_scheme(problem(name), *scheme), scheme[0] == "block"
    claimed, kind = made_for.order, (scheme[0], made_for.options.get("stages"))
    most = {("block", 5): 20, ("radau", 5): 24}.get(kind, 64 if block else 160)  # from there on all is round-off
    counts = (4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160)
    floor = 1e-11 if block else 1e-12  # its errors of rounding grow with the number of steps
    errors = errors_of(name, scheme, 0.4 if made_for.multistep else 0.8, tuple(n for n in counts if n <= most))
    found = orders(errors, floor, floor / 20)
    if claimed > 6:
        assert min(found) > claimed - 0.5
    else:
        assert found == pytest.approx((claimed, claimed), abs=0.35)


@pytest.mark.parametrize(
    ("name", "scheme"),
    thorough(
        ((name, scheme) for name in MIXED for scheme in SCHEMES),
        lambda name, scheme: name == "wired crank, absolute" and scheme in ENDS,
    ),
    ids=str,
)
def test_states_leave_the_constraints_at_round_off_and_a_rollback_is_bitwise(name: str, scheme: Scheme) -> None:
    """The steps are 1/128 s, so that times are exact: two calls of 8 steps are one of 16, from a copied state too.

    Residuals measured: 4e-16 of Phi and 1.3e-15 of the rates; with `block` 9e-12 of the rates.
    """
    this = made(problem(name), scheme)
    dae, kernel, h = this.dae, Interpreted(this.bundle), 1 / 128
    u, p = vector([HELD] * len(dae.inputs)), vector(dae.p_default())
    still, x = vector([0.0] * len(u)), first_state(this, kernel, h)

    def advanced(x: Any, t: float, count: int) -> Any:
        found, status = kernel.advance(x, u, still, p, t, h, count)
        assert status.code == 0, status
        return found

    whole, half = advanced(x, 0.0, 16), advanced(x, 0.0, 8)
    kept = bytes(half)
    end = advanced(half, 8 * h, 8)
    assert bytes(end) == bytes(whole)
    assert bytes(advanced(type(half).from_buffer_copy(kept), 8 * h, 8)) == bytes(whole)
    q, v, _ = read(this, whole, 16 * h)
    Phi = np.array(dae.constraints.Phi(q, p, 16 * h)).ravel()
    rates = np.array(dae.constraints.Phi_q(q, p, 16 * h) @ v + dae.constraints.Phi_t(q, p, 16 * h)).ravel()
    more = 2e3 if scheme[0] == "block" else 1.0  # its history's errors of rounding grow
    if "position" in this.scheme.exact:
        assert np.abs(Phi).max(initial=0.0) < 1e-14
    if "velocity" in this.scheme.exact:
        assert np.abs(rates).max(initial=0.0) < 5e-14 * more


def test_the_energy_balance_of_a_mechanism_with_states_closes() -> None:
    """Blocks put energy in and the Maxwell damper takes it out; measured 1e-13 J with the step of 1 ms."""
    system = wired(*WIRED["wired crank"])
    found = mbfmu.simulate(system, 1.0, stepper="radau", step=1e-3, energy_balance=True)
    assert np.ptp(found["energy.total"]) > 10
    assert np.abs(found["energy.balance"]).max() < 1e-11


def test_a_stepper_that_takes_no_first_order_states_is_refused_by_name_with_those_that_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(FAMILIES, "rattle", replace(FAMILIES["rattle"], states=False))
    assert make_scheme(ARM, "rattle").name == "rattle"
    with pytest.raises(StepperError, match=r"'rattle' takes no first-order states, and 'two_link' has 2: .* 'radau'"):
        make_scheme(problem("two_link"), "rattle")


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_run_with_every_stepper_and_agree_with_radau(name: str) -> None:
    stop, step, inputs, apart = BLOCKS[name]
    block = mbfmu.load(name)
    dae = derive(block)
    shown = [item.name for item in dae.outputs]
    ends = {}
    for stepper, options in DEFAULTS:
        this = prepare(block, stepper, options, step)
        kernel = Interpreted(this.bundle)
        u, p = vector([inputs.get(item.name, item.start) for item in dae.inputs]), vector(dae.p_default())
        x, begun = kernel.initialize(vector(dae.s_default()), u, p, 0.0, step)
        x, status = kernel.advance(x, u, vector([0.0] * len(u)), p, 0.0, step, round(stop / step))
        assert (begun.code, status.code) == (0, 0), (stepper, begun, status)
        ends[stepper] = np.array(kernel.outputs(x, u, p, stop))[: len(shown)]
    size = np.array([item.nominal for item in dae.outputs])
    for stepper, end in ends.items():
        np.testing.assert_allclose(end / size, ends["radau"] / size, rtol=apart, atol=apart, err_msg=stepper)


@pytest.mark.parametrize("scheme", thorough(zip(SCHEMES), lambda scheme: scheme in ENDS), ids=label)
def test_a_block_may_have_one_state_or_none_with_every_stepper(scheme: Scheme) -> None:
    y = Defined("y", "exp(-time)", output=True)
    for block in (Block("clock", defined=(y,)), Block("decay", states=(State("x", "-x", start=1.0),), defined=(y,))):
        this = made(derive(block), scheme, 0.01)
        end = run(this, 1.0, 0.01, kernel=Interpreted(this.bundle))
        np.testing.assert_allclose([*end.z], end.y["y"], rtol=0.01)


def in_units(size: float, nominal: float) -> Block:
    """A nonlinear oscillator with a speed in units that are `size` times smaller, and its nominal size."""
    return Block(
        "pendulum",
        inputs=(Port("u"),),
        states=(
            State("angle", f"speed/{size!r}", start=1.0),
            State("speed", f"{size!r}*(u - sin(angle)) - 0.3*speed", nominal=nominal),
        ),
        defined=(Defined("y", f"speed/{size!r}", output=True),),
    )


@pytest.mark.parametrize(
    ("stepper", "options"),
    thorough(SCHEMES, lambda *scheme: scheme in ENDS),
    ids=[label(scheme) for scheme in SCHEMES],
)
def test_the_unit_of_a_state_changes_neither_the_steps_nor_the_work(stepper: str, options: Mapping[str, Any]) -> None:
    plain, small = (made(derive(in_units(size, size)), (stepper, options), 0.05) for size in (1.0, 2.0**30))
    ends = [run(this, 2.0, 0.05, kernel=Interpreted(this.bundle)) for this in (plain, small)]
    assert ends[0].status.iterations == ends[1].status.iterations
    np.testing.assert_allclose(ends[1].y["y"], ends[0].y["y"], rtol=1e-12)


def test_the_tolerance_is_relative_to_the_nominal_sizes_of_the_states() -> None:
    found = [mbfmu.simulate(in_units(size, size), 2.0, step=0.5, tolerance=1e-8)["y"][-1] for size in (1.0, 2.0**30)]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


STIFF = Block(
    "stiff",
    states=(State("late", "1e6*(cos(time) - late)", start=0.0),),
    defined=(Defined("y", "late", output=True),),
)
"""A state that is far off what it follows, and would be there after some microseconds."""


def test_radau_settles_stiff_states_at_once_generalized_alpha_soon_and_the_others_do_not() -> None:
    def off(stepper: str, stop: float = 0.05, **options: Any) -> float:
        this = made(derive(STIFF), (stepper, options))
        end = run(this, stop, 0.01, kernel=Interpreted(this.bundle))
        return abs(float(end.z[0]) - math.cos(stop))

    for stages in (1, 2, 3):
        assert off("radau", stages=stages) < 2e-6  # what it follows moves by 5e-8 in a microsecond
    for stepper in ("rattle", "local", "nodal_impulse", "lobatto", "gauss"):
        assert 0.9 < off(stepper) < 1.1, stepper
    assert off("generalized_alpha", rho=0.0) < 2e-6
    assert off("generalized_alpha", rho=0.5) < 6 * 0.5**5
    assert off("generalized_alpha", stop=1.0) < 2e-6 + 100 * 0.8**100  # n rho^n after n steps
    assert 0.9 < off("generalized_alpha", rho=1.0) < 1.1


def one_step(scheme: Scheme, rate: float) -> Array:
    """Return the matrix of a step of 1 s for z' = -rate z; a state z' of the stepper counts in units of the rate."""
    shown = (Defined("y", "z", output=True),)
    this = made(derive(Block("decay", states=(State("z", f"-{rate!r}*z", start=1.0),), defined=shown)), scheme, 1.0)
    kernel, none = Interpreted(this.bundle), vector([])
    size = np.array([1.0, rate])[: this.scheme.step.x.numel()]
    columns = []
    for column in np.diag(size):
        x, status = kernel.advance(vector([*column, 1.0]), none, none, none, 0.0, 1.0, 1)
        assert status.code == 0, status
        columns.append(np.array(x)[: len(size)] / size)  # the last entry is the step
    return np.array(columns).T


@pytest.mark.parametrize(
    ("scheme", "factor"),
    [
        *((("radau", {"stages": stages}), 0.0) for stages in (1, 2, 3)),
        *((("gauss", {"stages": stages}), (-1.0) ** stages) for stages in (1, 2, 3, 4)),
        *((("lobatto", {"stages": stages}), -((-1.0) ** stages)) for stages in (2, 3, 4)),
        *((("nodal_impulse", {"action": action}), -1.0) for action in ("midpoint", "trapezoid")),
        (("rattle", {}), -1.0),
        (("local", {}), -1.0),
    ],
    ids=str,
)
def test_a_step_multiplies_the_error_of_a_stiff_state_by_the_factor_of_the_table(scheme: Scheme, factor: float) -> None:
    """At a rate of 1e8 per step; the next term of the stability function is some 1/1e8."""
    step = one_step(scheme, 1e8)
    assert step.shape == (1, 1)
    assert step[0, 0] == pytest.approx(factor, abs=1e-6)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 1.0])
def test_generalized_alpha_multiplies_the_error_of_a_stiff_state_by_minus_rho(rho: float) -> None:
    """Both eigenvalues of a step go to -rho (Jansen, Whiting & Hulbert 2000), and with rho = 1 nothing grows."""
    step = one_step(("generalized_alpha", {"rho": rho}), 1e8)
    assert np.trace(step) == pytest.approx(-2 * rho, abs=1e-6)
    assert np.linalg.det(step) == pytest.approx(rho**2, abs=1e-6)
    for rate in np.geomspace(1e-2, 1e4, 7):
        assert max(abs(np.linalg.eigvals(one_step(("generalized_alpha", {"rho": rho}), float(rate))))) < 1 + 1e-7


@pytest.mark.parametrize(("rho", "index"), [(0.0, 2), (0.5, 2), (1.0, 2), (0.0, 3), (0.5, 3)])
def test_generalized_alpha_has_order_2_with_states_for_every_rho(rho: float, index: int) -> None:
    errors = errors_of("wired crank, joint", ("generalized_alpha", {"rho": rho, "index": index}), 0.4, (40, 80, 160))
    assert orders(errors, 1e-11) == pytest.approx((2, 2), abs=0.15)


@pytest.mark.parametrize(("stepper", "bound"), [("radau", 1e-5), ("generalized_alpha", 1.0)])
def test_a_stiff_state_that_has_not_settled_at_the_start_gives_a_small_push(stepper: str, bound: float) -> None:
    """A force of 100 N that is gone after a microsecond gives 1 kg 1e-4 m/s; a step of 0.01 s at most 1 m/s."""
    damper = TranslationalMaxwellDamper("damper", joint="guide", c=1.0, d=1e-6, f=100.0)
    system = System(
        "rig",
        (World(g=0.0), Prismatic("guide", s=0.0, v=0.0), Body("mass", m=1.0, I_33=1.0), damper),
        (connect("world.frame_b", "guide.frame_a"), connect("guide.frame_b", "mass.frame_a")),
        planar=True,
    )
    this = made(derive(system), (stepper, {}))
    end = run(this, 1.0, 0.01, kernel=Interpreted(this.bundle))
    assert abs(end.v[0] - 1e-4) < bound
    assert abs(end.z[0]) < 1e-6


def boom(size: float) -> System:
    """A boom held up by a rotary actuator, with the oil pressure in units that are `size` times less than 10 MPa."""
    oil = Block(
        "oil",
        inputs=(Port("w", "rad/s"),),
        states=(
            # stiffness 1e12 Pa/m3; 1e-4 m3/rad; a flow of 2e-5 m3/s that swings, and a leak of 1e-12 m3/s/Pa
            State("p", f"{size!r}*(1e5*(2e-5*sin(3*time) - 1e-4*w) - p/{size!r})", start=0.8 * size, nominal=size),
        ),
        defined=(Defined("tau", f"1e3*p/{size!r}", "N.m", output=True),),
    )
    return System(
        "boom",
        (
            World(g=9.81),
            Revolute("hinge", phi=0.1, w=0.0, actuated=True),
            Body("arm", m=100.0, r_CM=(1, 0), I_33=5.0),
            oil,
        ),
        (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "arm.frame_a")),
        planar=True,
        wires=(wire("hinge.w", "oil.w"), wire("oil.tau", "hinge.tau")),
    )


@pytest.mark.parametrize(("stepper", "bound"), [("radau", 1e-9), ("generalized_alpha", 2e-3)])
def test_a_pressure_of_1e7_beside_an_angle_is_solved_like_one_of_1(stepper: str, bound: float) -> None:
    def slope(t: float, y: Array) -> list[float]:
        phi, w, p = y
        a = (1e3 * p - 981 * math.cos(phi)) / 105
        return [w, a, 1e5 * (2e-5 * math.sin(3 * t) - 1e-4 * w) - p]

    exact = solve_ivp(slope, (0.0, 1.0), [0.1, 0.0, 0.8], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    for coordinates in COORDINATES:
        ends = []
        for size in (1.0, 1e7):
            dae = derive(boom(size), coordinates)
            this = made(dae, (stepper, {}), 0.01)
            ends.append(run(this, 1.0, 0.01, kernel=Interpreted(this.bundle)))
            end = [ends[-1].y["hinge.phi"], ends[-1].y["hinge.w"], ends[-1].z[0] / size]
            np.testing.assert_allclose(end, exact, atol=bound)
        assert ends[0].status.iterations == ends[1].status.iterations
        np.testing.assert_allclose(ends[1].z / 1e7, ends[0].z, rtol=1e-11)


@pytest.mark.parametrize("scheme", [("rattle", {}), ("lobatto", {}), ("gauss", {"projection": "symmetric"})], ids=label)
def test_symmetric_steppers_are_reversible_with_first_order_states(scheme: Scheme) -> None:
    this = made(problem("crank"), scheme)
    kernel = Interpreted(this.bundle)
    begin = read(this, first_state(this, kernel, 0.01))
    there = run(this, 0.3, 0.01, HELD, kernel=kernel)
    u, still, p = vector([HELD]), vector([0.0]), vector(this.dae.p_default())
    x, status = kernel.advance(there.x, u, still, p, 0.3, -0.01, 30)
    assert status.code == 0
    for back, first, size in zip(read(this, x), begin, (1.0, 1.0, np.array([1.0, UNIT])), strict=True):
        np.testing.assert_allclose(back / size, first / size, atol=1e-11)


@pytest.mark.parametrize("scheme", [("projected", {}), ("radau", {}), ("rattle", {}), ("block", {})], ids=label)
def test_both_kernels_give_the_same_numbers_with_first_order_states(scheme: Scheme) -> None:
    this = made(problem("crank"), scheme)
    ends: list[Run] = [run(this, 0.1, 0.01, HELD, kernel=kernel) for kernel in both_kernels(this)]
    for one, other in zip(ends[0][:2] + ends[0][-1:], ends[1][:2] + ends[1][-1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_start_values_of_first_order_states_follow_those_of_the_mechanism() -> None:
    this = made(problem("crank"), ("rattle", {}))
    names = [item.name for item in this.dae.starts]
    assert names[-2:] == ["lag", "maxwell"]
    s = this.dae.s_default()
    s[-2:] = 0.25, 7.0
    x = this.initial_state(s=vector(s))
    q, v, z = read(this, x)
    usual = read(this, this.initial_state())
    np.testing.assert_array_equal(z, [0.25, 7.0])
    np.testing.assert_array_equal(np.concatenate([q, v]), np.concatenate(usual[:2]))
    s[-1] = math.nan  # the mechanism itself can start
    with pytest.raises(StartError, match=r"start values give states that are not finite: .*maxwell = nan"):
        this.initial_state(s=vector(s))


@pytest.fixture
def mixed(monkeypatch: pytest.MonkeyPatch) -> Dae:
    """The crank with first-order states, derived for whatever model is asked for; nothing of it is cached."""
    monkeypatch.setattr("mbfmu.prepared.prepare.derive", lambda *_: problem("crank"))
    monkeypatch.setattr("mbfmu.prepared.prepare.cache_key", lambda *_, **__: None)
    return problem("crank")


def test_the_state_space_form_of_both_together_is_the_slope_of_their_motion(mixed: Dae) -> None:
    """Small deviations of the free coordinate, its rate and the states change at first as A says."""
    found = mbfmu.linearize(slider_crank())
    assert found.states == ("crank.phi", "der(crank.phi)", "lag", "maxwell")
    this = made(mixed, ("projected", {"order": 8}))
    kernel, span = Interpreted(this.bundle), 1e-4
    names, p, u = [item.name for item in mixed.starts], vector(mixed.p_default()), vector([0.0])
    at = mixed.coordinates.index("crank.phi")

    def at_end(s: Array) -> Array:
        x, _ = kernel.initialize(vector(s), u, p, 0.0, span)
        x, status = kernel.advance(x, u, u, p, 0.0, span, 1)
        assert status.code == 0
        q, v, z = read(this, x, span)
        return np.array([q[at], v[at], *z])

    size, columns = np.array([1.0, 1.0, 1.0, UNIT]), []
    for name, unit in zip(("crank.phi", "crank.w", "lag", "maxwell"), size, strict=True):
        away = np.where(np.array(names) == name, 1e-5 * unit, 0.0)
        columns.append((at_end(mixed.s_default() + away) - at_end(mixed.s_default() - away)) / size / 2e-5)
    slope = (np.array(columns).T - np.eye(4)) / span
    wanted = found.A * size / size[:, None]
    assert np.abs(wanted).max() > 10
    np.testing.assert_allclose(slope, wanted, atol=100 * span)
