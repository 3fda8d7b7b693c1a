"""All robots of the package example-robot-data: what Pinocchio reads loads, and accelerates as there.

`python -m pip install -e ".[robots]"` brings them (131 MB); `python -m pytest tests/test_robots.py --all` runs all.
"""

import math
import re
import warnings
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.errors import ModelError, ModelFileError
from mbfmu.model import Gear, RotationalDamper, System, TranslationalDamper
from mbfmu.model.urdf import RobotOptions

Array = npt.NDArray[np.float64]
PACKAGE = "example-robot-data"
FEWEST = 69
"""Number of URDFs in version 6.0.0 of the package."""

REFUSED = {
    "alex_psyonic_hands": "joint 'Left_index_q2' mimics 'index_q1', which is not there: remove <mimic>",
    "pr2": "<joint:hinge name='r_gripper_r_parallel_tip_joint'> closes a loop, which is not read yet: remove it",
    "tiago": "<plugin name='gazebo_hand_thumb'> joins bodies or loads them while Gazebo runs",
    "tiago_dual": "<plugin name='gazebo_hand_left_thumb'> joins bodies or loads them while Gazebo runs",
}
"""Robots that Gazebo moves otherwise than their links and joints say, or that mimic what is not there."""
OTHERWISE = re.compile(r"<gazebo\b[^>]*/>|<gazebo\b.*?</gazebo>|<mimic\b[^>]*/>", re.DOTALL)

pytestmark = pytest.mark.slow


def descriptions() -> list[Path]:
    """The URDFs of the package; none if it is not installed."""
    try:
        found = files(PACKAGE) or ()
    except PackageNotFoundError:
        return []
    return sorted(Path(str(item.locate())) for item in found if item.suffix == ".urdf")


ROBOTS = descriptions()


def test_the_robots_are_installed() -> None:
    assert len(ROBOTS) >= FEWEST, f'python -m pip install -e ".[robots]" installs the package {PACKAGE}'


def test_robots_that_move_otherwise_in_gazebo_are_refused_with_the_remedy() -> None:
    for path in ROBOTS:
        if path.stem in REFUSED:
            with pytest.raises(ModelError) as caught:
                mbfmu.load(path)
            assert REFUSED[path.stem] in str(caught.value)
            assert re.search(r"line \d+: .*remove", str(caught.value))


def plain(path: Path, folder: Path) -> Path:
    """A robot without what it is refused for, or has its weight taken off by, which Pinocchio leaves out."""
    text = path.read_text(encoding="utf-8")
    if path.stem not in REFUSED and "turnGravityOff" not in text:
        return path
    found = folder / path.name
    found.write_text(OTHERWISE.sub("", text), encoding="utf-8")
    return found


