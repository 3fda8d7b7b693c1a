"""Equations of a Modelica model's own, with states and signals of the motion, drive it as their closed forms say."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import signal
from scipy.linalg import expm

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError

HEAD = """model Controlled
  import Modelica.Mechanics.Rotational;
  import Modelica.Mechanics.Translational;
  import Modelica.Mechanics.MultiBody;
  import Modelica.Blocks;
"""


def moved(folder: Path, text: str, stop: float, step: float = 1e-3) -> Result:
    """Return the motion of a model with some declarations and equations."""
    return mbfmu.simulate(written(folder, text), stop, step=step, error_samples=0)


def written(folder: Path, text: str) -> Path:
    """Return the file of a model with some declarations and equations."""
    path = folder / "controlled.mo"
    path.write_text(f"{HEAD}{text}end Controlled;\n", encoding="utf-8")
    return path


def test_a_controller_in_a_body_that_turns_drives_its_rotor(tmp_path: Path) -> None:
    """The axle stays normal to the body's turn: J w' = tau, tau' = -k w, so w = tau_0/(J omega) sin(omega t)."""
    found = moved(
        tmp_path,
        """  inner MultiBody.World world(g=0);
  MultiBody.Joints.Revolute hinge(n={0,1,0}, phi(fixed=true), w(start=2, fixed=true));
  MultiBody.Parts.Body box(m=1, r_CM={0,0,0}, I_11=1, I_22=1, I_33=1);
  MultiBody.Parts.Rotor1D rotor(J=0.2, n={0,0,1}, phi(fixed=true), w(fixed=true));
  MultiBody.Parts.Mounting1D mounting(n={0,0,1});
  Rotational.Sources.Torque torque(useSupport=true);
  Rotational.Sensors.SpeedSensor speed;
  Blocks.Math.Gain gain(k=-0.5);
  Blocks.Continuous.Integrator integrator(initType=Blocks.Types.Init.InitialOutput, y_start=1);
equation
  connect(world.frame_b, hinge.frame_a);
  connect(hinge.frame_b, box.frame_a);
  connect(rotor.frame_a, box.frame_a);
  connect(mounting.frame_a, box.frame_a);
  connect(mounting.flange_b, torque.support);
  connect(torque.flange, rotor.flange_a);
  connect(speed.flange, rotor.flange_b);
  connect(speed.w, gain.u);
  connect(gain.y, integrator.u);
  connect(integrator.y, torque.tau);
""",
        1.0,
    )
    omega = math.sqrt(0.5 / 0.2)
    np.testing.assert_allclose(found["rotor.inertia.w"], np.sin(omega * found["time"]) / (0.2 * omega), atol=1e-9)


def test_a_cascade_of_pi_and_gains_moves_an_inertia_behind_a_gear(tmp_path: Path) -> None:
    """With J = 4 J_m + J_l: x' = (r - w_m)/T, J w_l' = 2 k (x + r - w_m), w_m = 2 w_l, linear in (x, w_l)."""
    found = moved(
        tmp_path,
        """  parameter Real k = 3;
  parameter Real first = 0.1;
  Rotational.Components.Inertia motor(J=0.5);
  Rotational.Components.Inertia load(J=2, phi(fixed=true), w(fixed=true));
  Rotational.Components.IdealGear gear(ratio=2);
  Rotational.Sources.Torque torque;
  Rotational.Sensors.SpeedSensor speed;
  Blocks.Sources.Constant wanted(k=1.5);
  Blocks.Math.Feedback error;
  Blocks.Continuous.PI pi(k=k, T=0.2, initType=Blocks.Types.Init.InitialState, x_start=first);
equation
  connect(motor.flange_b, gear.flange_a);
  connect(gear.flange_b, load.flange_a);
  connect(torque.flange, motor.flange_a);
  connect(speed.flange, motor.flange_b);
  connect(wanted.y, error.u1);
  connect(speed.w, error.u2);
  connect(error.y, pi.u);
  connect(pi.y, torque.tau);
""",
        0.8,
    )
    k, T, J, r = 3.0, 0.2, 4 * 0.5 + 2, 1.5
    A = np.array([[0, -2 / T, r / T], [2 * k / J, -4 * k / J, 2 * k * r / J], [0, 0, 0]])
    exact = np.array([expm(A * t) @ [0.1, 0, 1] for t in found["time"]])
    np.testing.assert_allclose(found["load.w"], exact[:, 1], atol=1e-6)
    np.testing.assert_allclose(found["controls.pi_x"], exact[:, 0], atol=1e-6)


