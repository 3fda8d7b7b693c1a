"""Robots as URDF: they move as in Pinocchio, and one clear line for every mistake."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from scipy.spatial.transform import Rotation

import mbfmu
from mbfmu.dae import COORDINATES, Dae, derive
from mbfmu.errors import (
    AxisError,
    MassError,
    MbfmuError,
    ModelError,
    ModelFileError,
    NameInUseError,
    UnknownNameError,
    ValueRangeError,
)
from mbfmu.model import (
    Body,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Gear,
    Planar,
    Prismatic,
    Revolute,
    RotationalDamper,
    RotationalFriction,
    RotationalStop,
    System,
    TranslationalDamper,
    TranslationalFriction,
    TranslationalStop,
)
from mbfmu.model.library import known_models
from mbfmu.model.source import Source
from mbfmu.model.urdf import Origin, Visual, read_urdf, visuals
from mbfmu.model.urdf.reader import axis_angle, frames_of, names_of, system_of
from mbfmu.model.urdf.robot import LARGEST, robot_of

Array = npt.NDArray[np.float64]
ROBOT = known_models()["robot"]
BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'


def system_from(text: str) -> System:
    return system_of(robot_of(text.encode(), Source("x.urdf")))


# -- the motion, against Pinocchio -----------------------------------------------------------------------------------

both = pytest.mark.parametrize("coordinates", COORDINATES)


@pytest.fixture(scope="module", name="pin")
def pinocchio() -> Any:
    import pinocchio

    return pinocchio


@dataclass(frozen=True)
class Instant:
    """The outputs of a system at its start, by name."""

    y: Mapping[str, float]

    def __call__(self, name: str, size: int = 0) -> Any:
        return np.array([self.y[f"{name}[{k}]"] for k in range(1, size + 1)]) if size else self.y[name]


def instant(
    system: System, starts: Mapping[str, float], efforts: Mapping[str, float], coordinates: str = "joint"
) -> Instant:
    """Solve the equations of motion of a tree at given coordinates and rates of its joints."""
    dae = derive(system.with_values(starts), coordinates)
    s, p, t = dae.s_default(), dae.p_default(), 0.0
    u = np.array([efforts.get(item.name, 0.0) for item in dae.inputs])
    q = np.array(dae.assembly.guess(s, p, t), dtype=float).ravel()
    v = _rates(dae, q, s, p)
    a, lambda_ = dae.acceleration(q, v, [], u, p, t)
    y = dae.output(q, v, [], dae.assembly.counted(q, s, p, t), a, lambda_, u, p, t)
    found = dict(zip((item.name for item in dae.outputs), np.array(y).ravel().tolist(), strict=True))
    assert max([0.0, *np.abs(np.array(dae.Phi(q, p, t))).ravel()]) < 1e-13
    return Instant(found)


def _rates(dae: Dae, q: Array, s: Array, p: Array) -> Array:
    """Return the velocities that the start values say, shape (n,)."""
    zero = np.zeros(dae.n)

    def residual(v: Array) -> Array:
        moving = np.array(dae.Phi_q(q, p, 0.0)) @ v
        return np.concatenate([moving.ravel(), np.array(dae.assembly.rates(q, v, s, p, 0.0)).ravel()])

    rows = np.array([residual(unit) - residual(zero) for unit in np.eye(dae.n)]).T
    found: Array = np.linalg.lstsq(rows, -residual(zero), rcond=None)[0]
    return found


def without_forces(text: str) -> str:
    """A robot without damping, friction and stops, which Pinocchio's algorithms leave out."""
    return re.sub(r"<(limit|dynamics)\b[^>]*/>", "", text)


def pinocchio_of(pin: Any, text: str) -> Any:
    limited = re.sub(r"(<joint [^>]*type=\"(revolute|prismatic)\"[^>]*>)", r'\1<limit effort="1" velocity="1"/>', text)
    return pin.buildModelFromXML(limited)


