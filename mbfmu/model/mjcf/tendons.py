"""Tendons: combinations of the axes of joints, and ropes through sites and around geoms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.errors import ModelError, NameInUseError, ValueRangeError
from mbfmu.model.frame import Frame, Pose
from mbfmu.model.mjcf.bodies import MjcfBodies, Site, known, poses_of
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.joints import ModelJoint
from mbfmu.model.mjcf.settings import Settings
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.rigid_pose import RigidPose
from mbfmu.model.robot.robot import Array
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.rope import Rope

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
        law: force of the higher powers of its stiffness and damping, a formula of s and v; empty: none.
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
    law: str = ""


@dataclass(frozen=True)
class Way:
    """A stretch of a spatial tendon, from one site to the next.

    Args:
        share: factor of its length in the tendon's; 0 between branches.
        over: the geom that it may wrap around; None: none.
        side: the site that chooses the way around it, if it lies outside of it.
        inside: whether it is held on the geom from inside.
    """

    share: float
    over: Site | None = None
    side: Site | None = None
    inside: bool = False


@dataclass(frozen=True)
class SpatialTendon:
    """A spatial tendon: a rope through sites and around geoms.

    Args:
        name: its name.
        element: its element, with its defaults filled in.
        sites: the sites.
        ways: the stretches between them.
        stiffness, damping: of the spring and the damper along it.
        slack: least and greatest length without spring force, m.
        friction: Coulomb friction, N.
        armature: mass that moves with its length, kg.
        efforts: least and greatest force of all actuators together; None: no limits.
        limits: least and greatest length, m; None: no limits.
        law: force of the higher powers of its stiffness and damping, a formula of s and v; empty: none.
    """

    name: str
    element: XmlElement
    sites: tuple[Site, ...]
    ways: tuple[Way, ...]
    stiffness: float
    damping: float
    slack: tuple[float, float]
    friction: float
    armature: float
    efforts: tuple[float, float] | None
    limits: tuple[float, float] | None = None
    law: str = ""

    @property
    def acts(self) -> bool:
        """Return whether it acts on the motion by itself."""
        return bool(self.stiffness or self.damping or self.friction or self.armature or self.limits or self.law)

    def rope(self, name: str) -> Rope:
        """Return the rope, with a name."""
        shares = tuple(way.share for way in self.ways)
        rounds: dict[str, Any] = {}
        if any(way.over for way in self.ways):
            rounds["over"] = tuple(way.over.shape if way.over else "" for way in self.ways)
            rounds["radii"] = tuple(way.over.radius if way.over else 0.0 for way in self.ways)
            ways = tuple("side" if way.side else "inside" if way.inside else "" for way in self.ways)
            rounds |= {"ways": ways} if any(ways) else {}
        return Rope(name, points=len(self.sites), shares=() if set(shares) == {1.0} else shares, **rounds)

    @property
    def frames(self) -> tuple[Site, ...]:
        """Return where the frames of the rope are, in their order."""
        return (*self.sites, *(item for way in self.ways for item in (way.over, way.side) if item))

    def length(self, poses: Mapping[str, RigidPose]) -> float:
        """Return its length, m, for the poses of bodies by name."""
        whole = (poses[site.body] @ site.pose for site in self.frames)
        motion = self.rope("rope").motion(None, *(still(pose.r, pose.R) for pose in whole))
        return float(ca.evalf(ca.SX(motion.value)))


def still(r: Array, R: Array) -> Frame:
    """Return a frame at rest, with numbers as expressions."""
    pose = Pose(ca.SX(ca.DM(r)), ca.SX([1, 0, 0, 0]), ca.SX(ca.DM(R)))
    return Frame(pose, ca.SX(3, 1), ca.SX(3, 1))


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
    stiffness, damping = (_acting(reader, element, settings, key) for key in ("stiffness", "damping"))
    words = element.attributes.get("springlength", "-1").split()
    lengths = reader.numbers(element, "springlength", "-1", len(words) or 1)
    rest = sum(ratio * joints[joint].rest for joint, ratio in ratios.items())
    slack = (rest, rest) if lengths[0] < 0 and len(lengths) == 1 else (lengths[0], lengths[-1])
    reference = sum(ratio * joints[joint].ref for joint, ratio in ratios.items())
    efforts = _efforts(reader, element, name, settings)
    law = _law(stiffness, damping, slack)
    return Tendon(name, element, ratios, stiffness[0], damping[0], slack, reference, efforts, law=law)


def _spatial(
    reader: Attributes, element: XmlElement, name: str, settings: Settings, bodies: MjcfBodies
) -> SpatialTendon:
    if _first(reader, element, "springyield"):
        raise reader.error(element, ModelError(f"tendon '{name}' has springyield, which is not modelled: set it to 0"))
    sites, ways = _path(reader, element, name, bodies)
    stiffness, damping = (_acting(reader, element, settings, key) for key in ("stiffness", "damping"))
    friction = _first(reader, element, "frictionloss") if settings.flags["frictionloss"] else 0.0
    efforts = _efforts(reader, element, name, settings)
    armature = reader.number(element, "armature", "0", least=0.0)
    tendon = SpatialTendon(
        name, element, sites, ways, stiffness[0], damping[0], (0.0, 0.0), friction, armature, efforts
    )
    words = element.attributes.get("springlength", "-1").split()
    lengths = reader.numbers(element, "springlength", "-1", len(words) or 1)
    if ways and lengths[0] < 0 and len(lengths) == 1:
        rests = {joint.name: joint.rest for joint in bodies.joints.values()}
        lengths = (tendon.length(poses_of(bodies, rests)),)
    slack = (lengths[0], lengths[-1])
    return replace(tendon, slack=slack, law=_law(stiffness, damping, slack))


def _path(
    reader: Attributes, element: XmlElement, name: str, bodies: MjcfBodies
) -> tuple[tuple[Site, ...], tuple[Way, ...]]:
    """Return the sites of a spatial tendon and the stretches between them."""
    sites: list[Site] = []
    ways: list[Way] = []
    divisor, begins, wrapped = 1.0, True, None
    for item in element.children:
        if (wrapped and item.tag != "site") or (item.tag == "geom" and begins):
            raise reader.error(item, ModelError(f"tendon '{name}': a <geom> stands between two sites"))
        if item.tag == "pulley":
            divisor, begins = reader.number(item, "divisor", ""), True
            if divisor <= 0:
                raise reader.error(item, ValueRangeError(f"<pulley divisor>: {divisor:g} must be above 0"))
        elif item.tag == "site":
            site = bodies.sites[known(reader, item, "site", bodies.sites, "site")]
            if sites:
                ways.append(_way(reader, wrapped, bodies, sites[-1], site, 0.0 if begins else 1 / divisor))
            sites, begins, wrapped = [*sites, site], False, None
        elif item.tag == "geom":
            wrapped = item
        else:
            message = f"a <spatial> holds <site>, <geom> and <pulley>, not <{item.tag}>"
            raise reader.error(item, ModelError(message))
    if wrapped:
        raise reader.error(wrapped, ModelError(f"tendon '{name}': a <geom> stands between two sites"))
    return tuple(sites), tuple(ways)


def _way(
    reader: Attributes, wrapped: XmlElement | None, bodies: MjcfBodies, last: Site, here: Site, share: float
) -> Way:
    """Return the stretch between two sites, around the geom of an element if there is one."""
    if wrapped is None:
        apart = here.body != last.body or bool((here.pose.r != last.pose.r).any())
        return Way(share if apart else 0.0)
    geom = bodies.rounds[known(reader, wrapped, "geom", bodies.rounds, "sphere or cylinder")]
    if "sidesite" not in wrapped.attributes:
        return Way(share, geom)
    side = bodies.sites[known(reader, wrapped, "sidesite", bodies.sites, "site")]
    poses = poses_of(bodies)
    gap = (poses[side.body] @ side.pose).r - (poses[geom.body] @ geom.pose).r
    inside = bool(np.linalg.norm(gap) < geom.radius)
    return Way(share, geom, None if inside else side, inside)


def check_path(reader: Attributes, tendon: SpatialTendon) -> None:
    """Raise an error if a spatial tendon with forces has no path.

    Raises:
        ModelError: it has none.
    """
    if not any(way.share for way in tendon.ways):
        message = "has forces, and its path has no two sites: give it some"
        raise reader.error(tendon.element, ModelError(f"the spatial tendon '{tendon.name}' {message}"))


def _efforts(reader: Attributes, element: XmlElement, name: str, settings: Settings) -> tuple[float, float] | None:
    efforts = settings.limits(reader, element, f"tendon '{name}'", "actuatorfrcrange", "actuatorfrclimited")
    if efforts and not efforts[0] <= 0 <= efforts[1]:
        message = f"tendon '{name}': actuatorfrcrange needs a first number of at most 0 and a second of at least 0"
        raise reader.error(element, ValueRangeError(message))
    return efforts


def _acting(reader: Attributes, element: XmlElement, settings: Settings, attribute: str) -> tuple[float, ...]:
    """Return the coefficients of the powers of a tendon's stiffness or damping, zeros if the settings switch it off."""
    words = element.attributes.get(attribute, "0").split()
    coefficients = reader.numbers(element, attribute, "0", len(words) or 1)
    flag = "spring" if attribute == "stiffness" else "damper"
    return coefficients if settings.flags[flag] and settings.flags["passive"] else (0.0,)


def _law(stiffness: tuple[float, ...], damping: tuple[float, ...], slack: tuple[float, float]) -> str:
    """Return the force of the higher powers, ``-c_n x^n`` beyond the slack and ``-d_n |v|^(n-1) v``, as a formula."""
    lower, upper = slack
    x = f"(s - {lower!r})" if lower == upper else f"(max(0, s - {upper!r}) - max(0, {lower!r} - s))"
    terms = [f" - ({c!r})*{x}**{n}" for n, c in enumerate(stiffness[1:], 2) if c]
    terms += [f" - ({d!r})*abs(v)**{n - 1}*v" for n, d in enumerate(damping[1:], 2) if d]
    return "".join(terms).lstrip()


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
