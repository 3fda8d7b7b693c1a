"""Contacts: end stops, dry friction that sticks, and bodies that touch."""

from mbfmu.model.contacts.contact import AxisContact, FrameContact, Friction, Gap, rate_of
from mbfmu.model.contacts.dry_friction import (
    AxisDryFriction,
    GuideFriction,
    RotationalDryFriction,
    TranslationalDryFriction,
)
from mbfmu.model.contacts.end_stop import AxisEndStop, RotationalEndStop, TranslationalEndStop
from mbfmu.model.contacts.point import PointOnPlane
from mbfmu.model.contacts.sphere_on_plane import SphereOnPlane
from mbfmu.model.contacts.sphere_on_sphere import SphereOnSphere

__all__ = [
    "AxisContact",
    "AxisDryFriction",
    "AxisEndStop",
    "FrameContact",
    "Friction",
    "Gap",
    "GuideFriction",
    "PointOnPlane",
    "RotationalDryFriction",
    "RotationalEndStop",
    "SphereOnPlane",
    "SphereOnSphere",
    "TranslationalDryFriction",
    "TranslationalEndStop",
    "rate_of",
]
