"""One run of one FMU in one importing tool: python run.py TOOL TASK, with the task as JSON.

The last line that it prints is the result as JSON: the version of the tool, and the values of the requested variables
at the end. It imports nothing of mbfmu, so that the Python of another tool can run it.
"""

import csv
import ctypes
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What terminals read as a colour."""


class Task(NamedTuple):
    """A run.

    Args:
        fmu: path of the .fmu file.
        kind: ``cs`` or ``me``.
        names: names of real variables.
        stop: end of the run, s.
        step: communication step, or output interval of model exchange, s.
        tolerance: relative tolerance of model exchange.
        program: path of the tool's program, if it has one.
        preloaded: path of a library that the program is to load before, for FMUs that run Python.
    """

    fmu: str
    kind: str
    names: list[str]
    stop: float
    step: float
    tolerance: float
    program: str = ""
    preloaded: str = ""


class End(NamedTuple):
    """What a run gives.

    Args:
        version: version of the tool.
        options: what was requested of the tool, beside the step and the end.
        values: values of the variables at the end, of arrays those of all elements.
    """

    version: str
    options: str
    values: list[float]


def fmpy(task: Task) -> End:
    """Run an FMU in FMPy."""
    from fmpy import simulate_fmu

    steps = task.kind == "cs"
    run = simulate_fmu(
        task.fmu, fmi_type="CoSimulation" if steps else "ModelExchange", stop_time=task.stop, output_interval=task.step,
        output=task.names, solver="CVode", relative_tolerance=None if steps else task.tolerance, step_size=task.step,
    )  # fmt: skip
    _at_the_end(run["time"][-1], task)
    values = [float(item) for name in task.names for item in run[name][-1:].ravel()]
    return End(version("fmpy"), "" if steps else f"CVode, {task.tolerance:g}", values)


def libcosim(task: Task) -> End:
    """Run an FMU in DNV's libcosim."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    log_output_level(CosimLogLevel.FATAL)
    execution = CosimExecution.from_step_size(round(task.step * 1e9))  # ns
    index = execution.add_local_slave(CosimLocalSlave(task.fmu, "one"))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    references = {item.name.decode(): item.reference for item in execution.slave_variables(index)}
    for _ in range(round(task.stop / task.step)):
        if not execution.step():
            raise RuntimeError(str(execution.status()))
    values = observer.last_real_values(index, [references[name] for name in task.names])
    return End(version("libcosimpy"), "fixed steps", list(values))


def ecos(task: Task) -> End:
    """Run an FMU in ecos."""
    library = Path(sys.prefix) / "lib" / "libtbb.so.12"  # ecos links it; the wheel tbb brings it where no loader looks
    if library.exists():
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    from ecospy import EcosSimulation, EcosSimulationStructure

    with EcosSimulationStructure() as structure:
        structure.add_model("one", task.fmu)
        with EcosSimulation(structure=structure, step_size=task.step) as simulation:
            if not simulation.init():
                raise RuntimeError("the initialisation failed")
            for _ in range(round(task.stop / task.step)):
                simulation.step()
            values = [simulation.get_real(f"one::{name}") for name in task.names]
            _print(End(version("ecospy"), "fixed steps", values))  # before its end, at which it may crash
            simulation.terminate()
    return End(version("ecospy"), "fixed steps", values)


def fmucontainer(task: Task) -> End:
    """Put an FMU into a container of the FMU Manipulation Toolbox, and run that in FMPy."""
    with tempfile.TemporaryDirectory() as name:
        folder, fmu = Path(name), Path(task.fmu)
        (folder / fmu.name).write_bytes(fmu.read_bytes())
        content = {"fmu": [fmu.name], "step_size": task.step}
        (folder / "box.json").write_text(json.dumps(content), encoding="utf-8")
        command = [sys.executable, "-m", "fmu_manipulation_toolbox.cli.fmucontainer", "-container", "box.json"]
        version3 = ["-fmi", "3"] if _is_version3(task.fmu) else []
        _called([*command, "-fmu-directory", ".", *version3], folder)
        end = fmpy(task._replace(fmu=str(folder / "box.fmu")))
    return end._replace(version=version("fmu-manipulation-toolbox"), options="run in FMPy")


