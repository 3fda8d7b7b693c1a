"""Interface -> model.h: names, start values and bounds of the variables as C tables."""

import math
from collections.abc import Iterable, Sequence

from mbfmu.fmu.interface import Interface

CORRECTION = "solver.correction"


def model_header(name: str, interface: Interface, starts: Sequence[float], passes: int, guid: str) -> str:
    """Return the C header that tells fmi2.c about the variables.

    Args:
        name: of the model, for messages.
        interface: the variables.
        starts: default start values s.
        passes: corrections of each stage of a step; 0: until it is solved.
        guid: of the FMU.
    """
    names: dict[int, str] = {}
    for item in interface.variables:
        names.setdefault(item.reference, item.name)
    parameters = [item for item in interface.variables if item.causality == "parameter"]
    values = [item.start or 0.0 for item in parameters]
    inputs = [item.start or 0.0 for item in interface.variables if item.causality == "input"]
    first_y = 1 + interface.n_u + len(parameters)
    number_of = {reference: number for number, reference in enumerate(interface.starts)}
    bounds = (
        f"{{{int(item.variability == 'tunable')}, {_number(item.min)}, {_number(item.max)}}}" for item in parameters
    )
    return "\n".join(
        [
            "#ifndef MODEL_H",
            "#define MODEL_H",
            "#include <math.h>",
            f"#define MODEL_NAME {_text(name)}",
            f"#define MODEL_GUID {_text(guid)}",
            f"#define N_VALUES {len(names)}",
            f"#define FIXED_PASSES {passes}",
            f"#define STEP_DEFAULT {_number(values[-2])}",
            f"#define TOLERANCE_DEFAULT {_number(values[-1])}",
            "struct bounds {",
            "    int tunable;",
            "    double min, max;",
            "};",
            _table("char *const", "NAMES", (_text(names[reference]) for reference in sorted(names))),
            _table("double", "U_DEFAULT", [*map(_number, inputs), "0"]),
            _table("double", "P_DEFAULT", [*map(_number, values[:-2]), "0"]),
            _table("double", "S_DEFAULT", [*map(_number, starts), "0"]),
            _table("struct bounds", "BOUNDS", bounds),
            _table("int", "START_OF", (str(number_of.get(first_y + k, -1)) for k in range(interface.n_y))),
            "#endif",
            "",
        ]
    )


def _table(kind: str, name: str, rows: Iterable[str]) -> str:
    return "\n".join([f"static const {kind} {name}[] = {{", *(f"    {row}," for row in rows), "};"])


def _number(value: float) -> str:
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def _text(value: str) -> str:
    """Return a C string literal; what is not plain is written in octal, which ends after three digits."""
    plain = (
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in value.encode("utf-8")
    )
    return '"' + "".join(plain) + '"'
