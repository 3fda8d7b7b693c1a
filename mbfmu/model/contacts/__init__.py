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
    "TranslationalDryFriction",
    "TranslationalEndStop",
    "rate_of",
]
