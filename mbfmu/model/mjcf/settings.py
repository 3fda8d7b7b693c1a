"""Settings of a model: how its compiler reads it, and the physics it asks for."""

import math
from dataclasses import dataclass
from pathlib import Path

from mbfmu.errors import ModelError, ValueRangeError, nearest
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import XmlElement

LIMITED = ("false", "true", "auto")
LAST_GROUP = 30
"""Greatest number of a group of actuators that can be switched off."""


@dataclass(frozen=True)
class Settings:
    """Settings of a model.

    Args:
        degrees: whether angles are in degrees.
        eulerseq: axes of Euler angles; lower case for axes that turn along.
        autolimits: whether a range alone makes a limit.
        inertiafromgeom: ``auto``, ``true`` or ``false``: whether geoms give bodies their inertia.
        balanceinertia: whether moments of inertia that no body has are replaced by their mean.
        boundmass, boundinertia: least mass, kg, and moment of inertia, kg.m2, of bodies.
        alignfree: whether the frames of free bodies are their inertial ones, where a joint does not say so.
        settotalmass: mass that all bodies are scaled to have together, kg; not positive: as they are.
        groups: first and last group of the geoms that give inertia.
        meshes: folder of the files of meshes.
        strippath: whether folders in the names of files do not count.
        gravity: m/s2.
        flags: the physics that is switched on or off.
        idle: groups of actuators that are switched off.
        density, viscosity: of the fluid around the bodies, kg/m3 and Pa.s.
        wind: its velocity, m/s.
    """

    degrees: bool
    eulerseq: str
    autolimits: bool
    inertiafromgeom: str
    balanceinertia: bool
    boundmass: float
    boundinertia: float
    alignfree: bool
    settotalmass: float
    groups: tuple[float, float]
    meshes: Path
    strippath: bool
    gravity: tuple[float, float, float]
    flags: dict[str, bool]
    idle: frozenset[int]
    density: float
    viscosity: float
    wind: tuple[float, float, float]

    @property
    def angle(self) -> float:
        """Unit of angles, rad."""
        return math.pi / 180 if self.degrees else 1.0

    @property
    def passive(self) -> bool:
        """Whether there are passive forces: MuJoCo has none, not even held weight, without springs and dampers."""
        return self.flags["passive"] and (self.flags["spring"] or self.flags["damper"])

    def limits(
        self, reader: Attributes, element: XmlElement, owner: str, attribute: str, flag: str
    ) -> tuple[float, float] | None:
        """Return the least and greatest value of a range, as written; None if it is no limit.

        Args:
            reader: reader of attributes.
            element: element, with its defaults filled in.
            owner: kind and name of the element, for messages.
            attribute: attribute of the range.
            flag: attribute that says whether it is a limit, such as ``limited``.

        Raises:
            ValueRangeError: the first number is not below the second.
            ModelError: nothing says whether it is a limit.
        """
        said = choice(reader, element, flag, "auto", LIMITED)
        if said == "false":
            return None
        lower, upper = reader.numbers(element, attribute, "0 0", 2)
        if said == "auto" and lower == upper == 0:  # takes back the range of a class
            return None
        if said == "auto" and not self.autolimits:
            message = f'{owner}: {attribute} needs {flag}="true" or "false", as autolimits is off'
            raise reader.error(element, ModelError(message))
        if not lower < upper:
            message = f'{owner}: {attribute}="{lower:g} {upper:g}" needs a first number below the second'
            raise reader.error(element, ValueRangeError(message))
        return lower, upper


