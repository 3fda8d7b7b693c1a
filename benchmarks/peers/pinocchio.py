"""Pinocchio: its accelerations in a loop in C++, compiled against the headers in its wheel with the host's own flags.

Pinocchio has no integrators; the Runge-Kutta methods are those that mbfmu uses. Loops are closed by
`constraintDynamics`, whose drift Baumgarte's method holds. The headers of Eigen are those in CasADi's wheel, those of
Boost in cmeel's; compiling takes a minute or two, and its result is kept in the user's cache.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import casadi
import numpy as np
import platformdirs

from benchmarks.case import Case, End, judged, number_of_steps
from benchmarks.judge import Array
from benchmarks.targets import LENT
from benchmarks.task import Task, X, Y
from mbfmu.stepper.explicit import DOPRI5, DOPRI8, RK4, Tableau

SOURCE, TREE = (Path(__file__).with_name(name) for name in ("pinocchio.cpp", "pinocchio_tree.hpp"))
KP = 100.0
METHODS = {"RK4": RK4, "Dormand-Prince 5": DOPRI5, "Dormand-Prince 8": DOPRI8}

FOUND = find_spec("pinocchio")
if FOUND is None or FOUND.origin is None:
    raise ImportError("No module named 'pinocchio'")
HEADERS = Path(FOUND.origin).parents[4] / "include"
FLAGS = (
    "-std=c++17", "-march=native", "-DNDEBUG", "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12", "-shared", "-fPIC", "-w",
    f"-I{HEADERS}", f"-I{Path(casadi.__file__).parent / 'include' / 'eigen3'}",
)  # fmt: skip
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++") or ""
if not (COMPILER and (HEADERS / "pinocchio").is_dir()):
    raise ImportError("its C++ loop needs a C++ compiler and the headers of its wheel")


def built(name: str, command: Sequence[str], sources: Sequence[Path]) -> Path:
    """Return a library that a command makes of sources, made now or kept in the user's cache.

    Args:
        name: beginning of the file's name.
        command: compiler and flags; the output is added.
        sources: files on which it depends, of which the first is compiled.
    """
    version = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True).stdout
    texts = [item.read_text(encoding="utf-8") for item in sources]
    key = hashlib.sha256("\n".join([*texts, version, *command]).encode()).hexdigest()
    folder = Path(platformdirs.user_cache_dir("mbfmu", appauthor=False)) / "benchmarks"
    made = folder / f"{name}-{key[:16]}.so"
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            fresh = Path(scratch) / made.name
            subprocess.run([*command, str(sources[0]), "-o", str(fresh)], check=True)
            os.replace(fresh, made)
    return made


@cache
def library() -> ctypes.CDLL:
    """Return the compiled loop."""
    made = built("pinocchio", [COMPILER, "-O3", *FLAGS], [SOURCE, TREE])
    loaded = ctypes.CDLL(str(made))
    pointer, real, whole = ctypes.c_void_p, ctypes.c_double, ctypes.c_int
    loaded.make.argtypes = [pointer, whole, pointer, whole, pointer, real, real]
    loaded.make.restype = pointer
    loaded.run.argtypes = [pointer] * 5 + [whole, real, ctypes.c_long]
    loaded.release.argtypes = [pointer]
    return loaded


def cases(task: Task) -> Iterator[Case]:
    """Return RK4, as anyone would write it, and the methods that mbfmu lends."""
    for name, tableau in ({} if task.loaded else METHODS).items():
        label = name if not task.pins else f"{name}, Kp = {KP:g}"
        engine = "pinocchio C++" if tableau is RK4 else LENT
        yield Case(task, engine, label, "joint", partial(run, task, tableau))


def run(task: Task, tableau: Tableau, h: float) -> End:
    """Run the whole time; return how it went."""
    links = rows(task)
    pins = np.array([[pin.a, *pin.at_a, pin.b, *pin.at_b] for pin in task.pins], dtype=float)
    q, v = (np.array([getattr(link, name) for link in task.links]) for name in ("q", "v"))
    n = number_of_steps(task, h)
    A, b = np.ascontiguousarray(tableau.A), np.ascontiguousarray(tableau.b)
    made = library().make(at(links), len(links), at(pins), len(pins), at(np.array(task.gravity)), KP, 2 * KP**0.5)
    begin = time.perf_counter()
    library().run(made, at(q), at(v), at(A), at(b), len(b), task.stop / n, n)
    seconds = time.perf_counter() - begin
    library().release(made)
    return judged(task, seconds, n, q, v)


def at(values: Array) -> int:
    """Return the address of an array."""
    return int(values.ctypes.data)


def rows(task: Task) -> Array:
    """Return the links as pinocchio_tree.hpp takes them, shape (number of links, 12)."""
    axes = {X: 0.0, Y: 1.0}
    return np.array(
        [
            [
                item.parent,
                3.0 if item.slides else axes.get(item.axis, 2.0),
                *item.at,
                item.m,
                *item.center,
                *item.inertia,
            ]
            for item in task.links
        ]
    )
