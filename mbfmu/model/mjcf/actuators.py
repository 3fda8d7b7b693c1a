"""Actuators: what drives a model, as affine drives on axes and affine thrusters at sites."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mbfmu.errors import ModelError, NameInUseError, ValueRangeError, first_of, nearest
from mbfmu.model.mjcf.bodies import Site, known
from mbfmu.model.mjcf.defaults import Defaults, over
from mbfmu.model.mjcf.joints import ModelJoint
from mbfmu.model.mjcf.settings import Settings, choice
from mbfmu.model.mjcf.tendons import Tendon
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import Element

AFFINE = ("general", "motor", "position", "velocity", "damper")
"""Actuators whose force is affine in their input, the length and the speed."""
OTHERS = ("intvelocity", "cylinder", "muscle", "adhesion", "pid", "dcmotor", "orientation", "plugin")
DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle", "user", "pid", "dcmotor")
GAINS = ("fixed", "affine", "muscle", "dcmotor", "pid", "so3", "user")
BIASES = ("none", "affine", "muscle", "dcmotor", "so3", "user")
ENDS = ("joint", "jointinparent", "tendon", "site", "body", "cranksite")
"""Attributes that say what an actuator acts on."""


@dataclass(frozen=True)
class Law:
    """The force of an actuator: ``(gain . (1, s, v)) u + bias . (1, s, v)``.

    Args:
        gain, bias: three coefficients each.
        affine: whether the gain depends on s and v, and whether there is a bias.
        filtered: time constant of a filter in front, s; 0: there is none.
        dampratio: damping over critical damping, in place of ``bias[2]``, of a law that acts; 0: it is not given.
        made: kind of the actuator that it comes from; empty for a general one.
        unknown: what is not modelled of it; empty: nothing.
    """

    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    affine: tuple[bool, bool] = (False, False)
    filtered: float = 0.0
    dampratio: float = 0.0
    made: str = ""
    unknown: str = ""

    @property
    def acting(self) -> "Law":
        """The law without the coefficients that do not count; a positive ``bias[2]`` of a spring is a damping ratio."""
        gain = self.gain if self.affine[0] else (self.gain[0], 0.0, 0.0)
        bias, ratio = self.bias if self.affine[1] else (0.0, 0.0, 0.0), 0.0
        if bias[2] > 0 and bias[1] == -gain[0]:
            bias, ratio = (*bias[:2], 0.0), bias[2]
        return replace(self, gain=gain, bias=bias, dampratio=ratio)


@dataclass(frozen=True)
class Actuator:
    """An actuator.

    Args:
        name: its name.
        law: its force.
        joints: names and ratios of the joints it acts on; empty for one at a site.
        site: name of the site it acts at; empty for one on joints.
        gear: six numbers: direction of the force, and of the torque, at a site.
        tendon: name of the tendon it pulls; empty for others.
        inputs: least and greatest input; None: no limits.
        forces: least and greatest force; None: no limits.
        armature: inertia that it adds to the one joint it acts on.
        damping: damping that it adds along the joints.
    """

    name: str
    law: Law
    joints: Mapping[str, float]
    site: str
    gear: tuple[float, ...]
    tendon: str
    inputs: tuple[float, float] | None
    forces: tuple[float, float] | None
    armature: float
    damping: float


@dataclass(frozen=True)
class Actuators:
    """The actuators of a model.

    Args:
        found: those that are modelled, by name.
        idle: those that are switched off, which leave their armature and damping, by name.
        count: number of all.
        places: number of each of those that are modelled, among all.
        notices: what was left out.
    """

    found: Mapping[str, Actuator]
    idle: Mapping[str, Actuator]
    count: int
    places: Mapping[str, int]
    notices: tuple[str, ...]


@dataclass(frozen=True)
class Ends:
    """Joints, tendons and sites that actuators can act on, by name."""

    joints: Mapping[str, ModelJoint]
    tendons: Mapping[str, Tendon]
    spatial: frozenset[str]
    sites: Mapping[str, Site]


def actuators_of(root: Element, defaults: Defaults, settings: Settings, ends: Ends) -> Actuators:
    """Return the actuators of a model.

    Raises:
        ModelError: an actuator names what is not there, or a number of it has no meaning.
    """
    reader = defaults.reader
    found: dict[str, Actuator] = {}
    idle: dict[str, Actuator] = {}
    places: dict[str, int] = {}
    left: list[str] = []
    elements = [item for group in root.all("actuator") for item in group.children]
    for number, element in enumerate(elements):
        if element.tag not in (*AFFINE, *OTHERS):
            what = f"there is no actuator <{element.tag}>; {nearest(element.tag, (*AFFINE, *OTHERS))}"
            raise reader.error(element, ModelError(what))
        name = element.attributes.get("name") or f"actuator_{number + 1}"
        if name in places:
            raise reader.error(element, NameInUseError(f"there are two actuators '{name}': rename one"))
        filled = _filled(defaults, element)
        actuator, unknown = _actuator(reader, filled, _law(defaults, element), name, settings, ends)
        if actuator is None:
            left.append(f"'{name}' ({unknown})")
        elif settings.flags["actuation"] and reader.number(filled, "group", "0") not in settings.idle:
            found[name], places[name] = actuator, number
        else:
            idle[name] = actuator
    notices = [f"actuators are left out: {first_of(left)}"] if left else []
    if elements and not settings.flags["actuation"]:
        notices.append("actuators are left out, as the option actuation is off")
    elif idle:
        notices.append(f"actuators of groups that are off are left out: {first_of([repr(item) for item in idle])}")
    shared = Counter(joint for item in found.values() for joint in item.joints if ends.joints[joint].efforts)
    shared += Counter(item.tendon for item in found.values() if item.tendon and ends.tendons[item.tendon].efforts)
    if several := [f"'{name}'" for name, count in shared.items() if count > 1]:
        notices.append(
            f"limits of efforts on joints and tendons with several actuators hold for each: {first_of(several)}"
        )
    whole = [
        f"'{name}'"
        for name, item in found.items()
        if len(item.joints) > 1 and any(ends.joints[joint].efforts for joint in item.joints)
    ]
    if whole:
        what = "actuators over several joints pull all of them less where MuJoCo limits the effort on one of them alone"
        notices.append(f"{what}: {first_of(whole)}")
    return Actuators(_held(found, ends), idle, len(elements), places, tuple(notices))


def _filled(defaults: Defaults, element: Element) -> Element:
    """Return an actuator with the attributes of its classes: actuators of all kinds have the same ones."""
    merged: dict[str, str] = {}
    for item in (*defaults.elements(element, (*AFFINE, *OTHERS), ""), element):
        merged = over(merged, item.attributes)
    return replace(element, attributes=merged)


def _law(defaults: Defaults, element: Element) -> Law:
    """Return the force of an actuator; each element in its classes changes what those before it said."""
    law = Law()
    for item in (*defaults.elements(element, (*AFFINE, *OTHERS), ""), element):
        law = _changed(defaults.reader, item, law)
    return law


def _changed(reader: Attributes, element: Element, law: Law) -> Law:
    """Return a law as an element changes it; another kind of actuator begins anew."""
    if element.tag != "general" and law.made not in {"", element.tag}:
        law = Law()
    given = element.attributes
    match element.tag:
        case "motor":
            return Law(made="motor")
        case "position":
            k = reader.number(element, "kp", repr(law.gain[0]))
            filtered = reader.number(element, "timeconst", repr(law.filtered), least=0.0)
            last = law.bias[2]
            if "kv" in given:
                last = -reader.number(element, "kv", "", least=0.0)
            elif "dampratio" in given:
                last = reader.number(element, "dampratio", "", least=0.0)
            return Law((k, 0.0, 0.0), (0.0, -k, last), (False, True), filtered, made="position")
        case "velocity":
            k = reader.number(element, "kv", repr(law.gain[0]))
            return Law((k, 0.0, 0.0), (0.0, 0.0, -k), (False, True), made="velocity")
        case "damper":
            k = reader.number(element, "kv", repr(-law.gain[2]))
            return Law((0.0, 0.0, -k), (0.0, 0.0, 0.0), (True, False), made="damper")
        case "general":
            return _general(reader, element, law)
    return replace(law, unknown=f"<{element.tag}>")


def _general(reader: Attributes, element: Element, law: Law) -> Law:
    given = element.attributes
    affine, unknown = list(law.affine), law.unknown
    for place, (name, kinds) in enumerate((("gaintype", GAINS), ("biastype", BIASES))):
        if name in given:
            kind = choice(reader, element, name, kinds[0], kinds)
            affine[place] = kind == "affine"
            unknown = unknown if kind in kinds[:2] else kind
    filtered = law.filtered
    if "dyntype" in given:
        kind = choice(reader, element, "dyntype", "none", DYNAMICS)
        unknown = unknown if kind in {"none", "filter", "filterexact"} else kind
        filtered = (law.filtered or 1.0) if kind.startswith("filter") else 0.0
    if filtered:
        filtered = _three(reader, element, "dynprm", (filtered, 0.0, 0.0))[0]
    gain, bias = _three(reader, element, "gainprm", law.gain), _three(reader, element, "biasprm", law.bias)
    return Law(gain, bias, (affine[0], affine[1]), filtered, made=law.made, unknown=unknown)


def _three(
    reader: Attributes, element: Element, attribute: str, before: tuple[float, float, float]
) -> tuple[float, float, float]:
    words = element.attributes.get(attribute, "").split()
    given = reader.numbers(element, attribute, "", len(words))[:3]
    a, b, c = (*given, *before[len(given) :])
    return a, b, c


def _actuator(
    reader: Attributes, element: Element, law: Law, name: str, settings: Settings, ends: Ends
) -> tuple[Actuator | None, str]:
    """Return an actuator, or None and the reason why it is not modelled."""
    on = [key for key in ENDS if key in element.attributes]
    if len(on) != 1:
        what = f"actuator '{name}' needs one of {', '.join(ENDS)}, to act on"
        raise reader.error(element, ModelError(what))
    words = element.attributes.get("gear", "1").split()
    gear = (reader.numbers(element, "gear", "1", len(words) or 1) + (0.0,) * 6)[:6]
    joints, site, unknown = _acted(reader, element, on[0], gear[0], ends)
    spread = reader.number(element, "inheritrange", "0", least=0.0)
    if spread:
        inputs: tuple[float, float] | None = _inherited(reader, element, name, on[0], settings, ends, spread)
    else:
        inputs = settings.limits(reader, element, f"actuator '{name}'", "ctrlrange", "ctrllimited")
    forces = settings.limits(reader, element, f"actuator '{name}'", "forcerange", "forcelimited")
    armature, (damping, *more) = reader.number(element, "armature", "0", least=0.0), _damping(reader, element)
    damping = damping if settings.flags["damper"] and settings.flags["passive"] else 0.0
    if any(more):
        unknown = unknown or "its damping is a polynomial"
    if reader.number(element, "delay", "0"):
        unknown = unknown or "it has a delay"
    if armature and len(joints) != 1:
        unknown = unknown or "it has an armature, and acts on more than one joint"
    if law.filtered and settings.limits(reader, element, f"actuator '{name}'", "actrange", "actlimited"):
        unknown = unknown or "limits of its filter"
    if site and law.filtered:
        unknown = unknown or "a filter at a site"
    acting = law.acting
    if acting.dampratio and site:
        unknown = unknown or "a damping ratio at a site"
    unknown = law.unknown or unknown
    if unknown:
        return None, unknown
    if acting.dampratio and acting.gain[0] < 0:
        what = f"actuator '{name}' has a damping ratio and a stiffness of {acting.gain[0]:g}: it must be at least 0"
        raise reader.error(element, ValueRangeError(what))
    inputs = inputs if settings.flags["clampctrl"] else None
    tendon = element.attributes.get("tendon", "")
    return Actuator(name, acting, joints, site, gear, tendon, inputs, forces, armature * gear[0] ** 2, damping), ""


def _damping(reader: Attributes, element: Element) -> tuple[float, ...]:
    words = element.attributes.get("damping", "0").split()
    return reader.numbers(element, "damping", "0", len(words) or 1)


def _acted(reader: Attributes, element: Element, on: str, gear: float, ends: Ends) -> tuple[dict[str, float], str, str]:
    """Return the joints that an actuator acts on, or the site, or the reason why neither is modelled."""
    match on:
        case "joint" | "jointinparent":
            joint = known(reader, element, on, ends.joints, "joint")
            if ends.joints[joint].kind not in {"hinge", "slide"}:
                return {}, "", f"on a {ends.joints[joint].kind} joint"
            return {joint: gear}, "", ""
        case "tendon":
            tendon = known(reader, element, on, {**ends.tendons, **dict.fromkeys(ends.spatial)}, "tendon")
            if tendon in ends.spatial:
                return {}, "", "on a spatial tendon"
            pulled = ends.tendons[tendon]
            return {item: gear * ratio for item, ratio in pulled.ratios.items()}, "", ""
        case "site":
            site = known(reader, element, on, ends.sites, "site")
            return {}, site, "refsite" if "refsite" in element.attributes else ""
    return {}, "", f"on a {on}"


def _inherited(
    reader: Attributes, element: Element, name: str, on: str, settings: Settings, ends: Ends, spread: float
) -> tuple[float, float]:
    """Return the limits of an input that are a share of the range of what the actuator acts on, limited or not."""
    target = element.attributes[on]
    if on == "joint" and target in ends.joints:
        stated, unit = ends.joints[target].element, 1.0
        limits = settings.limits(reader, stated, f"joint '{target}'", "range", "limited")
        if ends.joints[target].kind == "hinge" and limits:
            unit = settings.angle  # MuJoCo converts the range of no other joint
    elif on == "tendon" and target in ends.tendons:
        stated, unit = ends.tendons[target].element, 1.0
    else:
        what = f"actuator '{name}' with inheritrange acts on neither a joint nor a fixed tendon: give a ctrlrange"
        raise reader.error(element, ModelError(what))
    lower, upper = (unit * item for item in reader.numbers(stated, "range", "0 0", 2))
    if not lower < upper:
        what = f"actuator '{name}' takes over the range of the {on} '{target}', which has none"
        raise reader.error(element, ModelError(what))
    middle, half = (lower + upper) / 2, (upper - lower) / 2 * spread
    return middle - half, middle + half


def _held(found: dict[str, Actuator], ends: Ends) -> dict[str, Actuator]:
    """Return actuators whose forces are within what their tendons, and then their joints, take."""
    held = {}
    for name, actuator in found.items():
        forces = actuator.forces
        if actuator.tendon:
            forces = _in_turn(ends.tendons[actuator.tendon].efforts, forces)
        for joint, ratio in actuator.joints.items():
            limits = ends.joints[joint].efforts
            if limits and ratio:
                least, greatest = sorted(item / ratio for item in limits)
                forces = _in_turn(forces, (least, greatest))
        held[name] = replace(actuator, forces=forces)
    return held


def _in_turn(first: tuple[float, float] | None, second: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the limits of a force that is held within some limits, and then within others."""
    if not (first and second):
        return first or second
    least, greatest = (min(max(item, second[0]), second[1]) for item in first)
    return least, greatest