def settings_of(root: XmlElement, reader: Attributes, folder: Path) -> Settings:
    """Return the settings of a model.

    Args:
        root: root element.
        reader: reader of attributes.
        folder: folder of the file.

    Raises:
        ModelError: a setting has a value that it cannot have.
    """
    compiler, option, flags = joined(root, "compiler"), joined(root, "option"), XmlElement("flag", {}, root.line)
    for item in root.all("option"):
        for inner in item.all("flag"):
            flags = XmlElement("flag", {**flags.attributes, **inner.attributes}, inner.line, source=inner.source)
    if choice(reader, compiler, "coordinate", "local", ("local", "global")) == "global":
        message = 'coordinate="global" is no longer part of MJCF: save the model with MuJoCo 2.3.3 or older as "local"'
        raise reader.error(compiler, ModelError(message))
    sequence = compiler.attributes.get("eulerseq", "xyz")
    if len(sequence) != 3 or not set(sequence.lower()) <= set("xyz"):
        message = f'<compiler eulerseq="{sequence}"> must be three of the letters x, y, z, X, Y, Z'
        raise reader.error(compiler, ModelError(message))
    first, last = reader.numbers(compiler, "inertiagrouprange", "0 5", 2)
    x, y, z = reader.numbers(option, "gravity", "0 0 -9.81", 3)
    a, b, c = reader.numbers(option, "wind", "0 0 0", 3)
    on = {
        name: choice(reader, flags, name, "enable", ("enable", "disable")) == "enable"
        for name in ("gravity", "spring", "damper", "passive", "actuation", "clampctrl", "limit", "frictionloss",
                     "equality", "constraint")
    }  # fmt: skip
    on["limit"], on["frictionloss"] = (on[name] and on["constraint"] for name in ("limit", "frictionloss"))
    words = option.attributes.get("actuatorgroupdisable", "").split()
    groups = reader.numbers(option, "actuatorgroupdisable", "", len(words))
    if wrong := next((item for item in groups if item not in range(LAST_GROUP + 1)), None):
        message = (
            f"<option actuatorgroupdisable>: {wrong:g} is not a group: they are whole numbers from 0 to {LAST_GROUP}"
        )
        raise reader.error(option, ValueRangeError(message))
    meshdir = Path(compiler.attributes.get("meshdir", compiler.attributes.get("assetdir", "")))
    return Settings(
        choice(reader, compiler, "angle", "degree", ("radian", "degree")) == "degree",
        sequence,
        flag_of(reader, compiler, "autolimits", True),
        choice(reader, compiler, "inertiafromgeom", "auto", LIMITED),
        flag_of(reader, compiler, "balanceinertia", False),
        reader.number(compiler, "boundmass", "0", least=0.0),
        reader.number(compiler, "boundinertia", "0", least=0.0),
        flag_of(reader, compiler, "alignfree", False),
        reader.number(compiler, "settotalmass", "-1"),
        (first, last),
        folder / meshdir,
        flag_of(reader, compiler, "strippath", False),
        (x, y, z) if on["gravity"] else (0.0, 0.0, 0.0),
        on,
        frozenset(int(item) for item in groups),
        reader.number(option, "density", "0", least=0.0),
        reader.number(option, "viscosity", "0", least=0.0),
        (a, b, c),
    )


def choice(reader: Attributes, element: XmlElement, attribute: str, default: str, allowed: tuple[str, ...]) -> str:
    """Return an attribute that is one of some words.

    Raises:
        ModelError: it is none of them.
    """
    word = element.attributes.get(attribute, default)
    if word not in allowed:
        message = f'<{element.tag} {attribute}="{word}">: it is one of {", ".join(allowed)}; {nearest(word, allowed)}'
        raise reader.error(element, ModelError(message))
    return word


def flag_of(reader: Attributes, element: XmlElement, attribute: str, default: bool) -> bool:
    """Return an attribute that is ``true`` or ``false``."""
    return choice(reader, element, attribute, str(default).lower(), ("true", "false")) == "true"


def joined(root: XmlElement, tag: str) -> XmlElement:
    """Return the sections of a tag as one, of which the last word counts."""
    merged = XmlElement(tag, {}, root.line, source=root.source)
    for item in root.all(tag):
        merged = XmlElement(tag, {**merged.attributes, **item.attributes}, item.line, source=item.source)
    return merged
