"""Robots as URDF: they move as in Pinocchio, and one clear line for every mistake."""

import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from harness import examples, extra, thorough
from hypothesis import given
from scipy.spatial.transform import Rotation

import mbfmu
from mbfmu import cli
from mbfmu.dae import COORDINATES, Dae, derive
from mbfmu.errors import (
    AxisError,
    MbfmuError,
    ModelError,
    ModelFileError,
    NameInUseError,
    UnknownNameError,
    UsageError,
    ValueRangeError,
)
from mbfmu.model import (
    Body,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    Gear,
    LimitedTorque,
    Planar,
    Prismatic,
    Revolute,
    RotationalDamper,
    RotationalFriction,
    RotationalRotor,
    RotationalStop,
    Spring,
    System,
    TranslationalDamper,
    TranslationalFriction,
    TranslationalStop,
    connect,
)
from mbfmu.model.library import known_models
from mbfmu.model.robot.assembly import axis_angle, frames_of, names_of, system_of
from mbfmu.model.robot.masses import inertias_on_axes, notices_of_masses, rigid_bodies
from mbfmu.model.robot.stiffness import suited
from mbfmu.model.source import SourceText
from mbfmu.model.urdf import Origin, RobotOptions, Visual, read_urdf, visuals
from mbfmu.model.urdf.robot import LARGEST, robot_of
from mbfmu.show.viewer import looks_of

Array = npt.NDArray[np.float64]
ROBOT = known_models()["robot"]
BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'


def system_from(text: str, **options: Any) -> System:
    asked = RobotOptions(**options)
    return system_of(robot_of(text.encode(), SourceText("x.urdf"), asked), asked)


def notices_from(text: str, **options: Any) -> tuple[str, ...]:
    robot = robot_of(text.encode(), SourceText("x.urdf"), RobotOptions(**options))
    return (*robot.notices, *notices_of_masses(robot), *suited(robot).notices)


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
    q = np.array(dae.start.guess(s, p, t), dtype=float).ravel()
    v = _rates(dae, q, s, p)
    a, lambda_ = dae.acceleration(q, v, [], u, p, t)
    y = dae.output(q, v, [], dae.start.counted(q, s, p, t), a, lambda_, u, p, t)
    found = dict(zip((item.name for item in dae.outputs), np.array(y).ravel().tolist(), strict=True))
    assert max([0.0, *np.abs(np.array(dae.constraints.Phi(q, p, t))).ravel()]) < 1e-13
    return Instant(found)


def _rates(dae: Dae, q: Array, s: Array, p: Array) -> Array:
    """Return the velocities that the start values say, shape (n,)."""
    zero = np.zeros(dae.n)

    def residual(v: Array) -> Array:
        moving = np.array(dae.constraints.Phi_q(q, p, 0.0)) @ v
        return np.concatenate([moving.ravel(), np.array(dae.start.rates(q, v, s, p, 0.0)).ravel()])

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
@pytest.mark.parametrize("seed", thorough(zip(range(8)), lambda seed: seed < 3))
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


@both
def test_a_rotor_behind_a_gear_accelerates_as_pinocchios_armature(coordinates: str, pin: Any) -> None:
    """Drake's elements; the ratio from the transmission where there is none of Drake's."""
    rng = np.random.default_rng(7)
    text = without_forces(ROBOT.read_text(encoding="utf-8"))
    drives = {
        "shoulder_pan": (2e-4, 50.0, "drake"),
        "elbow": (1e-4, -101.0, "reduction"),
        "wrist_3_joint": (0.02, 1, ""),
    }
    lines = ""
    for name, (J, ratio, kind) in drives.items():
        gear = {"drake": f'<drake:gear_ratio value="{ratio}"/>', "": ""}.get(
            kind, f"<mechanicalReduction> {ratio} </mechanicalReduction>"
        )
        actuator = f'<actuator name="m"><drake:rotor_inertia value="{J}"/>{gear}</actuator>'
        lines += f'<transmission name="t_{name}"><joint name="{name}"/>{actuator}</transmission>'
    model = pinocchio_of(pin, text)
    names = list(model.names)[1:]
    model.armature = np.array([drives[name][0] * drives[name][1] ** 2 if name in drives else 0.0 for name in names])
    q, v, tau = (rng.uniform(-1, 1, 6) for _ in range(3))
    theirs = pin.aba(model, model.createData(), q, v, tau)
    starts = {f"{name}.{label}": x[k] for k, name in enumerate(names) for label, x in (("phi", q), ("w", v))}
    efforts = {f"{name}.tau": tau[k] for k, name in enumerate(names)}
    mine = instant(system_from(text.replace("</robot>", f"{lines}</robot>")), starts, efforts, coordinates)
    assert [mine(f"{name}.a") for name in names] == pytest.approx(theirs, rel=1e-10)


