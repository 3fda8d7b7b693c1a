"""Claims about the C files of kernels and the limits that Python and C share."""

import ast
import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

import mbfmu
from mbfmu.kernel import limits
from mbfmu.kernel.adjoint import adjoints
from mbfmu.kernel.codegen import c_sources, many_sources, native_sources
from mbfmu.kernel.exchange import exchange
from mbfmu.kernel.limits import MACROS
from mbfmu.kernel.tangent import exchange_tangents, following_tangents, tangents
from mbfmu.prepared.prepare import prepare

KERNEL, NATIVE = Path(str(files("mbfmu.kernel") / "c")), Path(str(files("mbfmu.fmu.native")))
LOOPS = sorted(KERNEL.rglob("*.c"))
"""The files of a kernel that are not generated."""
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STATIC = re.compile(r"^static\s+[^;{}()=]*?(\w+)\(([^)]*)\)\s*\{", re.MULTILINE)
MOST = 7
"""Largest number of arguments of a function that no other language calls."""


STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only")
"""Flags of a compiler that refuses what it warns of, but for the arguments that all generated functions have."""


def code(path: Path) -> str:
    """Return the text of a file without comments."""
    return COMMENT.sub("", path.read_text(encoding="utf-8"))


def constants() -> dict[str, float]:
    """Return the constants that the table of limits defines, from its text."""
    tree = ast.parse(Path(limits.__file__).read_text(encoding="utf-8"))
    targets = (target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets)
    return {item.id: getattr(limits, item.id) for item in targets if isinstance(item, ast.Name)}


def test_every_limit_has_a_macro_of_its_name_and_value() -> None:
    assert constants() == dict(MACROS)


def test_every_limit_is_read_in_c() -> None:
    texts = [code(path) for folder in (KERNEL, NATIVE) for end in ("*.c", "*.h") for path in folder.rglob(end)]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    assert not MACROS.keys() - words


@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.name)
def test_no_conditional_stands_within_a_function(path: Path) -> None:
    depth = 0
    for line in code(path).splitlines():
        assert not (depth and re.match(r"\s*#\s*(if|elif|else)", line)), line
        depth += line.count("{") - line.count("}")
    assert depth == 0


@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.name)
def test_a_function_within_a_kernel_has_few_arguments(path: Path) -> None:
    found = {name: arguments.count(",") + 1 for name, arguments in STATIC.findall(code(path))}
    assert not {name: count for name, count in found.items() if count > MOST}


@pytest.mark.parametrize("name", ["pendulum", "bouncing_ball", "sampled_pid"])
def test_a_kernel_of_any_kind_compiles_without_a_warning(name: str, tmp_path: Path) -> None:
    prepared = prepare(mbfmu.load(name), None, {}, 1e-3)
    dae, scheme, bundle = prepared.dae, prepared.scheme, prepared.bundle
    solver = exchange(dae)
    kinds = {
        "alone": c_sources(bundle),
        "followed": c_sources(bundle, following_tangents(dae, scheme, bundle)),
        "many": many_sources(bundle, (2,)),
        "native": native_sources(bundle, tangents(dae, scheme, bundle), "own"),
        "exchange": native_sources(solver, exchange_tangents(solver), "own"),
    }
    if not bundle.guards and not bundle.until_sampling:
        kinds["recorded"] = c_sources(bundle, adjoints(bundle))
    for kind, sources in kinds.items():
        (folder := tmp_path / kind).mkdir()
        for file, text in sources.items():
            (folder / file).write_text(text, encoding="utf-8")
        subprocess.run(["cc", *STRICT, "step.c"], cwd=folder, check=True)
