"""One instance of the FMU under test, stepped on a grid."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave

from mbfmu.fmi.calls import Scalars
from mbfmu.fmi.events import settle
from mbfmu.fmi.instance import step, watched

Outputs = dict[str, Any]
Variable = dict[str, Any]


class Instance:
    """One instance of the FMU under test, stepped on the grid t0 + n h; one of FMI 3.0 behind calls of FMI 2.0."""

    interfaces: Mapping[str, type[Any]] = MappingProxyType({"2.0": FMU2Slave, "3.0": FMU3Slave})
    """Class that wraps the functions of the instance's interface, by the version of FMI."""
    options: Mapping[str, Any] = MappingProxyType({})
    """Abilities of the master with which an instance of FMI 3.0 is created."""

    def __init__(self, job: dict[str, Any], callbacks: Any, name: str) -> None:
        self.job = job
        self.h: float = job["step"]
        self.ready = False
        """Whether it has been initialised."""
        self.ended = False
        """Whether it has asked for the end of the run."""
        self.slave = self.library(job, name)
        if job["version"] == "2.0":
            self.slave.instantiate(callbacks=callbacks, loggingOn=True)
        else:
            self.slave.instantiate(logMessage=callbacks, loggingOn=True, **self.options)
            self.slave = Scalars(self.slave, job["starts"])

    @classmethod
    def library(cls, job: dict[str, Any], name: str = "check") -> Any:
        """Load the library; the functions of its interface are looked for."""
        return watched(
            cls.interfaces[job["version"]](
                guid=job["guid"], modelIdentifier=job["identifier"], unzipDirectory=job["folder"], instanceName=name
            )
        )

    def free(self) -> None:
        """Free the instance, but not the library."""
        free_instance = "fmi2FreeInstance" if self.job["version"] == "2.0" else "fmi3FreeInstance"
        getattr(self.slave, free_instance)(self.slave.component)

    def settle(self) -> float:
        """Update the discrete states until they need no other update; return the time of the next event, s.

        Raises:
            Endless: they always need another.
        """
        self.ended, time = settle(self.slave)
        return time

    def initialise(self, stop: float | None = None) -> None:
        """Go through initialisation mode with the start values."""
        self.slave.setupExperiment(tolerance=self.job["tolerance"], startTime=self.job["start"], stopTime=stop)
        self.slave.enterInitializationMode()
        self.slave.exitInitializationMode()
        self.ready = True

    def step(self, n: float, size: float | None = None) -> None:
        """Step from t0 + n h, by h if no other size is given."""
        size = self.h if size is None else size
        step(self.slave, self.job["start"] + n * self.h, size, self.job["asynchronous"])

    def run(self, first: int, steps: int) -> list[Outputs]:
        """Return the outputs now and after each of some steps, the first from t0 + first h."""
        result = [self.outputs()]
        for n in range(first, first + steps):
            self.step(n)
            result.append(self.outputs())
        return result

    def get(self, variables: list[Variable]) -> list[Any]:
        """Get the values of some variables."""
        return [getattr(self.slave, f"get{v['base']}")([v["reference"]])[0] for v in variables]

    def set(self, variable: Variable, value: Any) -> None:
        """Set the value of a variable."""
        getattr(self.slave, f"set{variable['base']}")([variable["reference"]], [value])

    def outputs(self) -> Outputs:
        """Get the value of every output."""
        values_by_name: Outputs = {}
        for kind, variables in self.job["outputs"].items():
            values = getattr(self.slave, f"get{kind}")(list(variables.values()))
            values_by_name.update(zip(variables, values, strict=True))
        return values_by_name
