"""Components with first-order states: LuGre friction and Maxwell dampers of the library, and those of one's own."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.dae import derive
from mbfmu.dae.energy import with_balance
from mbfmu.dae.vibration import fastest_with_states
from mbfmu.errors import ModelError
from mbfmu.kernel import compose, describe
from mbfmu.model import (
    AbsoluteSensor,
    AxisForce,
    AxisLaw,
    AxisMotion,
    Body,
    Component,
    FixedTranslation,
    Force,
    MaxwellDamper,
    Parameter,
    Prismatic,
    Revolute,
    RotationalLuGreFriction,
    RotationalMaxwellDamper,
    SeriesSpringDamper,
    Subsystem,
    System,
    TranslationalEndStop,
    TranslationalLuGreFriction,
    TranslationalMaxwellDamper,
    Value,
    World,
    connect,
    quantity,
    state,
    wire,
)
from mbfmu.model.toml import from_toml, to_toml
from mbfmu.stepper import make_scheme, usual_stepper

Array = npt.NDArray[np.float64]


def on_rail(*forces: Component, s: float | None = None, v: float | None = None, actuated: bool = False) -> System:
    """A unit mass on a horizontal rail; forces between frames stretch from the world to the mass."""
    between = [force.name for force in forces if isinstance(force, Force)]
    return System(
        "rig",
        (World(g=9.81), Prismatic("rail", s=s, v=v, actuated=actuated), Body("mass", m=1.0, I_33=1.0), *forces),
        (
            connect("world.frame_b", "rail.frame_a"),
            connect("rail.frame_b", "mass.frame_a"),
            *(connect("world.frame_b", f"{name}.frame_a") for name in between),
            *(connect(f"{name}.frame_b", "mass.frame_a") for name in between),
        ),
        planar=True,
    )


def on_hinge(*forces: Component) -> System:
    """A pendulum of unit mass in the plane, level at the start."""
    return System(
        "rig",
        (World(g=9.81), Revolute("hinge"), Body("arm", m=1.0, r_CM=(0.5, 0), I_33=0.1), *forces),
        (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "arm.frame_a")),
        planar=True,
    )


def reference(slope: Any, y0: list[float], times: Array) -> Array:
    """The solution of y' = slope(t, y) by SciPy, shape (number of times, n)."""
    found = solve_ivp(slope, (0.0, times[-1]), y0, method="Radau", t_eval=times, rtol=1e-11, atol=1e-13)
    assert found.success, found.message
    return found.y.T


# -- LuGre friction -------------------------------------------------------------------------------------------------

SIGMA = {"sigma_0": 1e5, "sigma_1": 800.0, "sigma_2": 0.4}


def test_a_load_below_breakaway_bends_the_bristles_and_holds() -> None:
    """Overdamped, so the way is one-way: dz/ds = 1 - sigma_0 z / f_c gives F = f_c (1 - exp(-sigma_0 s / f_c))."""
    brake = TranslationalLuGreFriction("brake", joint="rail", f_c=2.0, **SIGMA)
    run = mbfmu.simulate(on_rail(brake, s=0.0, v=0.0, actuated=True), 1.0, inputs={"rail.f": 0.8}, step=1e-3)
    assert run.stepper.startswith("radau")
    assert run["brake.z"][-1] == pytest.approx(0.8 / 1e5, rel=1e-9)
    assert run["rail.s"][-1] == pytest.approx(-2.0 / 1e5 * math.log(1 - 0.8 / 2.0), rel=1e-6)
    assert abs(run["rail.v"][-1]) < 1e-15
    assert run["brake.f"][-1] == pytest.approx(-0.8, rel=1e-9)


