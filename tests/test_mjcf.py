"""Robots as MJCF: they accelerate as in MuJoCo, what is left out is told, and every mistake is one clear line."""

import contextlib
import importlib.util
import json
import math
import re
import struct
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from harness import examples
from hypothesis import given
from scipy.spatial.transform import Rotation

import mbfmu
from mbfmu import cli
from mbfmu.dae import Dae, derive
from mbfmu.errors import MbfmuError, ModelFileError, UsageError
from mbfmu.model import (
    AffineDrive,
    AngularSpring,
    AxesSpring,
    AxesStop,
    Body,
    BoxDrag,
    Coincident,
    FilteredDrive,
    Fixed,
    FreeMotion,
    Gear,
    IntegratedDrive,
    PolynomialCoupling,
    Revolute,
    RotationalFriction,
    RotationalSpring,
    RotationalStop,
    System,
    TranslationalFriction,
    World,
)
from mbfmu.model.mjcf.meshes import read_mesh, solid_of
from mbfmu.model.mjcf.model import MjcfModel, read_model
from mbfmu.model.robot.assembly import names_of
from mbfmu.model.robot.solids import MassShare, box, capsule, cylinder, ellipsoid, merged, sphere
from mbfmu.model.robot_options import RobotOptions

Array = npt.NDArray[np.float64]
FOLDER = Path(__file__).parent / "mjcf"
REFERENCE = json.loads((FOLDER.parent / "references" / "mjcf.json").read_text(encoding="utf-8"))
MODELS = ("arm", "servos", "solids", "meshes", "floating", "loops")
FREE = RobotOptions(limits=False, friction=False)
MECHANISM = """<mujoco model="pendulum">
  <compiler angle="radian"/>
  <default>
    <default class="soft"><joint damping="0.1" stiffness="2"/></default>
  </default>
  <worldbody>
    <body name="rod" pos="0 0 1">
      <joint name="hinge" class="soft" axis="0 1 0" range="-1 2" frictionloss="0.3"/>
      <inertial pos="0 0 -0.5" mass="2" diaginertia="0.2 0.2 0.01"/>
      <site name="end" pos="0 0 -1"/>
      <body name="tip" pos="0 0 -1">
        <joint name="twist" axis="0 0 1" armature="0.1"/>
        <geom type="box" size="0.1 0.2 0.3" pos="0 0 -0.3"/>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="both"><joint joint="hinge" coef="2"/><joint joint="twist" coef="-1"/></fixed></tendon>
  <equality><joint name="couple" joint1="twist" joint2="hinge" polycoef="0 2 0 0 0"/></equality>
  <actuator><motor name="push" joint="hinge" gear="4"/></actuator>
  <keyframe><key name="up" qpos="0.3 0.6"/></keyframe>
</mujoco>
"""


