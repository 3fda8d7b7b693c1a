"""Coupled runs of several FMUs on FMPy, for studies and tests of a coupling; not meant to replace a master tool.

Between communication points every input is held, or extrapolated from the last two points (order 1); in further passes
it is interpolated between the step's ends. An FMU that takes input derivatives gets the slope. Any other FMU gets the
value of the line in the middle of the step, and after the step the value at its end. Inputs that are not real, such as
switches, are held over the step at their value at its start.
"""

import math
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np

from mbfmu.base.described import Described, takes
from mbfmu.base.result import Result, RunError
from mbfmu.errors import FmuError, ResultWarning, StepError, UsageError, nearest
from mbfmu.fmu.ssp import Wire
from mbfmu.kernel.limits import NOTICEABLE
from mbfmu.prepared.settings import InputValue
from mbfmu.run.bonds import BondEnergy
from mbfmu.run.coupling_error import (
    Array,
    CoupledSignals,
    Halves,
    ReturnError,
    Segment,
    States,
    activity_of,
    chosen,
    compared,
)  # fmt: skip
from mbfmu.run.exchange import CoupledRun, Order, Steps, controlled
from mbfmu.run.fmu import start_value, unit_of
from mbfmu.run.inputs import courses
from mbfmu.run.model import communication_points
from mbfmu.run.part import CoupledFmu, Shown, end_of

IN_ONE = "all in one FMU"
"""Advice where no exchange of values is good enough."""


@dataclass(frozen=True)
class CoupledResult(Result):
    """Values of a coupled run over time, with the energy that its bonds have made out of nothing.

    Args:
        bonds: the pairs of an effort and a rate by which FMUs exchange power.
    """

    bonds: tuple[BondEnergy, ...] = ()


@dataclass(frozen=True)
class CoupleArguments:
    """The arguments of `couple`."""

    fmus: Annotated[
        Mapping[str, str | os.PathLike[str]],
        Described(
            "paths of .fmu files by the name of the component, which has no dot; in Gauss-Seidel order they step "
            "in this order"
        ),
    ]
    connections: Annotated[
        Iterable[Wire | tuple[str, str]],
        Described(
            "each from an output or a local variable, ``component.variable``, to an input of the same type, times "
            "a factor if it is a `Wire`. A value changes to the input's unit on the way; numbers of the unit 1, "
            "or without one, fit any"
        ),
    ]
    stop: Annotated[float, Described("end of the run", unit="s")]
    step: Annotated[float, Described("communication step, s; with a tolerance the longest")]
    _: KW_ONLY
    order: Annotated[
        Order,
        Described(
            "``gauss_seidel``: the FMUs step one after the other, each with the outputs of those before it at the "
            "step's end; ``jacobi``: all step with the outputs at the step's start"
        ),
    ] = "gauss_seidel"
    extrapolation: Annotated[
        int, Described("1: inputs continue the line through their last two values; 0: they are held over the step")
    ] = 1
    passes: Annotated[
        int,
        Described(
            "number of times that each communication step is done: after the first, all FMUs go back and step "
            "again, with inputs on the line from the step's start to the outputs at its end; all must save their "
            "state"
        ),
    ] = 1
    tolerance: Annotated[
        float,
        Described(
            "0: equal steps. Otherwise a step is compared with two of half its length, which are kept, and is "
            "repeated with a shorter one while its real outputs differ by more, relative to 1 and their size; all "
            "FMUs must save their state"
        ),
    ] = 0.0
    values: Annotated[
        Mapping[str, float | bool] | None, Described("parameters and start values by ``component.variable``")
    ] = None
    inputs: Annotated[
        Mapping[str, InputValue] | None,
        Described(
            "by ``component.variable``, numbers, True or False, expressions of ``time``, paths of tables, or "
            "functions of the time"
        ),
    ] = None
    outputs: Annotated[Sequence[str], Described("``component.variable`` of the outputs to record; () for all")] = ()
    error: Annotated[
        bool,
        Described(
            "whether the error of the coupling is estimated: parts of the run are done once more with half the "
            "communication step, from saved states, or by FMUs started again where one saves none. The run keeps its "
            "bits. Up to 400 steps are done once more, which takes up to twice the time of these, and 2 % of a long run"
        ),
    ] = True


