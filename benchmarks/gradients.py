"""python -m benchmarks.gradients: the time of a gradient beside that of the run it belongs to.

A run of 1000 steps gives some outputs; the gradient of their weighted sum is that with respect to up to 20 parameters
and start values. Times are those of the processor, the least of several.
"""

from collections.abc import Callable
from time import process_time

import numpy as np

import mbfmu
from benchmarks.conditions import conditions
from benchmarks.table import markdown
from mbfmu.prepared.prepare import prepare

STOP, STEP = 1.0, 1e-3
MOST = 20
"""Largest number of free values."""
REPEATS = 40
CASES = (
    ("arm6", "direct"), ("arm6", "rattle"), ("arm6", "generalized_alpha"), ("slider_crank", "projected"),
    ("slider_crank", "rattle"), ("slider_crank", "radau"), ("slider_crank", "generalized_alpha"),
)  # fmt: skip
"""Models and steppers."""


def least(function: Callable[[], object]) -> float:
    """Return the least time of a call, ms."""
    times = []
    for _ in range(REPEATS):
        begin = process_time()
        function()
        times.append(process_time() - begin)
    return 1e3 * min(times)


def row(model: str, stepper: str, points: int) -> tuple[str, ...]:
    """Return the row of a model with a stepper and a number of output intervals."""
    outline = prepare(mbfmu.load(model), stepper, None, STEP).outline
    free = [item.name for item in (*outline.parameters, *outline.starts) if item.type == "Real"][:MOST]
    watched = [item.name for item in outline.outputs][:3]
    run = mbfmu.Sensitivity(
        model, STOP, free, outputs=watched, stepper=stepper, step=STEP, output_interval=STOP / points
    )
    weights = np.ones((points + 1, len(watched)))
    run.gradient(weights)
    alone, gradient = least(run.outputs), least(lambda: run.gradient(weights))
    ratio = f"{gradient / alone:.1f}"
    return model, stepper, str(len(free)), str(points), f"{alone:.2f}", f"{gradient:.2f}", ratio


def main() -> None:
    """Print a table, and what it was measured on."""
    print(conditions(), "", sep="\n")
    names = ("model", "stepper", "values", "output intervals", "run, ms", "gradient, ms", "ratio")
    for line in markdown(names, []):
        print(line)
    for case in CASES:
        for points in (500, 50):
            print("| " + " | ".join(row(*case, points)) + " |", flush=True)


if __name__ == "__main__":
    main()