def loaded(path: Path, options: RobotOptions | None = None) -> System:
    """The system of a file, without its notices."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(path, robot=options)
    assert isinstance(system, System)
    return system


def written(folder: Path, text: str, name: str = "model.xml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def of(system: System, kind: type) -> list[Any]:
    return [item for item in system.components if isinstance(item, kind)]


def spun(Q: Array, w: Array) -> Array:
    """The rate of a quaternion, scalar first, at an angular velocity in the turned axes."""
    s, e = Q[0], Q[1:]
    return np.concatenate([[-e @ w], s * w + np.cross(e, w)]) / 2


def mapped(model: MjcfModel, state: Mapping[str, list[float]]) -> dict[str, tuple[float, float, float]]:
    """Coordinate, rate and acceleration of each coordinate, by its name, for a state of MuJoCo."""
    names = names_of(model.robot)
    q, v, a = (np.array(state[name]) for name in ("qpos", "qvel", "qacc"))
    found: dict[str, tuple[float, float, float]] = {}
    at_q = at_v = 0
    for name, joint in model.bodies.joints.items():
        full = names["joint", name]
        if joint.kind in {"hinge", "slide"}:
            found[f"{full}.{'phi' if joint.kind == 'hinge' else 's'}"] = q[at_q], v[at_v], a[at_v]
            at_q, at_v = at_q + 1, at_v + 1
            continue
        if joint.kind == "free":
            for k in range(3):
                found[f"{full}.r_rel[{k + 1}]"] = q[at_q + k], v[at_v + k], a[at_v + k]
            at_q, at_v = at_q + 3, at_v + 3
        Q, w = q[at_q : at_q + 4], v[at_v : at_v + 3]
        Q = Q / np.linalg.norm(Q)
        rate, second = spun(Q, w), spun(Q, a[at_v : at_v + 3]) - w @ w * Q / 4
        for k in range(4):
            found[f"{full}.Q_rel[{k + 1}]"] = Q[k], rate[k], second[k]
        at_q, at_v = at_q + 4, at_v + 3
    return found


def accelerations(dae: Dae, q: Array, v: Array, u: Array) -> Array:
    p = dae.p_default()
    M, Phi_q = np.array(dae.equations.M(q, p)), np.array(dae.constraints.Phi_q(q, p, 0.0)).reshape(dae.m, dae.n)
    right = np.concatenate(
        [
            np.array(dae.equations.force(q, v, [], u, p, 0.0)).ravel(),
            np.array(dae.constraints.gamma(q, v, p, 0.0)).ravel(),
        ]
    )
    matrix = np.block([[M, Phi_q.T], [Phi_q, np.zeros((dae.m, dae.m))]])
    return np.array(np.linalg.lstsq(matrix, right, rcond=1e-13)[0][: dae.n])


@pytest.fixture(scope="module")
def derived() -> Mapping[str, tuple[MjcfModel, Dae]]:
    return {
        name: (read_model(FOLDER / f"{name}.xml", FREE), derive(loaded(FOLDER / f"{name}.xml", FREE), "joint"))
        for name in MODELS
    }


@pytest.mark.parametrize("name", MODELS)
def test_a_model_accelerates_as_in_mujoco(name: str, derived: Mapping[str, tuple[MjcfModel, Dae]]) -> None:
    """MuJoCo turns the inertia of a mesh into principal axes to eight digits, and that of the others to sixteen.

    Measured: 3e-15 for trees, 2e-14 for loops, 3e-9 for meshes.
    """
    model, dae = derived[name]
    assert len(dae.inputs) == model.actuators.count
    check_accelerations(model, dae, REFERENCE[name], 1e-7 if name == "meshes" else 1e-10)


def check_accelerations(model: MjcfModel, dae: Dae, states: list[dict[str, list[float]]], close: float) -> None:
    for state in states:
        values = mapped(model, state)
        q, v, expected = (np.array([values[item][k] for item in dae.coordinates]) for k in range(3))
        u = np.array(state["ctrl"])[
            list(model.actuators.indices.values())
        ]  # in the order of the file, as the inputs are
        found = accelerations(dae, q, v, u)
        assert np.abs(found - expected).max() < close * np.abs(expected).max()


@pytest.mark.parametrize("name", REFERENCE["details"])
def test_a_detail_acts_as_in_mujoco(name: str) -> None:
    """What MuJoCo reads otherwise than one would expect, a file for each.

    It integrates the fluid that moves along with an ellipsoid to some seven digits, and finds axes of a mesh to eight.
    """
    path = FOLDER / "details" / f"{name}.xml"
    dae, close = derive(loaded(path, FREE), "joint"), 1e-7 if "mesh" in name or name == "wings" else 1e-10
    check_accelerations(read_model(path, FREE), dae, REFERENCE["details"][name], close)


def test_a_keyframe_of_an_aligned_body_is_in_its_inertial_frame(tmp_path: Path) -> None:
    """Without the alignment the body would turn about the origin of its written frame, and move too."""
    text = """<mujoco><worldbody><body name="a"><freejoint align="true"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.5 0 0"/></body></worldbody>
      <keyframe><key qpos="1 2 3 1 0 0 0" qvel="0 0 0 0 0 2"/></keyframe></mujoco>"""
    result = mbfmu.simulate(loaded(written(tmp_path, text)), 1e-3)
    m = 1000 * 8 * 0.1 * 0.2 * 0.3
    assert result["energy.kinetic"][0] == pytest.approx(m * (0.1**2 + 0.2**2) / 3 * 2**2 / 2)
    assert [result[f"a.r_0[{k}]"][0] for k in (1, 2, 3)] == pytest.approx((1, 2, 3))


def test_the_inputs_stand_in_the_order_of_the_file(derived: Mapping[str, tuple[MjcfModel, Dae]]) -> None:
    names = [item.name for item in derived["arm"][1].inputs]
    assert names == [
        "turn_actuator.u", "lift_actuator.u", "swing_actuator.u", "roll_actuator.u", "actuator_5.u", "actuator_6.u"
    ]  # fmt: skip


def test_a_model_starts_at_its_keyframe_named_home() -> None:
    system = loaded(FOLDER / "arm.xml")
    result = mbfmu.simulate(system, 0.01)
    assert result["turn.phi"][0] == pytest.approx(0.5)
    assert result["lift.s"][0] == pytest.approx(0.2)
    assert result["grip_b.s"][0] == pytest.approx(0.02)
    assert system.input_starts == {
        "turn_actuator.u": 0.1, "lift_actuator.u": 0.2, "actuator_5.u": 0.3, "actuator_6.u": 0.02
    }  # fmt: skip


def test_rates_of_a_keyframe_turn_into_the_frames_of_the_joints() -> None:
    """Angular velocities of MJCF are resolved in the body, those of the joints in the frame outside."""
    result = mbfmu.simulate(loaded(FOLDER / "floating.xml"), 1e-3)
    R = Rotation.from_quat([0.5, -0.5, 0.5, 0.5]).as_matrix()
    found = [result[f"root.w_rel[{k}]"][0] for k in (1, 2, 3)]
    assert found == pytest.approx(R @ (0.4, 0.5, 0.6), abs=1e-12)
    assert [result[f"root.v_rel[{k}]"][0] for k in (1, 2, 3)] == pytest.approx((0.1, 0.2, 0.3))


def test_a_replica_is_as_if_written_out(tmp_path: Path) -> None:
    """The k-th copy is turned by k times the angles, and moved by the offset in the frame of the one before."""
    body = '<body name="b{0}"><joint name="j{0}"/><geom size="0.1" pos="0.3 0 0"/></body>'
    spring = '<fixed name="t{0}" stiffness="2"><joint joint="j{0}" coef="2"/></fixed>'
    motor = '<motor name="m{0}" joint="j{0}"/>'
    whole = "<mujoco><worldbody>{}</worldbody><tendon>{}</tendon><actuator>{}</actuator></mujoco>"
    r, frames = np.zeros(3), ""
    for index in range(3):
        x, y, z = (float(item) for item in r)
        frames += (
            f'<frame pos="{x!r} {y!r} {z!r}" euler="{10 * index} {20 * index} 0">{body.format(f"-{index}")}</frame>'
        )
        turn = Rotation.from_euler("XY", [10 * index, 20 * index], degrees=True)
        r = r + turn.as_matrix() @ np.array([1.0, 0.5, 0.0])
    written_out = whole.format(frames, *("".join(item.format(f"-{k}") for k in range(3)) for item in (spring, motor)))
    replica = f'<replicate count="3" offset="1 0.5 0" euler="10 20 0" sep="-">{body.format("")}</replicate>'
    short = loaded(written(tmp_path, whole.format(replica, spring.format(""), motor.format(""))))
    long = loaded(written(tmp_path, written_out))
    assert [item.name for item in short.components] == [item.name for item in long.components]
    one, other = derive(short, "joint"), derive(long, "joint")
    rng = np.random.default_rng(0)
    q, v, u = rng.normal(size=(3, 3))
    assert accelerations(one, q, v, u) == pytest.approx(accelerations(other, q, v, u), rel=1e-12)


def test_each_replica_is_tied_to_what_stands_outside(tmp_path: Path) -> None:
    text = MECHANISM.replace("<worldbody>", '<worldbody><replicate count="2"><body name="c"/></replicate>')
    text = text.replace("<equality>", '<equality><connect body1="c" body2="rod" anchor="0 0 0"/>')
    closures = read_model(written(tmp_path, text)).equalities.closures
    assert [item.bodies for item in closures] == [("c0", "rod"), ("c1", "rod")]


def test_an_equality_of_bodies_that_are_fixed_to_each_other_changes_nothing(tmp_path: Path) -> None:
    text = MECHANISM.replace("<equality>", '<equality><weld name="w" body1="rod" body2="ear"/>')
    text = text.replace('<body name="tip"', '<body name="ear"/><body name="tip"')
    path = written(tmp_path, text)
    with pytest.warns(UserWarning, match="equalities of bodies that are fixed to each other are left out: 'w'"):
        assert not of(mbfmu.load(path), Fixed)  # type: ignore[arg-type]


def test_armature_of_a_ball_and_a_free_joint_is_inertia_without_weight(tmp_path: Path) -> None:
    """At rest a pendulum on a ball falls as with its inertia about the pivot and the armature; a free body as ever."""
    text = """<mujoco><worldbody><body name="a"><joint type="ball" armature="0.3" stiffness="5"/>
      <inertial pos="0.5 0 0" mass="2" diaginertia="0.1 0.1 0.1"/></body>
      <body name="b"><joint type="free" armature="0.3"/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.1 0.1"/></body>
      </worldbody></mujoco>"""
    system = loaded(written(tmp_path, text))
    assert [item.c for item in of(system, AngularSpring)] == [5.0]
    dae = derive(system, "joint")
    q = np.array([1.0 if name.endswith("Q_rel[1]") else 0.0 for name in dae.coordinates])
    a = dict(zip(dae.coordinates, accelerations(dae, q, np.zeros(dae.n), np.zeros(0)), strict=False))
    turning = 2 * 9.81 * 0.5 / (0.1 + 2 * 0.5**2 + 0.3)  # about y, towards -z; the rate of a quaternion is half of it
    assert a["a_joint.Q_rel[3]"] == pytest.approx(turning / 2, rel=1e-12)
    assert a["b_joint.r_rel[3]"] == pytest.approx(-9.81 * 2 / 2.3, rel=1e-12)


def test_a_spatial_tendon_is_a_rope_that_rests_where_the_joints_do_unless_it_says_how_long(tmp_path: Path) -> None:
    tendon = (
        '<tendon><spatial name="rope" stiffness="7" damping="2"{}><site site="hook"/><site site="end"/>{}</spatial>'
    )
    text = MECHANISM.replace("<worldbody>", '<worldbody><site name="hook" pos="3 0 -4"/>')
    for more, lengths in (("", (5.0, 5.0)), (' springlength="0.4"', (0.4, 0.4)), (' springlength="0 1"', (0.0, 1.0))):
        system = loaded(written(tmp_path, text.replace("<tendon>", tendon.format(more, ""))))
        (spring,) = of(system, AxesSpring)
        assert spring.joints == ("rope",)
        assert (spring.c, spring.d, spring.lower, spring.upper) == pytest.approx((7.0, 2.0, *lengths))
    for wraps, message in (
        ('<geom geom="ball"/><site site="hook"/>', "there is no sphere or cylinder 'ball'"),
        ('<geom geom="ball"/><pulley divisor="2"/>', "a <geom> stands between two sites"),
        ('<geom geom="ball"/>', "a <geom> stands between two sites"),
    ):
        with pytest.raises(MbfmuError, match=message):
            loaded(written(tmp_path, text.replace("<tendon>", tendon.format("", wraps))))


def test_what_a_spatial_tendon_has_acts_along_its_rope(tmp_path: Path) -> None:
    """A stop, friction, and an armature as a mass without weight that slides as the length grows."""
    tendon = (
        '<tendon><spatial name="rope" range="0 5" frictionloss="2" armature="3"><site site="hook"/><site site="end"/>'
    )
    text = MECHANISM.replace("<worldbody>", '<worldbody><site name="hook" pos="3 0 -4"/>')
    text = text.replace("<tendon>", tendon + "</spatial>")
    text = text.replace("</equality>", '<tendon tendon1="rope" polycoef="0.1"/></equality>')
    system = loaded(written(tmp_path, text))
    (stop,) = of(system, AxesStop)
    assert (stop.joints, stop.lower, stop.upper) == (("rope",), 0.0, 5.0)
    assert [item.f_c for item in of(system, TranslationalFriction)] == [2.0]
    assert ("rope_slide", "rope") in [(item.joint_a, item.joint_b) for item in of(system, Gear)]
    assert [item.joints_a for item in of(system, PolynomialCoupling)] == [("rope",)]
    assert next(item.m for item in of(system, Body) if item.name == "rope_mass") == 3.0


def test_an_integrating_actuator_follows_its_input_within_the_limits_of_its_state(tmp_path: Path) -> None:
    """z' = u until the limit; the force is kp (z - angle), from the state that the keyframe gives."""
    text = MECHANISM.replace('"0.3 0.6"', '"0.3 0.6" act="0.2"')
    text = text.replace("</actuator>", '<intvelocity name="turn" joint="hinge" kp="50" actrange="0 0.5"/></actuator>')
    system = loaded(written(tmp_path, text))
    (drive,) = of(system, IntegratedDrive)
    assert (drive.gain, drive.bias_s, drive.z, drive.z_least, drive.z_greatest) == (50.0, -50.0, 0.2, 0.0, 0.5)
    result = mbfmu.simulate(system, 0.6, inputs={"turn.u": "1"}, error_samples=0)
    z = np.minimum(0.2 + np.array(result.time), 0.5)
    s = result["hinge.phi"]
    assert np.abs(result["turn.f"] - 50 * (z - s)).max() < 50 * 1.1e-3  # the step in which it reaches the limit


