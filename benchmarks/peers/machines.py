"""SUNDIALS' CVODE and IDA by CasADi's integrators, and SciPy's Radau, on mbfmu's equations of machines.

CVODE and Radau get the index-1 form [q'; v'; z'], IDA the same with the accelerations and multipliers as unknowns:

    q' = v,    v' = a,    z' = flow,    M a + C^T lambda = force,    C a = gamma

All functions and their Jacobians are compiled; states are relative to the ranges of the motion. CasADi calls SUNDIALS
and the functions without Python in between.
"""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import which
from subprocess import run as call
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.case import Case, End
from benchmarks.judge import Array
from benchmarks.task import Task

if TYPE_CHECKING:
    from benchmarks.machines import Machine

COMPILER = which("cc") or "gcc"
MOST_STEPS = 1_000_000
LONGEST = 6_000_000
"""Size of generated C, bytes, beyond which a compiler is not waited for."""


def cases(machine: "Machine") -> Iterator[Case]:
    """Return the solvers; none where sampled controllers would stop them."""
    if machine.dae.sampling:
        return
    task = Task(machine.label, machine.name, machine.stop)
    for engine, label, make in (
        ("SUNDIALS by CasADi", "CVODE", partial(sundials, machine, "cvodes")),
        ("SUNDIALS by CasADi", "IDA", partial(sundials, machine, "idas")),
        ("scipy", "Radau", partial(scipy_radau, machine)),
    ):
        try:
            once = make()
        except OverflowError as error:
            print(f"{machine.label}: no {engine}, {label}: {error}", file=sys.stderr)
            continue
        yield Case(task, engine, label, "default", once, adaptive=True, finest=1e-12)


def equations(machine: "Machine", plugin: str) -> Any:
    """Return the compiled Function of relative states (x, u, t) -> x', or of IDA (x, z, u, t) -> (x', residual)."""
    dae, size = machine.dae, ca.DM(machine.ranges)
    p, u, n, m = dae.extended(dae.p_default()), ca.SX.sym("u", len(dae.inputs)), dae.n, dae.m + dae.k
    x, t = ca.SX.sym("x", 2 * n + dae.n_z), ca.SX.sym("t")
    q, v, states = ca.vertsplit(x * size, [0, n, 2 * n, 2 * n + dae.n_z])
    flow = dae.equations.flow(q, v, states, u, p, t)
    if plugin == "cvodes":
        a, _ = dae.acceleration(q, v, states, u, p, t)
        return compiled(ca.Function("ode", [x, u, t], [ca.densify(ca.vertcat(v, a, flow) / size)]))
    z = ca.SX.sym("z", n + m)
    a, lambda_ = ca.vertsplit(z, [0, n, n + m])
    C = dae.constraints.C(q, p, t)
    balance = dae.equations.M(q, p) @ a + C.T @ lambda_ - dae.equations.force(q, v, states, u, p, t)
    residual = ca.vertcat(balance, C @ a - dae.constraints.gammas(q, v, p, t))
    rates = ca.densify(ca.vertcat(v, a, flow) / size)
    return compiled(ca.Function("dae", [x, z, u, t], [rates, ca.densify(residual)]))


def compiled(function: Any) -> Any:
    """Return a Function that is compiled with its Jacobian."""
    with TemporaryDirectory() as folder:
        generator = ca.CodeGenerator("equations.c")
        generator.add(function)
        generator.add(function.jacobian())
        generator.generate(folder + "/")
        if (size := Path(folder, "equations.c").stat().st_size) > LONGEST:
            raise OverflowError(f"the equations and their Jacobian are {size / 1e6:.0f} MB of C, too long to compile")
        made = f"{folder}/equations.so"
        call([COMPILER, "-O2", "-shared", "-fPIC", f"{folder}/equations.c", "-o", made, "-lm"], check=True)
        return ca.external(function.name(), made)


def accelerations(machine: "Machine") -> Array:
    """Return [a; lambda] at the start."""
    dae = machine.dae
    q, v, z = np.split(machine.references[0][0], [dae.n, 2 * dae.n])
    found = dae.acceleration(q, v, z, machine.held_inputs[0], dae.extended(dae.p_default()), 0.0)
    return np.concatenate([np.array(item).ravel() for item in found])


