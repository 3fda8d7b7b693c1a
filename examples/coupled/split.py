"""A machine whole and in parts: what a coupling of FMUs costs against one system with everything inside.

A machine is cut in several ways. Each way runs with shorter and shorter communication steps, inputs along lines and one
FMU after the other, and the whole with steps of several steppers; all FMUs are native. What is counted is the time
inside the FMUs, that of the master left out, the least of three runs.
"""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import Any
from unittest import mock

import fmpy.fmi2
import numpy as np

import mbfmu
from examples.report import Curves, Panel, Row, listed
from mbfmu.errors import ResultWarning, StepError
from mbfmu.fmu.ssp import Wire
from mbfmu.model import System

PART = {"stepper": "projected"}
"""The stepper of each part that moves, the cheapest of those that do as well as any: the coupling decides the error."""

REPEATS = 3
"""Runs of each; the least time counts, as what else the computer does only adds to it."""


@dataclass(frozen=True)
class Way:
    """FMUs that a machine is cut into.

    Args:
        fmus: their paths by name, in the order in which they step.
        wires: between them.
        values: their parameters and start values.
    """

    fmus: Mapping[str, Path]
    wires: Sequence[Wire]
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    """The machine as one FMU.

    Args:
        stepper: its name.
        steps: s, its own.
        options: of the stepper.
    """

    stepper: str
    steps: tuple[float, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """What is measured of a machine.

    Args:
        machine: the whole.
        shown: outputs whose errors count.
        what, unit: of these, for the figure.
        mechanism: the FMU that has them, where the machine is cut.
        stop, every: s, the end, and how often errors are looked at, a multiple of all steps.
        steps: s, of the communication.
        ways: how it is cut, with the order that what crosses the split allows.
        wholes: by name.
        chosen: for each way the wholes whose errors it is to reach: name and step, s.
        exact: how the reference is made.
    """

    machine: System
    shown: Sequence[str]
    what: str
    unit: str
    mechanism: str
    stop: float
    every: float
    steps: tuple[float, ...]
    ways: Mapping[str, int]
    wholes: Mapping[str, Whole]
    chosen: Mapping[str, Sequence[tuple[str, float]]]
    exact: Mapping[str, Any]

    @property
    def runs(self) -> dict[str, tuple[float, ...]]:
        """The steps, s, of each way and whole."""
        return {**dict.fromkeys(self.ways, self.steps), **{name: item.steps for name, item in self.wholes.items()}}


def export(model: Any, path: Path, **how: Any) -> Path:
    """Write a native FMU whose steps are 1 ms, or the communication step if that is shorter."""
    return mbfmu.export(model, path, step=1e-3, backend="native", **how)


def pieces(machine: System, rest: str, parts: Mapping[str, Sequence[str]]) -> tuple[dict[str, System], list[Wire]]:
    """Return the systems that a machine is cut into, by name, and what goes between their FMUs.

    Args:
        machine: a mechanism with blocks.
        rest: name of the system that has all connections, and all components that are in no other.
        parts: the names of the components that the others have.
    """
    place = {component: name for name, components in parts.items() for component in components}

    def at(end: str) -> str:
        return place.get(end.partition(".")[0], rest)

    found = {
        name: System(
            name,
            tuple(item for item in machine.components if place.get(item.name, rest) == name),
            machine.connections if name == rest else (),
            machine.parameters,
            wires=tuple(item for item in machine.wires if at(item.source) == at(item.target) == name),
        )
        for name in (rest, *parts)
    }
    between = [
        Wire(f"{at(item.source)}.{item.source}", f"{at(item.target)}.{item.target}", float(item.scale))
        for item in machine.wires
        if at(item.source) != at(item.target)
    ]
    return found, between


def way(machine: System, rest: str, parts: Mapping[str, Sequence[str]], folder: Path) -> Way:
    """Write the FMUs of the pieces of a machine (see `pieces`) to a folder."""
    systems, wires = pieces(machine, rest, parts)
    return Way({name: export(item, folder / f"{name}.fmu", **PART) for name, item in systems.items()}, wires)


@contextmanager
def timed() -> Iterator[list[float]]:
    """Yield a list to which every communication step of an FMU adds its processor time, s."""
    spent: list[float] = []
    step = fmpy.fmi2.FMU2Slave.doStep

    def do_step(*given: Any, **named: Any) -> Any:
        begin = time.process_time()
        try:
            return step(*given, **named)
        finally:
            spent.append(time.process_time() - begin)

    with mock.patch.object(fmpy.fmi2.FMU2Slave, "doStep", do_step), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResultWarning)  # energy made by the coupling: that is what is measured
        yield spent


def cost(errors: Sequence[float], costs: Sequence[float], order: float, wanted: float) -> float:
    """Return the time that an error costs, s.

    Between errors that were measured it is on the line in logarithmic scales; beyond the least of them, the time is
    taken as inversely proportional to the step, and the error goes with the step's order.
    """
    if wanted < errors[-1]:
        return float(costs[-1] * (errors[-1] / wanted) ** (1 / order))
    return float(np.exp(np.interp(log(wanted), np.log(errors[::-1]), np.log(costs[::-1]))))


