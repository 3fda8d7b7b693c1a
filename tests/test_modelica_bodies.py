"""Modelica's MultiBody beyond plain joints: gravity of a point, gears, rods, files of a package."""

import math
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import MbfmuError

USES = "  import Modelica.Mechanics.MultiBody.*;\n"


def about(axis: int, angle: float) -> np.ndarray:
    """Return the rotation matrix of a turn about axis 1, 2 or 3."""
    k = np.cross(np.eye(3), np.eye(3)[axis - 1])
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def rotation_of(Q: list[float]) -> np.ndarray:
    """Return the rotation matrix of a quaternion, ``(2 s^2 - 1) E + 2 v v^T + 2 s [v]``."""
    s, v = Q[0], np.array(Q[1:])
    return (2 * s * s - 1) * np.eye(3) + 2 * np.outer(v, v) + 2 * s * np.cross(np.eye(3), v)


def written(path: Path, declared: str, connected: str = "", head: str = "") -> Path:
    """Return a file with a model of some declarations and connections."""
    lines = "".join(f"  connect({pair});\n" for pair in connected.split("; ") if pair)
    path.write_text(f"{head}model {path.stem}\n{USES}{declared}\nequation\n{lines}end {path.stem};\n", "utf-8")
    return path


def test_a_body_in_the_gravity_of_a_point_goes_round_in_a_circle(tmp_path: Path) -> None:
    """The speed of a circle of radius r is sqrt(mu/r); the centre of mass goes round, wherever frame_a is."""
    r, mu = 2.0, 3.0
    speed = math.sqrt(mu / r)
    path = written(
        tmp_path / "Planet.mo",
        f"""  inner World world(mu={mu}, gravityType=Types.GravityTypes.PointGravity);
  Parts.Body moon(m=5, r_CM={{0.5,0,0}}, r_0(start={{{r - 0.5},0,0}}, each fixed=true),
    v_0(start={{0,{speed!r},0}}, each fixed=true), angles_fixed=true, w_0_fixed=true);""",
    )
    found = mbfmu.simulate(path, 3.0, step=1e-3, error_samples=0)
    angle = speed / r * found["time"]
    np.testing.assert_allclose(found["moon.r_0[1]"], r * np.cos(angle) - 0.5, atol=1e-5)
    np.testing.assert_allclose(found["moon.r_0[2]"], r * np.sin(angle), atol=1e-5)


def test_a_gear_constraint_couples_two_bodies_about_their_axes(tmp_path: Path) -> None:
    """A torque on the fast side: (J_a ratio^2 + J_b) phi_b'' = ratio tau."""
    path = written(
        tmp_path / "Geared.mo",
        """  inner World world(g=0);
  Joints.GearConstraint gear(ratio=4);
  Parts.Body fast(m=1, r_CM={0,0,0}, I_11=0.5);
  Parts.Body slow(m=1, r_CM={0,0,0}, I_11=3);
  Forces.WorldTorque motor;
  Modelica.Blocks.Sources.Constant tau(k=2);
  Modelica.Blocks.Sources.Constant none(k=0);""",
        "world.frame_b, gear.bearing; gear.frame_a, fast.frame_a; gear.frame_b, slow.frame_a; "
        "motor.frame_b, fast.frame_a; tau.y, motor.torque[1]; none.y, motor.torque[2]; none.y, motor.torque[3]",
    )
    found = mbfmu.simulate(path, 1.0, step=1e-3, error_samples=0)
    rate = 4 * 2 / (0.5 * 16 + 3)
    assert found["gear.actuatedRevolute_b.w"][-1] == pytest.approx(rate, rel=1e-6)
    assert found["gear.actuatedRevolute_a.w"][-1] == pytest.approx(4 * rate, rel=1e-6)