def test_a_file_without_bodies_in_its_world_is_the_world_alone_and_a_notice_tells_it(tmp_path: Path) -> None:
    """Part of a model that others include, read by itself: MuJoCo leaves out what stands beside the worldbody."""
    with pytest.warns(UserWarning, match=r"left out, as MuJoCo does: 1 <body> beside .*there are no bodies"):
        system = mbfmu.load(written(tmp_path, '<mujoco><body name="arm"><geom size="1"/></body></mujoco>'))
    assert isinstance(system, System)
    assert [type(item) for item in system.components] == [World]


def test_adhesion_and_what_is_only_seen_or_fixed_changes_nothing(tmp_path: Path) -> None:
    """Adhesion pulls at contacts, which are left out; a skin is drawn; a fixed body needs no inertia."""
    text = MECHANISM.replace("<worldbody>", '<deformable><skin name="s"/></deformable><worldbody>')
    text = text.replace("<worldbody>", '<worldbody><body name="wall"><geom type="sdf" mesh="odd"/></body>')
    text = text.replace("</actuator>", '<adhesion name="glue" body="tip" gain="3" ctrlrange="0 1"/></actuator>')
    with pytest.warns(UserWarning, match="adhesion acts at contacts, which are left out: 'glue'"):
        mbfmu.load(written(tmp_path, text))


