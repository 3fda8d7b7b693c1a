"""TOML -> System: the file is data, and nothing in it is ever run."""

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any

from mbfmu.errors import (
    MassError,
    MbfmuError,
    ModelError,
    ModelFileError,
    UnknownNameError,
    UsageError,
    nearest,
)
from mbfmu.model import Model
from mbfmu.model.block import Block, Defined, Port, State
from mbfmu.model.component import Component, Value, is_name
from mbfmu.model.lagrangian import LagrangianSystem
from mbfmu.model.mechanism import Mechanism, flatten, flatten_block, resolve
from mbfmu.model.parameter import Parameter
from mbfmu.model.parts import Body, World
from mbfmu.model.physical import inertia_matrix, unphysical
from mbfmu.model.robot_files import read_robot
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.sampled import Sampled
from mbfmu.model.source import SourceText, read_bytes
from mbfmu.model.system import System
from mbfmu.model.system_data import Connection, Subsystem, SystemData, Wire, check_input_starts
from mbfmu.model.toml.kinds import (
    BLOCKS,
    ENDINGS,
    ENDS,
    ITEMS,
    SHORT,
    block_fields,
    component_type,
    component_types,
    fields_of,
    kind_of,
    taken,
)
from mbfmu.model.toml.lines import KeyPath, lines_of

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
Library = Callable[[str], Model]
"""A function that returns the model of a name."""
TOP: dict[str, type] = {
    "name": str, "description": str, "stepper": str, "planar": bool,
    "parameters": dict, "components": dict, "connections": list, "wires": list, "names": dict, "urdf": dict,
    "robot": dict, "input_starts": dict, "inner_starts": dict,
}  # fmt: skip
ROBOT_KEYS = ENDINGS.keys()
"""Names of the table of the robot that a system is based on."""
NOUNS: dict[type, str] = {Parameter: "parameter", Port: "input", State: "state", Defined: "quantity"}
"""Names of the entries of a block's tables, in messages."""
WRONG = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that a class may raise for an unexpected value."""


@dataclass(frozen=True)
class Document(SourceText):
    """A TOML text and the lines of its keys.

    Args:
        name, folder: see `SourceText`.
        lines: line of each key.
    """

    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or of the nearest key around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def at(self, path: KeyPath, message: MbfmuError | str) -> MbfmuError:
        """Return an error with file and line in front: the line of a key, or of the nearest key around it."""
        return self.error(self.line(path), message)

    def place(self, path: KeyPath) -> str:
        """Return file and line of a key, as messages name them."""
        return f"'{self.name}', line {self.line(path)}"


@dataclass(frozen=True)
class _SizedModel:
    """A system or block, and its number of components, those of its sub-systems included."""

    system: System | Block | Sampled
    size: int


@dataclass(frozen=True)
class _Files:
    """The files that are being read, each used by the one before it, and the models read already, by file or name.

    `library` reads those that have a name.
    """

    library: Library
    chain: tuple[Path, ...] = ()
    known: dict[Path | str, _SizedModel] = field(default_factory=dict)


def no_library(name: str) -> Model:
    """Raise an error, as a text on its own knows no other models.

    Raises:
        UnknownNameError: there is no library.
    """
    raise UnknownNameError(f"there is no library of models to take '{name}' from")


def read_toml(path: Path, library: Library = no_library) -> System | Block | Sampled:
    """Read the system or block of a .toml file.

    Args:
        path: path of the file.
        library: returns the model of a name, for sub-systems that are named.

    Raises:
        ModelFileError: the file is missing, does not parse, or has a key that does not belong there.
        ModelError: the model is invalid; the message begins with file and line.
    """
    return _read(path, _Files(library)).system


def from_toml(text: str, name: str = "text", library: Library = no_library) -> System | Block | Sampled:
    """Return the system or block of a TOML text that contains its sub-systems.

    Args:
        text: the document.
        name: name of the document in messages.
        library: see `read_toml`.

    Raises:
        ModelFileError, ModelError: see `read_toml`.
    """
    return _parsed(text, SourceText(name), _Files(library)).system


def is_model(path: Path) -> bool:
    """Return whether a .toml file holds a system or block, and not an export recipe (which names its model)."""
    try:
        text = read_bytes(path, LARGEST).decode("utf-8-sig")
        return not {"components", "urdf", "robot", "defined"}.isdisjoint(_loaded(text, SourceText(str(path)))[0])
    except (MbfmuError, UnicodeDecodeError):
        return False


def _read(path: Path, files: _Files) -> _SizedModel:
    content = read_bytes(path, LARGEST)
    source = SourceText(str(path), path.parent)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise source.error(line, "this is not UTF-8 text: save the file as UTF-8") from None
    inside = _real(path)
    files.known[inside] = _parsed(text, source, _Files(files.library, (*files.chain, inside), files.known))
    return files.known[inside]


def _parsed(text: str, source: SourceText, files: _Files) -> _SizedModel:
    data, lines = _loaded(text, source)
    document = Document(source.name, source.folder, lines)
    _check_integers(document, data, ())
    read = _model(document, data, (), files)
    inner = read.system
    if not isinstance(inner, System) or inner.only_blocks or any(isinstance(item, World) for item in inner.components):
        _check(document, inner)
    return read


def _loaded(text: str, source: SourceText) -> tuple[dict[str, Any], Mapping[KeyPath, int]]:
    """Return the content of a text, and the line of each key."""
    lines = lines_of(text, source.error)
    try:
        return tomllib.loads(text), lines
    except tomllib.TOMLDecodeError as error:
        message = re.sub(r" \(at .*\)$", "", str(error))
        position = re.search(r"\(at line (\d+), column (\d+)\)$", str(error))
        if position is None:
            raise source.error(text.count("\n") + 1, f"{message} at the end of the file") from None
        raise source.error(int(position[1]), f"{message} (column {position[2]})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, an impossible date
        raise source.error(max(lines.values(), default=1), f"this is not valid TOML: {error}") from None


def _check_integers(document: Document, value: Any, path: KeyPath) -> None:
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            _check_integers(document, entry, (*path, key))
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise document.at(path, "an integer of more than 64 bits: write a number with an exponent, such as 1e20")


def _model(document: Document, table: dict[str, Any], path: KeyPath, files: _Files) -> _SizedModel:
    """Return the system or block that a document, or a table of it, holds."""
    if not path and "model" in table:
        raise document.at(
            ("model",), "this is an export recipe (it names its model), not a model: give it to `mbfmu export`"
        )
    if "type" not in table:
        if strange := next((key for key in ITEMS if key in table and key not in TOP), None):
            raise document.at((*path, strange), f'a system has no {strange}; for a block write type = "Block"')
        return _system(document, table, path, files)
    kind = table["type"]
    if not isinstance(kind, str) or kind not in BLOCKS:
        message = UnknownNameError(f"there is no model of type {kind!r}; {nearest(str(kind), BLOCKS)}")
        raise document.at((*path, "type"), message)
    name = _name(document, table, path, "block")
    return _SizedModel(_block(document, name, {key: table[key] for key in table if key != "name"}, path), 1)


def _name(document: Document, table: dict[str, Any], path: KeyPath, kind: str) -> str:
    """Return the name that a table gives to a system or block."""
    name = table.get("name")
    if not isinstance(name, str) or not name.isidentifier():
        shown = f"a {kind} needs a name" if name is None else f"{name!r} cannot name a {kind}"
        raise document.at((*path, "name"), f'{shown}: write name = "...", of letters, digits and underscores')
    return name


def _block(document: Document, name: str, table: dict[str, Any], path: KeyPath) -> Block | Sampled:
    """Return a block, whose type the table gives too."""
    kind = BLOCKS[table["type"]]
    fields = block_fields(kind)
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            if key in ITEMS:
                values[key] = _items(document, key, value, (*path, key))
            elif key in fields:
                values[key] = taken(*fields[key], value)
            elif key != "type":
                known = (*fields, *ITEMS)
                more = '; a block with a period has type = "Sampled"' if key in block_fields(Sampled) else ""
                raise UnknownNameError(f"'{name}': a {kind.__name__} has no '{key}'; {nearest(key, known)}{more}")
        except MbfmuError as error:
            raise _placed(document, error, (*path, key)) from None
    timing = {key: values.pop(key) for key in tuple(values) if fields.get(key, (Block,))[0] is Sampled}
    try:
        block = Block(name, **values)
        if kind is Block:
            return block
        if "period" not in timing:
            raise ModelFileError(f"sampled block '{name}' needs a period, such as period = 0.001")
        return Sampled(block, **timing)
    except MbfmuError as error:
        words = re.findall(r"[A-Za-z_]\w*", str(error))
        lines = (_lines_of_item(document, path, word) for word in words)
        raise document.at(next((path_of_item[-1] for path_of_item in lines if path_of_item), path), error) from None


def _lines_of_item(document: Document, path: KeyPath, word: str) -> list[KeyPath]:
    """Return the paths of the quantities or fields of a block that have a name, the last in the document last."""
    fields: list[KeyPath] = [(*path, word)] if word in block_fields(Sampled) else []
    paths = [*fields, *((*path, group, word) for group in ITEMS)]
    return sorted((item for item in paths if item in document.lines), key=document.lines.__getitem__)


def _placed(document: Document, error: MbfmuError, path: KeyPath) -> MbfmuError:
    """Return an error with file and line in front, if it has none yet."""
    return error if str(error).startswith(f"'{document.name}', line ") else document.at(path, error)


def _items(document: Document, group: str, table: Any, path: KeyPath) -> tuple[Any, ...]:
    """Return the parameters, inputs, states or defined quantities that a table holds."""
    if not isinstance(table, dict):
        raise document.at(path, f"{group} must be a table, not {kind_of(table)}")
    return tuple(_item(document, ITEMS[group], name, value, (*path, name)) for name, value in table.items())


def _system(document: Document, table: dict[str, Any], path: KeyPath, files: _Files) -> _SizedModel:
    for key, value in table.items():
        if key not in TOP:
            raise document.at((*path, key), UnknownNameError(f"a system has no '{key}'; {nearest(key, TOP)}"))
        if type(value) is not TOP[key]:
            raise document.at((*path, key), f"{key} must be {kind_of(TOP[key]())}, not {kind_of(value)}")
    name = _name(document, table, path, "system")
    robot = _robot(document, table, path) if ROBOT_KEYS & table.keys() else None
    if not table.get("components") and not robot:
        raise document.at((*path, "components"), f"system '{name}' has no components: add [components.world]")
    parameters = _items(document, "parameters", table.get("parameters", {}), (*path, "parameters"))
    components: list[Any] = list(robot.components) if robot else []
    size = len(components)
    for key, value in table.get("components", {}).items():
        item, count = _component(document, key, value, (*path, "components", key), files)
        components.append(item)
        size += count
        if size > MOST:
            raise document.at((*path, "components", key), f"more than {MOST} components, sub-systems included")
    connections = _connections(document, table.get("connections", []), (*path, "connections"))
    wires = _wires(document, table.get("wires", []), (*path, "wires"))
    names = table.get("names", {})
    for key, value in names.items():
        if not isinstance(value, str):
            raise document.at(
                (*path, "names", key), f'names.{key} must be the name of a variable, such as "hinge.phi", not '
                + kind_of(value),
            )  # fmt: skip
    inherited, usual = (robot.connections, robot.stepper) if robot else ((), "")
    starts = {**(robot.input_starts if robot else {}), **_input_starts(document, table, path)}
    try:
        system = System(
            name, tuple(components), (*inherited, *connections), parameters,
            table.get("planar", False), table.get("description", ""), table.get("stepper", usual), wires, names,
            starts, table.get("inner_starts", {}),
        )  # fmt: skip
    except ModelError as error:
        fault = _fault(error, table, parameters, components, connections)
        raise _placed(document, error, (*path, *fault)) from None
    return _SizedModel(system, size)


def _fault(
    error: ModelError,
    table: dict[str, Any],
    parameters: tuple[Parameter, ...],
    components: list[Any],
    connections: tuple[Connection, ...],
) -> KeyPath:
    """Return the path in the table of a system of the entry that the system rejects; a wire names its own."""
    text = str(error)
    names = table.get("names", {})
    if "inner_starts" in table and any(name in text for name in ("inner_starts", *table["inner_starts"])):
        return ("inner_starts",)
    if named := [key for key, full in names.items() if f": '{key}' cannot be" in text or f"'{full}' has two" in text]:
        return ("names", named[-1])
    if said := [n for n, pair in enumerate(connections) if f"connect({pair.a!r}, {pair.b!r})" in text]:
        return ("connections", said[0] if isinstance(error, UnknownNameError) else said[-1])
    counts = Counter(item.name for item in (*parameters, *components))
    twice = [name for name, count in counts.items() if count > 1]
    return ("components" if twice[0] in table.get("components", {}) else "parameters", twice[0]) if twice else ()


def _input_starts(document: Document, table: dict[str, Any], path: KeyPath) -> dict[str, float]:
    """Return the start values of inputs, such as ``input_starts = {"shoulder.tau" = 2.0}``."""
    starts = table.get("input_starts", {})
    try:
        check_input_starts(starts)
    except ModelError as error:
        raise document.at((*path, "input_starts"), error) from None
    return dict(starts)


def _robot(document: Document, table: dict[str, Any], at_table: KeyPath) -> System:
    """Return the robot that a system is based on, such as ``robot = {file = "arm.xml", limits = false}``."""
    name = "robot" if "robot" in table else "urdf"
    entry, here = table[name], (*at_table, name)
    if table.keys() >= ROBOT_KEYS:
        raise document.at(here, "a system is based on one robot: leave robot or urdf out")
    kinds: dict[str, Any] = {
        "file": str,
        **{
            item.name: type(getattr(RobotOptions(), item.name))
            for item in fields(RobotOptions)
            if item.name != "outside"  # a document stays in its folder
        },
    }
    if at_table:
        raise document.at(
            here, f"a sub-system is not a robot, which has a world of its own: name the {name} at the top"
        )
    for key, value in entry.items():
        if key not in kinds:
            raise document.at((*here, key), UnknownNameError(f"{name} has no '{key}'; {nearest(key, kinds)}"))
        if not isinstance(value, list if kinds[key] is tuple else kinds[key]):
            wanted = kind_of([] if kinds[key] is tuple else kinds[key]())
            raise document.at((*here, key), f"{name}.{key} must be {wanted}, not {kind_of(value)}")
    by_name = (item for key in ("packages", "arguments") for item in entry.get(key, {}).values())
    texts = (*entry.get("wrenches", ()), *by_name)
    if wrong := next((item for item in texts if not isinstance(item, str)), None):
        raise document.at(here, f"wrenches, packages and arguments of a {name} are texts, not {kind_of(wrong)}")
    if table.get("planar"):
        raise document.at((*at_table, "planar"), "a robot is spatial: leave planar out")
    full = _inside(document, entry.get("file", ""), (*here, "file"), ENDINGS[name])
    options: dict[str, Any] = {key: value for key, value in entry.items() if key != "file"}
    options["wrenches"] = tuple(options.get("wrenches", ()))
    if document.folder and "packages" in options:
        options["packages"] = {name: document.folder / path for name, path in options["packages"].items()}
    try:
        return read_robot(full, RobotOptions(**options))
    except (UnknownNameError, UsageError) as error:
        raise document.at(here, error) from None


def _item(document: Document, kind: type, name: str, value: Any, path: KeyPath) -> Any:
    """Return a parameter, input, state or defined quantity."""
    called, short = NOUNS[kind], SHORT.get(kind)
    if short is None and not isinstance(value, dict):
        raise document.at(path, f"{called} '{name}' must be a table, such as {name} = {{unit = \"m\"}}")
    table: dict[str, Any] = value if isinstance(value, dict) else {str(short): value}
    if short and short not in table:
        example = "1.0" if kind is Parameter else '"..."'
        raise document.at(
            path, f"{called} '{name}' needs a {short}, such as {name} = {{{short} = {example}, unit = \"m\"}}"
        )
    return _made(document, kind, name, _arguments(document, kind, table, path), path)


def _component(
    document: Document, name: str, table: Any, path: KeyPath, files: _Files
) -> tuple[Component | Subsystem | Block | Sampled, int]:
    if not isinstance(table, dict):
        raise document.at(path, f"component '{name}' must be a table with a type, not {kind_of(table)}")
    if "system" in table and "type" not in table:
        return _subsystem(document, name, table, path, files)
    kind = table.get("type")
    if not isinstance(kind, str):
        message = "needs a type" if kind is None else f"has {kind_of(kind)} as its type"
        raise document.at((*path, "type"), f"'{name}' {message}: write type = \"Revolute\" or another component")
    if kind in BLOCKS:
        return _block(document, name, table, path), 1
    kind_named = component_type(kind)
    if kind_named is None:
        clause = nearest(kind, (*component_types(), *BLOCKS))
        raise document.at((*path, "type"), UnknownNameError(f"'{name}': there is no component '{kind}'; {clause}"))
    table = {key: value for key, value in table.items() if key != "type"}
    made: Component = _made(document, kind_named, name, _arguments(document, kind_named, table, path), path)
    return made, 1


def _arguments(document: Document, kind: type, table: dict[str, Any], path: KeyPath) -> dict[str, Any]:
    """Return the keyword arguments of a class that a table gives."""
    fields = fields_of(kind)
    arguments = {}
    for key, value in table.items():
        if key not in fields:
            hint = f"; if it is the system's, put '{key}' above the first [table]" if key in TOP else ""
            raise document.at(
                (*path, key), UnknownNameError(f"'{path[-1]}': a {kind.__name__} has no '{key}'; "
                f"{nearest(key, fields)}{hint}"),
            )  # fmt: skip
        try:
            arguments[key] = taken(kind, fields[key], value)
        except MbfmuError as error:
            raise document.at((*path, key), f"{path[-1]}.{error}") from None
        if "file" in fields[key].metadata and not re.fullmatch(fields[key].metadata.get("or", "(?!)"), value.strip()):
            arguments[key] = str(_inside(document, value, (*path, key), fields[key].metadata["file"]))
    return arguments


def _made(document: Document, kind: Any, name: str, arguments: dict[str, Any], path: KeyPath) -> Any:
    """Return an object of a class; raise an error at the key of the table that it does not take."""

    def attempt(attempted: dict[str, Any]) -> tuple[Any, MbfmuError | None]:
        try:
            return kind(name, **attempted), None
        except MbfmuError as error:
            return None, error
        except WRONG as error:
            return None, ModelFileError(f"'{name}': {error}")

    made, error = attempt(arguments)
    if error is None:
        return made
    needed = {SHORT[kind]: "0"} if kind in SHORT else {}
    for key, value in arguments.items():
        if str(attempt({**needed, key: value})[1]) == str(error):
            raise document.at((*path, key), error)
    raise document.at(path, error)


def _subsystem(
    document: Document, name: str, table: dict[str, Any], path: KeyPath, files: _Files
) -> tuple[Subsystem, int]:
    known = ("system", "values")
    for key in table:
        if key not in known:
            message = UnknownNameError(f"sub-system '{name}' has no '{key}'; {nearest(key, known)}")
            raise document.at((*path, key), message)
    inner, values = table["system"], table.get("values", {})
    if isinstance(inner, dict):
        inner_model = _model(document, inner, (*path, "system"), files)
    elif isinstance(inner, str):
        inner_model = (_from_library if is_name(inner) else _from_file)(document, inner, (*path, "system"), files)
    else:
        raise document.at(
            (*path, "system"), f"'{name}': system must be a path, a name or a table, not {kind_of(inner)}"
        )
    if not isinstance(values, dict):
        raise document.at((*path, "values"), f"'{name}': values must be a table, not {kind_of(values)}")
    for key, value in values.items():
        try:
            Subsystem(name, inner_model.system, {key: value})
        except MbfmuError as error:
            raise document.at((*path, "values", key), error) from None
    try:
        return Subsystem(name, inner_model.system, values), inner_model.size
    except MbfmuError as error:
        raise document.at(path, error) from None


def _from_library(document: Document, name: str, path: KeyPath, files: _Files) -> _SizedModel:
    """Return a model of the library, which is found by its name."""
    if name not in files.known:
        try:
            inner = files.library(name)
        except MbfmuError as error:
            raise document.at(path, f"{error}; a file is named by its path, which ends in .toml") from None
        if isinstance(inner, LagrangianSystem):
            raise document.at(path, f"'{name}' is given by its energies: it can be no part of a system")
        files.known[name] = _SizedModel(inner, _size(inner))
    return files.known[name]


def _size(model: SystemData | Block | Sampled) -> int:
    """Return the number of components of a model, those of its sub-systems included."""
    if not isinstance(model, SystemData):
        return 1
    return sum(_size(item.system) if isinstance(item, Subsystem) else 1 for item in model.components)


def _from_file(document: Document, text: str, path: KeyPath, files: _Files) -> _SizedModel:
    """Return the system of a file in the folder of the document, or below it."""
    full = _inside(document, text, path, (".toml",))
    inside = _real(full)
    if inside in files.chain:
        names = [item.name for item in (*files.chain[files.chain.index(inside) :], inside)]
        raise document.at(path, f"files use each other in a cycle: {' -> '.join(names)}")
    if len(files.chain) >= DEEPEST:
        raise document.at(path, f"more than {DEEPEST} files use each other in a row")
    return files.known[inside] if inside in files.known else _read(full, files)


def _inside(document: Document, text: str, key: KeyPath, endings: tuple[str, ...]) -> Path:
    """Return the path of a file in the folder of the document, or below it."""
    if document.folder is None:
        raise document.at(key, "a text that is in no file cannot use another file")
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or set(text) & set("\\:\0") or path.suffix.lower() not in endings:
        raise document.at(
            key, f"{key[-1]} = {text!r} must be the path of a {' or '.join(endings)} file in this file's folder or "
            f'below it, such as "parts/arm{endings[0]}"'
        )  # fmt: skip
    full = document.folder / path
    if not _real(full).is_relative_to(_real(document.folder)):
        raise document.at(key, f"'{text}' leads out of the folder of this file")
    if not os.path.isfile(_real(full)):
        raise document.at(key, f"there is no model file '{full}'")
    return full


def _real(path: Path) -> Path:
    """Return a path without links; unlike `Path.resolve` it takes links in a circle."""
    return Path(os.path.realpath(path))


def _connections(document: Document, pairs: list[Any], path: KeyPath) -> tuple[Connection, ...]:
    for index, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            raise document.at(
                (*path, index),
                'a connection is an array of two names of frames, such as ["world.frame_b", "hinge.frame_a"]',
            )
    return tuple(Connection(*pair) for pair in pairs)


def _wires(document: Document, items: list[Any], path: KeyPath) -> tuple[Wire, ...]:
    wires = []
    for index, item in enumerate(items):
        here = (*path, index)
        table = dict(zip(("from", "to"), item, strict=True)) if isinstance(item, list) and len(item) == 2 else item
        if not isinstance(table, dict) or not {"from", "to"} <= table.keys():
            raise document.at(
                here, 'a wire is an array of two names, such as ["boom.s", "servo.s"], or a table '
                '{from = "boom.s", to = "servo.s", factor = 2, offset = 1}',
            )  # fmt: skip
        if strange := next((key for key in table if key not in ENDS), None):
            message = UnknownNameError(f"a wire has no '{strange}'; {nearest(strange, ENDS)}")
            raise document.at((*here, strange), message)
        try:
            arguments = {ENDS[key]: taken(Wire, fields_of(Wire)[ENDS[key]], value) for key, value in table.items()}
            wires.append(Wire(**arguments, stated_at=document.place(here)))
        except MbfmuError as error:
            raise _placed(document, error, here) from None
    return tuple(wires)


def _check(document: Document, model: System | Block | Sampled) -> None:
    """Raise an error for the mistakes that show without deriving the equations.

    Raises:
        ModelError: there is an unknown name, a frame connected to nothing, an inertia that no body has, or the like.
    """
    try:
        mechanism = flatten(model) if isinstance(model, System) else flatten_block(model)
        known: dict[tuple[str, Value], float] = {}
        for path in mechanism.of(Body):
            if (
                not mechanism.planar
                and _path_of(document, path)
                and (reason := unphysical(_inertia(mechanism, path, known)))
            ):
                raise MassError(f"{path}.I_11 to I_33: {reason}")
    except MbfmuError as error:
        words = (_path_of(document, word) for word in re.findall(r"[\w.]+", str(error)))
        raise _placed(document, error, next(filter(None, words), ("components",))) from None
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


def _path_of(document: Document, word: str) -> KeyPath:
    """Return the path of the first parts of a dotted name, such as ``arm.hinge.phi``; empty if there is none."""
    path: KeyPath = ()
    for part in word.split("."):
        groups = ("components", *ITEMS)
        steps: tuple[KeyPath, ...] = (
            *((group, part) for group in groups), *(("system", group, part) for group in groups), ("values", part),
            *([(part,)] if path else []),
        )  # fmt: skip
        step = next((step for step in steps if (*path, *step) in document.lines), None)
        if step is None:
            break
        path = (*path, *step)
    return path
