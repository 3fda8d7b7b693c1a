"""Robots as SDF: they accelerate as in Drake, and every mistake is one clear line."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from harness import examples
from hypothesis import given

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.errors import MbfmuError, ModelFileError
from mbfmu.model import Body, FreeMotion, Gear, Revolute, RotationalSpring, RotationalStop, Spherical, System, World
from mbfmu.model.robot_options import RobotOptions
from mbfmu.show.viewer import looks_of

FILE = Path(__file__).parent / "sdf" / "arm.sdf"
REFERENCE = json.loads((FILE.parents[1] / "references" / "sdf.json").read_text(encoding="utf-8"))
FREE = RobotOptions(limits=False, friction=False)
SMALL = """<sdf version="1.8"><model name="pair">
  <link name="one"><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
  <link name="two"><pose relative_to="one">0 0 1 0 0 0</pose></link>
  <joint name="hinge" type="revolute"><parent>one</parent><child>two</child>
    <axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint>
</model></sdf>
"""  # noqa: E501
HELD = '<joint name="held" type="fixed"><parent>world</parent><child>one</child></joint></model>'


def loaded(path: Path, options: RobotOptions | None = None) -> System:
    """The system of a file, without its notices."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(path, robot=options)
    assert isinstance(system, System)
    return system


def written(folder: Path, text: str) -> Path:
    path = folder / "model.sdf"
    path.write_text(text, encoding="utf-8")
    return path


def of(system: System, kind: type) -> list[Any]:
    return [item for item in system.components if isinstance(item, kind)]


def accelerations(dae: Dae, q: Any, v: Any, u: Any) -> Any:
    """Accelerations of a tree."""
    p = dae.p_default()
    return np.linalg.solve(np.array(dae.equations.M(q, p)), np.array(dae.equations.force(q, v, [], u, p, 0.0))).ravel()


def test_a_robot_accelerates_as_in_drake() -> None:
    dae = derive(loaded(FILE, FREE), "joint")
    names = [f"{name}.{letter}" for name, letter in zip(REFERENCE["joints"], ("phi", "s", "phi"), strict=True)]
    order = [names.index(name) for name in dae.coordinates]
    efforts = [f"{name}.{letter}" for name, letter in zip(REFERENCE["joints"], ("tau", "f", "tau"), strict=True)]
    drives = [efforts.index(item.name) for item in dae.inputs]
    for state in REFERENCE["states"]:
        q, v, a = (np.array(state[name])[order] for name in "qva")
        found = accelerations(dae, q, v, np.array(state["u"])[drives])
        assert np.abs(found - a).max() < 1e-10 * np.abs(a).max()


def test_springs_limits_gravity_and_looks_are_taken() -> None:
    system = loaded(FILE)
    assert [(item.c, item.phi_rel0) for item in of(system, RotationalSpring)] == [(3.0, 0.3)]
    assert [(item.lower, item.upper) for item in of(system, RotationalStop)] == [(-2.0, 2.0)]
    (world,) = of(system, World)
    assert np.array(world.n) * world.g == pytest.approx((0.5, -1.0, -9.0))
    (look,) = looks_of(str(FILE))
    assert np.ptp(look.vertices, axis=0) == pytest.approx((0.1, 0.2, 0.3))
    assert look.colour == (1, 0, 0, 1)


def test_a_model_floats_unless_it_is_held_or_static(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    assert len(of(loaded(path), FreeMotion)) == 1
    assert not of(loaded(path, RobotOptions("fixed")), FreeMotion)
    still = SMALL.replace('name="pair">', 'name="pair"><static>true</static>')
    assert not of(loaded(written(tmp_path, still)), FreeMotion)
    assert not of(loaded(written(tmp_path, SMALL.replace("</model>", HELD))), FreeMotion)


def test_a_link_without_inertia_has_that_of_the_format_which_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL.replace("</link>\n  <joint", "<sensor/></link>\n  <joint"))
    with pytest.warns(UserWarning, match="link 'two' has no <inertial>: 1 kg and 1 kg.m2") as caught:
        system = mbfmu.load(path)
    assert "not used: 1 <sensor>" in str(caught[0].message)
    assert isinstance(system, System)
    assert [(body.m, body.I_22) for body in of(system, Body)] == [(1.0, 0.1), (1.0, 1.0)]