def test_an_assembly_of_a_rod_and_a_slide_keeps_its_length(tmp_path: Path) -> None:
    """A crank of 0.3 m drives a slide along x by a rod of 1 m: s = 0.3 cos(phi) + sqrt(1 - (0.3 sin(phi))^2)."""
    path = written(
        tmp_path / "Crank.mo",
        """  inner World world(g=0);
  Joints.Revolute hinge(phi(fixed=true, start=0.2), w(fixed=true, start=5));
  Parts.BodyCylinder crank(r={0.3,0,0}, diameter=0.05);
  Joints.Assemblies.JointSSP rod(rod1Length=1, n_b={1,0,0}, s_offset=0.25, rRod2_ib={0,0,0}, s_guess=1);
  Parts.Body piston(m=2, r_CM={0,0,0});""",
        "world.frame_b, hinge.frame_a; hinge.frame_b, crank.frame_a; crank.frame_b, rod.frame_a; "
        "world.frame_b, rod.frame_b; rod.frame_ib, piston.frame_a",
    )
    found = mbfmu.simulate(path, 1.0, step=1e-3, error_samples=0)
    phi = found["hinge.phi"]
    s = 0.3 * np.cos(phi) + np.sqrt(1 - (0.3 * np.sin(phi)) ** 2)
    np.testing.assert_allclose(found["rod.prismatic.slide.s"] + 0.25, s, atol=1e-9)
    np.testing.assert_allclose(found["energy.total"], found["energy.total"][0], rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "axes", "joint"),
    [
        ("Revolute", "n={0,0.6,0.8}, ", "n={0,0.6,0.8}"),
        ("Spherical", "", ""),
        ("Universal", "n_a={0,0,1}, n_b={1,0,0}, ", "n_a={0,0,1}, n_b={1,0,0}"),
        ("Prismatic", "y_locked=false, ", "n={0,1,0}"),
    ],
)
def test_a_body_that_a_constraint_holds_moves_as_on_the_joint(kind: str, axes: str, joint: str, tmp_path: Path) -> None:
    bodies = "".join(
        f"""  Parts.BodyShape {name}(r={{0.4,0,0}}, r_CM={{0.2,0.1,0}}, m=1, I_11=0.1, I_22=0.2, I_33=0.3);
  Forces.Spring spring_{name}(c=20);"""
        for name in "ab"
    )
    path = written(
        tmp_path / "Held.mo",
        f"""  inner World world;
  Parts.FixedTranslation far(r={{0.8,0.3,0.3}});
  Joints.Constraints.{kind} held({axes}x_locked=true);
  Joints.FreeMotion free;
  Joints.{kind} joint({joint});
{bodies}""",
        "world.frame_b, far.frame_a; world.frame_b, held.frame_a; held.frame_b, a.frame_a; "
        "world.frame_b, free.frame_a; free.frame_b, a.frame_a; world.frame_b, joint.frame_a; joint.frame_b, b.frame_a; "
        "far.frame_b, spring_a.frame_a; spring_a.frame_b, a.frame_b; "
        "far.frame_b, spring_b.frame_a; spring_b.frame_b, b.frame_b",
    )
    result = mbfmu.simulate(path, 0.5, step=2e-3, error_samples=0)
    for axis in (1, 2, 3):
        np.testing.assert_allclose(result[f"a.r_0[{axis}]"], result[f"b.r_0[{axis}]"], atol=2e-5)
        np.testing.assert_allclose(result[f"a.w_a[{axis}]"], result[f"b.w_a[{axis}]"], atol=2e-4)
    path.write_text(path.read_text("utf-8").replace("x_locked=true", "x_locked=false, z_locked=false"), "utf-8")
    with pytest.raises(MbfmuError, match="free directions is not read"):
        mbfmu.load(path)


def test_forces_and_torques_between_two_frames_act_on_both(tmp_path: Path) -> None:
    """Two rotors on one axis turn against each other, and two slides part, as their masses have it."""
    path = written(
        tmp_path / "Apart.mo",
        """  inner World world(g=0);
  Joints.Revolute one(n={1,0,0});
  Joints.Revolute two(n={1,0,0});
  Joints.Prismatic left(n={0,1,0});
  Joints.Prismatic right(n={0,1,0});
  Parts.Body a(m=1, r_CM={0,0,0}, I_11=2);
  Parts.Body b(m=1, r_CM={0,0,0}, I_11=4);
  Parts.Body c(m=2, r_CM={0,0,0});
  Parts.Body d(m=5, r_CM={0,0,0});
  Forces.Torque torque(resolveInFrame=Types.ResolveInFrameAB.frame_a);
  Forces.Force force;
  Modelica.Blocks.Sources.Constant t[3](k={3,0,0});
  Modelica.Blocks.Sources.Constant f[3](k={0,7,0});""",
        "world.frame_b, one.frame_a; world.frame_b, two.frame_a; world.frame_b, left.frame_a; "
        "world.frame_b, right.frame_a; one.frame_b, a.frame_a; two.frame_b, b.frame_a; left.frame_b, c.frame_a; "
        "right.frame_b, d.frame_a; torque.frame_a, a.frame_a; torque.frame_b, b.frame_a; force.frame_a, c.frame_a; "
        "force.frame_b, d.frame_a; t.y, torque.torque; f.y, force.force",
    )
    result = mbfmu.simulate(path, 1.0, step=1e-2, error_samples=0)
    last = [result[name][-1] for name in ("one.w", "two.w", "left.v", "right.v")]
    np.testing.assert_allclose(last, [-3 / 2, 3 / 4, -7 / 2, 7 / 5], rtol=1e-9)


