"""Modelica's assemblies of joints move as the joints that they stand for, and close their loops as closed forms say."""

import math
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError
from mbfmu.model.joints import Distance

HEAD = """model Loop
  import Modelica.Mechanics.MultiBody.*;
  inner World world;
  Joints.Revolute crank(phi(start=0.9, fixed=true), w(start=4, fixed=true));
  Parts.Body wheel(m=2, I_33=0.05, r_CM={0.1,0,0});
  Parts.FixedTranslation arm(r={0.3,0,0});
  Parts.FixedTranslation ground(r={0.7,0,0});
"""
JOINED = """equation
  connect(world.frame_b, crank.frame_a);
  connect(crank.frame_b, arm.frame_a);
  connect(crank.frame_b, wheel.frame_a);
  connect(world.frame_b, ground.frame_a);
"""
BODIES = {
    "frame_ia": "Parts.Body rod(m=1, I_33=0.04, r_CM={0.4,0,0});",
    "frame_ib": "Parts.Body lever(m=1, I_33=0.02, r_CM={0,0,0});",
}
"""Bodies on the rods of an assembly, by its frame."""
ASSEMBLIES = {
    "RRR": (
        "JointRRR joint(rRod1_ia={0.8,0,0}, rRod2_ib={0.1,0.6,0}, phi_guess=20, phi_offset=5);",
        """Joints.Revolute a;
  Parts.FixedTranslation r1(r={0.8,0,0});
  Joints.Revolute m;
  Parts.FixedTranslation r2(r={0.1,0.6,0});
  Parts.FixedRotation turn(n={0,0,1}, angle=5);
  Joints.Revolute b(phi(start=0.35));""",
        "m.frame_b, r2.frame_b; r2.frame_a, b.frame_b; b.frame_a, turn.frame_b; turn.frame_a, ground.frame_b",
        ("joint.revolute.hinge.phi", "b.phi"),
    ),
    "RRP": (
        "JointRRP joint(n_b={-1,0,0}, rRod1_ia={0.8,0,0}, rRod2_ib={0,0.1,0}, s_offset=0.1, s_guess=-0.4);",
        """Joints.Revolute a;
  Parts.FixedTranslation r1(r={0.8,0,0});
  Joints.Revolute m;
  Parts.FixedTranslation r2(r={0,0.1,0});
  Parts.FixedTranslation turn(r={-0.1,0,0});
  Joints.Prismatic b(n={-1,0,0}, s(start=-0.4));""",
        "m.frame_b, r2.frame_b; r2.frame_a, b.frame_b; b.frame_a, turn.frame_b; turn.frame_a, ground.frame_b",
        ("joint.prismatic.slide.s", "b.s"),
    ),
    "USR": (
        "JointUSR joint(rRod1_ia={0.8,0,0.1}, rRod2_ib={0.1,0.6,0.1}, phi_guess=20);",
        """Joints.Universal a(n_a={0,0,1}, n_b={0,1,0});
  Parts.FixedTranslation r1(r={0.8,0,0.1});
  Joints.Spherical m;
  Parts.FixedTranslation r2(r={0.1,0.6,0.1});
  Parts.FixedTranslation turn(r={0,0,0});
  Joints.Revolute b(phi(start=0.35));""",
        "m.frame_b, r2.frame_b; r2.frame_a, b.frame_b; b.frame_a, turn.frame_b; turn.frame_a, ground.frame_b",
        ("joint.revolute.hinge.phi", "b.phi"),
    ),
    "USP": (
        "JointUSP joint(n_b={-1,0,0}, rRod1_ia={0.8,0,0.1}, rRod2_ib={0,0.1,0.2}, s_offset=0.1, s_guess=-0.4);",
        """Joints.Universal a(n_a={0,0,1}, n_b={0,1,0});
  Parts.FixedTranslation r1(r={0.8,0,0.1});
  Joints.Spherical m;
  Parts.FixedTranslation r2(r={0,0.1,0.2});
  Parts.FixedTranslation turn(r={-0.1,0,0});
  Joints.Prismatic b(n={-1,0,0}, s(start=-0.4));""",
        "m.frame_b, r2.frame_b; r2.frame_a, b.frame_b; b.frame_a, turn.frame_b; turn.frame_a, ground.frame_b",
        ("joint.prismatic.slide.s", "b.s"),
    ),
}
"""An assembly; the joints and rods that it stands for; their connections; the names of its last coordinate in both."""


def moved(folder: Path, declared: str, connected: str, stop: float = 0.3, step: float = 1e-3) -> Result:
    """Return the motion of a crank and what else is declared and connected."""
    return mbfmu.simulate(written(folder, declared, connected), stop, step=step, error_samples=0)