@both
def test_a_wrench_on_a_link_accelerates_the_robot_as_pinocchios_external_force(coordinates: str, pin: Any) -> None:
    rng = np.random.default_rng(8)
    text = without_forces(ROBOT.read_text(encoding="utf-8"))
    model, system = pinocchio_of(pin, text), system_from(text, wrenches=("tool0", "forearm"))
    names = list(model.names)[1:]
    q, v, tau = (rng.uniform(-1, 1, 6) for _ in range(3))
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    outer = [pin.Force.Zero() for _ in range(model.njoints)]
    efforts = {f"{name}.tau": tau[k] for k, name in enumerate(names)}
    for link in ("tool0", "forearm"):
        frame = model.getFrameId(link, pin.BODY)
        f, t = rng.uniform(-9, 9, 3), rng.uniform(-2, 2, 3)
        here = pin.SE3(np.eye(3), data.oMf[frame].translation)
        joint = model.frames[frame].parentJoint
        outer[joint] += data.oMi[joint].actInv(here.act(pin.Force(f, t)))
        efforts |= {f"{link}_force.f[{k}]": x for k, x in enumerate(f, 1)}
        efforts |= {f"{link}_torque.t[{k}]": x for k, x in enumerate(t, 1)}
    theirs = pin.aba(model, model.createData(), q, v, tau, outer)
    starts = {f"{name}.{label}": x[k] for k, name in enumerate(names) for label, x in (("phi", q), ("w", v))}
    mine = instant(system, starts, efforts, coordinates)
    assert [mine(f"{name}.a") for name in names] == pytest.approx(theirs, rel=1e-10)


def test_links_without_mass_between_joints_move_as_in_pinocchio(pin: Any) -> None:
    """Three revolutes in a row, as the hips of human models have."""
    rng = np.random.default_rng(9)
    text = '<robot name="hip"><link name="l0"/>'
    for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1")):
        text += (
            f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="{axis}"/>'
        )
        text += f'</joint><link name="l{k + 1}">{random_inertia(rng) if k == 2 else ""}</link>'
    assert accelerations_differ_by(pin, f"{text}</robot>", rng, "joint") < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_the_inertia_on_an_axis_is_the_effort_per_acceleration_there(seed: int, pin: Any) -> None:
    """One over the diagonal of Pinocchio's inverse mass matrix, the base floating or not."""
    rng = np.random.default_rng(seed)
    text, base = random_robot(rng), ("", "floating")[seed % 2]
    root = pin.JointModelFreeFlyer() if base else pin.JointModelComposite(0)
    limited = re.sub(r"(<joint [^>]*type=\"(revolute|prismatic)\"[^>]*>)", r'\1<limit effort="1" velocity="1"/>', text)
    model = pin.buildModelFromXML(limited, root) if base else pinocchio_of(pin, text)
    names = list(model.names)[2 if base else 1 :]
    values = {f"{name}.{kind}": rng.uniform(-1.5, 1.5) for name in list(model.names)[1:] for kind in "qv"}
    q = pin.neutral(model)
    for name in names:
        joint = model.joints[model.getJointId(name)]
        value = values[f"{name}.q"]
        q[joint.idx_q : joint.idx_q + joint.nq] = [math.cos(value), math.sin(value)] if joint.nq == 2 else [value]
    M = pin.crba(model, model.createData(), q)
    inverse = np.linalg.inv(np.triu(M) + np.triu(M, 1).T)
    mine = inertias_on_axes(
        robot_of(text.encode(), SourceText("x.urdf"), RobotOptions(base)), {name: values[f"{name}.q"] for name in names}
    )
    theirs = {name: 1 / inverse[(v := model.joints[model.getJointId(name)].idx_v), v] for name in names}
    assert mine == pytest.approx(theirs, rel=1e-8)


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


def light(more: str, J: float = 1e-4) -> str:
    """One joint with an inertia J about its axis, without weight."""
    return (
        '<robot name="r"><link name="base"/><joint name="j" type="revolute"><parent link="base"/><child link="rod"/>'
        f'{more}</joint><link name="rod"><inertial><mass value="1"/><inertia ixx="{J}" iyy="{J}" izz="{J}"/></inertial>'
        "</link></robot>"
    )


def test_stops_of_light_joints_are_soft_enough_for_the_default_step() -> None:
    """They swing through at a period of 2 pi steps of 1 ms; a give of more than 0.2 is told."""
    limit = '<limit lower="-1" upper="2" effort="{}" velocity="4"/>'
    stop = system_from(light(limit.format(15))).components[-1]
    assert isinstance(stop, RotationalStop)
    assert (stop.c, stop.d) == pytest.approx((100, 25))
    assert notices_from(light(limit.format(15))) == ()
    (said,) = notices_from(light(limit.format(50)))
    assert said.endswith("they yield under the maximum efforts: 'j' (0.5 rad)")
    assert notices_from(light(limit.format(50)), limits=False) == ()
    assert notices_from(light(limit.format(50), J=0.01)) == ()