def test_a_keyframe_with_fewer_numbers_leaves_the_others_at_their_references(tmp_path: Path) -> None:
    short, whole = (written(tmp_path, MECHANISM.replace("0.3 0.6", numbers)) for numbers in ("0.3", "0.3 0"))
    assert loaded(short).components == loaded(whole).components


def test_early_activation_is_told_and_changes_nothing_between_steps(tmp_path: Path) -> None:
    drive = '<general name="slow" joint="hinge" dyntype="filterexact" dynprm="0.1" actearly="{}"/></actuator>'
    early, late = (written(tmp_path, MECHANISM.replace("</actuator>", drive.format(said)), f"{said}.xml")
                   for said in ("true", "false"))  # fmt: skip
    with pytest.warns(UserWarning, match=r"early activation \(actearly\) is a step's, and here there is none: 'slow'"):
        assert mbfmu.load(early).components == loaded(late).components  # type: ignore[union-attr]


def test_limits_of_a_fixed_tendon_are_a_stop_and_a_weld_without_torque_holds_a_point(tmp_path: Path) -> None:
    text = MECHANISM.replace('<fixed name="both"', '<fixed name="both" range="-1 2"')
    text = text.replace("<equality>", '<equality><weld name="pin" body1="tip" anchor="0 0 0" torquescale="0"/>')
    system = loaded(written(tmp_path, text))
    (stop,) = of(system, AxesStop)
    assert (stop.joints, stop.ratios, stop.lower, stop.upper) == (("hinge", "twist"), (2.0, -1.0), -1.0, 2.0)
    assert 0 < stop.c == stop.d
    assert [item.name for item in of(system, Coincident)] == ["pin"]
    assert not of(loaded(written(tmp_path, text), FREE), AxesStop)


def test_a_loop_with_armature_on_all_joints_is_cut_at_its_weld(tmp_path: Path) -> None:
    """The acceleration from rest is that of a chain whose end is held, by the rows of its own Jacobian."""
    links = "".join(f'<body pos="0 0 -0.2" euler="0 {turn} 0"><joint name="j{k}"/><geom pos="0 0 -0.1"/>'
                    for k, turn in enumerate((40, -60, 70, -50, 30)))  # fmt: skip
    text = f"""<mujoco><default><joint axis="0 1 0" armature="0.01"/><geom size="0.05" contype="0" conaffinity="0"/>
      </default><worldbody><body name="hand" mocap="true"/>{links}<body name="end" pos="0 0 -0.1"/>{"</body>" * 5}
      </worldbody><equality>{{}}</equality></mujoco>"""
    chain = derive(loaded(written(tmp_path, text.format("")), FREE), "joint")
    loop = derive(loaded(written(tmp_path, text.format('<weld body1="hand" body2="end"/>')), FREE), "joint")
    assert set(loop.coordinates) == set(chain.coordinates)
    assert (loop.n, loop.m) == (5, 3)
    order = [chain.coordinates.index(name) for name in loop.coordinates]
    zero, p = np.zeros(5), chain.p_default()
    M, force = np.array(chain.equations.M(zero, p)), np.array(chain.equations.force(zero, zero, [], [], p, 0.0)).ravel()
    angles = np.cumsum(np.radians((40, -60, 70, -50, 30)))
    joints = np.array([(0.0, 0.0)] + [(-0.2 * np.sin(angle), -0.2 * np.cos(angle)) for angle in angles[:-1]]).cumsum(0)
    end = joints[-1] - 0.1 * np.array([np.sin(angles[-1]), np.cos(angles[-1])])
    arms = end - joints
    J = np.array([arms[:, 1], -arms[:, 0], np.ones(5)])  # about y: x' = z w, z' = -x w
    matrix = np.block([[M, J.T], [J, np.zeros((3, 3))]])
    expected = np.linalg.solve(matrix, np.concatenate([force, np.zeros(3)]))[:5]
    found = accelerations(loop, zero, zero, np.zeros(0))
    assert np.abs(found - expected[order]).max() < 1e-10 * np.abs(expected).max()


def test_closed_loops_are_closed_at_the_start_and_stay_closed() -> None:
    system = loaded(FOLDER / "loops.xml", FREE)
    assert len(of(system, Coincident)) == 2
    assert len(of(system, Fixed)) == 1
    assert len(of(system, PolynomialCoupling)) == 2
    result = mbfmu.simulate(system, 0.05)
    assert result["constraint.position"].max() < 1e-9


def test_sites_are_frames_of_the_system() -> None:
    system = loaded(FOLDER / "arm.xml")
    assert {"tip.frame_b", "ground.frame_b"} <= system.frames()


@pytest.mark.parametrize("kind", ["exact", "legacy", "convex"])
def test_the_mesh_of_a_box_has_the_inertia_of_the_box(kind: str) -> None:
    vertices, triangles = cuboid(0.2, 0.3, 0.4)
    found = solid_of(vertices + np.array([1.0, 2.0, 3.0]), triangles, kind)
    check(found, box(0.2, 0.3, 0.4, shell=False).moved(np.array([1.0, 2.0, 3.0]), np.eye(3)))
    shell = solid_of(vertices, triangles, "shell")
    check(shell, box(0.2, 0.3, 0.4, shell=True))


def cuboid(a: float, b: float, c: float) -> tuple[Array, npt.NDArray[np.int64]]:
    corners = np.array([(x, y, z) for x in (-a, a) for y in (-b, b) for z in (-c, c)])
    faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return corners, np.array([item for i, j, k, n in faces for item in ((i, j, k), (i, k, n))])


def check(found: MassShare, expected: MassShare) -> None:
    assert found.m == pytest.approx(expected.m, rel=1e-12)
    assert found.r == pytest.approx(expected.r, rel=1e-12, abs=1e-12)
    assert np.abs(found.I - expected.I).max() < 1e-12 * np.abs(expected.I).max()


