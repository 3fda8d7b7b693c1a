"""Wheels, gears and massless rods of PlanarMechanics: files move as hand-written equations and closed forms say."""

import math
from pathlib import Path

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_ivp
from test_modelica_planar import moved, written
from test_planar_wheels import GRIP, RADIUS, geared, swinging

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError
from mbfmu.model import Component, PlanarTyre, PlanarWheel

Array = npt.NDArray[np.float64]
ARM = """  inner PlanarWorld planarWorld(constantGravity={{0,0}});
  VehicleComponents.Wheels.{0};
  Joints.Revolute pivot(phi(fixed=true), w(fixed=true));
  Joints.Prismatic slide(r={{0,1}}, s(start=1, fixed=true), v(start={1}, fixed=true));
  Parts.Fixed fixed;
  Parts.Body hub(m=10, I=1);
  Modelica.Mechanics.Rotational.Sources.ConstantTorque engine(tau_constant=2);
  Modelica.Mechanics.Rotational.Components.Inertia inertia(J=0.2, phi(fixed=true), w(fixed=true));
{2}"""
ENDS = (
    "fixed.frame, pivot.frame_a; pivot.frame_b, slide.frame_a; slide.frame_b, hub.frame_a; "
    "slide.frame_b, axis.frame_a; engine.flange, inertia.flange_a; inertia.flange_b, axis.flange_a"
)
DRY = "axis(radius=0.3, r={2,0}, N=100, vAdhesion=0.05, vSlide=0.15, mu_A=0.8, mu_S=0.4)"
SPUN = DRY.replace("0.4)", "0.4, w_roll(start=10))")
SLIPS = DRY.replace("vAdhesion", "vAdhesion_min").replace("vSlide", "vSlide_min").replace("N=100", "N=80")
SLIPS = SLIPS.replace("0.4)", "0.4, sAdhesion=0.04, sSlide=0.12)")


@pytest.mark.parametrize(
    ("wheel", "tyre", "v", "more", "ends"),
    [
        (f"DryFrictionWheelJoint {DRY}", PlanarTyre("tyre", radius=RADIUS, **GRIP), 0.3, "", ""),
        (
            f"SlipBasedWheelJoint {SLIPS}", PlanarTyre("tyre", radius=RADIUS, s_A=0.04, s_S=0.12, **GRIP), 0.3,
            "  Modelica.Blocks.Sources.Constant load(k=20);", "; load.y, axis.dynamicLoad",
        ),
        ("IdealWheelJoint axis(radius=0.3, r={1,0})", PlanarWheel("tyre", radius=RADIUS), 0.0, "", ""),
    ],
)  # fmt: skip
def test_a_wheel_of_the_library_moves_as_the_component(
    wheel: str, tyre: Component, v: float, more: str, ends: str, tmp_path: Path
) -> None:
    path = written(tmp_path, ARM.format(wheel, v, more), ENDS + ends)
    found, other = (mbfmu.simulate(item, 1.0, step=2e-3, stepper="radau") for item in (path, swinging(tyre, v)))
    for name in ("pivot.phi", "slide.s", "axis.phi", "axis.w"):
        np.testing.assert_allclose(found[name], other[name], rtol=0, atol=1e-9)


def hand_written(
    y: ca.SX, v: ca.SX, T: ca.SX, rows: ca.SX, power: ca.SX, first: Array, rate: Array, times: Array
) -> Array:
    """Return q over time from the kinetic energy T, rows C v = 0 and the power of forces, by [M C^T; C 0]."""
    M, momentum = ca.hessian(T, v)[0], ca.gradient(T, v)
    bias = ca.jtimes(momentum, y, v) - ca.gradient(T, y)
    C = ca.jacobian(rows, v)
    right = ca.vertcat(ca.gradient(power, v) - bias, -ca.jtimes(rows, y, v))
    kkt = ca.vertcat(ca.horzcat(M, C.T), ca.horzcat(C, ca.SX(C.shape[0], C.shape[0])))
    a = ca.Function("a", [y, v], [ca.solve(ca.densify(kkt), right)[: y.numel()]])

    def step(_: float, x: Array) -> Array:
        q, qdot = np.split(x, 2)
        return np.concatenate([qdot, np.array(a(q, qdot)).ravel()])

    run = solve_ivp(step, (0, times[-1]), np.concatenate([first, rate]), "DOP853", times, rtol=1e-11, atol=1e-13)
    return np.array(run.y)


