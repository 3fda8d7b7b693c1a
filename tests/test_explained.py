"""What `describe --explain` says of a robot's file: every component once, and what its omissions change."""

import warnings
from collections import Counter
from pathlib import Path

import pytest

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.model import System
from mbfmu.show.explained import TOUCHING, explained

LOOP = """<robot name="r"><link name="base"/><link name="a"><collision/><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1"/></inertial></link><sensor/>
  <joint name="j" type="revolute"><parent link="base"/><child link="a"/><limit lower="-1" upper="1"/></joint>
  <loop_joint name="d" type="spherical"><link1 link="base"/><link2 link="a"/></loop_joint></robot>"""


def load(path: Path) -> System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(path)
    assert isinstance(system, System)
    return system


@pytest.mark.parametrize("name", ["mjcf/loops.xml", "mjcf/servos.xml", "mjcf/floating.xml", "sdf/arm.sdf"])
def test_every_component_is_read_from_something_once(name: str) -> None:
    path = Path(__file__).parent / name
    system = load(path)
    rows = explained(str(path), system, None)["read"]
    read = Counter(part.rpartition(" ")[2] for row in rows for part in row["read_as"] if " " in part)
    del read["frame"]  # of links without mass
    assert read == Counter(item.name for item in system.components)


def test_only_shapes_that_touch_change_the_motion_where_they_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "loop.urdf"
    path.write_text(LOOP, encoding="utf-8")
    rows = explained(str(path), load(path), None)
    effects = {row["what"]: row["changes_the_motion"] for row in rows["left_out"]}
    assert (effects["1 <collision>"], effects["1 <sensor>"]) == (TOUCHING, "no")
    (loop,) = (row for row in rows["read"] if "'d'" in row["element"])
    assert loop == {"element": "ball joint that closes a loop 'd'", "line": 4, "read_as": ["Coincident d"]}


def test_a_model_that_is_no_robot_is_not_explained() -> None:
    with pytest.raises(UsageError, match="--explain is for the files of robots"):
        explained("two_link", mbfmu.load("two_link"), None)
