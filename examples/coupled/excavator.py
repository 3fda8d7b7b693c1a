"""The excavator whole and in parts: what a coupling of FMUs costs against one system with everything inside.

The parts are the model's own: two FMUs (the mechanism; hydraulics and controllers), three (the controllers apart), or
ten (every block of the hydraulics an FMU). Each runs with shorter and shorter communication steps, and the whole with
steps of three steppers, against the whole by `radau` of order 5 at 1 ms, which is correct to 1e-12. What is counted is
the time inside the FMUs, that of the master left out.

Run: python -m examples.coupled.excavator [--plot FILE]
"""

import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import log
from pathlib import Path
from typing import Any
from unittest import mock

import fmpy.fmi2
import numpy as np

import mbfmu
from examples.report import Curves, Found, Panel, Row, listed, present
from mbfmu.errors import ResultWarning, StepError
from mbfmu.fmu.ssp import Wire
from mbfmu.model import Subsystem, System

MODEL = "excavator"
STOP, EVERY = 4.0, 0.005
"""s: rest, reaching out and most of the digging; the error is that at every EVERY."""
STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4)
"""s, of the communication."""
ORDERS = {"two FMUs": 2, "three FMUs": 1, "ten FMUs": 1}
"""A command that jumps at a controller's tick reaches another FMU as a line over a step: an error of order 1."""
ANGLES = ("boom.phi", "stick.phi", "bucket.phi")
WAYS = {
    "two FMUs": ("mechanism", "drives"),
    "three FMUs": ("mechanism", "oil", "control"),
    "ten FMUs": ("mechanism", "blocks", "control"),
}
"""The parts of each way, in the order in which they step; inputs follow lines."""
WHOLES: dict[str, tuple[str, dict[str, Any], tuple[float, ...]]] = {
    "whole, projected": ("projected", {}, (5e-3, 2.5e-3, 1e-3)),
    "whole, generalized_alpha": ("generalized_alpha", {}, (5e-3, 2.5e-3, 1e-3)),
    "whole, radau of order 5": ("radau", {"stages": 3}, (5e-3, 2.5e-3)),
}
CHOSEN = {
    "two FMUs": ("whole, projected, 5 ms", "whole, projected, 1 ms"),
    "three FMUs": ("whole, projected, 5 ms",),
    "ten FMUs": ("whole, projected, 5 ms",),
}
"""The wholes whose errors the coupled forms are to reach."""
PART = {"stepper": "projected"}
"""The stepper of each part that moves, the cheapest of those that do as well as any: the coupling decides the error."""


def part(name: str) -> Any:
    """Return a part of the model."""
    return mbfmu.load(MODEL, {"part": name})


def export(model: Any, path: Path, **how: Any) -> Path:
    """Write a native FMU whose steps are 1 ms, or the communication step if that is shorter."""
    return mbfmu.export(model, path, step=1e-3, backend="native", **how)


class Parts:
    """The FMUs of the parts, and how each way wires them.

    Args:
        folder: where the FMUs go.
    """

    def __init__(self, folder: Path) -> None:
        self.oil: System = part("oil")
        whole: System = part("whole")
        self.wires = whole.wires
        self.paths = {
            "mechanism": export(part("mechanism"), folder / "mechanism.fmu", **PART),
            "control": export(part("control"), folder / "control.fmu"),
            "oil": export(self.oil, folder / "oil.fmu", **PART),
            "drives": export(part("drives"), folder / "drives.fmu", **PART),
        }
        self.blocks = {}
        kinds: dict[str, Path] = {}
        for item in self.oil.components:
            assert isinstance(item, Subsystem)
            kind = item.system.name
            if kind not in kinds:
                kinds[kind] = export(item.system, folder / f"{kind}.fmu", **PART)
            self.blocks[item.name] = kinds[kind]

    def fmus(self, way: str) -> dict[str, Path]:
        """Return the paths of the FMUs of a way."""
        found: dict[str, Path] = {}
        for name in WAYS[way]:
            found |= self.blocks if name == "blocks" else {name: self.paths[name]}
        return found

    def connections(self, way: str) -> list[Wire]:
        """Return the wires between FMUs, from those of the models."""
        place = partial(_place, way)
        found = [Wire(place(item.source), place(item.target)) for item in self.wires]
        if way == "ten FMUs":
            found += [Wire(item.source, item.target, float(item.factor)) for item in self.oil.wires]
        return [item for item in found if item.start.partition(".")[0] != item.end.partition(".")[0]]

    def values(self, way: str) -> dict[str, float]:
        """Return the parameters and start values of the blocks that are FMUs of their own."""
        if way != "ten FMUs":
            return {}
        return {
            f"{item.name}.{name}": value
            for item in self.oil.components
            if isinstance(item, Subsystem)
            for name, value in item.values.items()
            if not isinstance(value, str)  # the bulk modulus, which is the blocks' own
        }


def _place(way: str, name: str) -> str:
    """Return the name of a variable of the whole in the FMUs of a way."""
    head, _, rest = name.partition(".")
    if head not in {"oil", "control"}:
        return f"mechanism.{name}"
    if way == "two FMUs":
        return f"drives.{name}"
    return rest if head == "oil" and way == "ten FMUs" else name


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