def test_friction_that_stops_light_joints_at_once_asks_for_a_stiff_stepper_and_runs() -> None:
    """Pushed to 2 rad/s against twice the Coulomb torque, it moves at the speed where friction and torque are equal."""
    text = light('<dynamics damping="0.5" friction="1"/>')
    system = system_from(text)
    assert system.stepper == "radau"
    (said,) = notices_from(text)
    assert said == "the default stepper is 'radau', as friction and damping stop light joints at once: 'j' (1e-06 s)"
    assert system_from(light('<dynamics damping="0.5"/>', J=0.1)).stepper == ""
    assert system_from(text, friction=False).stepper == ""
    found = mbfmu.simulate(system, 0.05, inputs={"j.tau": "2"}, error_samples=0)
    assert found["j.w"][-1] == pytest.approx(2.0, rel=1e-9)


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
        robot = robot_of(text.encode(), SourceText("x.urdf"))
        frames = frames_of(robot, names_of(robot))
        assert set(frames) == set(robot.links)
        assert set(frames.values()) <= system_of(robot).frames()


# -- what files have that the format does not say, and what is asked of them -----------------------------------------


def test_a_file_that_names_the_namespace_of_xacro_is_plain_urdf() -> None:
    named = ARM.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"')
    assert system_from(named) == system_from(ARM)


XACRO = """\
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find parts)/rod.xacro"/>
  <link name="base"/>
  <xacro:rod parent="base" m="${2*half}" axis="$(optenv AXIS_OF_THE_ARM 0 1 0)"/>
</robot>
"""
PART = """\
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="half" value="0.5"/>
  <xacro:macro name="rod" params="parent m axis">
    <joint name="hinge" type="revolute">
      <origin xyz="0 0 1" rpy="0 0 0"/><parent link="${parent}"/><child link="rod"/><axis xyz="${axis}"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="0.1" friction="0.1"/>
    </joint>
    <link name="rod">
      <inertial><origin xyz="${half} 0 0"/><mass value="${m}"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    </link>
  </xacro:macro>
</robot>
"""


def test_arguments_of_xacro_and_relative_folders_of_packages_come_from_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "app").mkdir()
    inner = """<robot xmlns:xacro="x"><xacro:arg name="m" default="1"/><link name="base"/>
      <link name="rod"><inertial><mass value="$(arg m)"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="rod"/></joint></robot>"""
    (tmp_path / "parts" / "rod.xacro").write_text(inner, encoding="utf-8")
    outer = '<robot name="r" xmlns:xacro="x"><xacro:include filename="$(find parts)/rod.xacro"/></robot>'
    (tmp_path / "app" / "robot.xacro").write_text(outer, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    options = RobotOptions(packages={"parts": "parts"}, arguments={"m": "2.5"})
    system = mbfmu.load(Path("app") / "robot.xacro", robot=options)
    assert isinstance(system, System)
    assert [item.m for item in system.components if isinstance(item, Body)] == [2.5]


def test_a_parent_world_that_is_no_link_is_the_world(tmp_path: Path) -> None:
    text = """<robot name="r"><link name="rod"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
      </link>{}<joint name="j" type="continuous"><parent link="world"/><child link="rod"/></joint></robot>"""
    paths = [tmp_path / name for name in ("without.urdf", "with.urdf")]
    for path, link in zip(paths, ("", '<link name="world"/>'), strict=True):
        path.write_text(text.format(link), encoding="utf-8")
    assert mbfmu.load(paths[0]) == mbfmu.load(paths[1])


def test_xacro_is_expanded_with_packages_from_options_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = tmp_path / "elsewhere"
    (apart / "parts").mkdir(parents=True)
    (apart / "parts" / "rod.xacro").write_text(PART, encoding="utf-8")
    (tmp_path / "arm").mkdir()
    path = tmp_path / "arm" / "arm.urdf.xacro"
    path.write_text(XACRO, encoding="utf-8")
    expected = system_from(ARM)
    assert mbfmu.load(path, robot=RobotOptions(packages={"parts": apart / "parts"})) == expected
    with pytest.raises(
        ModelFileError, match=r"line 1: \$\(find parts\): give the package's folder with --package parts=FOLDER$"
    ):
        mbfmu.load(path)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(apart))
    assert mbfmu.load(path) == expected
    monkeypatch.setenv("AXIS_OF_THE_ARM", "0 0 1")
    (joint,) = (item for item in mbfmu.load(path).components if isinstance(item, Revolute))  # type: ignore[union-attr]
    assert joint.n == (0, 0, 1)


