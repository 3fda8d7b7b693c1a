"""Pinocchio's own generated code: its accelerations of a tree over CasADi's symbols, as C in a loop in C.

The Python wheel has no interface to CasADi, so a small program over the headers of both wheels writes the C file. It is
compiled with the host's own flags. Compiling the program takes a minute or two and 3 GB; results are kept in the
user's cache.
"""

import ctypes
import tempfile
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import casadi
import numpy as np

from benchmarks.case import Case, End, judged, number_of_steps
from benchmarks.peers.pinocchio import COMPILER, FLAGS, TREE, at, built, rows
from benchmarks.targets import GENERATED
from benchmarks.task import Task, Vector3
from mbfmu.stepper.explicit import RK4

GENERATOR, LOOP = (Path(__file__).with_name(name) for name in ("pinocchio_generated.cpp", "pinocchio_loop.c"))
CASADI = Path(casadi.__file__).parent
OPTIONS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC", "-w")


def cases(task: Task) -> Iterator[Case]:
    """Return RK4 of a tree that falls."""
    if not task.pins and not task.loaded:
        yield Case(task, GENERATED, "RK4", "joint", partial(run, task))


@cache
def generator() -> ctypes.CDLL:
    """Return the program that writes the accelerations of a tree."""
    linked = [f"-I{CASADI / 'include'}", f"-L{CASADI}", f"-Wl,-rpath,{CASADI}", "-Wl,--no-as-needed", "-lcasadi"]
    loaded = ctypes.CDLL(str(built("pinocchio-generator", [COMPILER, "-O0", *FLAGS, *linked], [GENERATOR, TREE])))
    loaded.generate.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p]
    return loaded


@cache
def loop(tree: tuple[tuple[float, ...], ...], gravity: Vector3) -> ctypes.CDLL:
    """Return the loop around the accelerations of a tree, see `rows`."""
    links = np.array(tree)
    with tempfile.TemporaryDirectory() as folder:
        generator().generate(at(links), len(links), at(np.array(gravity)), f"{folder}/".encode())
        sizes = [f"-DN={len(links)}", f"-DS={len(RK4.b)}"]
        command = [COMPILER, "-x", "c", *OPTIONS, *sizes, str(LOOP)]
        made = built("pinocchio-generated", command, [Path(folder) / "acceleration.c"])
    loaded = ctypes.CDLL(str(made))
    loaded.run.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int, ctypes.c_double, ctypes.c_long]
    return loaded


def run(task: Task, h: float) -> End:
    """Run the whole time; return how it went."""
    q, v = (np.array([getattr(link, name) for link in task.links]) for name in ("q", "v"))
    n, made = number_of_steps(task, h), loop(tuple(map(tuple, rows(task))), task.gravity)
    A, b = np.ascontiguousarray(RK4.A), np.ascontiguousarray(RK4.b)
    begin = time.perf_counter()
    made.run(at(q), at(v), at(A), at(b), len(b), task.stop / n, n)
    seconds = time.perf_counter() - begin
    return judged(task, seconds, n, q, v)