def error(found: mbfmu.Result, exact: mbfmu.Result, prefix: str) -> float:
    """Return the largest error of an angle, rad."""
    at = np.searchsorted(found.time, exact.time - 1e-9)
    return float(max(np.abs(found[prefix + name][at] - exact[name]).max() for name in ANGLES))


def cost(errors: Sequence[float], costs: Sequence[float], wanted: float) -> float:
    """Return the time that an error costs, s, on the line through the last two points in logarithmic scales."""
    (e1, e2), (c1, c2) = errors[-2:], costs[-2:]
    return float(c2 * (e2 / wanted) ** (log(c2 / c1) / log(e1 / e2)))


def run() -> Found:
    """Measure errors and times of all ways."""
    exact = mbfmu.simulate(part("whole"), STOP, stepper="radau", step=1e-3, output_interval=EVERY)
    numbers: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        parts = Parts(Path(name))
        for way in WAYS:
            shown = [f"mechanism.{angle}" for angle in ANGLES]
            for step in STEPS:
                label = f"{way}, {step * 1e3:g} ms"
                with timed() as spent:
                    try:
                        found = mbfmu.couple(
                            parts.fmus(way), parts.connections(way), STOP, step, values=parts.values(way), outputs=shown
                        )
                    except StepError:  # it swings up until a step fails: there is no error to tell
                        continue
                numbers[label] = error(found, exact, "mechanism.")
                numbers[f"{label}, time"] = sum(spent)
        for way, (stepper, options, steps) in WHOLES.items():
            path = export(part("whole"), Path(name) / "whole.fmu", stepper=stepper, options=options)
            for step in steps:
                label = f"{way}, {step * 1e3:g} ms"
                with timed() as spent:
                    found = mbfmu.couple(
                        {"whole": path}, [], STOP, EVERY,
                        values={"whole.solver.step": step}, outputs=[f"whole.{angle}" for angle in ANGLES],
                    )  # fmt: skip
                numbers[label] = error(found, exact, "whole.")
                numbers[f"{label}, time"] = sum(spent)
    return Found(numbers | compared(numbers), panels(numbers), 2)


def reached(numbers: Mapping[str, float], way: str, steps: Sequence[float]) -> list[str]:
    """Return the names of a way's errors."""
    return [label for label in (f"{way}, {step * 1e3:g} ms" for step in steps) if label in numbers]


def series(numbers: Mapping[str, float], way: str, steps: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return errors and times of a way, for those steps with which it came to the end."""
    labels = reached(numbers, way, steps)
    return [numbers[label] for label in labels], [numbers[f"{label}, time"] for label in labels]


def compared(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return how much more the coupled forms cost than a whole of the same error."""
    found = {}
    for way in WAYS:
        errors, costs = series(numbers, way, STEPS)
        found[f"{way}, order"] = float(np.log2(errors[-2] / errors[-1]))
        for label in CHOSEN[way]:
            found[f"{way} / {label}"] = cost(errors, costs, numbers[label]) / numbers[f"{label}, time"]
    return found


def panels(numbers: Mapping[str, float]) -> tuple[Panel, ...]:
    """Return the errors over the steps, and over the time inside the FMUs."""
    given: dict[str, Sequence[float]] = {**dict.fromkeys(WAYS, STEPS), **{key: item[2] for key, item in WHOLES.items()}}
    by_step: Curves = {}
    by_time: Curves = {}
    for way, steps in given.items():
        errors, times = map(np.array, series(numbers, way, steps))
        by_step[way] = (1e3 * np.array(steps[-len(errors) :]), errors)
        by_time[way] = (times, errors)
    title = "error of the joints' angles"
    return (
        Panel(
            title,
            "communication step; of the whole its own step [ms]",
            "[rad]",
            by_step,
            log=True,
            log_x=True,
            window=(0.1, 6.0, 1e-11, 1e2),
            legend="upper left",
        ),
        Panel(title, f"time inside the FMUs for {STOP:g} s [s]", "[rad]", by_time, log=True, log_x=True, legend=""),
    )


def main() -> dict[str, float]:
    """Return errors (rad), times inside the FMUs (s), and how much more a coupled form costs than a whole."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    table: list[Row] = []
    for way in WAYS:
        labels = reached(found, way, STEPS)
        table += [
            (
                f"{way}, error",
                f"order {ORDERS[way]}",
                f"{listed(found, labels)} rad: order {found[f'{way}, order']:.1f}",
            ),
            (f"{way}, time", "-", f"{listed(found, (f'{label}, time' for label in labels), '.3f')} s"),
        ]
    for way, (_, _, steps) in WHOLES.items():
        labels = reached(found, way, steps)
        table += [
            (f"{way}, {' / '.join(f'{step * 1e3:g}' for step in steps)} ms", "-", f"{listed(found, labels)} rad"),
            ("their time", "-", f"{listed(found, (f'{label}, time' for label in labels), '.3f')} s"),
        ]
    times = [(name, value) for name, value in found.items() if " / " in name]
    return [*table, *((f"time to the same error, {name}", "-", f"about {value:,.0f} times") for name, value in times)]


if __name__ == "__main__":
    present(f"Excavator, {STOP:g} s, in parts at 2 / 1 / 0.5 / 0.25 ms, and whole", run, rows, "expected")
