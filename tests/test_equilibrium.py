"""Equilibria: positions, trims and steady motions in closed form, their stability, and runs that start there."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import thorough
from scipy.optimize import fsolve

import mbfmu
from mbfmu.analysis.equilibria import STABLE, UNDECIDED, UNSTABLE, Equilibrium, equilibrium_of, read_start
from mbfmu.dae import derive
from mbfmu.dae.energy import EXPECTED, with_balance
from mbfmu.errors import EquilibriumError, MbfmuError, ModelError, UnknownNameError, UsageError, ValueRangeError
from mbfmu.model import Body, BodyShape, FreeMotion, Revolute, RotationalDamper, Subsystem, System, World, connect
from mbfmu.model.toml import from_toml, to_toml

COORDINATES = ("joint", "absolute")


def rod(**more: Any) -> System:
    """A rod in space on a hinge about y, with an effort and a little friction."""
    return System(
        name="rod",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Revolute("hinge", n=(0, 1, 0), phi=0.3, w=0.0, actuated=True),
            BodyShape("bar", m=2.0, r=(1, 0, 0), r_CM=(0.5, 0, 0), I_11=0.01, I_22=0.2, I_33=0.2),
            RotationalDamper("friction", joint="hinge", d=0.5),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "bar.frame_a")),
        **more,
    )


# -- mechanisms --------------------------------------------------------------------------------------------------------


def test_a_pendulum_without_friction_hangs_undecided_and_its_upright_branch_is_unstable() -> None:
    found = mbfmu.equilibrium("pendulum")
    assert (found["x"], found["y"]) == pytest.approx((0.0, -1.0), abs=1e-12)
    assert found.stability == UNDECIDED
    assert found.eigenvalues == pytest.approx([1j * math.sqrt(9.81)], rel=1e-12)
    (upright,) = found.branches
    assert (upright["x"], upright["y"]) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert upright.stability == UNSTABLE
    assert sorted(upright.eigenvalues.real) == pytest.approx([-math.sqrt(9.81), math.sqrt(9.81)], rel=1e-12)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_rod_with_friction_is_stable_hanging_and_unstable_upright(coordinates: str) -> None:
    """Rotation about y turns +x down."""
    hanging = mbfmu.equilibrium(rod(), values={"hinge.phi": 1.2}, coordinates=coordinates)
    assert hanging["hinge.phi"] == pytest.approx(math.pi / 2, abs=1e-12)
    assert hanging.stability == STABLE
    assert hanging.residual < 1e-11
    upright = [item for item in hanging.branches if item["bar.frame_b.r_0[3]"] > 0]
    assert [item.stability for item in upright] == [UNSTABLE]
    assert math.cos(upright[0]["hinge.phi"]) == pytest.approx(0.0, abs=1e-12)


def test_from_a_start_that_newtons_method_cannot_leave_the_nearest_equilibria_are_found_the_stable_one_first() -> None:
    """A level pendulum: all accelerations are the same in first order, whichever way it turns."""
    found = mbfmu.equilibrium(rod(), values={"hinge.phi": 0.0})
    assert found["hinge.phi"] == pytest.approx(math.pi / 2, abs=1e-12)
    assert found.stability == STABLE
    assert "was found from a start beside them" in found.notices[0]


def test_two_rods_have_four_equilibria_and_only_the_hanging_one_has_no_growing_mode(two_link: System) -> None:
    found = mbfmu.equilibrium(two_link)
    angles = {
        tuple(
            round(math.cos(item[name] - shift), 9) for name, shift in (("shoulder.phi", math.pi / 2), ("elbow.phi", 0))
        )
        for item in (found, *found.branches)
    }
    assert angles == {(-1, 1), (1, 1), (1, -1), (-1, -1)}
    assert [item.stability for item in found.branches] == [UNSTABLE] * 3


def test_springs_sag_by_the_weight_over_their_stiffness() -> None:
    found = mbfmu.equilibrium("quarter_car")
    assert found["hub.s"] == pytest.approx(-340 * 9.81 / 180e3, rel=1e-12)
    assert found["suspension.s"] == pytest.approx(-300 * 9.81 / 18e3, rel=1e-12)
    assert found.stability == STABLE
    assert found.branches == ()


def test_a_freed_parameter_gives_what_is_held() -> None:
    found = mbfmu.equilibrium("quarter_car", free=["m_s"], hold={"suspension.s": -0.1})
    assert found["m_s"] == pytest.approx(0.1 * 18e3 / 9.81, rel=1e-12)
    assert found.values["m_s"] == found["m_s"]


def test_a_freed_parameter_stays_within_its_bounds() -> None:
    with pytest.raises(EquilibriumError, match=r"impossible: k_s = -29430 is outside its bounds 0 to inf"):
        mbfmu.equilibrium("quarter_car", free=["k_s"], hold={"suspension.s": 0.1})


def test_a_cart_that_nothing_holds_is_named_and_holding_it_mends_that() -> None:
    with pytest.raises(
        EquilibriumError,
        match=r"2 equations for 2 unknowns, and nothing determines rail\.s: hold it, such as --hold rail",
    ):
        mbfmu.equilibrium("cart_pendulum")
    found = mbfmu.equilibrium("cart_pendulum", hold={"rail.s": 0.2})
    assert (found["rail.s"], found["hinge.phi"]) == pytest.approx((0.2, math.pi / 2), abs=1e-12)
    assert (found.stability, found.branches[0].stability) == (UNSTABLE, UNDECIDED)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_torques_that_hold_two_links_are_those_of_gravity(two_link: System, coordinates: str) -> None:
    a, b = 0.3, -0.5
    found = mbfmu.equilibrium(
        two_link, hold={"shoulder.phi": a, "elbow.phi": b}, free=["shoulder.tau", "elbow.tau"], coordinates=coordinates
    )
    far = 9.8 * 1.0 * math.cos(a + b)
    near = 9.8 * (0.5 + 1.0) * math.cos(a)
    assert found["elbow.tau"] == pytest.approx(far, rel=1e-12)
    assert found["shoulder.tau"] == pytest.approx(near + far, rel=1e-12)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_an_angle_is_held_with_its_full_turns(coordinates: str) -> None:
    """In absolute coordinates with quaternions the angle is known up to full turns, and the start value has them."""
    found = mbfmu.equilibrium(rod(), hold={"hinge.phi": 7.0}, free=["hinge.tau"], coordinates=coordinates)
    assert found["hinge.tau"] == pytest.approx(-9.81 * math.cos(7.0), rel=1e-12)
    assert found.values["hinge.phi"] == pytest.approx(7.0, abs=1e-12)
    run = mbfmu.simulate(rod(), 0.01, values=found.values, coordinates=coordinates)
    assert run["hinge.phi"] == pytest.approx(np.full(len(run.time), 7.0), abs=1e-9)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_torque_on_a_slider_crank_is_that_of_virtual_work(coordinates: str) -> None:
    """V = g (m1/2 + m2/2) l1 sin phi, as the rod's centre of mass is half as high as the crank's end."""
    phi = 0.7
    found = mbfmu.equilibrium("slider_crank", hold={"crank.phi": phi}, free=["crank.tau"], coordinates=coordinates)
    assert found["crank.tau"] == pytest.approx(9.81 * 1.5 * math.cos(phi), rel=1e-11)
    assert found["slider.s"] == pytest.approx(math.cos(phi) + math.sqrt(4 - math.sin(phi) ** 2), rel=1e-12)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_torque_on_a_four_bar_is_that_of_virtual_work(coordinates: str) -> None:
    """The slope of the weight's energy along the linkage, whose rates follow from its vector loop."""
    phi, (d, l1, l2, l3) = 1.1, (1.3, 0.5, 1.2, 1.0)
    end = l1 * np.exp(1j * phi)
    gap = d - end
    lean = math.acos((abs(gap) ** 2 + l2**2 - l3**2) / (2 * abs(gap) * l2))
    coupler = np.angle(gap) + lean
    rocker = np.angle(end + l2 * np.exp(1j * coupler) - d)
    A = np.array([[1j * l2 * np.exp(1j * coupler), -1j * l3 * np.exp(1j * rocker)]])
    rates = np.linalg.solve(np.vstack([A.real, A.imag]), -np.array([(1j * end).real, (1j * end).imag]))
    height = [l1 / 2 * math.cos(phi), l1 * math.cos(phi) + l2 / 2 * math.cos(coupler) * rates[0]]
    height.append(l3 / 2 * math.cos(rocker) * rates[1])
    torque = 9.81 * (l1 * height[0] + l2 * height[1] + l3 * height[2])
    found = mbfmu.equilibrium("four_bar", hold={"crank.phi": phi}, free=["crank.tau"], coordinates=coordinates)
    assert found["crank.tau"] == pytest.approx(torque, rel=1e-10)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_slider_crank_balances_at_its_top_and_its_bottom_and_only_where_it_can_get(coordinates: str) -> None:
    """The loop closes with the slider on the other side too, but the rod is longer than the crank."""
    top = mbfmu.equilibrium("slider_crank", coordinates=coordinates)
    (bottom,) = top.branches
    for item, side, verdict in ((top, 1.0, UNSTABLE), (bottom, -1.0, UNDECIDED)):
        assert math.sin(item["crank.phi"]) == pytest.approx(side, abs=1e-12)
        assert item["slider.s"] == pytest.approx(math.sqrt(3), rel=1e-12)
        assert item.stability == verdict


