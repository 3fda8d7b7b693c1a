"""Contacts: end stops, latches, pins, dry friction that sticks, and bodies that touch."""

from mbfmu.model.contacts.backlash import Backlash
from mbfmu.model.contacts.box import BoxOnHeightField, BoxOnPlane, RectangleOnHeightField, RectangleOnLine
from mbfmu.model.contacts.cable import Cable
from mbfmu.model.contacts.capsule import CapsuleOnCircle, CapsuleOnLine, CapsuleOnPlane, CapsuleOnSphere
from mbfmu.model.contacts.contact import AxesContact, AxisContact, FrameContact, Friction, Gap, SurfaceContact, rate_of
from mbfmu.model.contacts.dry_friction import (
    AxesDryFriction,
    AxisDryFriction,
    BearingFriction,
    GuideFriction,
    RotationalDryFriction,
    TranslationalDryFriction,
)
from mbfmu.model.contacts.end_stop import AxesEndStop, AxisEndStop, RotationalEndStop, TranslationalEndStop
from mbfmu.model.contacts.gear_losses import LossyGear
from mbfmu.model.contacts.latch import AxisLatch, RotationalLatch, TranslationalLatch
from mbfmu.model.contacts.one_way import OneWayClutch
from mbfmu.model.contacts.point import PointOnHeightField, PointOnPlane
from mbfmu.model.contacts.round import CircleOnCircle, CircleOnLine, PinInHole, SphereOnPlane, SphereOnSphere
from mbfmu.model.contacts.shear_pin import AxisShearPin, RotationalShearPin, TranslationalShearPin
from mbfmu.model.contacts.slider import SliderInGuide

__all__ = [
    "AxesContact",
    "AxesDryFriction",
    "AxesEndStop",
    "AxisContact",
    "AxisDryFriction",
    "AxisEndStop",
    "AxisLatch",
    "AxisShearPin",
    "Backlash",
    "BearingFriction",
    "BoxOnHeightField",
    "BoxOnPlane",
    "Cable",
    "CapsuleOnCircle",
    "CapsuleOnLine",
    "CapsuleOnPlane",
    "CapsuleOnSphere",
    "CircleOnCircle",
    "CircleOnLine",
    "FrameContact",
    "Friction",
    "Gap",
    "GuideFriction",
    "LossyGear",
    "OneWayClutch",
    "PinInHole",
    "PointOnHeightField",
    "PointOnPlane",
    "RectangleOnHeightField",
    "RectangleOnLine",
    "RotationalDryFriction",
    "RotationalEndStop",
    "RotationalLatch",
    "RotationalShearPin",
    "SliderInGuide",
    "SphereOnPlane",
    "SphereOnSphere",
    "SurfaceContact",
    "TranslationalDryFriction",
    "TranslationalEndStop",
    "TranslationalLatch",
    "TranslationalShearPin",
    "rate_of",
]