def coordinates_in(pin: Any, model: Any, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Return q and v as Pinocchio orders them; a continuous joint has cosine and sine."""
    q, v = pin.neutral(model), np.zeros(model.nv)
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        value = values[f"{name}.q"]
        q[joint.idx_q : joint.idx_q + joint.nq] = [math.cos(value), math.sin(value)] if joint.nq == 2 else [value]
        v[joint.idx_v] = values[f"{name}.v"]
    return q, v


def random_inertia(rng: np.random.Generator) -> str:
    """The inertial of a cloud of points."""
    points = rng.normal(0, 0.1, (5, 3)) * rng.uniform(0.3, 2, 3)
    points -= points.mean(axis=0)
    tensor = sum(r @ r * np.eye(3) - np.outer(r, r) for r in points)
    entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), tensor[np.triu_indices(3)].tolist(), strict=True)
    inertia = " ".join(f'{key}="{value}"' for key, value in entries)
    return f'<inertial>{random_origin(rng)}<mass value="{rng.uniform(0.5, 3)}"/><inertia {inertia}/></inertial>'


def random_origin(rng: np.random.Generator) -> str:
    xyz, rpy = rng.uniform(-0.5, 0.5, 3), rng.uniform(-np.pi, np.pi, 3)
    return f'<origin xyz="{" ".join(map(str, xyz))}" rpy="{" ".join(map(str, rpy))}"/>'


def random_robot(rng: np.random.Generator) -> str:
    """A tree of five moving links, with fixed ones among them, some without mass."""
    lines = ['<link name="base"/>' if rng.random() < 0.5 else f'<link name="base">{random_inertia(rng)}</link>']
    links = ["base"]
    for number, kind in enumerate(rng.permutation([*rng.choice(["revolute", "continuous", "prismatic"], 5), "fixed"])):
        massive = kind != "fixed" or rng.random() < 0.5
        lines.append(f'<link name="l{number}">{random_inertia(rng) if massive else ""}</link>')
        lines.append(
            f'<joint name="j{number}" type="{kind}"><parent link="{rng.choice(links)}"/><child link="l{number}"/>'
            f'{random_origin(rng)}<axis xyz="{" ".join(map(str, rng.normal(size=3)))}"/></joint>'
        )
        links.append(f"l{number}")
    return f'<robot name="random">{"".join(lines)}</robot>'


def accelerations_differ_by(pin: Any, text: str, rng: np.random.Generator, coordinates: str) -> float:
    """Return the largest relative difference of joint accelerations from those of Pinocchio's articulated bodies."""
    model = pinocchio_of(pin, text)
    names = list(model.names)[1:]
    values = {f"{name}.{kind}": rng.uniform(-1.5, 1.5) for name in names for kind in "qv"}
    q, v = coordinates_in(pin, model, values)
    tau = rng.uniform(-5, 5, model.nv)
    theirs = pin.aba(model, model.createData(), q, v, tau)
    system = system_from(text)
    labels = {
        item.name: ("s", "v", "f") if isinstance(item, Prismatic) else ("phi", "w", "tau")
        for item in system.components
        if isinstance(item, Revolute | Prismatic)
    }
    assert set(labels) == set(names)
    starts = {f"{name}.{labels[name][k]}": values[f"{name}.{kind}"] for name in names for k, kind in enumerate("qv")}
    efforts = {f"{name}.{labels[name][2]}": effort for name, effort in zip(names, tau, strict=True)}
    mine = instant(system, starts, efforts, coordinates)
    return float(np.abs([mine(f"{name}.a") for name in names] - theirs).max() / np.abs(theirs).max())


@both
@pytest.mark.parametrize("seed", range(3))
def test_the_robot_accelerates_as_in_pinocchio(seed: int, coordinates: str, pin: Any) -> None:
    text = without_forces(ROBOT.read_text(encoding="utf-8"))
    assert accelerations_differ_by(pin, text, np.random.default_rng(seed), coordinates) < 1e-10


@both
@pytest.mark.parametrize("seed", range(8))
def test_any_robot_accelerates_as_in_pinocchio(seed: int, coordinates: str, pin: Any) -> None:
    rng = np.random.default_rng(seed)
    assert accelerations_differ_by(pin, random_robot(rng), rng, coordinates) < 1e-10


@both
def test_stretched_out_the_robot_is_held_by_the_torques_that_its_weights_ask(coordinates: str) -> None:
    """The facts in the file's head; friction is zero at rest, and no stop is touched."""
    lift = 9.81 * (8.058 * 0.2125 + 2.846 * (0.425 + 0.2422) + (1.37 + 1.3 + 0.365) * 0.8172)
    elbow = 9.81 * (2.846 * 0.2422 + (1.37 + 1.3 + 0.365) * 0.3922)
    mine = instant(read_urdf(ROBOT), {}, {"shoulder_lift.tau": -lift, "elbow.tau": -elbow}, coordinates)
    joints = [item.name for item in read_urdf(ROBOT).components if isinstance(item, Revolute)]
    assert [mine(f"{name}.a") for name in joints] == pytest.approx([0.0] * 6, abs=1e-10)
    assert (round(lift, 3), round(elbow, 3)) == (59.756, 18.439)
    flange = mine("wrist_3.r_0", 3) + Rotation.from_quat(np.roll(mine("wrist_3.Q", 4), -1)).apply([0, 0, 0.0996])
    assert flange == pytest.approx([-0.8172, -0.2329, 0.0628], abs=1e-12)


def test_links_are_where_pinocchio_puts_them(pin: Any) -> None:
    rng = np.random.default_rng(11)
    text = without_forces(ROBOT.read_text(encoding="utf-8"))
    model, system = pinocchio_of(pin, text), system_from(text)
    names = list(model.names)[1:]
    values = {f"{name}.q": rng.uniform(-3, 3) for name in names} | {f"{name}.v": 0.0 for name in names}
    data = model.createData()
    pin.framesForwardKinematics(model, data, coordinates_in(pin, model, values)[0])
    mine = instant(system, {f"{name}.phi": values[f"{name}.q"] for name in names}, {})
    for link in ("shoulder", "forearm", "wrist_3"):
        assert mine(f"{link}.r_0", 3) == pytest.approx(data.oMf[model.getFrameId(link)].translation, abs=1e-13)


GRIPPER = """\
<robot name="gripper">
  <link name="base">
    <inertial><mass value="9"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="lift" type="prismatic">
    <origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/><parent link="base"/><child link="palm"/><axis xyz="0 0.6 0.8"/>
  </joint>
  <link name="palm">
    <inertial><origin xyz="0 0 0.05" rpy="1 2 3"/><mass value="2"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial>
  </link>
  <joint name="turn" type="continuous">
    <origin xyz="0 0 0.1" rpy="0 0.5 0"/><parent link="palm"/><child link="left"/><axis xyz="0 0 2"/>
  </joint>
  <link name="left">
    <inertial><origin xyz="0.1 0 0.02"/><mass value="0.5"/>
      <inertia ixx="0.002" iyy="0.003" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="counter" type="revolute">
    <origin xyz="0.05 0 0.1" rpy="0.3 0 0"/><parent link="palm"/><child link="right"/><axis xyz="1 0 1"/>
    <limit lower="-3" upper="3" effort="5" velocity="1"/><mimic joint="turn" multiplier="-1.5" offset="0.2"/>
  </joint>
  <link name="right">
    <inertial><origin xyz="-0.1 0 0.02"/><mass value="0.4"/>
      <inertia ixx="0.002" iyy="0.003" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="rack" type="prismatic">
    <origin xyz="0 0.1 0"/><parent link="right"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="1"/><mimic joint="turn" multiplier="0.1"/>
  </joint>
  <link name="tip">
    <inertial><mass value="0.3"/><inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""


def test_mimicking_joints_accelerate_as_the_reduced_equations_of_pinocchio(pin: Any) -> None:
    """With q' = G r': G^T M G r'' = G^T (tau - h), M and h of the tree without mimicking; r = (lift, turn)."""
    rng = np.random.default_rng(3)
    model = pinocchio_of(pin, re.sub(r"<(mimic|limit)\b[^>]*/>", "", GRIPPER))
    names = list(model.names)[1:]
    rows = {"lift": [1, 0], "turn": [0, 1], "counter": [0, -1.5], "rack": [0, 0.1]}
    G = np.array([rows[name] for name in names])
    offsets = np.array([0.2 if name == "counter" else 0.0 for name in names])
    r, rate, tau = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2), rng.uniform(-2, 2, 2)
    values = dict(zip((f"{name}.q" for name in names), G @ r + offsets, strict=True))
    values |= dict(zip((f"{name}.v" for name in names), G @ rate, strict=True))
    q, v = coordinates_in(pin, model, values)
    data = model.createData()
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    h = pin.nonLinearEffects(model, data, q, v)
    theirs = G @ np.linalg.solve(G.T @ M @ G, tau - G.T @ h)
    system = system_from(GRIPPER)
    assert [item for item in system.components if isinstance(item, Gear)] == [
        Gear("counter_mimic", joint_a="counter", joint_b="turn", ratio=-1.5, offset=0.2),
        Gear("rack_mimic", joint_a="rack", joint_b="turn", ratio=0.1),
    ]
    labels = {"lift": ("s", "v"), "turn": ("phi", "w"), "counter": ("phi", "w"), "rack": ("s", "v")}
    starts = {f"{name}.{labels[name][k]}": values[f"{name}.{kind}"] for name in names for k, kind in enumerate("qv")}
    mine = instant(system, starts, {"lift.f": tau[0], "turn.tau": tau[1]})
    assert [mine(f"{name}.a") for name in names] == pytest.approx(theirs, rel=1e-10)


FREE = """\
<robot name="free">
  <link name="world"/>
  <joint name="base" type="KIND"><parent link="world"/><child link="hull"/><axis xyz="0 0 1"/></joint>
  <link name="hull">
    <inertial><origin xyz="0.1 -0.05 0.2" rpy="0.2 0.3 0.4"/><mass value="3"/>
      <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="arm" type="continuous">
    <origin xyz="0.2 0 0.1" rpy="0.5 0 0"/><parent link="hull"/><child link="rod"/><axis xyz="0 1 0"/>
  </joint>
  <link name="rod">
    <inertial><origin xyz="0 0 0.3"/><mass value="1"/>
      <inertia ixx="0.03" iyy="0.03" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""


@both
def test_a_floating_robot_accelerates_as_in_pinocchio(coordinates: str, pin: Any) -> None:
    """Pinocchio resolves velocities of the base in the base, and its acceleration is the spatial one."""
    rng = np.random.default_rng(5)
    text = FREE.replace("KIND", "floating")
    model = pinocchio_of(pin, text)
    q, v, tau = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq)), rng.normal(size=7), rng.normal()
    q[:7] = [0.1, 0.2, 0.3, *Rotation.random(random_state=4).as_quat()]
    a = pin.aba(model, model.createData(), q, v, np.array([0] * 6 + [tau]))
    R = Rotation.from_quat(q[3:7]).as_matrix()
    w = v[3:6]
    given_ = {
        "base.r_rel": q[:3], "base.v_rel": R @ v[:3], "base.Q_rel": [q[6], *q[3:6]], "base.w_rel": R @ w,
        "arm.phi": [math.atan2(q[8], q[7])], "arm.w": [v[6]],
    }  # fmt: skip
    starts = {
        (f"{name}[{k}]" if len(values) > 1 else name): float(value)
        for name, values in given_.items()
        for k, value in enumerate(values, 1)
    }
    mine = instant(system_from(text), starts, {"arm.tau": tau}, coordinates)
    assert mine("base.a_rel", 3) == pytest.approx(R @ (a[:3] + np.cross(w, v[:3])), rel=1e-9)
    assert mine("base.z_rel", 3) == pytest.approx(R @ a[3:6], rel=1e-9)
    assert mine("arm.a") == pytest.approx(a[6], rel=1e-9)


