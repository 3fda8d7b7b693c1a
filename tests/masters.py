"""Masters that drive an FMU: FMPy call by call; FMPy, libcosim and ecos each in a process of its own."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import fmpy
import fmpy.fmi2 as fmi2
import numpy as np
import numpy.typing as npt
import pytest
from fmpy.fmi1 import FMICallException

Array = npt.NDArray[np.float64]


class Message(NamedTuple):
    """What an FMU told the logger of its master; `form` is a format of the C function printf."""

    status: int
    category: str | None
    form: str

    @property
    def text(self) -> str:
        """What a master written in C prints; TypeError or ValueError for a conversion without its argument."""
        return self.form % ()


class MasterError(Exception):
    """A run that a master did not finish.

    Args:
        status: exit status of its process, negative if it crashed.
        text: the end of what it printed.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"exit status {status}:\n{text}")
        self.status = status


class Unpacked:
    """An FMU in a folder of its own.

    Args:
        fmu: path of the .fmu file.
        folder: where its files go; must not exist.
    """

    def __init__(self, fmu: Path, folder: Path) -> None:
        self.folder = Path(fmpy.extract(str(fmu), unzipdir=str(folder)))
        self.description = fmpy.read_model_description(str(self.folder))
        self.variables = {item.name: item for item in self.description.modelVariables}
        self.references = {name: item.valueReference for name, item in self.variables.items()}

    def names(self, *causalities: str) -> list[str]:
        """Return the names of the variables of these causalities, in the order of modelDescription.xml."""
        return [name for name, item in self.variables.items() if item.causality in causalities]

    @property
    def shown(self) -> list[str]:
        """Names of the outputs and local variables but for reports on the steps."""
        return [name for name in self.names("output", "local") if not name.startswith("solver.")]

    def by_type(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return names by the type of the variables."""
        found: dict[str, list[str]] = {}
        for name in names:
            found.setdefault(self.variables[name].type, []).append(name)
        return found


class Instance:
    """One instance of an FMU; every call is the FMI call of that name, and raises where its status is not OK.

    Args:
        fmu: the FMU.
        logging: whether the master asks for messages.
    """

    def __init__(self, fmu: Unpacked, logging: bool = True) -> None:
        self.fmu = fmu
        self.messages: list[Message] = []
        self.shown = fmu.shown
        model = fmu.description.coSimulation.modelIdentifier
        self.slave: Any = fmi2.FMU2Slave(
            guid=fmu.description.guid, unzipDirectory=str(fmu.folder), modelIdentifier=model, instanceName="one"
        )
        callbacks = fmi2.fmi2CallbackFunctions()
        callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(self._note)
        callbacks.allocateMemory = fmi2.defaultCallbacks.allocateMemory
        callbacks.freeMemory = fmi2.defaultCallbacks.freeMemory
        self.slave.instantiate(callbacks=callbacks, loggingOn=logging)

    def _note(self, _environment: Any, _name: Any, status: int, category: bytes | None, message: bytes) -> None:
        self.messages.append(Message(status, None if category is None else category.decode(), message.decode()))

    def __enter__(self) -> "Instance":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.slave.freeInstance()

    def set(self, values: Mapping[str, float]) -> None:
        """fmi2SetReal by name, fmi2SetInteger and fmi2SetBoolean for variables of these types."""
        for kind, names in self.fmu.by_type(values).items():
            setter = getattr(self.slave, f"set{kind}")
            setter([self.fmu.references[name] for name in names], [values[name] for name in names])

    def get(self, names: Iterable[str] | None = None) -> tuple[float, ...]:
        """fmi2GetReal by name, or the function of another type; all outputs and local variables if none is given."""
        chosen = self.shown if names is None else list(names)
        found: dict[str, float] = {}
        for kind, some in self.fmu.by_type(chosen).items():
            values = getattr(self.slave, f"get{kind}")([self.fmu.references[name] for name in some])
            found.update(zip(some, values, strict=True))
        return tuple(found[name] for name in chosen)

    def enter(self, values: Mapping[str, float] | None = None, time: float = 0.0) -> None:
        """Set values, set up the experiment and enter initialisation mode."""
        if values:
            self.set(values)
        self.slave.setupExperiment(startTime=time)
        self.slave.enterInitializationMode()

    def start(self, values: Mapping[str, float] | None = None, time: float = 0.0) -> "Instance":
        """Initialise at `time` with these values."""
        self.enter(values, time)
        self.slave.exitInitializationMode()
        return self

    def step(self, time: float, size: float) -> None:
        """fmi2DoStep."""
        self.slave.doStep(currentCommunicationPoint=time, communicationStepSize=size)

    def run(self, first: int, count: int, size: float, names: Iterable[str] | None = None) -> list[tuple[float, ...]]:
        """Do steps number first, ..., first + count - 1 of one size; return what `get` says after each of them."""
        chosen = None if names is None else list(names)
        rows = []
        for k in range(first, first + count):
            self.step(k * size, size)
            rows.append(self.get(chosen))
        return rows

    def save(self) -> bytes:
        """Get the state, serialise and free it."""
        state = self.slave.getFMUstate()
        data: bytes = self.slave.serializeFMUstate(state)
        self.slave.freeFMUstate(state)
        return data

    def restore(self, data: bytes) -> None:
        """Deserialise a state, set and free it."""
        state = self.slave.deSerializeFMUstate(data)
        try:
            self.slave.setFMUstate(state)
        finally:
            self.slave.freeFMUstate(state)


def refused(call: Callable[..., Any], *arguments: Any) -> int:
    """Return the status with which a call is refused."""
    with pytest.raises(FMICallException) as caught:
        call(*arguments)
    status: int = caught.value.status
    return status


def status_of(call: Callable[..., Any], *arguments: Any) -> int:
    """Return 0 for a call that is taken, or the status with which it is refused."""
    try:
        call(*arguments)
    except FMICallException as error:
        return int(error.status)
    return 0


NO_LOADER = "pythonfmu has no loader for macOS" if sys.platform == "darwin" else ""
"""Reason why FMUs of the default back end do not run here; empty where they do."""
needs_loader = pytest.mark.skipif(bool(NO_LOADER), reason=NO_LOADER)
"""Mark of tests that run such FMUs."""


def need(master: str) -> None:
    """Skip a test where a master cannot be installed."""
    if master == "libcosim" and (sys.version_info < (3, 11) or sys.platform == "darwin"):
        pytest.skip("libcosimpy needs Python 3.11 or newer, on Linux or Windows")


def run_fmpy(
    fmu: Path, values: Mapping[str, float], names: Sequence[str], stop: float = 1.0, step: float = 1e-3
) -> Array:
    """Run an FMU in FMPy; see `_run`."""
    return _run("fmpy", fmu, values, names, stop, step)


def run_libcosim(
    fmu: Path, values: Mapping[str, float], names: Sequence[str], stop: float = 1.0, step: float = 1e-3
) -> Array:
    """Run an FMU in DNV's libcosim; see `_run`."""
    return _run("libcosim", fmu, values, names, stop, step)


def run_ecos(
    fmu: Path, values: Mapping[str, float], names: Sequence[str], stop: float = 1.0, step: float = 1e-3
) -> Array:
    """Run an FMU in ecos; see `_run`."""
    return _run("ecos", fmu, values, names, stop, step)


def _run(master: str, fmu: Path, values: Mapping[str, float], names: Sequence[str], stop: float, step: float) -> Array:
    """Run an FMU in a master in a process of its own, which a crash of the master cannot leave.

    Args:
        master: its name.
        fmu: path of the .fmu file.
        values: inputs, which stay constant, and start values by name.
        names: of the variables to record.
        stop: s.
        step: communication step, s.

    Returns:
        Values after each step, shape (n_steps, n_names).

    Raises:
        MasterError: it did not finish.
    """
    need(master)
    task = {"fmu": str(fmu), "values": dict(values), "names": list(names), "count": round(stop / step), "step": step}
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "rows.json"
        command = [sys.executable, __file__, master, json.dumps(task), str(result)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120, check=False)
        if done.returncode:
            raise MasterError(done.returncode, done.stdout[-4000:] + done.stderr[-2000:])
        return np.array(json.loads(result.read_text(encoding="utf-8")), dtype=np.float64)


def _fmpy(fmu: str, values: dict[str, float], names: list[str], count: int, step: float) -> list[list[float]]:
    found = fmpy.simulate_fmu(
        fmu,
        stop_time=count * step,
        output_interval=step,
        start_values=values,
        output=names,
        set_stop_time=False,
        debug_logging=True,
    )
    assert len(found) == count + 1, "the run ended early"
    return [[float(row[name]) for name in names] for row in found[1:]]


def _libcosim(fmu: str, values: dict[str, float], names: list[str], count: int, step: float) -> list[list[float]]:
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    log_output_level(CosimLogLevel.DEBUG)  # it shows a discarded step at this level only
    execution = CosimExecution.from_step_size(round(step * 1e9))  # ns
    index = execution.add_local_slave(CosimLocalSlave(fmu, "one"))
    observer = CosimObserver.create_last_value()
    assert execution.add_observer(observer)
    references = {item.name.decode(): item.reference for item in execution.slave_variables(index)}
    kinds = _types(fmu)
    for name, value in values.items():
        assert getattr(execution, f"{kinds[name].lower()}_initial_value")(index, references[name], value)
    rows = []
    for _ in range(count):
        assert execution.step(), execution.status()
        found: dict[str, float] = {}
        for kind in {kinds[name] for name in names}:
            some = [name for name in names if kinds[name] == kind]
            last = getattr(observer, f"last_{kind.lower()}_values")(index, [references[name] for name in some])
            found.update(zip(some, last, strict=True))
        rows.append([found[name] for name in names])
    return rows


def _types(fmu: str) -> dict[str, str]:
    """Return the types of the variables of an FMU by name."""
    return {item.name: item.type for item in fmpy.read_model_description(fmu).modelVariables}


def _ecos(fmu: str, values: dict[str, float], names: list[str], count: int, step: float) -> list[list[float]]:
    wheel = Path(sys.prefix) / "lib" / "libtbb.so.12"  # ecos links it; the wheel tbb brings it where no loader looks
    if wheel.exists():
        ctypes.CDLL(str(wheel), mode=ctypes.RTLD_GLOBAL)
    from ecospy import EcosSimulation, EcosSimulationStructure

    rows = []
    with EcosSimulationStructure() as structure:
        structure.add_model("one", fmu)
        kinds, types = _types(fmu), {"Real": float, "Float64": float, "Integer": int, "Boolean": bool}
        readers = {"Real": "get_real", "Float64": "get_real", "Integer": "get_integer", "Boolean": "get_bool"}
        given = {f"one::{name}": types[kinds[name]](value) for name, value in values.items()}
        structure.add_parameter_set("start", given)
        with EcosSimulation(structure=structure, step_size=step) as simulation:
            assert simulation.init(parameter_set="start")
            for _ in range(count):
                simulation.step()
                rows.append([getattr(simulation, readers[kinds[name]])(f"one::{name}") for name in names])
            simulation.terminate()
    return rows


if __name__ == "__main__":
    _, chosen_master, task_text, result_path = sys.argv
    masters = {"fmpy": _fmpy, "libcosim": _libcosim, "ecos": _ecos}
    Path(result_path).write_text(json.dumps(masters[chosen_master](**json.loads(task_text))), encoding="utf-8")
    with zipfile.ZipFile(json.loads(task_text)["fmu"]) as archive:
        if "resources/pythonfmu/__init__.py" in archive.namelist():
            os._exit(0)  # pythonfmu's library may crash there: docs/masters.md, "The end of the process"


def run_in_two_threads(fmu: Unpacked, values: Mapping[str, float], n: int, h: float) -> list[list[tuple[float, ...]]]:
    """Return what two instances give in n steps of length h that they take side by side."""
    found: list[list[tuple[float, ...]]] = [[], []]
    with Instance(fmu) as one, Instance(fmu) as other:
        jobs = [
            threading.Thread(target=lambda s, rows: rows.extend(s.run(0, n, h)), args=(slave.start(values), rows))
            for slave, rows in zip((one, other), found, strict=True)
        ]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
    return found
