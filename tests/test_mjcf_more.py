"""What MJCF files have beside joints and motors on axes: ranges of balls, limits of sums, meshes, rigid surfaces."""

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import MbfmuError
from mbfmu.model import AngularStop, AxesEffortLimit, Body, EffortLimit, FilteredPoseDrive, IntegratedCrankDrive, System
from mbfmu.model.mjcf.meshes import read_mesh
from mbfmu.model.robot_options import RobotOptions

BALL = '<body name="a"><joint name="ball" type="ball"{more}/><geom type="box" size="0.1 0.2 0.3"/></body>'


def loaded(folder: Path, bodies: str, rest: str = "", options: RobotOptions | None = None) -> tuple[System, str]:
    """The system of a model, and its notices."""
    path = folder / "model.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody>{rest}</mujoco>", encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        system = mbfmu.load(path, robot=options)
    assert isinstance(system, System)
    return system, "".join(str(item.message) for item in caught)


@pytest.mark.parametrize(
    ("more", "upper"),
    [('range="0 40"', np.radians(40)), ('limited="true"', 0.0), ('range="0 40" limited="false"', None), ("", None)],
)
def test_the_range_of_a_ball_joint_is_a_stop_of_its_angle(more: str, upper: float | None, tmp_path: Path) -> None:
    bodies = BALL.replace("{more}", " " + more)
    stops = [item for item in loaded(tmp_path, bodies)[0].components if isinstance(item, AngularStop)]
    assert [item.upper for item in stops] == ([] if upper is None else [pytest.approx(upper)])
    free, _ = loaded(tmp_path, bodies, options=RobotOptions(limits=False))
    assert not [item for item in free.components if isinstance(item, AngularStop)]


def test_filters_and_integrators_stand_in_front_of_drives_between_frames_too(tmp_path: Path) -> None:
    sites = '<site name="rail" pos="0 0 1"/>' + BALL.replace("{more}", "").replace(
        "<geom", '<site name="pin" pos="0.3 0 0"/><geom'
    )
    drives = """<actuator><position name="turn" joint="ball" kp="3" timeconst="0.2"/>
      <intvelocity name="push" cranksite="pin" slidersite="rail" cranklength="2" kp="4" actrange="-1 2"/></actuator>"""
    system, _ = loaded(tmp_path, sites, drives)
    (turn,) = (item for item in system.components if isinstance(item, FilteredPoseDrive))
    (push,) = (item for item in system.components if isinstance(item, IntegratedCrankDrive))
    assert (turn.T, turn.gain, turn.bias_s, turn.period) == (0.2, 3.0, -3.0, 0.0)
    assert (push.L, push.z_least, push.z_greatest, push.bias_s) == (2.0, -1.0, 2.0, -4.0)


def test_a_drive_of_a_free_body_goes_with_its_joint_where_the_base_is_fixed(tmp_path: Path) -> None:
    body = '<body><freejoint name="j"/><geom size="0.1"/></body>'
    rest = '<actuator><motor name="push" joint="j" gear="1 0 0"/></actuator><keyframe><key ctrl="2"/></keyframe>'
    free, _ = loaded(tmp_path, body, rest)
    assert free.input_starts == {"push.u": 2.0}
    fixed, _ = loaded(tmp_path, body, rest, RobotOptions(base="fixed"))
    assert not fixed.input_starts
    assert "push" not in {item.name for item in fixed.components}


def test_a_limit_for_one_motor_stays_a_limit_of_its_force_and_for_several_one_of_their_sum(tmp_path: Path) -> None:
    arm = '<body><joint name="j" actuatorfrcrange="-1 2"/><geom size="0.1" pos="1 0 0"/></body>'
    one = '<motor name="one" joint="j" gear="2"/>'
    alone, _ = loaded(tmp_path, arm, f"<actuator>{one}</actuator>")
    assert not [item for item in alone.components if isinstance(item, EffortLimit)]
    (drive,) = (item for item in alone.components if item.name == "one")
    assert (getattr(drive, "f_least", 0), getattr(drive, "f_greatest", 0)) == (-0.5, 1.0)
    both, _ = loaded(tmp_path, arm, f'<actuator>{one}<motor name="two" joint="j"/></actuator>')
    (limit,) = (item for item in both.components if isinstance(item, EffortLimit))
    assert (limit.lower, limit.upper, limit.forces, limit.carried) == (-1.0, 2.0, ("one", "two"), ())


def test_a_tendon_and_a_joint_of_one_name_have_limits_each(tmp_path: Path) -> None:
    arm = '<body><joint name="x" actuatorfrcrange="-1 2"/><geom size="0.1" pos="1 0 0"/></body>'
    tendon = '<tendon><fixed name="x" actuatorfrcrange="-3 3"><joint joint="x" coef="2"/></fixed></tendon>'
    motors = '<actuator><motor name="a" tendon="x"/><motor name="b" tendon="x"/></actuator>'
    system, _ = loaded(tmp_path, arm, tendon + motors)
    (of_tendon,) = (item for item in system.components if isinstance(item, AxesEffortLimit))
    (of_joint,) = (item for item in system.components if isinstance(item, EffortLimit))
    assert of_joint.forces == ("a", "b", of_tendon.name)


def test_a_mesh_of_mujocos_own_format_has_its_corners_and_triangles(tmp_path: Path) -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], dtype=np.int32)
    content = struct.pack("<4i", 4, 1, 2, 4) + corners.tobytes() + bytes(12 + 16) + faces.tobytes()
    (tmp_path / "tetra.msh").write_bytes(content)
    vertices, triangles = read_mesh(tmp_path / "tetra.msh")
    np.testing.assert_array_equal(vertices, corners)
    np.testing.assert_array_equal(triangles, faces)
    (tmp_path / "tetra.msh").write_bytes(content[:-1])
    with pytest.raises(MbfmuError, match="is not a mesh that can be read"):
        read_mesh(tmp_path / "tetra.msh")


def test_a_rigid_surface_adds_no_mass_and_is_told_and_one_that_bends_is_refused(tmp_path: Path) -> None:
    """MuJoCo 4.0.0 gives the body of a rigid flexcomp with mass="5" the mass of its geoms alone."""
    flex = '<flexcomp name="f" type="grid" count="3 3 1" spacing="1 1 1" mass="5" rigid="true"/>'
    body = f'<body name="a"><freejoint/><geom type="box" size="0.5 0.5 0.5" mass="2"/>{flex}</body>'
    system, notices = loaded(tmp_path, body)
    assert [item.m for item in system.components if isinstance(item, Body)] == [2.0]
    assert "1 <flexcomp>" in notices
    with pytest.raises(MbfmuError, match="is a body that bends"):
        loaded(tmp_path, body.replace(' rigid="true"', ""))


MESHES = (
    ("sphere", "5", "must be from 0 to 4"),
    ("cone", "5", "are 2 numbers, not 1"),
    ("supersphere", "2 1 1", "must be from 3 to 500"),
    ("spere", "1", "did you mean 'sphere'"),
)


@pytest.mark.parametrize(("kind", "params", "message"), MESHES)
def test_numbers_of_a_mesh_that_it_cannot_have_are_one_line(
    kind: str, params: str, message: str, tmp_path: Path
) -> None:
    mesh = f'<asset><mesh name="m" builtin="{kind}" params="{params}"/></asset>'
    with pytest.raises(MbfmuError, match=message):
        loaded(tmp_path, '<body><freejoint/><geom type="mesh" mesh="m"/></body>', mesh)