@both
def test_a_planar_robot_accelerates_as_in_pinocchio(coordinates: str, pin: Any) -> None:
    rng = np.random.default_rng(6)
    text = FREE.replace("KIND", "planar")
    model = pinocchio_of(pin, text)
    phi, swing = 0.7, -0.4
    q = np.array([0.1, 0.2, math.cos(phi), math.sin(phi), math.cos(swing), math.sin(swing)])
    v = rng.normal(size=4)
    a = pin.aba(model, model.createData(), q, v, np.zeros(4))
    R = np.array([[math.cos(phi), -math.sin(phi)], [math.sin(phi), math.cos(phi)]])
    velocity = R @ v[:2]
    starts = {"base.s_x": 0.1, "base.s_y": 0.2, "base.phi": phi, "base.v_x": velocity[0], "base.v_y": velocity[1],
              "base.w": v[2], "arm.phi": swing, "arm.w": v[3]}  # fmt: skip
    mine = instant(system_from(text), starts, {}, coordinates)
    expected = R @ (a[:2] + v[2] * np.array([-v[1], v[0]]))
    assert [mine("base.a_x"), mine("base.a_y")] == pytest.approx(expected, rel=1e-9)
    assert [mine("base.wd"), mine("arm.a")] == pytest.approx(a[2:], rel=1e-9)


