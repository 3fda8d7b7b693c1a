"""Modelica's MultiBody beyond plain joints: gravity of a point, gears, rods, files of a package."""

import math
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import MbfmuError

USES = "  import Modelica.Mechanics.MultiBody.*;\n"


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
    path.write_text(path.read_text("utf-8").replace("x_locked=true", "x_locked=false"), "utf-8")
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
