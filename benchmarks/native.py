"""Native FMUs in a C loop of (set, step, get), beside their kernels alone, and their worst step."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fmpy

import mbfmu
from mbfmu.kernel import compiled_library
from mbfmu.prepared.prepare import prepare

HOST = Path(__file__).with_name("native_host.c")
STEP = 1e-3
STEPS = 1_000_000
CASES: tuple[tuple[str, str, Mapping[str, Any], int | None], ...] = (
    ("two_link", "rattle", {}, None),
    ("two_link", "rattle", {}, 4),
    ("two_link", "direct", {"method": "rk4"}, None),
    ("slider_crank", "projected", {"order": 4}, 3),
    ("arm6", "direct", {"method": "rk4"}, None),
)
"""Model, stepper, options, and the corrections of a step with bounded work."""
HEADINGS = ["model, stepper", "kernel, us", "FMU, us", "ratio", "99.9 % of steps, us", "worst, us"]


def measured(steps: int = STEPS) -> Iterator[list[str]]:
    """Return the lines of the table: medians of single steps, which include 20 to 30 ns of the clock.

    Args:
        steps: how many are measured.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("the benchmarks need a C compiler")
    for model, stepper, options, passes in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = mbfmu.export(
                mbfmu.load(model), folder / f"{model}.fmu", stepper=stepper, options=options, step=STEP,
                backend="native", real_time=passes,
            )  # fmt: skip
            unpacked = Path(fmpy.extract(str(path), unzipdir=str(folder / "fmu")))
            host = folder / "host"
            command = [compiler, "-std=c99", "-O2", f"-I{unpacked / 'sources'}", str(HOST), "-ldl", "-o", str(host)]
            subprocess.run(command, check=True)
            fmu = _told([str(host), "fmu", *_fmu(unpacked, steps)])
            kernel = _kernel(str(host), model, stepper, options, steps)
        label = " ".join([model, stepper, *(f"{key}={value}" for key, value in options.items())])
        yield [
            label + (f", {passes} corrections a step" if passes else ""),
            f"{kernel['median'] / 1e3:.3f}", f"{fmu['median'] / 1e3:.3f}", f"{fmu['median'] / kernel['median']:.2f}",
            f"{fmu['q999'] / 1e3:.3f}", f"{fmu['worst'] / 1e3:.1f}",
        ]  # fmt: skip


def _fmu(unpacked: Path, steps: int) -> list[str]:
    """Return what the host needs to run an FMU: library, guid, steps, size, and which variables it sets and gets."""
    description = fmpy.read_model_description(str(unpacked))
    library = next((unpacked / "binaries").glob(f"*/{description.coSimulation.modelIdentifier}.*"))
    inputs = [item for item in description.modelVariables if item.causality == "input"]
    shown = [item for item in description.modelVariables if item.causality in {"output", "local"}]
    first = min(item.valueReference for item in shown)
    return [str(library), description.guid, str(steps), str(STEP), str(len(inputs)), str(first), str(len(shown))]


def _kernel(host: str, model: str, stepper: str, options: Mapping[str, Any], steps: int) -> dict[str, float]:
    prepared = prepare(mbfmu.load(model), stepper, options, STEP)
    values = " ".join(map(str, [*prepared.dae.s_default(), *prepared.dae.p_default()]))
    return _told([host, "kernel", str(compiled_library(prepared.bundle)), str(steps), str(STEP)], values)


def _told(command: list[str], given: str = "") -> dict[str, float]:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found
