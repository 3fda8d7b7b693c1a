"""Bundle -> C sources: the generated functions, the tables of their formulas, and the driver."""

import re
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import casadi as ca

from mbfmu.kernel.bundle import FORMULAS, Bundle


def c_sources(bundle: Bundle) -> dict[str, str]:
    """Return the complete C99 sources of a kernel by file name; the same bundle gives the same text.

    ``step.c`` holds the step and the driver, ``rest.c`` what runs but once in a while.
    """
    driver = files("mbfmu.kernel").joinpath("driver.c").read_text(encoding="utf-8")
    hot = bundle.formulas["step"].functions()
    rest = [function for function in bundle.functions() if function not in hot]
    declared = "\n".join(f"int {function.name()}({ARGUMENTS});" for function in rest)
    return {
        "step.c": "\n".join([_generated("step.c", hot, "static "), declared, _tables(bundle), driver]),
        "rest.c": _generated("rest.c", rest, ""),
    }


ARGUMENTS = "const casadi_real **, casadi_real **, casadi_int *, casadi_real *, int"


def _generated(file: str, functions: Sequence[Any], storage: str) -> str:
    generator = ca.CodeGenerator(file, {"with_export": False, "with_import": False})
    for function in functions:
        generator.add(function)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(generator.generate(folder + "/"))
        text = path.read_text(encoding="utf-8")
    names = "|".join(function.name() for function in functions)
    return re.sub(rf"^CASADI_SYMBOL_EXPORT (int (?:{names})\()", rf"{storage}\1", text, flags=re.MULTILINE)


def _tables(bundle: Bundle) -> str:
    functions = bundle.functions()
    sizes = {
        "NX": bundle.nx, "NS": bundle.ns, "NU": bundle.nu, "NP": bundle.np, "NY": bundle.ny, "NQV": bundle.nqv,
        "ORDER": bundle.order,
        "NZ": max(sum(item.sizes) for item in bundle.formulas.values()),
        "STAGES": max(1, *(len(item.sizes) for item in bundle.formulas.values())),
        "SZ_ARG": max(function.sz_arg() for function in functions),
        "SZ_RES": max(max(function.sz_res() for function in functions), 2),
        "SZ_IW": max(function.sz_iw() for function in functions),
        "SZ_W": max(function.sz_w() for function in functions),
    }  # fmt: skip
    lines = [f"#define {name} {value}" for name, value in sizes.items()]
    lines += [
        f"typedef int (*casadi_function)({ARGUMENTS});",
        "struct formula {",
        "    int stages;",
        "    int size[STAGES];",
        "    casadi_function guess[STAGES], correct[STAGES], result;",
        "};",
    ]
    for name in FORMULAS:
        item = bundle.formulas[name]
        count = len(item.sizes)
        row = (
            "{" + ", ".join(map(str, item.sizes or (0,))) + "}",
            "{" + ", ".join([f.name() for f in item.guess] or ["0"]) + "}",
            "{" + ", ".join([f.name() for f in item.correct] or ["0"]) + "}",
            item.result.name(),
        )
        lines.append(f"static const struct formula FORMULA_{name} = {{{count}, {', '.join(row)}}};")
    return "\n".join(lines)
