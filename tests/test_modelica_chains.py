"""Modelica's Rotational and Translational: chains of flanges move as their closed forms say."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError

HEAD = """model Chain
  import Modelica.Mechanics.Rotational;
  import Modelica.Mechanics.Translational;
  import Modelica.Blocks.Sources;
"""
BEGIN = "phi(start={}, fixed=true), w(start={}, fixed=true)"
SLIDE = "s(start={}, fixed=true), v(start={}, fixed=true)"


def moved(folder: Path, declared: str, connected: str, stop: float, step: float = 1e-3) -> Result:
    """Return the motion of a model with some declarations and connections."""
    path = folder / "chain.mo"
    lines = "".join(f"  connect({pair});\n" for pair in connected.split("; "))
    path.write_text(f"{HEAD}{declared}\nequation\n{lines}end Chain;\n", encoding="utf-8")
    return mbfmu.simulate(path, stop, step=step, error_samples=0)


def test_a_gear_between_inertias_and_a_spring_swings_with_the_reduced_inertia(tmp_path: Path) -> None:
    """omega^2 = c / (J_1 ratio^2 + J_2): the spring is on the slow side."""
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia motor(J=0.5);
  Rotational.Components.Inertia load(J=3, {BEGIN.format(0.2, 0)});
  Rotational.Components.IdealGear gear(ratio=2);
  Rotational.Components.Spring spring(c=20, phi_rel0=0.1);
  Rotational.Components.Fixed fixed(phi0=0.3);""",
        "motor.flange_b, gear.flange_a; gear.flange_b, load.flange_a; load.flange_b, spring.flange_b; "
        "fixed.flange, spring.flange_a",
        1.0,
    )
    rest, omega = 0.3 + 0.1, math.sqrt(20 / (0.5 * 4 + 3))
    phi = rest + (0.2 - rest) * np.cos(omega * found["time"])
    np.testing.assert_allclose(found["load.phi"], phi, atol=1e-6)
    np.testing.assert_allclose(found["motor.phi"], 2 * phi, atol=1e-6)


def test_a_gear_with_a_housing_that_turns_shares_its_torque(tmp_path: Path) -> None:
    """With a = r b + (1 - r) h and torque tau on a: J_a a'' = tau - f, J_b b'' = r f, J_h h'' = (1 - r) f."""
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia a(J=1, {BEGIN.format(0, 0)});
  Rotational.Components.Inertia b(J=2, {BEGIN.format(0, 0)});
  Rotational.Components.Inertia h(J=4);
  Rotational.Components.IdealGear gear(ratio=3, useSupport=true);
  Rotational.Sources.ConstantTorque torque(tau_constant=5);""",
        "torque.flange, a.flange_a; a.flange_b, gear.flange_a; gear.flange_b, b.flange_a; gear.support, h.flange_a",
        0.2,
    )
    f = 5 / (1 + 9 / 2 + 4 / 4)
    assert found["b.w"][-1] == pytest.approx(3 * f / 2 * 0.2, rel=1e-9)
    assert found["h.w"][-1] == pytest.approx(-2 * f / 4 * 0.2, rel=1e-9)


def test_flanges_without_mass_follow_from_gears(tmp_path: Path) -> None:
    """The ring of a planetary gear carries a damper alone: its torque is shared by sun and carrier."""
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia sun(J=1, {BEGIN.format(0, 4)});
  Rotational.Components.Inertia carrier(J=2, {BEGIN.format(0, 0)});
  Rotational.Components.IdealPlanetary planetary(ratio=2);
  Rotational.Components.Damper damper(d=0.5);
  Rotational.Components.Fixed fixed;""",
        "sun.flange_b, planetary.sun; planetary.carrier, carrier.flange_a; planetary.ring, damper.flange_a; "
        "damper.flange_b, fixed.flange",
        1.0,
    )
    # ring = (3 carrier - sun)/2, T = -0.5 ring: sun'' = -T/2, carrier'' = 3 T/4, so ring' = -(0.5)(9/8 + 1/4) ring
    ring = -2 * math.exp(-0.5 * (9 / 8 + 1 / 4))
    shared = (ring + 2) / (9 / 8 + 1 / 4)
    assert found["carrier.w"][-1] == pytest.approx(0.75 * shared, rel=1e-6)
    assert found["sun.w"][-1] == pytest.approx(4 - 0.5 * shared, rel=1e-6)