@pytest.mark.parametrize("v", [-0.5, -1e-3, 5e-4, 0.01, 1.0])
def test_steady_sliding_is_on_the_stribeck_curve(v: float) -> None:
    brake = TranslationalLuGreFriction("brake", joint="rail", f_c=2.0, peak=1.5, v_s=1e-3, **SIGMA)
    driven = on_rail(brake, AxisMotion("drive", joint="rail", s="speed*time"))
    run = mbfmu.simulate(replace(driven, parameters=(Parameter("speed", v, "m/s"),)), 2.0, step=1e-3)
    curve = 2.0 + (3.0 - 2.0) * math.exp(-((v / 1e-3) ** 2))
    assert run["brake.f"][-1] == pytest.approx(-(math.copysign(curve, v) + 0.4 * v), rel=1e-8)
    assert run["brake.power"][-1] < 0


def test_small_swings_draw_the_hysteresis_loop() -> None:
    """Rotational, driven by an angle: deflection and torque as SciPy has them, and the loop takes energy out."""
    amplitude, rate = 3e-5, 4 * math.pi
    brake = RotationalLuGreFriction("brake", joint="hinge", f_c=1.0, peak=1.5, v_s=1e-3, sigma_1=300.0)
    drive = AxisMotion("drive", joint="hinge", s=f"{amplitude}*sin({rate!r}*time)")
    run = mbfmu.simulate(on_hinge(brake, drive), 2.0, step=1e-3)

    def bending(t: float, z: Array) -> Array:
        w = amplitude * rate * math.cos(rate * t)
        return w - 1e5 * abs(w) * z / (1 + 0.5 * math.exp(-((w / 1e-3) ** 2)))

    exact = reference(bending, [0.0], run["time"])[:, 0]
    assert np.ptp(exact) > 1e-5
    np.testing.assert_allclose(run["brake.z"], exact, atol=1e-9)
    torque = -(1e5 * exact + 300.0 * np.array([bending(*item) for item in zip(run["time"], exact, strict=True)]))
    np.testing.assert_allclose(run["brake.tau"], torque, atol=1e-4)
    last = run["time"] > 1.5
    lost = -np.trapezoid(run["brake.tau"][last], run["hinge.phi"][last])
    assert lost == pytest.approx(-np.trapezoid(torque[last], run["hinge.phi"][last]), rel=1e-4)
    assert lost > 2e-5


@pytest.mark.parametrize(("sigma_2", "passive"), [(150.0, True), (0.0, False)])
def test_bristles_give_back_no_more_than_they_store_if_the_viscous_constant_is_large_enough(
    sigma_2: float, passive: bool
) -> None:
    """The condition is sigma_2 >= sigma_1 (peak - 1); random speeds, and deflections up to breakaway."""
    rng = np.random.default_rng(0)
    v, z = rng.choice([-1, 1], 4000) * 10 ** rng.uniform(-5, 1, 4000), 1.5 / 1e5 * rng.uniform(-1, 1, 4000)
    brake = TranslationalLuGreFriction("brake", joint="rail", f_c=1.0, peak=1.5, sigma_2=sigma_2)
    p = SimpleNamespace(**{label: value for _, label, value in brake.declared()} | {"z": ca.DM(z)})
    lost = -np.array(brake.effort(p, 0, ca.DM(v))).ravel() * v
    stored = 1e5 * z * np.array(brake.rates(p, 0, ca.DM(v))[0]).ravel()
    assert bool(np.all(lost - stored >= -1e-12 * np.abs(stored))) == passive


def test_a_mass_drawn_by_a_spring_sticks_and_slips_as_in_the_paper() -> None:
    """Canudas de Wit and others 1995, section IV.C: 1 kg, 2 N/m, drawn at 0.1 m/s; bristles of 1e5 N/m."""
    values = {"sigma_0": 1e5, "sigma_1": math.sqrt(1e5), "sigma_2": 0.4, "v_s": 1e-3}
    brake = TranslationalLuGreFriction("brake", joint="rail", f_c=1.0, peak=1.5, **values)
    system = on_rail(brake, AxisLaw("spring", joint="rail", formula="2*(0.1*time - s)"), s=0.0, v=0.0)
    run = mbfmu.simulate(system, 12.0, step=1e-3)

    def slope(t: float, y: Array) -> Array:
        s, v, z = y
        bent = v - 1e5 * abs(v) * z / (1 + 0.5 * math.exp(-((v / 1e-3) ** 2)))
        return np.array([v, 2 * (0.1 * t - s) - 1e5 * z - values["sigma_1"] * bent - 0.4 * v, bent])

    exact = reference(slope, [0.0, 0.0, 0.0], run["time"])
    sticks = (run["time"] > 1) & (run["time"] < 7)
    assert np.abs(run["rail.v"][sticks]).max() < 1e-4
    assert run["rail.v"].max() > 0.3
    np.testing.assert_allclose(run["rail.s"], exact[:, 0], atol=1e-7)