# -- the parts -------------------------------------------------------------------------------------------------------


@given(st.tuples(*[st.floats(-10, 10) | st.sampled_from([0, 1e-9, 1e-300, np.pi, np.pi / 2])] * 3))
def test_axis_and_angle_turn_as_roll_pitch_and_yaw(rpy: tuple[float, float, float]) -> None:
    n, angle = axis_angle(Origin(rpy=rpy).R)
    assert math.hypot(*n) == pytest.approx(1, abs=1e-14)
    assert 0 <= angle <= np.pi
    expected = Rotation.from_euler("xyz", rpy).as_matrix()
    assert Rotation.from_rotvec(np.array(n) * angle).as_matrix() == pytest.approx(expected, abs=1e-14)


def test_a_robot_becomes_bodies_joints_and_brackets() -> None:
    system = read_urdf(ROBOT)
    assert [item.name for item in system.components if isinstance(item, Revolute) and item.actuated] == [
        "shoulder_pan", "shoulder_lift", "elbow", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint",
    ]  # fmt: skip
    kinds = {item.name: type(item) for item in system.components}
    assert kinds["elbow_origin"] is FixedTranslation
    assert kinds["shoulder_lift_origin"] is FixedRotation
    assert "base_link" not in kinds
    assert "tool0" not in kinds
    assert system.name == "six_axis"
    assert not system.planar
    (world,) = (item for item in system.components if item.name == "world")
    assert (world.g, world.n) == (9.81, (0, 0, -1))  # type: ignore[attr-defined]


