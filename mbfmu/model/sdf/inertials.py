"""Mass, centre and inertia of the links of an SDF file: as stated, or computed of their collisions."""

import math

import numpy as np

from mbfmu.errors import ModelError, ValueRangeError
from mbfmu.model.physical import inertia_matrix
from mbfmu.model.robot.solids import MassShare, box, capsule, cylinder, ellipsoid, merged, sphere
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.sdf.poses import Poses
from mbfmu.model.sdf.texts import Texts

DENSITY = "1000"
"""Density of a collision for which the file states none, kg/m3: water."""
SHAPES = ("box", "capsule", "cone", "cylinder", "ellipsoid", "sphere")
"""Shapes whose mass is computed."""


def inertial_of(reader: Texts, link: XmlElement, name: str, poses: Poses) -> MassShare:
    """Return the mass of a link, seen from its frame; one without ``<inertial>`` has 1 kg and 1 kg.m2, as SDF says.

    Args:
        reader: reader of values.
        link: the ``<link>``.
        name: its name.
        poses: poses of links and frames.

    Raises:
        ModelError: mass or inertia are negative, or are to be computed of what has none.
    """
    inertial = reader.one(link, "inertial")
    if inertial.attributes.get("auto", "false").lower() in {"true", "1"}:
        return _computed(reader, link, name, poses)
    m = reader.value(inertial, "mass", "1", least=0.0)
    tensor = reader.one(inertial, "inertia")
    moments = [reader.values(tensor, key, "1", 1)[0] for key in ("ixx", "iyy", "izz")]
    inertia = inertia_matrix(moments, [reader.values(tensor, key, "0", 1)[0] for key in ("ixy", "ixz", "iyz")])
    if min(moments) < 0:
        message = f"link '{name}': <inertia> has a moment of {min(moments):g}: it must be at least 0"
        raise reader.error(tensor, ValueRangeError(message))
    pose = poses.in_frame(inertial, name)
    R = pose[:3, :3]
    turned = R @ inertia @ R.T if np.abs(R - np.eye(3)).max() else inertia
    return MassShare(m, pose[:3, 3], (turned + turned.T) / 2)


def _computed(reader: Texts, link: XmlElement, name: str, poses: Poses) -> MassShare:
    """Return the mass of the solids that the collisions of a link are, scaled to the mass that is stated, if one is.

    A density of a collision comes before that in the ``<inertial>``; a pose and an inertia stated there do not count.
    """
    inertial = reader.one(link, "inertial")
    common = reader.text(inertial, "density", DENSITY)
    parts = []
    for collision in link.all("collision"):
        density = reader.value(collision, "density", common, least=0.0)
        pose = poses.in_frame(collision, name)
        parts.append(_solid(reader, collision, name).scaled(density).moved(pose[:3, 3], pose[:3, :3]))
    whole = merged(parts) if parts else None
    if whole is None or not whole.m > 0:
        message = f"link '{name}': <inertial auto=\"true\"> needs a <collision> with a volume, or the inertia"
        raise reader.error(inertial, ModelError(message))
    if not any(inertial.all("mass")):
        return whole
    return whole.scaled(reader.value(inertial, "mass", "", least=0.0) / whole.m)


def _solid(reader: Texts, collision: XmlElement, name: str) -> MassShare:
    """Return the solid of density 1 that a collision is, seen from the collision's frame."""
    geometry = reader.one(collision, "geometry")
    shape = next((item for item in geometry.children if item.tag in SHAPES), None)
    if shape is None:
        tags = " ".join(f"<{item.tag}>" for item in geometry.children) or "nothing"
        message = (
            f"link '{name}': <inertial auto=\"true\"> of {tags} is not computed, only of {', '.join(SHAPES)}: "
            "give mass and inertia"
        )
        raise reader.error(collision, ModelError(message))
    if shape.tag in {"box", "ellipsoid"}:
        key = "size" if shape.tag == "box" else "radii"
        a, b, c = reader.values(shape, key, "", 3)
        if min(a, b, c) < 0:
            raise reader.error(shape, ValueRangeError(f"<{key}>: {min(a, b, c):g} must be at least 0"))
        return box(a / 2, b / 2, c / 2, False) if shape.tag == "box" else ellipsoid(a, b, c)
    r = reader.value(shape, "radius", "", least=0.0)
    if shape.tag == "sphere":
        return sphere(r, False)
    h = reader.value(shape, "length", "", least=0.0) / 2
    return cone(r, h) if shape.tag == "cone" else {"cylinder": cylinder, "capsule": capsule}[shape.tag](r, h, False)


def cone(r: float, h: float) -> MassShare:
    """Return a cone about z of density 1, with a base of radius r at -h and its tip at h; its centre is at -h/2."""
    m = 2 / 3 * math.pi * r * r * h
    across = m * (3 / 20 * r * r + 3 / 20 * h * h)
    return MassShare(m, np.array([0.0, 0.0, -h / 2]), np.diag([across, across, 3 / 10 * m * r * r]))