def test_a_universal_joint_is_two_revolute_ones(tmp_path: Path) -> None:
    """The second axis is fixed in the child, at right angles to the first at the start."""
    one = SMALL.replace('type="revolute"', 'type="universal"')
    one = one.replace("</axis>", "</axis><axis2><xyz>1 0 0</xyz></axis2>")
    between = """<link name="cross"><pose relative_to="two"/><inertial><mass>0</mass>
      <inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial></link>
      <joint name="second" type="revolute"><parent>cross</parent><child>two</child>
      <axis><xyz>1 0 0</xyz></axis></joint>"""
    two = SMALL.replace("<child>two</child>", "<child>cross</child>").replace("</model>", between + "</model>")
    texts = [text.replace("</model>", HELD) for text in (one, two)]
    first, second = (derive(loaded(written(tmp_path, text), FREE), "joint") for text in texts)
    assert first.coordinates == ("hinge_1.phi", "hinge_2.phi")
    rng = np.random.default_rng(0)
    q, v, u = rng.normal(size=(3, 2))
    assert accelerations(first, q, v, u) == pytest.approx(accelerations(second, q, v, u), rel=1e-12)


def test_joints_mimic_and_balls_turn(tmp_path: Path) -> None:
    more = """<link name="three"/><joint name="ball" type="ball"><parent>two</parent><child>three</child></joint>
      <link name="four"/><joint name="slave" type="revolute"><parent>two</parent><child>four</child>
      <axis><xyz>0 1 0</xyz><mimic joint="hinge"><multiplier>2</multiplier><offset>0.5</offset>
      <reference>0.1</reference></mimic></axis></joint>"""
    system = loaded(written(tmp_path, SMALL.replace("</model>", more + "</model>")))
    assert len(of(system, Spherical)) == 1
    assert [(gear.joint_a, gear.joint_b, gear.ratio, gear.offset) for gear in of(system, Gear)] == [
        ("slave", "hinge", 2.0, pytest.approx(0.3))
    ]


def test_a_held_model_that_is_turned_with_gravity_accelerates_the_same(tmp_path: Path) -> None:
    text = FILE.read_text(encoding="utf-8")
    pose = '<model name="arm"><pose>1 2 3 0 1.5707963267948966 0</pose>'
    turned = text.replace("0.5 -1 -9", "-9 -1 -0.5").replace('<model name="arm">', pose)
    first, second = (derive(loaded(written(tmp_path, each), FREE), "joint") for each in (text, turned))
    q, v, u = np.random.default_rng(2).normal(size=(3, 3))
    assert accelerations(second, q, v, u) == pytest.approx(accelerations(first, q, v, u), rel=1e-11)


def test_the_pose_of_a_model_may_be_that_of_a_frame_in_it(tmp_path: Path) -> None:
    placed = SMALL.replace('name="pair">', 'name="pair" placement_frame="two"><pose>1 2 3 0 0 0</pose>')
    (root,) = of(loaded(written(tmp_path, placed)), FreeMotion)
    assert root.r_rel == pytest.approx((1.0, 2.0, 2.0))


def test_a_joint_whose_child_is_a_frame_stands_at_that_frame(tmp_path: Path) -> None:
    """Hinged 0.5 m beside its centre, a rod falls by -m g r / (I + m r^2) at first, as in Drake."""
    hinged = """<sdf version="1.9"><world name="w"><gravity>0 0 -9.81</gravity><model name="m">
      <link name="a">
        <inertial><mass>1</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>
      </link>
      <frame name="f" attached_to="a"><pose>0.5 0 0 0 0 0</pose></frame>
      <joint name="j" type="revolute"><parent>world</parent><child>f</child><axis><xyz>0 1 0</xyz></axis></joint>
    </model></world></sdf>"""
    for pose, expected in (("", -9.81 * 0.5 / 0.35), ('<pose relative_to="a"/>', 0.0)):
        text = hinged.replace("<parent>", f"{pose}<parent>")
        dae = derive(loaded(written(tmp_path, text)), "joint")
        assert accelerations(dae, [0.0], [0.0], []) == pytest.approx([expected], abs=1e-13)