def test_the_inertia_of_a_turned_frame_is_that_of_the_link() -> None:
    (palm,) = (item for item in system_from(GRIPPER).components if item.name == "palm")
    assert isinstance(palm, Body)
    R = Rotation.from_euler("xyz", (1, 2, 3)).as_matrix()
    expected = R @ np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.04]]) @ R.T
    mine = np.array(
        [[palm.I_11, palm.I_21, palm.I_31], [palm.I_21, palm.I_22, palm.I_32], [palm.I_31, palm.I_32, palm.I_33]]
    )
    assert mine.astype(float) == pytest.approx(expected, abs=1e-15)


def with_limit(attributes: str, kind: str = "revolute", more: str = "") -> System:
    return system_from(
        f'<robot name="r"><link name="base"/><joint name="j" type="{kind}"><parent link="base"/><child link="rod"/>'
        f"<limit {attributes}/>{more}</joint><link name='rod'><inertial><mass value='1'/>"
        "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>"
    )


def test_limits_become_stops_that_give_a_hundredth_under_the_greatest_effort() -> None:
    one = with_limit('lower="-1" upper="2" effort="30" velocity="4"').components[-1]
    assert one == RotationalStop("j_stop", joint="j", lower=-1, upper=2, c=3000, d=750)
    two = with_limit('upper="2"', "prismatic").components[-1]
    assert two == TranslationalStop("j_stop", joint="j", lower=0, upper=2, c=1000, d=1000)
    assert with_limit('effort="30" velocity="4"').components[-1].name == "rod"
    assert with_limit('lower="-1" upper="2" effort="30"', "continuous").components[-1].name == "rod"


def test_a_joint_starts_at_zero_or_at_the_limit_nearest_to_it() -> None:
    starts = {"-1 2": 0.0, "0.5 2": 0.5, "-2 -0.3": -0.3}
    for limits, start in starts.items():
        lower, upper = limits.split()
        joint = with_limit(f'lower="{lower}" upper="{upper}"').components[1]
        assert isinstance(joint, Revolute)
        assert joint.phi == start


def test_damping_and_friction_act_on_the_axis() -> None:
    dynamics = '<dynamics damping="0.3" friction="0.2"/>'
    assert with_limit("", more=dynamics).components[-2:] == (
        RotationalDamper("j_damper", joint="j", d=0.3),
        RotationalFriction("j_friction", joint="j", f_c=0.2),
    )
    assert with_limit("", "prismatic", dynamics).components[-2:] == (
        TranslationalDamper("j_damper", joint="j", d=0.3),
        TranslationalFriction("j_friction", joint="j", f_c=0.2),
    )


def test_a_root_with_inertia_is_fixed_to_the_world_and_floats_if_a_joint_says_so() -> None:
    fixed = system_from(GRIPPER)
    assert ("world.frame_b", "base.frame_a") in fixed.connections
    floating = system_from(FREE.replace("KIND", "floating"))
    assert isinstance(floating.components[1], FreeMotion)
    assert ("world.frame_b", "base.frame_a") in floating.connections
    assert isinstance(system_from(FREE.replace("KIND", "planar")).components[1], Planar)


def test_names_become_identifiers_and_a_link_gives_way_to_a_joint() -> None:
    system = system_from(
        '<robot name="a robot"><link name="base"/><joint name="j-1" type="continuous"><parent link="base"/>'
        f'<child link="j-1"/></joint><link name="j-1">{BODY}</link><joint name="2 ü" type="prismatic">'
        f'<parent link="j-1"/><child link="b"/></joint><link name="b">{BODY}</link></robot>'
    )
    assert system.name == "a_robot"
    assert [item.name for item in system.components] == ["world", "j_1", "j_1_link", "_2__", "b"]