# -- steady motions ----------------------------------------------------------------------------------------------------


def test_a_governor_that_turns_steadily_balances_weight_centrifugal_force_and_springs() -> None:
    """Moments about an arm's hinge, and forces along the shaft, by hand."""
    w, K, g = 6.0, 8e5, 9.81
    thin, long = 0.3 * 2e-4 / 12, 0.3 * (1 + 1e-4) / 12

    def unbalanced(x: np.ndarray) -> list[float]:
        s, phi = x
        middle, eye = np.array([0.05 + 0.5 * math.cos(phi), 1 - 0.5 * math.sin(phi)]), np.array([0.05, s])
        length = float(np.linalg.norm(middle - eye))
        pull = K * (length - 0.5) * (middle - eye) / length
        gravity = g * math.cos(phi) * (5.0 + 0.3 / 2)
        away = 5.0 * (0.05 + math.cos(phi)) + 0.3 / 2 * (0.05 + math.cos(phi) / 2)
        spin = w**2 * math.sin(phi) * (away + (long - thin) * math.cos(phi))
        slope = np.array([-0.5 * math.sin(phi), -0.5 * math.cos(phi)])
        return [2 * pull[1] - 3.0 * g, gravity - spin - float(pull @ slope)]

    s, phi = fsolve(unbalanced, [0.65, 0.35], xtol=1e-11)
    found = mbfmu.equilibrium("flyball_governor", hold={"shaft.w": w}, free=["shaft.tau"])
    assert found["slider.s"] == pytest.approx(s, rel=1e-9)
    assert (found["arm1.phi"], found["arm2.phi"]) == pytest.approx((phi, phi), rel=1e-9)
    assert found["shaft.tau"] == pytest.approx(0.0, abs=1e-9)
    assert not np.any(found.eigenvalues.real > 0)
    assert found.values["shaft.w"] == w


