"""Joints of bodies."""

from dataclasses import dataclass, replace

import numpy as np

from mbfmu.errors import AxisError, ModelError, ValueRangeError, nearest
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.poses import SMALLEST
from mbfmu.model.mjcf.settings import LIMITED, Settings, choice
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.rigid_pose import RigidPose
from mbfmu.model.robot.robot import Array
from mbfmu.model.robot.xml import XmlElement

TYPES = ("hinge", "slide", "ball", "free")
SIZES = {"hinge": (1, 1), "slide": (1, 1), "ball": (4, 3), "free": (7, 6)}
"""Numbers of coordinates and of rates of each type."""
USED = {"name", "class", "type", "group", "pos", "axis", "stiffness", "range", "limited", "ref", "springref",
        "armature", "damping", "frictionloss", "user", "springdamper", "actuatorfrcrange", "actuatorfrclimited",
        "springyield",
        "actuatorgravcomp", "margin", "solreflimit", "solimplimit", "solreffriction", "solimpfriction",
        "align"}  # fmt: skip


@dataclass(frozen=True)
class ModelJoint:
    """A joint.

    Args:
        name: its name, or one made up.
        element: its element, with its defaults filled in.
        kind: one of `TYPES`.
        r: its point, m, in the body's frame, shape (3,).
        axis: unit vector in the body's frame, shape (3,).
        ref: coordinate at the reference, rad or m.
        stiffness: N.m/rad or N/m.
        rest: coordinate at which its spring is at rest, rad or m.
        damping: N.m.s/rad or N.s/m.
        armature: kg.m2 or kg.
        friction: Coulomb friction, N.m or N.
        limits: least and greatest coordinate, rad or m; None: no limits.
        efforts: least and greatest effort of all drives together; None: no limits.
        settling: time constant, s, and damping ratio from which stiffness and damping follow; (0, 0): they are given.
    """

    name: str
    element: XmlElement
    kind: str
    r: Array
    axis: Array
    ref: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    friction: float = 0.0
    limits: tuple[float, float] | None = None
    efforts: tuple[float, float] | None = None
    settling: tuple[float, float] = (0.0, 0.0)

    def named(self, name: str) -> "ModelJoint":
        """Return the joint with another name."""
        return replace(self, name=name)


def joint_of(
    element: XmlElement, frame: RigidPose, defaults: Defaults, inherited: str, settings: Settings, name: str
) -> ModelJoint:
    """Return a joint.

    Args:
        element: its element.
        frame: pose of the frame it stands in, in the body's frame.
        defaults: the default classes.
        inherited: class that the elements around it set.
        settings: settings of the model.
        name: name of a joint that has none.

    Raises:
        ModelError: a number of it has no meaning, or it has properties that a system here cannot have.
    """
    reader = defaults.reader
    name = element.attributes.get("name") or name
    if element.tag == "freejoint":
        return ModelJoint(name, element, "free", np.zeros(3), np.zeros(3))
    filled = defaults.filled(element, inherited)
    if wrong := next((key for key in filled.attributes if key not in USED), None):
        raise reader.error(element, ModelError(f"joint '{name}': a <joint> has no '{wrong}'; {nearest(wrong, USED)}"))
    kind = choice(reader, filled, "type", "hinge", TYPES)
    n = np.array(reader.numbers(filled, "axis", "0 0 1", 3))
    length = float(np.linalg.norm(n))
    if kind in {"hinge", "slide"} and length < SMALLEST:
        raise reader.error(filled, AxisError(f"joint '{name}': the axis has no direction"))
    r = np.array(reader.numbers(filled, "pos", "0 0 0", 3))
    unit = settings.angle if kind in {"hinge", "ball"} else 1.0
    axial = kind in {"hinge", "slide"}
    stiffness = _first(reader, filled, name, "stiffness") if settings.flags["spring"] else 0.0
    damping = _first(reader, filled, name, "damping") if settings.flags["damper"] else 0.0
    if not settings.flags["passive"]:
        stiffness = damping = 0.0
    T, zeta = reader.numbers(filled, "springdamper", "0 0", 2)
    settling = (T, zeta) if min(T, zeta) > 0 else (0.0, 0.0)
    armature = reader.number(filled, "armature", "0", least=0.0)
    friction = reader.number(filled, "frictionloss", "0", least=0.0) if settings.flags["frictionloss"] else 0.0
    _check(reader, filled, name, kind, stiffness or max(settling))
    limits = efforts = None
    if kind != "free" and settings.flags["limit"]:
        limits = _limits(reader, filled, name, kind, settings)
    if axial:
        efforts = settings.limits(reader, filled, f"joint '{name}'", "actuatorfrcrange", "actuatorfrclimited")
    return ModelJoint(
        name,
        filled,
        kind,
        frame.r + frame.R @ r,
        frame.R @ n / length if axial else n,
        reader.number(filled, "ref", "0") * unit if axial else 0.0,
        stiffness,
        reader.number(filled, "springref", "0") * unit if axial else 0.0,
        damping,
        armature,
        friction,
        (limits[0] * unit, limits[1] * unit) if limits else None,
        efforts,
        settling,
    )


def _limits(
    reader: Attributes, element: XmlElement, name: str, kind: str, settings: Settings
) -> tuple[float, float] | None:
    """Return the range of a joint as written; for a ball joint it begins at 0, and may end there."""
    held = choice(reader, element, "limited", "auto", LIMITED) == "true"
    if kind == "ball" and held and not any(reader.numbers(element, "range", "0 0", 2)):
        return 0.0, 0.0
    limits = settings.limits(reader, element, f"joint '{name}'", "range", "limited")
    if kind == "ball" and limits and limits[0]:
        message = f"joint '{name}': the range of a ball joint holds its angle: it needs a first number of 0"
        raise reader.error(element, ValueRangeError(message))
    return limits


def _first(reader: Attributes, element: XmlElement, name: str, attribute: str) -> float:
    """Return a coefficient; those of higher powers have to be zero.

    Raises:
        ModelError: the force is no linear one, or negative.
    """
    words = element.attributes.get(attribute, "0").split()
    coefficients = reader.numbers(element, attribute, "0", len(words) or 1)
    if any(coefficients[1:]):
        message = (
            f"joint '{name}': its {attribute} is a polynomial: only the first coefficient is taken, set the others to 0"
        )
        raise reader.error(element, ModelError(message))
    if coefficients[0] < 0:
        raise reader.error(
            element, ValueRangeError(f"joint '{name}': {attribute} = {coefficients[0]:g} must be at least 0")
        )
    return coefficients[0]


def _check(reader: Attributes, element: XmlElement, name: str, kind: str, stiffness: float) -> None:
    """Raise an error if a joint has a property that a system here cannot have."""
    message = ""
    if kind == "free" and stiffness:
        message = "a free joint with stiffness is not modelled: set it to 0, or write <freejoint/>, which takes over no"
        message += " defaults"
    elif reader.number(element, "springyield", "0"):
        message = "a spring that yields is not modelled: set springyield to 0"
    if message:
        raise reader.error(element, ModelError(f"joint '{name}': {message}"))