def turned(angle: ca.SX, x: float, y: float) -> ca.SX:
    return ca.vertcat(ca.cos(angle) * x - ca.sin(angle) * y, ca.sin(angle) * x + ca.cos(angle) * y)


def test_a_single_track_with_an_engine_on_a_wheel_without_mass_moves_as_equations_by_hand(tmp_path: Path) -> None:
    found = moved(
        tmp_path,
        """  inner PlanarWorld planarWorld(constantGravity={0,0});
  Parts.Body front(m=2, I=0.1, enableGravity=false);
  Parts.Body rear(m=10, I=0.1, enableGravity=false, r(each fixed=true), phi(fixed=true), w(fixed=true));
  VehicleComponents.AirResistanceLongitudinal air(c_W=0.4, area=2, r=ahead.r);
  VehicleComponents.Wheels.IdealWheelJoint ahead(r={0,1}, radius=0.3, phi_roll(fixed=true));
  VehicleComponents.Wheels.IdealWheelJoint behind(r=ahead.r, radius=0.3, phi_roll(fixed=true), w_roll(fixed=true));
  Parts.FixedTranslation chassis(r={0,1});
  Joints.Revolute steering(phi(fixed=true, start=0.7));
  Parts.FixedTranslation trail(r={0,-0.1});
  Modelica.Mechanics.Rotational.Sources.ConstantTorque engine(tau_constant=2);""",
        "ahead.frame_a, front.frame_a; chassis.frame_a, behind.frame_a; rear.frame_a, chassis.frame_a; "
        "steering.frame_a, chassis.frame_b; engine.flange, behind.flange_a; trail.frame_a, steering.frame_b; "
        "trail.frame_b, ahead.frame_a; air.frame_a, chassis.frame_b",
        2.0,
    )
    q, v = ca.SX.sym("q", 4), ca.SX.sym("v", 4)  # x, y and angle of the rear, steering angle

    def rate(item: ca.SX) -> ca.SX:
        return ca.jtimes(item, q, v)

    head = q[2] + q[3]
    nose = q[:2] + turned(q[2], 0, 1)
    hub = nose + turned(head, 0, -0.1)
    T = (10 * ca.sumsqr(v[:2]) + 2 * ca.sumsqr(rate(hub)) + 0.1 * v[2] ** 2 + 0.1 * rate(head) ** 2) / 2
    rows = ca.vertcat(ca.dot(turned(q[2], 1, 0), v[:2]), ca.dot(turned(head, 1, 0), rate(hub)))
    along, before = ca.dot(turned(q[2], 0, 1), v[:2]), ca.dot(turned(q[2], 0, 1), rate(nose))
    power = (
        2 / 0.3 * along - 0.4 * 2 * 1.18 * ca.if_else(before > 1e-3, before**3, 0) / 6
    )  # whose gradient is the force
    exact = hand_written(q, v, T, rows, power, np.array([0, 0, 0, 0.7]), np.zeros(4), found["time"])
    for row, name in enumerate(("rear.r_0[1]", "rear.r_0[2]", "rear.phi", "steering.phi")):
        np.testing.assert_allclose(found[name], exact[row], rtol=0, atol=1e-6)
    assert np.ptp(exact[2]) > 0.1


