"""Interface -> variables.h and model.h: the variables as one C table, and the other facts of the model for C code."""

import math
from collections.abc import Iterable

from mbfmu.fmu.interface import KINDS, SETTING, SETTINGS, Interface, Variable, Watched

ROW = """
/* What a value reference refers to. */
struct variable {
    enum kind kind; /* which vector its value is in */
    int offset;     /* where in it */
    int start;      /* where in the vector of start values, for an output that has one; else -1 */
    double value; /* default; those of the settings are in the GUID */
    double min, max;
    const char *name;
    const char *fixed; /* why it may not change after the initialisation, for a parameter; 0: it may */
};
"""
TYPED_ROW = ROW.replace("\n};", "\n    enum type type; /* see core.h, which comes first */\n};")
"""The same with the type of the variable, where not all are real."""


def variables_header(interface: Interface) -> str:
    """Return the C header with the table of variables, by value reference."""
    typed = interface.typed
    return "\n".join(
        [
            "#ifndef VARIABLES_H",
            "#define VARIABLES_H",
            "#include <math.h>",
            _enumeration("kind", KINDS),
            TYPED_ROW if typed else ROW,
            "static const struct variable VARIABLES[] = {",
            *(f"    {{{_row(item, typed)}}}," for item in interface.variables),
            "};",
            "#endif",
            "",
        ]
    )


def model_header(name: str, identifier: str, interface: Interface, corrections: int, code: str) -> str:
    """Return the C header with names, counts and limits.

    Args:
        name: name of the model, for messages.
        identifier: identifier of the FMU, with which external names begin.
        interface: the variables.
        corrections: number of corrections of each stage of a step; 0: until it is solved.
        code: hash of the sources, with which GUIDs of the FMU begin.
    """
    return "\n".join(
        [
            "#ifndef MODEL_H",
            "#define MODEL_H",
            f"#define MODEL_NAME {_text(name)}",
            f"#define MODEL_CODE {_text(code)}",
            f"#define MODEL_IDENTIFIER {identifier}",
            f"#define N_VARIABLES {len(interface.variables)}",
            f"#define CORRECTIONS {corrections}",
            *(f"#define {limit.upper()} {_number(value)}" for limit, value in interface.limits.items()),
            *_watched(interface.watched),
            *([f"#define GUARD_NAMES {', '.join(map(_text, interface.guards))}"] if interface.guards else []),
            _enumeration("setting", [*(item.rpartition(".")[2] for item in SETTINGS), "n_settings"]),
            "#endif",
            "",
        ]
    )


def _watched(watched: Watched) -> list[str]:
    """Return the definitions of the outputs that are watched; those that do not exist have the place 0."""
    energies, residual = watched.energies, watched.residual
    return [
        f"#define WATCHES_ENERGY {int(bool(energies))}",
        f"#define ENERGY_NAME {_text(watched.constant.name)}",
        f"#define ENERGY_UNDRIVEN {int(watched.constant.undriven)}",
        _places("energy", ("constant", "kinetic", "potential"), energies or (0, 0, 0)),
        f"#define WATCHES_RESIDUAL {int(residual is not None)}",
        f"#define RESIDUAL {residual or 0}",
    ]


def _places(name: str, items: Iterable[str], places: Iterable[int]) -> str:
    given = (f"{item.upper()}_ENERGY = {place}" for item, place in zip(items, places, strict=True))
    return f"enum {name} {{ {', '.join(given)} }};"


def guid_header(guid: str) -> str:
    """Return the C header with the GUID of the FMU, for programs that are linked with its sources."""
    return f"#define MODEL_GUID {_text(guid)}\n"


def _row(item: Variable, typed: bool) -> str:
    value = 0.0 if item.kind == SETTING else item.start or 0.0
    start = -1 if item.start_offset is None else item.start_offset
    numbers = ", ".join(map(_number, (value, item.min, item.max)))
    fixed = _text(item.fixed) if item.fixed else "0"
    row = f"{item.kind.upper()}, {item.offset}, {start}, {numbers}, {_text(item.name)}, {fixed}"
    return f"{row}, {item.type.upper()}" if typed else row


def _enumeration(name: str, items: Iterable[str]) -> str:
    return f"enum {name} {{ {', '.join(item.upper() for item in items)} }};"


def _number(value: float) -> str:
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def _text(value: str) -> str:
    """Return a C string literal; unusual characters are written in octal, which ends after three digits."""
    plain = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in value.encode("utf-8")
    )
    return '"' + "".join(plain) + '"'
