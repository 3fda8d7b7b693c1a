"""Transmissions of actuators: the axes, the site, or the two frames that they act on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbfmu.errors import ModelError, ValueRangeError
from mbfmu.model.mjcf.bodies import MjcfBodies, Site, joint_path, known
from mbfmu.model.mjcf.joints import ModelJoint
from mbfmu.model.mjcf.laws import ActuatorLaw
from mbfmu.model.mjcf.tendons import ROPE, SpatialTendon, Tendon, check_path
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import XmlElement

ENDS = ("joint", "jointinparent", "tendon", "site", "body", "cranksite")
"""Attributes that say what an actuator acts on."""


@dataclass(frozen=True)
class Ends:
    """Bodies with joints and sites, and tendons, that actuators can act on."""

    bodies: MjcfBodies
    tendons: Mapping[str, Tendon]
    spatial: Mapping[str, SpatialTendon]

    @property
    def joints(self) -> Mapping[str, ModelJoint]:
        """Return the joints."""
        return self.bodies.joints

    @property
    def sites(self) -> Mapping[str, Site]:
        """Return the sites."""
        return self.bodies.sites

    @property
    def every_tendon(self) -> Mapping[str, Tendon | SpatialTendon]:
        """Return fixed and spatial tendons."""
        return {**self.tendons, **self.spatial}


@dataclass(frozen=True)
class Transmission:
    """The motion that an actuator acts on: a combination of axes, a site, a joint without an axis, or two sites.

    Args:
        joints: names and ratios of the joints it acts on; empty for other kinds.
        sites: the site it acts at, and the one that this is seen from; empty for other kinds.
        turned: name of the ball or free joint it acts on; empty for other kinds.
        crank: whether the sites belong to a slider-crank.
        fields: of the drive between two frames: directions, or the length of the rod.
    """

    joints: Mapping[str, float] = field(default_factory=dict)
    sites: tuple[str, ...] = ()
    turned: str = ""
    crank: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def between(self) -> bool:
        """Whether it has two frames."""
        return bool(self.fields)


def transmission_of(
    reader: Attributes, element: XmlElement, name: str, gear: tuple[float, ...], law: ActuatorLaw, ends: Ends
) -> tuple[Transmission, str]:
    """Return the motion that an actuator acts on, or the reason why it is not modelled.

    Args:
        reader: reader of attributes.
        element: its element, with its defaults filled in.
        name: its name.
        gear: six numbers.
        law: its law.
        ends: what it can act on.

    Raises:
        ModelError: it acts on nothing, or on what is not there.
    """
    on = [key for key in ENDS if key in element.attributes]
    if len(on) != 1:
        message = f"actuator '{name}' needs one of {', '.join(ENDS)}, to act on"
        raise reader.error(element, ModelError(message))
    match on[0]:
        case "joint" | "jointinparent":
            joint = known(reader, element, on[0], ends.joints, "joint")
            kind = ends.joints[joint].kind
            if kind in {"hinge", "slide"}:
                return Transmission({joint: gear[0]}), ""
            return Transmission(turned=joint, fields=_turning(kind, gear, law, on[0] == "jointinparent")), ""
        case "tendon":
            tendon = known(reader, element, "tendon", ends.every_tendon, "tendon")
            if tendon in ends.spatial:
                check_path(reader, ends.spatial[tendon])
                return Transmission({ROPE + tendon: gear[0]}), ""
            pulled = ends.tendons[tendon]
            return Transmission({item: gear[0] * ratio for item, ratio in pulled.ratios.items()}), ""
        case "site":
            site = known(reader, element, "site", ends.sites, "site")
            if "refsite" not in element.attributes:
                return Transmission(sites=(site,)), ""
            seen_from = known(reader, element, "refsite", ends.sites, "site")
            observer = _observer(ends, site, seen_from)
            if not observer and any(gear[:3]):
                return Transmission(), "a refsite that moves with the site and apart from it"
            about = gear[3:] if not any(gear[:3]) else ()
            fields = _pose(gear[:3], gear[3:], _period(about, law), observer=observer or "world")
            return Transmission(sites=(site, seen_from), fields=fields), ""
        case "cranksite":
            crank = known(reader, element, "cranksite", ends.sites, "site")
            slider = known(reader, element, "slidersite", ends.sites, "site")
            length = reader.number(element, "cranklength", "0")
            if length <= 0:
                raise reader.error(element, ValueRangeError(f"actuator '{name}': cranklength must be above 0"))
            return Transmission(sites=(crank, slider), crank=True, fields={"L": length, "gear": gear[0]}), ""
    return Transmission(), f"on a {on[0]}"


def _turning(kind: str, gear: tuple[float, ...], law: ActuatorLaw, in_parent: bool) -> dict[str, Any]:
    """Return the directions of a drive on a ball or a free joint, which measures no length of the latter."""
    resolve = "frame_a" if in_parent else "frame_b"
    if kind == "ball":
        return _pose((0.0, 0.0, 0.0), gear[:3], _period(gear[:3], law), resolve=resolve)
    return {**_pose(gear[:3], gear[3:], 0.0, resolve=resolve), "gain_s": 0.0, "bias_s": 0.0}


def _pose(force: tuple[float, ...], torque: tuple[float, ...], period: float, **more: str) -> dict[str, Any]:
    return {"force": force, "torque": torque, "period": period, **more}


def _period(about: tuple[float, ...], law: ActuatorLaw) -> float:
    """Return the period of the input of a servo of an angle about a direction; 0: it has none."""
    return 2 * math.pi * float(np.linalg.norm(about)) if law.servo else 0.0


def _observer(ends: Ends, site: str, seen_from: str) -> str:
    """Return the frame in which a site moves against another as MuJoCo has it; empty: it is neither of them.

    MuJoCo takes the difference of their velocities, without the joints that move both.
    """
    b, a = (joint_path(ends.bodies, ends.sites[name].body) for name in (site, seen_from))
    shared = [one for one, other in zip(a, b, strict=False) if one == other]
    if len(shared) == len(a):
        return "frame_a"
    if len(shared) == len(b):
        return "frame_b"
    return "" if shared else "world"
