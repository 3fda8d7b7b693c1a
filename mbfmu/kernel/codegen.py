"""Bundle -> C source: the generated functions, the tables of their formulas, and the driver."""

import re
import tempfile
from importlib.resources import files
from pathlib import Path

import casadi as ca

from mbfmu.kernel.bundle import FORMULAS, Bundle


def c_source(bundle: Bundle) -> str:
    """Return the complete C99 source of a kernel; the same bundle gives the same text."""
    driver = files("mbfmu.kernel").joinpath("driver.c").read_text(encoding="utf-8")
    return "\n".join([_generated(bundle), _tables(bundle), driver])


def _generated(bundle: Bundle) -> str:
    generator = ca.CodeGenerator("kernel.c", {"with_export": False, "with_import": False})
    for function in bundle.functions():
        generator.add(function)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(generator.generate(folder + "/"))
        text = path.read_text(encoding="utf-8")
    names = "|".join(function.name() for function in bundle.functions())
    return re.sub(rf"^CASADI_SYMBOL_EXPORT (int (?:{names})\()", r"static \1", text, flags=re.MULTILINE)


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
        "typedef int (*casadi_function)(const casadi_real **, casadi_real **, casadi_int *, casadi_real *, int);",
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