# -- Maxwell dampers ------------------------------------------------------------------------------------------------

C, D = 50.0, 20.0
MAXWELL = {
    "along a line": MaxwellDamper("damper", c=C, d=D, f=5.0),
    "on a rail": TranslationalMaxwellDamper("damper", joint="rail", c=C, d=D, f=5.0),
    "on a hinge": RotationalMaxwellDamper("damper", joint="hinge", c=C, d=D, tau=5.0),
}


def moved(name: str, s: str, rate: float, start: float) -> Array:
    """Time and effort of a Maxwell damper whose length or angle is a formula, shape (number of times, 2)."""
    damper = MAXWELL[name]
    effort = "tau" if name == "on a hinge" else "f"
    kind, axis = (on_hinge, "hinge") if name == "on a hinge" else (on_rail, "rail")
    driven = kind(damper, AxisMotion("drive", joint=axis, s=s))
    values = {"rate": rate, f"damper.{effort}": start}
    system = replace(driven, parameters=(Parameter("rate", 0.0, "rad/s"),)).with_values(values)
    run = mbfmu.simulate(system, 2.0, step=0.01)
    return np.column_stack([run["time"], run[f"damper.{effort}"]])


@pytest.mark.parametrize("name", MAXWELL)
def test_a_held_maxwell_damper_relaxes(name: str) -> None:
    time, effort = moved(name, "0.3", 0.0, 5.0).T
    np.testing.assert_allclose(effort, 5 * np.exp(-time * C / D), atol=1e-9)


@pytest.mark.parametrize("rate", [0.5, 2.5, 20.0])
@pytest.mark.parametrize("name", MAXWELL)
def test_a_maxwell_damper_has_the_storage_and_loss_modulus_of_its_frequency(name: str, rate: float) -> None:
    x = rate * D / C
    storage, loss = C * x**2 / (1 + x**2), C * x / (1 + x**2)
    time, effort = moved(name, "1 + 0.1*sin(rate*time)", rate, -0.1 * loss).T
    exact = -0.1 * (storage * np.sin(rate * time) + loss * np.cos(rate * time))
    np.testing.assert_allclose(effort, exact, atol=1e-7)


def test_a_spring_and_damper_told_by_the_damper_s_length_move_as_a_maxwell_damper() -> None:
    """f' = c (s' - s_damper') = c (s' - f/d), from f = c (s - s_unstretched - s_damper); f there pushes."""
    series = SeriesSpringDamper("damper", c=C, d=D, s_unstretched=0.3, s_damper=0.5)
    runs = [
        mbfmu.simulate(on_rail(force, s=1.0, v=2.0), 1.0, step=0.01)
        for force in (series, MaxwellDamper("damper", c=C, d=D, f=-C * (1.0 - 0.3 - 0.5)))
    ]
    np.testing.assert_allclose(runs[0]["rail.s"], runs[1]["rail.s"], atol=1e-8)
    np.testing.assert_allclose(runs[0]["damper.f"], runs[1]["damper.f"], atol=1e-6)


def test_a_maxwell_damper_on_a_free_mass_pulls_it_and_takes_energy_out() -> None:
    run = mbfmu.simulate(on_rail(MaxwellDamper("damper", c=C, d=D), s=1.0, v=2.0), 2.0, step=0.01)

    def slope(_: float, y: Array) -> Array:
        return np.array([y[1], y[2], -C * (y[1] + y[2] / D)])

    exact = reference(slope, [1.0, 2.0, 0.0], run["time"])
    for name, column in (("rail.s", 0), ("rail.v", 1), ("damper.f", 2)):
        np.testing.assert_allclose(run[name], exact[:, column], atol=1e-8)
    np.testing.assert_allclose(run["damper.power"], exact[:, 1] * exact[:, 2], atol=1e-7)


