"""Inertia of bodies as stated, and the bounds that the compiler of a model puts on it."""

from dataclasses import replace

import numpy as np

from mbfmu.errors import ModelError, ValueRangeError
from mbfmu.model.mjcf.defaults import ORIENTATIONS
from mbfmu.model.mjcf.poses import pose_of
from mbfmu.model.mjcf.settings import Settings
from mbfmu.model.physical import inertia_matrix, unphysical
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.solids import MassShare
from mbfmu.model.robot.xml import XmlElement


def inertial_of(reader: Attributes, element: XmlElement, settings: Settings) -> MassShare:
    """Return the mass that an <inertial> states, seen from the body's frame.

    Raises:
        ModelError: it has no mass or no inertia, both kinds of inertia, or a full one with an orientation.
    """
    for name in ("pos", "mass"):
        reader.name(element, name)
    m = reader.number(element, "mass", "", least=0.0)
    pose = pose_of(reader, element, settings)
    attributes = [name for name in ("diaginertia", "fullinertia") if name in element.attributes]
    if not attributes and m == 0:
        return MassShare(0.0, pose.r, np.zeros((3, 3)))
    if len(attributes) != 1:
        raise reader.error(element, ModelError("an <inertial> needs either diaginertia or fullinertia"))
    if attributes == ["diaginertia"]:
        moments = np.array(reader.numbers(element, "diaginertia", "", 3))
        if moments.min() < 0:
            message = f"<inertial diaginertia>: a moment of {moments.min():g}: it must be at least 0"
            raise reader.error(element, ValueRangeError(message))
        return MassShare(m, pose.r, pose.R @ np.diag(moments) @ pose.R.T, pose.R)
    if turn := next((name for name in ORIENTATIONS if name in element.attributes), None):
        message = f"<inertial fullinertia> is resolved in the body's frame: remove {turn}, or give diaginertia"
        raise reader.error(element, ModelError(message))
    six = reader.numbers(element, "fullinertia", "", 6)
    inertia = inertia_matrix(six[:3], six[3:])
    if np.linalg.eigvalsh(inertia).min() <= 0 and not settings.boundinertia:
        raise reader.error(element, ValueRangeError("<inertial fullinertia> is not positive definite"))
    return MassShare(m, pose.r, inertia)


def bounded(solid: MassShare, settings: Settings) -> MassShare:
    """Return a body's mass with the bounds of the settings applied.

    Raises:
        ValueRangeError: no body has such moments of inertia, and they are not to be balanced.
    """
    m, inertia = max(solid.m, settings.boundmass), solid.I
    if settings.boundinertia or settings.balanceinertia:
        moments, axes = np.linalg.eigh(inertia)
        moments = np.maximum(moments, settings.boundinertia)
        if settings.balanceinertia and moments[0] + moments[1] < moments[2]:
            moments = np.full(3, moments.mean())
        inertia = axes @ np.diag(moments) @ axes.T
    if reason := unphysical(inertia):
        raise ValueRangeError(f'{reason}; <compiler balanceinertia="true"> takes their mean')
    return replace(solid, m=m, I=inertia)
