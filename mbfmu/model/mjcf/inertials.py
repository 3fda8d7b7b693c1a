"""Inertia of bodies as stated, and the bounds that the compiler of a model puts on it."""

from dataclasses import replace

import numpy as np

from mbfmu.errors import ModelError, ValueRangeError
from mbfmu.model.mjcf.defaults import ORIENTATIONS
from mbfmu.model.mjcf.poses import place_of
from mbfmu.model.mjcf.settings import Settings
from mbfmu.model.mjcf.solids import Solid
from mbfmu.model.physical import inertia_matrix, unphysical
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import Element


def inertial_of(reader: Attributes, element: Element, settings: Settings) -> Solid:
    """Return the mass that an <inertial> states, seen from the body's frame.

    Raises:
        ModelError: it has no mass or no inertia, both kinds of inertia, or a full one with an orientation.
    """
    for name in ("pos", "mass"):
        reader.name(element, name)
    m = reader.number(element, "mass", "", least=0.0)
    place = place_of(reader, element, settings)
    given = [name for name in ("diaginertia", "fullinertia") if name in element.attributes]
    if not given and m == 0:
        return Solid(0.0, place.r, np.zeros((3, 3)))
    if len(given) != 1:
        raise reader.error(element, ModelError("an <inertial> needs either diaginertia or fullinertia"))
    if given == ["diaginertia"]:
        moments = np.array(reader.numbers(element, "diaginertia", "", 3))
        if moments.min() < 0:
            what = f"<inertial diaginertia>: a moment of {moments.min():g}: it must be at least 0"
            raise reader.error(element, ValueRangeError(what))
        return Solid(m, place.r, place.R @ np.diag(moments) @ place.R.T, place.R)
    if turn := next((name for name in ORIENTATIONS if name in element.attributes), None):
        what = f"<inertial fullinertia> is resolved in the body's frame: remove {turn}, or give diaginertia"
        raise reader.error(element, ModelError(what))
    six = reader.numbers(element, "fullinertia", "", 6)
    inertia = inertia_matrix(six[:3], six[3:])
    if np.linalg.eigvalsh(inertia).min() <= 0 and not settings.boundinertia:
        raise reader.error(element, ValueRangeError("<inertial fullinertia> is not positive definite"))
    return Solid(m, place.r, inertia)


def bounded(solid: Solid, settings: Settings) -> Solid:
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