@takes(CoupleArguments)
def couple(coupling: CoupleArguments) -> CoupledResult:
    """Run several FMUs whose inputs follow outputs of other FMUs or functions of the time.

    Gives a `ResultWarning` if the estimated error of the coupling is above 1 % of the range of a signal, or if the
    coupling makes energy out of nothing that is a noticeable part of what it exchanges.

    Returns:
        The recorded outputs at every communication point, the energy of each bond, and the estimated error of what
        inputs follow.

    Raises:
        UsageError, UnknownNameError: the arguments do not fit each other or the FMUs.
        FmuError: an FMU cannot be read or started.
        StepError: a step failed; the message has what the coupling made until then.
    """
    # what the arguments say by themselves
    _check(coupling)
    if not coupling.fmus:
        raise UsageError("a coupling needs at least one FMU")
    for name in coupling.fmus:
        if "." in name:
            raise UsageError(f"the component '{name}' has a dot in its name, where the name of a variable would begin")
    result = _coupled(coupling)
    for text in result.notices:
        warnings.warn(text, ResultWarning, stacklevel=2)
    return result


@contextmanager
def _assembled(coupling: CoupleArguments) -> Iterator[CoupledRun]:
    """Yield the FMUs with their wires and start values, ready to start."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        parts = {
            name: CoupledFmu(name, Path(path), folder / str(index), stack)
            for index, (name, path) in enumerate(coupling.fmus.items())
        }
        wires = [item if isinstance(item, Wire) else Wire(*item) for item in coupling.connections]
        run = CoupledRun(
            parts, wires, courses(coupling.inputs), coupling.order, coupling.extrapolation, coupling.passes
        )
        for end, value in (coupling.values or {}).items():
            part, name = end_of(parts, end)
            part.set({name: start_value(part.variables[name], value)})
        yield run


def _coupled(coupling: CoupleArguments) -> CoupledResult:
    """Return the result of a coupled run; errors as for `couple`."""
    stop, step = coupling.stop, coupling.step
    with _assembled(coupling) as run:
        parts, shown = list(run.parts.values()), _recorded(run, coupling)
        # the start of all, whose inputs agree with outputs
        run.start()
        if coupling.tolerance or coupling.passes > 1:
            for part in parts:
                if not part.saves:
                    raise UsageError(f"'{part.name}' cannot save its state: leave tolerance and passes out")
                part.returns = True
        # what is recorded, from t = 0 on, and states to return to
        measured = CoupledSignals(run, shown)
        seen = Shown([*shown, *measured.ends])
        times, rows, sums, done = [0.0], [seen.values()], [run.sums()], list[Steps]()
        halvable = coupling.error and bool(measured.ends) and all(part.varies for part in parts)
        states = States(run) if halvable and all(part.saves for part in parts) else None

        def note(time: float, steps: Steps) -> None:
            times.append(time)
            rows.append(seen.values())
            sums.append(run.sums())
            done.append(steps)
            if states:
                states.passed(len(done))

        # the steps: chosen by rollback for a tolerance, else of equal size
        failure = None
        try:
            if coupling.tolerance:
                controlled(run, stop, step, coupling.tolerance, note)
            else:
                for time, end in pairwise(communication_points(stop, step, step).tolist()):
                    size = min(step, stop - time)
                    run.step(time, size)
                    note(end, ((time, size),))
        except StepError as reason:
            failure = reason
        bonds, ways = run.energies(sums), _ways(parts, coupling)
        # the error of the coupling: halves of steps, from states, or else by other instances of the FMUs
        table, points = np.array(rows), np.array(times)
        values, signals = table[:, : len(shown)], table[:, len(shown) :]
        order = 1 if coupling.extrapolation == 0 and coupling.passes == 1 else 2
        error, faults = RunError(), list[str]()
        if states and done:
            halves, starts = Halves(run, measured.ends, done, signals), states.by_index
            activity = activity_of(signals, order)
            try:
                error = compared(
                    measured.signals, points, signals, order,
                    lambda count: halves.from_states(starts, chosen(activity, starts, count)),
                )  # fmt: skip
            except ReturnError as fault:
                faults = [f"{fault}: leave tolerance and passes out"]
        if states:
            states.free()
    if halvable and done and (faults or not states) and not any(part.alone for part in parts):
        error = compared(
            measured.signals, points, signals, order, lambda count: _afresh(coupling, done[:count], signals)
        )
    # what is wrong: the energy that the coupling made out of nothing, its error or values without bounds
    notices = (
        *_notices(bonds, ways, step),
        *(_error_notices(error, ways, step, order) or measured.absurd(points, signals)),
        *(faults if coupling.tolerance or coupling.passes > 1 else ()),
    )
    if failure:
        raise StepError("; ".join((str(failure), *notices)))
    names = tuple(f"{part.name}.{name}" for part, name in shown)
    units = {f"{part.name}.{name}": unit_of(part.variables[name]) for part, name in (*shown, *measured.ends)}
    return CoupledResult(points, names, values, units, notices=notices, bonds=bonds, error=error)


def _recorded(run: CoupledRun, coupling: CoupleArguments) -> list[tuple[CoupledFmu, str]]:
    """Return FMU and name of the variables that are recorded."""
    return [end_of(run.parts, item) for item in coupling.outputs] or [
        (part, name) for part in run.parts.values() for name in part.names("output")
    ]


def _afresh(coupling: CoupleArguments, done: Sequence[Steps], values: Array) -> list[Segment]:
    """Return what halves of the first steps change, done by other instances of the FMUs.

    Args:
        coupling: the arguments.
        done: these steps, from each communication point to the next.
        values: the signals at all points, shape (n + 1, n_signals).
    """
    try:
        with _assembled(coupling) as run:
            run.start()
            return Halves(run, CoupledSignals(run, _recorded(run, coupling)).ends, done, values).from_start()
    except FmuError:
        return []  # an FMU that starts only once


def _notices(bonds: Sequence[BondEnergy], ways: Sequence[str], step: float) -> tuple[str, ...]:
    """Return a notice on the bond that makes most energy, if any of them makes a noticeable part."""
    wrong = [item for item in bonds if item.noticeable]
    if not wrong:
        return ()
    worst = max(wrong, key=lambda item: abs(item.farthest))
    made, exchanged = worst.farthest, float(worst.exchanged[-1])
    gain = "makes {:.3g} J out of nothing" if made > 0 else "takes {:.3g} J away"
    others = f", and {len(wrong) - 1} more pair(s) do likewise" if len(wrong) > 1 else ""
    percent = 100 * abs(made) / exchanged if exchanged else math.inf
    part = f"{percent:.3g} % of the {exchanged:.3g} J exchanged there"
    return (f"the coupling {worst.bond} {gain.format(abs(made))}, {part}{others}; {_take(ways, _shorter(step))}",)


def _error_notices(error: RunError, ways: Sequence[str], step: float, order: int) -> tuple[str, ...]:
    """Return a notice if the error of a coupling is noticeable; order: of the error in the communication step."""
    if not error.name or error.value <= NOTICEABLE:
        return ()
    size, shorter = "more than its range", _shorter(step)
    if error.value <= 1:
        size = f"{100 * error.value:.2g} % of its range"
        shorter = f"a step of at most {step * (NOTICEABLE / error.value) ** (1 / order):.1g} s"
    where = f"{error.name} with an estimated error of {size}, most of it from t = {error.time:.6g} s"
    return (f"the communication steps leave {where}; {_take(ways, shorter, IN_ONE)}",)


def _ways(parts: Iterable[CoupledFmu], coupling: CoupleArguments) -> list[str]:
    """Return the arguments that would make the coupling's error smaller, of all that is not chosen yet."""
    saves = all(part.saves for part in parts)
    ways = {
        "extrapolation=1": coupling.extrapolation == 0,
        "order='gauss_seidel'": coupling.order == "jacobi",
        f"passes={coupling.passes + 1}": saves,
        "a tolerance such as 1e-5": saves and not coupling.tolerance,
        "a smaller tolerance": coupling.tolerance > 0,
    }
    return [way for way, is_open in ways.items() if is_open]


def _shorter(step: float) -> str:
    return f"a step shorter than {step:g} s"


def _take(ways: Sequence[str], *last: str) -> str:
    """Return the advice to take one of some ways, last of the last."""
    *first, final = (*ways, *last)
    return f"take {', '.join([*first, f'or {final}'] if first else [final])}"


def _check(coupling: CoupleArguments) -> None:
    order, extrapolation, passes = coupling.order, coupling.extrapolation, coupling.passes
    for label, value in (("stop time", coupling.stop), ("communication step", coupling.step)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"the {label} is {value} s; it must be a positive number")
    if order not in {"jacobi", "gauss_seidel"}:
        raise UsageError(f"there is no order '{order}'; {nearest(order, ('jacobi', 'gauss_seidel'))}")
    if extrapolation not in {0, 1}:
        raise UsageError(f"extrapolation = {extrapolation}: it is 0 (hold) or 1 (a line)")
    if passes < 1:
        raise UsageError(f"passes = {passes}: each step is done at least once")
    if not 0 <= coupling.tolerance < 1:
        raise UsageError(f"the tolerance is {coupling.tolerance}; it is 0 (a fixed step size) or below 1, such as 1e-6")