def test_without_its_reader_xacro_is_refused_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO, encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"line 2: <xacro:include> .*pip install .*\[xacro\].*, or run `xacro arm"):
        mbfmu.load(path)


def test_a_mistake_in_xacro_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(XACRO.replace("$(find parts)", str(tmp_path)).replace("2*half", "2*hal"), encoding="utf-8")
    (tmp_path / "rod.xacro").write_text(PART, encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"arm\.xacro', line 1: xacro: [^\n]+$"):
        mbfmu.load(path)


def test_inertias_are_checked_of_bodies_that_move_after_fixed_links_are_merged() -> None:
    """A camera fixed to an arm, and one fixed to the world; the arm makes up for the first."""
    wrong = BODY.replace('ixx="1"', 'ixx="3"')
    fixed = ARM.replace('<link name="base"/>', f'<link name="base">{wrong}</link>')
    assert not any("principal moments" in text for text in notices_from(fixed))
    alone = ARM.replace('ixx="0.1"', 'ixx="0.3"')
    assert notices_from(alone)[0].startswith("link 'rod': no body has principal moments of 0.1, 0.1, 0.3 kg.m2")
    heavy = BODY.replace('value="1"', 'value="90"').replace("<inertial>", '<inertial><origin xyz="0 1 0"/>')
    merged = alone.replace("</robot>", f'<link name="weight">{heavy}</link>{weld("w", "rod", "weight")}</robot>')
    assert notices_from(merged) == ()
    robot = robot_of(merged.encode(), SourceText("x.urdf"))
    body = rigid_bodies(robot)["rod"]
    assert (body.links, body.m) == (("rod", "weight"), 91)
    assert body.r_CM == pytest.approx([0.5 / 91, 90 / 91, 0])
    assert body.inertia[2, 2] == pytest.approx(0.1 + 1 + 90 / 91 * 1.25)
    assert notices_from(ARM.replace('ixy="0"', 'ixy="0.2"'))[0].startswith("link 'rod': the inertia is not positive")


def test_a_joint_that_moves_nothing_with_mass_is_fixed_and_told() -> None:
    text = ARM.replace("</robot>", '<joint name="tip" type="revolute"><parent link="rod"/><child link="tool"/></joint>'
                       '<link name="tool"/></robot>')  # fmt: skip
    assert notices_from(text) == ("fixed, as they move nothing with mass: 'tip'",)
    assert [item.name for item in system_from(text).components] == [item.name for item in system_from(ARM).components]


def test_mimicking_of_a_fixed_joint_is_left_out_and_told() -> None:
    fixed = ARM.replace("</joint>", '</joint><link name="x"/>' + weld("again", "base", "x", '<mimic joint="hinge"/>'))
    assert notices_from(fixed) == ("mimicking of joints that are fixed is left out: 'again'",)


def fingers(heavy: str, **more: str) -> str:
    """Return a hand whose fingers a, b and c slide along y; b and c mimic the one before, and one has 0.2 kg."""
    mass = '<inertial><mass value="0.2"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4"/></inertial>'
    mimics = {"a": "", "b": '<mimic joint="a" multiplier="-2"/>', "c": '<mimic joint="b" multiplier="0.5"/>'}
    text = '<robot name="hand"><link name="palm"/>'
    for name, mimic in mimics.items():
        text += f'<link name="{name}_tip">{mass if name in heavy else ""}</link>'
        text += f'<joint name="{name}" type="prismatic"><parent link="palm"/><child link="{name}_tip"/>'
        text += f'<axis xyz="0 1 0"/>{mimic}{more.get(name, "")}</joint>'
    return f"{text}</robot>"


RATES = {"a": 1.0, "b": -2.0, "c": -1.0}
"""Rates of the fingers, for that of the first."""


@pytest.mark.parametrize("heavy", ["a", "b", "c", "bc"])
def test_fingers_that_mimic_move_the_mass_of_others_whoever_has_it(heavy: str) -> None:
    """Virtual power: the inertia at the first finger is the sum of ``m rate^2``, here also of a damper's effort."""
    damped = dict.fromkeys("abc", '<dynamics damping="3"/>')
    force, speed = 0.7, 0.4
    found = instant(system_from(fingers(heavy, **damped)), {"a.s": 0.0, "a.v": speed}, {"a.f": force})
    inertia = sum(0.2 * RATES[name] ** 2 for name in heavy)
    expected = (force - sum(3 * rate**2 for rate in RATES.values()) * speed) / inertia
    assert [found(f"{name}.a") for name in "abc"] == pytest.approx([expected * rate for rate in RATES.values()])
    assert found("energy.kinetic") == pytest.approx(inertia * speed**2 / 2)


