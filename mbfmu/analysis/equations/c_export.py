"""Functions of equations -> C99 files: the functions, their sizes and patterns, names and defaults, and an example.

The code is written as that of kernels is, with elementary functions of its own, so that compilers and platforms agree.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.fmu.native.tables import c_text
from mbfmu.kernel.emit.sources import generated, headers

LINE = 12
"""Number of entries of a table on a line."""


@dataclass(frozen=True)
class Table:
    """Names, units and defaults of the entries of a vector.

    Args:
        names: names.
        units: SI units.
        values: defaults.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: tuple[float, ...]


def c_files(name: str, functions: Sequence[Any], tables: Mapping[str, Table]) -> dict[str, bytes]:
    """Return the files of some functions by name.

    Args:
        name: name of the model.
        functions: CasADi Functions of numbers, with named arguments and results.
        tables: names, units and defaults of arguments, by their names.

    Raises:
        UsageError: there are no functions.
        KernelError: a function has an operation for which there is no C code.
    """
    if not functions:
        raise UsageError(f"'{name}' has none of these functions: name some")
    stem = re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII)
    # the functions under names that no library has, and the functions that users call
    inner = [_renamed(item, f"{stem}_{item.name()}_of") for item in functions]
    code = generated(inner, external=False)
    calls = [_call(stem, item) for item in functions]
    prefix = stem.upper()
    head = [
        f"/* Equations of {name}, written by mbfmu {mbfmu.__version__}. SI units throughout.",
        " *",
        " * A function takes and fills vectors; w is room for WORK numbers. Of a matrix it fills the nonzeros, column",
        " * by column: _rows and _columns say where each stands. An argument without entries may be NULL.",
        " */",
        f"#ifndef {prefix}_H",
        f"#define {prefix}_H",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"#define {prefix}_WORK {max(1, code.work)}",
        *(f"#define {prefix}_N_{key} {len(table.names)}" for key, table in tables.items()),
        "",
    ]
    body = [code.text, f'#include "{stem}.h"', ""]
    for key, table in tables.items():
        for what, values in (("names", table.names), ("units", table.units)):
            head.append(f"extern const char *const {stem}_{key}_{what}[];")
            body.append(_table(f"const char *const {stem}_{key}_{what}[]", map(c_text, values)))
        head.append(f"extern const double {stem}_{key}_default[];")
        body.append(_table(f"const double {stem}_{key}_default[]", map(repr, table.values)))
    for function, call in zip(functions, calls, strict=True):
        head += ["", f"/* {_about(function)} */", f"{call};"]
        body.append(_definition(stem, function, call))
        for index in range(function.n_out()):
            label, (rows, columns) = function.name_out(index), function.sparsity_out(index).get_triplet()
            full = f"{stem}_{function.name()}_{label}"
            head += [
                f"#define {full.upper()}_NONZEROS {len(rows)}",
                f"extern const int {full}_rows[], {full}_columns[];",
            ]
            body.append(_table(f"const int {full}_rows[]", map(str, rows)))
            body.append(_table(f"const int {full}_columns[]", map(str, columns)))
    files = {
        f"{stem}.h": "\n".join([*head, "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]),
        f"{stem}.c": "\n".join(body),
        "example.c": _example(stem, functions, tables),
        **headers(code.included),
    }
    return {file: text.encode() for file, text in files.items()}


def _renamed(function: Any, name: str) -> Any:
    symbols = function.sx_in()
    return ca.Function(name, symbols, function.call(symbols), function.name_in(), function.name_out())


def _is_time(function: Any, index: int) -> bool:
    return bool(function.name_in(index) == "t")


def _call(stem: str, function: Any) -> str:
    """Return the declaration of a function that users call."""
    taken = [
        "double t" if _is_time(function, index) else f"const double *{name}"
        for index, name in enumerate(function.name_in())
    ]
    filled = (f"double *{name}" for name in function.name_out())
    return f"void {stem}_{function.name()}({', '.join([*taken, *filled, 'double *w'])})"


def _definition(stem: str, function: Any, call: str) -> str:
    taken = ["&t" if _is_time(function, index) else name for index, name in enumerate(function.name_in())]
    return (
        f"{call} {{\n    const double *const arg[] = {{{', '.join(taken)}}};\n"
        f"    double *const res[] = {{{', '.join(function.name_out())}}};\n"
        f"    {stem}_{function.name()}_of(arg, res, w);\n}}\n"
    )


def _about(function: Any) -> str:
    """Return the arguments and results of a function with their sizes."""
    taken = (
        name if _is_time(function, index) else f"{name}[{function.numel_in(index)}]"
        for index, name in enumerate(function.name_in())
    )
    made = (
        f"{name}: {function.nnz_out(index)} nonzeros of {function.size1_out(index)} x {function.size2_out(index)}"
        for index, name in enumerate(function.name_out())
    )
    return f"{function.name()}({', '.join(taken)}) -> {'; '.join(made)}"


def _table(declaration: str, values: Iterable[str]) -> str:
    """Return the definition of a table, which has one entry at least."""
    items = [*values] or ["0"]
    lines = (", ".join(items[k : k + LINE]) for k in range(0, len(items), LINE))
    return f"{declaration} = {{\n    " + ",\n    ".join(lines) + "\n};"


def _example(stem: str, functions: Sequence[Any], tables: Mapping[str, Table]) -> str:
    """Return a program that prints all results at the defaults; what has none is 0."""
    prefix, calls = stem.upper(), []
    for function in functions:
        taken = [
            "0.0" if _is_time(function, k) else f"{stem}_{name}_default" if name in tables else "nothing"
            for k, name in enumerate(function.name_in())
        ]
        for index, label in enumerate(function.name_out()):
            full = f"{stem}_{function.name()}_{label}"
            results = [label if k == index else f"other_{k}" for k in range(function.n_out())]
            rooms = [f"double {item}[{max(1, function.nnz_out(k))}];" for k, item in enumerate(results)]
            calls += [
                "    {",
                f"        {' '.join(rooms)}",
                f"        {stem}_{function.name()}({', '.join([*taken, *results, 'w'])});",
                f'        printf("{function.name()}\\n");',
                f"        for (int k = 0; k < {full.upper()}_NONZEROS; ++k)",
                f'            printf("{label}[%d][%d] = %.17g\\n", {full}_rows[k], {full}_columns[k], {label}[k]);',
                "    }",
            ]
    most = max((f.numel_in(k) for f in functions for k in range(f.n_in())), default=1)
    return "\n".join([
        f"/* An example: all functions of {stem} at the defaults.  cc -std=c99 {stem}.c example.c -lm */",
        f'#include "{stem}.h"',
        "",
        "#include <stdio.h>",
        "",
        f"static const double nothing[{max(1, most)}] = {{0}};",
        "",
        "int main(void) {",
        f"    static double w[{prefix}_WORK];",
        "    (void)nothing;",
        *calls,
        "    return 0;",
        "}",
        "",
    ])  # fmt: skip
