"""Prepared model -> the step as plain C99 for a controller: static memory, no C library, no FMI."""

import re
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import mbfmu
from mbfmu.fmu.interface import INPUT, OUTPUT, PARAMETER, Interface, Variable
from mbfmu.fmu.native.tables import c_text
from mbfmu.fmu.plain.precision import deviation
from mbfmu.fmu.plain.single import in_single_precision
from mbfmu.fmu.plain.statements import guarded
from mbfmu.kernel.bundle import Bundle
from mbfmu.kernel.codegen import linked_sources
from mbfmu.kernel.limits import MACROS
from mbfmu.kernel.runtime import CODES, Status
from mbfmu.prepared.prepare import Prepared

EXACT = "exact.h"
"""Name of the header in place of those of the C library."""
MEMORY = """
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *one, const void *other, size_t size);
"""
"""Declarations of the functions that compilers ask for where there is no C library."""
PIECES = " Events and samplings within a step cut it into pieces, each of which is such a step."
CORRECTIONS = int(MACROS["MAX_CORRECTIONS"])
"""Largest number of corrections of a stage that is solved to round-off."""
COMPARED = "compared.c"
"""Name of the file that runs both precisions for their comparison."""
UNTIMED = "The equations of this model do not depend on it."
TIMED = (
    "The equations of this model depend on it: after {:.4g} s it is known to a sixteenth of a step, and more coarsely "
    "later, unless it is set back to 0 before another start."
)
"""Sentences of the readme on the time in single precision."""
RESOLVED = 2**20
"""Number of steps from 0 on after which a time in single precision is known to a sixteenth of a step."""
DOUBLE = {
    "NUMBER": "double",
    "COUNT": "double",
    "NOW": "m->begun + m->steps * MODEL_STEP",
    "CORE": "Cortex-M7",
    "CPU": "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16",
    "CLOCK": "",
    "PRECISION": "the results are bitwise identical to the FMU with the same step.",
}
"""Texts in the places of the templates in double precision."""


def plain_members(
    prepared: Prepared, identifier: str, table: Interface, corrections: int, single: bool = False, stop: float = 10.0
) -> dict[str, bytes]:
    """Return the files of a model as plain C by name.

    Args:
        prepared: the model with its stepper.
        identifier: its name as a C identifier.
        table: its variables.
        corrections: of each stage of a step; 0: until it is solved.
        single: whether all numbers have single precision.
        stop: end of the runs that compare both precisions, s.

    Raises:
        StepperError: single precision does not do.
        UsageError: a number exceeds its range.
        KernelError: there is no C compiler for the comparison, or it fails.
    """
    sources = linked_sources(prepared.bundle, prefix=identifier, corrections=corrections)
    texts = {name: _without_library(name, text) for name, text in sources.items()}
    compiled = [name for name in texts if name.endswith(".c")]
    exact = (files("mbfmu.kernel") / "c" / "freestanding" / "math.h").read_text(encoding="utf-8")
    texts[EXACT] = exact.replace("#define MBFMU_MATH_H\n", f"#define MBFMU_MATH_H\n{MEMORY}")
    taken = {name.rpartition(".")[0] for name in (*texts, "main.c", COMPARED)}
    stem = identifier if identifier not in taken else f"{identifier}_model"
    values = {**_values(prepared, identifier, table, corrections, sources["kernel.h"], compiled), "STEM": stem}
    own = {"plain.h": f"{stem}.h", "plain.c": f"{stem}.c"}
    if single:
        compared = {**own, COMPARED: COMPARED}
        double = texts | _from_templates(compared, identifier, values)
        values |= _of_single(prepared, int(values["NUMBERS"]))
        texts = in_single_precision(texts | _from_templates(compared, identifier, values))
        values["PRECISION"] = str(deviation(double, texts, prepared, table, stop))
        del texts[COMPARED]
    else:
        texts |= _from_templates(own, identifier, values)
    texts |= _from_templates({"main.c": "main.c"}, identifier, values)
    texts = {name: guarded(text) for name, text in texts.items()}
    texts |= _from_templates({"readme.txt": "readme.txt"}, identifier, values)
    return {name: text.encode() for name, text in texts.items()}


