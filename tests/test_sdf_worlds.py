"""Worlds and nested models of SDF: every link stands where its poses, frames and includes say."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import MbfmuError
from mbfmu.model import FreeMotion, Revolute, System
from mbfmu.model.robot.robot import Robot
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.sdf.robot import read_robot

LINK = '<link name="L"/>'
QUARTER = "1.5707963267948966"
PAIR = """<model name="{}">{}<link name="a"/><link name="b"><pose>0 0 1 0 0 0</pose></link>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis></joint></model>"""
NESTED = f"""<model name="top">{LINK}
  <model name="M1"><pose>1 0 0 0 {QUARTER} 0</pose>{LINK}<link name="L2"><pose>0 0 1 0 0 0</pose></link>
    <frame name="F" attached_to="L2"><pose>1 0 0 0 0 0</pose></frame>
    <model name="inner"><pose>0 1 0 0 0 0</pose>{LINK}</model></model>
  <model name="M2"><pose relative_to="M1">2 0 0 0 0 0</pose>{LINK}</model>
  <model name="M3"><pose relative_to="M1::F">3 0 0 0 0 0</pose>{LINK}</model>
  <model name="M4" placement_frame="P"><pose>4 0 0 0 0 {QUARTER}</pose>{LINK}
    <frame name="P"><pose>0 2 0 0 0 0</pose></frame></model></model>"""
AT = {
    "L": (0, 0, 0), "M1::L": (1, 0, 0), "M1::L2": (2, 0, 0), "M1::inner::L": (1, 1, 0), "M2::L": (1, 0, -2),
    "M3::L": (2, 0, -4), "M4::L": (6, 0, 0),
}  # fmt: skip
"""Position of each link of `NESTED`: a quarter of a turn about y brings x to -z, and one about z brings y to -x."""


def written(folder: Path, content: str, name: str = "world.sdf", version: str = "1.9") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<sdf version="{version}">{content}</sdf>', encoding="utf-8")
    return path


def loaded(path: Path, options: RobotOptions | None = None) -> System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(path, robot=options)
    assert isinstance(system, System)
    return system


def positions(robot: Robot) -> dict[str, tuple[float, ...]]:
    return {joint.child: joint.start[:3] or joint.origin.xyz for joint in robot.joints.values()}


def names(system: System, kind: type) -> set[str]:
    return {item.name for item in system.components if isinstance(item, kind)}


def test_links_of_nested_models_stand_where_poses_and_frames_say(tmp_path: Path) -> None:
    placed = positions(read_robot(written(tmp_path, NESTED)))
    assert placed.keys() == AT.keys()
    for name, r in AT.items():
        assert placed[name] == pytest.approx(r, abs=1e-12)


def test_models_of_a_world_stand_side_by_side_and_static_ones_are_joined_to_the_ground(tmp_path: Path) -> None:
    world = f'<world name="w">{PAIR.format("floor", "<static>1</static>")}{PAIR.format("robot", "")}</world>'
    system = loaded(written(tmp_path, world))
    assert names(system, FreeMotion) == {"robot__a_root_joint"}
    assert names(system, Revolute) == {"robot__j"}
    alone = loaded(written(tmp_path, PAIR.format("robot", "")))
    assert names(alone, FreeMotion) | names(alone, Revolute) == {"root_joint", "j"}


def test_a_joint_of_a_world_joins_models(tmp_path: Path) -> None:
    joint = '<joint name="{}" type="revolute"><parent>{}</parent><child>{}</child><axis><xyz>1 0 0</xyz></axis></joint>'
    joints = joint.format("foot", "world", "one::a") + joint.format("hand", "one::b", "two")
    world = f'<world name="w">{PAIR.format("one", "")}{PAIR.format("two", "")}{joints}</world>'
    system = loaded(written(tmp_path, world))
    assert names(system, Revolute) == {"one__j", "two__j", "foot", "hand"}
    assert not names(system, FreeMotion)


def test_includes_are_found_by_package_by_the_path_of_gazebo_and_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, home = tmp_path / "store", tmp_path / "home"
    written(store / "robot", PAIR.format("robot", "<pose>9 9 9 0 0 0</pose>"), "old.sdf", "1.4")
    written(store / "robot", PAIR.format("robot", "<pose>9 9 9 0 0 0</pose>"), "new.sdf")
    config = '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf></model>'
    (store / "robot" / "model.config").write_text(config, encoding="utf-8")
    include = "<include><uri>{}</uri><name>r</name><pose>1 2 3 0 0 0</pose></include>"
    path = written(home, f'<world name="w">{include.format("model://robot")}</world>')
    with pytest.raises(MbfmuError, match=r"line 1: <include>: there is no model 'model://robot': name its folder"):
        loaded(path)
    by_package = read_robot(path, RobotOptions(packages={"robot": store / "robot"}))
    assert by_package.joints["root_joint"].start[:3] == (1, 2, 3)
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(store))
    assert positions(read_robot(path)) == positions(by_package)
    outside = written(home, f'<world name="w">{include.format("../store/robot/new.sdf")}</world>', "outside.sdf")
    with pytest.raises(MbfmuError, match="is outside the folder of the model"):
        loaded(outside)
    assert positions(read_robot(outside, RobotOptions(outside=True))) == positions(by_package)


def test_a_model_that_is_merged_gives_its_links_and_joints_to_the_one_around_it(tmp_path: Path) -> None:
    """As if they were written there, relative to the pose of the include and its placement frame."""
    grip = '<frame name="grip"><pose>0 0 2 0 0 0</pose></frame>'
    inner = PAIR.format("inner", grip).replace("<xyz>", '<xyz expressed_in="__model__">')
    written(tmp_path, inner, "inner.sdf")
    tie = '<joint name="tie" type="fixed"><parent>L</parent><child>a</child></joint>'
    more = f"<pose>1 0 0 0 {QUARTER} 0</pose>"
    include = f'<include merge="true"><uri>inner.sdf</uri><placement_frame>grip</placement_frame>{more}</include>'
    robot = read_robot(written(tmp_path, f'<model name="top">{LINK}{include}{tie}</model>'))
    assert {*robot.links} >= {"L", "a", "b"}
    assert robot.joints["tie"].origin.xyz == pytest.approx((-1, 0, 0), abs=1e-12)
    assert robot.joints["j"].origin.xyz == pytest.approx((0, 0, 1), abs=1e-12)
    assert robot.joints["j"].axis == pytest.approx((0, 1, 0), abs=1e-12)


def test_a_model_that_includes_itself_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f'<model name="m">{LINK}<include><uri>world.sdf</uri></include></model>')
    with pytest.raises(MbfmuError, match="models in each other"):
        loaded(path)


def test_axes_of_older_models_are_resolved_in_their_own_model(tmp_path: Path) -> None:
    inner = PAIR.format("m", f"<pose>0 0 0 0 0 {QUARTER}</pose>").replace(
        "<pose>0 0 1 0 0 0</pose>", f"<pose>0 0 1 {QUARTER} 0 0</pose>"
    )
    written(tmp_path, inner, "old.sdf", "1.4")
    path = written(tmp_path, f'<model name="top">{LINK}<include><uri>old.sdf</uri></include></model>')
    assert np.array(read_robot(path).joints["m::j"].axis) == pytest.approx((0, 0, -1), abs=1e-12)


def test_dashes_in_a_comment_are_taken_as_other_readers_take_them(tmp_path: Path) -> None:
    path = written(tmp_path, f'<!-- gz topic --list --><model name="m">{LINK}</model>')
    assert names(loaded(path), FreeMotion) == {"root_joint"}