def test_a_rotor_on_a_fixed_frame_turns_as_a_body_about_its_axis(tmp_path: Path) -> None:
    """A rotor with the inertia I_11 of a cylinder, driven against a mounting, turns as the cylinder on a hinge does."""
    path = written(
        tmp_path / "Drive.mo",
        """  inner World world(g=0);
  Parts.Fixed fixed(r={0,1,0});
  Parts.FixedRotation turned(n={0,0,1}, angle=30);
  Parts.BodyCylinder cylinder(r={0.6,0,0.8}, diameter=0.2, innerDiameter=0.1);
  Joints.Revolute hinge(n={0.6,0,0.8}, useAxisFlange=true);
  Parts.Rotor1D rotor(J=cylinder.I[1,1]*0.36 + cylinder.I[3,3]*0.64 + 2*cylinder.I[1,3]*0.48);
  Parts.Mounting1D mounting;
  Modelica.Mechanics.Rotational.Sources.Torque motor(useSupport=true);
  Modelica.Mechanics.Rotational.Sources.ConstantTorque alike(tau_constant=3);
  Modelica.Blocks.Sources.Constant tau(k=3);""",
        "fixed.frame_b, turned.frame_a; turned.frame_b, rotor.frame_a; fixed.frame_b, mounting.frame_a; "
        "motor.flange, rotor.flange_a; motor.support, mounting.flange_b; tau.y, motor.tau; "
        "world.frame_b, hinge.frame_a; hinge.frame_b, cylinder.frame_a; alike.flange, hinge.axis",
    )
    result = mbfmu.simulate(path, 0.1, step=1e-2, error_samples=0)
    assert result["hinge.w"][-1] > 0.1
    assert result["rotor.inertia.w"][-1] == pytest.approx(result["hinge.w"][-1], rel=1e-9)
    text = path.read_text("utf-8")
    path.write_text(text.replace("turned.frame_b, rotor.frame_a", "cylinder.frame_b, rotor.frame_a"), "utf-8")
    with pytest.raises(MbfmuError, match="'rotor' stands on a frame that moves"):
        mbfmu.load(path)


def test_start_values_of_single_coordinates_place_the_end_of_a_chain(tmp_path: Path) -> None:
    path = written(
        tmp_path / "Tip.mo",
        """  inner World world;
  Joints.Revolute one;
  Parts.BodyBox a(r={0.5,0,0}, width=0.06);
  Joints.Revolute two(phi(start=1.5));
  Parts.BodyBox b(r={0.5,0,0}, width=0.06);
  Joints.FreeMotionScalarInit tip(use_r=true, use_v=true, r_rel_a_1(start=0.7, fixed=true),
    r_rel_a_2(start=0.3, fixed=true), v_rel_a_1(fixed=true), v_rel_a_2(fixed=true));""",
        "world.frame_b, one.frame_a; one.frame_b, a.frame_a; a.frame_b, two.frame_a; two.frame_b, b.frame_a; "
        "world.frame_b, tip.frame_a; tip.frame_b, b.frame_b",
    )
    found = mbfmu.simulate(path, 0.01, error_samples=0)
    one, both = found["one.phi"][0], found["one.phi"][0] + found["two.phi"][0]
    assert 0.5 * (math.cos(one) + math.cos(both)) == pytest.approx(0.7, abs=1e-9)
    assert 0.5 * (math.sin(one) + math.sin(both)) == pytest.approx(0.3, abs=1e-9)
    assert found["two.phi"][0] > 0