def test_a_coupling_transmits_what_the_finger_without_mass_takes() -> None:
    """The first finger has no mass, so that the whole force goes on, to a finger of the rate -2, at the same power."""
    found = instant(system_from(fingers("c")), {"a.s": 0.0}, {"a.f": 0.7})
    assert found("c_mimic.f") == pytest.approx(0.2 * found("c.a"), abs=1e-12)
    assert found("b_mimic.f") == pytest.approx(-0.7 / 2, abs=1e-12)


@pytest.mark.parametrize("stepper", ["projected", "rattle", "direct"])
def test_a_hand_whose_driven_finger_has_no_mass_closes_as_newton_says(stepper: str) -> None:
    result = mbfmu.simulate(system_from(fingers("b")), 0.05, inputs={"a.f": "0.5"}, stepper=stepper, step=1e-3)
    assert result["a.s"][-1] == pytest.approx(0.5 / (0.2 * 4) * 0.05**2 / 2, rel=1e-9)
    assert result["b.s"][-1] == pytest.approx(-2 * result["a.s"][-1], rel=1e-9)


def test_a_joint_without_mass_follows_as_one_with_next_to_no_mass() -> None:
    """In space, on an arm that turns and floats, whichever of two hinges mimics the other."""
    light = '<inertial><mass value="1e-9"/><inertia ixx="1e-9" iyy="1e-9" izz="1e-9"/></inertial>'
    heavy = '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/><inertia ixx="0.1" iyy="0.2" izz="0.25"/></inertial>'
    for leader in ("left", "right"):
        text = f'<robot name="hand"><link name="arm">{heavy}</link><link name="left">LIGHT</link>'
        text += f'<link name="right">{heavy}</link>'
        for name, axis in (("left", "0.6 0 0.8"), ("right", "0 1 0")):
            mimic = "" if name == leader else f'<mimic joint="{leader}" multiplier="-1.7"/>'
            text += f'<joint name="{name}_joint" type="continuous"><origin xyz="0 0.3 0.1" rpy="0.3 0 1"/>'
            text += f'<parent link="arm"/><child link="{name}"/><axis xyz="{axis}"/>{mimic}</joint>'
        text = text.replace('joint="left"', 'joint="left_joint"').replace('joint="right"', 'joint="right_joint"')
        starts = {f"{leader}_joint.phi": 0.0, f"{leader}_joint.w": 2.0}
        efforts = {f"{leader}_joint.tau": 3.0}
        found, near = (
            instant(system_from(f"{text.replace('LIGHT', mass)}</robot>", base="floating"), starts, efforts)
            for mass in ("", light)
        )
        names = [name for name in near.y if name.endswith((".a", ".a_0[1]", ".a_0[3]", "energy.kinetic"))]
        assert {"left_joint.a", "right_joint.a"} < set(names)
        assert [found(name) for name in names if name in found.y] == pytest.approx(
            [near(name) for name in names if name in found.y], rel=1e-6
        )


def test_a_finger_that_mimics_one_without_mass_by_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match="joint 'b' mimics 'a', which moves no mass, with a multiplier of 0: make it"):
        system_from(fingers("b").replace('multiplier="-2"', 'multiplier="0"'))
    with pytest.raises(ModelError, match="joint 'b' mimics 'a', which moves no mass"):
        system_from(fingers("c").replace('multiplier="-2"', 'multiplier="0"'))
    held = instant(system_from(fingers("ab").replace('multiplier="-2"', 'multiplier="0"')), {"a.s": 0.0}, {"a.f": 1.0})
    assert [held(f"{name}.a") for name in "ab"] == pytest.approx([5.0, 0.0], abs=1e-12)


def test_fingers_without_any_mass_are_fixed_and_told() -> None:
    assert notices_from(fingers("")) == ("fixed, as they move nothing with mass: 'a', 'b', 'c'",)


def test_one_notice_lists_what_is_left_out_and_what_is_decided(tmp_path: Path) -> None:
    text = ARM.replace('<link name="base"/>', f'<link name="base">{BODY}<collision/></link><gazebo/>')
    text = text.replace("</joint>", '<safety_controller k_velocity="1"/></joint><transmission name="t"/>')
    path = tmp_path / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match="not used") as caught:
        read_urdf(path)
    assert [str(item.message) for item in caught] == [
        f"'{path}': not used: 1 <gazebo>, 1 <transmission>, 1 <collision>, 1 <safety_controller>; the root link 'base' "
        "(1 kg with what is fixed to it) is fixed to the world: --floating frees it, --fixed says that it is meant"
    ]
    assert notices_from(text, base="fixed") == notices_from(text)[:1]
    assert notices_from(ARM) == ()


