"""One FMU of a coupling: its instance, its variables by name, and what it can do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from ctypes import c_double, c_int, c_uint
from pathlib import Path
from typing import Any, NamedTuple

from mbfmu.errors import FmuError, StepError, UnknownNameError, nearest
from mbfmu.fmi.archive import read_archive
from mbfmu.fmi.instance import Messages, instantiate
from mbfmu.fmi.plan import KINDS, VALUES
from mbfmu.fmi.reading import BASE, ScaledUnit
from mbfmu.run.fmu import read_fmu, unit_of


class AlikeVariables(NamedTuple):
    """Variables of one type, which are read or set together.

    Args:
        names: of the variables.
        references: theirs, as the FMU's functions take them.
        get, set: functions of the FMU.
    """

    names: tuple[str, ...]
    references: list[Any]
    get: Callable[..., Any]
    set: Callable[..., Any]


class CoupledFmu:
    """One FMU, instantiated.

    Args:
        name: name of the component.
        path: path of the .fmu file.
        folder: folder that it is unpacked to.
        stack: stack of contexts that frees it.
    """

    def __init__(self, name: str, path: Path, folder: Path, stack: ExitStack) -> None:
        self.name, self.messages = name, Messages()
        self.description = read_fmu(path)
        if self.description.coSimulation is None:
            raise FmuError(f"'{path}' is not for co-simulation")
        self.variables = {item.name: item for item in self.description.modelVariables if item.type in VALUES}
        self._kinds: dict[str, str] = {name: KINDS.get(item.type, item.type) for name, item in self.variables.items()}
        self._values = {name: VALUES[item.type] for name, item in self.variables.items()}
        self._known: dict[tuple[str, ...], tuple[AlikeVariables, ...]] = {}
        try:
            self._units = {
                unit.name: ScaledUnit(unit.name, tuple(getattr(base, item) for item in BASE), base.factor, base.offset)
                for unit in self.description.unitDefinitions
                if (base := unit.baseUnit) is not None
            }
        except ValueError as error:
            raise FmuError(f"'{path}' cannot be read: {error}; see mbfmu check") from None
        self.ramps = bool(self.description.coSimulation.canInterpolateInputs)
        self.saves = bool(self.description.coSimulation.canGetAndSetFMUstate)
        self.varies = bool(self.description.coSimulation.canHandleVariableCommunicationStepSize)
        self.alone = bool(self.description.coSimulation.canBeInstantiatedOnlyOncePerProcess)
        self._second = self.description.fmiVersion.startswith("2.")
        self.returns = False  # whether it may be set back to a state before the last communication point
        derived: dict[str, Any] = {
            name: item.derivative for name, item in self.variables.items() if item.derivative is not None
        }
        self._integrals: dict[str, str] = {name: item.name for name, item in derived.items()}
        self.differentiated = set(self._integrals.values())
        try:
            read_archive(path).unpack(folder)
            self.slave = instantiate(str(folder), self.description, name, self.messages.note, alone=False)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            raise FmuError(f"'{path}' cannot be started: {self._said(error)}") from None
        stack.callback(self.slave.freeInstance)

    def names(self, causality: str) -> list[str]:
        """Return the names of the variables of a causality whose values are numbers."""
        return [name for name, item in self.variables.items() if item.causality == causality]

    def set(self, values: Mapping[str, float]) -> None:
        """Set variables by name."""
        for group in self._groups(tuple(values)):
            typed = [self._values[name](values[name]) for name in group.names]
            self._call("a value", group.set, group.references, typed)

    def get(self, names: tuple[str, ...]) -> list[float]:
        """Return the values of variables, a truth value as 1 or 0."""
        values = self.get_by_name(names)
        return [values[name] for name in names]

    def get_by_name(self, names: tuple[str, ...]) -> dict[str, float]:
        """Return the values of variables by name, a truth value as 1 or 0."""
        values_by_name: dict[str, float] = {}
        for group in self._groups(names):
            values = self._call("a value", group.get, group.references)
            values_by_name.update(zip(group.names, map(float, values), strict=True))
        return values_by_name

    def unit(self, name: str) -> tuple[str, ScaledUnit | None]:
        """Return the name of a variable's unit, empty for none, and the unit by its base, None if it has none."""
        text = unit_of(self.variables[name], "")
        return text, self._units.get(text)

    def usual(self, name: str) -> tuple[str, float]:
        """Return unit, which may be empty, and usual size of a variable."""
        return unit_of(self.variables[name], ""), abs(float(self.variables[name].nominal or 1.0))

    def derivative_of(self, name: str) -> str:
        """Return the variable whose time derivative a variable is, empty for none."""
        return self._integrals.get(name, "")

    def is_real(self, name: str) -> bool:
        """Return whether a variable is of type Real."""
        return self._kinds[name] == "Real"

    def ramp(self, slopes: Mapping[str, float]) -> None:
        """Set the time derivatives of the real ones of some inputs by name."""
        slopes = {name: slope for name, slope in slopes.items() if self.is_real(name)}
        if not slopes:
            return
        (group,) = self._groups(tuple(slopes))
        count = len(group.references)
        self._call(
            "input derivatives", self.slave.fmi2SetRealInputDerivatives, self.slave.component,
            (c_uint * count)(*group.references), count, (c_int * count)(*[1] * count),
            (c_double * count)(*slopes.values()),
        )  # fmt: skip

    def start(self) -> None:
        """Enter initialisation mode at t = 0."""
        self._call("the start", self.slave.setupExperiment, startTime=0.0)
        self._call("the start", self.slave.enterInitializationMode)

    def begin(self) -> None:
        """Leave initialisation mode."""
        self._call("the start", self.slave.exitInitializationMode)

    def step(self, time: float, size: float) -> None:
        """Do a communication step.

        Raises:
            StepError: the step failed.
        """
        try:
            self.slave.doStep(time, size, *((0,) if self.returns and self._second else ()))
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            where = f"'{self.name}' cannot step from t = {time:g} s by {size:g} s"
            raise StepError(f"{where}: {self._said(error)}") from None

    def save(self) -> Any:
        """Return the state."""
        return self._call("to save its state", self.slave.getFMUState)

    def restore(self, state: Any) -> None:
        """Restore a state."""
        self._call("a separate state", self.slave.setFMUState, state)

    def forget(self, state: Any) -> None:
        """Free a state."""
        self._call("to free a state", self.slave.freeFMUState, state)

    def _groups(self, names: tuple[str, ...]) -> tuple[AlikeVariables, ...]:
        """Return names by the type whose functions get and set the variables, made once for the same names."""
        if names not in self._known:
            by_kind: dict[str, list[str]] = {}
            for name in names:
                by_kind.setdefault(self._kinds[name], []).append(name)
            self._known[names] = tuple(self._group(kind, some) for kind, some in by_kind.items())
        return self._known[names]

    def _group(self, kind: str, names: Sequence[str]) -> AlikeVariables:
        references = [self.variables[name].valueReference for name in names]
        return AlikeVariables(
            tuple(names), references, getattr(self.slave, f"get{kind}"), getattr(self.slave, f"set{kind}")
        )

    def _call(self, request: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            raise FmuError(f"'{self.name}' refuses {request}: {self._said(error)}") from None

    def _said(self, error: Exception) -> str:
        """Return the messages of the FMU; if there are none, FMPy's error."""
        return "; ".join(dict.fromkeys(self.messages)) or str(error)


def end_of(parts: Mapping[str, CoupledFmu], text: str) -> tuple[CoupledFmu, str]:
    """Return the component and the variable that a text names.

    Raises:
        UnknownNameError: there is no such component or variable.
    """
    component, _, name = text.partition(".")
    if component not in parts:
        raise UnknownNameError(f"'{text}': there is no component '{component}'; {nearest(component, parts)}")
    if name not in parts[component].variables:
        known = parts[component].variables
        raise UnknownNameError(
            f"'{text}': '{component}' has no variable '{name}' whose value is a number; {nearest(name, known)}"
        )
    return parts[component], name


def by_part(ends: Iterable[tuple[CoupledFmu, str]]) -> dict[CoupledFmu, tuple[str, ...]]:
    """Return names of variables, each once, by their FMU."""
    names: dict[CoupledFmu, tuple[str, ...]] = {}
    for part, name in dict.fromkeys(ends):
        names[part] = (*names.get(part, ()), name)
    return names


class Shown:
    """Variables of all FMUs that are read together.

    Args:
        ends: FMU and name of each.
    """

    def __init__(self, ends: Sequence[tuple[CoupledFmu, str]]) -> None:
        self._ends, self._names = ends, by_part(ends)

    def values(self) -> list[float]:
        """Return their values now."""
        values = {part: part.get_by_name(names) for part, names in self._names.items()}
        return [values[part][name] for part, name in self._ends]