def test_classes_of_other_files_of_a_package_are_read(tmp_path: Path) -> None:
    """A class is found in the folder of its package, from inside outwards, and what it uses in turn."""
    root = tmp_path / "Mine"
    (root / "Arms" / "Parts").mkdir(parents=True)
    for folder, name in ((root, "Mine"), (root / "Arms", "Arms"), (root / "Arms" / "Parts", "Parts")):
        (folder / "package.mo").write_text(f"package {name}\nend {name};\n", "utf-8")
    hinged = (
        "model Hinged\n  import Modelica.Mechanics.MultiBody.*;\n  parameter Real L=1;\n  Interfaces.Frame_a frame_a;\n"
        "  Joints.Revolute hinge(phi(fixed=true), w(fixed=true));\n  Parts.BodyCylinder rod(r={L,0,0}, diameter=0.1);\n"
        "equation\n  connect(frame_a, hinge.frame_a);\n  connect(hinge.frame_b, rod.frame_a);\nend Hinged;\n"
    )
    (root / "Arms" / "Parts" / "Hinged.mo").write_text(f"within Mine.Arms.Parts;\n{hinged}", "utf-8")
    (root / "Long.mo").write_text(
        "within Mine;\nmodel Long\n  extends Mine.Arms.Parts.Hinged(L=2);\nend Long;\n", "utf-8"
    )
    head = "within Mine.Arms;\n"
    text = "  inner World world;\n  Long arm;"
    path = written(root / "Arms" / "Swing.mo", text, "world.frame_b, arm.frame_a", head)
    alone = written(
        tmp_path / "Alone.mo", text.replace("Long arm", "Hinged arm(L=2)"), "world.frame_b, arm.frame_a", hinged
    )
    found, other = (mbfmu.simulate(item, 0.5, error_samples=0) for item in (path, alone))
    np.testing.assert_array_equal(found["arm.hinge.phi"], other["arm.hinge.phi"])
    path.write_text(path.read_text("utf-8").replace("Long arm", "Longer arm"), "utf-8")
    with pytest.raises(MbfmuError, match="the class 'Longer' is not read"):
        mbfmu.load(path)


def test_a_wheel_rolls_as_dymola_says(tmp_path: Path) -> None:
    """Examples.Elementary.RollingWheel at 0.2 s, in the reference results of the library, version 4.0.0."""
    path = written(
        tmp_path / "Rolling.mo",
        """  inner World world(n={0,0,-1});
  Parts.RollingWheel wheel(radius=0.3, m=2, I_axis=0.06, I_long=0.12, x(start=0.2), y(start=0.2),
    der_angles(start={0,5,1}));""",
    )
    found = mbfmu.simulate(path, 0.2, step=1e-3, error_samples=0)
    Q = [found[f"wheel.body.Q[{index}]"][-1] for index in range(1, 5)]
    reference = about(3, 0.27186747217) @ about(2, 0.97507311435) @ about(1, 0.38601723142)
    np.testing.assert_allclose(rotation_of(Q), reference, atol=1e-5)
    assert found["wheel.body.r_0[1]"][-1] == pytest.approx(0.49959663278, abs=1e-5)
    assert found["wheel.body.r_0[2]"][-1] == pytest.approx(0.13146047047, abs=1e-5)