def test_axes_of_old_files_are_resolved_in_the_model(tmp_path: Path) -> None:
    turned = SMALL.replace("0 0 1 0 0 0</pose>", "0 0 1 0 0 1.5707963267948966</pose>").replace("</model>", HELD)
    for version, expected in (("1.4", (1.0, 0.0, 0.0)), ("1.8", (0.0, 1.0, 0.0))):
        system = loaded(written(tmp_path, turned.replace("1.8", version, 1)))
        (hinge,) = of(system, Revolute)
        assert hinge.n == pytest.approx(expected, abs=1e-15)


MISTAKES = [
    ("<mass>1</mass>", "<mass>nan</mass>", "nan is not a number"),
    ("<mass>1</mass>", "<mass>-1</mass>", "must be at least 0"),
    ("<xyz>0 1 0</xyz>", "<xyz>0 0 0</xyz>", "the axis has no direction"),
    ("<xyz>0 1 0</xyz>", "<xyz>0 1</xyz>", "it needs 3 number"),
    ("<parent>one</parent>", "<parent>on</parent>", "there is no link 'on'"),
    ("<child>two</child>", "<child>one</child>", "joins the link 'one' with itself"),
    ('relative_to="one"', 'relative_to="ona"', "there is no link, joint or frame 'ona'"),
    ('relative_to="one"', 'relative_to="two"', "is relative to itself"),
    ('type="revolute"', 'type="gearbox"', "the type 'gearbox' is not read"),
    ('type="revolute">', 'type="screw"><thread_pitch>0</thread_pitch>', "the pitch of a screw is not 0"),
    ("<lower>-1</lower>", "<lower>3</lower>", "is above its upper limit"),
    ('<link name="two">', '<link name="one">', "two things named 'one'"),
    ("</model>", "<model/></model>", 'a <model> needs name="..."'),
    ("</model>", "<include><uri>model://x</uri></include></model>", "name its folder with --package x=FOLDER"),
    ("</model>", "<include><uri>../../x.sdf</uri></include></model>", "it is sought beside the file"),
    ("</model>", HELD.replace("</model>", HELD.replace("held", "b")), "joins links that are fixed to each other"),
    ("<inertial>", '<inertial auto="true">', "needs a <collision> with a volume"),
    ("</model>", "<include><uri>https://x.org/y</uri></include></model>", "nothing is fetched from the network"),
    ('<sdf version="1.8">', '<sdf version="1.8"><model name="b"/>', "a file has a <world>, or one <model>, not 2"),
    ('name="pair">', 'name="pair"><pose relative_to="hall"/>', "relative to 'hall' is not read"),
    ('name="pair">', 'name="pair" placement_frame="foot">', "there is no link, joint or frame 'foot'"),
    ("</sdf>", '<world name="w"/><world name="v"/></sdf>', "a file has one <world> at most"),
    ("</sdf>", "", "not valid XML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[re.sub(r"\W+", "_", item[1]) for item in MISTAKES])
def test_a_mistake_is_one_line_with_the_file(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in SMALL
    path = written(tmp_path, SMALL.replace(old, new, 1))
    with pytest.raises(MbfmuError) as caught:
        loaded(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_another_root_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no model file"):
        loaded(tmp_path / "gone.sdf")
    with pytest.raises(ModelFileError, match="the root of an SDF file is <sdf>, not <robot>"):
        loaded(written(tmp_path, "<robot/>"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sdf")


PIECES = ("", " ", "<", ">", "0", "-1", "1e999", "nan", "inf", "<link/>", "</link>", "one", "world", "\x00")


@examples(2)
@given(st.integers(0, len(SMALL)), st.integers(0, 40), st.sampled_from(PIECES))
def test_a_model_with_a_piece_replaced_is_read_or_refused(folder: Path, start: int, length: int, new: str) -> None:
    path = written(folder, SMALL[:start] + new + SMALL[start + length :])
    said = ""
    try:
        loaded(path)
    except MbfmuError as error:
        said = str(error)
    assert "\n" not in said
