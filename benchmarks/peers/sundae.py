"""SUNDIALS' IDA by scikit-sundae, on mbfmu's equations in absolute coordinates, stabilised to index 2; planar tasks.

    M (q' - v) + Phi_q^T mu = 0,    M v' + Phi_q^T lambda = force,    Phi = 0,    Phi_q v + Phi_t = 0

(Gear, Gupta & Leimkuhler, J. Comput. Appl. Math. 12, 1985.) Residual and Jacobian are generated C, so that what is
compared is the solver.
"""

import ctypes
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from shutil import which
from subprocess import run as call
from tempfile import TemporaryDirectory
from typing import Any

import casadi as ca
import numpy as np

from benchmarks.case import Case, End
from benchmarks.judge import Array
from benchmarks.ours import RK4, bundled, ended, kernel_of
from benchmarks.task import Task
from mbfmu.dae import Dae
from mbfmu.kernel import vector

ida = import_module("sksundae.ida")

COMPILER = which("cc")
if COMPILER is None:
    raise ImportError("its residual needs a C compiler")
LARGEST = 8
LOOSE = 1e3
"""Absolute tolerance of the multipliers, which would else choose the steps."""


def cases(task: Task) -> Iterator[Case]:
    """Return IDA."""
    if task.planar and len(task.links) <= LARGEST:
        yield Case(task, "sundae", "IDA, GGL", "absolute", partial(run, task), adaptive=True, finest=1e-11)


def run(task: Task, rtol: float) -> End:
    """Run the whole time; return how it went."""
    dae, _ = bundled(task, "absolute", RK4)
    kernel = kernel_of(task, "absolute", RK4)
    n, m = dae.n, dae.m
    p, u = vector(dae.p_default()), vector([0.0] * len(dae.inputs))
    x, _ = kernel.initialize(vector(dae.s_default()), u, p, 0.0, task.stop)
    q, v = np.array(x[:n]), np.array(x[n : 2 * n])
    a, lambda_ = (np.array(item).ravel() for item in dae.acceleration(q, v, [], u, p, 0.0))
    residual, jacobian = compiled(dae)
    solver = ida.IDA(
        lambda _, y, yp, out: residual(out, y, yp),
        jacfn=lambda _, y, yp, __, cj, out: jacobian(out, y, yp, cj),
        rtol=rtol,
        atol=np.concatenate((np.full(2 * n, rtol), np.full(2 * m, LOOSE))),
        algebraic_idx=np.arange(2 * n, 2 * n + 2 * m),
        max_num_steps=1_000_000,
    )
    y0, yp0 = np.concatenate((q, v, lambda_, np.zeros(m))), np.concatenate((v, a, np.zeros(2 * m)))
    begin = time.perf_counter()
    found = solver.solve(np.array([0.0, task.stop]), y0, yp0)
    seconds = time.perf_counter() - begin
    steps = len(found.t) - 1
    if not found.success:
        return End(seconds, steps, *([np.inf] * 4))
    return ended(task, dae, kernel, x, vector(found.y[-1, : 2 * n]), seconds, steps)


@cache
def compiled(dae: Dae) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return what writes the residual of (y, y'), and its Jacobian in y + cj times that in y' of (y, y', cj).

    y = [q; v; lambda; mu]; parameters at their defaults, inputs zero.
    """
    n, m = dae.n, dae.m
    y, yp, cj, t = ca.SX.sym("y", 2 * n + 2 * m), ca.SX.sym("yp", 2 * n + 2 * m), ca.SX.sym("cj"), 0.0
    q, v, lambda_, mu = ca.vertsplit(y, [0, n, 2 * n, 2 * n + m, 2 * n + 2 * m])
    p, u = dae.p_default(), np.zeros(len(dae.inputs))
    M, P = dae.equations.M(q, p), dae.constraints.Phi_q(q, p, t)
    residual = ca.vertcat(
        M @ (yp[:n] - v) + P.T @ mu,
        M @ yp[n : 2 * n] + P.T @ lambda_ - dae.equations.force(q, v, [], u, p, t),
        dae.constraints.Phi(q, p, t),
        P @ v + dae.constraints.Phi_t(q, p, t),
    )
    jacobian = ca.jacobian(residual, y) + cj * ca.jacobian(residual, yp)
    functions = [
        ca.Function("residual", [y, yp], ca.cse([ca.densify(residual)])),
        ca.Function("jacobian", [y, yp, cj], ca.cse([ca.densify(jacobian.T)])),  # by rows, as NumPy's
    ]
    with TemporaryDirectory() as folder:
        generator = ca.CodeGenerator("ida.c")
        for function in functions:
            generator.add(function)
        generator.generate(folder + "/")
        made = Path(folder) / "ida.so"
        call([str(COMPILER), "-O2", "-shared", "-fPIC", f"{folder}/ida.c", "-o", str(made), "-lm"], check=True)
        library = ctypes.CDLL(str(made))
    return _caller(library.residual, functions[0]), _caller(library.jacobian, functions[1])


def _caller(code: Any, function: Any) -> Callable[..., None]:
    """Return what calls a compiled function on arrays that it copies from and to: (out, *given)."""
    given = [np.zeros(function.numel_in(k)) for k in range(function.n_in())]
    found = np.zeros(function.numel_out(0))
    work = np.zeros(function.sz_w() + 1), np.zeros(function.sz_iw() + 1, dtype=np.int64)
    pointers = (ctypes.c_void_p * max(function.sz_arg(), len(given)))(*(array.ctypes.data for array in given))
    results = (ctypes.c_void_p * function.sz_res())(found.ctypes.data)
    arguments = (pointers, results, *(ctypes.c_void_p(array.ctypes.data) for array in reversed(work)), ctypes.c_int(0))

    def written(out: Array, *values: Any) -> None:
        for array, value in zip(given, values, strict=True):
            array[:] = value
        code(*arguments)
        out[:] = found.reshape(out.shape)

    return written
