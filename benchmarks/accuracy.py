"""python -m benchmarks.accuracy: the estimated error of runs beside the true one, for models and steppers of all kinds.

The true error is the largest difference from a run of the same stepper with an eighth of the step, at any output point,
relative to the range of each variable in the run.
"""

import argparse
import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import mbfmu
from benchmarks.conditions import conditions
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError
from mbfmu.model import Distance, Model
from mbfmu.model.library import known_models
from mbfmu.prepared.settings import STEP
from mbfmu.run.resolved import ranges, relative_errors

MODELS = (
    "two_link", "slider_crank", "four_bar", "crane", "driven_pendulum", "pendulum", "cart_pendulum", "heavy_top",
    "n_four_bar", "spatial_slider_crank", "bricard", "arm6", "chain", "flyball_governor", "quarter_car", "gymnast",
    "dc_motor", "hydraulic_servo", "rolling_disk", "bicycle", "stick_slip", "woodpecker",
)  # fmt: skip
"""Models of the library that start within seconds; of those with events the motion between them counts."""
STEPPERS = ("direct", "projected", "rattle", "generalized_alpha", "gauss", "radau", "lobatto")
STEPS: Sequence[float] = (5e-3, 2e-3)
FINER = 8
"""Ratio of the step to that of the true run."""
STOP, INTERVAL = 2.0, 0.01


class Comparison(NamedTuple):
    """The estimated and the true error of a run, relative to the range of the worst variable."""

    model: str
    stepper: str
    step: float
    estimated: float
    true: float

    @property
    def ratio(self) -> float:
        """Estimated over true error."""
        return self.estimated / self.true if self.true else math.nan


def true_error(run: Result, exact: Result) -> float:
    """Return the largest difference of two runs in what a run estimates, relative to its ranges."""
    return max(relative_errors(run, exact, ranges(run)).values(), default=math.nan)


def random_mechanisms(count: int) -> Iterator[tuple[str, Model]]:
    """Yield trees and loops of random planar joints in turn, those of the tests that can start, with their names."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    made = import_module("random_mechanisms")
    make = {
        "tree": lambda seed: made.random_tree(seed, True, 2, 4).system("tree"),
        "loop": lambda seed: made.random_loop(seed, True, Distance),
    }
    seeds = {kind: itertools.count() for kind in make}
    for kind in itertools.islice(itertools.cycle(make), count):
        yield next((f"{kind} {seed}", model) for seed in seeds[kind] if (model := started(make[kind], seed)))


def started(make: Callable[[int], Model], seed: int) -> Model | None:
    """Return a random mechanism; None if it cannot start."""
    with suppress(MbfmuError):
        model = make(seed)
        mbfmu.simulate(model, INTERVAL)
        return model
    return None


def comparisons(
    models: Iterable[tuple[str, Model | str]], steppers: Iterable[str | None], steps: Iterable[float]
) -> Iterator[Comparison]:
    """Compare each model with each stepper that it runs with (None: its default), in each of the steps."""
    for name, model in models:
        for stepper, step in itertools.product(steppers, steps):
            how: dict[str, Any] = {"stepper": stepper, "output_interval": INTERVAL}
            try:
                run = mbfmu.simulate(model, STOP, step=step, **how)
                exact = mbfmu.simulate(model, STOP, step=step / FINER, error_samples=0, **how)
            except MbfmuError:
                continue  # the stepper does not run this model, or not with this step
            if run.error.name:
                yield Comparison(name, stepper or run.stepper, step, run.error.value, true_error(run, exact))


def within(rows: list[Comparison], factor: float) -> float:
    """Return the part of the comparisons whose ratio is between 1 / factor and factor, in percent."""
    return 100 * sum(1 / factor <= row.ratio <= factor for row in rows) / len(rows)


def main() -> None:
    """Print the table, and the parts within 10 and 30, of errors above round-off and below the range."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--defaults", action="store_true", help="compare all models of the library in default runs")
    parser.add_argument("--random", type=int, metavar="N", help="compare N random mechanisms instead")
    parser.add_argument("--steppers", nargs="*", default=STEPPERS)
    parser.add_argument("-o", type=Path, metavar="TABLE.md", help="write the table too")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| model | stepper | step, s | estimated | true | ratio |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    print(conditions(), *lines, sep="\n")
    rows = []
    models = random_mechanisms(given.random) if given.random else ((name, name) for name in given.models)
    steppers, steps = given.steppers, STEPS
    if given.defaults:
        models, steppers, steps = ((name, name) for name in known_models()), (None,), (STEP,)
    for row in comparisons(models, steppers, steps):
        rows.append(row)
        numbers = f"{row.step:g} | {row.estimated:.1e} | {row.true:.1e} | {row.ratio:.2g}"
        lines.append(f"| {row.model} | {row.stepper} | {numbers} |")
        print(lines[-1], flush=True)
    counted = [row for row in rows if 1e-12 < row.true < 1]
    parts = f"{len(counted)} runs with true errors of 1e-12 to 1: " + ", ".join(
        f"{within(counted, factor):.0f} % within a factor of {factor:g}" for factor in (3, 10, 30)
    )
    print(parts)
    if given.o:
        given.o.write_text("\n".join([parts, "", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