SHAPES: dict[str, tuple[MassShare, Any]] = {
    "sphere": (sphere(0.5, shell=False), lambda x, y, z: x * x + y * y + z * z < 0.25),
    "box": (box(0.2, 0.3, 0.4, shell=False), lambda x, y, z: (abs(x) < 0.2) & (abs(y) < 0.3) & (abs(z) < 0.4)),
    "cylinder": (cylinder(0.3, 0.4, shell=False), lambda x, y, z: (x * x + y * y < 0.09) & (abs(z) < 0.4)),
    "capsule": (
        capsule(0.2, 0.3, shell=False),
        lambda x, y, z: x * x + y * y + np.maximum(abs(z) - 0.3, 0) ** 2 < 0.04,
    ),
    "ellipsoid": (
        ellipsoid(0.2, 0.3, 0.4),
        lambda x, y, z: (x / 0.2) ** 2 + (y / 0.3) ** 2 + (z / 0.4) ** 2 < 1,
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_the_mass_and_inertia_of_the_points_in_it(name: str) -> None:
    """A sum over the cells of a grid, which is 1 % off at most."""
    solid, inside = SHAPES[name]
    line = (np.arange(120) + 0.5) / 120 * 1.2 - 0.6
    x, y, z = np.meshgrid(line, line, line, indexing="ij")
    cell = 0.01**3 * inside(x, y, z)
    assert solid.m == pytest.approx(cell.sum(), rel=0.01)
    moments = [(cell * (y * y + z * z)).sum(), (cell * (x * x + z * z)).sum(), (cell * (x * x + y * y)).sum()]
    assert np.diag(solid.I) == pytest.approx(moments, rel=0.02)


def test_shells_are_the_growth_of_solids() -> None:
    """A layer of even thickness: the difference of two shapes whose every size differs by it."""
    d = 1e-5
    makers = {sphere: (0.3,), box: (0.2, 0.3, 0.4), cylinder: (0.3, 0.4), capsule: (0.2, 0.3)}
    for make, size in makers.items():
        grown = (1.0, 0.0) if make is capsule else (1.0,) * len(size)  # the cylinder of a capsule stays as long
        shell = make(*size, shell=True)
        outer, inner = (
            make(*(item + way * d * by for item, by in zip(size, grown, strict=True)), shell=False) for way in (1, -1)
        )
        assert shell.m == pytest.approx((outer.m - inner.m) / (2 * d), rel=1e-8)
        assert np.diag(shell.I) == pytest.approx(np.diag(outer.I - inner.I) / (2 * d), rel=1e-8)


def test_meshes_are_read_from_stl_and_obj_alike(tmp_path: Path) -> None:
    vertices, triangles = cuboid(0.25, 0.5, 0.75)
    corners = vertices[triangles]
    binary = b"".join(struct.pack("<12fH", 0, 0, 0, *face.ravel(), 0) for face in corners)
    (tmp_path / "binary.stl").write_bytes(b" " * 80 + struct.pack("<I", len(triangles)) + binary)
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x:g} {y:e} {z:g}\n" for x, y, z in face)
        + "endloop\nendfacet\n"
        for face in corners
    )
    written(tmp_path, f"solid box\n{facets}endsolid\n", "text.stl")
    lines = [*(f"v {x} {y} {z}" for x, y, z in vertices)]
    lines += [f"f {a + 1}/1/1 {b - len(vertices)}//2 {c + 1}" for a, b, c in triangles]
    written(tmp_path, "\n".join(lines), "mesh.obj")
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    written(
        tmp_path, "\n".join([*lines[:8], *(f"f {' '.join(str(k + 1) for k in face)}" for face in quads)]), "quad.obj"
    )
    for name in ("binary.stl", "text.stl", "mesh.obj", "quad.obj"):
        check(solid_of(*read_mesh(tmp_path / name), "exact"), box(0.25, 0.5, 0.75, shell=False))


def test_the_files_of_meshes_are_sought_in_the_folder_of_the_compiler(tmp_path: Path) -> None:
    vertices, triangles = cuboid(0.25, 0.5, 0.75)
    (tmp_path / "assets").mkdir()
    lines = [*(f"v {x} {y} {z}" for x, y, z in vertices), *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles)]
    written(tmp_path / "assets", "\n".join(lines), "brick.obj")
    text = """<mujoco><compiler meshdir="assets" strippath="true"/><asset><mesh file="C:\\old\\brick.obj"/></asset>
      <worldbody><body><joint/><geom type="mesh" mesh="brick"/></body></worldbody></mujoco>"""
    with_name = text.replace("<mesh file=", '<mesh name="brick" file=')
    (body,) = of(loaded(written(tmp_path, with_name)), Body)
    assert float(body.m) == pytest.approx(1000 * 8 * 0.25 * 0.5 * 0.75)


@pytest.mark.slow
def test_the_models_of_gymnasium_are_read_whole() -> None:
    """Every body of theirs has mass, and every actuator is an input; the one that swims has its water."""
    package = importlib.util.find_spec("gymnasium")
    assert package
    assert package.origin
    paths = sorted((Path(package.origin).parent / "envs" / "mujoco" / "assets").glob("*.xml"))
    assert len(paths) >= 14
    for path in paths:
        model, system = read_model(path), loaded(path)
        assert len(of(system, Body)) == sum(body.solid.m > 0 for body in model.bodies.bodies.values()) > 0
        assert len(of(system, AffineDrive)) == model.actuators.count == len(model.actuators.acting) > 0
        assert bool(of(system, BoxDrag)) == (path.stem == "swimmer")


def test_springs_friction_and_limits_become_components_as_asked(tmp_path: Path) -> None:
    path = written(tmp_path, MECHANISM)
    system = loaded(path)
    assert [float(item.c) for item in of(system, RotationalSpring)] == [2.0]
    assert [float(item.f_c) for item in of(system, RotationalFriction)] == [0.3]
    assert [(item.lower, item.upper) for item in of(system, RotationalStop)] == [(-1.0, 2.0)]
    assert [float(item.ratio) for item in of(system, Gear)] == [2.0]
    bare = loaded(path, FREE)
    assert not of(bare, RotationalStop) + of(bare, RotationalFriction)


def test_a_base_floats_or_is_fixed_as_asked(tmp_path: Path) -> None:
    hinge = '<joint name="hinge" class="soft" axis="0 1 0" range="-1 2" frictionloss="0.3"/>'
    pieces = {hinge: "", '<joint joint="hinge" coef="2"/>': "", ' joint2="hinge"': "", "0.3 0.6": "0.6",
              'joint="hinge" gear': 'joint="twist" gear'}  # fmt: skip
    text = MECHANISM
    for old, new in pieces.items():
        assert old in text
        text = text.replace(old, new)
    path = written(tmp_path, text)
    assert not of(loaded(path), FreeMotion)
    assert len(of(loaded(path, RobotOptions("floating")), FreeMotion)) == 1
    assert not of(loaded(FOLDER / "floating.xml", RobotOptions("fixed")), FreeMotion)


