"""FMUs: native ones in a C loop of (set, step, get) beside their kernels alone, and those of both back ends in FMPy."""

import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import fmpy
from fmpy.fmi2 import FMU2Slave

import mbfmu
from benchmarks.table import markdown
from mbfmu.kernel.loading import library
from mbfmu.prepared.prepare import prepare

HOST = Path(__file__).with_name("native_host.c")
STEP = 1e-3
STEPS = 1_000_000
ARM: tuple[str, str, Mapping[str, Any]] = ("arm6", "direct", {"method": "rk4"})
"""The case that limits are held against."""
CASES: tuple[tuple[str, str, Mapping[str, Any], int | None], ...] = (
    ("two_link", "rattle", {}, None),
    ("two_link", "rattle", {}, 4),
    ("two_link", "direct", {"method": "rk4"}, None),
    ("slider_crank", "projected", {"order": 4}, 3),
    (*ARM, None),
)
"""Model, stepper, options, and the corrections of a step with bounded work."""
BLOCK = 200
"""Number of steps after which it is the other FMU's turn in FMPy."""
BESIDE = ("model, stepper", "kernel, us", "FMU, us", "ratio", "99.9 % of steps, us", "worst, us")
IN_FMPY = ("in FMPy", "Python: doStep, us", "set, step, get, us", "native: doStep, us", "set, step, get, us")
LIMITS = ("FMU", "what", "measured", "asked", "verdict")
"""Headings."""


@dataclass(frozen=True)
class Native:
    """What a native FMU takes for (set, step, get) in a C loop, us.

    Args:
        label: model, stepper and options.
        kernel: a kernel for any processor, as FMUs have it, alone for step and outputs, median.
        fmu: the FMU, median.
        ratio: median of the ratios of blocks of steps in turn.
        most: 99.9 % of single steps.
        worst: longest single step.
    """

    label: str
    kernel: float
    fmu: float
    ratio: float
    most: float
    worst: float


@dataclass(frozen=True)
class InFmpy:
    """What the FMUs of a model take in FMPy for doStep, and for (setReal, doStep, getReal), us, medians.

    Args:
        label: model, stepper and options.
        step: of the Python FMU.
        with_values: of the Python FMU.
        native_step: of the native FMU.
        native_with_values: of the native FMU.
    """

    label: str
    step: float
    with_values: float
    native_step: float
    native_with_values: float


