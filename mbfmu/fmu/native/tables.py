"""Interface -> variables.h, model.h and arrays.h: the variables as one C table, and other facts of the model for C."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from mbfmu.fmu.arrays import TYPES, arrays, clocks
from mbfmu.fmu.failures import bounds, quantities
from mbfmu.fmu.interface import EXCHANGED, KINDS, OUTPUT, SETTING, STATE, Interface, Variable, Watched
from mbfmu.kernel.errors import Estimated
from mbfmu.kernel.failure import Quantity

ROW = """
enum { FOLLOWING = -2 }; /* as a place in the vector of start values: the start value follows from those of others */
/* What a value reference refers to. */
struct variable {
    enum kind kind; /* which vector its value is in */
    int offset;     /* where in it */
    int start;      /* where in the vector of start values, of an output that has one; FOLLOWING: of a state; else -1 */
    double value; /* default; those of the settings are in the GUID */
    double min, max;
    const char *name;
    const char *fixed; /* why it may not change after the initialisation, for a parameter; 0: it may */
};
"""
TYPED_ROW = ROW.replace("\n};", "\n    enum type type; /* see core.h, which comes first */\n};")
"""One row of the table of variables in C with the type of the variable, for FMUs whose variables are not all real."""


CLOCK_TIMING = "void clock_timing(const double *const *arg, double *const *res, double *w);"


def variables_header(interface: Interface, enumerations: bool = False) -> str:
    """Return the C header with the table of variables, by value reference.

    Args:
        interface: the variables.
        enumerations: whether modes are of the type Enumeration, as in FMI 3.0, and not of the type Integer.
    """
    typed = interface.typed
    offsets = [_place(item) for item in interface.variables]
    return "\n".join(
        [
            "#ifndef VARIABLES_H",
            "#define VARIABLES_H",
            "#include <math.h>",
            _enumeration("kind", (*KINDS, *EXCHANGED) if interface.exchange else KINDS),
            TYPED_ROW if typed else ROW,
            "static const struct variable VARIABLES[] = {",
            *(f"    {{{_row(item, typed, enumerations)}}}," for item in interface.variables),
            "};",
            "/* Place among the outputs of the Real output with each value reference; -1: it is another variable. */",
            _numbers("PLACES", offsets, "int"),
            "/* How many such outputs follow each other in references and places, from each on; 0: it is none. */",
            _numbers("RUNS", _runs(offsets)),
            _numbers("REFERENCES", range(len(offsets))),
            "#endif",
            "",
        ]
    )


def model_header(name: str, identifier: str, interface: Interface, corrections: int, owner: str, code: str) -> str:
    """Return the C header with names, counts and limits.

    Args:
        name: name of the model, for messages.
        identifier: identifier of the FMU, with which external names begin.
        interface: the variables.
        corrections: number of corrections of each stage of a step; 0: until it is solved.
        owner: hash of what states depend on, by which those of other FMUs are known.
        code: hash of the sources, with which GUIDs of the FMU begin.
    """
    return "\n".join(
        [
            "#ifndef MODEL_H",
            "#define MODEL_H",
            f"#define MODEL_NAME {c_text(name)}",
            f"#define MODEL_CODE {c_text(code)}",
            f"#define STATE_OWNER {c_text(owner)}",
            f"#define MODEL_IDENTIFIER {identifier}",
            f"#define N_VARIABLES {len(interface.variables)}",
            f"#define CORRECTIONS {corrections}",
            *(f"#define {limit.upper()} {_number(value)}" for limit, value in interface.limits.items()),
            *_watched(interface.watched),
            *([f"#define GUARD_NAMES {', '.join(map(c_text, interface.guards))}"] if interface.guards else []),
            *_suspects(interface),
            *_bounded(interface),
            *(_states(interface) if interface.exchange else []),
            _enumeration("setting", [*_settings(interface), "n_settings"]),
            "#endif",
            "",
        ]
    )


def _settings(interface: Interface) -> list[str]:
    return [item.name.rpartition(".")[2] for item in interface.variables if item.kind == SETTING]


def _states(interface: Interface) -> list[str]:
    """Return the definitions of the continuous states: their indices in x, nominal sizes and names."""
    states = [state for state, _ in interface.states]
    return [
        f"#define N_STATES {len(states)}",
        f"#define STATE_PLACES {', '.join(str(item.offset) for item in states) or 0}",
        f"#define STATE_NOMINALS {', '.join(_number(item.nominal) for item in states) or 0}",
        f"#define STATE_NAMES {', '.join(c_text(item.name) for item in states) or 0}",
    ]


def _suspects(interface: Interface) -> list[str]:
    """Return the definitions of what messages on failed steps say: quantities by their usual sizes, and advice."""
    tables = {kind: _quantities(items) for kind, items in quantities(interface).items()}
    return [
        *(f"#define SUSPECT_{kind.upper()} {rows}" for kind, rows in tables.items()),
        *(f"#define REMEDY_{name} {c_text(text)}" for name, text in interface.remedies.items()),
    ]


def _quantities(items: Iterable[Quantity]) -> str:
    """Return the rows of a C table of quantities."""
    return "".join(
        f"\\\n    {{{c_text(item.name)}, {c_text(item.unit)}, {_number(item.usual)}, {item.place}, {item.rate}, "
        f"{c_text(item.rate_unit)}}}, "
        for item in items
    )


def _bounded(interface: Interface) -> list[str]:
    """Return the definition of the bounds of calculated parameters, if there are any."""
    rows = "".join(
        f"\\\n    {{{c_text(item.name)}, {c_text(item.unit)}, {item.place}, "
        f"{_number(item.min)}, {_number(item.max)}}}, "
        for item in bounds(interface)
    )
    return [f"#define BOUNDED {rows}"] if rows else []


def arrays_header(interface: Interface, identifier: str) -> str:
    """Return the C header of FMI 3.0: which variables are arrays, what they depend on, their types, and the clocks.

    Args:
        interface: the variables.
        identifier: identifier of the FMU, with which external names begin.
    """
    ticking = clocks(interface)
    n_sampled = sum(item.sampled is not None for item in ticking)
    spans = {array.reference: len(array.elements) for array in arrays(interface)}
    return "\n".join(
        [
            "#ifndef ARRAYS_H",
            "#define ARRAYS_H",
            f"#define TYPE_NAMES {', '.join(map(c_text, TYPES.values()))}",
            "/* Number of elements of the variable with each value reference; 0: it is an element of an array. */",
            _numbers("SPANS", (spans.get(item.reference, 0) for item in interface.variables)),
            "/* Places among the dependencies of those of each element, which go on to those of the next: after the",
            " * initialisation, and in it. */",
            *_depending(interface, "RUNNING", {**interface.bound_on, **interface.feedthrough}),
            *_depending(interface, "INITIAL", interface.starting),
            f"#define N_CLOCKS {len(ticking)}",
            f"#define N_SAMPLED {n_sampled}",
            "/* Names of the clocks; their value references follow those of the variables; that of events is first. */",
            f"static const char *const CLOCKS[] = {{{', '.join(c_text(item.name) for item in ticking) or '0'}}};",
            *([f"#define clock_timing {identifier}_clock_timing", CLOCK_TIMING] if n_sampled else []),
            "#endif",
            "",
        ]
    )


def _depending(interface: Interface, when: str, on: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the C tables of what each variable depends on, from names by name."""
    references = {item.name: item.reference for item in interface.variables}
    rows = [[references[name] for name in on.get(item.name, ())] for item in interface.variables]
    return [
        _numbers(f"FIRST_{when}", accumulate(map(len, rows), initial=0)),
        _numbers(f"{when}_DEPENDENCIES", [reference for row in rows for reference in row] or [0]),
    ]