def test_a_wheel_that_leans_begins_where_its_angles_say(tmp_path: Path) -> None:
    """Turns about z, y, x give the rotation matrix, and ``w = R^T (e_z a1_d + R_z e_y a2_d + R_z R_y e_x a3_d)``."""
    a, rates = (0.4, -0.3, 0.5), (0.7, 2.0, -0.4)
    path = written(
        tmp_path / "Leaning.mo",
        f"""  inner World world(n={{0,0,-1}});
  Parts.RollingWheel wheel(radius=0.3, m=2, I_axis=0.06, I_long=0.12, x(start=0.2), y(start=-0.1),
    angles(start={{{a[0]},{a[1]},{a[2]}}}), der_angles(start={{{rates[0]},{rates[1]},{rates[2]}}}));""",
    )
    found = mbfmu.simulate(path, 0.001, step=1e-3, error_samples=0)
    begins = {label: [found[f"wheel.body.{label}[{k}]"][0] for k in range(1, 5 - (label != "Q"))] for label in
              ("Q", "r_0", "w_a")}  # fmt: skip
    turns = [np.eye(3), about(3, a[0]), about(3, a[0]) @ about(2, a[1])]
    R = turns[2] @ about(1, a[2])
    w = sum(turn[:, axis] * rate for turn, axis, rate in zip(turns, (2, 1, 0), rates, strict=True))
    np.testing.assert_allclose(rotation_of(begins["Q"]), R, atol=1e-9)
    np.testing.assert_allclose(begins["w_a"], R.T @ w, atol=1e-9)
    np.testing.assert_allclose(begins["r_0"], (0.2, -0.1, 0.3 * math.sqrt(1 - R[2, 1] ** 2)), atol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_set_of_wheels_runs_ahead_or_turns_about_its_middle(sign: int, tmp_path: Path) -> None:
    """Torques on both wheels: ``(2 m + 2 I_axis/R^2) x'' = 2 tau/R``; against each other, with the half track b,
    ``2 (m b^2 + I_long + I_axis b^2/R^2) phi'' = -2 tau b/R``."""
    R, m, axis, across, b, tau = 0.1, 0.5, 0.01, 0.02, 0.25, 0.3
    path = written(
        tmp_path / "Wheels.mo",
        f"""  inner World world(n={{0,0,-1}});
  Parts.RollingWheelSet wheels(R_wheel={R}, m_wheel={m}, I_wheelAxis={axis}, I_wheelLong={across}, track={2 * b},
    x(start=0.7), phi(start=0.2));
  Modelica.Mechanics.Rotational.Sources.Torque2 left(tau={tau});
  Modelica.Mechanics.Rotational.Sources.Torque2 right(tau={sign * tau});""",
        "wheels.axis1, left.flange_b; wheels.support, left.flange_a; "
        "wheels.axis2, right.flange_b; wheels.support, right.flange_a",
    )
    found = mbfmu.simulate(path, 1.0, step=1e-3, error_samples=0)
    path_x, phi = (found[f"wheels.wheelSetJoint.{name}"] for name in ("prismatic1.s", "revolute.phi"))
    assert path_x[0] == pytest.approx(0.7)
    assert phi[0] == pytest.approx(0.2)
    if sign > 0:
        assert path_x[-1] - 0.7 == pytest.approx(math.cos(0.2) * tau / R / (2 * m + 2 * axis / R**2), rel=1e-5)
    else:
        turning = 2 * (m * b**2 + across + axis * b**2 / R**2)
        assert phi[-1] - 0.2 == pytest.approx(-tau * b / R / turning, rel=1e-5)


CARRIED = """  inner World world;
  Joints.Spherical ball(angles_fixed=true, w_rel_a_fixed=true);
  Parts.BodyCylinder arm(r={0.25,0,0}, diameter=0.05);
  Parts.FixedRotation bent(n={0,1,0}, angle=45);
  Parts.FixedTranslation back(r={-0.1,0,0});
  Parts.BodyCylinder drum(r={0.2,0,0}, diameter=0.1);
"""
HUNG = (
    "world.frame_b, ball.frame_a; ball.frame_b, arm.frame_a; arm.frame_b, bent.frame_a; bent.frame_b, back.frame_a; "
    "back.frame_b, drum.frame_a; bent.frame_b, rotor.frame_a"
)


def test_a_rotor_on_a_body_moves_it_as_dymola_says(tmp_path: Path) -> None:
    """Examples.Rotational3DEffects.GyroscopicEffects at 0.2 s, in the reference results, version 4.0.0."""
    path = written(
        tmp_path / "Gyroscopic.mo",
        f"{CARRIED}  Parts.Rotor1D rotor(J=drum.I[1,1], n={{1,0,0}}, phi(fixed=true), w(fixed=true, start=10));",
        HUNG,
    )
    found = mbfmu.simulate(path, 0.2, step=1e-3, error_samples=0)
    for index, w in enumerate((7.1814471504, -4.9925936233, -5.6799827840), 1):
        assert found[f"arm.w_a[{index}]"][-1] == pytest.approx(w, abs=2e-5)
    assert found["rotor.inertia.phi"][-1] == pytest.approx(0.9494070037, abs=2e-6)


def test_a_rotor_that_disregards_the_motion_of_its_frame_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "Odd.mo", f"{CARRIED}  Parts.Rotor1D rotor(J=0.1, exact=false);", HUNG)
    with pytest.raises(MbfmuError, match="line 9: 'rotor' disregards the motion of its frame"):
        mbfmu.load(path)