# -- components of one's own ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HotBrake(AxisForce):
    """A viscous brake that its loss heats, and that loses its grip by heat."""

    d: Value = quantity(3.0, "N.s/m", "damping constant when cold", min=0)
    T: Value = state("K", "temperature above the surroundings", nominal=100.0, default=20.0)

    def effort(self, p: Any, s: Any, v: Any) -> Any:
        return -p.d * v / (1 + p.T / 100)

    def rates(self, p: Any, s: Any, v: Any) -> tuple[Any, ...]:
        return ((-v * self.effort(p, s, v) - 0.5 * p.T) / 0.02,)


@dataclass(frozen=True)
class PressureRail(Prismatic):
    """A prismatic joint whose closed chamber pushes: p' = -E A v / V."""

    pressure: Value = state("Pa", "pressure in the chamber", nominal=1e6, default=1e5)

    def effort(self, p: Any, s: Any, v: Any) -> Any:
        return 1e-3 * p.pressure

    def rates(self, p: Any, s: Any, v: Any) -> tuple[Any, ...]:
        return (-1e9 * 1e-3 * v / 0.1,)


@dataclass(frozen=True)
class Odometer(Body):
    """A body that counts the way its frame has gone, and the time it was up."""

    way: Value = state("m", "way gone")
    up: Value = state("s", "time above the start", default=1.0)

    def rates(self, p: Any, a: Any) -> tuple[Any, ...]:
        return (ca.norm_2(a.v_0), 1 / (1 + ca.exp(-50 * a.r_0[1])))


def test_a_force_of_ones_own_may_have_a_thermal_state() -> None:
    run = mbfmu.simulate(on_rail(HotBrake("brake", joint="rail"), s=0.0, v=10.0), 1.0, step=1e-3)

    def slope(_: float, y: Array) -> Array:
        effort = -3.0 * y[1] / (1 + y[2] / 100)
        return np.array([y[1], effort, (-y[1] * effort - 0.5 * y[2]) / 0.02])

    exact = reference(slope, [0.0, 10.0, 20.0], run["time"])
    np.testing.assert_allclose(run["rail.v"], exact[:, 1], rtol=1e-8)
    np.testing.assert_allclose(run["brake.T"], exact[:, 2], rtol=1e-8)
    assert run["brake.T"].max() > 100


def test_a_joint_of_ones_own_may_have_a_state() -> None:
    """A closed chamber is a gas spring: the pressure falls with the stroke, and the mass vibrates with 100 rad/s."""
    parts = World(g=9.81), PressureRail("rail", s=0.0, v=0.0), Body("mass", m=1.0, I_33=1.0)
    ends = connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "mass.frame_a")
    run = mbfmu.simulate(System("rig", parts, ends, planar=True), 0.1, step=1e-3)
    c = 1e-3 * 1e9 * 1e-3 / 0.1  # N/m
    stroke = 1e-3 * 1e5 / c * (1 - np.cos(math.sqrt(c) * run["time"]))
    np.testing.assert_allclose(run["rail.s"], stroke, atol=1e-8)
    np.testing.assert_allclose(run["rail.pressure"], 1e5 - 1e7 * stroke, rtol=1e-6)


