"""Forces and couplings on combinations of axes, thrusters and constant forces."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.errors import MbfmuError, ModelError, UnknownNameError, ValueRangeError
from mbfmu.model import (
    AffineDrive,
    AffineThruster,
    AxesSpring,
    AxesStop,
    Body,
    Component,
    ConstantForce,
    FilteredDrive,
    FilteredThruster,
    FreeMotion,
    IntegratedDrive,
    IntegratedThruster,
    Muscle,
    Parameter,
    PolynomialCoupling,
    Prismatic,
    Revolute,
    System,
    World,
    WorldForce,
    WorldTorque,
    connect,
)

RATIOS = (2.0, -0.5)
SEEDS = range(3)


def carts(*more: Component, start: tuple[float, float] | None = (0.1, -0.2)) -> System:
    """Two masses of 2 kg and 3 kg on rails along x, without weight."""
    s = start or (None, None)
    parts = (
        World(g=0.0),
        Prismatic("left", n=(1.0, 0.0, 0.0), s=s[0], v=None if start is None else 0.3),
        Prismatic("right", n=(1.0, 0.0, 0.0), s=s[1], v=None if start is None else 0.4),
        *(Body(name, m=m, I_11=1.0, I_22=1.0, I_33=1.0) for name, m in (("one", 2.0), ("two", 3.0))),
        *more,
    )
    ends = [("world.frame_b", f"{name}.frame_a") for name in ("left", "right")]
    ends += [("left.frame_b", "one.frame_a"), ("right.frame_b", "two.frame_a")]
    return System("carts", parts, tuple(connect(*pair) for pair in ends))


def accelerations(dae: Dae, q: Any, v: Any, u: Any = (), z: Any = ()) -> Any:
    """Accelerations of a system without constraints."""
    p = dae.p_default()
    return np.linalg.solve(np.array(dae.equations.M(q, p)), np.array(dae.equations.force(q, v, z, u, p, 0.0))).ravel()


def test_a_spring_without_slack_is_given_none_by_its_parameters() -> None:
    dae = derive(carts(AxesSpring("spring", joints=("left", "right"), ratios=RATIOS, c=7.0, lower=0.3, upper=0.3)))
    names, p = [item.name for item in dae.parameters], dae.p_default()
    p[names.index("spring.upper")] = 0.4
    assert np.isnan(np.array(dae.equations.force([0.1, -0.2], [0.0, 0.0], [], [], p, 0.0))).all()
    p[names.index("spring.lower")] = 0.4
    assert np.isfinite(np.array(dae.equations.force([0.1, -0.2], [0.0, 0.0], [], [], p, 0.0))).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("lower", "upper"), [(0.3, 0.3), (-0.1, 0.2)])
def test_a_spring_over_axes_pulls_each_by_its_ratio_outside_its_slack(seed: int, lower: float, upper: float) -> None:
    spring = AxesSpring("spring", joints=("left", "right"), ratios=RATIOS, c=7.0, lower=lower, upper=upper, d=0.4)
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=2), rng.normal(size=2)
    s, rate = RATIOS[0] * q[0] + RATIOS[1] * q[1], RATIOS[0] * v[0] + RATIOS[1] * v[1]
    f = -7.0 * (s - min(max(s, lower), upper)) - 0.4 * rate
    found = accelerations(derive(carts(spring), "joint"), q, v)
    assert found == pytest.approx([RATIOS[0] * f / 2.0, RATIOS[1] * f / 3.0], rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stop_over_axes_acts_beyond_its_limits_only(seed: int) -> None:
    stop = AxesStop("stop", joints=("left", "right"), ratios=RATIOS, c=7.0, lower=-0.1, upper=0.2, d=0.4)
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=2), rng.normal(size=2)
    s, rate = np.dot(RATIOS, q), np.dot(RATIOS, v)
    depth = s - min(max(s, -0.1), 0.2)
    f = -7.0 * depth - 0.4 * abs(depth) * rate
    found = accelerations(derive(carts(stop), "joint"), q, v)
    assert found == pytest.approx([RATIOS[0] * f / 2.0, RATIOS[1] * f / 3.0], rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_affine_drive_is_its_formula_within_its_limits(seed: int) -> None:
    numbers: Any = {"gain": 2.0, "gain_s": 0.3, "gain_v": -0.2, "bias": 0.7, "bias_s": -1.5, "bias_v": -0.6}
    limits: Any = {"u_least": -1.0, "u_greatest": 2.0, "f_least": -3.0, "f_greatest": 4.0}
    dae = derive(carts(AffineDrive("drive", joints=("left", "right"), ratios=RATIOS, **numbers, **limits)), "joint")
    assert [item.name for item in dae.inputs] == ["drive.u"]
    rng = np.random.default_rng(seed)
    for size in (0.1, 1.0, 10.0):
        q, v, u = rng.normal(size=2), rng.normal(size=2), size * rng.normal()
        s, rate = np.dot(RATIOS, q), np.dot(RATIOS, v)
        asked = min(max(u, -1.0), 2.0)
        f = (2.0 + 0.3 * s - 0.2 * rate) * asked + 0.7 - 1.5 * s - 0.6 * rate
        f = min(max(f, -3.0), 4.0)
        assert accelerations(dae, q, v, [u]) == pytest.approx([2.0 * f / 2.0, -0.5 * f / 3.0], rel=1e-12)


def test_a_filtered_drive_follows_a_step_with_its_time_constant() -> None:
    drive = FilteredDrive("drive", joints=("left",), ratios=(1.0,), T=0.2)
    result = mbfmu.simulate(carts(drive), 1.0, inputs={"drive.u": "3"}, step=1e-3)
    time = result["time"]
    assert result["drive.z"] == pytest.approx(3 * (1 - np.exp(-time / 0.2)), abs=2e-5)
    assert result["drive.f"] == pytest.approx(result["drive.z"], abs=1e-12)
    speed = 0.3 + 3 / 2 * (time - 0.2 * (1 - np.exp(-time / 0.2)))
    assert result["left.v"] == pytest.approx(speed, abs=2e-5)


def test_a_thruster_behind_a_filter_or_an_integrator_is_a_drive_behind_it() -> None:
    """Along a rail, with limits of the input and of the integral."""
    limits: dict[str, Any] = {"u_least": -2.0, "u_greatest": 2.5, "bias_v": -0.3, "z": 0.1}
    for drive, thruster, more in (
        (FilteredDrive, FilteredThruster, {"T": 0.2}),
        (IntegratedDrive, IntegratedThruster, {"z_least": -0.05, "z_greatest": 0.3}),
    ):
        pair = carts(
            drive("drive", joints=("left",), ratios=(1.0,), **limits, **more), thruster("jet", **limits, **more)
        )
        system = System("pair", pair.components, (*pair.connections, connect("two.frame_a", "jet.frame_b")))
        for u in (3.0, -1.0):
            result = mbfmu.simulate(
                system, 0.3, inputs={"drive.u": str(u), "jet.u": str(u)}, step=1e-3, error_samples=0
            )
            assert result["jet.z"] == pytest.approx(result["drive.z"], abs=1e-12)
            assert result["jet.f[1]"] + 0.3 * result["right.v"] == pytest.approx(result["jet.z"], abs=2e-3)


PULLS = [(0.25, -0.1, 0.7, -13.24575), (0.5, 0.3, 0.4, -18.86), (0.75, -2, 0.9, -4.975),
         (0.95, 0.05, 1.0, -52.01605902777777), (1.2, -0.5, 0.3, -22.546296296296312), (1.7, 0.9, 0.6, -69.5),
         (2.3, 0.1, 0.5, -130.0)]  # fmt: skip
"""Length, velocity, activation and force of a muscle by MuJoCo 4.0.0 (mju_muscleGain, mju_muscleBias)."""
FOLLOWS = [(0.9, 0.2, 0, 87.5), (0.1, 0.8, 0, -29.75), (1.4, 0.3, 0, 73.68421052631578),
           (0.5, 0.45, 0.3, 3.043457405986184), (0.4, 0.5, 0.3, -3.194085027726432), (-0.2, 0.6, 0, -21.0)]  # fmt: skip
"""Excitation, activation, width and rate of the activation by MuJoCo 4.0.0 (mju_muscleDynamics)."""


def test_a_muscle_pulls_and_wakes_as_in_mujoco() -> None:
    def item(width: float = 0.0) -> Muscle:
        return Muscle("muscle", joints=("left",), ratios=(1.0,), F_0=50.0, s=(0.2, 1.4), r=(0.7, 1.3), width=width)

    dae = derive(carts(item()))
    for s, v, z, f in PULLS:
        a = accelerations(dae, [s, 0.0], [v, 0.0], [0.0], [z])
        assert a == pytest.approx([f / 2.0, 0.0], rel=1e-12)
    for u, z, width, rate in FOLLOWS:
        p = SimpleNamespace(u=ca.SX(u), z=ca.SX(z), width=ca.SX(width))
        (found,) = item(width).rates(p, ca.SX(0), ca.SX(0))
        assert float(ca.evalf(found)) == pytest.approx(rate, rel=1e-12)
    with pytest.raises(ValueRangeError, match=r"muscle\.s = \(1\.0, 0\.5\) needs a first number below the second"):
        Muscle("muscle", joints=("left",), ratios=(1.0,), s=(1.0, 0.5))
    with pytest.raises(ValueRangeError, match="needs l_min < 1 < l_max"):
        Muscle("muscle", joints=("left",), ratios=(1.0,), curve=(1.5, 1.6, 1.5, 1.3, 1.2))


def test_the_energy_changes_by_the_power_of_a_drive() -> None:
    spring = AxesSpring("spring", joints=("left", "right"), ratios=RATIOS, c=7.0, d=0.4)
    drive = AffineDrive("drive", joints=("right", "left"), ratios=(1.0, 3.0), gain=5.0, bias_v=-0.1)
    result = mbfmu.simulate(carts(spring, drive), 0.5, inputs={"drive.u": "sin(9*time)"}, energy_balance=True)
    assert np.abs(result["energy.balance"]).max() < 1e-4 * np.ptp(result["energy.total"])


def test_a_polynomial_couples_combinations_of_axes() -> None:
    c = (0.1, 0.5, -0.3, 0.2, 0.4)
    coupling = PolynomialCoupling(
        "coupling", joints_a=("left",), joints_b=("right",), ratios_a=(2.0,), ratios_b=(-1.0,), a_0=0.3, b_0=0.1,
        **{f"c_{power}": value for power, value in enumerate(c)},  # type: ignore[arg-type]
    )  # fmt: skip
    system = carts(coupling, WorldForce("push"), start=None)
    dae = derive(
        System("coupled", system.components, (*system.connections, connect("two.frame_a", "push.frame_b"))), "joint"
    )
    q, p = np.array([0.7, -0.2]), dae.p_default()
    x = 0.2 - 0.1
    residual = 2 * 0.7 - 0.3 - sum(value * x**power for power, value in enumerate(c))
    assert abs(float(np.array(dae.constraints.Phi(q, p, 0.0)).item())) == pytest.approx(abs(residual), rel=1e-13)
    slope = sum(power * value * x ** (power - 1) for power, value in enumerate(c) if power)
    Phi_q = np.array(dae.constraints.Phi_q(q, p, 0.0)).ravel()
    assert Phi_q / Phi_q[0] == pytest.approx([1.0, slope / 2], rel=1e-13)


def test_a_coupling_without_second_joints_holds_the_first() -> None:
    held = PolynomialCoupling("held", joints_a=("left", "right"), ratios_a=(1.0, 1.0), a_0=0.2, c_0=0.05)
    dae = derive(carts(held, start=None), "joint")
    assert float(np.array(dae.constraints.Phi([0.15, 0.1], dae.p_default(), 0.0)).item()) == pytest.approx(
        0.0, abs=1e-15
    )


def rocket(*forces: Component, g: float = 0.0) -> System:
    """A free body, turned, with forces on it."""
    parts = (
        World(g=g, n=(0.0, 0.0, -1.0)),
        FreeMotion("free", r_rel=(0.1, 0.2, 0.3), v_rel=(0.5, -0.4, 0.3), Q_rel=(0.5, 0.5, -0.5, 0.5), w_rel=(1, 2, 3)),
        Body("hull", m=2.0, r_CM=(0.1, -0.2, 0.05), I_11=0.3, I_22=0.4, I_33=0.5),
        *forces,
    )
    ends = [("world.frame_b", "free.frame_a"), ("free.frame_b", "hull.frame_a")]
    ends += [("hull.frame_a", f"{force.name}.frame_b") for force in forces]
    return System("rocket", parts, tuple(connect(*pair) for pair in ends))


def test_a_thruster_is_a_force_and_a_torque_that_turn_with_its_frame() -> None:
    jet = AffineThruster("jet", force=(0.0, 2.0, 1.0), torque=(0.3, 0.0, -0.1), gain=4.0, bias=0.5, f_greatest=5.0)
    pair = (WorldForce("f", resolve="frame_b"), WorldTorque("t", resolve="frame_b"))
    for u, size in ((0.6, 4 * 0.6 + 0.5), (9.0, 5.0)):
        given = {f"f.f[{k + 1}]": str(size * x) for k, x in enumerate(jet.force)}
        given |= {f"t.t[{k + 1}]": str(size * x) for k, x in enumerate(jet.torque)}
        one = mbfmu.simulate(rocket(jet), 0.2, inputs={"jet.u": str(u)})
        two = mbfmu.simulate(rocket(*pair), 0.2, inputs=given)
        for name in ("free.r_rel[1]", "free.r_rel[3]", "free.w_rel[2]"):
            assert one[name] == pytest.approx(two[name], rel=1e-9, abs=1e-9)


def test_a_thruster_with_a_slope_by_its_speed_damps() -> None:
    jet = AffineThruster("jet", force=(1.0, 0.0, 0.0), bias_v=-3.0)
    result = mbfmu.simulate(rocket(jet), 0.2)
    assert np.diff(result["energy.total"]).max() < 0


def test_a_constant_force_at_the_centre_of_mass_holds_the_weight() -> None:
    lift = ConstantForce("lift", f=(0.0, 0.0, 2.0 * 9.81), r=(0.1, -0.2, 0.05))
    held, free = derive(rocket(lift, g=9.81), "joint"), derive(rocket(g=0.0), "joint")
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q, v = rng.normal(size=7), rng.normal(size=7)
        q[3:] /= np.linalg.norm(q[3:])
        forces = [np.array(dae.equations.force(q, v, [], [], dae.p_default(), 0.0)).ravel() for dae in (held, free)]
        assert forces[0] == pytest.approx(forces[1], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda k: AxesSpring("x", joints=("left", "right"), ratios=(1.0, k), c=7.0, d=0.4),
        lambda k: AffineDrive("x", joints=("left", "right"), ratios=(k, 2.0), bias=3.0, bias_v=-1.0),
        lambda k: PolynomialCoupling(
            "x", joints_a=("left",), joints_b=("right",), ratios_a=(1.0,), ratios_b=(k,), a_0=0.5, c_2=0.1
        ),
    ],
)  # fmt: skip
def test_a_ratio_that_is_a_parameter_acts_as_the_number(make: Any) -> None:
    """A toothed wheel's ratio as a parameter of the system, which another value replaces."""
    start = None if isinstance(make(1.0), PolynomialCoupling) else (0.1, -0.2)
    system = replace(carts(make("-1/GB"), start=start), parameters=(Parameter("GB", 4.0, "1"),))
    for GB in (4.0, 10.0):
        dae, plain = (
            derive(system.with_values({"GB": GB}), "absolute"),
            derive(carts(make(-1 / GB), start=start), "absolute"),
        )
        q, v = np.linspace(-0.4, 0.9, dae.n), np.linspace(0.7, -0.2, dae.n)
        one, other = (
            [
                np.array(item).ravel()
                for item in (
                    some.equations.force(q, v, [], some.u_default(), some.p_default(), 0.0),
                    some.constraints.Phi(q, some.p_default(), 0.0),
                )
            ]
            for some in (dae, plain)
        )
        for a, b in zip(one, other, strict=True):
            assert a == pytest.approx(b, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: AxesSpring("x", joints=("left",), ratios=(1.0, 2.0)), ValueRangeError, "must be 1 ratios"),
        (lambda: AxesStop("x", joints=("left",), ratios=(1.0,), lower=2.0, upper=1.0), ValueRangeError, "swap them"),
        (lambda: AffineDrive("x", joints=("left",), ratios=(math.nan,)), ValueRangeError, r"x\.ratios\[1\] = nan must"),
        (lambda: PolynomialCoupling("x", joints_a=("left",), ratios_a=()), ValueRangeError, "one for each joint"),
        (lambda: AxesSpring("x", joints=("left",), ratios=2.0), ValueRangeError, "must be numbers or texts"),
        (
            lambda: derive(carts(AxesSpring("x", joints=("left",), ratios=("k",)))), UnknownNameError,
            "x.ratios = 'k': there is no parameter 'k'",
        ),
        (lambda: AffineThruster("x", force=(math.inf, 0.0, 0.0)), ValueRangeError, "must be finite numbers"),
        (lambda: derive(carts(AffineDrive("x", joints=("rigth",), ratios=(1.0,)))), UnknownNameError, "'right'"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_line(make: Any, kind: type[MbfmuError], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_joint_without_an_axis_takes_no_drive() -> None:
    drive = AffineDrive("drive", joints=("free",), ratios=(1.0,))
    system = rocket()
    with pytest.raises(ModelError, match="needs an axis"):
        derive(System("one", (*system.components, drive), system.connections))


def test_angles_in_absolute_coordinates_take_no_combination() -> None:
    parts = (World(), Revolute("hinge", n=(0, 0, 1)), Body("bar", m=1.0, r_CM=(1, 0, 0), I_11=1.0, I_22=1.0, I_33=1.0))
    ends = (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "bar.frame_a"))
    drive = AffineDrive("drive", joints=("hinge",), ratios=(1.0,))
    with pytest.raises(ModelError, match="--coordinates joint"):
        derive(System("one", (*parts, drive), ends), "absolute")
