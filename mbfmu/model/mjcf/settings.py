"""Settings of a model: how its compiler reads it, and the physics it asks for."""

import math
from dataclasses import dataclass
from pathlib import Path

from mbfmu.errors import ModelError, nearest
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import Element

LIMITED = ("false", "true", "auto")


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
        settotalmass: mass that all bodies are scaled to have together, kg; not positive: as they are.
        groups: first and last group of the geoms that give inertia.
        meshes: folder of the files of meshes.
        strippath: whether folders in the names of files do not count.
        gravity: m/s2.
        flags: the physics that is switched on or off.
    """

    degrees: bool
    eulerseq: str
    autolimits: bool
    inertiafromgeom: str
    balanceinertia: bool
    boundmass: float
    boundinertia: float
    settotalmass: float
    groups: tuple[float, float]
    meshes: Path
    strippath: bool
    gravity: tuple[float, float, float]
    flags: dict[str, bool]

    @property
    def angle(self) -> float:
        """Unit of angles, rad."""
        return math.pi / 180 if self.degrees else 1.0

    def limited(self, reader: Attributes, element: Element, flag: str, attribute: str) -> bool:
        """Return whether a range of an element is a limit.

        Args:
            reader: reader of attributes.
            element: element, with its defaults filled in.
            flag: attribute that says so, such as ``limited``.
            attribute: attribute of the range.
        """
        said = choice(reader, element, flag, "auto", LIMITED)
        return said == "true" or (said == "auto" and self.autolimits and attribute in element.attributes)


def settings_of(root: Element, reader: Attributes, folder: Path) -> Settings:
    """Return the settings of a model.

    Args:
        root: root element.
        reader: reader of attributes.
        folder: folder of the file.

    Raises:
        ModelError: a setting has a value that it cannot have.
    """
    compiler, option, flags = _merged(root, "compiler"), _merged(root, "option"), Element("flag", {}, root.line)
    for item in root.all("option"):
        for inner in item.all("flag"):
            flags = Element("flag", {**flags.attributes, **inner.attributes}, inner.line, source=inner.source)
    if choice(reader, compiler, "coordinate", "local", ("local", "global")) == "global":
        what = 'coordinate="global" is no longer part of MJCF: save the model with MuJoCo 2.3.3 or older as "local"'
        raise reader.error(compiler, ModelError(what))
    sequence = compiler.attributes.get("eulerseq", "xyz")
    if len(sequence) != 3 or not set(sequence.lower()) <= set("xyz"):
        what = f'<compiler eulerseq="{sequence}"> must be three of the letters x, y, z, X, Y, Z'
        raise reader.error(compiler, ModelError(what))
    first, last = reader.numbers(compiler, "inertiagrouprange", "0 5", 2)
    x, y, z = reader.numbers(option, "gravity", "0 0 -9.81", 3)
    on = {
        name: choice(reader, flags, name, "enable", ("enable", "disable")) == "enable"
        for name in ("gravity", "spring", "damper", "passive", "actuation", "clampctrl", "limit", "frictionloss",
                     "equality", "constraint")
    }  # fmt: skip
    place = Path(compiler.attributes.get("meshdir", compiler.attributes.get("assetdir", "")))
    return Settings(
        choice(reader, compiler, "angle", "degree", ("radian", "degree")) == "degree",
        sequence,
        flag_of(reader, compiler, "autolimits", True),
        choice(reader, compiler, "inertiafromgeom", "auto", LIMITED),
        flag_of(reader, compiler, "balanceinertia", False),
        reader.number(compiler, "boundmass", "0", least=0.0),
        reader.number(compiler, "boundinertia", "0", least=0.0),
        reader.number(compiler, "settotalmass", "-1"),
        (first, last),
        folder / place,
        flag_of(reader, compiler, "strippath", False),
        (x, y, z) if on["gravity"] else (0.0, 0.0, 0.0),
        on,
    )


def choice(reader: Attributes, element: Element, attribute: str, default: str, allowed: tuple[str, ...]) -> str:
    """Return an attribute that is one of some words.

    Raises:
        ModelError: it is none of them.
    """
    found = element.attributes.get(attribute, default)
    if found not in allowed:
        what = f'<{element.tag} {attribute}="{found}">: it is one of {", ".join(allowed)}; {nearest(found, allowed)}'
        raise reader.error(element, ModelError(what))
    return found


def flag_of(reader: Attributes, element: Element, attribute: str, default: bool) -> bool:
    """Return an attribute that is ``true`` or ``false``."""
    return choice(reader, element, attribute, str(default).lower(), ("true", "false")) == "true"


def _merged(root: Element, tag: str) -> Element:
    found = Element(tag, {}, root.line, source=root.source)
    for item in root.all(tag):
        found = Element(tag, {**found.attributes, **item.attributes}, item.line, source=item.source)
    return found