def test_the_stability_of_a_steady_motion_is_judged_in_joint_coordinates_only() -> None:
    """A rod on a turntable about the vertical: it swings out until w^2 sin cos (I_22 - I_11) = g m l/2 sin."""
    system = System(
        name="turning",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            Revolute("table", n=(0, 0, 1), phi=0.0, w=5.0, actuated=True),
            Body("plate", m=1.0, I_11=0.1, I_22=0.1, I_33=0.1),
            Revolute("hinge", n=(0, 1, 0), phi=0.7, w=0.0),
            BodyShape("bar", m=2.0, r=(1, 0, 0), r_CM=(0.5, 0, 0), I_11=0.01, I_22=0.2, I_33=0.2),
            RotationalDamper("friction", joint="hinge", d=0.5),
        ),
        connections=(
            connect("world.frame_b", "table.frame_a"),
            connect("table.frame_b", "plate.frame_a"),
            connect("plate.frame_a", "hinge.frame_a"),
            connect("hinge.frame_b", "bar.frame_a"),
        ),
    )
    steady = {"hold": {"table.w": 5.0}, "free": ["table.tau"]}
    joint, absolute = (mbfmu.equilibrium(system, coordinates=item, **steady) for item in COORDINATES)
    inertia = 0.2 + 2.0 * 0.25 - 0.01
    assert math.sin(joint["hinge.phi"]) == pytest.approx(9.81 / (25.0 * inertia), rel=1e-9)
    assert absolute["hinge.phi"] == pytest.approx(joint["hinge.phi"], rel=1e-9)
    assert joint.eigenvalues.size
    assert not np.any(joint.eigenvalues.real > 0)
    assert absolute.eigenvalues.size == 0
    assert absolute.stability == UNDECIDED
    assert "judged in joint coordinates only" in absolute.notices[-1]


