"""Actuators: what drives a model, as affine drives on axes and affine thrusters at sites."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mbfmu.errors import ModelError, NameInUseError, ValueRangeError, first_of, nearest
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.laws import AFFINE, OTHERS, ActuatorLaw, stated
from mbfmu.model.mjcf.settings import Settings, flag_of
from mbfmu.model.mjcf.tendons import ROPE
from mbfmu.model.mjcf.transmissions import ENDS, Ends, Transmission, transmission_of
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import XmlElement

MOST = 5_000
"""Largest number of actuators."""


@dataclass(frozen=True)
class Actuator:
    """An actuator.

    Args:
        name: its name.
        law: its force.
        on: the motion that it acts on.
        gear: six numbers: direction of the force, and of the torque, at a site.
        tendon: name of the tendon it pulls; empty for others.
        inputs: least and greatest input; None: no limits.
        forces: least and greatest force; None: no limits.
        armature: inertia that it adds to the one joint it acts on.
        damping: damping that it adds along the joints.
        states: least and greatest state of its integrator; None: no limits.
        muscle: fields of a `Muscle`, in place of the law; none: it is no muscle.
    """

    name: str
    law: ActuatorLaw
    on: Transmission
    gear: tuple[float, ...]
    tendon: str
    inputs: tuple[float, float] | None
    forces: tuple[float, float] | None
    armature: float
    damping: float
    states: tuple[float, float] | None = None
    muscle: Mapping[str, Any] = field(default_factory=dict)

    @property
    def joints(self) -> Mapping[str, float]:
        """Return the names and ratios of the joints it acts on."""
        return self.on.joints


@dataclass(frozen=True)
class Actuators:
    """The actuators of a model.

    Args:
        acting: those that are modelled, by name.
        idle: those that are switched off, which leave their armature and damping, by name.
        count: number of all.
        indices: number of each of those that are modelled, among all.
        notices: what was left out.
        stateful: names of those with a state, in the order of the file.
    """

    acting: Mapping[str, Actuator]
    idle: Mapping[str, Actuator]
    count: int
    indices: Mapping[str, int]
    notices: tuple[str, ...]
    stateful: tuple[str, ...]


def actuators_of(root: XmlElement, defaults: Defaults, settings: Settings, ends: Ends) -> Actuators:
    """Return the actuators of a model.

    Raises:
        ModelError: an actuator names what is not there, or a number of it has no meaning.
    """
    reader = defaults.reader
    actuators: dict[str, Actuator] = {}
    idle: dict[str, Actuator] = {}
    indices: dict[str, int] = {}
    off: list[str] = []
    early: list[str] = []
    sticking: list[str] = []
    stateful: list[str] = []
    elements = [item for group in root.all("actuator") for item in group.children]
    if len(elements) > MOST:
        raise reader.error(elements[MOST], ModelError(f"more than {MOST} actuators"))
    for index, element in enumerate(elements):
        if element.tag not in (*AFFINE, *OTHERS):
            message = f"there is no actuator <{element.tag}>; {nearest(element.tag, (*AFFINE, *OTHERS))}"
            raise reader.error(element, ModelError(message))
        name = element.attributes.get("name") or f"actuator_{index + 1}"
        if name in indices:
            raise reader.error(element, NameInUseError(f"there are two actuators '{name}': rename one"))
        filled, law = stated(defaults, element)
        actuator, unknown = _actuator(reader, filled, law, name, settings, ends)
        stateful += [name] if law.dyntype != "none" else []
        acts = settings.flags["actuation"] and reader.number(filled, "group", "0") not in settings.idle
        if (
            unknown
            and element.tag != "adhesion"
            and (acts or any(word in filled.attributes for word in ("armature", "damping")))
        ):
            raise reader.error(element, ModelError(f"actuator '{name}' ({unknown}) is not modelled: remove it"))
        if (
            acts
            and actuator
            and (actuator.law.stateful or actuator.muscle)
            and flag_of(reader, filled, "actearly", False)
        ):
            early.append(f"'{name}'")
        if acts and element.tag == "adhesion":  # it pulls at contacts alone
            sticking.append(f"'{name}'")
            continue
        if acts and actuator:
            actuators[name], indices[name] = actuator, index
            continue
        off.append(f"'{name}'")
        if actuator:
            idle[name] = actuator
    notices = []
    if elements and not settings.flags["actuation"]:
        notices.append("actuators are left out, as the option actuation is off")
    elif off:
        notices.append(f"actuators of groups that are off are left out: {first_of(off)}")
    if early:
        notices.append(f"early activation (actearly) is a step's, and here there is none: {first_of(early)}")
    if sticking:
        notices.append(f"adhesion acts at contacts, which are left out: {first_of(sticking)}")
    return Actuators(actuators, idle, len(elements), indices, tuple(notices), tuple(stateful))


def _actuator(
    reader: Attributes, element: XmlElement, law: ActuatorLaw, name: str, settings: Settings, ends: Ends
) -> tuple[Actuator | None, str]:
    """Return an actuator, or None and the reason why it is not modelled."""
    words = element.attributes.get("gear", "1").split()
    gear = (reader.numbers(element, "gear", "1", len(words) or 1) + (0.0,) * 6)[:6]
    on, unknown = transmission_of(reader, element, name, gear, law, ends)
    limited = element
    if law.inherits and law.dyntype == "filter":
        message = (
            f"actuator '{name}' with inheritrange has a filter: write dyntype=\"filterexact\", or give a ctrlrange"
        )
        raise reader.error(element, ModelError(message))
    if law.inherits:
        lower, upper = _inherited(reader, element, name, settings, ends, law.spread)
        limited = replace(element, attributes={**element.attributes, "ctrlrange": f"{lower!r} {upper!r}"})
    inputs = settings.limits(reader, limited, f"actuator '{name}'", "ctrlrange", "ctrllimited")
    forces = settings.limits(reader, element, f"actuator '{name}'", "forcerange", "forcelimited")
    armature, (damping, *more) = reader.number(element, "armature", "0", least=0.0), _damping(reader, element)
    damping = damping if settings.flags["damper"] and settings.flags["passive"] else 0.0
    if any(more):
        unknown = unknown or "its damping is a polynomial"
    if reader.number(element, "delay", "0"):
        unknown = unknown or "it has a delay"
    if damping and not on.joints:
        unknown = unknown or "it has a damping, and acts on no axis"
    if armature and (len(on.joints) != 1 or next(iter(on.joints)).startswith(ROPE)):
        unknown = unknown or "it has an armature, and acts on no single joint"
    states = settings.limits(reader, element, f"actuator '{name}'", "actrange", "actlimited") if law.stateful else None
    if law.filtered and states:
        unknown = unknown or "limits of its filter"
    if element.tag == "muscle":
        muscle, lacking = _muscle(reader, element, inputs)
        unknown = (
            unknown or lacking or ("a muscle on no axis" if not on.joints else "limits of its force" if forces else "")
        )
        rest = (on, gear, element.attributes.get("tendon", ""), inputs, None)
        rotor = armature * gear[0] ** 2
        return (None, unknown) if unknown else (Actuator(name, law, *rest, rotor, damping, muscle=muscle), "")
    acting = law.acting
    unknown = law.unknown or unknown
    if unknown:
        return None, unknown
    if acting.dampratio and acting.gain[0] < 0:
        message = f"actuator '{name}' has a damping ratio and a stiffness of {acting.gain[0]:g}: it must be at least 0"
        raise reader.error(element, ValueRangeError(message))
    inputs = inputs if settings.flags["clampctrl"] else None
    tendon = element.attributes.get("tendon", "")
    rotor = armature * gear[0] ** 2
    return Actuator(name, acting, on, gear, tendon, inputs, forces, rotor, damping, states), ""


def _muscle(reader: Attributes, element: XmlElement, inputs: tuple[float, float] | None) -> tuple[dict[str, Any], str]:
    """Return the fields of a muscle, or what it lacks."""
    F_0 = reader.number(element, "force", "-1")
    s = reader.numbers(element, "lengthrange", "0 0", 2)
    lacking = ""
    if not s[0] < s[1]:
        lacking = "a muscle without lengthrange, which MuJoCo finds by trial"
    elif F_0 < 0:
        lacking = "a muscle without force, which MuJoCo scales by the inertia it moves"
    elif inputs and not (inputs[0] <= 0 and inputs[1] >= 1):
        lacking = "a muscle with a ctrlrange within 0 to 1"
    defaults = {"lmin": "0.5", "lmax": "1.6", "vmax": "1.5", "fpmax": "1.3", "fvmax": "1.2"}
    curve = tuple(reader.number(element, key, text) for key, text in defaults.items())
    r, T = reader.numbers(element, "range", "0.75 1.05", 2), reader.numbers(element, "timeconst", "0.01 0.04", 2)
    return {
        "F_0": F_0,
        "s": s,
        "r": r,
        "curve": curve,
        "T": T,
        "width": reader.number(element, "tausmooth", "0"),
    }, lacking


def _damping(reader: Attributes, element: XmlElement) -> tuple[float, ...]:
    words = element.attributes.get("damping", "0").split()
    return reader.numbers(element, "damping", "0", len(words) or 1)


def _inherited(
    reader: Attributes, element: XmlElement, name: str, settings: Settings, ends: Ends, spread: float
) -> tuple[float, float]:
    """Return the limits of an input that are a share of the range of what the actuator acts on, limited or not."""
    on = next(key for key in ENDS if key in element.attributes)
    target = element.attributes[on]
    if on == "joint" and target in ends.joints:
        stated, unit = ends.joints[target].element, 1.0
        limits = settings.limits(reader, stated, f"joint '{target}'", "range", "limited")
        if ends.joints[target].kind == "hinge" and limits:
            unit = settings.angle  # MuJoCo converts the range of no other joint
    elif on == "tendon" and target in ends.every_tendon:
        stated, unit = ends.every_tendon[target].element, 1.0
    else:
        message = f"actuator '{name}' with inheritrange acts on neither a joint nor a tendon: give a ctrlrange"
        raise reader.error(element, ModelError(message))
    lower, upper = (unit * item for item in reader.numbers(stated, "range", "0 0", 2))
    if not lower < upper:
        message = f"actuator '{name}' takes over the range of the {on} '{target}', which has none"
        raise reader.error(element, ModelError(message))
    middle, half = (lower + upper) / 2, (upper - lower) / 2 * spread
    return middle - half, middle + half