def test_a_motor_on_a_mounting_turns_the_rotor_and_its_body_back(tmp_path: Path) -> None:
    """About one axis: ``J (a + dw) = tau`` and ``(I - J) dw = -tau``; a second rotor adds to the first."""
    path = written(
        tmp_path / "Mounted.mo",
        """  inner World world(g=0);
  Joints.Revolute pin(n={0,0,1}, phi(fixed=true), w(fixed=true));
  Parts.Body body(m=1, r_CM={0,0,0}, I_33=0.7);
  Parts.Rotor1D rotor(J=0.15, n={0,0,1}, phi(fixed=true), w(fixed=true));
  Parts.Rotor1D other(J=0.05, n={0,0,1});
  Parts.Mounting1D mounting(n={0,0,1});
  Modelica.Mechanics.Rotational.Sources.Torque motor(useSupport=true, tau=0.35);""",
        "world.frame_b, pin.frame_a; pin.frame_b, body.frame_a; body.frame_a, rotor.frame_a; "
        "body.frame_a, other.frame_a; body.frame_a, mounting.frame_a; motor.flange, rotor.flange_a; "
        "rotor.flange_b, other.flange_a; motor.support, mounting.flange_b",
    )
    found = mbfmu.simulate(path, 0.5, step=1e-3, error_samples=0)
    body = -0.35 / (0.7 - 0.2)
    assert found["pin.w"][-1] == pytest.approx(body * 0.5, rel=1e-9)
    assert found["rotor.inertia.w"][-1] == pytest.approx((0.35 / 0.2 - body) * 0.5, rel=1e-9)


def test_a_bevel_gear_turns_its_body_by_both_shafts(tmp_path: Path) -> None:
    """With ``w_a = k w_b`` the energy is ``I w^2/2 + J_b w w_b + (J_a k^2 + J_b) w_b^2/2``, on the axis of shaft b."""
    path = written(
        tmp_path / "Bevel.mo",
        """  inner World world(g=0);
  Joints.Revolute pin(n={0,1,0}, phi(fixed=true), w(fixed=true));
  Parts.Body body(m=1, r_CM={0,0,0}, I_11=1, I_22=3);
  Parts.Rotor1D a(J=0.1, n={1,0,0}, phi(fixed=true), w(fixed=true));
  Parts.Rotor1D b(J=0.4, n={0,1,0});
  Parts.BevelGear1D gear(ratio=3, n_a={1,0,0}, n_b={0,1,0});
  Parts.Mounting1D mounting(n={1,0,0});
  Modelica.Mechanics.Rotational.Sources.Torque motor(useSupport=true, tau=0.6);""",
        "world.frame_b, pin.frame_a; pin.frame_b, body.frame_a; body.frame_a, a.frame_a; body.frame_a, b.frame_a; "
        "body.frame_a, gear.frame_a; body.frame_a, mounting.frame_a; motor.flange, a.flange_a; "
        "motor.support, mounting.flange_b; a.flange_b, gear.flange_a; gear.flange_b, b.flange_a",
    )
    found = mbfmu.simulate(path, 0.5, step=1e-3, error_samples=0)
    rates = np.linalg.solve([[3.0, 0.4], [0.4, 0.1 * 9 + 0.4]], [0.0, 3 * 0.6]) * 0.5
    np.testing.assert_allclose((found["pin.w"][-1], found["b.inertia.w"][-1]), rates, rtol=1e-8)


@pytest.mark.parametrize(
    ("declared", "connected"),
    [
        ("Modelica.Mechanics.Rotational.Sources.Torque motor(tau=1);", "motor.flange, rotor.flange_a"),
        (
            "Modelica.Mechanics.Rotational.Sources.Torque motor(tau=1, useSupport=true); Parts.Mounting1D mounting;",
            "motor.flange, rotor.flange_a; motor.support, mounting.flange_b; mounting.frame_a, drum.frame_a",
        ),
        (
            "Modelica.Mechanics.Rotational.Components.Inertia wheel(J=1);",
            "wheel.flange_a, rotor.flange_b",
        ),
    ],
    ids=["on the ground", "about another axis", "without a frame"],
)
def test_what_acts_on_a_rotor_that_moves_from_elsewhere_is_refused(
    declared: str, connected: str, tmp_path: Path
) -> None:
    path = written(
        tmp_path / "Odd.mo", f"{CARRIED}  Parts.Rotor1D rotor(J=0.1, n={{0,0,1}}); {declared}", HUNG + "; " + connected
    )
    with pytest.raises(MbfmuError, match=r"stands on a frame that moves, and .* elsewhere or on another axis"):
        mbfmu.load(path)


