"""Modelica's gears with losses, one-way clutches, eddy-current brakes and adaptors move as their closed forms say."""

import math
from pathlib import Path

import numpy as np
import pytest
from test_modelica_chains import BEGIN, moved

from mbfmu.errors import MbfmuError, ModelError

START = BEGIN.format(0, 0)


def gear_train(folder: Path, lossTable: str, torque_a: float, torque_b: float) -> float:
    """Return the acceleration of the motor of a gear of ratio 2 with losses, under torques on both sides."""
    found = moved(
        folder,
        f"""  Rotational.Components.Inertia a(J=0.5, {START});
  Rotational.Components.Inertia b(J=3);
  Rotational.Components.LossyGear gear(ratio=2, lossTable={lossTable});
  Rotational.Sources.ConstantTorque push_a(tau_constant={torque_a});
  Rotational.Sources.ConstantTorque push_b(tau_constant={torque_b});""",
        "push_a.flange, a.flange_a; a.flange_b, gear.flange_a; gear.flange_b, b.flange_a; push_b.flange, b.flange_b",
        0.5,
    )
    assert found["b.w"][-1] == pytest.approx(found["a.w"][-1] / 2, abs=1e-12)
    return float(found["a.w"][-1] / 0.5)


def test_a_gear_loses_what_its_table_says_by_the_side_that_drives(tmp_path: Path) -> None:
    """-flange_b.tau = ratio (eta flange_a.tau - tau_bf), with the first columns while a drives, else the others."""
    eta_1, eta_2, tau_1, tau_2 = 0.8, 0.6, 0.2, 0.3
    table = f"[0, {eta_1}, {eta_2}, {tau_1}, {tau_2}]"
    a = (eta_1 * 4 - tau_1) / (3 / 4 + eta_1 * 0.5)
    assert gear_train(tmp_path, table, 4, 0) == pytest.approx(a, rel=1e-9)
    b = (10 / 2 - tau_2) / (3 / 4 + 0.5 / eta_2)
    assert gear_train(tmp_path, table, 0, 10) == pytest.approx(b, rel=1e-9)
    assert gear_train(tmp_path, table, 0, 0.55) == pytest.approx(0, abs=1e-12)


def test_a_gear_whose_table_says_no_losses_is_a_coupling(tmp_path: Path) -> None:
    assert gear_train(tmp_path, "[0, 1, 1, 0, 0]", 4, 0) == pytest.approx(4 / (0.5 + 3 / 4), rel=1e-9)


def test_a_table_that_no_bearings_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"line \d+: 'gear.lossTable': the bearing friction"):
        gear_train(tmp_path, "[0, 0.8, 0.6, 0.3, 0.2]", 4, 0)


def test_a_start_that_a_gear_decides_needs_no_fixed(tmp_path: Path) -> None:
    """The start of the motor's velocity is left out beside the fixed one of its load; without that it is refused."""
    fixed, loose = "phi(start=0, fixed=true), w(start=1, fixed=true)", "phi(start=0, fixed=true)"
    parts = """  Rotational.Components.Inertia a(J=0.5, w(start=2));
  Rotational.Components.Inertia b(J=3, {});
  Rotational.Components.LossyGear gear(ratio=2, lossTable=[0, 0.5, 0.5, 0, 0]);"""
    joined = "a.flange_b, gear.flange_a; gear.flange_b, b.flange_a"
    with pytest.warns(UserWarning, match=r"'a.w' is left out"):
        found = moved(tmp_path, parts.format(fixed), joined, 0.1)
    assert found["a.w"][-1] == pytest.approx(2, abs=1e-12)
    with pytest.raises(ModelError, match=r"the start of 'a.w' is not fixed"):
        moved(tmp_path, parts.format(loose), joined, 0.1)


def test_a_variable_may_show_the_torque_of_a_flange_but_not_act_by_it(tmp_path: Path) -> None:
    parts = f"""  Rotational.Components.Inertia a(J=1, {START});
  Rotational.Sources.Torque push(tau={{}});
  Real loss = a.flange_a.tau*der(a.flange_a.phi);"""
    found = moved(tmp_path, parts.format("2"), "push.flange, a.flange_a", 0.5)
    assert found["a.w"][-1] == pytest.approx(1, rel=1e-9)
    with pytest.raises(ModelError, match=r"'a.flange_b.tau' is a variable, and a value must be an expression"):
        moved(tmp_path, parts.format("2 + a.flange_b.tau"), "push.flange, a.flange_a", 0.5)


