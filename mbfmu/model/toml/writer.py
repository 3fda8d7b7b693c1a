"""System -> TOML, from which the reader makes the same system."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mbfmu.errors import ModelFileError
from mbfmu.model.block import Block
from mbfmu.model.component import Component
from mbfmu.model.sampled import Sampled, block_of
from mbfmu.model.system import System
from mbfmu.model.system_data import Subsystem, SystemData, Wire
from mbfmu.model.toml.kinds import ENDS, FREE, ITEMS, SHORT, block_fields, component_type, default_of, fields_of

BARE = re.compile(r"[A-Za-z0-9_-]+")
WIDTH = 116
"""Largest number of columns of a line that may be broken."""


def to_toml(model: System | Block | Sampled) -> str:
    """Return a system or block as a TOML document that contains its sub-systems.

    Raises:
        ModelFileError: the model is given by its energies, or has a component of a user's own class or
            with the data of a file.
    """
    if not isinstance(model, System | Block | Sampled):
        raise ModelFileError(f"'{model.name}' is given by its energies: TOML holds systems of components, and blocks")
    return "\n".join(_lines(model, "")).strip() + "\n"


def _lines(model: SystemData | Block | Sampled, prefix: str) -> Iterator[str]:
    """Yield the lines of a model, the names of its tables beginning with `prefix`."""
    yield f"name = {_text(model.name)}"
    if isinstance(model, SystemData):
        yield from _system(model, prefix)
    else:
        yield from _block(model, prefix)


def _system(system: SystemData, prefix: str) -> Iterator[str]:
    if system.description:
        yield f"description = {_text(system.description)}"
    if system.stepper:
        yield f"stepper = {_text(system.stepper)}"
    if system.planar:
        yield "planar = true"
    if system.input_starts:
        yield f"input_starts = {_table(system.input_starts)}"
    if system.inner_starts:
        yield f"inner_starts = {_table(system.inner_starts)}"
    if system.connections:
        yield from ("", "connections = [")
        yield from (f"  [{_text(pair.a)}, {_text(pair.b)}]," for pair in system.connections)
        yield "]"
    if system.wires:
        yield from ("", "wires = [")
        yield from (f"  {_wire(item)}," for item in system.wires)
        yield "]"
    if system.names:
        yield from ("", f"[{prefix}names]")
        yield from (f"{_key(name)} = {_text(other)}" for name, other in system.names.items())
    if system.parameters:
        yield from _items(system.parameters, f"{prefix}parameters")
    for item in system.components:
        table = f"{prefix}components.{_key(item.name)}"
        yield from ("", f"[{table}]")
        if isinstance(item, Component):
            yield from _component(item)
        elif isinstance(item, Subsystem):
            if item.values:
                yield f"values = {_table(item.values)}"
            yield from ("", f"[{table}.system]")
            yield from _lines(item.system, f"{table}.system.")
        else:
            yield from _block(item, f"{table}.")


def _block(item: Block | Sampled, prefix: str) -> Iterator[str]:
    """Yield the lines of a block after its name."""
    block = block_of(item)
    yield f"type = {_text(type(item).__name__)}"
    values = {**_given(block), **(_given(item) if isinstance(item, Sampled) else {})}
    yield from (f"{_key(key)} = {_value(values[key])}" for key in block_fields(type(item)) if key in values)
    for group in ITEMS:
        if entries := getattr(block, group):
            yield from _items(entries, f"{prefix}{group}")


def _items(entries: tuple[Any, ...], table: str) -> Iterator[str]:
    yield from ("", f"[{table}]")
    yield from (f"{_key(item.name)} = {_item(item)}" for item in entries)


def _item(item: Any) -> str:
    values, short = _given(item), SHORT.get(type(item), "")
    return _value(values[short]) if set(values) == {short} else _table(values)


def _wire(item: Wire) -> str:
    values = {name: value for name, value in _given(item).items() if name in ENDS.values()}
    if set(values) == {"source", "target"}:
        return _value([item.source, item.target])
    return _table({key: values[label] for key, label in ENDS.items() if label in values})


def _component(item: Component) -> Iterator[str]:
    kind = type(item).__name__
    if component_type(kind) is not type(item):
        raise ModelFileError(
            f"'{item.name}' is a {kind}, a component of a model file of its own: TOML holds those of mbfmu and of "
            "packages that register theirs"
        )
    if held := [key for key in _given(item) if _holds_file(item, key)]:
        raise ModelFileError(
            f"'{item.name}' holds the {held[0]} of a file, which a TOML document names by its path: write that by hand"
        )
    yield f"type = {_text(kind)}"
    yield from (f"{_key(key)} = {_value(value)}" for key, value in _given(item).items())


def _holds_file(item: Component, key: str) -> bool:
    """Return whether a field holds what was in a file, or its path."""
    data = fields_of(type(item))[key].metadata
    return "file" in data and not ("or" in data and re.fullmatch(data["or"], getattr(item, key)))


def _given(item: Any) -> dict[str, Any]:
    """Return the fields of a description that differ from their defaults."""
    values = {key: (getattr(item, key), default_of(field)) for key, field in fields_of(type(item)).items()}
    return {key: value for key, (value, default) in values.items() if not _same(value, default)}


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, tuple | list | np.ndarray):
        return isinstance(default, tuple) and tuple(value) == default
    return type(value) is type(default) and bool(value == default)


def _table(values: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{_key(key)} = {_value(value)}" for key, value in values.items()) + "}"


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if value is None:
        return _text(FREE)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value)) if abs(int(value)) < 2**63 else repr(float(value))
    if isinstance(value, float | np.floating):
        return repr(float(value)) if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, tuple | list | np.ndarray):
        return "[" + ", ".join(map(_value, value)) + "]"
    raise ModelFileError(f"{value!r} cannot be written as TOML")


def _text(text: str) -> str:
    """Return a basic string: quotes, backslashes and control characters escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'