def test_a_force_and_torque_in_a_third_frame_acts_along_its_axes(tmp_path: Path) -> None:
    """A frame turned by 30 degrees about z: ``m v' = f (cos, sin)`` and ``I w' = t (-sin, cos)``."""
    path = written(
        tmp_path / "Third.mo",
        """  inner World world(g=0);
  Parts.Body body(m=2, r_CM={0,0,0}, I_11=0.5, I_22=0.5, I_33=0.5);
  Parts.FixedRotation turned(n={0,0,1}, angle=30);
  Forces.ForceAndTorque both(resolveInFrame=Types.ResolveInFrameAB.frame_resolve);
  Forces.WorldForceAndTorque none;
  Modelica.Blocks.Sources.Constant force[3](k={3,0,0});
  Modelica.Blocks.Sources.Constant torque[3](k={0,0.1,0});
  Modelica.Blocks.Sources.Constant zero[3](k={0,0,0});""",
        "world.frame_b, turned.frame_a; turned.frame_b, both.frame_resolve; world.frame_b, both.frame_a; "
        "body.frame_a, both.frame_b; force.y, both.force; torque.y, both.torque; body.frame_a, none.frame_b; "
        "zero.y, none.force; zero.y, none.torque",
    )
    found = mbfmu.simulate(path, 0.5, step=1e-3, error_samples=0)
    c, s = math.cos(math.pi / 6), math.sin(math.pi / 6)
    np.testing.assert_allclose([found[f"body.v_0[{k}]"][-1] for k in (1, 2, 3)], (0.75 * c, 0.75 * s, 0), atol=1e-9)
    np.testing.assert_allclose([found[f"body.w_a[{k}]"][-1] for k in (1, 2)], (-0.1 * s, 0.1 * c), atol=1e-9)


FIELD = """package Fields
  function linear
    extends Modelica.Mechanics.MultiBody.Interfaces.partialGravityAcceleration;
    input Real k;
  protected
    constant Real half=0.5;
    Real h;
  algorithm
    {statement}
    gravity := {{0,-k*h,0}};
  end linear;
  model Falling
    import Modelica.Mechanics.MultiBody.*;
    parameter Real k=8;
    Real shown[3]=body.g_0;
    inner World world(redeclare function gravityAcceleration = Fields.linear(k=k));
    Joints.Prismatic rail(n={{0,1,0}}, s(start=1, fixed=true), v(fixed=true));
    Parts.Body body(m=3, r_CM={{0.2,0.4,0}});
  equation
    connect(world.frame_b, rail.frame_a);
    connect(rail.frame_b, body.frame_a);
  end Falling;
end Fields;
"""


@pytest.mark.parametrize(
    ("statement", "rate"), [("h := half*r[2];", 2.0), ("h := Modelica.Constants.pi*r[2];", 5.01325655)]
)
def test_gravity_by_a_function_of_the_place_pulls_at_the_centre_of_mass(
    statement: str, rate: float, tmp_path: Path
) -> None:
    """The centre of mass, at s + 0.4, swings as ``1.4 cos(rate t)``; rate^2 is k = 8 times 0.5 or pi."""
    path = tmp_path / "fields.mo"
    path.write_text(FIELD.format(statement=statement), "utf-8")
    found = mbfmu.simulate(path, 1.0, step=1e-3, error_samples=0)
    np.testing.assert_allclose(found["rail.s"], 1.4 * np.cos(rate * found["time"]) - 0.4, atol=1e-5)


def test_a_function_of_gravity_with_other_statements_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fields.mo"
    path.write_text(FIELD.format(statement="if r[2] > 0 then h := 1; else h := 2; end if;"), "utf-8")
    with pytest.raises(MbfmuError, match="only assignments"):
        mbfmu.load(path)