@pytest.mark.parametrize("place", [-math.pi / 2, 0.5])
def test_a_pendulum_that_passes_a_place_is_in_no_steady_motion(two_link: System, place: float) -> None:
    """Its acceleration is zero there, at the lowest point by itself, but not where its rate leads."""
    held = {"shoulder.w": 1.0, "elbow.phi": 0.0}
    given = {"shoulder.phi": place, "elbow.phi": 0.0}
    found = mbfmu.equilibrium(two_link, hold=held, free=["shoulder.tau", "elbow.tau"], values=given)
    assert found["shoulder.a"] == pytest.approx(0.0, abs=1e-9)
    assert found.eigenvalues.size == 0
    assert found.stability == UNDECIDED
    assert "steady at this place only, as forces change where shoulder.w leads" in found.notices[-1]


def test_a_motor_turns_steadily_where_voltage_and_torque_hold_it() -> None:
    """u = R i + k_t w_m, k_t i = friction + tau/n, w = w_m/n."""
    k_t, n, tau, u = 0.0302, 156.0, 5.0, 12.0
    found = mbfmu.equilibrium("dc_motor", hold={"u": u, "tau": tau}, free=["i_ref", "w"])
    i = (k_t * 0.137 + tau / n) / k_t
    assert found["i"] == pytest.approx(i, rel=1e-12)
    assert found["w_m"] == pytest.approx((u - 0.317 * i) / k_t, rel=1e-12)
    assert found["w"] == pytest.approx(found["w_m"] / n, rel=1e-12)
    assert found["twist"] == pytest.approx(tau / 2e4, rel=1e-12)
    assert found.stability == STABLE


def test_a_motor_at_a_held_voltage_and_speed_has_the_current_of_ohms_law() -> None:
    w = 1.5
    found = mbfmu.equilibrium("dc_motor", hold={"u": 12.0, "w": w}, free=["i_ref"])
    assert found["i"] == pytest.approx((12.0 - 0.0302 * 156 * w) / 0.317, rel=1e-12)


# -- first-order states ------------------------------------------------------------------------------------------------


def test_a_servo_valve_that_holds_a_force_shares_the_supply_pressure() -> None:
    """Equal flows through both edges: p_s - p_a = p_b - p_t; with A_a p_a - A_b p_b = f both pressures follow."""
    D, d, p_s, f = 0.063, 0.036, 2.1e7, 2e4
    A_a, A_b = math.pi / 4 * D**2, math.pi / 4 * (D**2 - d**2)
    found = mbfmu.equilibrium("hydraulic_servo", free=["command"], hold={"f": f}, values={"y": 0.01, "command": 0.01})
    p_a = (f + A_b * p_s) / (A_a + A_b)
    assert found["p_a"] == pytest.approx(p_a, rel=1e-9)
    assert found["p_b"] == pytest.approx(p_s - p_a, rel=1e-9)
    leak, drop = 1e-13 * (2 * p_a - p_s), p_s - p_a
    assert found["command"] == pytest.approx(
        leak * math.sqrt(1.05e7) / 9e-4 / math.sqrt(drop), rel=1e-4
    )  # laminar part
    assert found.stability == STABLE


