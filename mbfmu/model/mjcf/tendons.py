"""Tendons: combinations of the axes of joints, and ropes through sites."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mbfmu.errors import ModelError, NameInUseError, ValueRangeError
from mbfmu.model.mjcf.bodies import MjcfBodies, known, site_points
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.joints import ModelJoint
from mbfmu.model.mjcf.settings import Settings
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.robot import Array
from mbfmu.model.robot.xml import XmlElement

PASSIVE = ("frictionloss", "armature", "springyield")
"""Properties that a fixed tendon cannot have here."""
ROPE = "\t"
"""Beginning of the key of a spatial tendon among the axes that actuators and equalities combine; no joint has it."""


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
class SpatialTendon:
    """A spatial tendon: a rope through sites.

    Args:
        name: its name.
        element: its element, with its defaults filled in.
        sites: names of the sites.
        shares: factor of each stretch between two sites in the length; 0 between branches.
        wraps: name of the geom or site that keeps it from being modelled; empty: nothing does.
        stiffness, damping: of the spring and the damper along it.
        slack: least and greatest length without spring force, m.
        friction: Coulomb friction, N.
        armature: mass that moves with its length, kg.
        efforts: least and greatest force of all actuators together; None: no limits.
        limits: least and greatest length, m; None: no limits.
    """

    name: str
    element: XmlElement
    sites: tuple[str, ...]
    shares: tuple[float, ...]
    wraps: str
    stiffness: float
    damping: float
    slack: tuple[float, float]
    friction: float
    armature: float
    efforts: tuple[float, float] | None
    limits: tuple[float, float] | None = None

    @property
    def acts(self) -> bool:
        """Return whether it acts on the motion by itself."""
        return bool(self.stiffness or self.damping or self.friction or self.armature or self.limits)

    def length(self, points: Mapping[str, Array]) -> float:
        """Return its length, m, for the positions of its sites by name, m."""
        ends = zip(self.shares, self.sites, self.sites[1:], strict=False)
        return float(sum(share * np.linalg.norm(points[b] - points[a]) for share, a, b in ends))


def tendons_of(
    root: XmlElement, defaults: Defaults, settings: Settings, bodies: MjcfBodies, limits: bool
) -> tuple[dict[str, Tendon], dict[str, SpatialTendon]]:
    """Return the fixed tendons of a model by name, and the spatial ones.

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
    spatial: dict[str, SpatialTendon] = {}
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
                spatial[name] = _spatial(reader, filled, name, settings, bodies)
            else:
                raise reader.error(item, ModelError(f"a <tendon> holds <fixed> and <spatial>, not <{item.tag}>"))
            held = settings.limits(reader, filled, f"tendon '{name}'", "range", "limited")
            if not (held and limits and settings.flags["limit"]):
                continue
            if name in spatial:
                spatial[name] = replace(spatial[name], limits=held)
            else:
                fixed[name] = replace(fixed[name], limits=held)
    for tendon in spatial.values():
        if tendon.acts:
            check_path(reader, tendon)
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
    efforts = _efforts(reader, element, name, settings)
    return Tendon(name, element, ratios, stiffness, damping, slack, reference, efforts)


def _spatial(
    reader: Attributes, element: XmlElement, name: str, settings: Settings, bodies: MjcfBodies
) -> SpatialTendon:
    if _first(reader, element, "springyield"):
        raise reader.error(element, ModelError(f"tendon '{name}' has springyield, which is not modelled: set it to 0"))
    sites: list[str] = []
    shares: list[float] = []
    wraps, divisor, begins = "", 1.0, True
    for item in element.children:
        if item.tag == "pulley":
            divisor, begins = reader.number(item, "divisor", ""), True
            if divisor <= 0:
                raise reader.error(item, ValueRangeError(f"<pulley divisor>: {divisor:g} must be above 0"))
        elif item.tag == "site":
            site = known(reader, item, "site", bodies.sites, "site")
            here, last = bodies.sites[site], bodies.sites[sites[-1]] if sites else None
            apart = last is None or here.body != last.body or bool((here.pose.r != last.pose.r).any())
            if sites:
                shares.append(0.0 if begins or not apart else 1 / divisor)
            sites, begins = [*sites, site], False
        elif item.tag == "geom":
            wraps = wraps or reader.name(item, "geom")
        else:
            message = f"a <spatial> holds <site>, <geom> and <pulley>, not <{item.tag}>"
            raise reader.error(item, ModelError(message))
    passive = settings.flags["passive"]
    stiffness = _first(reader, element, "stiffness") if settings.flags["spring"] and passive else 0.0
    damping = _first(reader, element, "damping") if settings.flags["damper"] and passive else 0.0
    friction = _first(reader, element, "frictionloss") if settings.flags["frictionloss"] else 0.0
    efforts = _efforts(reader, element, name, settings)
    armature = reader.number(element, "armature", "0", least=0.0)
    tendon = SpatialTendon(
        name, element, tuple(sites), tuple(shares), wraps, stiffness, damping, (0.0, 0.0), friction, armature, efforts
    )
    words = element.attributes.get("springlength", "-1").split()
    lengths = reader.numbers(element, "springlength", "-1", len(words) or 1)
    if lengths[0] < 0 and len(lengths) == 1:
        rests = {joint.name: joint.rest for joint in bodies.joints.values()}
        lengths = (tendon.length(site_points(bodies, rests)),)
    return replace(tendon, slack=(lengths[0], lengths[-1]))


def check_path(reader: Attributes, tendon: SpatialTendon) -> None:
    """Raise an error if a spatial tendon with forces takes a way that is not modelled.

    Raises:
        ModelError: it does.
    """
    message = ""
    if tendon.wraps:
        message = f"has forces, and wraps over the geom '{tendon.wraps}', which is not modelled yet: remove the geom"
        message += " from its path, or the tendon"
    elif not any(tendon.shares):
        message = "has forces, and its path has no two sites: give it some"
    if message:
        raise reader.error(tendon.element, ModelError(f"the spatial tendon '{tendon.name}' {message}"))


def _efforts(reader: Attributes, element: XmlElement, name: str, settings: Settings) -> tuple[float, float] | None:
    efforts = settings.limits(reader, element, f"tendon '{name}'", "actuatorfrcrange", "actuatorfrclimited")
    if efforts and not efforts[0] <= 0 <= efforts[1]:
        message = f"tendon '{name}': actuatorfrcrange needs a first number of at most 0 and a second of at least 0"
        raise reader.error(element, ValueRangeError(message))
    return efforts


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