def test_joints_whose_axes_one_torque_turns_move_as_one(tmp_path: Path) -> None:
    """Two pendulums on one flange: (sum of m r^2 + I) phi'' = tau - g (sum of m r) sin(phi)."""
    arms = {"near": (2.0, 0.5, 0.1), "far": (1.0, 1.5, 0.3)}
    parts = "Modelica.Mechanics.MultiBody."
    declared = f"  inner {parts}World world;\n  Rotational.Sources.ConstantTorque motor(tau_constant=6);\n"
    pairs = []
    for name, (m, r, moment) in arms.items():
        start = f", {BEGIN.format(0.4, 0.2)}" if name == "near" else ""
        declared += (
            f"  {parts}Joints.Revolute {name}(useAxisFlange=true{start});\n"
            f"  {parts}Parts.Body {name}_body(m={m}, r_CM={{0,{-r},0}}, I_33={moment});\n"
        )
        pairs += [f"world.frame_b, {name}.frame_a; {name}.frame_b, {name}_body.frame_a; {name}.axis, motor.flange"]
    found = moved(tmp_path, declared, "; ".join(pairs), 1.0)
    inertia = sum(m * r**2 + moment for m, r, moment in arms.values())
    weight = 9.80665 * sum(m * r for m, r, _ in arms.values())
    expected = solve_ivp(
        lambda _, y: (y[1], (6 - weight * math.sin(y[0])) / inertia), (0, 1), (0.4, 0.2), rtol=1e-11, atol=1e-12
    )
    for name in arms:
        assert found[f"{name}.phi"][-1] == pytest.approx(expected.y[0, -1], abs=1e-6)
        assert found[f"{name}.w"][-1] == pytest.approx(expected.y[1, -1], abs=1e-6)


def test_a_clutch_slips_until_both_sides_turn_alike_and_then_holds(tmp_path: Path) -> None:
    """Friction mu cgeo fn slows one side and drives the other; together they turn as the momentum says."""
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia a(J=1, {BEGIN.format(0, 12)});
  Rotational.Components.Inertia b(J=3, {BEGIN.format(0, 0)});
  Rotational.Components.Clutch clutch(fn_max=10, mu_pos=[0, 0.4; 100, 0.4], cgeo=1.5);
  Sources.Step step(height=1, startTime=0.5);""",
        "a.flange_b, clutch.flange_a; clutch.flange_b, b.flange_a; step.y, clutch.f_normalized",
        3.0,
    )
    t = found["time"]
    size = 10 * 0.4 * 1.5
    slips = np.clip(t - 0.5, 0, 12 / (size * (1 + 1 / 3)))
    np.testing.assert_allclose(found["a.w"], 12 - size * slips, atol=5e-3)
    np.testing.assert_allclose(found["b.w"], size / 3 * slips, atol=5e-3)
    assert found["a.w"][-1] == pytest.approx(3, abs=1e-9)


def test_a_mass_with_friction_and_a_stop_sticks_slides_and_stops(tmp_path: Path) -> None:
    """At first the force is below the static friction, then the mass slides by a closed form, and hits its stop."""
    found = moved(
        tmp_path,
        f"""  Translational.Components.MassWithStopAndFriction mass(
    m=2, L=1, F_prop=0, F_Coulomb=3, F_Stribeck=0, fexp=1, smin=-5, smax=1.5, {SLIDE.format(0, 0)});
  Translational.Sources.Force force;
  Sources.Step step(height=5, offset=2, startTime=0.2);""",
        "force.flange, mass.flange_a; step.y, force.f",
        2.0,
    )
    t = found["time"]
    sliding = (t > 0.2) & (t < 1.1)
    np.testing.assert_allclose(found["mass.s"][t <= 0.2], 0, atol=1e-12)
    np.testing.assert_allclose(found["mass.s"][sliding], (7 - 3) / 2 * (t[sliding] - 0.2) ** 2 / 2, atol=2e-3)
    assert found["mass.s"][-1] == pytest.approx(1.5 - 0.5, abs=1e-9)


def test_a_wheel_that_rolls_and_masses_with_lengths_move_as_one(tmp_path: Path) -> None:
    """J phi'' = tau - r f and (m_1 + m_2) s'' = f with s = r phi; flanges of a mass are half its length apart."""
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia wheel(J=0.4, {BEGIN.format(0, 0)});
  Rotational.Components.IdealRollingWheel rolling(radius=0.5);
  Translational.Components.Mass cart(m=2, L=1);
  Translational.Components.Rod rod(L=3);
  Translational.Components.Mass load(m=1, L=2);
  Rotational.Sources.TorqueStep torque(stepTorque=3, offsetTorque=1, startTime=100);
  Translational.Components.Spring spring(c=10, s_rel0=0);
  Translational.Components.Fixed fixed(s0=5.5);""",
        "torque.flange, wheel.flange_a; wheel.flange_b, rolling.flangeR; rolling.flangeT, cart.flange_b; "
        "cart.flange_b, rod.flange_a; rod.flange_b, load.flange_a; load.flange_b, spring.flange_a; "
        "spring.flange_b, fixed.flange",
        1.0,
    )
    # load.flange_b is 5 m ahead of cart.flange_b, so that the spring is at rest where the latter is at 0.5 m
    inertia, stiffness = 0.4 / 0.25 + 3, 10
    rest = 0.5 + (1 / 0.5) / stiffness
    s = rest * (1 - np.cos(math.sqrt(stiffness / inertia) * found["time"]))
    np.testing.assert_allclose(0.5 * found["wheel.phi"], s, atol=1e-6)
    np.testing.assert_allclose(found["cart.s"], s - 0.5, atol=1e-6)