def written(folder: Path, declared: str, connected: str) -> Path:
    """Return the file of a model with a crank and what else is declared and connected."""
    path = folder / "loop.mo"
    lines = "".join(f"  connect({pair});\n" for pair in connected.split("; "))
    path.write_text(f"{HEAD}{declared}\n{JOINED}{lines}end Loop;\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ASSEMBLIES)
def test_an_assembly_moves_as_the_joints_that_it_stands_for(name: str, tmp_path: Path) -> None:
    assembly, single, closed, (last, same) = ASSEMBLIES[name]
    bodies = " ".join(BODIES.values())
    one = moved(
        tmp_path,
        f"Joints.Assemblies.{assembly} {bodies}",
        "arm.frame_b, joint.frame_a; joint.frame_b, ground.frame_b; joint.frame_ia, rod.frame_a; "
        "joint.frame_ib, lever.frame_a",
    )
    other = moved(
        tmp_path,
        f"{single} {bodies}",
        "arm.frame_b, a.frame_a; a.frame_b, r1.frame_a; a.frame_b, rod.frame_a; r1.frame_b, m.frame_a; "
        f"b.frame_b, lever.frame_a; {closed}",
    )
    np.testing.assert_allclose(one["crank.phi"], other["crank.phi"], atol=1e-8)
    np.testing.assert_allclose(one[last], other[same], atol=1e-8)
    assert abs(one["crank.phi"][-1] - 0.9) > 0.2


@pytest.mark.parametrize("guess", [20.0, 150.0])
def test_an_rrr_loop_closes_on_the_side_of_its_guess(guess: float, tmp_path: Path) -> None:
    """|a + l_1| = l_2: two circles about the pin of the crank and the hinge of the lever meet in two points."""
    found = moved(
        tmp_path,
        f"Joints.Assemblies.JointRRR joint(rRod1_ia={{0.8,0,0}}, rRod2_ib={{0,0.6,0}}, phi_guess={guess}); "
        + " ".join(BODIES.values()),
        "arm.frame_b, joint.frame_a; joint.frame_b, ground.frame_b; joint.frame_ia, rod.frame_a; "
        "joint.frame_ib, lever.frame_a",
        0.02,
    )
    pin, hinge = 0.3 * np.exp(1j * np.asarray(found["crank.phi"])), 0.7
    away = abs(pin - hinge)
    half = np.arccos((away**2 + 0.6**2 - 0.8**2) / (2 * away * 0.6))
    both = [np.angle((pin - hinge) * np.exp(sign * 1j * half) / 1j) for sign in (1, -1)]
    phi = min(both, key=lambda item: abs(item[0] - math.radians(guess)))
    difference = np.asarray(found["joint.revolute.hinge.phi"]) - phi
    np.testing.assert_allclose(np.exp(1j * difference), 1.0, atol=1e-9)


def test_the_axis_of_an_assembly_is_found_where_its_frames_are_turned(tmp_path: Path) -> None:
    """The rod at frame_b is the same one when its vector is resolved in a frame turned by 90 degrees about x."""
    bodies = BODIES["frame_ia"]
    straight = moved(
        tmp_path,
        f"Joints.Assemblies.JointRRR joint(rRod1_ia={{0.8,0,0}}, rRod2_ib={{0.1,0.6,0}}, phi_guess=20); {bodies}",
        "arm.frame_b, joint.frame_a; joint.frame_b, ground.frame_b; joint.frame_ia, rod.frame_a",
    )
    turned = moved(
        tmp_path,
        f"Joints.Assemblies.JointRRR joint(rRod1_ia={{0.8,0,0}}, rRod2_ib={{0.1,0,-0.6}}, phi_guess=20); {bodies} "
        "Parts.FixedRotation turn(n={1,0,0}, angle=90);",
        "arm.frame_b, joint.frame_a; turn.frame_a, ground.frame_b; joint.frame_b, turn.frame_b; "
        "joint.frame_ia, rod.frame_a",
    )
    for name in ("crank.phi", "joint.revolute.hinge.phi"):
        np.testing.assert_allclose(turned[name], straight[name], atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*'rod' is 0.751219 m long, as the start values have it")
def test_a_rod_with_nothing_on_it_is_a_distance_of_the_length_at_the_start(tmp_path: Path) -> None:
    """A universal and a spherical joint put the force of a distance on the ends, whose length is that at the start."""
    declared = """Joints.{} Joints.Prismatic slide(n={{1,0,0}}, s(start=0.2, fixed=true));
  Parts.Body cart(m=1, r_CM={{0,0,0}});"""
    connected = (
        "ground.frame_b, slide.frame_a; slide.frame_b, cart.frame_a; rod.frame_a, arm.frame_b; "
        "rod.frame_b, slide.frame_b"
    )
    length = math.hypot(0.3 * math.cos(0.9) - 0.9, 0.3 * math.sin(0.9))
    path = written(
        tmp_path, declared.format("UniversalSpherical rod(computeRodLength=true, rRod_ia={1,0,0});"), connected
    )
    system = mbfmu.load(path)
    rods = [item for item in system.components if isinstance(item, Distance)]
    assert [item.name for item in rods] == ["rod"]
    assert rods[0].l == pytest.approx(length, rel=1e-12)
    found = mbfmu.simulate(path, 0.3, step=1e-3, error_samples=0)
    same = moved(tmp_path, declared.format(f"SphericalSpherical rod(rodLength={length!r});"), connected)
    carried = moved(
        tmp_path,
        declared.format(
            f"UniversalSpherical rod(rRod_ia={{{length!r},0,0}}); "
            "Parts.Body light(m=1e-5, r_CM={0,0,0}, I_11=1e-6, I_22=1e-6, I_33=1e-6);"
        ),
        f"{connected}; rod.frame_ia, light.frame_a",
    )
    np.testing.assert_allclose(found["slide.s"], same["slide.s"], atol=1e-10)
    np.testing.assert_allclose(carried["slide.s"], same["slide.s"], atol=1e-5)


UPS = "Joints.Assemblies.JointUPS joint(s_offset=0.1); Translational.Components.Spring spring(c=50, s_rel0=0.3);"


def test_a_spring_on_the_axis_of_a_ups_assembly_is_one_between_its_ends(tmp_path: Path) -> None:
    declared = """import Modelica.Mechanics.Translational;
  Joints.Revolute hinge(phi(start=2, fixed=true), w(fixed=true)); Parts.Body lever(m=1, I_33=0.1, r_CM={0,0,0});
  Parts.FixedTranslation end_(r={0.5,0,0});
  """
    joined = "ground.frame_b, hinge.frame_a; hinge.frame_b, lever.frame_a; hinge.frame_b, end_.frame_a"
    assembly = moved(
        tmp_path,
        declared + UPS + " Parts.Body a(m=1e-9, r_CM={0,0,0}, I_11=1e-12, I_22=1e-12, I_33=1e-12); "
        "Parts.Body b(m=1e-9, r_CM={0,0,0}, I_11=1e-12, I_22=1e-12, I_33=1e-12);",
        f"{joined}; arm.frame_b, joint.frame_a; joint.frame_b, end_.frame_b; joint.frame_ia, a.frame_a; "
        "joint.frame_ib, b.frame_a; joint.axis, spring.flange_b; joint.bearing, spring.flange_a",
    )
    between = moved(
        tmp_path,
        f"{declared} Forces.Spring spring(c=50, s_unstretched=0.4);",
        f"{joined}; arm.frame_b, spring.frame_a; end_.frame_b, spring.frame_b",
    )
    for name in ("crank.phi", "hinge.phi"):
        np.testing.assert_allclose(assembly[name], between[name], atol=1e-6)


REFUSED = {
    "axis": (
        "Joints.Assemblies.JointRRR joint; Joints.Spherical ball; Parts.Body b(m=1, r_CM={0,0,0});",
        "arm.frame_b, joint.frame_a; ball.frame_a, ground.frame_b; ball.frame_b, joint.frame_b; "
        "ball.frame_b, b.frame_a",
        "'joint': nothing fixes how its axis stands in its frame_b",
    ),
    "length": (
        "Joints.UniversalSpherical rod(computeRodLength=true); Joints.Revolute hinge; Parts.Body b(m=1, r_CM={0,0,0});",
        "arm.frame_b, rod.frame_a; hinge.frame_a, ground.frame_b; hinge.frame_b, rod.frame_b; hinge.frame_b, b.frame_a",
        "'rod.computeRodLength': no fixed start values decide how far its ends are",
    ),
    "mass": (
        "Joints.SphericalSpherical rod(rodLength=0.7, m=1);",
        "arm.frame_b, rod.frame_a; rod.frame_b, ground.frame_b",
        "line 8: 'rod': a rod with mass is not read",
    ),
}
"""Declarations and connections of models that are rejected, and what the message has."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_start_does_not_decide_is_one_clear_line(name: str, tmp_path: Path) -> None:
    declared, connected, said = REFUSED[name]
    with pytest.raises(MbfmuError, match=said):
        mbfmu.load(written(tmp_path, declared, connected))