def test_visuals_are_kept_with_their_frames(tmp_path: Path) -> None:
    found = visuals(ROBOT)
    assert len(found) == 7
    assert found[0] == Visual(
        "base_link", "world.frame_b", Origin((0, 0, 0.05)), "cylinder", (0.075, 0.1), colour=(0.7, 0.7, 0.7, 1)
    )
    assert found[-1] == Visual(
        "wrist_3", "wrist_3.frame_a", Origin(), "mesh", (0.001, 0.001, 0.001), "package://six_axis/flange.stl",
        (0.2, 0.4, 0.8, 1),
    )  # fmt: skip
    text = (
        '<robot name="r"><link name="a"><visual><geometry><sphere radius="1"/></geometry><material name="red">'
        '<color rgba="1 0 0 1"/></material></visual><visual><geometry><box size="1 2 3"/></geometry></visual></link>'
        '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint><link name="b"><visual><geometry>'
        '<mesh filename="b.stl"/></geometry></visual></link></robot>'
    )
    (tmp_path / "r.urdf").write_text(text, encoding="utf-8")
    assert [(item.kind, item.size, item.frame, item.colour) for item in visuals(tmp_path / "r.urdf")] == [
        ("sphere", (1,), "world.frame_b", (1, 0, 0, 1)),
        ("box", (1, 2, 3), "world.frame_b", None),
        ("mesh", (1, 1, 1), "world.frame_b", None),
    ]


def test_the_frame_of_every_link_is_a_frame_of_the_system() -> None:
    for text in (ROBOT.read_text(encoding="utf-8"), GRIPPER, FREE.replace("KIND", "floating")):
        robot = robot_of(text.encode(), Source("x.urdf"))
        frames = frames_of(robot, names_of(robot))
        assert set(frames) == set(robot.links)
        assert set(frames.values()) <= system_of(robot).frames()


# -- mistakes --------------------------------------------------------------------------------------------------------

ARM = """\
<robot name="arm">
  <link name="base"/>
  <joint name="hinge" type="revolute">
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <parent link="base"/>
    <child link="rod"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
    <dynamics damping="0.1" friction="0.1"/>
  </joint>
  <link name="rod">
    <inertial>
      <origin xyz="0.5 0 0"/>
      <mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual>
  </link>
</robot>
"""


def weld(name: str, parent: str, child: str, more: str = "") -> str:
    return f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'