def test_pressures_that_only_agree_with_each_other_are_named() -> None:
    with pytest.raises(EquilibriumError, match="nothing determines p_a, p_b: hold 1 of them, such as --hold p_a="):
        mbfmu.equilibrium("hydraulic_servo")
    found = mbfmu.equilibrium("hydraulic_servo", hold={"p_a": 8e6})
    assert found["p_b"] == pytest.approx(8e6, rel=1e-9)


def test_equations_with_coordinates_and_states_have_the_equilibrium_of_the_coordinates(two_link: System) -> None:
    """The energy by the balance of power is a first-order state without a start value of its own."""
    system = two_link.with_values({"shoulder.phi": -1.4})
    found = equilibrium_of(system, with_balance(derive(system)), {}, {})
    assert found["shoulder.phi"] == pytest.approx(-math.pi / 2, abs=1e-12)
    assert EXPECTED not in found.unknowns
    assert f"rate of {EXPECTED}" in found.equations
    assert found["energy.balance"] == pytest.approx(0.0, abs=1e-12)


# -- a start -----------------------------------------------------------------------------------------------------------

STARTS: dict[str, dict[str, Any]] = {
    "two_link": {"hold": {"shoulder.phi": 0.3, "elbow.phi": -0.5}, "free": ["shoulder.tau", "elbow.tau"]},
    "slider_crank": {"hold": {"crank.phi": 0.7}, "free": ["crank.tau"]},
    "flyball_governor": {"hold": {"shaft.w": 6.0}, "free": ["shaft.tau"]},
    "hydraulic_servo": {"hold": {"f": 2e4}, "free": ["command"], "values": {"y": 0.01, "command": 0.01}},
    "pendulum": {},
}


@pytest.mark.parametrize(
    ("ending", "name"),
    thorough(product([".json", ".toml"], STARTS), lambda ending, name: ending == ".json" or name == "two_link"),
)
def test_a_run_that_starts_there_stays_there(name: str, ending: str, tmp_path: Path) -> None:
    found = mbfmu.equilibrium(name, **STARTS[name])
    values = read_start(found.write(tmp_path / f"start{ending}"))
    assert values == found.values
    run = mbfmu.simulate(name, 0.05, values=values)
    turning = {"shaft.phi"}
    for item in found.items:
        if item.name not in turning:
            size = max(1.0, abs(item.value))
            assert np.abs(run[item.name] - item.value).max() < 1e-10 * size  # measured: up to 1.2e-15
    about = mbfmu.linearize(name, values)
    assert about.rest < 1e-8  # measured: up to 4e-10, of a pressure in Pa


def test_a_branch_is_a_start_too() -> None:
    (other,) = mbfmu.equilibrium("pendulum").branches
    about = mbfmu.linearize("pendulum", other.values)
    assert about.rest < 1e-9
    assert dict(zip(about.coordinates, about.q0, strict=True)) == pytest.approx({"x": 0.0, "y": 1.0}, abs=1e-9)


def test_the_start_value_of_an_input_acts_until_the_input_is_set(two_link: System) -> None:
    begun = two_link.with_values({"shoulder.tau": 3.0})
    assert begun.input_starts == {"shoulder.tau": 3.0}
    assert [item.start for item in derive(begun).inputs] == [3.0, 0.0]
    runs = [mbfmu.simulate(begun, 0.02), mbfmu.simulate(two_link, 0.02, inputs={"shoulder.tau": 3.0})]
    assert np.array_equal(runs[0].values, runs[1].values)
    assert not mbfmu.simulate(begun, 0.02, inputs={"shoulder.tau": 0.0})["shoulder.tau"].any()
    for wrong in (math.nan, "l1"):
        with pytest.raises(ValueRangeError, match=r"shoulder\.tau = "):
            two_link.with_values({"shoulder.tau": wrong})
    with pytest.raises(UnknownNameError, match=r"shoulder\.tua"):
        two_link.with_values({"shoulder.tua": 3.0})


