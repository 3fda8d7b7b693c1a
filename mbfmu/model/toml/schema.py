"""The JSON Schema of a model in TOML, generated from the classes: editors complete and check with it."""

import inspect
import math
from typing import Any

from mbfmu.model.system import Parameter
from mbfmu.model.toml.kinds import component_types, default_of, fields_of, schema_of

IDENTIFIER = r"^[^\W\d]\w*$"


def schema() -> dict[str, Any]:
    """Return the schema (draft 7) as JSON data."""
    kinds = component_types()
    definitions: dict[str, Any] = {
        name: {
            "type": "object",
            "description": (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " "),
            "properties": {"type": {"const": name}, **_properties(kind)},
            "required": ["type"],
            "additionalProperties": False,
        }
        for name, kind in kinds.items()
    }
    definitions["parameter"] = {
        "anyOf": [
            {"type": ["number", "string"]},
            {
                "type": "object",
                "properties": _properties(Parameter),
                "required": ["value"],
                "additionalProperties": False,
            },
        ]
    }
    definitions["subsystem"] = {
        "type": "object",
        "description": "a system as a component: the path of its file, or the system itself",
        "properties": {
            "system": {"anyOf": [{"type": "string", "pattern": r"\.toml$"}, {"$ref": "#/definitions/system"}]},
            "values": {"type": "object", "additionalProperties": {"type": ["number", "string"]}},
        },
        "required": ["system"],
        "additionalProperties": False,
    }
    one_of = [{"$ref": f"#/definitions/{name}"} for name in (*kinds, "subsystem")]
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
            "urdf": {
                "type": "object",
                "description": "the robot whose description the system is based on",
                "properties": {
                    "file": {"type": "string", "pattern": r"\.urdf$"},
                    "base": {"enum": ["", "fixed", "floating"]},
                    **{key: {"type": "boolean"} for key in ("limits", "friction", "effort_limits")},
                    "wrenches": {"type": "array", "items": {"type": "string"}},
                    "packages": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": ["file"],
                "additionalProperties": False,
            },
            "planar": {"type": "boolean", "description": "whether all motion is in the x-y plane; false: in space"},
            "connections": {
                "type": "array",
                "description": 'pairs of frames that coincide, such as ["world.frame_b", "hinge.frame_a"]',
                "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
            },
            "parameters": _named({"$ref": "#/definitions/parameter"}),
            "components": {**_named({"anyOf": one_of}), "minProperties": 1},
        },
        "required": ["name"],
        "anyOf": [{"required": ["components"]}, {"required": ["urdf"]}],
        "additionalProperties": False,
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a mechanism of mbfmu",
        "$ref": "#/definitions/system",
        "definitions": definitions,
    }


def _named(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "propertyNames": {"pattern": IDENTIFIER}, "additionalProperties": item}


def _properties(kind: type) -> dict[str, Any]:
    found = {}
    for name, item in fields_of(kind).items():
        found[name] = schema_of(kind, item)
        default = default_of(item)
        if isinstance(default, bool | str) or (isinstance(default, int | float) and math.isfinite(default)):
            found[name]["default"] = default
    return found
