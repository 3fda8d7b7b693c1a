"""Laws of actuators: what their elements say of gain, bias and filter, and what they take over from default classes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mbfmu.errors import ModelError
from mbfmu.model.mjcf.defaults import Defaults, over
from mbfmu.model.mjcf.settings import choice
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import XmlElement

AFFINE = ("general", "motor", "position", "velocity", "damper", "cylinder")
"""Actuators whose force is affine in their input, or in its filtered value, the length and the speed."""
OTHERS = ("intvelocity", "muscle", "adhesion", "pid", "dcmotor", "orientation", "plugin")
DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle", "user", "pid", "dcmotor")
GAINS = ("fixed", "affine", "muscle", "dcmotor", "pid", "so3", "user")
BIASES = ("none", "affine", "muscle", "dcmotor", "so3", "user")
RANGED = ("position", "intvelocity", "pid")
"""Actuators that take over the range of their joint or tendon."""
LIMITED = ("damper", "adhesion")
"""Actuators whose input always has limits."""
OF_MUSCLES = ("force", "scale", "range", "lmin", "lmax", "vmax", "fpmax", "fvmax", "timeconst", "tausmooth")
"""Attributes of muscles, which other kinds do not reach."""
UNKNOWN = (math.nan, math.nan, math.nan)
"""Coefficients of laws that are not read."""


@dataclass(frozen=True)
class ActuatorLaw:
    """The force of an actuator: ``(gain . (1, s, v)) u + bias . (1, s, v)``.

    Args:
        gain, bias: three coefficients each.
        gaintype, biastype, dyntype: their types, and that of the dynamics in front.
        time: first parameter of the dynamics, of a filter its time constant, s.
        spread: part of the range of the joint or tendon that the input has; 0: none.
        dampratio: damping over critical damping, in place of ``bias[2]``, of a law that acts; 0: there is none.
        muscle: attributes of a muscle; none: it is none.
    """

    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    gaintype: str = "fixed"
    biastype: str = "none"
    dyntype: str = "none"
    time: float = 1.0
    spread: float = 0.0
    dampratio: float = 0.0
    muscle: Mapping[str, str] = field(default_factory=dict)

    @property
    def unknown(self) -> str:
        """Name of a part of it that is not modelled; empty: there is none."""
        for kind, known in ((self.gaintype, GAINS[:2]), (self.biastype, BIASES[:2]), (self.dyntype, FILTERS)):
            if kind not in known:
                return kind
        acting = self.acting
        return "" if all(map(math.isfinite, (*acting.gain, *acting.bias))) else "coefficients of another kind"

    @property
    def filtered(self) -> float:
        """Time constant of a filter in front, s; 0: there is none."""
        return self.time if self.dyntype in FILTERS[1:3] else 0.0

    @property
    def stateful(self) -> bool:
        """Whether it has a state: of a filter or an integrator."""
        return self.dyntype == "integrator" or self.filtered > 0

    @property
    def acting(self) -> "ActuatorLaw":
        """The law without the coefficients that do not count; a positive ``bias[2]`` of a spring is a damping ratio."""
        gain = self.gain if self.gaintype == "affine" else (self.gain[0], 0.0, 0.0)
        bias, ratio = self.bias if self.biastype == "affine" else (0.0, 0.0, 0.0), 0.0
        if bias[2] > 0 and bias[1] == -gain[0]:
            bias, ratio = (*bias[:2], 0.0), bias[2]
        return replace(self, gain=gain, bias=bias, dampratio=ratio)

    @property
    def servo(self) -> bool:
        """Whether its input is a position to go to, which a filter does not delay."""
        same = self.gaintype == "fixed" and self.biastype == "affine" and self.gain[0] == -self.bias[1]
        return same and self.dyntype in {"none", "integrator"}

    @property
    def inherits(self) -> bool:
        """Whether its input has a part of the range of the joint or tendon: it is the position to go to."""
        same = self.gaintype == "fixed" and self.biastype == "affine" and self.gain[0] == -self.bias[1]
        return self.spread > 0 and same


FILTERS = ("none", "filter", "filterexact", "integrator")
"""Types of dynamics that are modelled."""


@dataclass(frozen=True)
class ActuatorState:
    """The attributes that an element of a class leaves, and its law.

    Args:
        attributes: the attributes that all kinds have.
        law: the law.
        kind: kind of the actuator that set the law last; empty: none did.
    """

    attributes: Mapping[str, str]
    law: ActuatorLaw
    kind: str


def stated(defaults: Defaults, element: XmlElement) -> tuple[XmlElement, ActuatorLaw]:
    """Return an actuator with the attributes of its classes, which all kinds of actuators share, and its law.

    A law is that of the nearest class in which an actuator of the same kind, or a general one, set it last; it begins
    again where there is none. So MuJoCo 4.0.0 has it; in versions before 4 each kind continues with the law of any
    other.

    Raises:
        ModelError: it has a number without meaning.
    """
    innermost = defaults.class_of(element, "")
    if innermost not in defaults.laws:
        states: list[ActuatorState] = [ActuatorState({}, ActuatorLaw(), "")]
        for name in defaults.chain(element, ""):
            states.append(states[-1])
            for item in defaults.given[name]:
                if item.tag in (*AFFINE, *OTHERS):
                    states[-1] = _after(defaults.reader, item, states)
        defaults.laws[innermost] = states
    states = defaults.laws[innermost]
    last = _after(defaults.reader, element, [*states, states[-1]])
    return replace(element, attributes={**last.attributes, **last.law.muscle}), last.law


def _after(reader: Attributes, element: XmlElement, states: list[ActuatorState]) -> ActuatorState:
    """Return the state that an element leaves in the innermost of some classes."""
    tag, here = element.tag, states[-1]
    own = OF_MUSCLES if tag == "muscle" else ()
    attributes = over(here.attributes, {key: text for key, text in element.attributes.items() if key not in own})
    if tag == "general":
        return ActuatorState(attributes, _general(reader, element, here.law), tag)
    gaintype = {"damper": "affine", "muscle": "muscle"}.get(tag, "fixed")
    near = (item.law for item in reversed(states) if item.kind in {"", "general", tag})
    base = next((law for law in near if law.gaintype == gaintype), ActuatorLaw())
    if tag in RANGED:
        law = replace(
            _changed(reader, element, base), spread=reader.number(element, "inheritrange", repr(base.spread), least=0.0)
        )
        if tag != "intvelocity":  # its range is that of its state
            attributes, law = _ranged(reader, element, attributes, law)
    else:
        law = replace(_changed(reader, element, base), spread=here.law.spread)
        attributes |= {"ctrllimited": "true"} if tag in LIMITED else {}
    return ActuatorState(attributes, law, tag)


def _ranged(
    reader: Attributes, element: XmlElement, attributes: dict[str, str], law: ActuatorLaw
) -> tuple[dict[str, str], ActuatorLaw]:
    """Return attributes and law of which the own range of an element, or the one taken over, counts alone."""
    ranges = {key for key in ("ctrlrange", "inheritrange") if key in element.attributes}
    spread = law.spread
    if ranges == {"ctrlrange"} and any(reader.numbers(element, "ctrlrange", "", 2)):
        spread = 0.0
    if ranges == {"inheritrange"} and spread:
        attributes = {key: value for key, value in attributes.items() if key != "ctrlrange"}
    if spread and any(reader.numbers(replace(element, attributes=attributes), "ctrlrange", "0 0", 2)):
        message = f"<{element.tag}> has a ctrlrange and an inheritrange, its own or of its classes: remove one of them"
        raise reader.error(element, ModelError(message))
    return attributes, replace(law, spread=spread)


def _changed(reader: Attributes, element: XmlElement, law: ActuatorLaw) -> ActuatorLaw:
    """Return a law as an element of a kind of its own changes it."""
    k = law.gain[0]
    match element.tag:
        case "motor":
            return ActuatorLaw()
        case "position" | "intvelocity":
            return _servo(reader, element, law, k)
        case "velocity":
            k = reader.number(element, "kv", repr(k))
            return ActuatorLaw((k, 0.0, 0.0), (0.0, 0.0, -k), biastype="affine")
        case "damper":
            k = reader.number(element, "kv", repr(-law.gain[2]), least=0.0)
            return ActuatorLaw((0.0, 0.0, -k), gaintype="affine")
        case "cylinder":
            return _cylinder(reader, element, law, k)
        case "adhesion":
            return ActuatorLaw((reader.number(element, "gain", repr(k)), 0.0, 0.0))
        case "muscle":
            own = {key: text for key, text in element.attributes.items() if key in OF_MUSCLES}
            return ActuatorLaw(UNKNOWN, UNKNOWN, "muscle", "muscle", "muscle", 0.01, muscle={**law.muscle, **own})
        case "pid":
            return ActuatorLaw(UNKNOWN, UNKNOWN, "pid", "affine", time=0.0)
        case "orientation":
            return ActuatorLaw(UNKNOWN, UNKNOWN, "so3", "so3")
        case "dcmotor":
            return ActuatorLaw(UNKNOWN, UNKNOWN, "dcmotor", "dcmotor", "dcmotor", 0.0)
    return ActuatorLaw(gaintype=element.tag)


def _servo(reader: Attributes, element: XmlElement, law: ActuatorLaw, k: float) -> ActuatorLaw:
    """Return the law of a servo: ``k (u - s) - d v``, with a damping ratio in place of d where it is positive."""
    k = reader.number(element, "kp", repr(k))
    last = law.bias[2]
    if {"kv", "dampratio"} <= element.attributes.keys():
        raise reader.error(element, ModelError(f"<{element.tag}> has kv and dampratio: remove one of them"))
    if "kv" in element.attributes:
        last = -reader.number(element, "kv", "", least=0.0)
    elif "dampratio" in element.attributes:
        last = reader.number(element, "dampratio", "", least=0.0)
    kind, time = (law.dyntype, law.time) if law.dyntype == "filterexact" else ("none", 1.0)
    if "timeconst" in element.attributes:
        time = reader.number(element, "timeconst", "", least=0.0)
        kind = "filterexact" if time else "none"
    if element.tag == "intvelocity":
        kind = "integrator"
    return ActuatorLaw((k, 0.0, 0.0), (0.0, -k, last), "fixed", "affine", kind, time)


def _cylinder(reader: Attributes, element: XmlElement, law: ActuatorLaw, k: float) -> ActuatorLaw:
    """Return the law of a cylinder: its area times a filtered pressure, and a bias."""
    time = reader.number(element, "timeconst", repr(law.time), least=0.0)
    a, b, c = reader.numbers(element, "bias", " ".join(map(repr, law.bias)), 3)
    area = reader.number(element, "area", repr(k))
    diameter = reader.number(element, "diameter", "-1")
    area = math.pi / 4 * diameter**2 if diameter >= 0 else area
    return ActuatorLaw((area, 0.0, 0.0), (a, b, c), "fixed", "affine", "filter", time)


def _general(reader: Attributes, element: XmlElement, law: ActuatorLaw) -> ActuatorLaw:
    """Return a law with what a general actuator says of it."""
    types: dict[str, Any] = {
        name: choice(reader, element, name, getattr(law, name), kinds)
        for name, kinds in (("gaintype", GAINS), ("biastype", BIASES), ("dyntype", DYNAMICS))
        if name in element.attributes
    }
    time, *_ = _over(reader, element, "dynprm", (law.time,))
    a, b, c = _over(reader, element, "gainprm", law.gain)
    d, e, f = _over(reader, element, "biasprm", law.bias)
    spread = reader.number(element, "inheritrange", repr(law.spread), least=0.0)
    return replace(law, gain=(a, b, c), bias=(d, e, f), time=time, spread=spread, **types)


def _over(reader: Attributes, element: XmlElement, attribute: str, before: tuple[float, ...]) -> Iterator[float]:
    """Yield the first numbers of an attribute, which keeps those before that it does not have."""
    words = element.attributes.get(attribute, "").split()
    first = reader.numbers(element, attribute, "", len(words))
    yield from (*first, *before[len(first) :])[: len(before)]