def test_a_base_floats_or_is_fixed_as_asked() -> None:
    """As a floating joint in the file says it; and such a joint is fixed."""
    explicit = FREE.replace("KIND", "floating")
    hull = explicit.replace('<link name="world"/>', "").replace('type="floating"', "")
    hull = re.sub(r'<joint name="base".*?</joint>', "", hull, flags=re.DOTALL)
    found = system_from(hull, base="floating")
    assert found == system_of(robot_of(explicit.replace('"base"', '"root_joint"').encode(), SourceText("x.urdf")))
    assert system_from(explicit, base="floating") == system_from(explicit)
    assert system_from(explicit, base="fixed") == system_from(hull)
    with pytest.raises(UsageError, match=r"base = 'float': did you mean 'floating'"):
        RobotOptions("float")


def test_limits_and_friction_are_left_out_as_asked() -> None:
    kinds = {True: {RotationalStop, RotationalFriction, RotationalDamper}, False: {RotationalDamper}}
    for wanted, kept in kinds.items():
        found = {type(item) for item in system_from(ARM, limits=wanted, friction=wanted).components}
        assert found & kinds[True] == kept


def test_a_lower_limit_above_the_upper_one_means_none() -> None:
    text = ARM.replace('lower="-1"', 'lower="2"')
    assert system_from(text) == system_from(ARM, limits=False)
    assert notices_from(text) == ("no limits, as the lower one is above the upper one: 'hinge'",)


@pytest.mark.parametrize(("old", "new"), [('size="1 1 1"', 'size="1 1"'), ("<box", "<cone"), ("<box", "<mesh")])
def test_a_visual_that_is_wrong_is_left_out_and_told(old: str, new: str) -> None:
    text = ARM.replace(old, new)
    (said,) = notices_from(text)
    assert said.startswith("a <visual> of the link 'rod' is left out: 'x.urdf', line 17: ")
    assert system_from(text) == system_from(ARM)


def test_drives_are_limited_to_the_efforts_of_the_file_as_asked() -> None:
    text = ARM.replace('effort="1"', 'effort="3"')
    system = system_from(text, effort_limits=True)
    assert LimitedTorque("hinge_drive", joint="hinge", limit=3) in system.components
    for asked, held in ((2.0, 2.0), (5.0, 3.0), (-40.0, -3.0)):
        limited = instant(system, {}, {"hinge_drive.tau": asked})
        assert limited("hinge.a") == pytest.approx(instant(system_from(text), {}, {"hinge.tau": held})("hinge.a"))
    slide = with_limit('effort="30"', "prismatic")
    assert [item.actuated for item in slide.components if isinstance(item, Prismatic)] == [True]


def test_a_wrench_is_put_on_links_that_are_there_only() -> None:
    with pytest.raises(UnknownNameError, match="there is no link 'rd' for a wrench; did you mean 'rod'"):
        system_from(ARM, wrenches=("rd",))


def test_options_of_robots_go_with_robots_only() -> None:
    with pytest.raises(UsageError, match=r"options of robots go with"):
        mbfmu.load("two_link", robot=RobotOptions("floating"))


def test_the_command_line_takes_the_options_of_robots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('<link name="base"/>', f'<link name="base">{BODY}</link>'), encoding="utf-8")
    options = ("--floating", "--no-limits", "--no-friction", "--effort-limits", "--wrench", "rod", "--package", "a=b")
    assert cli.app(["describe", str(path), *options, "--json"], standalone_mode=False) is None
    found = json.loads(capsys.readouterr().out)
    counts = {item["what"]: item for item in found["counts"]}
    assert counts["degrees of freedom"]["how_many"] == 7
    assert counts["inputs"]["which"][:2] == ["hinge_drive.tau", "rod_force.f[1]"]
    assert "hinge_damper.d" in counts["parameters"]["which"]
    assert not {"hinge_stop.c", "hinge_friction.f_c"} & set(counts["parameters"]["which"])
    with pytest.raises(UsageError, match="--floating and --fixed exclude each other"):
        cli.app(["describe", str(path), "--floating", "--fixed"], standalone_mode=False)


def test_meshes_are_sought_in_given_packages_and_in_those_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere" / "shapes"
    folder.mkdir(parents=True)
    extra("trimesh", "view").creation.box((1, 2, 3)).export(folder / "rod.stl")
    path = tmp_path / "arm" / "arm.urdf"
    path.parent.mkdir()
    path.write_text(ARM.replace('<box size="1 1 1"/>', '<mesh filename="package://shapes/rod.stl"/>'), encoding="utf-8")
    asked = RobotOptions("floating", packages={"shapes": folder})
    (look,) = looks_of(str(path), asked)
    assert look.body == "rod"
    assert np.ptp(look.vertices, axis=0) == pytest.approx([1, 2, 3])
    with pytest.warns(UserWarning, match=r"rod\.stl' of the link 'rod' is not drawn"):
        assert looks_of(str(path)) == ()
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'nothing'}{os.pathsep}{tmp_path / 'elsewhere'}")
    assert len(looks_of(str(path))) == 1


