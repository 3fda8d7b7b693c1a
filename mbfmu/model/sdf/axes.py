"""Axes of the joints of an SDF file: direction, limits, dynamics and the joint that each follows."""

import math
from dataclasses import replace

import numpy as np

from mbfmu.errors import AxisError, ValueRangeError
from mbfmu.model.forces.stop import NO_LIMIT
from mbfmu.model.robot.robot import Array, Limit, Mimic, RobotJoint
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.sdf.poses import Poses
from mbfmu.model.sdf.texts import INFINITE, Texts

PITCH = 1.0
"""Advance of a screw in a full turn, m, for which the file states none."""


def pitch_of(reader: Texts, joint: XmlElement) -> float:
    """Return how far a screw advances in a full turn, m.

    Files before version 1.10 state it as ``thread_pitch``: rad of the left hand per m, ``-2 pi / pitch``.

    Raises:
        ValueRangeError: it does not advance, or does not turn.
    """
    pitch = reader.values(joint, "screw_thread_pitch", str(PITCH), 1)[0]
    if not any(joint.all("screw_thread_pitch")) and any(joint.all("thread_pitch")):
        inverse = reader.values(joint, "thread_pitch", "", 1)[0]
        pitch = -2 * math.pi / inverse if inverse else 0.0
    if not pitch:
        message = f"joint '{reader.name(joint)}': the pitch of a screw is not 0: make it revolute or prismatic"
        raise reader.error(joint, ValueRangeError(message))
    return pitch


def with_axis(reader: Texts, joint: RobotJoint, element: XmlElement, tag: str, at: Array, poses: Poses) -> RobotJoint:
    """Return a joint with what its <axis> says.

    Args:
        reader: reader of values.
        joint: the joint.
        element: its element.
        tag: ``axis`` or ``axis2``.
        at: pose of the joint in the frame of the model.
        poses: poses of links and frames.
    """
    axis = reader.one(element, tag)
    way = reader.one(axis, "xyz")
    n = np.array(reader.values(axis, "xyz", "0 0 1", 3))
    length = float(np.linalg.norm(n))
    if length < 1e-14:
        raise reader.error(way, AxisError(f"joint '{joint.name}': the axis has no direction"))
    frame = way.attributes.get("expressed_in", "")
    if frame:
        n = at[:3, :3].T @ poses.of(frame, way)[:3, :3] @ n
    limit, dynamics = reader.one(axis, "limit"), reader.one(axis, "dynamics")
    effort, velocity = (reader.value(limit, key, "inf") for key in ("effort", "velocity"))
    x, y, z = (float(item) for item in n / length)
    return replace(
        joint,
        axis=(x, y, z),
        damping=reader.value(dynamics, "damping", "0", least=0.0),
        friction=reader.value(dynamics, "friction", "0", least=0.0),
        stiffness=reader.value(dynamics, "spring_stiffness", "0", least=0.0),
        rest=reader.value(dynamics, "spring_reference", "0"),
        limit=Limit(
            *_bounds(reader, joint, limit),
            effort=effort if 0 < effort < INFINITE else 0.0,
            velocity=velocity if 0 < velocity < INFINITE else 0.0,
        ),
        mimic=_mimic(reader, axis) or _mimic_of_drake(reader, element),
        rotor=reader.value(element, "drake:rotor_inertia", "0", least=0.0)
        * reader.value(element, "drake:gear_ratio", "1") ** 2,
        start=(begun,) if (begun := reader.value(axis, "initial_position", "0")) else (),
    )


def _bounds(reader: Texts, joint: RobotJoint, limit: XmlElement) -> tuple[float | None, float | None]:
    """Return least and greatest coordinate of a joint; None if it has neither."""
    lower, upper = reader.value(limit, "lower", "-inf"), reader.value(limit, "upper", "inf")
    if joint.kind == "continuous" or (lower <= -INFINITE and upper >= INFINITE):
        return None, None
    if lower > upper:
        message = f"joint '{joint.name}': its lower limit {lower:g} is above its upper limit {upper:g}"
        raise reader.error(limit, ValueRangeError(message))
    return max(lower, -NO_LIMIT), min(upper, NO_LIMIT)


def _mimic(reader: Texts, axis: XmlElement) -> Mimic | None:
    """Return the rule of a joint that follows another: ``multiplier (other - reference) + offset``."""
    if not any(axis.all("mimic")):
        return None
    item = reader.one(axis, "mimic")
    ratio, offset, reference = (
        reader.values(item, key, default, 1)[0]
        for key, default in (("multiplier", "1"), ("offset", "0"), ("reference", "0"))
    )
    return Mimic(reader.name(item, "joint"), ratio, offset - ratio * reference, item.line)


def _mimic_of_drake(reader: Texts, joint: XmlElement) -> Mimic | None:
    """Return the rule of a joint that follows another, as an element of Drake's states it."""
    if not any(joint.all("drake:mimic")):
        return None
    item = reader.one(joint, "drake:mimic")
    ratio, offset = reader.number(item, "multiplier", "1"), reader.number(item, "offset", "0")
    return Mimic(reader.name(item, "joint"), ratio, offset, item.line)