def loaded(path: Path, base: str) -> System:
    """A robot without the forces on its axes, which Pinocchio's algorithms leave out, and without mimicking."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notices of what is left out
        system = mbfmu.load(path, robot=RobotOptions(base, limits=False, friction=False))
    assert isinstance(system, System)
    forces = (Gear, RotationalDamper, TranslationalDamper)
    return replace(system, components=tuple(item for item in system.components if not isinstance(item, forces)))


@pytest.mark.parametrize(
    ("path", "base"),
    [(path, "floating" if number % 4 == 1 else "") for number, path in enumerate(ROBOTS)],
    ids=[path.stem for path in ROBOTS],
)
def test_a_robot_that_pinocchio_reads_loads_and_accelerates_as_there(path: Path, base: str, tmp_path: Path) -> None:
    """Measured: up to 6e-13 for icub, some of whose links have inertias of 1e-18 kg.m2, and mostly below 1e-15."""
    import pinocchio as pin

    try:
        fixed = pin.buildModelFromUrdf(str(path))
    except ValueError:
        with pytest.raises(ModelFileError):
            loaded(path, base)
        return
    base = base or ("" if fixed.nv else "floating")
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if base else fixed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inertias that no body has
        dae = derive(loaded(plain(path, tmp_path), base), "joint")
    known = {name.partition(".")[0] for name in dae.coordinates}
    names = {name: "".join(c if c.isascii() and c.isalnum() else "_" for c in name) for name in model.names}
    still = [model.getJointId(name) for name in list(model.names)[1:] if names[name] not in known]
    if still:
        model = pin.buildReducedModel(model, still, pin.neutral(model))
    rng = np.random.default_rng(len(path.stem))
    q, v, tau = pin.neutral(model), rng.uniform(-1.5, 1.5, model.nv), rng.uniform(-5, 5, model.nv)
    mine = dict.fromkeys(dae.coordinates, (0.0, 0.0))
    inputs = {item.name: 0.0 for item in dae.inputs}
    axes: dict[str, int] = {}
    for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
        if joint.nv == 6:
            q[: joint.nq] = [*rng.normal(size=3), *(Q := unit(rng.normal(size=4)))]
            tau[:6] = 0.0
            R = pin.Quaternion(Q).toRotationMatrix()
            turning = spun(np.roll(Q, 1), v[3:6])
            for k in range(3):
                mine[f"root_joint.r_rel[{k + 1}]"] = q[k], (R @ v[:3])[k]
            for k in range(4):
                mine[f"root_joint.Q_rel[{k + 1}]"] = np.roll(Q, 1)[k], turning[k]
            continue
        value = rng.uniform(-1.5, 1.5)
        q[joint.idx_q : joint.idx_q + joint.nq] = [math.cos(value), math.sin(value)] if joint.nq == 2 else [value]
        (coordinate,) = (item for item in dae.coordinates if item.partition(".")[0] == names[name])
        mine[coordinate] = value, v[joint.idx_v]
        axes[coordinate] = joint.idx_v
        effort = coordinate.replace(".phi", ".tau") if coordinate.endswith(".phi") else coordinate[:-1] + "f"
        if effort in inputs:
            inputs[effort] = tau[joint.idx_v]
        else:
            tau[joint.idx_v] = 0.0  # it mimics another in the file
    assert len(axes) + (6 if base else 0) == model.nv
    theirs = pin.aba(model, model.createData(), q, v, tau)
    found = accelerations(dae, mine, inputs)
    expected = {name: theirs[place] for name, place in axes.items()}
    if base:  # Pinocchio's is the spatial acceleration, in the base
        linear = R @ (theirs[:3] + np.cross(v[3:6], v[:3]))
        expected |= {f"root_joint.r_rel[{k + 1}]": linear[k] for k in range(3)}
    size = max(map(abs, expected.values()))
    assert {name: found[name] / size for name in expected} == pytest.approx(
        {name: value / size for name, value in expected.items()}, abs=1e-10
    )


@pytest.mark.parametrize("name", ["xarm7", "allegro_left_hand"])
def test_light_joints_with_friction_run_with_the_defaults_and_lose_energy(name: str) -> None:
    (path,) = (item for item in ROBOTS if item.stem == name)
    with pytest.warns(UserWarning, match="the default stepper is 'radau'"):
        system = mbfmu.load(path)
    energy = mbfmu.simulate(system, 0.2)["energy.total"]
    assert np.diff(energy).max() <= 1e-9 * abs(energy[0])


def unit(x: Array) -> Array:
    return np.array(x / np.linalg.norm(x))


def spun(Q: Array, w: Array) -> Array:
    """The rate of a quaternion, scalar first, at an angular velocity in the turned axes."""
    s, e = Q[0], Q[1:]
    return np.concatenate([[-e @ w], s * w + np.cross(e, w)]) / 2


def accelerations(dae: Dae, values: dict[str, tuple[float, float]], inputs: dict[str, float]) -> dict[str, Any]:
    """The accelerations of all coordinates, by name, for a coordinate and a rate of each."""
    q, v = (np.array([values[name][k] for name in dae.coordinates]) for k in range(2))
    u = np.array([inputs[item.name] for item in dae.inputs])
    p, t = dae.p_default(), 0.0
    if dae.m:  # the norm of the base's quaternion
        Phi_q, force = np.array(dae.constraints.Phi_q(q, p, t)), np.array(dae.equations.force(q, v, [], u, p, t))
        lower = np.hstack([Phi_q, np.zeros((dae.m, dae.m))])
        upper = np.hstack([np.array(dae.equations.M(q, p)), Phi_q.T])
        a = np.linalg.solve(np.vstack([upper, lower]), np.vstack([force, np.array(dae.constraints.gamma(q, v, p, t))]))[
            : dae.n
        ]
    else:
        a = np.array(dae.equations.free_acceleration(q, v, [], u, p, t))
    return dict(zip(dae.coordinates, a.ravel().tolist(), strict=True))