def nested() -> System:
    """A free body that is driven in all its freedoms, beside an arm that is a system of its own."""
    arm = mbfmu.load("two_link").with_values({"elbow.tau": 0.5})
    assert isinstance(arm, System)
    parts = tuple(item for item in arm.components if not isinstance(item, World))
    pairs = tuple(pair for pair in arm.connections if "world.frame_b" not in pair)
    return System(
        name="nested",
        planar=True,
        components=(
            World(),
            Subsystem("arm", replace(arm, components=parts, connections=pairs)),
            FreeMotion("flight", actuated=True),
            Body("stone", m=1.0, I_33=1.0),
        ),
        connections=(
            connect("world.frame_b", "arm.shoulder.frame_a"),
            connect("world.frame_b", "flight.frame_a"),
            connect("flight.frame_b", "stone.frame_a"),
        ),
    )


@pytest.mark.parametrize("name", ["crane", "quarter_car", "hydraulic_manipulator", "driven_pendulum", "nested"])
def test_the_inputs_of_a_system_are_those_of_its_equations(name: str) -> None:
    system = nested() if name == "nested" else mbfmu.load(name)
    assert isinstance(system, System)
    inputs = derive(system, "joint").inputs
    assert system.input_names() == tuple(item.name for item in inputs)
    last = system.input_names()[-1:]
    begun = derive(system.with_values(dict.fromkeys(last, 2.0)), "joint")
    assert [item.start for item in begun.inputs][-1:] == [2.0] * len(last)


def test_a_system_inside_another_keeps_the_start_values_of_its_inputs() -> None:
    starts = {item.name: item.start for item in derive(nested().with_values({"flight.f_rel[2]": 9.81})).inputs}
    assert starts["arm.elbow.tau"] == 0.5
    assert starts["flight.f_rel[2]"] == 9.81


def test_start_values_of_inputs_are_part_of_a_toml_model(two_link: System) -> None:
    begun = two_link.with_values({"shoulder.tau": 3.0})
    assert from_toml(to_toml(begun)) == begun
    with pytest.raises(ModelError, match=r"line \d+: shoulder\.tau = '3'"):
        from_toml(to_toml(begun).replace("= 3.0}", '= "3"}'))
    with pytest.raises(UnknownNameError, match=r"there is no input 'shoulder\.tua'; did you mean 'shoulder\.tau'"):
        derive(from_toml(to_toml(begun).replace('"shoulder.tau"', '"shoulder.tua"')))
    with pytest.raises(UnknownNameError, match="there is no input 'f_y'; did you mean 'f_x'"):
        replace(mbfmu.load("pendulum"), input_starts={"f_y": 1.0})


def test_blocks_and_lagrangians_have_start_values_of_inputs_too() -> None:
    assert derive(mbfmu.load("dc_motor", {"i_ref": 2.0})).u_default().tolist() == [2.0, 0.0]
    pendulum = derive(mbfmu.load("pendulum", {"f_x": 2.0}))
    assert pendulum.u_default().tolist() == [2.0]


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_what_remains_is_named_with_the_input_that_can_balance_it(two_link: System) -> None:
    with pytest.raises(
        EquilibriumError,
        match=r"3 equations for 2 unknowns, .* unmet: .*acceleration of shoulder\.phi by .*--free shoulder",
    ):
        mbfmu.equilibrium(two_link, hold={"shoulder.phi": 0.3})


def test_too_many_freed_inputs_are_named(two_link: System) -> None:
    with pytest.raises(EquilibriumError, match=r"nothing determines .*leave shoulder\.tau out of --free"):
        mbfmu.equilibrium(two_link, free=["shoulder.tau"])


def test_names_and_values_that_are_wrong_are_refused(two_link: System) -> None:
    with pytest.raises(UnknownNameError, match=r"no input, parameter, state or coordinate 'shoulder\.tua'; did you"):
        mbfmu.equilibrium(two_link, free=["shoulder.tua"])
    with pytest.raises(UnknownNameError, match=r"no output or input 'elbow\.fi'; did you mean 'elbow\.phi'"):
        mbfmu.equilibrium(two_link, hold={"elbow.fi": 1.0})
    with pytest.raises(UsageError, match=r"'shoulder\.tau' is both free and held"):
        mbfmu.equilibrium(two_link, free=["shoulder.tau"], hold={"shoulder.tau": 1.0})
    with pytest.raises(UsageError, match="'m1' is a parameter, which keeps its value"):
        mbfmu.equilibrium(two_link, hold={"m1": 1.0})
    with pytest.raises(UsageError, match=r"elbow\.phi = nan must be a finite number"):
        mbfmu.equilibrium(two_link, hold={"elbow.phi": math.nan})
    with pytest.raises(UsageError, match="'A_a' of 'hydraulic_servo' follows from other parameters"):
        mbfmu.equilibrium("hydraulic_servo", free=["A_a"])


