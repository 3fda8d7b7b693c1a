"""The structure holds: imports follow the pipeline, heavy libraries live in one room."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from conftest import costs

from examples import rooms

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mbfmu"
ORDER = (
    "errors",
    "base",
    "fmi",
    "model",
    "dae",
    "stepper",
    "kernel",
    "prepared",
    "checker",
    "fmu",
    "run",
    "analysis",
    "show",
    "cli",
)
"""Each room may import from those before it, and from itself."""
HOMES = {
    "gymnasium": {"run/environment.py"},
    "jax": {"analysis/jax_bridge.py"},
    "torch": {"analysis/torch_bridge.py"},
    "sympy": {"analysis/equations/symbolic.py"},
    "acados_template": {"analysis/equations/acados.py"},
    "lxml": {"fmi/xml.py"},
    "pythonfmu": {"fmu/slave.py"},
    "matplotlib": {"show/plot.py", "show/demo.py"},
    "distributed": {"analysis/study/__init__.py", "analysis/study/cluster.py"},
    "pyarrow": {"analysis/study/__init__.py", "base/formats.py"},
    "pandas": {"base/result.py"},
    "trimesh": {"show/viewer/looks.py"},
    "rumoca": {"model/modelica/flatten.py"},
    "skfem": {"analysis/reduction/mesh.py"},
    "meshio": {"analysis/reduction/mesh.py"},
}


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the dotted names of all modules a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def test_every_test_that_is_left_out_for_its_cost_exists() -> None:
    for node in costs():
        name, _, function = node.partition("[")[0].partition("::")
        assert f"def {function.rpartition('::')[2]}(" in (PACKAGE.parent / name).read_text(encoding="utf-8"), node


def test_imports_go_one_way_along_the_pipeline() -> None:
    backwards = []
    for name in (name for name in FILES if name not in {"__init__.py", "__main__.py"}):
        room = ORDER.index(name.split("/")[0].removesuffix(".py"))
        for imported in imports_of(PACKAGE / name):
            parts = imported.split(".")
            if parts[0] == "mbfmu" and len(parts) > 1 and parts[1] in ORDER and ORDER.index(parts[1]) > room:
                backwards.append(f"{name} imports {imported}")
    assert backwards == []


def module_of(name: str) -> str:
    """Return the dotted name of a file's module."""
    return ".".join(["mbfmu", *name.removesuffix(".py").removesuffix("__init__").strip("/").split("/")]).rstrip(".")


MODULES = {module_of(name): name for name in FILES}


SUBCLASSES = {"mbfmu.run.batch": "mbfmu.run.simulation"}
"""Modules of a subclass that its class returns where it is asked for, with that of the class."""


def modules_needed(source: str, late: bool = False) -> set[str]:
    """Return the modules of mbfmu whose import must have ended before a file's own can end.

    These are the imports outside functions and outside `if TYPE_CHECKING:`; with `late` these as well. A package counts
    where it is named or where a name is taken from it, not where only one of its modules is named.
    """
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(source)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not late:
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not late:
            todo += node.orelse
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found.update(name if name in MODULES else node.module for name in whole.values())
        todo += ast.iter_child_nodes(node)
    return found & set(MODULES)


def circle_in(needed: dict[str, set[str]]) -> list[str]:
    """Return modules of which each needs the next and the last needs the first; empty if there are none."""
    left = dict(needed)
    while ready := [name for name, others in left.items() if not others & set(left)]:
        for name in ready:
            del left[name]
    way = sorted(left)[:1]
    while way and way[-1] not in way[:-1]:
        way.append(min(left[way[-1]] & set(left)))
    return way[way.index(way[-1]) : -1] if way else []


def test_a_circle_of_imports_is_found() -> None:
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c"]
    assert circle_in({"a": {"a"}}) == ["a"]
    late = "def late():\n    import mbfmu.show.plot\nif TYPE_CHECKING:\n    import mbfmu.show.demo\n"
    source = f"import mbfmu.base.files\n{late}"
    assert modules_needed(source) == {"mbfmu.base.files"}
    assert modules_needed(source, late=True) == {"mbfmu.base.files", "mbfmu.show.plot", "mbfmu.show.demo"}
    assert modules_needed("from mbfmu.dae import Dae, bodies") == {"mbfmu.dae", "mbfmu.dae.bodies"}


def test_no_modules_import_each_other_in_a_circle() -> None:
    needed = {module: modules_needed((PACKAGE / name).read_text(encoding="utf-8")) for module, name in MODULES.items()}
    assert sum(map(len, needed.values())) > len(needed)
    assert circle_in(needed) == []


