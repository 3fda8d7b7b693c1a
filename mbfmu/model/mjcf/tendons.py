"""Tendons: combinations of the axes of joints, and springs between two sites."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mbfmu.errors import ModelError, NameInUseError, ValueRangeError
from mbfmu.model.mjcf.bodies import MjcfBodies, joint_path, known, poses_of
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.joints import ModelJoint
from mbfmu.model.mjcf.settings import Settings
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import XmlElement

PASSIVE = ("frictionloss", "armature", "springyield")
"""Properties of tendons that a system here cannot have."""


@dataclass(frozen=True)
class Tendon:
    """A fixed tendon: ``length = sum coef_k q_k``.

    Args:
        name: its name.
        element: its element, with its defaults filled in.
        ratios: coefficient of each joint, by its name.
        stiffness, damping: of the spring and the damper along it.
        slack: least and greatest length without spring force.
        length: length at the references of the joints.
        efforts: least and greatest force of all actuators together; None: no limits.
        limits: least and greatest length; None: no limits.
    """

    name: str
    element: XmlElement
    ratios: Mapping[str, float]
    stiffness: float
    damping: float
    slack: tuple[float, float]
    length: float
    efforts: tuple[float, float] | None
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class LineTendon:
    """A spatial tendon with forces, between two sites.

    Args:
        name: its name.
        sites: names of the sites.
        stiffness, damping: of the spring and the damper along it.
        length: length without spring force, m.
    """

    name: str
    sites: tuple[str, str]
    stiffness: float
    damping: float
    length: float


def tendons_of(
    root: XmlElement, defaults: Defaults, settings: Settings, bodies: MjcfBodies, limits: bool
) -> tuple[dict[str, Tendon], dict[str, LineTendon | None]]:
    """Return the fixed tendons of a model by name, and the spatial ones, of which those without forces are None.

    Args:
        root: root element.
        defaults: the default classes.
        settings: settings of the model.
        bodies: its bodies.
        limits: whether limits count.

    Raises:
        ModelError: a tendon acts on the motion in a way that a system here cannot have.
    """
    reader = defaults.reader
    fixed: dict[str, Tendon] = {}
    spatial: dict[str, LineTendon | None] = {}
    count = 0
    for group in root.all("tendon"):
        for item in group.children:
            count += 1
            name = item.attributes.get("name") or f"tendon_{count}"
            if name in fixed or name in spatial:
                raise reader.error(item, NameInUseError(f"there are two tendons '{name}': rename one"))
            filled = defaults.filled(item, tag="tendon")
            if item.tag == "fixed":
                fixed[name] = _fixed(reader, filled, name, settings, bodies.joints)
            elif item.tag == "spatial":
                if acting := next((key for key in PASSIVE if _first(reader, filled, key)), None):
                    message = f"the spatial tendon '{name}' has {acting}: only fixed tendons, over joints, may have it"
                    raise reader.error(item, ModelError(message))
                spatial[name] = _line(reader, filled, name, settings, bodies)
            else:
                raise reader.error(item, ModelError(f"a <tendon> holds <fixed> and <spatial>, not <{item.tag}>"))
            held = settings.limits(reader, filled, f"tendon '{name}'", "range", "limited")
            if not (held and limits and settings.flags["limit"]):
                continue
            if name in spatial:
                message = f"the spatial tendon '{name}' has limits: remove its range, or say limited="
                raise reader.error(item, ModelError(f'{message}"false", or read without limits (--no-limits)'))
            fixed[name] = replace(fixed[name], limits=held)
    return fixed, spatial


def _fixed(
    reader: Attributes, element: XmlElement, name: str, settings: Settings, joints: Mapping[str, ModelJoint]
) -> Tendon:
    if acting := next((key for key in PASSIVE if _first(reader, element, key)), None):
        raise reader.error(element, ModelError(f"tendon '{name}' has {acting}, which is not modelled: set it to 0"))
    ratios: dict[str, float] = {}
    for item in element.all("joint"):
        joint = known(reader, item, "joint", joints, "joint")
        if joints[joint].kind not in {"hinge", "slide"}:
            raise reader.error(item, ModelError(f"tendon '{name}': the joint '{joint}' has no axis"))
        ratios[joint] = ratios.get(joint, 0.0) + reader.number(item, "coef", "")
    if not ratios:
        raise reader.error(element, ModelError(f"tendon '{name}' needs a <joint>"))
    stiffness = _first(reader, element, "stiffness") if settings.flags["spring"] and settings.flags["passive"] else 0.0
    damping = _first(reader, element, "damping") if settings.flags["damper"] and settings.flags["passive"] else 0.0
    words = element.attributes.get("springlength", "-1").split()
    lengths = reader.numbers(element, "springlength", "-1", len(words) or 1)
    rest = sum(ratio * joints[joint].rest for joint, ratio in ratios.items())
    slack = (rest, rest) if lengths[0] < 0 and len(lengths) == 1 else (lengths[0], lengths[-1])
    reference = sum(ratio * joints[joint].ref for joint, ratio in ratios.items())
    efforts = settings.limits(reader, element, f"tendon '{name}'", "actuatorfrcrange", "actuatorfrclimited")
    if efforts and not efforts[0] <= 0 <= efforts[1]:
        message = f"tendon '{name}': actuatorfrcrange needs a first number of at most 0 and a second of at least 0"
        raise reader.error(element, ValueRangeError(message))
    return Tendon(name, element, ratios, stiffness, damping, slack, reference, efforts)


def _line(
    reader: Attributes, element: XmlElement, name: str, settings: Settings, bodies: MjcfBodies
) -> LineTendon | None:
    """Return a spatial tendon with forces; None if it has none.

    Raises:
        ModelError: it runs otherwise than from one site to another, is slack, or rests where nothing says how long.
    """
    passive, message = settings.flags["passive"], ""
    stiffness = _first(reader, element, "stiffness") if settings.flags["spring"] and passive else 0.0
    damping = _first(reader, element, "damping") if settings.flags["damper"] and passive else 0.0
    if not (stiffness or damping):
        return None
    if [item.tag for item in element.children] != ["site", "site"]:
        message = "forces, and is no line between two sites: only such ones, and fixed tendons, are modelled"
        raise reader.error(element, ModelError(f"the spatial tendon '{name}' has {message}"))
    first, second = (known(reader, item, "site", bodies.sites, "site") for item in element.children)
    ends = [bodies.sites[first], bodies.sites[second]]
    words = element.attributes.get("springlength", "-1").split()
    lengths = reader.numbers(element, "springlength", "-1", len(words) or 1)
    length = lengths[0]
    if length < 0:
        poses = poses_of(bodies)
        a, b = ((poses[end.body] @ end.pose).r for end in ends)
        length = float(np.linalg.norm(b - a))
        over = {joint for end in ends for joint in joint_path(bodies, end.body)}
        if any(bodies.joints[joint].rest != bodies.joints[joint].ref for joint in over):
            message = "a springref that is not their ref: give the tendon a springlength"
            raise reader.error(element, ModelError(f"the joints along the spatial tendon '{name}' have {message}"))
    elif lengths[-1] != length:
        message = "a range without force: give one springlength"
        raise reader.error(element, ModelError(f"the spatial tendon '{name}' has {message}"))
    return LineTendon(name, (first, second), stiffness, damping, length)


def _first(reader: Attributes, element: XmlElement, attribute: str) -> float:
    """Return a coefficient; those of higher powers have to be zero.

    Raises:
        ModelError: they are not.
    """
    words = element.attributes.get(attribute, "0").split()
    coefficients = reader.numbers(element, attribute, "0", len(words) or 1)
    if any(coefficients[1:]):
        message = f"<{element.tag} {attribute}>: only the first coefficient is taken, set the others to 0"
        raise reader.error(element, ModelError(message))
    return coefficients[0]