def fmutool(task: Task) -> End:
    """Let the FMU Manipulation Toolbox check an FMU; there are no values."""
    command = [sys.executable, "-m", "fmu_manipulation_toolbox.cli.fmutool", "-input", task.fmu, "-check"]
    said = _called(command, Path.cwd())
    complaints = [line for line in said.splitlines() if "ERROR" in line or "WARNING" in line]
    if complaints:
        raise RuntimeError(complaints[0])
    return End(version("fmu-manipulation-toolbox"), "-check", [])


def casadi(task: Task) -> End:
    """Evaluate the time derivatives of the states at the start in CasADi's DaeBuilder; the names are those of them."""
    import casadi as ca
    from fmpy import extract

    dae = ca.DaeBuilder("model", str(extract(task.fmu)))
    states, inputs = dae.x(), dae.u()
    rates = dae.create("rates", ["x", "u"], ["ode"])(dae.start(states), dae.start(inputs))
    found = dict(zip((f"der({name})" for name in states), rates.full().ravel().tolist(), strict=True))
    return End(version("casadi"), "DaeBuilder, derivatives at the start", [found[name] for name in task.names])


def fmusim(task: Task) -> End:
    """Run an FMU in fmusim."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.csv"
        command = [task.program, "--interface-type", task.kind, "--start-time", "0", "--stop-time", repr(task.stop),
                   "--output-interval", repr(task.step), "--output-file", str(result)]  # fmt: skip
        options = "fixed steps"
        if task.kind == "me":
            command += ["--solver", "cvode", "--tolerance", repr(task.tolerance)]
            options = f"--solver cvode --tolerance {task.tolerance:g}"
        for name in task.names:
            command += ["--output-variable", name]
        _called([*command, task.fmu], Path(folder), task.preloaded)
        values = _last_row(result, task)
    said = subprocess.run([task.program, "--version"], capture_output=True, text=True, check=False).stdout
    return End(said.split()[1], options, values)


def omsimulator(task: Task) -> End:
    """Run an FMU in OMSimulator."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.csv"
        command = [task.program, task.fmu, f"--mode={task.kind}", "--startTime=0", f"--stopTime={task.stop!r}",
                   f"--resultFile={result}", f"--tempDir={folder}"]  # fmt: skip
        options = "--stepSize"
        if task.kind == "me":
            command += [
                "--solver=cvode",
                f"--tolerance={task.tolerance!r}",
                f"--intervals={round(task.stop / task.step)}",
            ]
            options = f"--solver=cvode --tolerance={task.tolerance:g}"
        else:
            command += [f"--stepSize={task.step!r}"]
        said = _called(command, Path(folder), task.preloaded)
        if failed := [line for line in said.splitlines() if line.startswith("error:")]:
            raise RuntimeError(failed[0])
        values = _last_row(result, task)
    said = subprocess.run([task.program, "--version"], capture_output=True, text=True, check=False).stdout
    return End(said.split()[1].removeprefix("v").partition("-")[0], options, values)