def test_a_link_that_moves_without_mass_is_not_drawn_and_that_is_told(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    shape = '<visual><geometry><sphere radius="1"/></geometry></visual>'
    path.write_text(
        f'<robot name="r"><link name="a"/><link name="b">{shape}</link><link name="c">{BODY}{shape}</link>'
        '<joint name="ab" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint>'
        '<joint name="bc" type="continuous"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/></joint></robot>',
        encoding="utf-8",
    )
    with pytest.warns(UserWarning, match="the link 'b' is not drawn, as it moves without mass"):
        assert [look.body for look in looks_of(str(path))] == ["c"]


SPRUNG = """\
name = "sprung"
urdf = {file = "parts/arm.urdf", friction = false, wrenches = ["rod"]}
connections = [
  ["world.frame_b", "spring.frame_a"],
  ["rod.frame_a", "spring.frame_b"],
]

[components.spring]
type = "Spring"
c = 100

[components.motor]
type = "RotationalRotor"
joint = "hinge"
J = 0.2
"""


def sprung(folder: Path, text: str = SPRUNG) -> Path:
    (folder / "parts").mkdir(exist_ok=True)
    (folder / "parts" / "arm.urdf").write_text(ARM, encoding="utf-8")
    path = folder / "sprung.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_toml_file_adds_components_to_a_robot(tmp_path: Path) -> None:
    """Springs and rotors as written in Python; the robot's inertias are not refused."""
    found = mbfmu.load(sprung(tmp_path))
    assert isinstance(found, System)
    bare = system_from(ARM, friction=False, wrenches=("rod",))
    more = (Spring("spring", c=100), RotationalRotor("motor", joint="hinge", J=0.2))
    ends = (connect("world.frame_b", "spring.frame_a"), connect("rod.frame_a", "spring.frame_b"))
    assert found == System("sprung", (*bare.components, *more), (*bare.connections, *ends))
    (tmp_path / "parts" / "arm.urdf").write_text(ARM.replace('ixx="0.1"', 'ixx="0.3"'), encoding="utf-8")
    with pytest.warns(UserWarning, match="no body has principal moments"):
        mbfmu.load(tmp_path / "sprung.toml")


@pytest.mark.parametrize(
    ("old", "new", "kind", "line", "said"),
    [
        (
            "parts/arm.urdf",
            "../arm.urdf",
            ModelFileError,
            2,
            r"must be the path of a \.urdf file in this file's folder",
        ),
        ("parts/arm.urdf", "parts/leg.urdf", ModelFileError, 2, "there is no model file"),
        ("friction = false", "frction = false", UnknownNameError, 2, "urdf has no 'frction'; did you mean 'friction'"),
        ("friction = false", "friction = 0", ModelFileError, 2, r"urdf\.friction must be a boolean, not an integer"),
        ("friction = false", 'base = "free"', UsageError, 2, "base = 'free': "),
        ('["rod"]', "[1]", ModelFileError, 2, "wrenches, packages and arguments of a urdf are texts, not an integer"),
        ('["rod"]', '["rd"]', UnknownNameError, 2, "there is no link 'rd' for a wrench"),
        ("[components.spring]", "[components.hinge]", NameInUseError, 8, "two things named 'hinge'"),
        ('name = "sprung"', 'name = "sprung"\nplanar = true', ModelFileError, 2, "a robot is spatial"),
    ],
)
def test_a_mistake_in_a_toml_file_on_a_robot_is_one_line(
    tmp_path: Path, old: str, new: str, kind: type[MbfmuError], line: int, said: str
) -> None:
    with pytest.raises(kind, match=rf"sprung\.toml', line {line}: .*{said}"):
        mbfmu.load(sprung(tmp_path, SPRUNG.replace(old, new)))


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
        ModelError, 10, "joint 'x' is in a loop",
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
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="hing"/>'): (
        UnknownNameError, 7, "joint 'hinge' mimics 'hing', which is not there: remove <mimic>",
    ),
    ('<axis xyz="0 1 0"/>', '<axis xzy="0 1 0"/>'): (ModelError, 7, "did you mean 'xyz'"),
    ("</joint>", '<mimic joint="w"/></joint><link name="x"/>' + weld("w", "base", "x")): (
        ModelError, 10, "joint 'hinge' mimics 'w', which is fixed: remove <mimic>, or make both fixed",
    ),
    ('effort="1"', 'effort="-1"'): (ValueRangeError, 8, "<limit effort>: -1 must be at least 0"),
    ('damping="0.1"', 'damping="-0.1"'): (ValueRangeError, 9, "<dynamics damping>: -0.1 must be at least 0"),
    ('friction="0.1"', 'friction="inf"'): (ValueRangeError, 9, "inf is not a number"),
    ('<mass value="1"/>', '<mass value="-1"/>'): (ValueRangeError, 14, "<mass value>: -1 must be at least 0"),
    ('<mass value="1"/>', '<mass value="nan"/>'): (ValueRangeError, 14, "nan is not a number"),
    ('<mass value="1"/>', ""): (ModelFileError, 12, "link 'rod': its <inertial> has no <mass>: add one, or remove"),
    ('ixx="0.1"', 'ixx="-0.1"'): (ValueRangeError, 15, "link 'rod': <inertia> has a moment of -0.1: it must be"),
    ('ixx="0.1"', ""): (ModelFileError, 15, '<inertia ixx="">: it needs 1 number(s)'),
    ('<axis xyz="0 1 0"/>', '<mimic joint="hinge"/>'): (ModelError, 7, "'hinge' mimics itself"),
    ('<axis xyz="0 1 0"/>', "<mimic/>"): (ModelFileError, 7, 'a <mimic> needs joint="..."'),
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
    with pytest.raises(ModelFileError, match=r"no model file '.*missing\.urdf'"):
        mbfmu.load(tmp_path / "missing.urdf")
    (tmp_path / "large.urdf").write_bytes(b" " * (LARGEST + 1))
    with pytest.raises(ModelFileError, match="is larger than 10 MB"):
        mbfmu.load(tmp_path / "large.urdf")
    (tmp_path / "arm.urdf").write_text(ARM.replace("<robot", "<sdf").replace("robot>", "sdf>"), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"arm\.urdf', line 1: the root of a URDF is <robot>, not <sdf>"):
        mbfmu.load(tmp_path / "arm.urdf")


