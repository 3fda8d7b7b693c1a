"""The hydraulic manipulator in other people's masters: libcosim, ecos, and libcosim from one .ssp file.

Three FMUs: the valve's manoeuvre, the oil, the mechanism. All masters exchange values between steps and hold them, as
`mbfmu.couple` does by default, so all have to give the same numbers.

Run: python -m examples.coupled.masters [--plot FILE] (needs libcosimpy and ecospy, which the extra
`masters` brings: python -m pip install -e ".[masters]")
"""

import ctypes
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import mbfmu
from examples.coupled import manipulator
from examples.report import Array, Found, Panel, Row, present
from mbfmu.fmu.ssp import Wire, write_ssp
from mbfmu.model import Block, Defined

STOP, STEP = 3.0, 1e-3
SHOWN = ("arm.length.distance", "oil.f")
CONNECTIONS = (*manipulator.CONNECTIONS, Wire("valve.k", "oil.k"))


def valve() -> Block:
    """Return the valve's manoeuvre M1 as a component of its own."""
    down, up = "max(0, min(1, (time - 2)/0.001))", "max(0, min(1, (time - 6)/0.002))"
    k = Defined("k", f"{manipulator.K0} - 0.01*{down} + 0.03*{up}", "1", "position of the valve", output=True)
    return Block("valve", defined=(k,), description="The valve of manoeuvre M1")


def by_libcosim(execution: object, index: Callable[[str], int]) -> Array:
    """Step libcosim's execution to the end; return the quantities of `SHOWN` at every point, shape (n, 2)."""
    from libcosimpy.CosimObserver import CosimObserver

    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)  # type: ignore[attr-defined]
    shown = []
    for item in SHOWN:
        component, _, name = item.partition(".")
        variables = execution.slave_variables(index(component))  # type: ignore[attr-defined]
        shown.append((index(component), next(v.reference for v in variables if v.name.decode() == name)))
    rows = []
    for _ in range(round(STOP / STEP)):
        assert execution.step(), "libcosim could not step"  # type: ignore[attr-defined]
        rows.append([observer.last_real_values(slave, [reference])[0] for slave, reference in shown])
    return np.array(rows)


def libcosim(fmus: dict[str, Path]) -> Array:
    """Build the system in libcosim, part by part."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimSlave import CosimLocalSlave

    log_output_level(CosimLogLevel.FATAL)
    execution = CosimExecution.from_step_size(round(STEP * 1e9))  # ns
    slaves = {name: execution.add_local_slave(CosimLocalSlave(str(path), name)) for name, path in fmus.items()}
    references = {
        f"{name}.{item.name.decode()}": item.reference
        for name, slave in slaves.items()
        for item in execution.slave_variables(slave)
    }
    for item in CONNECTIONS:
        (start, end) = (slaves[text.partition(".")[0]] for text in (item.start, item.end))
        code = execution.connect_real_variables(start, references[item.start], end, references[item.end])
        assert code == 0, "libcosim could not connect"
    return by_libcosim(execution, slaves.__getitem__)


def libcosim_from_ssp(fmus: dict[str, Path]) -> Array:
    """Write one .ssp file and let libcosim run that."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level

    log_output_level(CosimLogLevel.FATAL)
    with tempfile.TemporaryDirectory() as folder:
        path = write_ssp(Path(folder) / "manipulator.ssp", fmus, CONNECTIONS, stop=STOP, step=STEP)
        execution = CosimExecution.from_ssp_file(ssp_path=str(path), step_size=round(STEP * 1e9))
        return by_libcosim(execution, execution.slave_index_from_instance_name)


def ecos(fmus: dict[str, Path]) -> Array:
    """Build the system in ecos."""
    wheel = Path(sys.prefix) / "lib" / "libtbb.so.12"  # ecos links it; the wheel tbb brings it where no loader looks
    if wheel.exists():
        ctypes.CDLL(str(wheel), mode=ctypes.RTLD_GLOBAL)
    from ecospy import EcosSimulation, EcosSimulationStructure

    rows = []
    with EcosSimulationStructure() as structure:
        for name, path in fmus.items():
            structure.add_model(name, str(path))
        for item in CONNECTIONS:
            structure.make_real_connection(item.start.replace(".", "::", 1), item.end.replace(".", "::", 1))
        with EcosSimulation(structure=structure, step_size=STEP) as simulation:
            assert simulation.init()
            for _ in range(round(STOP / STEP)):
                simulation.step()
                rows.append([simulation.get_real(name.replace(".", "::", 1)) for name in SHOWN])
            simulation.terminate()
    return np.array(rows)


MASTERS: dict[str, Callable[[dict[str, Path]], Array]] = {
    "libcosim": libcosim,
    "libcosim, .ssp": libcosim_from_ssp,
    "ecos": ecos,
}


def run() -> Found:
    """Run the three FMUs in every master."""
    with tempfile.TemporaryDirectory() as folder:
        fmus = manipulator.fmus(Path(folder), "native")
        fmus["valve"] = mbfmu.export(valve(), Path(folder) / "valve.fmu", backend="native")
        ours = mbfmu.couple(
            fmus, CONNECTIONS, STOP, STEP, order="jacobi", extrapolation=0, outputs=SHOWN, error=False
        )  # as masters do
        found = {name: master(fmus) for name, master in MASTERS.items()}
    points, exact = manipulator.monolithic(STEP, STOP)
    numbers, curves = {}, {}
    for name, series in found.items():
        numbers[f"{name}, length against couple"] = float(np.abs(series[:, 0] - ours[SHOWN[0]][1:]).max())
        numbers[f"{name}, length"] = float(np.abs(series[:, 0] - exact[SHOWN[0]][1:]).max())
        curves[name] = (points[1:], series[:, 0] - exact[SHOWN[0]][1:])
    curves["mbfmu.couple"] = (points, ours[SHOWN[0]] - exact[SHOWN[0]])
    panel = Panel("error of the cylinder's length, 1 ms, inputs held", "t [s]", "|error| [m]", curves, log=True)
    return Found(numbers, (panel,), 1)


def main() -> dict[str, float]:
    """Return each master's largest difference of the length, m, from one system and from `mbfmu.couple`."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        (name, f"{found[f'{name}, length against couple']:.1e} m", f"{found[f'{name}, length']:.1e} m")
        for name in MASTERS
    ]


if __name__ == "__main__":
    present("Error of the cylinder's length in other masters, 3 s in steps of 1 ms", run, rows, "against mbfmu.couple")