def test_a_part_of_ones_own_may_have_states() -> None:
    parts = World(g=9.81), Revolute("hinge", phi=0.0, w=2.0), Odometer("arm", m=1.0, r_CM=(0.5, 0), I_33=0.1)
    mount = FixedTranslation("lever", r=(0.5, 0.0))
    ends = (
        connect("world.frame_b", "hinge.frame_a"),
        connect("hinge.frame_b", "lever.frame_a"),
        connect("lever.frame_b", "arm.frame_a"),
    )
    run = mbfmu.simulate(System("rig", (*parts, mount), ends, planar=True), 1.0, step=2e-3)
    assert run["arm.way"][0] == 0.0
    assert run["arm.up"][0] == 1.0
    swept = 0.5 * np.abs(run["hinge.w"])
    gone = np.concatenate([[0.0], np.cumsum((swept[1:] + swept[:-1]) / 2 * np.diff(run["time"]))])
    np.testing.assert_allclose(run["arm.way"], gone, atol=1e-4)
    high = 1 / (1 + np.exp(-25 * np.sin(run["hinge.phi"])))
    up = 1 + np.concatenate([[0.0], np.cumsum((high[1:] + high[:-1]) / 2 * np.diff(run["time"]))])
    np.testing.assert_allclose(run["arm.up"], up, atol=1e-4)


def test_components_with_states_are_written_to_toml_and_read_with_their_start_values() -> None:
    brake = TranslationalLuGreFriction("brake", joint="rail", f_c=2.0, sigma_1=80.0, z=1e-5)
    system = on_rail(brake, MaxwellDamper("damper", c=C, d="2*d", f="d/4"), s=1.0, v=0.5)
    system = replace(system, parameters=(Parameter("d", 8.0, "N.s/m"),))
    read = from_toml(to_toml(system))
    assert read == system
    runs = [mbfmu.simulate(item, 0.1, step=1e-3) for item in (system, read)]
    for name, first in (("brake.z", 1e-5), ("damper.f", 2.0)):
        assert runs[1][name][0] == first
        np.testing.assert_array_equal(runs[0][name], runs[1][name])


# -- the stepper they get -------------------------------------------------------------------------------------------


def test_mechanisms_with_states_get_order_8_up_to_a_step_by_their_eigenvalues_and_radau_beyond() -> None:
    """A mass on a Maxwell damper: s' = v, m v' = -f, f' = c (v - f/d), with eigenvalues of c/m s^2 and c/d."""
    rates = np.abs(np.linalg.eigvals([[0, 1, 0], [0, 0, -1], [0, C, -C / D]]))
    found = fastest_with_states(derive(on_rail(MAXWELL["along a line"], s=1.0)))
    assert max(found) == pytest.approx(rates.max(), rel=1e-6)
    for system in (on_rail(MAXWELL["along a line"], s=1.0), on_hinge(MAXWELL["on a hinge"])):
        dae = derive(system)
        slow = usual_stepper(dae, 1e-3)
        assert (slow.name, slow.options) == ("projected", {"order": 8})
        assert slow.most == pytest.approx(2 / max(fastest_with_states(dae)), rel=1e-6)
        fast = usual_stepper(dae, 1.01 * slow.most)
        assert (fast.name, fast.least) == ("radau", slow.most)
        assert usual_stepper(dae, 0.0).name == "radau"
        assert f"{slow.most:.3g} s" in slow.reason
        assert f"{slow.most:.3g} s" in fast.reason


def test_a_brake_whose_bristles_would_settle_fast_once_it_slides_gets_radau_from_rest() -> None:
    brake = TranslationalLuGreFriction("brake", joint="rail", f_c=2.0, **SIGMA)
    dae = derive(on_rail(brake, s=0.0, v=0.0, actuated=True))
    assert usual_stepper(dae, 1e-3).name == "radau"
    assert max(fastest_with_states(dae)) > 0.5 * SIGMA["sigma_0"] / 2.0  # sigma_0 |v| / f_c at 1 m/s


@pytest.mark.further
def test_the_longest_step_of_order_8_that_is_taken_for_a_machine_with_oil_errs_by_less_than_1e_4() -> None:
    system = mbfmu.load("hydraulic_monolith")
    most = usual_stepper(derive(system), 1e-3).most
    step = 0.05 / math.ceil(0.05 / most)
    run = mbfmu.simulate(system, 1.0, step=step, output_interval=0.05, error_samples=0)
    exact = mbfmu.simulate(system, 1.0, step=1e-3, output_interval=0.05, stepper="radau", options={"stages": 5})
    assert run.stepper == "projected order=8"
    assert exact.error.by_variable
    for name in exact.error.by_variable:
        assert np.abs(run[name] - exact[name]).max() < 1e-4 * np.ptp(exact[name])