BLOCKS = {
    "Integrator(k=2)": ([2], [1, 0]),
    "FirstOrder(k=2, T=0.3, initType=Blocks.Types.Init.InitialState)": ([2], [0.3, 1]),
    "SecondOrder(k=2, w=5, D=0.3, initType=Blocks.Types.Init.InitialState)": ([50], [1, 3, 25]),
    "Derivative(k=2, T=0.1, initType=Blocks.Types.Init.InitialState)": ([2, 0], [0.1, 1]),
    "PI(k=2, T=0.5, initType=Blocks.Types.Init.InitialState)": ([1, 2], [0.5, 0]),
    "PID(k=2, Ti=0.5, Td=0.2, Nd=4)": (
        np.polyadd(np.polyadd([2 * 0.05, 2, 0], [2 * 0.05 / 0.5, 2 / 0.5]), [2 * 0.2, 0, 0]), [0.05, 1, 0]
    ),
    "CriticalDamping(n=3, f=2, normalized=false, initType=Blocks.Types.Init.InitialState)": (
        [1], np.poly1d([1 / (4 * math.pi), 1]) ** 3
    ),
}  # fmt: skip
"""Transfer function of each block: numerator and denominator, of falling powers of s."""


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_answers_a_step_as_its_transfer_function_says(block: str, tmp_path: Path) -> None:
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia wheel(J=1, w(start=1, fixed=true));
  Blocks.Continuous.{block.replace("(", " block_(", 1)};
  output Real y = block_.y;
equation
  block_.u = wheel.w;
""",
        1.0,
    )
    numerator, denominator = BLOCKS[block]
    _, y = signal.step((numerator, np.asarray(denominator)), T=found["time"])
    np.testing.assert_allclose(found["y"], y, atol=1e-6)


EXTRAPOLATED = {"LastTwoPoints": (-2.0, 5.0), "HoldLastPoint": (1.0, 3.0)}
"""Values of a table beyond its ends, one row further on each side, by what it does there."""


@pytest.mark.parametrize("how", EXTRAPOLATED)
def test_a_table_is_straight_from_row_to_row(how: str, tmp_path: Path) -> None:
    found = moved(
        tmp_path,
        f"""  Rotational.Components.Inertia wheel(J=1, phi(start=-1, fixed=true), w(start=1, fixed=true));
  Blocks.Tables.CombiTable1Ds one(table=[0,0,1; 1,5,4; 1.5,6,2; 2.5,0,3],
    extrapolation=Blocks.Types.Extrapolation.{how});
  Blocks.Tables.CombiTable1Dv each_(table=[0,0,1; 1,5,4; 1.5,6,2; 2.5,0,3], columns={{3}},
    extrapolation=Blocks.Types.Extrapolation.{how});
  Blocks.Sources.CombiTimeTable timed(table=[0,1; 1,4; 1.5,2; 2.5,3], startTime=0.5, shiftTime=1, offset={{7}},
    extrapolation=Blocks.Types.Extrapolation.{how});
  output Real y = one.y[2];
  output Real z = each_.y[1];
  output Real w = timed.y[1];
equation
  one.u = wheel.phi;
  each_.u[1] = wheel.phi;
""",
        4.5,
        step=0.05,
    )
    low, high = EXTRAPOLATED[how]
    at = np.asarray(found["time"]) - 1
    exact = np.interp(at, [-1, 0, 1, 1.5, 2.5, 4.5], [low, 1, 4, 2, 3, high])
    for name in ("y", "z"):
        np.testing.assert_allclose(found[name], exact, atol=1e-9)
    np.testing.assert_allclose(found["w"], 7 + np.where(at < -0.5, 0, exact), atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*is a number where it is used")
def test_a_law_of_a_model_s_own_acts_between_flanges(tmp_path: Path) -> None:
    """m s'' = -c s^3 from s = a takes the time of a lemniscate: s(T) = 0 at T = sqrt(2 m/c) K / a, K = 1.3110..."""
    path = tmp_path / "law.mo"
    path.write_text(
        """model Cubic
  extends Modelica.Mechanics.Translational.Interfaces.PartialCompliant;
  parameter Real c = 50;
  parameter Real l = 0.2;
  Real stretch;
  Real energy;
equation
  stretch = s_rel - l;
  2*energy = c*stretch^4/2;
  f = c*stretch^3;
end Cubic;
model Swing
  Modelica.Mechanics.Translational.Components.Mass mass(m=2, s(start=0.7, fixed=true), v(fixed=true));
  Modelica.Mechanics.Translational.Components.Fixed fixed(s0=0.1);
  Cubic cubic;
equation
  connect(fixed.flange, cubic.flange_a);
  connect(cubic.flange_b, mass.flange_a);
end Swing;
""",
        encoding="utf-8",
    )
    quarter = math.sqrt(2 * 2 / 50) * 1.3110287771460599 / 0.4
    found = mbfmu.simulate(path, quarter, step=quarter / 1000, error_samples=0)
    assert found["mass.s"][-1] == pytest.approx(0.3, abs=1e-6)


def test_a_torque_follows_a_formula_of_what_moves_elsewhere(tmp_path: Path) -> None:
    """Two hinges without gravity: J_1 phi_1'' = -c (phi_1 - phi_2), phi_2 turns freely with w."""
    found = moved(
        tmp_path,
        """  inner MultiBody.World world(gravityType=MultiBody.Types.GravityTypes.NoGravity);
  MultiBody.Joints.Revolute one(useAxisFlange=true, phi(fixed=true), w(fixed=true));
  MultiBody.Joints.Revolute other(phi(fixed=true), w(start=0.5, fixed=true));
  MultiBody.Parts.Body a(m=1, r_CM={0,0,0}, I_33=2);
  MultiBody.Parts.Body b(m=1, r_CM={0,0,0}, I_33=1);
  Rotational.Sources.Torque torque(tau=u);
  Real u = -8*apart - slow/2 + der(w);
  Real apart;
  Real slow;
  Real phi(start=0, fixed=true);
  Real w(start=0, fixed=true);
