"""TOML -> System: the file is data, and nothing in it is ever run."""

import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any

from mbfmu.errors import (
    FrameConnectionError,
    MassError,
    MbfmuError,
    ModelError,
    ModelFileError,
    NameInUseError,
    UnknownNameError,
    UsageError,
    nearest,
)
from mbfmu.model.component import Component, Value
from mbfmu.model.mechanism import Mechanism, flatten, resolve
from mbfmu.model.parts import Body, World
from mbfmu.model.physical import inertia_matrix, unphysical
from mbfmu.model.source import Source, read_bytes
from mbfmu.model.system import Connection, Parameter, Subsystem, System, check_input_starts
from mbfmu.model.toml.kinds import component_type, component_types, fields_of, kind_of, taken
from mbfmu.model.toml.lines import Place, lines_of
from mbfmu.model.urdf import RobotOptions, read_urdf

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST = 1_000_000
"""Largest number of bytes of a file."""
MOST = 5_000
"""Largest number of components of a system, those of its sub-systems included."""
DEEPEST = 16
"""Largest number of files that use each other in a row."""
TOP: dict[str, type] = {
    "name": str, "description": str, "stepper": str, "planar": bool,
    "parameters": dict, "components": dict, "connections": list, "urdf": dict,
    "input_starts": dict,
}  # fmt: skip
WRONG = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that a class may raise for an unexpected value."""


@dataclass(frozen=True)
class Document(Source):
    """A TOML text and the lines of its keys.

    Args:
        name, folder: see `Source`.
        lines: line of each key.
    """

    lines: Mapping[Place, int] = field(default_factory=dict)

    def at(self, place: Place, what: MbfmuError | str) -> MbfmuError:
        """Return an error with file and line in front: the line of a key, or of the nearest key around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.error(self.lines.get(place, 1), what)


@dataclass(frozen=True)
class _Found:
    """A system, and its number of components, those of its sub-systems included."""

    system: System
    size: int


@dataclass(frozen=True)
class _Files:
    """The files that are being read, each used by the one before it, and the systems read already."""

    chain: tuple[Path, ...] = ()
    known: dict[Path, _Found] = field(default_factory=dict)


def read_toml(path: Path) -> System:
    """Read the system of a .toml file.

    Raises:
        ModelFileError: the file is missing, does not parse, or has a key that does not belong to a system.
        ModelError: the system is invalid; the message begins with file and line.
    """
    return _read(path, _Files()).system


def from_toml(text: str, name: str = "text") -> System:
    """Return the system of a TOML text that contains its sub-systems.

    Args:
        text: the document.
        name: name of the document in messages.

    Raises:
        ModelFileError, ModelError: see `read_toml`.
    """
    return _parsed(text, Source(name), _Files()).system


def is_model(path: Path) -> bool:
    """Return whether a .toml file holds a mechanism, and not an export recipe (which names its model)."""
    try:
        text = read_bytes(path, LARGEST).decode("utf-8-sig")
        return not {"components", "urdf"}.isdisjoint(_loaded(text, Source(str(path)))[0])
    except (MbfmuError, UnicodeDecodeError):
        return False


def _read(path: Path, files: _Files) -> _Found:
    content = read_bytes(path, LARGEST)
    source = Source(str(path), path.parent)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise source.error(line, "this is not UTF-8 text: save the file as UTF-8") from None
    inside = _real(path)
    files.known[inside] = _parsed(text, source, _Files((*files.chain, inside), files.known))
    return files.known[inside]


def _parsed(text: str, source: Source, files: _Files) -> _Found:
    data, lines = _loaded(text, source)
    document = Document(source.name, source.folder, lines)
    _check_integers(document, data, ())
    found = _system(document, data, (), files)
    if any(isinstance(item, World) for item in found.system.components):
        _check(document, found.system)
    return found


