"""Keyframes: the start of a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mbfmu.errors import ModelError
from mbfmu.model.mjcf.joints import SIZES, ModelJoint
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.rigid_pose import RigidPose, turned
from mbfmu.model.robot.xml import XmlElement

SAME = 1e-6
"""Largest difference of poses, m or 1, that counts as rounding of a written number."""
HOME = "home"
"""Name of the keyframe that is preferred to the first."""


@dataclass(frozen=True)
class JointStart:
    """Coordinates and rates of a joint at the start, as a `RobotJoint` has them; empty: none are given."""

    position: tuple[float, ...] = ()
    rate: tuple[float, ...] = ()


@dataclass(frozen=True)
class Keyframe:
    """The start of a model.

    Args:
        name: name of the keyframe; empty: there is none, or it has no name.
        joints: starts of the joints, by name.
        inputs: values of the actuators' inputs, in the order of the file; empty: none are given.
        states: states of filters and integrators, by the name of the actuator.
    """

    name: str
    joints: Mapping[str, JointStart]
    inputs: tuple[float, ...] = ()
    states: Mapping[str, float] = field(default_factory=dict)


def keyframe_of(
    root: XmlElement, reader: Attributes, joints: Mapping[str, ModelJoint], inputs: int, stateful: Sequence[str]
) -> Keyframe:
    """Return the keyframe named `home`, or else the first one.

    Args:
        root: root element.
        reader: reader of attributes.
        joints: the joints by name, in the order of the model's coordinates.
        inputs: number of actuators.
        stateful: names of the actuators that have a state, in the order of the file.

    Raises:
        ModelError: it has too many values.
    """
    element = _chosen(root)
    if element is None:
        return Keyframe("", {})
    counts = [sum(SIZES[joint.kind][k] for joint in joints.values()) for k in range(2)]
    q, v, u = (
        _values(reader, element, name, count)
        for name, count in (("qpos", counts[0]), ("qvel", counts[1]), ("ctrl", inputs))
    )
    states = dict(zip(stateful, _values(reader, element, "act", len(stateful)), strict=False))
    starts, at = {}, [0, 0]
    for name, joint in joints.items():
        n_q, n_v = SIZES[joint.kind]
        mine = JointStart(*(_whole(reader, element, x[k : k + n], n) for x, k, n in ((q, at[0], n_q), (v, at[1], n_v))))
        starts[name] = _turned(reader, element, mine) if joint.kind in {"ball", "free"} else mine
        at = [at[0] + n_q, at[1] + n_v]
    return Keyframe(element.attributes.get("name", ""), starts, u + (0.0,) * (inputs - len(u)) if u else u, states)


def _chosen(root: XmlElement) -> XmlElement | None:
    keys = [item for group in root.all("keyframe") for item in group.all("key")]
    return next((item for item in keys if item.attributes.get("name") == HOME), keys[0] if keys else None)


def check_mocap(reader: Attributes, root: XmlElement, poses: list[RigidPose]) -> None:
    """Raise an error if the keyframe of the start moves a mocap body.

    Args:
        reader: reader of attributes.
        root: root element.
        poses: poses of the mocap bodies in the file, in the order of the file.
    """
    element = _chosen(root)
    if element is None:
        return
    r, Q = (_any_number(reader, element, key) for key in ("mpos", "mquat"))
    same = len(r) in {0, 3 * len(poses)} and len(Q) in {0, 4 * len(poses)}
    for index, item in enumerate(poses if same else ()):
        position = np.array(r[3 * index : 3 * index + 3] or item.r)
        turn = np.array(Q[4 * index : 4 * index + 4])
        R = turned(turn / np.linalg.norm(turn)) if turn.any() else item.R
        same = same and max(np.abs(position - item.r).max(), np.abs(R - item.R).max()) < SAME
    if not same:
        what = "<key mpos mquat>: a keyframe does not move mocap bodies here: remove them, and write the pose in <body>"
        raise reader.error(element, ModelError(what))


def _any_number(reader: Attributes, element: XmlElement, key: str) -> tuple[float, ...]:
    return reader.numbers(element, key, "", len(element.attributes.get(key, "").split()))


def _values(reader: Attributes, element: XmlElement, name: str, count: int) -> tuple[float, ...]:
    if name not in element.attributes:
        return ()
    count_there = len(element.attributes[name].split())
    if count_there > count:
        which = element.attributes.get("name", "")
        message = f'<key name="{which}" {name}> has {count_there} numbers, and the model {count}'
        raise reader.error(element, ModelError(message))
    return reader.numbers(element, name, "", count_there)


def _whole(reader: Attributes, element: XmlElement, numbers: tuple[float, ...], count: int) -> tuple[float, ...]:
    """Return the numbers of a joint, all or none.

    Raises:
        ModelError: some are missing.
    """
    if len(numbers) not in {0, count}:
        message = f"<key> ends within the numbers of a joint, which has {count}: write all of them"
        raise reader.error(element, ModelError(message))
    return numbers


def _turned(reader: Attributes, element: XmlElement, start: JointStart) -> JointStart:
    """Return a start with a unit quaternion, and with the angular velocity resolved in the joint's outer frame."""
    Q = np.array(start.position[-4:] or (1.0, 0.0, 0.0, 0.0))
    length = np.linalg.norm(Q)
    if length < 1e-14:
        raise reader.error(element, ModelError("<key qpos> has a quaternion without a direction"))
    R = turned(Q / length)
    position = (*start.position[:-4], *map(float, Q / length)) if start.position else ()
    return JointStart(position, tuple(_spun(R, start.rate)) if start.rate else ())


def _spun(R: np.ndarray, rate: tuple[float, ...]) -> Iterator[float]:
    yield from rate[:-3]
    yield from (float(item) for item in R @ np.array(rate[-3:]))
