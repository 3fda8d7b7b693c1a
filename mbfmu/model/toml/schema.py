"""The JSON Schema of a model in TOML, generated from the classes: editors complete and check with it."""

import inspect
import math
import re
from typing import Any

from mbfmu.model.block import Block
from mbfmu.model.sampled import Sampled
from mbfmu.model.toml.kinds import (
    BLOCKS,
    ENDINGS,
    ITEMS,
    SHORT,
    block_fields,
    component_types,
    default_of,
    fields_of,
    schema_of,
)

IDENTIFIER = r"^[^\W\d]\w*$"


def schema() -> dict[str, Any]:
    """Return the schema (draft 7) as JSON data."""
    kinds = component_types()
    definitions: dict[str, Any] = {
        name: {
            "type": "object",
            "description": _claim(kind),
            "properties": {"type": {"const": name}, **_properties(kind)},
            "required": ["type"],
            "additionalProperties": False,
        }
        for name, kind in kinds.items()
    }
    for kind in ITEMS.values():
        definitions[kind.__name__] = _entry(kind)
    for kind in BLOCKS.values():
        definitions[kind.__name__] = _block(kind)
        definitions[f"named_{kind.__name__}"] = _block(kind, named=True)
    definitions["model"] = {
        "if": {"required": ["type"]},
        "then": {"anyOf": [{"$ref": f"#/definitions/named_{name}"} for name in BLOCKS]},
        "else": {"$ref": "#/definitions/system"},
    }
    definitions["subsystem"] = {
        "type": "object",
        "description": "a system or block as a component: path of its file, name of a model of mbfmu, or itself",
        "properties": {
            "system": {
                "if": {"type": "string"},
                "then": {"pattern": rf"\.toml$|{IDENTIFIER}"},
                "else": {"$ref": "#/definitions/model"},
            },
            "values": {"type": "object", "additionalProperties": {"type": ["number", "string", "boolean"]}},
        },
        "required": ["system"],
        "additionalProperties": False,
    }
    one_of = [{"$ref": f"#/definitions/{name}"} for name in (*kinds, *BLOCKS, "subsystem")]
    definitions["system"] = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": IDENTIFIER},
            "description": {"type": "string", "description": "one line"},
            "stepper": {"type": "string", "description": "name of the default stepper"},
            "input_starts": {
                "type": "object",
                "description": "start values of inputs, by full name, in SI units",
                "additionalProperties": {"type": "number"},
            },
            "inner_starts": {
                "type": "object",
                "description": "start values of what is inside composites, by name, in SI units",
                "additionalProperties": {"type": ["number", "string"]},
            },
            **{key: _robot(endings) for key, endings in ENDINGS.items()},
            "planar": {"type": "boolean", "description": "whether all motion is in the x-y plane; false: in space"},
            "connections": {
                "type": "array",
                "description": 'pairs of frames that coincide, such as ["world.frame_b", "hinge.frame_a"]',
                "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
            },
            "wires": {
                "type": "array",
                "description": 'signals that go to inputs, such as ["boom.s", "servo.s"]',
                "items": {
                    "anyOf": [
                        {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
                        {
                            "type": "object",
                            "properties": {
                                **{end: {"type": "string"} for end in ("from", "to")},
                                **{key: {"type": ["number", "string"]} for key in ("factor", "offset")},
                            },
                            "required": ["from", "to"],
                            "additionalProperties": False,
                        },
                    ]
                },
            },
            "names": {
                **_named({"type": "string"}),
                "description": 'other names of variables, such as q = "hinge.phi"',
            },
            "parameters": _named({"$ref": "#/definitions/Parameter"}),
            "components": {**_named({"anyOf": one_of}), "minProperties": 1},
        },
        "required": ["name"],
        "anyOf": [{"required": [key]} for key in ("components", *ENDINGS)],
        "additionalProperties": False,
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a model of mbfmu",
        "$ref": "#/definitions/model",
        "definitions": definitions,
    }


def _robot(endings: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of the robot that a system is based on.

    Args:
        endings: endings that its file may have.
    """
    return {
        "type": "object",
        "description": "the robot whose description the system is based on",
        "properties": {
            "file": {"type": "string", "pattern": f"({'|'.join(map(re.escape, endings))})$"},
            "base": {"enum": ["", "fixed", "floating"]},
            **{key: {"type": "boolean"} for key in ("limits", "friction", "effort_limits")},
            "wrenches": {"type": "array", "items": {"type": "string"}},
            **{
                key: {"type": "object", "additionalProperties": {"type": "string"}} for key in ("packages", "arguments")
            },
        },
        "required": ["file"],
        "additionalProperties": False,
    }


def _claim(kind: type) -> str:
    """Return the first sentence of a class's docstring."""
    return (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")


def _entry(kind: type) -> dict[str, Any]:
    """Return the schema of a parameter, input, state or defined quantity."""
    whole: dict[str, Any] = {"type": "object", "properties": _properties(kind), "additionalProperties": False}
    if kind not in SHORT:
        return {"description": _claim(kind), **whole}
    short = {key: value for key, value in whole["properties"][SHORT[kind]].items() if key != "default"}
    return {"description": _claim(kind), "anyOf": [short, {**whole, "required": [SHORT[kind]]}]}


def _block(kind: type[Block] | type[Sampled], *, named: bool = False) -> dict[str, Any]:
    """Return the schema of a block, as a component or with a name of its own."""
    needed = ["period"] if kind is Sampled else []
    return {
        "type": "object",
        "description": _claim(kind),
        "properties": {
            **({"name": {"type": "string", "pattern": IDENTIFIER}} if named else {}),
            "type": {"const": kind.__name__},
            **{name: schema_of(*item) for name, item in block_fields(kind).items()},
            **{group: _named({"$ref": f"#/definitions/{item.__name__}"}) for group, item in ITEMS.items()},
        },
        "required": [*(["name"] if named else []), "type", *needed, "defined"],
        "additionalProperties": False,
    }


def _named(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "propertyNames": {"pattern": IDENTIFIER}, "additionalProperties": item}


def _properties(kind: type) -> dict[str, Any]:
    properties = {}
    for name, item in fields_of(kind).items():
        properties[name] = schema_of(kind, item)
        default = default_of(item)
        if isinstance(default, bool | str) or (isinstance(default, int | float) and math.isfinite(default)):
            properties[name]["default"] = default
    return properties