def mastersim(task: Task) -> End:
    """Run an FMU in MasterSim."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "run.msim"
        step = f"{task.step!r} s"
        settings = {
            "tStart": "0 s", "tEnd": f"{task.stop!r} s", "hStart": step, "hMax": step, "hOutputMin": step,
            "hMin": "1e-9 s", "hFallBackLimit": "1e-8 s", "adjustStepSize": "no", "preventOversteppingOfEndTime": "yes",
            "absTol": "1e-6", "relTol": "1e-6", "MasterMode": "GAUSS_JACOBI", "ErrorControlMode": "NONE",
            "maxIterations": "1", "writeInternalVariables": "yes",
        }  # fmt: skip
        lines = [*(" ".join(item) for item in settings.items()), f'simulator 0 0 one #ff00ff00 "{task.fmu}"']
        project.write_text("\n".join(lines) + "\n", encoding="utf-8")
        _called([task.program, "-x", str(project)], Path(folder), task.preloaded)
        values = _last_row(Path(folder) / "run" / "results" / "values.csv", task)
    said = subprocess.run([task.program, "--version"], capture_output=True, text=True, check=False).stdout
    return End(said.partition("version ")[2].split()[0], "Gauss-Jacobi, fixed steps", values)


def pyfmi(task: Task) -> End:
    """Run an FMU in PyFMI, by its Python."""
    from pyfmi import load_fmu

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where it writes
        model: Any = load_fmu(task.fmu, kind=task.kind.upper())
        options = model.simulate_options()
        options["ncp"] = round(task.stop / task.step)
        if task.kind == "me":
            options["CVode_options"]["rtol"] = task.tolerance
        run = model.simulate(final_time=task.stop, options=options)
        _at_the_end(run["time"][-1], task)
        values = [float(run[name][-1]) for name in task.names]
        os.chdir(here)
    return End(version("pyfmi"), "" if task.kind == "cs" else f"CVode, {task.tolerance:g}", values)


TOOLS: dict[str, Callable[[Task], End]] = {
    "FMPy": fmpy, "libcosim": libcosim, "ecos": ecos, "fmucontainer": fmucontainer, "fmutool": fmutool,
    "CasADi": casadi, "fmusim": fmusim, "OMSimulator": omsimulator, "MasterSim": mastersim, "PyFMI": pyfmi,
}  # fmt: skip
"""The tools by name."""


def _called(command: list[str], folder: Path, preloaded: str = "") -> str:
    """Run a program, with a library loaded before; return what it prints, or raise a RuntimeError with it."""
    environment = {**os.environ, "LD_PRELOAD": preloaded} if preloaded else None
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
    )  # fmt: skip
    said = COLOUR.sub("", done.stdout + done.stderr)
    if done.returncode:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        told = [line for line in lines if line.lower().startswith("error")] or lines[-1:]
        raise RuntimeError(f"exit status {done.returncode}: {told[0] if told else 'no message'}")
    return said


def _last_row(path: Path, task: Task) -> list[float]:
    """Return the values at the end from a table, whose columns are named after the variables or end so."""
    text = path.read_text(encoding="utf-8", errors="replace")
    head, *rows = csv.reader(text.splitlines(), delimiter="\t" if "\t" in text.splitlines()[0] else ",")
    head = [name.strip().partition(" [")[0].strip('"') for name in head]
    last = [row for row in rows if row][-1]
    _at_the_end(float(last[0]), task)
    places = [_place(head, name) for name in task.names]
    return [float(value) for place in places for value in last[place].split()]  # an array's are beside each other


def _place(head: list[str], name: str) -> int:
    """Return the index of the column of a variable."""
    for place, title in enumerate(head):
        if title == name or title.endswith(f".{name}"):
            return place
    raise RuntimeError(f"the result has no {name}")


def _at_the_end(time: float, task: Task) -> None:
    """Raise a RuntimeError if a run ended early."""
    if not math.isclose(float(time), task.stop, rel_tol=1e-9):
        raise RuntimeError(f"the run ended at t = {float(time):.9g} s")


def _is_version3(fmu: str) -> bool:
    """Return whether an FMU is of FMI 3.0."""
    from fmpy import read_model_description

    return bool(read_model_description(fmu, validate=False).fmiVersion.startswith("3"))


def _print(end: End) -> None:
    """Print the result of a run as the last line."""
    print("\n" + json.dumps(end), flush=True)


def main(tool: str, text: str) -> None:
    """Make a run and print its result; end at once, as pythonfmu's library may crash where a process ends."""
    try:
        _print(TOOLS[tool](Task(**json.loads(text))))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is a result
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
