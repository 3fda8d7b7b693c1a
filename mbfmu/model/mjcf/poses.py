"""Positions and orientations of elements, in all the ways that MJCF states them."""

import math

import numpy as np

from mbfmu.errors import AxisError, ModelError
from mbfmu.model.mjcf.defaults import ORIENTATIONS
from mbfmu.model.mjcf.settings import Settings
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.rigid_pose import RigidPose, about, turned
from mbfmu.model.robot.robot import Array
from mbfmu.model.robot.xml import XmlElement

SMALLEST = 1e-14
"""Smallest length of a vector with a direction."""
LONG = ("capsule", "cylinder", "ellipsoid", "box")
"""Kinds of geoms and sites that two points state."""


def pose_of(reader: Attributes, element: XmlElement, settings: Settings) -> RigidPose:
    """Return the pose of an element in the frame it stands in.

    Raises:
        ModelError: it has two orientations, or one without a direction.
    """
    r = np.array(reader.numbers(element, "pos", "0 0 0", 3))
    attributes = [name for name in ORIENTATIONS if name in element.attributes]
    if not attributes:
        return RigidPose(r, np.eye(3))
    if len(attributes) > 1:
        raise reader.error(
            element, ModelError(f"<{element.tag}> has two orientations, {attributes[0]} and {attributes[1]}")
        )
    (name,) = attributes
    count = {"quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3}[name]
    x = np.array(reader.numbers(element, name, "", count))
    if name == "euler":
        return RigidPose(r, _euler(x * settings.angle, settings.eulerseq))
    if name == "quat":
        return RigidPose(r, turned(_unit(reader, element, name, x)))
    if name == "axisangle":
        return RigidPose(r, about(_unit(reader, element, name, x[:3]), x[3] * settings.angle))
    if name == "zaxis":
        return RigidPose(r, towards(_unit(reader, element, name, x)))
    e_x = _unit(reader, element, name, x[:3])
    e_y = _unit(reader, element, name, x[3:] - e_x * (e_x @ x[3:]))
    return RigidPose(r, np.array([e_x, e_y, np.cross(e_x, e_y)]).T)


def stretched(reader: Attributes, element: XmlElement, kind: str, settings: Settings) -> tuple[RigidPose, float]:
    """Return the pose of a geom or site of some kind in the frame it stands in, and half its length along z, m.

    The length is 0 if there is no `fromto`, whose first point lies towards z.

    Raises:
        ModelError: its pose has no meaning, or is stated twice.
    """
    pose = pose_of(reader, element, settings)
    if "fromto" not in element.attributes:
        return pose, 0.0
    shown = f"<{element.tag} fromto>"
    if kind not in LONG or "mesh" in element.attributes:
        message = f"{shown} is for a {', '.join(LONG[:-1])} or {LONG[-1]}, without a mesh: remove it"
        raise reader.error(element, ModelError(message))
    if pose.r.any():
        raise reader.error(element, ModelError(f"{shown}: there is a pos too: remove one of them"))
    x = np.array(reader.numbers(element, "fromto", "", 6))
    length = float(np.linalg.norm(x[3:] - x[:3]))
    if length < SMALLEST:
        raise reader.error(element, ModelError(f"{shown}: the two points are the same"))
    return RigidPose((x[:3] + x[3:]) / 2, towards((x[:3] - x[3:]) / length)), length / 2


def turn_of(reader: Attributes, element: XmlElement, attribute: str) -> Array:
    """Return the rotation matrix of an attribute that is a quaternion; no turn if it is not given.

    Raises:
        AxisError: it has no direction.
    """
    return turned(_unit(reader, element, attribute, np.array(reader.numbers(element, attribute, "1 0 0 0", 4))))


def _unit(reader: Attributes, element: XmlElement, name: str, x: Array) -> Array:
    length = float(np.linalg.norm(x))
    if length < SMALLEST:
        text = element.attributes.get(name, "")
        raise reader.error(element, AxisError(f'<{element.tag} {name}="{text}"> has no direction'))
    return np.array(x / length)


def towards(n: Array) -> Array:
    """Return the rotation matrix of the least turn that brings z to a unit vector."""
    axis = np.cross((0.0, 0.0, 1.0), n)
    s = float(np.linalg.norm(axis))
    if s < 1e-10:
        return np.eye(3) if n[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return about(axis / s, math.atan2(s, float(n[2])))


def _euler(angles: Array, sequence: str) -> Array:
    R = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        turn = about(np.eye(3)["xyz".index(letter.lower())], float(angle))
        R = R @ turn if letter.islower() else turn @ R
    return R
