"""The component classes and the values of their fields, by introspection, so that nothing needs to be registered."""

import inspect
import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import mbfmu.model
from mbfmu.base.extensions import COMPONENTS, registered
from mbfmu.errors import MbfmuError, ModelFileError
from mbfmu.model.block import Block, Defined, Port, State
from mbfmu.model.component import OWN_SIZE, Component, FormulaField, QuantityField
from mbfmu.model.parameter import Parameter
from mbfmu.model.sampled import Sampled

ENDINGS: dict[str, tuple[str, ...]] = {"urdf": (".urdf",), "robot": (".xml", ".mjcf", ".urdf", ".sdf")}
"""Endings of the files of robots, by the key of their table; xacro evaluates expressions, which a document may not."""
FREE = "?"
"""Text in a vector of start values for an entry that the assembly determines."""
BLOCKS: dict[str, type[Block] | type[Sampled]] = {"Block": Block, "Sampled": Sampled}
"""Types of blocks."""
ITEMS: dict[str, type] = {"parameters": Parameter, "inputs": Port, "states": State, "defined": Defined}
"""Tables of a block, and what their entries are."""
SHORT: dict[type, str] = {Parameter: "value", State: "rate", Defined: "value"}
"""Field that a bare value sets: ``y = "K*e"`` means ``y = {value = "K*e"}``."""
ENDS = {"from": "source", "to": "target", "factor": "factor", "offset": "offset"}
"""Fields of a wire, by their names in a document."""
BASE = "Base of "
"""Beginning of the docstring of a class that is not a component itself."""


@cache
def component_types() -> Mapping[str, type[Component]]:
    """Return the components that `mbfmu.model` exports, without base classes, by name."""
    exported = {name: getattr(mbfmu.model, name) for name in sorted(mbfmu.model.__all__)}
    return {
        name: item
        for name, item in exported.items()
        if isinstance(item, type) and issubclass(item, Component) and not (inspect.getdoc(item) or "").startswith(BASE)
    }


def component_type(name: str) -> type[Component] | None:
    """Return the component of a name, of mbfmu or of another installed package; None if there is none."""
    return component_types().get(name) or registered(COMPONENTS, Component, component_types()).get(name)


def block_fields(kind: type[Block] | type[Sampled]) -> dict[str, tuple[type, Field[Any]]]:
    """Return the fields of a block in a document, other than its name and tables: class and field, by name."""
    of_block: dict[str, tuple[type, Field[Any]]] = {
        name: (Block, item) for name, item in fields_of(Block).items() if name not in ITEMS
    }
    timing: dict[str, tuple[type, Field[Any]]] = {
        name: (Sampled, item) for name, item in fields_of(Sampled).items() if name != "block"
    }
    return {**of_block, **timing} if kind is Sampled else of_block


def fields_of(kind: type) -> dict[str, Field[Any]]:
    """Return the fields of a description other than its name, by name."""
    return {item.name: item for item in fields(kind) if item.init and item.name != "name"}


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """Return the types of the fields of a description, by name."""
    return get_type_hints(kind)


def default_of(item: Field[Any]) -> Any:
    """Return the default of a field; MISSING if there is none."""
    return item.default_factory() if item.default_factory is not MISSING else item.default


def taken(kind: type, item: Field[Any], value: Any) -> Any:
    """Return the value of a field for a value in a document (arrays become tuples).

    Args:
        kind: the class.
        item: its field.
        value: value in the document.

    Raises:
        ModelFileError: the value has a wrong type. The class itself checks numbers and expressions.
    """
    if "quantity" in item.metadata or "direction" in item.metadata or "law" in item.metadata:
        _check_plain(item.name, value)
        started = "quantity" in item.metadata and item.metadata["quantity"].role == "start"
        if isinstance(value, list):
            return tuple(None if started and entry == FREE else entry for entry in value)
        return value
    if "file" in item.metadata and not isinstance(value, str):
        raise ModelFileError(f"{item.name} must be the path of a file, not {kind_of(value)}")
    return value if "file" in item.metadata else _converted(item.name, hints_of(kind)[item.name], value)


def kind_of(value: Any) -> str:
    """Return the type of a value of a document, in the words of TOML."""
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a text", list: "an array", dict: "a table"}
    return names.get(type(value), "a date or time")


