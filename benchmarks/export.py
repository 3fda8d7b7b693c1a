"""python -m benchmarks.export: how long it takes to import mbfmu and to export mechanisms, nothing cached."""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping

from benchmarks.table import markdown

REPEATS = 3
IMPORT = "import time; t = time.perf_counter(); import mbfmu; print(time.perf_counter() - t)"
EXPORT = """
import time, mbfmu
t = time.perf_counter()
mbfmu.export(mbfmu.load({model!r}, {values!r}), "model.fmu", stepper={stepper!r}, options={options!r}, step=1e-3)
print(time.perf_counter() - t)
"""
EXPORTS: tuple[tuple[str, Mapping[str, float], str, Mapping[str, object]], ...] = (
    ("two_link", {}, "direct", {"method": "rk4"}),
    ("four_bar", {}, "projected", {"order": 5}),
    ("arm6", {}, "direct", {"method": "rk4"}),
    ("arm6", {}, "rattle", {}),
    ("chain", {"N": 32, "spatial": 1}, "direct", {"method": "rk4"}),
    ("chain", {"N": 128, "spatial": 1}, "direct", {"method": "rk4"}),
)


def main() -> None:
    """Measure and print."""
    lines = [["import mbfmu", *seconds(IMPORT, 2 * REPEATS + 1)]]
    for model, values, stepper, options in EXPORTS:
        script = EXPORT.format(model=model, values=dict(values), stepper=stepper, options=dict(options))
        named = " ".join(f"{key}={value}" for key, value in (*values.items(), *options.items()))
        lines.append([f"export {model} {stepper} {named}", *seconds(script, REPEATS)])
        print(*lines[-1], file=sys.stderr)
    print("\n".join(markdown(["task", "median, s", "spread"], lines)))


def seconds(script: str, repeats: int) -> list[str]:
    """Return median and spread (largest over smallest) of what a script prints, each time in a folder of its own."""
    found = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "XDG_CACHE_HOME": folder}
            done = subprocess.run(
                [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
            )
        found.append(float(done.stdout.split()[-1]))
    return [f"{statistics.median(found):.3g}", f"{max(found) / min(found):.2f}"]


if __name__ == "__main__":
    main()
