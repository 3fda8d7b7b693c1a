"""Bundle -> C sources: the generated functions, the tables of their formulas, and the driver."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from mbfmu.kernel.bundle import FORMULAS, Bundle
from mbfmu.kernel.generated import generated
from mbfmu.kernel.tangent import Tangents

ARGUMENTS = "const casadi_real **, casadi_real **, casadi_int *, casadi_real *, int"
ENTRIES = (
    "int mbfmu_initialize(const double *s, const double *u, const double *du, const double *p, double t, double h, "
    "double *x, double *status, double *work);",
    "int mbfmu_advance(const double *x, const double *u, const double *du, const double *p, double t, double h, "
    "long long n, double *x1, double *status, double *work);",
    "int mbfmu_control(const double *x, const double *u, const double *du, const double *p, double t, double H, "
    "double h_max, double tol, double *x1, double *status, double *work);",
    "int mbfmu_outputs(const double *x, const double *u, const double *p, double t, double *y, double *work);",
    "int mbfmu_communicate(double *const *a, double t, double H, double h_max, double tol);",
    "long long mbfmu_count(double span, double longest);",
    "void mbfmu_sizes(long long *sizes);",
    "int mbfmu_advance_tangent(const double *x, const double *u, const double *du, const double *p, double t, "
    "double h, long long n, const double *su, const double *sp, double *sx, double *work);",
    "int mbfmu_control_tangent(const double *x, const double *u, const double *du, const double *p, double t, "
    "double H, double h_max, double tol, const double *su, const double *sp, double *sx, double *work);",
    "int mbfmu_initialize_tangent(const double *s, const double *u, const double *du, const double *p, double t, "
    "double h, const double *ss, const double *su, const double *sp, double *sx, double *work);",
    "int mbfmu_outputs_tangent(const double *x, const double *u, const double *p, double t, const double *sx, "
    "const double *su, const double *sp, double *sy, double *work);",
    "int mbfmu_output_rates(const double *x, const double *u, const double *du, const double *p, double t, "
    "double *dy, double *work);",
)
"""What driver.c and derivatives.c offer, for those who link with them."""


def c_sources(bundle: Bundle) -> dict[str, str]:
    """Return the complete C99 sources of a kernel by file name; the same bundle gives the same text.

    ``step.c`` holds the step and the driver, ``rest.c`` what runs but once in a while.
    """
    hot, rest = _parted(bundle)
    texts, working = _generated({"step.c": hot, "rest.c": rest})
    return {
        "step.c": "\n".join(
            [
                texts["step.c"],
                _declared(rest),
                _definitions({**_sizes(bundle), **working}),
                _tables(bundle, 0),
                _text("driver.c"),
            ]
        ),
        "rest.c": texts["rest.c"],
    }


def native_sources(bundle: Bundle, tangents: Tangents, prefix: str, passes: int = 0) -> dict[str, str]:
    """Return the C99 sources of a kernel with tangents, to be linked with the FMI functions.

    ``kernel.h`` holds sizes and declarations for all; ``tangent.c`` the tangents, which run only when asked for. Every
    external name begins with a prefix, so that several models can be linked into one program.

    Args:
        bundle: the functions.
        tangents: theirs.
        prefix: a C identifier.
        passes: corrections of each stage of a step; 0: until it is solved.
    """
    hot, rest = _parted(bundle)
    derived = tangents.functions()
    texts, working = _generated({"step.c": hot, "rest.c": rest, "tangent.c": derived})
    sizes = _sizes(bundle)
    state = max(bundle.nx, bundle.nqv + 1)
    numbers = {**sizes, "WORK_SIZE": 4 * sizes["NZ"] + 3 * state + sum(working.values())}
    external = [*(item.name() for item in (*rest, *derived)), *(_named(item) for item in ENTRIES)]
    header = "\n".join(
        [
            "#ifndef KERNEL_H",
            "#define KERNEL_H",
            "#define MBFMU_EXPORT",
            *(f"#define {name} {prefix}_{name}" for name in external),
            _definitions(numbers),
            *ENTRIES,
            "#endif",
            "",
        ]
    )
    include = '#include "kernel.h"\n'
    return {
        "kernel.h": header,
        "step.c": "\n".join(
            [
                include,
                texts["step.c"],
                _declared([*rest, *derived]),
                _definitions(working),
                _tables(bundle, passes),
                _tangent_tables(tangents),
                _text("driver.c"),
                _text("derivatives.c"),
            ]
        ),
        "rest.c": include + texts["rest.c"],
        "tangent.c": include + texts["tangent.c"],
    }


def _parted(bundle: Bundle) -> tuple[list[Any], list[Any]]:
    hot = bundle.formulas["step"].functions()
    return hot, [function for function in bundle.functions() if function not in hot]


def _text(name: str) -> str:
    return files("mbfmu.kernel").joinpath(name).read_text(encoding="utf-8")


def _named(declaration: str) -> str:
    return declaration.partition("(")[0].split()[-1]


def _declared(functions: Iterable[Any]) -> str:
    return "\n".join(f"int {function.name()}({ARGUMENTS});" for function in functions)


def _definitions(sizes: Mapping[str, int]) -> str:
    return "\n".join(f"#define {name} {value}" for name, value in sizes.items())


def _sizes(bundle: Bundle) -> dict[str, int]:
    return {
        "NX": bundle.nx, "NS": bundle.ns, "NU": bundle.nu, "NP": bundle.np, "NY": bundle.ny, "NQV": bundle.nqv,
        "ORDER": bundle.order,
        "NZ": max(sum(item.sizes) for item in bundle.formulas.values()),
        "STAGES": max(1, *(len(item.sizes) for item in bundle.formulas.values())),
    }  # fmt: skip


def _generated(functions_of: Mapping[str, Sequence[Any]]) -> tuple[dict[str, str], dict[str, int]]:
    """Return the text of each file's functions, of which only the step's are static, and the work sizes of all."""
    parts = {file: generated(file, each, external=file != "step.c") for file, each in functions_of.items()}
    functions = [function for each in functions_of.values() for function in each]
    return {file: part.text for file, part in parts.items()}, {
        "SZ_ARG": max(function.sz_arg() for function in functions),
        "SZ_RES": max(max(function.sz_res() for function in functions), 2),
        "SZ_IW": max(function.sz_iw() for function in functions),
        "SZ_W": max(function.sz_w() for function in functions) + max(part.loops for part in parts.values()),
    }


def _tables(bundle: Bundle, passes: int) -> str:
    lines = [
        f"typedef int (*casadi_function)({ARGUMENTS});",
        "struct formula {",
        "    int stages, passes;",
        "    int size[STAGES];",
        "    casadi_function guess[STAGES], correct[STAGES], result;",
        "};",
    ]
    for name in FORMULAS:
        item = bundle.formulas[name]
        counts = f"{len(item.sizes)}, {passes if name == 'step' else 0}"
        rows = f"{_row(item.sizes)}, {_functions(item)}"
        lines.append(f"static const struct formula FORMULA_{name} = {{{counts}, {rows}}};")
    return "\n".join(lines)


def _tangent_tables(tangents: Tangents) -> str:
    lines = ["struct tangent_formula {", "    casadi_function guess[STAGES], correct[STAGES], result;", "};"]
    for name in FORMULAS:
        item = tangents.formulas[name]
        lines.append(f"static const struct tangent_formula TANGENT_{name} = {{{_functions(item)}}};")
    return "\n".join(lines)


def _functions(item: Any) -> str:
    return f"{_row(f.name() for f in item.guess)}, {_row(f.name() for f in item.correct)}, {item.result.name()}"


def _row(values: Iterable[Any]) -> str:
    return "{" + (", ".join(map(str, values)) or "0") + "}"
