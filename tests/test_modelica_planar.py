"""The library PlanarMechanics in Modelica's language: files move as systems in the plane and as closed forms say."""

import math
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError

LOOSE = "phi(fixed=true), w(fixed=true), v(each fixed=true)"


def written(folder: Path, declared: str, connected: str) -> Path:
    """Return a file with a model of some declarations and connections."""
    path = folder / "plane.mo"
    lines = "".join(f"  connect({pair});\n" for pair in connected.split("; ") if pair)
    path.write_text(f"model Plane\n  import PlanarMechanics.*;\n{declared}\nequation\n{lines}end Plane;\n", "utf-8")
    return path


def moved(folder: Path, declared: str, connected: str, stop: float) -> Result:
    """Return the motion of a model with some declarations and connections."""
    return mbfmu.simulate(written(folder, declared, connected), stop, step=1e-3, error_samples=0)


def test_springs_along_the_axes_of_the_world_swing_each_for_itself(tmp_path: Path) -> None:
    """m x'' = -c_x (x - x_0) - d_x x' without y, and m y'' = -c_y (y - y_0) - m g; the body does not turn."""
    found = moved(
        tmp_path,
        f"""  inner PlanarWorld planarWorld;
  Parts.Fixed fixed(r={{1,2}}, phi=0.7);
  Parts.SpringDamper spring(c_x=8, c_y=18, c_phi=0, d_x=0, d_y=0, d_phi=0, s_relx0=0.5, s_rely0=-1);
  Parts.Body body(m=2, I=0.1, r(start={{2,1}}, each fixed=true), {LOOSE});""",
        "fixed.frame, spring.frame_a; spring.frame_b, body.frame_a",
        2.0,
    )
    t, sag = found["time"], 2 * 9.81 / 18
    np.testing.assert_allclose(found["body.r_0[1]"], 1.5 + 0.5 * np.cos(2 * t), atol=1e-5)
    np.testing.assert_allclose(found["body.r_0[2]"], 1 - sag + sag * np.cos(3 * t), atol=1e-5)
    np.testing.assert_allclose(found["body.phi"], 0, atol=1e-12)


def test_a_pendulum_on_a_cart_with_a_damper_moves_as_the_same_system_in_multibody(tmp_path: Path) -> None:
    found = moved(
        tmp_path,
        """  inner PlanarWorld planarWorld(constantGravity={0,-9.80665});
  Parts.Fixed fixed;
  Joints.Prismatic slide(r={2,0}, useFlange=true, s(fixed=true), v(fixed=true));
  Parts.Body cart(m=1, I=0.1);
  Joints.Revolute hinge(phi(fixed=true, start=0.6), w(fixed=true));
  Parts.FixedTranslation rod(r={0,-1});
  Parts.Body bob(m=0.5, I=0.2);
  Modelica.Mechanics.Translational.Components.Damper damper(d=3);""",
        "fixed.frame, slide.frame_a; slide.frame_b, cart.frame_a; slide.frame_b, hinge.frame_a; "
        "hinge.frame_b, rod.frame_a; rod.frame_b, bob.frame_a; damper.flange_a, slide.support; "
        "damper.flange_b, slide.flange_a",
        1.0,
    )
    path = tmp_path / "space.mo"
    path.write_text(
        """model Space
  import Modelica.Mechanics.MultiBody.*;
  inner World world;
  Joints.Prismatic slide(useAxisFlange=true, s(fixed=true), v(fixed=true));
  Parts.Body cart(m=1, r_CM={0,0,0}, I_33=0.1);
  Joints.Revolute hinge(phi(fixed=true, start=0.6), w(fixed=true));
  Parts.FixedTranslation rod(r={0,-1,0});
  Parts.Body bob(m=0.5, r_CM={0,0,0}, I_33=0.2);
  Modelica.Mechanics.Translational.Components.Damper damper(d=3);
equation
  connect(world.frame_b, slide.frame_a);
  connect(slide.frame_b, cart.frame_a);
  connect(slide.frame_b, hinge.frame_a);
  connect(hinge.frame_b, rod.frame_a);
  connect(rod.frame_b, bob.frame_a);
  connect(damper.flange_a, slide.support);
  connect(damper.flange_b, slide.axis);
end Space;
""",
        "utf-8",
    )
    other = mbfmu.simulate(path, 1.0, step=1e-3, error_samples=0)
    for name in ("slide.s", "hinge.phi", "hinge.w"):
        np.testing.assert_allclose(found[name], other[name], atol=1e-6)


def test_a_wheel_that_rolls_drives_what_hangs_on_it_without_loss(tmp_path: Path) -> None:
    found = moved(
        tmp_path,
        """  inner PlanarWorld planarWorld;
  Joints.IdealRolling wheel(R=0.3, phi(fixed=true), w(fixed=true, start=-2), x(fixed=true));
  Parts.Body disc(m=1, I=0.045);""",
        "wheel.frame_a, disc.frame_a",
        1.0,
    )
    np.testing.assert_allclose(found["disc.r_0[1]"], 0.6 * found["time"], atol=1e-9)
    np.testing.assert_allclose(found["disc.r_0[2]"], 0.3, atol=1e-12)


def test_a_force_in_the_world_with_a_torque_pushes_and_turns(tmp_path: Path) -> None:
    """The integral of a step of 4 N and of 0.3 N m from 0.5 s on, and of a sine of 2 N, by closed forms."""
    found = moved(
        tmp_path,
        f"""  inner PlanarWorld planarWorld(constantGravity={{0,0}});
  Parts.Body body(m=2, I=0.1, r(each fixed=true), {LOOSE});
  Sources.WorldForce force(resolveInFrame=Modelica.Mechanics.MultiBody.Types.ResolveInFrameB.world);
  Modelica.Blocks.Sources.Step push(height=4, startTime=0.5);
  Modelica.Blocks.Sources.Sine shake(amplitude=2, f=0.5);
  Modelica.Blocks.Sources.Step turn(height=0.3, startTime=0.5);""",
        "push.y, force.force[1]; shake.y, force.force[2]; turn.y, force.force[3]; force.frame_b, body.frame_a",
        1.0,
    )
    assert found["body.v_0[1]"][-1] == pytest.approx(4 * 0.5 / 2, abs=2e-3)
    assert found["body.v_0[2]"][-1] == pytest.approx(2 * 2 / math.pi / 2, abs=1e-5)
    assert found["body.w"][-1] == pytest.approx(0.3 * 0.5 / 0.1, abs=3e-3)


def test_a_model_is_in_the_plane_or_in_space(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "  inner PlanarWorld planarWorld;\n  Modelica.Mechanics.MultiBody.Parts.Fixed held;",
        "",
    )
    with pytest.raises(MbfmuError, match=r"line 4: 'held' is a .*Parts\.Fixed: a model is in the plane or in space"):
        mbfmu.load(path)