def test_no_files_need_each_other_in_a_circle_even_late_or_for_types() -> None:
    needed = {}
    for module, name in MODULES.items():
        if module != "mbfmu":  # which has the public names of all
            others = modules_needed((PACKAGE / name).read_text(encoding="utf-8"), late=True)
            needed[module] = {other for other in others if SUBCLASSES.get(other) != module}
    assert all(SUBCLASSES[module] in needed[module] for module in SUBCLASSES)
    assert circle_in(needed) == []


IN_PROCESS = ("mbfmu.fmi.drive", "mbfmu.checker.probe.main")
"""Modules that run in the process of an FMU."""


@pytest.mark.parametrize("module", IN_PROCESS)
def test_the_process_of_an_fmu_has_nothing_of_mbfmu_but_what_opens_and_judges_it(module: str) -> None:
    todo, reached = [module], set()
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += modules_needed((PACKAGE / MODULES[name]).read_text(encoding="utf-8"), late=True)
    assert {name for name in reached if not name.startswith(("mbfmu.fmi.", "mbfmu.checker.probe"))} <= {
        "mbfmu.checker.outcome"
    }
    assert not reached & {"mbfmu.fmi.xml", "mbfmu.fmi.archive"}


def test_every_room_is_in_the_order() -> None:
    rooms = {name.split("/")[0].removesuffix(".py") for name in FILES} - {"__init__", "__main__"}
    assert rooms == set(ORDER)


def test_the_figure_shows_every_package() -> None:
    drawn = [row[0] for row in (*rooms.PIPELINE, *rooms.USERS, *rooms.FOREIGN)]
    assert sorted([*drawn, *rooms.BASE[0].split(", ")]) == sorted(
        f"{name}.py" if (PACKAGE / f"{name}.py").exists() else f"{name}/" for name in ORDER
    )


def test_typer_lives_in_the_command_line_alone() -> None:
    users = {
        name.split("/")[0]
        for name in FILES
        if any(item.split(".")[0] == "typer" for item in imports_of(PACKAGE / name))
    }
    assert users == {"cli"}


@pytest.mark.parametrize("library", HOMES)
def test_heavy_libraries_live_in_one_room(library: str) -> None:
    users = {name for name in FILES if any(item.split(".")[0] == library for item in imports_of(PACKAGE / name))}
    assert users == HOMES[library]


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("mbfmu", "casadi numpy fmpy matplotlib typer"),
        ("mbfmu.cli", "casadi numpy fmpy matplotlib lxml trimesh"),
        ("mbfmu.prepared.prepare", "fmpy matplotlib scipy"),
    ],
)
def test_importing_the_package_or_the_command_line_imports_nothing_heavy(module: str, heavy: str) -> None:
    script = f"import sys, {module}; print(sorted({{*'{heavy}'.split()}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


MOST_PARAMETERS = 10
"""Largest number of parameters of a function."""


def parameters_of(source: str) -> dict[str, int]:
    """Return the number of parameters of each function in a text, by name; constructors of data left out.

    Those are a class's `__init__` and `__new__`, and what a dataclass or a NamedTuple makes itself. The object of a
    method does not count.
    """
    found: dict[str, int] = {}
    todo: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    while todo:
        node, inside = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in {"__init__", "__new__"}:
            marks = {ast.unparse(mark) for mark in node.decorator_list}
            given = node.args
            names = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
            found[f"{node.name}:{node.lineno}"] = len(names) - (inside and "staticmethod" not in marks)
        todo += [(child, isinstance(node, ast.ClassDef)) for child in ast.iter_child_nodes(node)]
    return found


def test_the_parameters_of_functions_are_counted() -> None:
    source = """
class Point:
    def __init__(self, x, y, z): ...
    def moved(self, x, *, y=0, **more): ...
    @staticmethod
    def origin(x): ...
async def late(a, /, b, *c):
    def inner(x, y): ...
"""
    assert parameters_of(source) == {"moved:4": 3, "origin:6": 1, "late:7": 3, "inner:8": 2}


def test_no_function_has_more_than_ten_parameters() -> None:
    counts = {
        f"{name}:{function}": number
        for name in FILES
        for function, number in parameters_of((PACKAGE / name).read_text(encoding="utf-8")).items()
    }
    assert len(counts) > len(FILES)
    assert {function: number for function, number in counts.items() if number > MOST_PARAMETERS} == {}


PUBLIC_TWICE = {"Wire"}
"""Names that users know of two classes: a wire within a machine, and one between FMUs."""


def test_class_names_stand_in_one_file() -> None:
    homes: dict[str, set[str]] = {}
    for name in FILES:
        for node in ast.walk(ast.parse((PACKAGE / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(name)
    assert {name for name, files in homes.items() if len(files) > 1} == PUBLIC_TWICE