MISTAKES: dict[tuple[str, str], tuple[type[MbfmuError], int, str]] = {
    ("<robot", "<!DOCTYPE robot><robot"): (ModelFileError, 1, "a document type is declared"),
    ("<robot", '<!DOCTYPE robot [<!ENTITY a "b">]><robot'): (ModelFileError, 1, "a document type is declared"),
    ("<robot", '<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot'): (ModelFileError, 1, "a document type"),
    ('name="arm"', 'name="&a;"'): (ModelFileError, 1, "undefined entity"),
    ("</robot>", ""): (ModelFileError, 20, "this is not valid XML: no element found"),
    ('<link name="base"/>', '<link name="base">'): (ModelFileError, 19, "mismatched tag"),
    ('<link name="base"/>', '<link name="base" name="c"/>'): (ModelFileError, 2, "duplicate attribute"),
    ("<robot", '<?xml version="1.0" encoding="klingon"?><robot'): (ModelFileError, 1, "this is not valid XML"),
    ("<robot", '<?xml version="1.0" encoding="utf-7"?><robot'): (ModelFileError, 1, "this is not valid XML"),
    ('name="arm"', 'name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"'): (ModelFileError, 1, "run `xacro"),
    ('<link name="base"/>', "<xacro:base/>"): (ModelFileError, 2, "run `xacro"),
    ('<robot name="arm">', '<robots name="arm">'): (ModelFileError, 19, "mismatched tag"),
    ('<link name="base"/>', "<link/>"): (ModelFileError, 2, 'a <link> needs name="..."'),
    ('<link name="base"/>', '<link name="base"/><link name="base"/>'): (NameInUseError, 2, "two links 'base'"),
    ("</joint>", "</joint>" + weld("hinge", "base", "rod")): (NameInUseError, 10, "two joints 'hinge'"),
    ("</joint>", "</joint>" + weld("again", "base", "rod")): (
        ModelError, 10, "'rod' is the child of two joints, 'hinge' and 'again'",
    ),
    ("</joint>", '</joint><link name="a"/>'): (ModelError, 10, "both 'base' and 'a' are the child of no joint"),
    ("</joint>", '</joint><link name="a"/><link name="b"/>' + weld("x", "a", "b") + weld("y", "b", "a")): (
        ModelError, 10, "joint 'x' is in a circle",
    ),
    ('<link name="base"/>', '<link name="base"/>' + weld("x", "rod", "base")): (ModelError, 1, "a tree needs a root"),
    ('type="revolute"', 'type="revolut"'): (UnknownNameError, 3, "no type 'revolut'; did you mean 'revolute'"),
    ('type="revolute"', ""): (ModelFileError, 3, 'a <joint> needs type="..."'),
    ('parent link="base"', 'parent link="bse"'): (UnknownNameError, 5, "no link 'bse'; did you mean 'base'"),
    ('child link="rod"', 'child link="rods"'): (UnknownNameError, 6, "no link 'rods'; did you mean 'rod'"),
    ('<parent link="base"/>', ""): (ModelFileError, 3, 'a <parent> needs link="..."'),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>'): (AxisError, 7, "the axis has no direction"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1e-320 0"/>'): (AxisError, 7, "the axis has no direction"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1"/>'): (ModelFileError, 7, "it needs 3 number(s), not 2"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 nan 0"/>'): (ValueRangeError, 7, "nan is not a number"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1e400 0"/>'): (ValueRangeError, 7, "1e400 is not a number"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1_0 0"/>'): (ValueRangeError, 7, "1_0 is not a number"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 ٣ 0"/>'): (ValueRangeError, 7, "٣ is not a number"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis/>'): (ModelFileError, 7, "has one <axis> at most"),
    ('lower="-1"', 'lower="2"'): (ValueRangeError, 8, "lower = 2 is above upper = 1: swap them"),
    ('effort="1"', 'effort="-1"'): (ValueRangeError, 8, "<limit effort>: -1 must be at least 0"),
    ('damping="0.1"', 'damping="-0.1"'): (ValueRangeError, 9, "<dynamics damping>: -0.1 must be at least 0"),
    ('friction="0.1"', 'friction="inf"'): (ValueRangeError, 9, "inf is not a number"),
    ('<mass value="1"/>', '<mass value="-1"/>'): (ValueRangeError, 14, "<mass value>: -1 must be at least 0"),
    ('<mass value="1"/>', '<mass value="nan"/>'): (ValueRangeError, 14, "nan is not a number"),
    ('<mass value="1"/>', ""): (ModelFileError, 12, '<mass value="">: it needs 1 number(s)'),
    ('<mass value="1"/>', '<mass value="0"/>'): (MassError, 11, "'rod' moves (by the joint 'hinge') but has no mass"),
    ('ixx="0.1"', 'ixx="-0.1"'): (ValueRangeError, 15, "<inertia ixx>: -0.1 must be at least 0"),
    ('ixx="0.1"', ""): (ModelFileError, 15, '<inertia ixx="">: it needs 1 number(s)'),
    ('ixx="0.1"', 'ixx="0.3"'): (MassError, 15, "link 'rod': no body has principal moments of 0.1, 0.1, 0.3"),
    ('ixy="0"', 'ixy="0.2"'): (MassError, 15, "link 'rod': the inertia is not positive"),
    ('size="1 1 1"', 'size="1 1"'): (ModelFileError, 17, "it needs 3 number(s)"),
    ("<box", "<cone"): (ModelFileError, 17, "a <geometry> with one of box, cylinder"),
    ('<axis xyz="0 1 0"/>', '<mimic joint="hing"/>'): (UnknownNameError, 7, "did you mean 'hinge'"),
    ('<axis xyz="0 1 0"/>', '<mimic joint="hinge"/>'): (ModelError, 7, "'hinge' mimics itself"),
    ('<axis xyz="0 1 0"/>', "<mimic/>"): (ModelFileError, 7, 'a <mimic> needs joint="..."'),
    ("</joint>", '</joint><link name="x"/>' + weld("again", "base", "x", '<mimic joint="hinge"/>')): (
        ModelError, 10, "'again' is fixed and cannot mimic another",
    ),
    ('joint name="hinge"', 'joint name="world"'): (NameInUseError, 3, "joint 'world' and the world are both 'world'"),
    ("</joint>", f'</joint><link name="a b">{BODY}</link><link name="a-b">{BODY}</link>'
     + weld("x", "base", "a b") + weld("y", "base", "a-b")): (
        NameInUseError, 10, "link 'a-b' and link 'a b' are both 'a_b' as a name of a component: rename one",
    ),
    ("</joint>", "</joint>" + "<a>" * 100): (ModelFileError, 10, "elements deep"),
}  # fmt: skip