def _check_plain(name: str, value: Any) -> None:
    numbered = {f"{name}[{index}]": entry for index, entry in enumerate(value, 1)} if isinstance(value, list) else {}
    for label, entry in (numbered or {name: value}).items():
        if not isinstance(entry, str | int | float):
            raise ModelFileError(f"{label} must be a number or an expression, not {kind_of(entry)}")


def _converted(name: str, hint: Any, value: Any) -> Any:
    """Return a value converted to a type hint."""
    options = get_args(hint)
    if get_origin(hint) in {Union, types.UnionType}:
        for option in options:
            if option is not type(None):
                try:
                    return _converted(name, option, value)
                except MbfmuError:
                    continue
    elif get_origin(hint) is Literal:
        if any(type(value) is type(option) and value == option for option in options):
            return value
    elif get_origin(hint) is tuple and isinstance(value, list):
        if len(options) == 2 and options[1] is Ellipsis:
            options = (options[0],) * len(value)
        if len(options) == len(value):
            return tuple(
                _converted(f"{name}[{index}]", option, entry)
                for index, (option, entry) in enumerate(zip(options, value, strict=True), 1)
            )
    elif type(value) is hint or (hint is float and type(value) is int):
        return value
    raise ModelFileError(f"{name} must be {_wanted(hint)}, not {kind_of(value)}")


def _wanted(hint: Any) -> str:
    names = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}
    if get_origin(hint) in {Union, types.UnionType}:
        return " or ".join(_wanted(option) for option in get_args(hint) if option is not type(None))
    if get_origin(hint) is Literal:
        return " or ".join(repr(option) for option in get_args(hint))
    if get_origin(hint) is tuple:
        return "an array"
    return names.get(hint, str(hint))


def schema_of(kind: type, item: Field[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a field.

    Args:
        kind: the class.
        item: its field.
    """
    value: dict[str, Any] = {"type": ["number", "string"]}
    if "quantity" in item.metadata:
        declared: QuantityField = item.metadata["quantity"]
        bounds = {"minimum": declared.min, "maximum": declared.max}
        value |= {key: bound for key, bound in bounds.items() if math.isfinite(bound)}
        schema = _array(value, min(declared.sizes), max(declared.sizes)) if declared.sizes else value
        if declared.sizes == OWN_SIZE:
            del schema["maxItems"]
        free = "; guess(...) leaves it free" if declared.role == "start" and not declared.is_rate else ""
        return {"description": f"{declared.description} [{declared.unit}]{free}", **schema}
    if "law" in item.metadata:
        stated: FormulaField = item.metadata["law"]
        names = ", ".join(("time", *stated.names))
        return {"description": f"{stated.description} [{stated.unit}]; may depend on {names}", **value}
    if "file" in item.metadata:
        other = f"|^{item.metadata['or']}$" if "or" in item.metadata else ""
        description = "path of a file" + (", or a solid with its sizes" if other else "")
        return {"description": description, "type": "string", "pattern": _ending(item.metadata["file"]) + other}
    if "direction" in item.metadata:
        return {"description": "a vector, whose length does not matter", **_array({"type": "number"}, 2, 3)}
    return _schema_of_hint(hints_of(kind)[item.name])


def _ending(endings: tuple[str, ...]) -> str:
    """Return the pattern of paths that end so, in lower or upper case."""
    return f"({'|'.join(re.escape(each) for ending in endings for each in (ending, ending.upper()))})$"


def _array(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _schema_of_hint(hint: Any) -> dict[str, Any]:
    options = get_args(hint)
    if get_origin(hint) in {Union, types.UnionType}:
        return {"anyOf": [_schema_of_hint(option) for option in options if option is not type(None)]}
    if get_origin(hint) is Literal:
        return {"enum": list(options)}
    if get_origin(hint) is tuple:
        if len(options) == 2 and options[1] is Ellipsis:
            return {"type": "array", "items": _schema_of_hint(options[0])}
        return {**_array({}, len(options), len(options)), "items": [_schema_of_hint(option) for option in options]}
    return {"type": {bool: "boolean", int: "integer", float: "number", str: "string"}[hint]}