def rods(folder: Path, coordinates: str) -> Result:
    """The motion of a crank and a rod without mass on a slider without mass, with a pendulum at the pin."""
    path = written(
        folder,
        """  inner PlanarWorld planarWorld;
  Parts.Fixed fixed;
  Joints.Revolute crank(phi(start=0.4115));
  Parts.FixedTranslation arm(r={0,-0.5});
  Joints.Revolute pin;
  Parts.FixedTranslation rod(r={0,-0.5});
  Joints.Revolute wrist(phi(start=-0.4115));
  Joints.Prismatic slide(r={1,0}, useFlange=true, s(start=0.4, fixed=true), v(fixed=true));
  Joints.Revolute knee(phi(fixed=true, start=-0.7), w(fixed=true));
  Parts.FixedTranslation shank(r={0,-0.6});
  Parts.Body bob(m=1, I=0.1);
  Modelica.Mechanics.Translational.Components.SpringDamper spring(c=20, d=4, s_rel0=0.4);
  Modelica.Mechanics.Translational.Components.Fixed wall;""",
        "fixed.frame, crank.frame_a; crank.frame_b, arm.frame_a; arm.frame_b, pin.frame_a; pin.frame_b, rod.frame_b; "
        "rod.frame_a, wrist.frame_b; wrist.frame_a, slide.frame_b; fixed.frame, slide.frame_a; "
        "arm.frame_b, knee.frame_a; knee.frame_b, shank.frame_a; shank.frame_b, bob.frame_a; "
        "wall.flange, spring.flange_a; spring.flange_b, slide.flange_a",
    )
    return mbfmu.simulate(path, 2.0, step=1e-3, stepper="radau", coordinates=coordinates)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_loop_of_massless_rods_moves_as_its_two_freedoms_by_hand(coordinates: str, tmp_path: Path) -> None:
    """The slider is at s = sin(crank), as both rods are 0.5 m long: two angles, and no mass but the pendulum's."""
    found = rods(tmp_path, coordinates)
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    s, bob = ca.sin(q[0]), turned(q[0], 0, -0.5) + turned(ca.sum1(q), 0, -0.6)
    speed, slide = ca.jtimes(bob, q, v), ca.jtimes(s, q, v)
    T = (ca.sumsqr(speed) + 0.1 * ca.sum1(v) ** 2) / 2
    power = -9.81 * speed[1] - 20 * (s - 0.4) * slide - 2 * slide**2  # whose gradient by v is the force
    first = np.array([math.asin(0.4), -0.7])
    exact = hand_written(q, v, T, ca.SX(0, 1), power, first, np.zeros(2), found["time"])
    np.testing.assert_allclose(found["crank.phi"], exact[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["knee.phi"], exact[1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["slide.s"], np.sin(exact[0]), rtol=0, atol=1e-8)


def test_gears_between_frames_move_as_the_component(tmp_path: Path) -> None:
    found = moved(
        tmp_path,
        """  inner PlanarWorld planarWorld(constantGravity={0,0});
  Parts.Fixed fixed;
  Joints.Revolute sun(useFlange=true, phi(fixed=true));
  Joints.Revolute carrier(phi(start=0.4, fixed=true), w(start=0.5, fixed=true));
  Joints.Revolute pin(phi(fixed=true));
  Joints.Revolute ring(useFlange=true, phi(fixed=true));
  Parts.FixedTranslation arm(r={2,0});
  Parts.Body sunWheel(m=1, I=0.01);
  Parts.Body armBody(m=0.5, I=0.02);
  Parts.Body planet(m=1, I=0.03);
  Parts.Body ringWheel(m=1, I=0.05);
  GearComponents.RigidNoLossExternal inner1(r_a=1.2, r_b=0.8);
  GearComponents.RigidNoLossInternal outer1(r_a=0.8, r_b=2.8);
  Modelica.Mechanics.Rotational.Sources.ConstantSpeed motor(w_fixed=1);
  Modelica.Mechanics.Rotational.Sources.ConstantTorque torque(tau_constant=0.7);""",
        "fixed.frame, sun.frame_a; sun.frame_b, sunWheel.frame_a; fixed.frame, carrier.frame_a; "
        "carrier.frame_b, arm.frame_a; arm.frame_a, armBody.frame_a; arm.frame_b, pin.frame_a; "
        "pin.frame_b, planet.frame_a; fixed.frame, ring.frame_a; ring.frame_b, ringWheel.frame_a; "
        "sunWheel.frame_a, inner1.frame_a; planet.frame_a, inner1.frame_b; planet.frame_a, outer1.frame_a; "
        "ringWheel.frame_a, outer1.frame_b; motor.flange, sun.flange_a; torque.flange, ring.flange_a",
        1.0,
    )
    other = mbfmu.simulate(geared(0.7), 1.0, step=1e-3)
    for name in ("sun.phi", "carrier.phi", "ring.phi", "pin.phi"):
        np.testing.assert_allclose(found[name], other[name], rtol=0, atol=1e-9)


def test_a_differential_shares_a_torque_equally(tmp_path: Path) -> None:
    found = moved(
        tmp_path,
        """  inner PlanarWorld planarWorld(constantGravity={0,0});
  VehicleComponents.DifferentialGear gear;
  Modelica.Mechanics.Rotational.Components.Inertia left(J=1, phi(fixed=true), w(fixed=true));
  Modelica.Mechanics.Rotational.Components.Inertia right(J=2, phi(fixed=true), w(fixed=true));
  Modelica.Mechanics.Rotational.Sources.ConstantTorque torque(tau_constant=5);""",
        "torque.flange, gear.flange_b; gear.flange_left, left.flange_a; gear.flange_right, right.flange_a",
        1.0,
    )
    assert [found[f"{name}.phi"][-1] for name in ("left", "right")] == pytest.approx([5 / 4, 5 / 8], rel=1e-8)


def test_axes_of_two_joints_on_one_flange_turn_alike(tmp_path: Path) -> None:
    """A torque turns both: (I_1 + I_2) a = tau."""
    found = moved(
        tmp_path,
        """  inner PlanarWorld planarWorld(constantGravity={0,0});
  Parts.Fixed fixed;
  Joints.Revolute one(useFlange=true, phi(fixed=true, start=0.2), w(fixed=true));
  Joints.Revolute other(useFlange=true);
  Parts.Body first(m=1, I=0.1);
  Parts.Body second(m=1, I=0.3);
  Modelica.Mechanics.Rotational.Sources.ConstantTorque torque(tau_constant=2);""",
        "fixed.frame, one.frame_a; fixed.frame, other.frame_a; one.frame_b, first.frame_a; "
        "other.frame_b, second.frame_a; torque.flange, one.flange_a; one.flange_a, other.flange_a",
        0.5,
    )
    np.testing.assert_allclose(found["other.phi"], found["one.phi"], rtol=0, atol=1e-10)
    assert found["one.phi"][-1] == pytest.approx(0.2 + 2 / 0.4 * 0.5**2 / 2, rel=1e-8)


def test_a_wheel_on_the_ground_begins_where_it_is_told(tmp_path: Path) -> None:
    """While it slips, v = v_0 - mu_S g t and R w = R w_0 - mu_S m g R^2 t / I."""
    found = moved(
        tmp_path,
        """  inner PlanarWorld planarWorld;
  Parts.Body wheel(m=0.01, I=0.0005);
  Joints.DryFrictionBasedRolling ground(R=0.1, vAdhesion=0.01, vSlide=0.03, mu_A=0.5, mu_S=0.15, x(fixed=true),
    vx(fixed=true, start=2), phi(fixed=true), w(fixed=true, start=15));""",
        "wheel.frame_a, ground.frame_a",
        1.0,
    )
    assert found["ground.v"][-1] == pytest.approx(2 - 0.15 * 9.81, rel=1e-8)
    assert found["ground.w"][-1] == pytest.approx(15 - 0.15 * 0.01 * 9.81 * 0.1 / 0.0005, rel=1e-8)


def test_a_start_that_an_inertia_decides_is_left_out_with_a_notice(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"'axis.w_roll' is left out: it is not fixed, and an inertia decides"):
        system = mbfmu.load(written(tmp_path, ARM.format(f"DryFrictionWheelJoint {SPUN}", 0.0, ""), ENDS))
    (axis,) = (item for item in system.components if item.name == "axis")
    assert getattr(axis, "w", None) == 0.0  # that of the inertia


@pytest.mark.parametrize(
    ("wheel", "inertia", "said"),
    [
        (SPUN, False, r"'axis.w_roll' is not fixed, so that nothing says whether the motion begins with it"),
        (SPUN.replace("w_roll", "v_long"), True, r"the start of 'axis.v_long' is not read"),
        (DRY.replace("{2,0}", "{0,0}"), True, r"'axis.r' has no direction"),
    ],
)
def test_what_a_wheel_cannot_begin_with_is_refused(wheel: str, inertia: bool, said: str, tmp_path: Path) -> None:
    ends = ENDS if inertia else ENDS.replace("inertia.flange_b, axis.flange_a", "inertia.flange_b, other.flange_a")
    more = "" if inertia else "  Modelica.Mechanics.Rotational.Components.Inertia other(J=1);"
    with pytest.raises(MbfmuError, match=said):
        mbfmu.load(written(tmp_path, ARM.format(f"DryFrictionWheelJoint {wheel}", 0.0, more), ends))


def test_a_body_without_gravity_where_there_is_some_is_refused(tmp_path: Path) -> None:
    text = "  inner PlanarWorld planarWorld;\n  Parts.Body body(m=1, I=1, enableGravity=false);"
    with pytest.raises(MbfmuError, match="a body without gravity is not read"):
        mbfmu.load(written(tmp_path, text, ""))