def _loaded(text: str, source: Source) -> tuple[dict[str, Any], Mapping[Place, int]]:
    """Return the content of a text, and the line of each key."""
    lines = lines_of(text, source.error)
    try:
        return tomllib.loads(text), lines
    except tomllib.TOMLDecodeError as error:
        what = re.sub(r" \(at .*\)$", "", str(error))
        place = re.search(r"\(at line (\d+), column (\d+)\)$", str(error))
        if place is None:
            raise source.error(text.count("\n") + 1, f"{what} at the end of the file") from None
        raise source.error(int(place[1]), f"{what} (column {place[2]})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, an impossible date
        raise source.error(max(lines.values(), default=1), f"this is not valid TOML: {error}") from None


def _check_integers(document: Document, value: Any, place: Place) -> None:
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            _check_integers(document, entry, (*place, key))
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise document.at(place, "an integer of more than 64 bits: write a number with an exponent, such as 1e20")


def _system(document: Document, table: dict[str, Any], place: Place, files: _Files) -> _Found:
    if not place and "model" in table:
        raise document.at(
            ("model",), "this is an export recipe (it names its model), not a model: give it to `mbfmu export`"
        )
    for key, value in table.items():
        if key not in TOP:
            raise document.at((*place, key), UnknownNameError(f"a system has no '{key}'; {nearest(key, TOP)}"))
        if type(value) is not TOP[key]:
            raise document.at((*place, key), f"{key} must be {kind_of(TOP[key]())}, not {kind_of(value)}")
    name = table.get("name")
    if name is None or not name.isidentifier():
        shown = "a system needs a name" if name is None else f"'{name}' cannot name a system"
        raise document.at((*place, "name"), f'{shown}: write name = "...", of letters, digits and underscores')
    robot = _robot(document, table, place) if "urdf" in table else None
    if not table.get("components") and not robot:
        raise document.at((*place, "components"), f"system '{name}' has no components: add [components.world]")
    parameters = tuple(
        _parameter(document, key, value, (*place, "parameters", key))
        for key, value in table.get("parameters", {}).items()
    )
    components: list[Component | Subsystem] = list(robot.components) if robot else []
    size = len(components)
    for key, value in table.get("components", {}).items():
        item, count = _component(document, key, value, (*place, "components", key), files)
        components.append(item)
        size += count
        if size > MOST:
            raise document.at((*place, "components", key), f"more than {MOST} components, sub-systems included")
    connections = _connections(document, table.get("connections", []), (*place, "connections"))
    inherited, usual = (robot.connections, robot.stepper) if robot else ((), "")
    try:
        system = System(
            name, tuple(components), (*inherited, *connections), parameters,
            table.get("planar", False), table.get("description", ""), table.get("stepper", usual),
            _input_starts(document, table, place),
        )  # fmt: skip
    except NameInUseError as error:
        counts = Counter(item.name for item in (*parameters, *components))
        twice = next(name for name, count in counts.items() if count > 1)
        where = "components" if twice in table.get("components", {}) else "parameters"
        raise document.at((*place, where, twice), error) from None
    except (UnknownNameError, FrameConnectionError) as error:
        said = [f"connect({pair.a!r}, {pair.b!r})" in str(error) for pair in connections]
        index = said.index(True) if isinstance(error, UnknownNameError) else len(said) - 1 - said[::-1].index(True)
        raise document.at((*place, "connections", index), error) from None
    return _Found(system, size)


def _input_starts(document: Document, table: dict[str, Any], place: Place) -> dict[str, float]:
    """Return the start values of inputs, such as ``input_starts = {"shoulder.tau" = 2.0}``."""
    given = table.get("input_starts", {})
    try:
        check_input_starts(given)
    except ModelError as error:
        raise document.at((*place, "input_starts"), error) from None
    return dict(given)


def _robot(document: Document, table: dict[str, Any], place: Place) -> System:
    """Return the robot that a system is based on, such as ``urdf = {file = "arm.urdf", limits = false}``."""
    given, here = table["urdf"], (*place, "urdf")
    kinds: dict[str, Any] = {
        "file": str,
        **{item.name: type(getattr(RobotOptions(), item.name)) for item in fields(RobotOptions)},
    }
    if place:
        raise document.at(here, "a sub-system is no robot, which has a world of its own: name the urdf at the top")
    for key, value in given.items():
        if key not in kinds:
            raise document.at((*here, key), UnknownNameError(f"urdf has no '{key}'; {nearest(key, kinds)}"))
        if not isinstance(value, list if kinds[key] is tuple else kinds[key]):
            wanted = kind_of([] if kinds[key] is tuple else kinds[key]())
            raise document.at((*here, key), f"urdf.{key} must be {wanted}, not {kind_of(value)}")
    texts = (*given.get("wrenches", ()), *given.get("packages", {}).values())
    if wrong := next((item for item in texts if not isinstance(item, str)), None):
        raise document.at(here, f"wrenches and packages of a urdf are texts, not {kind_of(wrong)}")
    if table.get("planar"):
        raise document.at((*place, "planar"), "a robot is spatial: leave planar out")
    full = _inside(document, given.get("file", ""), (*here, "file"), ".urdf")
    options: dict[str, Any] = {key: value for key, value in given.items() if key != "file"}
    options["wrenches"] = tuple(options.get("wrenches", ()))
    if document.folder and "packages" in options:
        options["packages"] = {name: document.folder / path for name, path in options["packages"].items()}
    try:
        return read_urdf(full, RobotOptions(**options))
    except (UnknownNameError, UsageError) as error:
        raise document.at(here, error) from None


def _parameter(document: Document, name: str, value: Any, place: Place) -> Parameter:
    table = value if isinstance(value, dict) else {"value": value}
    if "value" not in table:
        raise document.at(place, f"parameter '{name}' needs a value, such as {name} = {{value = 1.0, unit = \"m\"}}")
    arguments = _arguments(document, Parameter, table, place)
    found: Parameter = _made(document, Parameter, name, arguments, place)
    return found


def _component(
    document: Document, name: str, table: Any, place: Place, files: _Files
) -> tuple[Component | Subsystem, int]:
    if not isinstance(table, dict):
        raise document.at(place, f"component '{name}' must be a table with a type, not {kind_of(table)}")
    if "system" in table and "type" not in table:
        return _subsystem(document, name, table, place, files)
    kind = table.get("type")
    if not isinstance(kind, str):
        what = "needs a type" if kind is None else f"has {kind_of(kind)} as its type"
        raise document.at((*place, "type"), f"'{name}' {what}: write type = \"Revolute\" or another component")
    found = component_type(kind)
    if found is None:
        clause = nearest(kind, component_types())
        raise document.at((*place, "type"), UnknownNameError(f"'{name}': there is no component '{kind}'; {clause}"))
    table = {key: value for key, value in table.items() if key != "type"}
    made: Component = _made(document, found, name, _arguments(document, found, table, place), place)
    return made, 1


def _arguments(document: Document, kind: type, table: dict[str, Any], place: Place) -> dict[str, Any]:
    """Return the keyword arguments of a class that a table gives."""
    fields = fields_of(kind)
    found = {}
    for key, value in table.items():
        if key not in fields:
            hint = f"; if it is the system's, put '{key}' above the first [table]" if key in TOP else ""
            raise document.at(
                (*place, key), UnknownNameError(f"'{place[-1]}': a {kind.__name__} has no '{key}'; "
                f"{nearest(key, fields)}{hint}"),
            )  # fmt: skip
        try:
            found[key] = taken(kind, fields[key], value)
        except MbfmuError as error:
            raise document.at((*place, key), f"{place[-1]}.{error}") from None
    return found


def _made(document: Document, kind: Any, name: str, arguments: dict[str, Any], place: Place) -> Any:
    """Return an object of a class; raise an error at the key of the table that it does not take."""

    def attempt(given: dict[str, Any]) -> tuple[Any, MbfmuError | None]:
        try:
            return kind(name, **given), None
        except MbfmuError as error:
            return None, error
        except WRONG as error:
            return None, ModelFileError(f"'{name}': {error}")

    made, error = attempt(arguments)
    if error is None:
        return made
    needed = {"value": 0.0} if kind is Parameter else {}
    for key, value in arguments.items():
        if str(attempt({**needed, key: value})[1]) == str(error):
            raise document.at((*place, key), error)
    raise document.at(place, error)


def _subsystem(
    document: Document, name: str, table: dict[str, Any], place: Place, files: _Files
) -> tuple[Subsystem, int]:
    known = ("system", "values")
    for key in table:
        if key not in known:
            what = UnknownNameError(f"sub-system '{name}' has no '{key}'; {nearest(key, known)}")
            raise document.at((*place, key), what)
    inner, values = table["system"], table.get("values", {})
    if isinstance(inner, dict):
        found = _system(document, inner, (*place, "system"), files)
    elif isinstance(inner, str):
        found = _from_file(document, inner, (*place, "system"), files)
    else:
        raise document.at((*place, "system"), f"'{name}': system must be a path or a table, not {kind_of(inner)}")
    if not isinstance(values, dict):
        raise document.at((*place, "values"), f"'{name}': values must be a table, not {kind_of(values)}")
    for key, value in values.items():
        try:
            Subsystem(name, found.system, {key: value})
        except MbfmuError as error:
            raise document.at((*place, "values", key), error) from None
    try:
        return Subsystem(name, found.system, values), found.size
    except MbfmuError as error:
        raise document.at(place, error) from None


def _from_file(document: Document, text: str, place: Place, files: _Files) -> _Found:
    """Return the system of a file in the folder of the document, or below it."""
    full = _inside(document, text, place, ".toml")
    inside = _real(full)
    if inside in files.chain:
        names = [item.name for item in (*files.chain[files.chain.index(inside) :], inside)]
        raise document.at(place, f"files use each other in a circle: {' -> '.join(names)}")
    if len(files.chain) >= DEEPEST:
        raise document.at(place, f"more than {DEEPEST} files use each other in a row")
    return files.known[inside] if inside in files.known else _read(full, files)


def _inside(document: Document, text: str, place: Place, suffix: str) -> Path:
    """Return the path of a file in the folder of the document, or below it."""
    if document.folder is None:
        raise document.at(place, "a text that is in no file cannot use another file")
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or set(text) & set("\\:\0") or path.suffix != suffix:
        raise document.at(
            place, f"{place[-1]} = {text!r} must be the path of a {suffix} file in this file's folder or below it, "
            f'such as "parts/arm{suffix}"'
        )  # fmt: skip
    full = document.folder / path
    if not _real(full).is_relative_to(_real(document.folder)):
        raise document.at(place, f"'{text}' leads out of the folder of this file")
    if not os.path.isfile(_real(full)):
        raise document.at(place, f"there is no model file '{full}'")
    return full


def _real(path: Path) -> Path:
    """Return a path without links; unlike `Path.resolve` it takes links in a circle."""
    return Path(os.path.realpath(path))


def _connections(document: Document, pairs: list[Any], place: Place) -> tuple[Connection, ...]:
    for number, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            raise document.at(
                (*place, number),
                'a connection is an array of two names of frames, such as ["world.frame_b", "hinge.frame_a"]',
            )
    return tuple(Connection(*pair) for pair in pairs)


def _check(document: Document, system: System) -> None:
    """Raise an error for the mistakes that show without deriving the equations.

    Raises:
        ModelError: there is an unknown name, a frame connected to nothing, an inertia that no body has, or the like.
    """
    try:
        mechanism = flatten(system)
        known: dict[tuple[str, Value], float] = {}
        for path in mechanism.of(Body):
            if (
                not mechanism.planar
                and _place_of(document, path)
                and (reason := unphysical(_inertia(mechanism, path, known)))
            ):
                raise MassError(f"{path}.I_11 to I_33: {reason}")
    except MbfmuError as error:
        words = (_place_of(document, word) for word in re.findall(r"[\w.]+", str(error)))
        raise document.at(next((place for place in words if place), ("components",)), error) from None
    except RecursionError:
        raise document.at(("parameters",), "the definitions of parameters go too deep") from None


def _inertia(mechanism: Mechanism, path: str, known: dict[tuple[str, Value], float]) -> Any:
    """Return the inertia matrix of a body; `known` holds the value of each definition, so that it is read once."""

    def number(label: str) -> float:
        entry = mechanism.entries.get(f"{path}.{label}")
        if entry is None:
            return 0.0
        key = (entry.scope, entry.value)
        if key not in known:
            known[key] = float(resolve(mechanism, entry, {}))
        return known[key]

    return inertia_matrix([number(f"I_{kk}") for kk in (11, 22, 33)], [number(f"I_{kl}") for kl in (21, 31, 32)])


def _place_of(document: Document, word: str) -> Place:
    """Return the place of the first parts of a dotted name, such as ``arm.hinge.phi``; empty if there is none."""
    place: Place = ()
    for part in word.split("."):
        steps: tuple[Place, ...] = (
            ("components", part), ("parameters", part), ("system", "components", part), ("system", "parameters", part),
            ("values", part), *([(part,)] if place else []),
        )  # fmt: skip
        step = next((step for step in steps if (*place, *step) in document.lines), None)
        if step is None:
            break
        place = (*place, *step)
    return place