def test_a_motion_in_time_is_no_rest() -> None:
    with pytest.raises(EquilibriumError, match=r"hold the rate of a steady motion \(--hold carriage\.v=VALUE\)"):
        mbfmu.equilibrium("driven_pendulum")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "[1]", "must hold values by name"),
        ("a.json", '{"x": [1]}', r"x = \[1\] must be a number"),
        ("a.toml", "x = true\n", "x = True must be a number"),
        ("a.toml", "x = ", "cannot read the start file"),
        ("a.csv", "x", r"must end in \.json or \.toml"),
    ],
)
def test_a_start_file_that_is_something_else_is_refused(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(MbfmuError, match=said):
        read_start(tmp_path / name)


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_writes_a_start_that_the_other_commands_take(said: Callable[..., str]) -> None:
    given = ("--free", "shoulder.tau,elbow.tau", "--hold", "shoulder.phi=pi/6,elbow.phi=atan2(1, 2)", "--set", "m2=2")
    told = json.loads(said("equilibrium", "two_link", *given, "-o", "start.json", "--json"))
    written = json.loads(Path("start.json").read_text(encoding="utf-8"))
    assert told["values"] == written
    assert written["m2"] == 2.0
    assert written["shoulder.phi"] == pytest.approx(math.pi / 6)
    assert written["elbow.tau"] == pytest.approx(2 * 9.8 * math.cos(math.pi / 6 + math.atan2(1, 2)))
    begun = ("two_link", "--start", "start.json")
    run = json.loads(said("simulate", *begun, "--stop", "0.01", "--json"))
    assert run["variables"]["elbow.phi"]["max"] == pytest.approx(math.atan2(1, 2), abs=1e-9)
    linear = json.loads(said("linearize", *begun, "--json"))
    assert linear["rest"] < 1e-9
    assert linear["u0"] == pytest.approx([written["shoulder.tau"], written["elbow.tau"]])
    said("export", *begun, "-o", "held.fmu")
    assert mbfmu.simulate("held.fmu", 0.01)["elbow.phi"] == pytest.approx(math.atan2(1, 2), abs=1e-9)
    assert "has its start values inside" in said("simulate", "held.fmu", "--stop", "0.01", "--start", "start.json")
    said("view", *begun, "--stop", "0.02", "-o", "page.html")
    assert Path("page.html").stat().st_size > 0


def test_the_table_of_the_command_tells_values_stability_and_branches(said: Callable[..., str]) -> None:
    text = said("equilibrium", "pendulum")
    for part in ("pendulum: undecided on the imaginary axis", "further equilibria near the start", "unstable"):
        assert part in text
    assert "nothing determines rail.s" in said("equilibrium", "cart_pendulum")
    assert "must end in .json or .toml" in said("equilibrium", "pendulum", "-o", "start.csv")


def test_an_equilibrium_names_its_quantities() -> None:
    found = mbfmu.equilibrium("quarter_car")
    assert isinstance(found, Equilibrium)
    assert {item.name: item.role for item in found.items} == {"hub.s": "coordinate", "suspension.s": "coordinate"}
    assert found["spring.f"] == pytest.approx(300 * 9.81, rel=1e-12)
    with pytest.raises(UnknownNameError, match=r"no 'hub\.z'"):
        found["hub.z"]


def test_a_sampled_loop_rests_where_its_integral_carries_the_weight_and_starts_there() -> None:
    found = mbfmu.equilibrium("sampled_pid")
    assert found["phi"] == pytest.approx(1.0, abs=1e-12)
    assert found.values["pid.I"] == pytest.approx(9.81 / 2 * math.sin(1.0), rel=1e-12)
    assert found.stability == "stable"
    run = mbfmu.simulate("sampled_pid", 0.5, values=found.values, step=1e-3)
    assert np.abs(run["phi"] - 1.0).max() < 1e-12
    assert np.abs(run["omega"]).max() < 1e-11


def test_a_boom_on_oil_rests_at_its_command() -> None:
    found = mbfmu.equilibrium("hydraulic_monolith", values={"ref": 0.0}, hold={"p2": 5e6})
    assert found["p1"] == pytest.approx(3673958.3333333335, rel=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("phi", [7.0, 10.0, -10.0])
def test_a_loop_stays_in_its_branch_when_a_coordinate_is_held_far_from_the_start(coordinates: str, phi: float) -> None:
    found = mbfmu.equilibrium("slider_crank", hold={"crank.phi": phi}, free=["crank.tau"], coordinates=coordinates)
    assert found["slider.s"] == pytest.approx(math.cos(phi) + math.sqrt(4 - math.sin(phi) ** 2), abs=1e-12)
    assert found["crank.phi"] == pytest.approx(phi, abs=1e-12)


# -- lines that bend far -----------------------------------------------------------------------------------------------


def test_a_line_bends_under_a_load_from_which_newtons_method_fails() -> None:
    """The experiment's deflections along and across the long side of the section; loads are raised in steps."""
    found = mbfmu.equilibrium("princeton_beam")
    assert -found["beam.node2.r_0[2]"] == pytest.approx(0.015, abs=5e-4)
    assert found["beam.node2.r_0[3]"] == pytest.approx(0.157, abs=5e-4)
    assert not found.branches
    # with the joints inside the line it is a start, in which nothing moves
    again = mbfmu.equilibrium("princeton_beam", values=found.values)
    assert again.corrections <= 1
    assert again["beam.joint1.theta[2]"] == pytest.approx(found["beam.joint1.theta[2]"], abs=1e-12)


def test_what_is_inside_a_composite_starts_where_it_is_told() -> None:
    line = mbfmu.load("princeton_beam").with_values({"beam.joint2.theta[3]": 0.1, "beam.joint1.u[1]": 1e-4})
    assert line.inner_starts == {"beam.joint2.theta[3]": 0.1, "beam.joint1.u[1]": 1e-4}
    assert from_toml(to_toml(line)).inner_starts == line.inner_starts
    values = {item.name: item.value for item in derive(line).starts}
    assert (values["beam.joint2.theta[3]"], values["beam.joint1.u[1]"], values["beam.joint1.u[2]"]) == (0.1, 1e-4, 0.0)
    for name, told in (
        ("beam.joint1.thta[3]", "a ElasticJoint has no 'thta"), ("beam.joint1.L", "is not a start value"),
        ("beam.joint9.theta[1]", "a FlexibleLine has no"),
    ):  # fmt: skip
        with pytest.raises(UnknownNameError, match=told):
            line.with_values({name: 0.1})
    with pytest.raises(
        UnknownNameError, match=r"inner_starts of 'princeton_beam': there is no 'beam\.node9\.x' inside"
    ):
        replace(line, inner_starts={"beam.node9.x": 0.0})
    with pytest.raises(ModelError, match="must be a dictionary of start values"):
        replace(line, inner_starts=[1.0])


def test_a_search_tells_how_far_it_is() -> None:
    parts: list[float] = []
    mbfmu.equilibrium("pendulum", progress=parts.append)
    assert parts == sorted(parts)
    assert 0 < parts[0] < parts[-1] < 1


def test_the_modes_of_a_beam_on_a_driven_rotor_are_the_published_ones() -> None:
    """Wright et al.: 3.6218 and 22.526 at the rate 2; the drive moves on with the time, so the motion is steady."""
    found = mbfmu.modes(mbfmu.load("rotating_beam", {"modes": 5}), hold={"rotor.w": 2.0}, coordinates="joint")
    rates = [abs(item.mode.eigenvalue.imag) for item in found.shapes[:2]]
    assert rates == pytest.approx([3.6218, 22.526], rel=1e-3)
    assert not found.equilibrium or not found.equilibrium.notices