@pytest.mark.parametrize(
    ("source", "integral"),
    [
        ("Sources.Constant(k=2)", 4.0),
        ("Sources.Step(height=3, offset=1, startTime=0.5)", 2 + 3 * 1.5),
        ("Sources.Ramp(height=4, duration=1, startTime=0.5)", 2 + 4 * 0.5),
        ("Sources.Sine(f=0.25, amplitude=2)", 2 * 2 / math.pi * 2),
        ("Sources.Cosine(f=0.25, phase=0.5)", (math.sin(math.pi + 0.5) - math.sin(0.5)) / (math.pi / 2)),
        ("Sources.Pulse(period=0.5, width=40, amplitude=3)", 3 * 0.4 * 2),
        ("Sources.Trapezoid(period=1, rising=0.25, width=0.25, falling=0.25)", 2 * 0.5),
        ("Sources.ExpSine(f=0, phase=1.5707963267948966, damping=1)", 1 - math.exp(-2)),
    ],
)  # fmt: skip
def test_a_source_drives_a_mass_to_the_speed_of_its_integral(source: str, integral: float, tmp_path: Path) -> None:
    kind, _, values = source.partition("(")
    found = moved(
        tmp_path,
        f"  Translational.Components.Mass mass(m=1, {SLIDE.format(0, 0)});\n  Translational.Sources.Force force;\n"
        f"  {kind} source({values};",
        "source.y, force.f; force.flange, mass.flange_a",
        2.0,
    )
    assert found["mass.v"][-1] == pytest.approx(integral, abs=4e-3)


def test_a_gap_pushes_half_a_swing_and_a_backlash_is_free_inside(tmp_path: Path) -> None:
    """A mass that runs into an elastic gap leaves it pi sqrt(m/c) later with its speed turned round."""
    found = moved(
        tmp_path,
        f"""  Translational.Components.Mass mass(m=2, {SLIDE.format(-1, 2)});
  Translational.Components.ElastoGap gap(c=800, d=0, s_rel0=0.5);
  Translational.Components.Fixed wall(s0=0.5);
  Rotational.Components.Inertia rotor(J=1, {BEGIN.format(0.1, 0.5)});
  Rotational.Components.ElastoBacklash backlash(c=100, d=0, b=4);
  Rotational.Components.Fixed fixed;""",
        "mass.flange_b, gap.flange_a; gap.flange_b, wall.flange; rotor.flange_b, backlash.flange_b; "
        "backlash.flange_a, fixed.flange",
        1.5,
    )
    away = 0.5 + math.pi * math.sqrt(2 / 800)
    assert found["mass.s"][-1] == pytest.approx(-2 * (1.5 - away), abs=1e-3)
    np.testing.assert_allclose(found["rotor.phi"], 0.1 + 0.5 * found["time"], atol=1e-12)


