"""Elements of robots' files that are not read: reported where they change no motion, else rejected with the remedy."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from mbfmu.errors import ModelError, nearest
from mbfmu.model.robot.attributes import NUMBER, Attributes
from mbfmu.model.robot.xml import XmlElement

Rule = Callable[[XmlElement], str]
"""Function that returns what an element does that cannot be left out; empty: it changes no motion."""
OFF = {"", "0", "false"}
LOOP = "closes a loop, which is not read yet: remove it, and add the joint in a TOML file that takes this robot"
PLUGIN = re.compile(
    r"mimic|underactuat|disable_?link|harness|gearbox|linkage|closed_?loop|detachable|buoyancy|hydrodynamic|lift_?drag|"
    r"aerodynamic|spring|damper|gravity_?comp|wind_?(effect|plugin)"
)
"""Names of programs of Gazebo, in lower case, that join bodies or load them without a command."""


def harmless(_: XmlElement) -> str:
    """Return that an element changes no motion."""
    return ""


def quiet(tags: str) -> dict[str, Rule]:
    """Return the rules of elements that change no motion, of tags with blanks between them."""
    return dict.fromkeys(tags.split(), harmless)


def refused(effect: str) -> Rule:
    """Return the rule of an element that changes the motion."""
    return lambda _: effect


def unless_off(effect: str) -> Rule:
    """Return the rule of an element that changes the motion unless its text is false."""
    return lambda item: "" if item.text.lower() in OFF else effect


def unless_on(effect: str) -> Rule:
    """Return the rule of an element that changes the motion if its text is false."""
    return lambda item: effect if item.text.lower() in OFF - {""} else ""


def unless_zero(effect: str) -> Rule:
    """Return the rule of an element that changes the motion unless all numbers in it are zero."""
    return lambda item: "" if all(map(_is_zero, _words(item))) else effect


def _words(element: XmlElement) -> Iterator[str]:
    yield from element.text.split()
    for text in element.attributes.values():
        yield from text.split()
    for inner in element.children:
        yield from _words(inner)


def _is_zero(word: str) -> bool:
    return bool(NUMBER.fullmatch(word)) and float(word) == 0


def plugin(element: XmlElement) -> str:
    """Return what a program of Gazebo does beyond controlling and measuring, as far as its name says so."""
    name = " ".join(element.attributes.get(key, "") for key in ("filename", "name"))
    if PLUGIN.search(re.sub(r"[-:.\s]+", "_", name.lower())):
        return "joins bodies or loads them while Gazebo runs, which is not read: remove it"
    return ""


def shown(element: XmlElement) -> str:
    """Return an element as a message shows it: its tag, and its name if it has one."""
    key = next((key for key in ("name", "filename", "reference") if key in element.attributes), "")
    return f"<{element.tag} {key}='{element.attributes[key]}'>" if key else f"<{element.tag}>"


def left_out(
    reader: Attributes, element: XmlElement, read: Collection[str], rules: Mapping[str, Rule]
) -> Iterator[XmlElement]:
    """Yield the children that are left out and change no motion.

    Args:
        reader: reader of attributes.
        element: the element around them.
        read: tags of the children that are read.
        rules: rules of others by tag, by prefix with its colon, by a colon for all other prefixes, or by nothing for
            all others that are not close to one that is read.

    Raises:
        ModelError: another one changes the motion, or is unknown.
    """
    for item in element.children:
        if item.tag in read:
            continue
        prefix, colon, _ = item.tag.rpartition(":")
        rule = rules.get(item.tag) or (rules.get(prefix + colon) or rules.get(colon) if colon else None)
        near = f"; {nearest(item.tag, read)}" if read else ""
        message = f"is not known in a <{element.tag}> and could change the motion: remove it{near}"
        if rule or ("" in rules and "did you mean" not in near):
            message = (rule or rules[""])(item)
        if message:
            raise reader.error(item, ModelError(f"{shown(item)} {message}"))
        yield item


def check_attributes(reader: Attributes, element: XmlElement, read: Collection[str], unused: Collection[str]) -> None:
    """Raise an error if an element has an attribute that is neither read nor known to change no motion."""
    for key in element.attributes:
        if key not in read and key not in unused and not key.startswith("xmlns"):
            message = f"<{element.tag} {key}='{element.attributes[key]}'> is not known and could change the motion"
            raise reader.error(element, ModelError(f"{message}: remove it; {nearest(key, read)}"))