def test_a_table_of_the_time_is_linear_between_its_rows_and_beyond(tmp_path: Path) -> None:
    """The force 2 t up to 1 s, then 2: ``2 v = t^2``, and then ``1 + 2 (t - 1)``."""
    path = written(
        tmp_path / "Table.mo",
        """  inner World world(g=0);
  Joints.Prismatic rail(s(fixed=true), v(fixed=true));
  Parts.Body body(m=2, r_CM={0,0,0});
  Forces.WorldForce push;
  Modelica.Blocks.Sources.CombiTimeTable table(table=[0,9,0,7,0; 1,9,2,7,0; 2,9,2,7,0], columns={3,5,5});""",
        "world.frame_b, rail.frame_a; rail.frame_b, body.frame_a; body.frame_a, push.frame_b; table.y, push.force",
    )
    found = mbfmu.simulate(path, 3.0, step=1e-3, error_samples=0)
    t = found["time"]
    np.testing.assert_allclose(found["rail.v"], np.where(t < 1, t**2, 1 + 2 * (t - 1)) / 2, atol=1e-6)


def test_a_constraint_with_two_free_directions_slides_in_a_plane(tmp_path: Path) -> None:
    path = written(
        tmp_path / "Slides.mo",
        """  inner World world(g=2, n={-1,0,0});
  Joints.Constraints.Prismatic slide(x_locked=false, z_locked=false);
  Parts.Body body(m=2, r_CM={0.1,0,0}, r_0(start={0,0,0}, each fixed=true), v_0(start={0,0,0.3}, each fixed=true));""",
        "world.frame_b, slide.frame_a; slide.frame_b, body.frame_a",
    )
    found = mbfmu.simulate(path, 1.0, step=1e-3, error_samples=0)
    end = [found[f"body.{label}[{k}]"][-1] for label in ("r_0", "w_a") for k in (1, 2, 3)]
    np.testing.assert_allclose(end, (-1.0, 0.0, 0.3, 0.0, 0.0, 0.0), atol=1e-9)


def test_starts_of_parts_of_vectors_add_up(tmp_path: Path) -> None:
    """Two masses on a rod: the x of one and the rate of the other decide where the rod is and how it turns."""
    path = written(
        tmp_path / "Rod.mo",
        """  inner World world(g=0);
  Joints.Revolute pin(n={0,0,1});
  Parts.FixedTranslation ahead(r={1,0,0});
  Parts.FixedTranslation back(r={-1,0,0});
  Parts.PointMass one(m=1, r_0(start={0.6,0.8,0}, fixed={true,false,false}));
  Parts.PointMass other(m=1, v_0(start={0.4,7,0}, fixed={true,false,false}));""",
        "world.frame_b, pin.frame_a; pin.frame_b, ahead.frame_a; pin.frame_b, back.frame_a; "
        "ahead.frame_b, one.frame_a; back.frame_b, other.frame_a",
    )
    with pytest.warns(UserWarning, match="'other.v_0' is left out where it is not fixed"):
        found = mbfmu.simulate(path, 0.01, step=1e-3, error_samples=0)
    assert abs(found["pin.phi"][0]) == pytest.approx(math.acos(0.6), abs=1e-9)
    assert found["pin.w"][0] * math.sin(found["pin.phi"][0]) == pytest.approx(0.4, abs=1e-9)


def test_bodies_that_are_only_shown_are_left_out(tmp_path: Path) -> None:
    path = written(
        tmp_path / "Shown.mo",
        """  inner World world(g=2, n={1,0,0});
  Joints.Prismatic rail(s(fixed=true), v(fixed=true));
  Parts.Body body(m=1, r_CM={torus.R + torus.r,0,0});
  Visualizers.Torus torus;
  Visualizers.VoluminousWheel wheel(rTire=0.3);
  Visualizers.PipeWithScalarField pipe(rOuter=0.3, length=1, T_min=0, T_max=2, T=sin(pipe.xsi) .+ 1);
  Visualizers.Advanced.Surface surface(nu=5, nv=5);""",
        "world.frame_b, rail.frame_a; rail.frame_b, body.frame_a; rail.frame_b, torus.frame_a; "
        "body.frame_a, wheel.frame_a; world.frame_b, pipe.frame_a",
    )
    with pytest.warns(UserWarning, match="'torus' is left out: it only shows or measures; 'wheel'.*'pipe'"):
        found = mbfmu.simulate(path, 1.0, step=1e-3, error_samples=0)
    assert found["rail.s"][-1] == pytest.approx(1.0, rel=1e-9)