def test_a_one_way_clutch_takes_along_what_it_would_overrun(tmp_path: Path) -> None:
    """The first pushes the second, and then slows down alone but for 1 N.m of friction; a step holds the jump."""
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia a(J=1, {START});
  Rotational.Components.Inertia b(J=2, {START});
  Rotational.Components.OneWayClutch clutch(fn_max=2, startForward(fixed=true), stuck(fixed=true));
  Rotational.Sources.Torque push(tau=if time < 1 then 6 else -6);
  Sources.Constant pressed(k=1);""",
        "push.flange, a.flange_a; a.flange_b, clutch.flange_a; clutch.flange_b, b.flange_a; "
        "pressed.y, clutch.f_normalized",
        1.5,
    )
    assert found["a.w"][-1] == pytest.approx(2 + (-6 + 1) * 0.5, abs=1e-3)
    assert found["b.w"][-1] == pytest.approx(2 - 0.5 * 0.5, abs=1e-3)


@pytest.mark.parametrize("cooled", [False, True])
def test_a_brake_by_eddy_currents_warms_what_it_is_made_of(tmp_path: Path, cooled: bool) -> None:
    """J w^2 / 2 + C T is kept; at a fixed temperature, log x + x^2 / 2 falls by 2 tau t / (J w_nominal)."""
    J, w_0, tau, w_nominal, alpha = 2.0, 20.0, 50.0, 10.0, 0.004
    ends = {
        True: ("Modelica.Thermal.HeatTransfer.Celsius.FixedTemperature air(T=120)", "air.port"),
        False: ("Modelica.Thermal.HeatTransfer.Components.HeatCapacitor disc(C=10, T(start=300))", "disc.port"),
    }
    declared, port = ends[cooled]
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia wheel(J={J}, {BEGIN.format(0, w_0)});
  Rotational.Sources.EddyCurrentTorque brake(tau_nominal={tau}, w_nominal={w_nominal}, TRef=293.15, alpha20={alpha},
    useHeatPort=true);
  {declared};""",
        f"brake.flange, wheel.flange_a; brake.heatPort, {port}",
        1.0,
    )
    w = found["wheel.w"]
    if cooled:
        x = w / (w_nominal * (1 + alpha * 100))
        fallen = np.log(x / x[0]) + (x**2 - x[0] ** 2) / 2
        slope = 2 * tau / (J * w_nominal * (1 + alpha * 100))
        np.testing.assert_allclose(fallen, -slope * found["time"], atol=1e-6)
    else:
        np.testing.assert_allclose(10 * (found["brake.T"] - 300), J * (w_0**2 - w**2) / 2, atol=1e-6)
        assert found["brake.T"][-1] > 330


def test_adaptors_that_are_connected_to_each_other_join_their_flanges(tmp_path: Path) -> None:
    """Two inertias swing on a spring whose end is at the signals: omega^2 = c (1/J_1 + 1/J_2)."""
    parts = f"""  Rotational.Components.Inertia a(J=1, {BEGIN.format(0.1, 0)});
  Rotational.Components.Inertia b(J=2, {START});
  Rotational.Components.Spring spring(c=30);
  Rotational.Components.TorqueToAngleAdaptor motion(use_a=false);
  Rotational.Components.AngleToTorqueAdaptor force(use_a=false);"""
    flanges = (
        "a.flange_b, motion.flange; force.flange, spring.flange_a; spring.flange_b, b.flange_a; "
        "motion.phi, force.phi; motion.w, force.w"
    )
    found = moved(tmp_path, parts, f"{flanges}; force.tau, motion.tau", 1.0)
    omega = math.sqrt(30 * (1 / 1 + 1 / 2))
    swing = 0.1 / 3 + 0.1 * 2 / 3 * np.cos(omega * found["time"])
    np.testing.assert_allclose(found["a.phi"], swing, atol=1e-6)
    lone = parts + "  Sources.Constant none(k=0);"
    with pytest.raises(ModelError, match="is read only where its signals go to one adaptor of the other kind"):
        moved(tmp_path, lone, f"{flanges}; none.y, motion.tau", 1.0)


OWN = """  function stribeck
    input Real F;
    input Integer n = 3;
    output Real table[n, 2];
  algorithm
    for i in 1:n loop
      table[i, 1] := i - 1;
      {}
    end for;
  end stribeck;
  Translational.Components.Mass sled(m=2, s(start=0, fixed=true), v(start=2, fixed=true));
  Translational.Components.SupportFriction rubs(f_pos=stribeck(3.0));
"""


def test_a_friction_by_a_table_that_a_function_makes_slows_a_sled(tmp_path: Path) -> None:
    """f = F + v, so that v = (v_0 + F) exp(-t/m) - F until it stops."""
    found = moved(tmp_path, OWN.format("table[i, 2] := F + table[i, 1];"), "sled.flange_b, rubs.flange_a", 1.5)
    v = np.maximum(0, (2 + 3) * np.exp(-found["time"] / 2) - 3)
    np.testing.assert_allclose(found["sled.v"], v, atol=1e-9)


def test_a_function_that_cannot_be_followed_is_refused(tmp_path: Path) -> None:
    several = "if F > 0 then table[i, 2] := F; else table[i, 2] := 0; end if;"
    for statement, reason in (("table[i, 2] := F/(i - 1);", "cannot be"), (several, "a statement 'If', which is not")):
        with pytest.raises(MbfmuError, match=reason):
            moved(tmp_path, OWN.format(statement), "sled.flange_b, rubs.flange_a", 0.1)


def test_a_vehicle_rolls_against_air_slope_and_its_wheels(tmp_path: Path) -> None:
    """(m + J/R^2) v' = T/R - Cr m g cos(a) - m g sin(a) - k (v - v_wind)^2: from rest v = v_s tanh(k v_s t / M)."""
    m, J, R, Cr, slope, T, wind = 100.0, 0.5, 0.25, 0.01, 0.05, 40.0, -2.0
    found = moved(
        tmp_path,
        f"""  Translational.Components.Vehicle car(m={m}, J={J}, R={R}, A=1, Cd=0.5, rho=1.2, CrConstant={Cr}, g=9.81,
    vWindConstant={wind}, inclinationConstant={slope}, s(fixed=true), v(fixed=true));
  Rotational.Sources.ConstantTorque motor(tau_constant={T});""",
        "motor.flange, car.flangeR",
        20.0,
        step=1e-2,
    )
    alpha, M, k = math.atan(slope), m + J / R**2, 0.5 * 1 * 1.2 / 2
    push = T / R - m * 9.81 * (Cr * math.cos(alpha) + math.sin(alpha))
    steady = math.sqrt(push / k)
    begun = math.atanh(-wind / steady)
    v = steady * np.tanh(begun + k * steady * found["time"] / M) + wind
    np.testing.assert_allclose(found["car.mass.v"][10:], v[10:], atol=2e-3)