def _numbers(name: str, values: Iterable[int], kind: str = "unsigned int") -> str:
    """Return a C table of whole numbers, twenty to a line."""
    texts = [f"{value}," for value in values]
    lines = (" ".join(texts[start : start + 20]) for start in range(0, len(texts), 20))
    return f"static const {kind} {name}[] = {{\n    " + "\n    ".join(lines) + "\n};"


def _watched(watched: Watched) -> list[str]:
    """Return the definitions of the outputs that are watched; those that do not exist have the index 0."""
    energies, residual = watched.energies, watched.residual
    return [
        f"#define WATCHES_ENERGY {int(bool(energies))}",
        f"#define ENERGY_NAME {c_text(watched.constant.name)}",
        f"#define ENERGY_UNDRIVEN {int(watched.constant.undriven)}",
        _places("energy", ("constant", "kinetic", "potential"), energies or (0, 0, 0)),
        f"#define WATCHED_STATES {_quantities(watched.states)}",
        *(_estimated(watched.errors) if watched.errors else []),
        f"#define WATCHES_RESIDUAL {int(residual is not None)}",
        f"#define RESIDUAL {residual or 0}",
        *([f"#define STEP_LIMIT {_number(watched.limit)}"] if watched.limit else []),
    ]


def _estimated(errors: Estimated) -> list[str]:
    """Return the definitions of the quantities whose errors are estimated."""
    return [
        f"#define ERROR_NAMES {', '.join(map(c_text, errors.names))}",
        f"#define ERROR_COORDINATES {errors.n}",
        f"#define ERROR_USUAL {', '.join(map(_number, (*errors.usual, 1.0)))}",
    ]


def _places(name: str, items: Iterable[str], offsets: Iterable[int]) -> str:
    entries = (f"{item.upper()}_ENERGY = {offset}" for item, offset in zip(items, offsets, strict=True))
    return f"enum {name} {{ {', '.join(entries)} }};"


def guid_header(guid: str) -> str:
    """Return the C header with the GUID of the FMU, for programs that are linked with its sources."""
    return f"#define MODEL_GUID {c_text(guid)}\n"


def _place(item: Variable) -> int:
    return item.offset if item.kind == OUTPUT and item.type == "Real" else -1


def _runs(offsets: Sequence[int]) -> list[int]:
    """Return for each index how many there are from it on of which each is one more than that before; 0: it is -1."""
    runs = [int(offset >= 0) for offset in offsets]
    for i in reversed(range(len(offsets) - 1)):
        if runs[i] and offsets[i + 1] == offsets[i] + 1:
            runs[i] += runs[i + 1]
    return runs


def _row(item: Variable, typed: bool, enumerations: bool) -> str:
    value = 0.0 if item.kind == SETTING else item.start or 0.0
    follows = item.kind in {OUTPUT, STATE} and item.start is not None
    start = item.start_offset if item.start_offset is not None else "FOLLOWING" if follows else -1
    numbers = ", ".join(map(_number, (value, item.min, item.max)))
    fixed = c_text(item.fixed) if item.fixed else "0"
    row = f"{item.kind.upper()}, {item.offset}, {start}, {numbers}, {c_text(item.name)}, {fixed}"
    return f"{row}, {(item.type3 if enumerations else item.type).upper()}" if typed else row


def _enumeration(name: str, items: Iterable[str]) -> str:
    return f"enum {name} {{ {', '.join(item.upper() for item in items)} }};"


def _number(value: float) -> str:
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def c_text(value: str) -> str:
    """Return a C string literal; unusual characters are written in octal, which ends after three digits."""
    plain = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in value.encode("utf-8")
    )
    return '"' + "".join(plain) + '"'