def report(steps: int = STEPS) -> list[str]:
    """Return the lines of the tables, the last one of which holds what is asked for against what was measured.

    Args:
        steps: number of steps of each native FMU; in FMPy a twentieth.
    """
    native, in_fmpy = list(measured(steps)), measured_in_fmpy(steps // 20)
    beside = [
        [item.label, *(f"{value:.3f}" for value in (item.kernel, item.fmu, item.ratio, item.most)), f"{item.worst:.1f}"]
        for item in native
    ]
    label, *called = astuple(in_fmpy)
    tables = (
        (BESIDE, beside),
        (IN_FMPY, [[label, *(f"{us:.2f}" for us in called)]]),
        (LIMITS, verdicts(native, in_fmpy)),
    )
    return [line for names, cells in tables for line in ("", *markdown(names, cells))]


def verdicts(native: Sequence[Native], in_fmpy: InFmpy) -> list[list[str]]:
    """Return a line for each limit."""
    ratio = next(item.ratio for item in native if item.label == in_fmpy.label)
    limits = ("step of the native FMU over that of its kernel", ratio, 1.05), ("Python, doStep, us", in_fmpy.step, 8.0)
    return [
        [in_fmpy.label, what, f"{value:.3g}", f"at most {asked:g}", "met" if value <= asked else "missed"]
        for what, value, asked in limits
    ]


def measured(steps: int) -> Iterator[Native]:
    """Measure native FMUs beside their kernels.

    Args:
        steps: number of steps of each.
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
            prepared = prepare(mbfmu.load(model), stepper, options, STEP)
            values = " ".join(map(str, [*prepared.dae.s_default(), *prepared.dae.p_default()]))
            kernel_of_fmus = library(prepared.bundle, portable=True)
            assert kernel_of_fmus, "there is a C compiler"
            command = [str(host), str(steps), str(STEP), *_fmu(unpacked), str(kernel_of_fmus.path)]
            told = subprocess.run(command, input=values, capture_output=True, text=True, check=True).stdout
        found = json.loads(told)
        label = _label(model, stepper, options) + (f", {passes} corrections a step" if passes else "")
        kernel, fmu, most, worst = (found[key] / 1e3 for key in ("kernel", "fmu", "q999", "worst"))
        yield Native(label, kernel, fmu, found["ratio"], most, worst)


def _fmu(unpacked: Path) -> list[str]:
    """Return what the host needs to run an FMU: library, guid, and which variables it sets and gets."""
    description = fmpy.read_model_description(str(unpacked))
    binary = next((unpacked / "binaries").glob(f"*/{description.coSimulation.modelIdentifier}.*"))
    inputs = [item for item in description.modelVariables if item.causality == "input"]
    shown = [item for item in description.modelVariables if item.causality in {"output", "local"}]
    first = min(item.valueReference for item in shown)
    return [str(binary), description.guid, str(len(inputs)), str(first), str(len(shown))]


def _label(model: str, stepper: str, options: Mapping[str, Any]) -> str:
    return " ".join([model, stepper, *(f"{key}={value}" for key, value in options.items())])


def measured_in_fmpy(steps: int) -> InFmpy:
    """Measure the FMUs of both back ends in FMPy, block by block in turn.

    Args:
        steps: number of steps of each.
    """
    model, stepper, options = ARM
    with tempfile.TemporaryDirectory() as name:
        slaves = []
        for backend in ("python", "native"):
            path = Path(name) / f"{backend}.fmu"
            mbfmu.export(mbfmu.load(model), path, stepper=stepper, options=options, step=STEP, backend=backend)
            slaves.append(_Slave(path, Path(name) / backend))
        blocks = [[us for slave in slaves for us in slave.block()] for _ in range(steps // BLOCK)]
        for slave in slaves:
            slave.close()
    return InFmpy(_label(model, stepper, options), *map(statistics.median, zip(*blocks, strict=True)))


class _Slave:
    """An FMU that FMPy runs.

    Args:
        path: the FMU.
        folder: where it is unpacked.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        fmpy.extract(str(path), unzipdir=str(folder))
        description = fmpy.read_model_description(str(folder))
        identifier = description.coSimulation.modelIdentifier
        self._slave = FMU2Slave("one", guid=description.guid, unzipDirectory=str(folder), modelIdentifier=identifier)
        self._inputs, self._outputs = (
            [item.valueReference for item in description.modelVariables if item.causality == causality]
            for causality in ("input", "output")
        )
        self._time = 0.0
        self._slave.instantiate()
        self._slave.setupExperiment(startTime=self._time)
        self._slave.enterInitializationMode()
        self._slave.exitInitializationMode()

    def block(self) -> tuple[float, float]:
        """Return what a doStep takes, and what (setReal, doStep, getReal) takes, us."""
        slave, zeros = self._slave, [0.0] * len(self._inputs)
        begin = perf_counter()
        for _ in range(BLOCK):
            slave.doStep(currentCommunicationPoint=self._time, communicationStepSize=STEP)
            self._time += STEP
        middle = perf_counter()
        for _ in range(BLOCK):
            slave.setReal(self._inputs, zeros)
            slave.doStep(currentCommunicationPoint=self._time, communicationStepSize=STEP)
            slave.getReal(self._outputs)
            self._time += STEP
        return (middle - begin) / BLOCK * 1e6, (perf_counter() - middle) / BLOCK * 1e6

    def close(self) -> None:
        """End the run."""
        self._slave.terminate()
        self._slave.freeInstance()