def precision_of(path: Path) -> str:
    """Return what the readme of plain C says about its precision."""
    with zipfile.ZipFile(path) as archive:
        readme = archive.read("readme.txt").decode()
    return " ".join(next(part for part in readme.split("\n\n") if part.startswith("Precision: ")).split())


def _without_library(name: str, text: str) -> str:
    """Return a file that includes no header of the C library; C files begin with the names of the kernel."""
    text = re.sub(r"#include <(math|string)\.h>", f'#include "{EXACT}"', text)
    return f'#include "kernel.h"\n{text}' if name.endswith(".c") else text


def _from_templates(names: Mapping[str, str], identifier: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return files made of templates, with the name of the model and the values in their places.

    Args:
        names: of the files, by those of their templates.
        identifier: the name of the model.
        values: what stands in the places, by their names.
    """
    here, texts = files("mbfmu.fmu.plain"), {}
    for template, name in names.items():
        named = re.sub(r"\bMODEL(?=\b|_)", identifier, (here / template).read_text(encoding="utf-8"))
        texts[name] = re.sub(r"@([A-Z]+)@", lambda match: values[match[1]], named)
    return texts


def _values(
    prepared: Prepared, identifier: str, table: Interface, corrections: int, header: str, compiled: Sequence[str]
) -> dict[str, str]:
    """Return what stands in the places of the templates."""
    bundle = prepared.bundle
    u, p, y = (_of_kind(table, kind) for kind in (INPUT, PARAMETER, OUTPUT))
    starts = {item.start_offset: item for item in y.values() if item.start_offset is not None}
    room = int(re.findall(r"^#define WORK_SIZE (\d+)$", header, re.MULTILINE)[0])
    sizes = {"NU": bundle.nu, "NP": bundle.np, "NS": bundle.ns, "NY": bundle.ny, "NX": bundle.nx}
    least = {name: max(1, size) for name, size in sizes.items()}
    entries = (
        2 * least["NU"] + least["NP"] + least["NS"] + least["NY"] + 3 + 2 * least["NX"] + len(Status._fields) + room
    )
    counts = {"INPUTS": sizes["NU"], "PARAMETERS": sizes["NP"], "STARTS": sizes["NS"], "OUTPUTS": sizes["NY"]}
    tables = [
        f"const char *const {identifier}_{word}_{what}s[] = {{{_texts(variables, what, counts[count])}}};"
        for word, variables, count in (("input", u, "INPUTS"), ("parameter", p, "PARAMETERS"), ("output", y, "OUTPUTS"))
        for what in ("name", "unit")
    ]
    places = (str(starts[k].offset) if k in starts else "-1" for k in range(least["NS"]))
    return {
        **{name: str(size) for name, size in least.items()},
        "U": _numbers(u, least["NU"]),
        "P": _numbers(p, least["NP"]),
        "S": _numbers(starts, least["NS"]),
        "STATUS": str(len(Status._fields)),
        "WORK": str(room),
        "STEP": repr(prepared.step),
        "SIZES": "enum { " + ", ".join(f"{identifier}_{name} = {n}" for name, n in counts.items()) + " };",
        "INDICES": "\n".join(_indices(identifier, word, of) for word, of in (("u", u), ("p", p), ("y", y)) if of),
        "CODES": ", ".join(f"{identifier}_{name} = {code}" for code, name in enumerate(CODES)),
        "TABLES": "\n".join([*tables, f"const int {identifier}_starts[] = {{{', '.join(places)}}};"]),
        "NAME": prepared.dae.name,
        "ABOUT": f"{prepared.dae.description} (stepper {prepared.stepper})".strip(),
        "VERSION": mbfmu.__version__,
        "FILES": " ".join(compiled),
        "NUMBERS": str(entries),
        "BYTES": str(8 * entries),
        **{name: text.replace("MODEL", identifier) for name, text in DOUBLE.items()},
        "BOUND": _bound(bundle, corrections),
    }


def _of_single(prepared: Prepared, numbers: int) -> dict[str, str]:
    """Return what stands in the places of the templates in single precision, for a number of entries of the memory.

    The steps are counted in 64 bits, as a float counts to 2^24 only. Equations that do not read the time are solved
    from time 0 on in each step, so that instants within it keep their digits; others get the time rounded to a float.
    """
    timed = _reads_time(prepared.bundle)
    return {
        "NUMBER": "float",
        "COUNT": "unsigned long long",
        "NOW": "m->time" if timed else "0",
        "CLOCK": TIMED.format(prepared.step * RESOLVED) if timed else UNTIMED,
        "CORE": "Cortex-M4F",
        "CPU": "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16",
        "BYTES": str(8 * (1 + -(-(numbers - 1) // 2))),
    }


def _reads_time(bundle: Bundle) -> bool:
    """Return whether a step or the outputs depend on the time itself."""
    formulas = (bundle.formulas[name] for name in ("step", "short", "switch", "sample") if name in bundle.formulas)
    functions = [(function, 4) for formula in formulas for function in formula.functions()]
    functions += [(item, 3) for item in (bundle.outputs, bundle.guards) if item]
    return bool(bundle.until_sampling) or any(
        item.jac_sparsity(result, index).nnz() for item, index in functions for result in range(item.n_out())
    )


def _of_kind(table: Interface, kind: str) -> dict[int, Variable]:
    """Return the variables of a kind by their indices in its vector."""
    return {item.offset: item for item in table.variables if item.kind == kind}


def _numbers(variables: Mapping[int, Variable], size: int) -> str:
    """Return the defaults of a vector as C; entries of no variable are 0."""
    return ", ".join(repr(float(variables[k].start or 0.0)) if k in variables else "0" for k in range(size))


def _texts(variables: Mapping[int, Variable], what: str, size: int) -> str:
    """Return the names or the units of a vector as C."""
    return ", ".join(c_text(getattr(variables[k], what) if k in variables else "") for k in range(size)) or "0"


def _indices(identifier: str, word: str, variables: Mapping[int, Variable]) -> str:
    """Return an enumeration of the indices of a vector, by names that are C identifiers, each once."""
    taken: set[str] = set()
    lines = []
    for index, item in sorted(variables.items()):
        name = f"{identifier}_{word}_{re.sub(r'[^A-Za-z0-9]+', '_', item.name).strip('_')}"
        name = name if name not in taken else f"{name}_{index}"
        taken.add(name)
        about = re.sub(r"[*]/|[^ -~]", "?", f"{item.unit or '1'}: {item.description}")
        lines.append(f"    {name} = {index}, /* {about} */\n")
    return f"enum {{\n{''.join(lines)}}};"


def _bound(bundle: Bundle, corrections: int) -> str:
    """Return what a step does at most, as a sentence."""
    stages = [size for size in bundle.formulas["step"].sizes if size]
    pieces = PIECES * _in_pieces(bundle)
    if not stages:
        return f"a step is one formula without iterations.{pieces}"
    solved = f"a step solves {len(stages)} stage{'s' * (len(stages) > 1)}, of {' and '.join(map(str, stages))} unknowns"
    return f"{solved}, with {corrections or f'at most {CORRECTIONS}'} corrections{' each' * (len(stages) > 1)}.{pieces}"


def _in_pieces(bundle: Bundle) -> bool:
    """Return whether a step may be cut by events or sampling instants."""
    return bool(bundle.guards or bundle.until_sampling)