def test_a_filter_in_front_of_an_actuator_is_a_state(tmp_path: Path) -> None:
    text = MECHANISM.replace('<motor name="push" joint="hinge" gear="4"/>',
                             '<general name="push" joint="hinge" dyntype="filterexact" dynprm="0.3"/>')  # fmt: skip
    (drive,) = of(loaded(written(tmp_path, text)), FilteredDrive)
    assert drive.T == 0.3


def test_a_body_of_the_least_mass_has_it_where_mujoco_puts_it(tmp_path: Path) -> None:
    """At `pos`, which is otherwise seen from the parent, but seen from the body (body_ipos of MuJoCo 4.0)."""
    text = """<mujoco><compiler boundmass="0.2" boundinertia="0.001"/><worldbody><frame pos="1 0 0" euler="0 0 90">
    <body name="a" pos="1 2 3" euler="10 20 30"><joint/><geom size="1" mass="0"/></body></frame></worldbody></mujoco>"""
    (body,) = of(loaded(written(tmp_path, text)), Body)
    assert (body.m, tuple(body.r_CM), body.I_11) == (0.2, (1.0, 2.0, 3.0), 0.001)


def test_gravity_and_forces_are_switched_off_by_the_options(tmp_path: Path) -> None:
    names = ("gravity", "spring", "damper", "limit", "equality")
    flags = "".join(f' {name}="disable"' for name in names)
    text = MECHANISM.replace("<default>", f"<option><flag{flags}/></option><default>", 1)
    system = loaded(written(tmp_path, text))
    (world,) = of(system, World)
    assert world.g == 0
    assert not of(system, RotationalSpring) + of(system, RotationalStop) + of(system, Gear)


def test_one_notice_tells_what_is_left_out_and_what_is_decided(tmp_path: Path) -> None:
    more = """<contact><exclude body1="rod" body2="tip"/></contact>
      <sensor><gyro site="end"/><jointpos joint="hinge"/></sensor>"""
    text = MECHANISM.replace("<keyframe>", more + "<keyframe>").replace("<site", "<light/><camera/><site")
    path = written(tmp_path, text)
    with pytest.warns(UserWarning, match="not used") as caught:
        mbfmu.load(path)
    (said,) = (str(item.message) for item in caught)
    for part in (
        "not used: 2 <sensor>, 1 <exclude>, 1 <light>, 1 <camera>",
        "contacts are left out: 1 geoms could touch others",
        "the start is the keyframe 'up'",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("idle_group", "actuators of groups that are off are left out: 'actuator_1', 'actuator_3'"),
        ("no_actuation", "actuators are left out, as the option actuation is off"),
    ],
)
def test_actuators_that_are_off_are_told(name: str, message: str) -> None:
    with pytest.warns(UserWarning, match=message):
        mbfmu.load(FOLDER / "details" / f"{name}.xml")


def test_a_mesh_is_drawn_where_its_vertices_are(tmp_path: Path) -> None:
    written(tmp_path, "v 1 2 3\nv 2 2 3\nv 1 3 3\nv 1 2 4\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4", "m.obj")
    text = """<mujoco><asset><mesh name="m" file="m.obj" scale="2 2 2" refpos="1 1 1" refquat="1 0 0 1"/></asset>
      <worldbody><body name="a"><joint/><geom type="mesh" mesh="m" pos="1 0 0"/></body></worldbody></mujoco>"""
    path = written(tmp_path, text)
    (look,) = read_model(path).bodies.bodies["a"].visuals
    corner = look.origin.xyz + look.origin.R @ (np.array(look.size) * (2, 2, 3))
    assert corner == pytest.approx((3, -2, 4))  # 2 (1, 1, 2), turned back by 90 degrees about z, from (1, 0, 0)
    uneven = written(tmp_path, text.replace("2 2 2", "2 1 1"))
    assert not read_model(uneven).bodies.bodies["a"].visuals