@pytest.mark.further
def test_oil_that_pushes_against_an_end_stop_gets_radau_and_rests_there_under_its_own_force() -> None:
    """The oil behind a closed stop is far stiffer than in free motion, which no start shows."""
    stop = TranslationalEndStop("bump", joint="rail", lower=-0.3, upper=0.02, e=0.1)
    servo = Subsystem("servo", mbfmu.load("hydraulic_servo"))
    wires = (wire("rail.s", "servo.s"), wire("rail.v", "servo.v"), wire("servo.f", "rail.f"))
    rail = on_rail(stop, s=0.0, v=0.0, actuated=True)
    system = replace(rail, components=(*rail.components, servo), wires=wires).with_values({"mass.m": 200.0})
    run = mbfmu.simulate(system, 0.6, step=1e-3, inputs={"servo.command": 0.5}, error_samples=0)
    assert run.stepper == "radau stages=5"
    assert run["rail.s"][-1] == pytest.approx(0.02, abs=1e-12)
    assert run["servo.f"][-1] > 1e4
    assert run["bump.upper.f_n"][-1] == pytest.approx(run["servo.f"][-1], rel=1e-9)


def test_the_state_of_the_energy_balance_alone_does_not_change_the_stepper() -> None:
    plain = derive(mbfmu.load("two_link"))
    assert usual_stepper(with_balance(plain), 1e-3) == usual_stepper(plain, 1e-3)
    assert usual_stepper(plain, 1e-3)[0] == "projected"


def test_radau_has_five_stages_where_states_stand_beside_coordinates_and_else_is_what_it_was() -> None:
    """A mechanism without states, with or without the balance of its energy, gets the very code of three stages."""
    assert make_scheme(derive(on_rail(MAXWELL["along a line"], s=1.0)), "radau").options == {"stages": 5}
    assert make_scheme(derive(mbfmu.load("pid")), "radau").options == {"stages": 3}
    plain = derive(mbfmu.load("two_link"))
    for equations in (plain, with_balance(plain)):
        made, wanted = (
            describe(compose(equations, make_scheme(equations, "radau", options))) for options in ({}, {"stages": 3})
        )
        assert made == wanted


def test_a_nonholonomic_mechanism_with_states_keeps_its_constraints_with_the_default() -> None:
    """A sleigh on a rope that is a Maxwell damper: the speed across the blade stays at round-off."""
    sleigh = mbfmu.load("chaplygin_sleigh")
    peg = FixedTranslation("peg", r=(2.0, 1.0))
    rope = MaxwellDamper("rope", c=5.0, d=2.0)
    ends = (
        connect("world.frame_b", "peg.frame_a"),
        connect("peg.frame_b", "rope.frame_a"),
        connect("rope.frame_b", "sleigh.frame_a"),
    )
    roped = replace(sleigh, components=(*sleigh.components, peg, rope), connections=(*sleigh.connections, *ends))
    run = mbfmu.simulate(roped, 1.0, step=0.01)
    assert run.stepper == "projected order=8"
    heading = run["sleigh.phi"]
    across = -np.sin(heading) * run["sleigh.v_0[1]"] + np.cos(heading) * run["sleigh.v_0[2]"]
    assert np.abs(across).max() < 1e-13
    assert np.ptp(run["rope.f"]) > 0.1


@dataclass(frozen=True)
class Remembering(AbsoluteSensor):
    """A sensor with a state, which sensors cannot have."""

    level: Value = state("1", "level")


def test_a_state_of_what_is_no_part_joint_or_force_is_refused() -> None:
    base = on_rail()
    system = replace(
        base,
        components=(*base.components, Remembering("eye")),
        connections=(*base.connections, connect("eye.frame_a", "mass.frame_a")),
    )
    with pytest.raises(ModelError, match=r"Remembering 'eye' has the states level: only parts, joints and forces"):
        derive(system)