NONSENSE: dict[str, Callable[[], str]] = {
    "open": lambda: "<a>" * (LARGEST // 3),
    "roots": lambda: "<a/>" * (LARGEST // 4),
    "elements": lambda: "<r>" + "<a/>" * (LARGEST // 4 - 9) + "</r>",
    "name": lambda: '<robot name="' + "x" * (LARGEST - 100) + '"/>',
    "spaces": lambda: "<robot>" + " " * (LARGEST - 20) + "</robot>",
    "links": lambda: '<robot name="r">' + "".join(f'<link name="l{k}"/>' for k in range(150_000)) + "</robot>",
    "attributes": lambda: "<robot><link " + " ".join(f'a{k}="1"' for k in range(700_000)) + "/></robot>",
    "joints": lambda: '<robot name="r"><link name="a"/>' + '<joint name="j" type="x"/>' * 100_000 + "</robot>",
    "ring": lambda: (
        '<robot name="r">' + "".join(f'<link name="l{k}">{BODY}</link>' for k in range(4_000))
        + "".join(f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
                  f'<mimic joint="j{(k + 1) % 3999}"/></joint>' for k in range(3_999)) + "</robot>"
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", thorough(zip(NONSENSE), lambda name: name not in {"elements", "links", "attributes", "joints"})
)
def test_a_long_file_of_nonsense_is_refused_at_once(name: str) -> None:
    refused(NONSENSE[name]()[:LARGEST])


def read_or_refused(content: bytes) -> None:
    try:
        system_of(robot_of(content, SourceText("x.urdf")))
    except MbfmuError as error:
        assert re.match(r"'x\.urdf', line \d+: ", str(error))  # noqa: PT017 - it may be read as well


@given(st.integers(0, len(ARM)), st.integers(0, 20), st.text(max_size=6) | st.sampled_from(["1e300", "nan", '"', "<"]))
@examples(3)
def test_a_robot_with_a_piece_replaced_is_read_or_refused(start: int, length: int, new: str) -> None:
    read_or_refused((ARM[:start] + new + ARM[start + length :]).encode("utf-8", "replace"))


VALUES = st.one_of(
    st.floats().map(repr), st.floats(-1e30, 1e30).map(repr), st.text(st.characters(codec="utf-8"), max_size=5),
    st.sampled_from(["0 0 0", "1e-320 0 0", "1e30 -1e30 1", "rod", "base", "hinge", "fixed", "floating", "planar"]),
)  # fmt: skip


@given(VALUES, st.data())
@examples(3)
def test_a_robot_with_one_random_attribute_is_read_or_refused(value: str, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(list(re.finditer(r'(?<==")[^"]*(?=")', ARM))))
    escaped = value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    read_or_refused((ARM[: place.start()] + escaped + ARM[place.end() :]).encode())


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ModelFileError):
        robot_of(content, SourceText("x.urdf"))
