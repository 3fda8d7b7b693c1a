"""python -m benchmarks.export: how long mbfmu takes to import, to export, and to start again from a warm cache.

A start reads the model, makes it ready and gives its first state; imports are not counted. A warm one shall take less
than 0.2 s, and less than 0.5 s for the chain of 128.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping

from benchmarks.conditions import conditions
from benchmarks.table import markdown

REPEATS = 3
IMPORT = "import time; t = time.perf_counter(); import mbfmu; print(time.perf_counter() - t)"
HEAVY = "import time; t = time.perf_counter(); import mbfmu; mbfmu.simulate; print(time.perf_counter() - t)"
EXPORT = """
import time, mbfmu
t = time.perf_counter()
mbfmu.export(mbfmu.load({model!r}, {values!r}), "model.fmu", stepper={stepper!r}, options={options!r}, step=1e-3)
print(time.perf_counter() - t)
"""
START = """
import time, mbfmu
from mbfmu.prepared.prepare import prepare
t = time.perf_counter()
prepare(mbfmu.load({model!r}, {values!r}), {stepper!r}, {options!r}, 1e-3).initial_state()
print(time.perf_counter() - t)
"""
MODELS: tuple[tuple[str, Mapping[str, float], str, Mapping[str, object]], ...] = (
    ("two_link", {}, "direct", {"method": "rk4"}),
    ("four_bar", {}, "projected", {"order": 5}),
    ("arm6", {}, "direct", {"method": "rk4"}),
    ("arm6", {}, "rattle", {}),
    ("crane", {}, "projected", {"order": 5}),
    ("stewart", {}, "projected", {"order": 5}),
    ("chain", {"N": 32, "spatial": 1}, "direct", {"method": "rk4"}),
    ("chain", {"N": 128, "spatial": 1}, "direct", {"method": "rk4"}),
)


def main() -> None:
    """Measure and print."""
    print(conditions())
    lines = []
    for line in measured():
        print(*line, file=sys.stderr)
        lines.append(line)
    print("\n".join(markdown(["what", "median, s", "spread"], lines)))


def measured() -> Iterator[list[str]]:
    """Return the lines of the table."""
    yield ["import mbfmu", *summary([seconds(IMPORT) for _ in range(2 * REPEATS + 1)])]
    yield ["import mbfmu and what a simulation uses", *summary([seconds(HEAVY) for _ in range(2 * REPEATS + 1)])]
    for model, values, stepper, options in MODELS:
        numbers = {"model": model, "values": dict(values), "stepper": stepper, "options": dict(options)}
        named = " ".join([model, stepper, *(f"{key}={value}" for key, value in (*values.items(), *options.items()))])
        exports, colds, warms = [], [], []
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory() as cache:
                exports.append(seconds(EXPORT.format(**numbers), cache))
            with tempfile.TemporaryDirectory() as cache:
                colds.append(seconds(START.format(**numbers), cache))
                warms.append(seconds(START.format(**numbers), cache))
        yield [f"export {named}, nothing cached", *summary(exports)]
        yield [f"start {named}, nothing cached", *summary(colds)]
        yield [f"start {named}, warm cache", *summary(warms)]


def seconds(script: str, cache: str | None = None) -> float:
    """Return what a script prints, run by a new interpreter in a folder of its own."""
    environment = {**os.environ, **({"XDG_CACHE_HOME": cache} if cache else {})}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
    return float(done.stdout.split()[-1])


def summary(times: list[float]) -> list[str]:
    """Return median and spread (largest over smallest)."""
    return [f"{statistics.median(times):.3g}", f"{max(times) / min(times):.2f}"]


if __name__ == "__main__":
    main()