def sundials(machine: "Machine", plugin: str) -> Callable[[float], End]:
    """Return what runs CVODE or IDA with a tolerance."""
    function = equations(machine, plugin)
    names = ("x", "u", "t") if plugin == "cvodes" else ("x", "z", "u", "t")
    symbols = {name: ca.MX.sym(name, function.numel_in(k)) for k, name in enumerate(names)}
    problem = symbols | dict(zip(("ode", "alg"), function.call(list(symbols.values())), strict=False))
    start = {"x0": machine.references[0][0] / machine.ranges, "u": machine.held_inputs.T}
    options: dict[str, Any] = {"max_num_steps": MOST_STEPS}
    if plugin == "idas":
        start["z0"] = accelerations(machine)
        options |= {"suppress_algebraic": True, "calc_ic": True}

    def once(tolerance: float) -> End:
        tolerances = {"reltol": tolerance, "abstol": tolerance}
        solver: Any = ca.integrator("solver", plugin, problem, 0.0, list(machine.grid[1:]), options | tolerances)
        begin = time.process_time()
        try:
            found = solver(**start)["xf"]
        except RuntimeError:
            return End(time.process_time() - begin, 1, *([np.inf] * 4))
        seconds = time.process_time() - begin
        states = np.vstack([machine.references[0][0], np.array(found).T * machine.ranges])
        steps = max(1, int(solver.stats().get("nsteps", 1)))
        return End(seconds, steps, machine.error(states[:: machine.every], False), *([np.nan] * 3))

    return once


def scipy_radau(machine: "Machine") -> Callable[[float], End]:
    """Return what runs SciPy's Radau with a tolerance."""
    function = equations(machine, "cvodes")
    n = function.numel_out(0)
    rate, slopes = called(function), called(function.jacobian(), np.zeros(n))
    grid, inputs = machine.grid, machine.held_inputs
    spans = list(zip(grid, grid[1:], inputs, strict=False)) if machine.held else [(0.0, machine.stop, inputs[0])]
    start = machine.references[0][0] / machine.ranges

    def once(tolerance: float) -> End:
        begin, states, steps = time.process_time(), [start], 0
        for first, last, u in spans:
            points = grid[(grid > first) & (grid <= last)]
            found = solve_ivp(
                lambda t, x, u=u: rate(x, u, t), (first, last), states[-1], method="Radau", t_eval=points,
                rtol=max(tolerance, 1e-13), atol=tolerance, jac=lambda t, x, u=u: slopes(x, u, t),
            )  # fmt: skip
            steps += found.nlu // 2
            if not found.success:
                return End(time.process_time() - begin, max(1, steps), *([np.inf] * 4))
            states += list(found.y.T)
        seconds = time.process_time() - begin
        return End(
            seconds,
            max(1, steps),
            machine.error(np.array(states)[:: machine.every] * machine.ranges, False),
            *([np.nan] * 3),
        )

    return once


def called(function: Any, *more: Array) -> Callable[..., Array]:
    """Return what calls a Function on arrays, without matrices of CasADi.

    Args:
        function: its first result counts, a vector or a Jacobian.
        more: what it takes beyond the arguments of each call.
    """
    given = [np.zeros(function.numel_in(k)) for k in range(function.n_in())]
    entries = np.zeros(function.nnz_out(0))
    buffer, run = function.buffer()
    for k, array in enumerate(given):
        buffer.set_arg(k, memoryview(array.data))
    buffer.set_res(0, memoryview(entries.data))
    rows, columns = function.sparsity_out(0).get_triplet()
    shape = function.size_out(0)
    matrix = shape[1] > 1

    def values(*arguments: Any) -> Array:
        for array, value in zip(given, (*arguments, *more), strict=False):
            array[:] = value
        run()
        if not matrix:
            return np.array(entries)
        full: Array = np.zeros(shape)
        full[rows, columns] = entries
        return full

    values.kept = function, buffer  # type: ignore[attr-defined]  # `run` holds neither
    return values