equation
  der(phi) = 2*other.w;
  der(w) = der(phi)/4;
  slow = der(other.phi);
  apart = one.phi - other.phi;
  connect(world.frame_b, one.frame_a);
  connect(world.frame_b, other.frame_a);
  connect(one.frame_b, a.frame_a);
  connect(other.frame_b, b.frame_a);
  connect(torque.flange, one.axis);
""",
        1.0,
    )
    t = np.asarray(found["time"])
    np.testing.assert_allclose(found["one.phi"], 0.5 * t - 0.25 * np.sin(2 * t), atol=1e-6)


def test_an_output_shows_what_a_sensor_and_a_rotor_on_an_axis_have(tmp_path: Path) -> None:
    found = moved(
        tmp_path,
        """  inner MultiBody.World world;
  MultiBody.Joints.Revolute hinge(useAxisFlange=true, phi(start=0.4, fixed=true), w(fixed=true));
  MultiBody.Parts.Body body(m=1, r_CM={1,0,0});
  Rotational.Components.Inertia rotor(J=1);
  Rotational.Sensors.SpeedSensor speed;
  output Real twice(unit="rad") = 2*rotor.phi;
  output Real w = speed.w;
equation
  connect(world.frame_b, hinge.frame_a);
  connect(hinge.frame_b, body.frame_a);
  connect(rotor.flange_a, hinge.axis);
  connect(speed.flange, hinge.axis);
""",
        0.2,
    )
    np.testing.assert_allclose(found["twice"], 2 * np.asarray(found["hinge.phi"]), atol=1e-12)
    np.testing.assert_allclose(found["w"], found["hinge.w"], atol=1e-12)


REFUSED = {
    "steady": (
        """  Rotational.Components.Inertia wheel(J=1, w(start=1, fixed=true));
  Rotational.Sources.Torque torque;
  Blocks.Continuous.FirstOrder lag(T=1, initType=Blocks.Types.Init.SteadyState);
equation
  connect(torque.flange, wheel.flange_a);
  lag.u = -wheel.w;
  connect(lag.y, torque.tau);
""",
        r"line 7: 'lag\.initType' is SteadyState, which is not read: give the start of its state by InitialState",
    ),
    "acceleration": (
        """  Rotational.Components.Inertia wheel(J=1, w(start=1, fixed=true));
  Rotational.Sources.Torque torque(tau=-wheel.a);
equation
  connect(torque.flange, wheel.flange_a);
""",
        r"'wheel\.a' is an acceleration, a force or a torque: only coordinates and velocities are read",
    ),
    "clutch": (
        """  Rotational.Components.Inertia wheel(J=1, w(start=1, fixed=true));
  Rotational.Components.Brake brake(fn_max=1, f_normalized=wheel.w);
equation
  connect(brake.flange_a, wheel.flange_a);
""",
        r"a value depends on 'wheel\.w', which only torques and forces can",
    ),
    "periodic": (
        """  Rotational.Components.Inertia wheel(J=1, w(start=1, fixed=true));
  Rotational.Sources.Torque torque;
  Blocks.Sources.CombiTimeTable table(table=[0,0; 1,1], extrapolation=Blocks.Types.Extrapolation.Periodic);
equation
  connect(torque.flange, wheel.flange_a);
  connect(table.y[1], torque.tau);
""",
        r"'table\.extrapolation' is Periodic, which is not read; use LastTwoPoints or HoldLastPoint",
    ),
    "rows": (
        """  Rotational.Components.Inertia wheel(J=1, w(start=1, fixed=true));
  Rotational.Sources.Torque torque;
  Blocks.Sources.CombiTimeTable table(table=[0,0; 1,1; 1,2]);
equation
  connect(torque.flange, wheel.flange_a);
  connect(table.y[1], torque.tau);
""",
        r"'table\.table' needs two rows or more, whose first column increases",
    ),
    "nothing moves": (
        """  Rotational.Components.Inertia wheel(J=1, w(start=1, fixed=true));
  Rotational.Components.Spring soft(c=1);
  Rotational.Sensors.AngleSensor sensor;
  Rotational.Sources.Torque torque(tau=-sensor.phi);
equation
  connect(torque.flange, wheel.flange_a);
  connect(sensor.flange, soft.flange_b);
  connect(soft.flange_a, wheel.flange_b);
""",
        "moves no mass",
    ),
}
"""Texts of models that are rejected, and what the message has."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_signal_carries_is_one_clear_line(name: str, tmp_path: Path) -> None:
    text, said = REFUSED[name]
    with pytest.raises(MbfmuError, match=said):
        mbfmu.load(written(tmp_path, text))