def refused(text: str) -> MbfmuError:
    with pytest.raises(MbfmuError) as caught:
        system_from(text)
    assert re.match(r"'x\.urdf', line \d+: ", str(caught.value))
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(("old", "new"), MISTAKES, ids=lambda text: re.sub(r"\W+", "_", text)[:30])
def test_a_mistake_is_one_line_with_the_file_the_line_and_the_remedy(old: str, new: str) -> None:
    kind, line, text = MISTAKES[old, new]
    assert old in ARM
    error = refused(ARM.replace(old, new, 1))
    assert isinstance(error, kind)
    assert text in str(error)
    assert f", line {line}: " in str(error), str(error)


def test_files_that_are_no_urdf_are_refused(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf.xacro").write_text(ARM, encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"is a xacro file: run `xacro arm\.urdf\.xacro"):
        mbfmu.load(tmp_path / "arm.urdf.xacro")
    with pytest.raises(ModelFileError, match=r"no model file '.*missing\.urdf'"):
        mbfmu.load(tmp_path / "missing.urdf")
    (tmp_path / "large.urdf").write_bytes(b" " * (LARGEST + 1))
    with pytest.raises(ModelFileError, match="is larger than 10 MB"):
        mbfmu.load(tmp_path / "large.urdf")
    (tmp_path / "arm.urdf").write_text(ARM.replace("<robot", "<sdf").replace("robot>", "sdf>"), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"arm\.urdf', line 1: the root of a URDF is <robot>, not <sdf>"):
        mbfmu.load(tmp_path / "arm.urdf")


@pytest.mark.parametrize(
    "text",
    [
        "<a>" * (LARGEST // 3), "<a/>" * (LARGEST // 4), "<r>" + "<a/>" * (LARGEST // 4 - 9) + "</r>",
        '<robot name="' + "x" * (LARGEST - 100) + '"/>', "<robot>" + " " * (LARGEST - 20) + "</robot>",
        '<robot name="r">' + "".join(f'<link name="l{k}"/>' for k in range(150_000)) + "</robot>",
        "<robot><link " + " ".join(f'a{k}="1"' for k in range(700_000)) + "/></robot>",
        '<robot name="r"><link name="a"/>' + '<joint name="j" type="x"/>' * 100_000 + "</robot>",
        '<robot name="r">' + "".join(f'<link name="l{k}"/>' for k in range(4_000))
        + "".join(f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
                  f'<mimic joint="j{(k + 1) % 3999}"/></joint>' for k in range(3_999)) + "</robot>",
    ],
    ids=range(9),
)  # fmt: skip
def test_a_long_file_of_nonsense_is_refused_at_once(text: str) -> None:
    refused(text[:LARGEST])


def read_or_refused(content: bytes) -> None:
    try:
        system_of(robot_of(content, Source("x.urdf")))
    except MbfmuError as error:
        assert re.match(r"'x\.urdf', line \d+: ", str(error))  # noqa: PT017 - it may be read as well


@given(st.integers(0, len(ARM)), st.integers(0, 20), st.text(max_size=6) | st.sampled_from(["1e300", "nan", '"', "<"]))
@settings(deadline=None, max_examples=300)
def test_a_robot_with_a_piece_replaced_is_read_or_refused(start: int, length: int, new: str) -> None:
    read_or_refused((ARM[:start] + new + ARM[start + length :]).encode("utf-8", "replace"))


VALUES = st.one_of(
    st.floats().map(repr), st.floats(-1e30, 1e30).map(repr), st.text(st.characters(codec="utf-8"), max_size=5),
    st.sampled_from(["0 0 0", "1e-320 0 0", "1e30 -1e30 1", "rod", "base", "hinge", "fixed", "floating", "planar"]),
)  # fmt: skip


@given(VALUES, st.data())
@settings(deadline=None, max_examples=300)
def test_a_robot_with_one_random_attribute_is_read_or_refused(value: str, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(list(re.finditer(r'(?<==")[^"]*(?=")', ARM))))
    escaped = value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    read_or_refused((ARM[: place.start()] + escaped + ARM[place.end() :]).encode())


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ModelFileError):
        robot_of(content, Source("x.urdf"))