def measured(study: Study, ways: Callable[[Path], Mapping[str, Way]]) -> dict[str, float]:
    """Return errors and times by way and step, orders, and how much more a coupled form costs than a whole.

    Args:
        study: what to measure.
        ways: writes the FMUs of all ways to a folder.
    """
    exact = mbfmu.simulate(study.machine, study.stop, output_interval=study.every, **study.exact)
    numbers: dict[str, float] = {}

    def run(label: str, name: str, *given: Any, **more: Any) -> None:
        times = []
        for _ in range(REPEATS):
            with timed() as spent:
                try:
                    shown = [f"{name}.{item}" for item in study.shown]
                    found = mbfmu.couple(*given, **more, outputs=shown, error=False)
                except StepError:  # it swings up until a step fails: there is no error to tell
                    return
            times.append(sum(spent))
        at = np.searchsorted(found.time, exact.time - 1e-9)
        assert np.abs(found.time[at] - exact.time).max() < 1e-9, "errors are looked at where all steps end"
        away = (np.abs(found[f"{name}.{item}"][at] - exact[item]).max() for item in study.shown)
        numbers[label] = float(max(away))
        numbers[f"{label}, time"] = min(times)

    with tempfile.TemporaryDirectory() as folder:
        for name, cut in ways(Path(folder)).items():
            for step in study.steps:
                run(labelled(name, step), study.mechanism, cut.fmus, cut.wires, study.stop, step, values=cut.values)
        for name, whole in study.wholes.items():
            path = export(study.machine, Path(folder) / "whole.fmu", stepper=whole.stepper, options=dict(whole.options))
            for step in whole.steps:
                values = {"whole.solver.step": step}
                run(labelled(name, step), "whole", {"whole": path}, [], study.stop, study.every, values=values)
    return numbers | compared(study, numbers)


def labelled(name: str, step: float) -> str:
    """Return the name of an error."""
    return f"{name}, {step * 1e3:g} ms"


def reached(numbers: Mapping[str, float], name: str, steps: Sequence[float]) -> list[str]:
    """Return the names of the errors of a way or whole, for those steps with which it came to the end."""
    return [label for label in (labelled(name, step) for step in steps) if label in numbers]


def series(numbers: Mapping[str, float], name: str, steps: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return errors and times of a way or whole, for those steps with which it came to the end."""
    labels = reached(numbers, name, steps)
    return [numbers[label] for label in labels], [numbers[f"{label}, time"] for label in labels]


def compared(study: Study, numbers: Mapping[str, float]) -> dict[str, float]:
    """Return the orders of the ways, and how much more they cost than a whole of the same error."""
    found = {}
    for name in study.ways:
        errors, costs = series(numbers, name, study.steps)
        order = log(errors[-2] / errors[-1]) / log(study.steps[-2] / study.steps[-1])
        found[f"{name}, order"] = order
        for label in (labelled(*item) for item in study.chosen[name]):
            found[f"{name} / {label}"] = cost(errors, costs, order, numbers[label]) / numbers[f"{label}, time"]
    return found


def panels(study: Study, numbers: Mapping[str, float], window: tuple[float, float, float, float]) -> tuple[Panel, ...]:
    """Return the errors over the steps, within a window, and over the time inside the FMUs."""
    by_step: Curves = {}
    by_time: Curves = {}
    for name, steps in study.runs.items():
        errors, times = map(np.array, series(numbers, name, steps))
        by_step[name] = (1e3 * np.array(steps[-len(errors) :]), errors)
        by_time[name] = (times, errors)
    x, y = "communication step; of the whole its own step [ms]", f"[{study.unit}]"
    time_inside = f"time inside the FMUs for {study.stop:g} s [s]"
    return (
        Panel(study.what, x, y, by_step, log=True, log_x=True, window=window, legend="upper left"),
        Panel(study.what, time_inside, y, by_time, log=True, log_x=True, legend=""),
    )


def rows(study: Study, found: Mapping[str, float]) -> list[Row]:
    """Return the rows of the table."""
    table: list[Row] = []
    for name, steps in study.runs.items():
        labels = reached(found, name, steps)
        order = f": order {found[f'{name}, order']:.1f}" if name in study.ways else ""
        table += [
            (
                f"{name}, {' / '.join(f'{1e3 * step:g}' for step in steps[-len(labels) :])} ms",
                f"order {study.ways[name]}" if order else "-",
                f"{listed(found, labels)} {study.unit}{order}",
            ),
            ("time", "-", f"{listed(found, (f'{label}, time' for label in labels), '.3f')} s"),
        ]
    times = [(name, value) for name, value in found.items() if " / " in name]
    return [*table, *((f"time to the same error, {name}", "-", f"about {value:,.0f} times") for name, value in times)]
