"""Models that others attach: their elements under names of their own, with their own default classes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath

from mbfmu.errors import ModelError, UnknownNameError, nearest
from mbfmu.model.mjcf.defaults import APART, MAIN
from mbfmu.model.mjcf.document import read_document
from mbfmu.model.mjcf.replicas import REFERENCES, SECTIONS, names_in, references, size_of
from mbfmu.model.mjcf.settings import choice, joined
from mbfmu.model.mjcf.unread import unread
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.xml import MOST, XmlElement
from mbfmu.model.source import SourceText

DEEPEST = 20
"""Largest number of models in each other."""
ALIKE = ("angle", "eulerseq", "autolimits", "coordinate", "inertiafromgeom", "inertiagrouprange", "balanceinertia",
         "boundmass", "boundinertia", "alignfree", "settotalmass", "strippath")  # fmt: skip
"""Settings of the compiler that a model and those that it attaches must share."""
PHYSICS = {"gravity", "wind", "density", "viscosity", "actuatorgroupdisable"}
"""Options that act on the motion, besides the flags."""
NAMES = {*REFERENCES, "name", "class", "childclass", "mesh", "material"}
"""Attributes whose names get the prefix."""


@dataclass
class _Attached:
    """The models that were attached.

    Args:
        path: path of the first file.
        outside: whether files outside its folder may be read.
        source: the first file, for messages.
        left: elements that are left out and change no motion, by tag.
        more: elements of the sections of attached models, by tag of the section.
        classes: default classes of attached models.
        options: options of attached models that this one takes over, as it has none.
        count: number of elements that were written.
    """

    path: Path
    outside: bool
    source: SourceText
    left: Counter[str] = field(default_factory=Counter)
    more: dict[str, list[XmlElement]] = field(default_factory=dict)
    classes: list[XmlElement] = field(default_factory=list)
    options: list[XmlElement] = field(default_factory=list)
    count: int = 0


def attached(root: XmlElement, path: Path, outside: bool) -> tuple[XmlElement, Counter[str]]:
    """Return the root of a model with what it attaches, as MuJoCo does, and the elements there that are left out.

    Names get the prefix. A model brings the default classes of its own, which take nothing over, and those of its
    tendons, equalities and actuators that name nothing outside of what is attached; its options and keyframes do not
    count.

    Args:
        root: root element.
        path: path of the file.
        outside: whether files outside its folder may be read.

    Raises:
        ModelFileError: a file is missing, or is no MJCF.
        ModelError: an attached model is not there, has other settings, or has what is not read.
    """
    if not any(_all(root, "attach")):
        return root, Counter()
    state = _Attached(path, outside, SourceText(str(path), path.parent))
    children = [_expanded(state, item, root, path, 1) if item.tag == "worldbody" else item for item in root.children]
    sections = [XmlElement(tag, {}, root.line, items, source=root.source) for tag, items in state.more.items()]
    return replace(root, children=[*state.options, *children, *state.classes, *sections]), state.left


def _all(element: XmlElement, tag: str) -> Iterator[XmlElement]:
    for item in element.children:
        if item.tag == tag:
            yield item
        yield from _all(item, tag)


def _expanded(state: _Attached, element: XmlElement, root: XmlElement, path: Path, depth: int) -> XmlElement:
    """Return an element of a model with the content of others where it attaches them."""
    steps = ((_content if child.tag == "attach" else _expanded, child) for child in element.children)
    return replace(element, children=[step(state, child, root, path, depth) for step, child in steps])


def _content(state: _Attached, element: XmlElement, root: XmlElement, path: Path, depth: int) -> XmlElement:
    """Return a frame with what an element attaches; the sections of its model are added to the state."""
    reader, prefix = Attributes(element.source or state.source), element.attributes.get("prefix", "")
    inner, inner_path = _model(state, reader, element, root, path)
    if depth > DEEPEST:
        raise reader.error(element, ModelError(f"more than {DEEPEST} models attached to each other"))
    state.left += Counter(unread(Attributes(inner.source or state.source), inner))
    content = [_expanded(state, item, inner, inner_path, depth + 1) for item in _chosen(reader, element, inner)]
    state.count += sum(map(size_of, content))
    if state.count > MOST:
        raise reader.error(element, ModelError(f"<attach> leads to more than {MOST} elements: no robot is that large"))
    # sections: elements that name nothing outside of what is attached; tendons first, as others name them
    held = {("body", "world"), *(name for item in content for name in names_in(item))}
    for tag in SECTIONS:
        for item in (item for section in inner.all(tag) for item in section.children):
            if {*references(item), *(name for wrap in item.children for name in references(wrap))} <= held:
                held |= (
                    {("tendon", item.attributes["name"])} if tag == "tendon" and "name" in item.attributes else set()
                )
                state.more.setdefault(tag, []).append(_classed(_prefixed(item, prefix), prefix))
    # assets, with paths of their own, and the default classes
    for section in inner.all("asset"):
        for item in section.children:
            if item.tag in {"mesh", "material"}:
                named = _prefixed(_with_path(item, inner, inner_path), prefix)
                state.more.setdefault("asset", []).append(_classed(named, prefix))
    classes = [_prefixed(item, prefix) for section in inner.all("default") for item in section.children]
    state.classes.append(XmlElement(APART, {"class": prefix + MAIN}, element.line, classes, source=inner.source))
    inside = [_prefixed(item, prefix) for item in content]
    return XmlElement("frame", {"childclass": prefix + MAIN}, element.line, inside, source=element.source)


def _model(
    state: _Attached, reader: Attributes, element: XmlElement, root: XmlElement, path: Path
) -> tuple[XmlElement, Path]:
    """Return the root of the model that an element attaches, and the path of its file.

    Raises:
        UnknownNameError: there is no such model.
        ModelError: its settings differ.
    """
    if "model" not in element.attributes:  # what stands elsewhere in the same one
        return root, path
    name, known = reader.name(element, "model"), []
    for item in (item for asset in root.all("asset") for item in asset.all("model")):
        inner_path = path.parent / reader.name(item, "file")
        whole = inner_path.resolve()
        if not (state.outside or whole.is_relative_to(state.path.parent.resolve())):
            message = f"<model>: '{item.attributes['file']}' is outside the folder of the model: read it with"
            raise reader.error(item, f"{message} --allow-outside (outside=True), if it may be read")
        inner = read_document(inner_path, state.outside)
        known.append(item.attributes.get("name") or inner.attributes.get("model", inner_path.stem))
        if known[-1] != name:
            continue
        outer_compiler, compiler = joined(root, "compiler"), joined(inner, "compiler")
        rule = choice(reader, outer_compiler, "conflict", "warning", ("warning", "merge", "error"))
        if rule != "warning":
            state.options += _options(reader, element, root, inner, rule == "merge")
        for key in ALIKE:
            mine, other = (item.attributes.get(key) for item in (outer_compiler, compiler))
            if mine != other:
                message = f"the model '{name}' has the setting {key}={other!r}, and this one {mine!r}: set them alike"
                raise reader.error(element, ModelError(message))
        return inner, inner_path
    raise reader.error(element, UnknownNameError(f"<attach>: there is no model '{name}'; {nearest(name, known)}"))


def _options(
    reader: Attributes, element: XmlElement, root: XmlElement, inner: XmlElement, merges: bool
) -> Iterator[XmlElement]:
    """Yield the options of an attached model that act on the motion and that the model around it does not state.

    Raises:
        ModelError: both state one, and not alike.
    """
    for tag in ("option", "flag"):
        mine, other = (
            joined(model, tag) if tag == "option" else _flags(model) for model in (root, inner)
        )  # fmt: skip
        for key, text in other.attributes.items():
            if (tag == "option" and key not in PHYSICS) or mine.attributes.get(key, text).split() == text.split():
                continue
            message = f'<attach>: the models state {key}="{mine.attributes[key]}" and "{text}", and their compiler does'
            raise reader.error(element, ModelError(f"{message} not let them differ: set them alike"))
        kept = {key: text for key, text in other.attributes.items() if tag == "flag" or key in PHYSICS}
        if merges and kept:
            held = XmlElement(tag, kept, other.line, source=other.source)
            yield held if tag == "option" else XmlElement("option", {}, other.line, [held], source=other.source)


def _flags(root: XmlElement) -> XmlElement:
    """Return the flags of a model as one element."""
    return joined(XmlElement("", {}, root.line, [flag for item in root.all("option") for flag in item.all("flag")]),
                  "flag")  # fmt: skip


def _chosen(reader: Attributes, element: XmlElement, inner: XmlElement) -> list[XmlElement]:
    """Return the body or frame of a model that an element attaches, or all that its world holds."""
    worlds = list(inner.all("worldbody"))
    kind = next((tag for tag in ("body", "frame") if tag in element.attributes), "")
    if not kind:
        return [item for world in worlds for item in world.children]
    name = element.attributes[kind]
    for world in worlds:
        if (item := _within(world, kind, name, "")) is not None:
            return [item]
    raise reader.error(element, UnknownNameError(f"<attach {kind}>: the model has no {kind} '{name}'"))


def _within(element: XmlElement, kind: str, name: str, inherited: str) -> XmlElement | None:
    """Return a body or frame in an element, with the class that the elements around it set."""
    inherited = element.attributes.get("childclass", inherited)
    for item in element.children:
        if item.tag == kind and item.attributes.get("name") == name:
            held = {"childclass": inherited} if inherited else {}
            return replace(item, attributes={**held, **item.attributes})
        if (found := _within(item, kind, name, inherited)) is not None:
            return found
    return None


def _with_path(element: XmlElement, inner: XmlElement, path: Path) -> XmlElement:
    """Return an asset with its name, and the whole path of its file."""
    file = element.attributes.get("file")
    if not file:
        return element
    compiler = joined(inner, "compiler").attributes
    folder = path.parent / compiler.get("meshdir", compiler.get("assetdir", ""))
    whole = folder / (PureWindowsPath(file).name if compiler.get("strippath") == "true" else file)
    name = {"name": element.attributes.get("name") or Path(file).stem}
    return replace(element, attributes={**element.attributes, **name, "file": str(whole.absolute())})


def _prefixed(element: XmlElement, prefix: str) -> XmlElement:
    """Return an element with a prefix before its name, and before those of what it names."""
    attributes = {
        key: prefix + text if key in NAMES and text and text != "world" else text
        for key, text in element.attributes.items()
    }
    return replace(element, attributes=attributes, children=[_prefixed(item, prefix) for item in element.children])


def _classed(element: XmlElement, prefix: str) -> XmlElement:
    """Return an element with the outermost class of its model, if it names none."""
    return replace(element, attributes={"class": prefix + MAIN, **element.attributes})
