"""Poses of links, joints and frames in the frame of the model, whatever they are stated relative to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mbfmu.errors import ModelError, UnknownNameError, nearest
from mbfmu.model.robot.robot import Array, Origin
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.sdf.texts import Texts

MODEL = "__model__"
WORLD = "world"


def own_pose(reader: Texts, element: XmlElement) -> Array:
    """Return the pose that an element states, shape (4, 4), in the frame that it is relative to.

    Raises:
        ModelError: the pose is stated in a way that is not known.
    """
    item = reader.one(element, "pose")
    form = item.attributes.get("rotation_format", "euler_rpy")
    unit = math.pi / 180 if item.attributes.get("degrees", "false").lower() in {"true", "1"} else 1.0
    text = item.text or ("0 0 0 0 0 0" if form == "euler_rpy" else "0 0 0 0 0 0 1")
    pose = np.eye(4)
    if form == "quat_xyzw":
        x = np.array(reader.parsed(item, f"<pose>{text}</pose>", text, 7))
        length = float(np.linalg.norm(x[3:]))
        if length < 1e-14:
            raise reader.error(item, ModelError("<pose>: the quaternion has no direction"))
        e, s = x[3:6] / length, x[6] / length
        K = np.cross(np.eye(3), e)
        pose[:3, :3] = np.eye(3) + 2 * s * K + 2 * K @ K
    elif form == "euler_rpy":
        x = np.array(reader.parsed(item, f"<pose>{text}</pose>", text, 6))
        roll, pitch, yaw = (float(angle) * unit for angle in x[3:])
        pose[:3, :3] = Origin((0.0, 0.0, 0.0), (roll, pitch, yaw)).R
    else:
        message = f'<pose rotation_format="{form}">: it is euler_rpy or quat_xyzw'
        raise reader.error(item, ModelError(message))
    pose[:3, 3] = x[:3]
    return pose


@dataclass
class Poses:
    """The poses of the named elements of a model.

    Args:
        reader: reader of values.
        elements: links, joints and frames by name.
        children: name of the link or frame that each joint carries, where it stands if its pose is relative to nothing.
        poses: poses that are known already, by name, shape (4, 4).
    """

    reader: Texts
    elements: Mapping[str, XmlElement]
    children: Mapping[str, str]
    poses: dict[str, Array] = field(default_factory=lambda: {MODEL: np.eye(4)})

    def of(self, name: str, asking: XmlElement) -> Array:
        """Return the pose of a named element in the frame of the model, shape (4, 4).

        Args:
            name: its name.
            asking: element that names it, for messages.

        Raises:
            UnknownNameError: there is no such element.
            ModelError: poses are relative to each other in a circle.
        """
        # inwards along the elements that the poses are relative to, up to one that is known
        way: dict[str, None] = {}
        while name not in self.poses:
            if name not in self.elements:
                message = f"there is no link, joint or frame '{name}'; {nearest(name, self.elements)}"
                raise self.reader.error(asking, UnknownNameError(message))
            if name in way:
                raise self.reader.error(asking, ModelError(f"the pose of '{name}' is relative to itself"))
            way[name] = None
            element = self.elements[name]
            asking = self.reader.one(element, "pose")
            default = {"joint": self.children.get(name, MODEL), "frame": element.attributes.get("attached_to", MODEL)}
            name = asking.attributes.get("relative_to") or default.get(element.tag) or MODEL
        # outwards again, where each pose follows from the one before
        pose = self.poses[name]
        for name in reversed(way):
            pose = self.poses[name] = pose @ own_pose(self.reader, self.elements[name])
        return pose

    def in_frame(self, element: XmlElement, of: str) -> Array:
        """Return the pose of an element without a name of its own, as an <inertial> or a <visual>, seen from a link.

        Args:
            element: the element.
            of: name of the link that it stands in.
        """
        base = self.reader.one(element, "pose").attributes.get("relative_to")
        pose = own_pose(self.reader, element)
        if not base:
            return pose
        seen: Array = np.linalg.inv(self.of(of, element)) @ self.of(base, element) @ pose
        return seen
