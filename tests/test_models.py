"""Mechanisms of models/ against closed forms and references."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.errors import ModelError, NameInUseError, StepperError, UnknownNameError
from mbfmu.model import Body, Coordinate, LagrangianSystem, Parameter, Revolute, System, World, connect

REFERENCES = Path(__file__).parent / "references"


def reference(name: str) -> dict[str, Any]:
    """Read a reference file."""
    found: dict[str, Any] = json.loads((REFERENCES / f"{name}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("stepper", ["nodal_impulse", "projected", "radau", "generalized_alpha", "direct"])
def test_ice_skate_follows_its_closed_form(stepper: str) -> None:
    """Velocities from rest at the origin: (sin 2t, 1 - cos 2t) / 2; nodal_impulse is allowed 1.1e-5 at 0.01 s."""
    result = mbfmu.simulate(mbfmu.load("ice_skate"), 20.0, stepper=stepper, step=0.01, output_interval=0.01)
    t = result.time
    exact = np.sin(2 * t) / 2, (1 - np.cos(2 * t)) / 2
    error = np.hypot(result["skate.v_0[1]"] - exact[0], result["skate.v_0[2]"] - exact[1]).max()
    assert error < {"generalized_alpha": 5e-5}.get(stepper, 1.1e-5)
    if stepper != "direct":
        assert result["constraint.velocity"].max() < 2e-13


@pytest.mark.slow
def test_nodal_impulse_meets_the_skate_of_the_paper_for_100_s() -> None:
    result = mbfmu.simulate(mbfmu.load("ice_skate"), 100.0, stepper="nodal_impulse", step=0.01, output_interval=0.01)
    t = result.time
    error = np.hypot(result["skate.v_0[1]"] - np.sin(2 * t) / 2, result["skate.v_0[2]"] - (1 - np.cos(2 * t)) / 2)
    assert error.max() < 1.1e-5
    assert result["constraint.velocity"].max() < 1e-15
    assert np.abs(result["energy.total"] - 0.5).max() < 6e-5


@pytest.mark.parametrize("name", ["ice_skate_harmonic", "rolling_disk", "rigid_body"])
def test_models_meet_their_reference(name: str) -> None:
    known = reference(name)
    for number, t in enumerate(known["t"]):
        result = mbfmu.simulate(mbfmu.load(name), t, stepper="projected", options={"order": 8}, step=0.01)
        for key in set(known) - {"problem", "source", "method", "parameters", "t"}:
            assert result[key][-1] == pytest.approx(float(known[key][number]), abs=2e-9), (key, t)


def test_rolling_disk_with_the_printed_spin_falls_nearly_flat() -> None:
    """The paper prints 0.8; the disk then comes down to theta = 0.119, which its figures do not show."""
    spin = {"der(phi)": 0.8, "der(x)": -0.8 * np.sin(2.0), "der(y)": 0.8 * np.cos(2.0)}
    system = mbfmu.load("rolling_disk").with_values(spin)
    result = mbfmu.simulate(system, 5.0, stepper="projected", options={"order": 8}, step=5e-4)
    assert result["theta"].min() == pytest.approx(0.1187, abs=2e-4)
    assert np.abs(result["der(psi)"]).max() > 50
    assert np.ptp(result["energy.total"]) < 1e-6


@pytest.mark.slow
def test_rigid_body_keeps_energy_and_momentum_over_1e5_steps() -> None:
    """Case 1 of Lu & Ren: no torque, h = 1 ms."""
    free = {"world.g": 0.0, "body.w_a[1]": 0.0, "body.w_a[2]": 1.5, "body.w_a[3]": 2.0}
    result = mbfmu.simulate(mbfmu.load("rigid_body").with_values(free), 100.0, stepper="gauss", step=1e-3)
    assert result["energy.total"][0] == pytest.approx(3.6875, abs=1e-13)
    assert np.abs(result["energy.total"] / 3.6875 - 1).max() < 1e-8
    for number, value in enumerate((1.0, 2.25, 3**0.5), 1):
        assert np.abs(result[f"momentum.angular[{number}]"] - value).max() < 1e-8


@pytest.mark.parametrize("stepper", ["rattle", "lobatto", "local", "block", "nodal_impulse", "partition", "radau"])
def test_driven_pendulum_follows_its_equation(stepper: str) -> None:
    A, W, d, g = 0.2, 3.0, 0.5, 9.81
    length = d + 1.0 / 12 / d

    def rate(t: float, y: Any) -> list[float]:
        return [y[1], -(g * np.sin(y[0]) - A * W**2 * np.sin(W * t) * np.cos(y[0])) / length]

    exact = solve_ivp(rate, (0.0, 2.0), [np.pi / 2 - 1.2, 0.0], rtol=1e-12, atol=1e-12).y[0][-1]
    result = mbfmu.simulate(
        mbfmu.load("driven_pendulum").with_values({"hinge.w": 0.0}), 2.0, stepper=stepper, step=1e-3
    )
    assert result["hinge.phi"][-1] + np.pi / 2 == pytest.approx(exact, abs=2e-5)
    assert result["carriage.s"][-1] == pytest.approx(A * np.sin(W * 2.0), abs=1e-12 if stepper != "block" else 1e-9)


def test_a_lagrangian_pendulum_equals_the_pendulum_of_parts() -> None:
    """Two routes: energies as text, and a body on a revolute joint."""
    system = LagrangianSystem(
        name="pendulum",
        coordinates=(Coordinate("phi", "rad", 0.0, 0.0),),
        kinetic="m*l**2/6*der(phi)**2",
        potential="m*g*l/2*sin(phi)",
        inputs={"phi": "tau"},
        parameters=(Parameter("m", 1.0, "kg"), Parameter("l", 1.0, "m"), Parameter("g", 9.8, "m/s2")),
    )
    parts = System(
        name="pendulum",
        planar=True,
        components=(
            World(g=9.8),
            Revolute("hinge", phi=0.0, w=0.0, actuated=True),
            Body("rod", m=1.0, r_CM=(0.5, 0), I_33=1 / 12),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
    )
    tau = {"tau": "sin(3*time)"}, {"hinge.tau": "sin(3*time)"}
    mine = mbfmu.simulate(system, 1.0, stepper="projected", inputs=tau[0])
    theirs = mbfmu.simulate(parts, 1.0, stepper="projected", inputs=tau[1])
    assert mine["phi"] == pytest.approx(theirs["hinge.phi"], abs=2e-6)
    assert mine["energy.total"] == pytest.approx(theirs["energy.total"], abs=2e-6)


def test_a_wrong_lagrangian_is_refused_by_name() -> None:
    q = (Coordinate("x", "m"),)
    with pytest.raises(UnknownNameError, match="there is no 'z'"):
        LagrangianSystem("s", q, kinetic="der(x)**2 + z")
    with pytest.raises(NameInUseError, match="two things named 'x'"):
        LagrangianSystem("s", q, kinetic="der(x)**2", parameters=(Parameter("x", 1.0),))
    with pytest.raises(UnknownNameError, match="drives 'y'"):
        LagrangianSystem("s", q, kinetic="der(x)**2", inputs={"y": "f"})
    with pytest.raises(ModelError, match="no inertia for every coordinate"):
        mbfmu.simulate(LagrangianSystem("s", q, kinetic="0*der(x)**2"), 1.0)
    with pytest.raises(UnknownNameError, match="no parameter or start value"):
        LagrangianSystem("s", q, kinetic="der(x)**2").with_values({"der(y)": 1.0})


def test_holonomic_steppers_refuse_the_skate_and_say_what_takes_it() -> None:
    with pytest.raises(StepperError, match="nodal_impulse"):
        mbfmu.simulate(mbfmu.load("ice_skate"), 1.0, stepper="rattle")


@pytest.mark.parametrize(("rate", "case"), [(10.0, "rundown_10"), (25.0, "rundown_25")])
def test_the_slider_crank_with_friction_stops_at_the_time_and_pose_of_its_reference(rate: float, case: str) -> None:
    system = mbfmu.load("slider_crank_friction", {"omega": rate})
    found = mbfmu.simulate(system, 1.5, stepper="projected", options={"order": 9}, step=1e-3, output_interval=0.5)
    stop = reference("slider_crank_friction")["invariants"][case]
    assert found["events.time"][-1] == pytest.approx(stop["t_stop"], abs=1e-10)
    assert found["theta"][-1] == pytest.approx(stop["theta_stop"], abs=1e-9)
    assert found["omega"][-1] == 0
    assert found["friction_x"][-1] == pytest.approx(stop["friction_static"], abs=1e-9)
    assert -found["guide.frame_b.f[2]"][-1] == pytest.approx(stop["N_static"], abs=1e-9)


def test_the_driven_slider_crank_with_friction_meets_its_reference() -> None:
    system = mbfmu.load("slider_crank_friction")
    options = {"stepper": "projected", "options": {"order": 9}, "step": 1e-3, "output_interval": 0.15}
    found = mbfmu.simulate(system, 3.0, inputs={"torque": 0.5}, **options)
    for number, state in enumerate(reference("slider_crank_friction")["states"]["driven"]):
        for name in ("theta", "omega", "slider_x", "slider_v", "friction_x"):
            assert found[name][number] == pytest.approx(state[name], abs=1e-7), (name, state["t"])