@pytest.mark.parametrize("command", ["describe {}", "simulate {} --stop 0.01", "view {} --stop 0.01 -o out.html"])
def test_commands_take_a_model(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    silent = re.sub("<keyframe>.*</keyframe>", "", MECHANISM).replace("<geom ", '<geom contype="0" conaffinity="0" ')
    path = written(tmp_path, silent)
    assert cli.app([*command.format(path).split(), "--no-limits"], standalone_mode=False) is None


def test_an_xml_file_is_read_by_its_root(tmp_path: Path) -> None:
    urdf = """<robot name="arm"><link name="base"/>
      <link name="bar"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="bar"/></joint></robot>"""
    assert len(of(loaded(written(tmp_path, urdf)), Revolute)) == 1
    with pytest.raises(ModelFileError, match="the root of a robot's file is"):
        loaded(written(tmp_path, "<html/>"))


def test_a_toml_file_adds_components_to_a_model(tmp_path: Path) -> None:
    written(tmp_path, MECHANISM, "rod.xml")
    text = """name = "held"
robot = {file = "rod.xml", friction = false}
connections = [["world.frame_b", "spring.frame_a"], ["end.frame_b", "spring.frame_b"]]
input_starts = {"push.u" = 0.5}

[components.spring]
type = "Spring"
c = 100
"""
    system = loaded(written(tmp_path, text, "held.toml"))
    assert {"spring", "hinge", "push"} <= {item.name for item in system.components}
    assert not of(system, RotationalFriction)
    assert system.input_starts == {"push.u": 0.5}
    for old, new, message in (
        ("rod.xml", "rod.xacro", "must be the path of a .xml or"),
        ("friction", "frction", "robot has no 'frction'; did you mean 'friction'"),
        ("robot =", 'urdf = {file = "rod.urdf"}\nrobot =', "a system is based on one robot"),
    ):
        with pytest.raises(MbfmuError) as caught:
            loaded(written(tmp_path, text.replace(old, new), "held.toml"))
        assert message in str(caught.value)


MISTAKES = [
    ('mass="2"', 'mass="nan"', "nan is not a number"),
    ('mass="2"', 'mass="-2"', "must be at least 0"),
    ('mass="2" ', "", 'needs mass="..."'),
    ('diaginertia="0.2 0.2 0.01"', "", "either diaginertia or fullinertia"),
    ('diaginertia="0.2 0.2 0.01"', 'diaginertia="0.2 0.2"', "it needs 3 number"),
    ('diaginertia="0.2 0.2 0.01"', 'fullinertia="1 1 -1 0 0 0"', "not positive definite"),
    ('axis="0 1 0"', 'axis="0 0 0"', "the axis has no direction"),
    ('axis="0 1 0"', 'axes="0 1 0"', "has no 'axes'; did you mean 'axis'"),
    ('<body name="tip"', '<body nane="tip"', "has no 'nane'"),
    ('class="soft" axis', 'class="sift" axis', "no default class 'sift'; did you mean 'soft'"),
    ('name="twist"', 'name="hinge"', "two joints 'hinge'"),
    ('<body name="tip"', '<body name="rod"', "two bodies 'rod'"),
    ('joint="hinge" gear', 'joint="hing" gear', "there is no joint 'hing'; did you mean 'hinge'"),
    ('joint1="twist"', 'joint1="twst"', "there is no joint 'twst'"),
    ('joint joint="twist" coef="-1"', 'joint joint="twst" coef="-1"', "there is no joint 'twst'"),
    ('qpos="0.3 0.6"', 'qpos="0.3 0.6 1"', "has 3 numbers, and the model 2"),
    ('range="-1 2"', 'range="2 -1"', "needs a first number below the second"),
    ('gear="4"', 'ctrlrange="1 1"', "needs a first number below the second"),
    ('gear="4"', 'forcerange="0 0" forcelimited="true"', "needs a first number below the second"),
    ('name="both"', 'name="both" actuatorfrcrange="1 2"', "a first number of at most 0"),
    ('angle="radian"', 'autolimits="false"', 'range needs limited="true" or "false"'),
    ("<default>", '<option actuatorgroupdisable="3 31"/><default>', "31 is not a group"),
    ('diaginertia="0.2 0.2 0.01"', 'fullinertia="1 1 1 0 0 0" euler="0 0 1"', "remove euler"),
    ('mass="2"', 'mass="0" fullinertia="1 1 1 0 0 0"', "either diaginertia or fullinertia"),
    ('diaginertia="0.2 0.2 0.01"', 'diaginertia="1 1 40"', 'balanceinertia="true"> takes their mean'),
    ('diaginertia="0.2 0.2 0.01"', 'fullinertia="1 1 40 0 0 0"', "none may exceed the sum"),
    ('type="box" size="0.1 0.2 0.3"', 'size="0.1" fromto="0 0 0 1 0 0"', "<geom fromto> is for a capsule, cylinder"),
    ('type="box" size="0.1 0.2 0.3"', 'type="box" size="0.1" fromto="0 0 0 1 0 0"', "there is a pos too"),
    ('type="box" size="0.1 0.2 0.3"', 'type="plane" size="1 1 1"', "a plane is endless, and the body 'tip' moves"),
    ('<site name="end"', '<site fromto="0 0 0 1 0 0" name="end"', "<site fromto> is for a capsule"),
    ('<site name="end"', '<site type="plane" name="end"', "it is one of sphere, capsule"),
    ("</tendon>\n",
     '<fixed name="held" actuatorfrcrange="-1 1"><joint joint="hinge" coef="1"/></fixed></tendon><actuator>'
     '<motor tendon="held"/><motor tendon="held" gear="2"/></actuator>\n', "has another gear than the others"),
    ("</tendon>\n",
     '<fixed name="held" actuatorfrcrange="-1 1"><joint joint="hinge" coef="1"/></fixed></tendon><actuator>'
     '<motor tendon="held"/><motor tendon="held" forcerange="0 1"/></actuator>\n', "has a forcerange too"),
    ("<equality>", '<actuator><motor cranksite="end" slidersite="end"/></actuator><equality>', "cranklength must be"),
    ('<joint name="twist" axis="0 0 1" armature="0.1"/>', '<joint type="ball" range="1 2"/>', "a first number of 0"),
    ('<worldbody>\n    <body name="rod" pos="0 0 1">\n      <joint',
     '<option><flag actuation="disable"/></option><worldbody><body gravcomp="1"><joint actuatorgravcomp="true"',
     "has actuatorgravcomp, and no actuator of the model acts"),
    ('angle="radian"', 'angle="radians"', "it is one of radian, degree"),
    ('angle="radian"', 'coordinate="global"', "no longer part of MJCF"),
    ('angle="radian"', 'eulerseq="xyw"', "three of the letters"),
    ('<body name="tip"', "<replicate/><body", '<replicate count="">: it needs 1 number'),
    ("<worldbody>", '<deformable><flex name="f"/></deformable><worldbody>', "<deformable> is not modelled"),
    ("<worldbody>", '<include file="gone.xml"/><worldbody>', "no file 'gone.xml'"),
    ("<worldbody>", '<include file="model.xml"/><worldbody>', "'model.xml' is included twice"),
    ('type="box" size="0.1 0.2 0.3"', 'type="box" size="0.1 0.2"', "needs 3 positive size"),
    ('type="box" size="0.1 0.2 0.3"', 'type="bax" size="0.1 0.2 0.3"', "did you mean 'box'"),
    ('type="box" size="0.1 0.2 0.3"', 'type="mesh" mesh="m"', "there is no mesh 'm'"),
    ('type="box" size="0.1 0.2 0.3"', 'type="ellipsoid" shellinertia="true" size="1 1 1"', "the shell of an ellipsoid"),
    ('pos="0 0 -0.3"', 'pos="0 0 -0.3" quat="1 0 0 0" euler="0 0 0"', "two orientations"),
    ('pos="0 0 -0.3"', 'pos="0 0 -0.3" quat="0 0 0 0"', "has no direction"),
    ('stiffness="2"', 'stiffness="2 1"', "is a polynomial"),
    ('damping="0.1"', 'damping="-0.1"', "must be at least 0"),
    ("</tendon>", '<spatial name="rope" stiffness="3"/></tendon>', "'rope' has forces, and its path has no two sites"),
    ("</equality>", '<flex flex="f"/></equality>', "the equality <flex> 'flex_2' is not modelled"),
    ("</equality>", '<connect body1="rod" anchor="0 0"/></equality>', "it needs 3 number"),
    ("</equality>", '<connect body1="rad" anchor="0 0 0"/></equality>', "there is no body 'rad'; did you mean 'rod'"),
    ("</equality>", '<weld body1="rod" body2="rod"/></equality>', "ties the body 'rod' to itself"),
    ("</actuator>", "<motor/></actuator>", "needs one of joint,"),
    ("</actuator>", '<moter joint="hinge"/></actuator>', "no actuator <moter>"),
    ("</actuator>", '<position joint="twist" inheritrange="1"/></actuator>', "of the joint 'twist', which has none"),
    ("</actuator>", '<position site="end" inheritrange="1"/></actuator>', "neither a joint nor a tendon"),
    ("</actuator>", '<position joint="twist" kp="-1" dampratio="1"/></actuator>', "it must be at least 0"),
    ("</actuator>", '<position joint="hinge" kp="1" inheritrange="1" ctrlrange="0 1"/></actuator>',
     "has a ctrlrange and an inheritrange, its own or of its classes: remove one of them"),
    ("</actuator>", '<position joint="hinge" kv="1" dampratio="1"/></actuator>', "has kv and dampratio: remove one"),
    ("</mujoco>", "", "not valid XML"),
    ("<mujoco model", "<!DOCTYPE a><mujoco model", "a document type is declared"),
    ("<worldbody>", "<worldbody><joint/>", "a <joint> belongs to a <body>"),
    ("<inertial", '<joint type="free"/><inertial', "a body with a free joint has no other"),
    ('<body name="tip" pos="0 0 -1">', '<body name="tip" pos="0 0 -1"><freejoint/></body><body>', "in the <worldbody>"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[re.sub(r"\W+", "_", item[1]) for item in MISTAKES])
def test_a_mistake_is_one_line_with_the_file_and_the_remedy(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in MECHANISM
    path = written(tmp_path, MECHANISM.replace(old, new, 1))
    with pytest.raises(MbfmuError) as caught:
        loaded(path)
    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert str(path) in text


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no model file"):
        loaded(tmp_path / "gone.xml")
    text = MECHANISM.replace("<worldbody>", '<asset><mesh name="m" file="gone.stl"/></asset><worldbody>')
    path = written(tmp_path, text.replace('type="box" size="0.1 0.2 0.3"', 'type="mesh" mesh="m"'))
    with pytest.raises(ModelFileError, match=r"gone\.stl"):
        loaded(path)


def test_options_of_a_urdf_go_with_a_model_too(tmp_path: Path) -> None:
    system = loaded(written(tmp_path, MECHANISM), RobotOptions(wrenches=("tip",)))
    assert {"tip_force", "tip_torque"} <= {item.name for item in system.components}
    with pytest.raises(UsageError, match="options of robots go with"):
        mbfmu.load("two_link", robot=FREE)


def done_or_refused(act: Callable[[], object]) -> None:
    """Do what may raise an error of mbfmu, of one line."""
    said = ""
    with contextlib.suppress(MbfmuError):
        try:
            act()
        except MbfmuError as error:
            said = str(error)
            raise
    assert "\n" not in said


def read_or_refused(folder: Path, content: bytes) -> None:
    path = folder / "model.xml"
    path.write_bytes(content)
    done_or_refused(lambda: loaded(path))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mjcf")


PIECES = (
    "",
    " ",
    '"',
    "<",
    ">",
    "/",
    "0",
    "-1",
    "1e999",
    "nan",
    "<body>",
    "<joint/>",
    "</body>",
    'ref="1"',
    "&#0;",
    "\x00",
)


@examples(2)
@given(st.integers(0, len(MECHANISM)), st.integers(0, 40), st.sampled_from(PIECES))
def test_a_model_with_a_piece_replaced_is_read_or_refused(folder: Path, start: int, length: int, new: str) -> None:
    read_or_refused(folder, (MECHANISM[:start] + new + MECHANISM[start + length :]).encode())


ATTRIBUTES = sorted(
    set(re.findall(r'(\w+)="[^"]*"', MECHANISM)) | {"quat", "euler", "mesh", "fromto", "gravcomp", "dclass"}
)
VALUES = st.one_of(
    st.sampled_from(["", "0", "-1", "1 2", "0 0 0", "1e31", "true", "hinge", "free", "ball", "mesh", "rod", "0 0 0 0"]),
    st.text(max_size=8),
)


@examples(2)
@given(st.sampled_from(ATTRIBUTES), VALUES, st.data())
def test_a_model_with_one_random_attribute_is_read_or_refused(
    folder: Path, name: str, value: str, data: st.DataObject
) -> None:
    tags = [match.end() for match in re.finditer(r"<[a-z]\w*", MECHANISM)]
    at = data.draw(st.sampled_from(tags))
    quoted = value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    end = MECHANISM.index(">", at)
    tag = re.sub(rf'\s{name}="[^"]*"', "", MECHANISM[at:end])
    read_or_refused(folder, (MECHANISM[:at] + f' {name}="{quoted}"' + tag + MECHANISM[end:]).encode())


@examples()
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(folder: Path, content: bytes) -> None:
    read_or_refused(folder, content)
    (folder / "mesh.stl").write_bytes(content)
    (folder / "mesh.obj").write_bytes(b"v 0 0 0\n" + content)
    for name in ("mesh.stl", "mesh.obj"):
        done_or_refused(lambda name=name: solid_of(*read_mesh(folder / name), "exact"))  # type: ignore[misc]


def test_solids_merge_by_the_parallel_axes() -> None:
    halves = [box(0.1, 0.3, 0.4, shell=False).moved(np.array([x, 0.0, 0.0]), np.eye(3)) for x in (-0.1, 0.1)]
    check(merged(halves), box(0.2, 0.3, 0.4, shell=False))
    turned = Rotation.from_euler("z", math.pi / 2).as_matrix()
    check(box(0.2, 0.3, 0.4, shell=False).moved(np.zeros(3), turned), box(0.3, 0.2, 0.4, shell=False))


def test_an_affine_actuator_becomes_an_affine_drive() -> None:
    drives = {item.name: item for item in of(loaded(FOLDER / "arm.xml"), AffineDrive)}
    roll = drives["roll_actuator"]
    assert (roll.gain, roll.gain_s, roll.gain_v) == (3.0, 0.5, -0.2)
    assert (roll.bias, roll.bias_s, roll.bias_v) == (1.0, -2.0, -0.3)
    assert (drives["turn_actuator"].f_least, drives["turn_actuator"].f_greatest) == (-15 / 25, 18 / 25)