def test_a_given_acceleration_moves_what_a_spring_hangs_on(tmp_path: Path) -> None:
    """x'' = -c (x - a t^2/2) has x = a t^2/2 - (a/c)(1 - cos(sqrt(c) t))."""
    found = moved(
        tmp_path,
        f"""  Translational.Sources.Accelerate move;
  Sources.Constant a(k=3);
  Translational.Components.Spring spring(c=50);
  Translational.Components.Mass mass(m=1, {SLIDE.format(0, 0)});""",
        "a.y, move.a_ref; move.flange, spring.flange_a; spring.flange_b, mass.flange_a",
        1.0,
    )
    t = found["time"]
    np.testing.assert_allclose(found["mass.s"], 1.5 * t**2 - 3 / 50 * (1 - np.cos(math.sqrt(50) * t)), atol=1e-6)


@pytest.mark.parametrize(
    ("declared", "connected", "said"),
    [
        (
            "  Rotational.Components.Inertia a(J=1);\n  Rotational.Components.Spring one(c=1);\n"
            "  Rotational.Components.Damper two(d=1);",
            "a.flange_b, one.flange_a; one.flange_b, two.flange_a",
            r"line 6: 'one\.flange_b', on which 'one' acts, moves no mass",
        ),
        (
            "  Rotational.Components.Inertia a(J=1);\n  Rotational.Sources.Speed move;\n  Sources.Constant c(k=1);",
            "c.y, move.w_ref; move.flange, a.flange_a",
            "line 6: 'move': a motion given by a speed is not read",
        ),
        (
            "  Rotational.Components.Inertia a(J=1);\n  Translational.Components.Mass b(m=1);",
            "a.flange_b, b.flange_a",
            "is a Translational flange, and .*, a Rotational flange",
        ),
    ],
)
def test_what_a_chain_cannot_have_is_one_clear_line(declared: str, connected: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(MbfmuError, match=said):
        moved(tmp_path, declared, connected, 1.0)


@pytest.mark.parametrize(("kind", "phase"), [("Sine", 0.0), ("Cosine", math.pi / 2)])
def test_a_filtered_motion_follows_its_source_as_the_filter_says(kind: str, phase: float, tmp_path: Path) -> None:
    """``a = ((phi_ref - phi) w_crit - 1.3617 w) w_crit/0.6180``, from phi = phi_ref with the start of w."""
    path = tmp_path / "Filtered.mo"
    path.write_text(
        f"""model Filtered
  import Modelica.Mechanics.Rotational.*;
  Sources.Position position(f_crit=5, w(start=0.4, fixed=true));
  Components.Inertia wheel(J=2);
  Modelica.Blocks.Sources.{kind} source(amplitude=2, f=1.5, phase=0.3, offset=0.2);
equation
  connect(source.y, position.phi_ref);
  connect(position.flange, wheel.flange_a);
end Filtered;
""",
        "utf-8",
    )
    found = mbfmu.simulate(path, 1.0, step=1e-3, error_samples=0)
    crit = 10 * math.pi

    def rates(t: float, x: Any) -> list[float]:
        return [x[1], ((source(t) - x[0]) * crit - 1.3617 * x[1]) * crit / 0.6180]

    def source(t: float) -> float:
        return 0.2 + 2 * math.sin(3 * math.pi * t + 0.3 + phase)

    solved = solve_ivp(rates, (0, 1), [source(0), 0.4], rtol=1e-10, atol=1e-11, t_eval=found["time"])
    np.testing.assert_allclose(found["position.phi"], solved.y[0], atol=1e-7)
    path.write_text(path.read_text("utf-8").replace("offset=0.2", "offset=0.2, startTime=1"), "utf-8")
    with pytest.raises(MbfmuError, match="a filtered motion is read from Sine and Cosine that begin at startTime=0"):
        mbfmu.load(path)
