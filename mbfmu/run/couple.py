"""Coupled runs of several FMUs on FMPy, for studies and tests of a coupling; not meant to replace a master tool.

Between communication points every input is held, or extrapolated from the last two points (order 1); in further passes
it is interpolated between the step's ends. An FMU that takes input derivatives gets the slope. Any other FMU gets the
value of the line in the middle of the step, and after the step the value at its end. Inputs that are not real, such as
switches, are held over the step at their value at its start.
"""

import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from ctypes import c_double, c_int, c_uint
from dataclasses import KW_ONLY, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from mbfmu.base.described import Described, takes
from mbfmu.base.result import Result
from mbfmu.errors import FmuError, ResultWarning, StepError, UnknownNameError, UsageError, nearest
from mbfmu.fmi.archive import read_archive
from mbfmu.fmi.instance import Messages, instantiate
from mbfmu.fmi.plan import KINDS, VALUES
from mbfmu.fmi.reading import BASE, ScaledUnit
from mbfmu.fmu.conversion import conversion
from mbfmu.fmu.ssp import Wire, refuse_source, refuse_types
from mbfmu.prepared.settings import InputValue
from mbfmu.run.bonds import AT_REST, BondEnergy, Ends, Tally, bonds_of
from mbfmu.run.fmu import course_of, read_fmu, start_value, unit_of
from mbfmu.run.inputs import Course, courses
from mbfmu.run.model import communication_points

Order = Literal["jacobi", "gauss_seidel"]


@dataclass(frozen=True)
class CoupledResult(Result):
    """Values of a coupled run over time, with the energy that its bonds have made out of nothing.

    Args:
        bonds: the pairs of an effort and a rate by which FMUs exchange power.
    """

    bonds: tuple[BondEnergy, ...] = ()


SAFETY = 0.9
"""Ratio of a chosen step to the step that is expected to meet the tolerance."""
LARGEST, LEAST = 4.0, 0.2
"""Largest and smallest factor by which a step may change at once."""
SHORTEST = 1e-9
"""Smallest ratio of a chosen step to the time of the run."""
SOURCES = ("output", "local", "calculatedParameter")
"""Causalities of the variables that inputs may follow."""


@dataclass(frozen=True)
class CoupleArguments:
    """The arguments of `couple`."""

    fmus: Annotated[
        Mapping[str, str | os.PathLike[str]],
        Described(
            "paths of .fmu files by the name of the component, which has no dot; in Gauss-Seidel order they step "
            "in this order"
        ),
    ]
    connections: Annotated[
        Iterable[Wire | tuple[str, str]],
        Described(
            "each from an output or a local variable, ``component.variable``, to an input of the same type, times "
            "a factor if it is a `Wire`. A value changes to the input's unit on the way; numbers of the unit 1, "
            "or without one, fit any"
        ),
    ]
    stop: Annotated[float, Described("end of the run", unit="s")]
    step: Annotated[float, Described("communication step, s; with a tolerance the longest")]
    _: KW_ONLY
    order: Annotated[
        Order,
        Described(
            "``gauss_seidel``: the FMUs step one after the other, each with the outputs of those before it at the "
            "step's end; ``jacobi``: all step with the outputs at the step's start"
        ),
    ] = "gauss_seidel"
    extrapolation: Annotated[
        int, Described("1: inputs continue the line through their last two values; 0: they are held over the step")
    ] = 1
    passes: Annotated[
        int,
        Described(
            "number of times that each communication step is done: after the first, all FMUs go back and step "
            "again, with inputs on the line from the step's start to the outputs at its end; all must save their "
            "state"
        ),
    ] = 1
    tolerance: Annotated[
        float,
        Described(
            "0: equal steps. Otherwise a step is compared with two of half its length, which are kept, and is "
            "repeated with a shorter one while its real outputs differ by more, relative to 1 and their size; all "
            "FMUs must save their state"
        ),
    ] = 0.0
    values: Annotated[
        Mapping[str, float | bool] | None, Described("parameters and start values by ``component.variable``")
    ] = None
    inputs: Annotated[
        Mapping[str, InputValue] | None,
        Described(
            "by ``component.variable``, numbers, True or False, expressions of ``time``, paths of tables, or "
            "functions of the time"
        ),
    ] = None
    outputs: Annotated[Sequence[str], Described("``component.variable`` of the outputs to record; () for all")] = ()


@takes(CoupleArguments)
def couple(coupling: CoupleArguments) -> CoupledResult:
    """Run several FMUs whose inputs follow outputs of other FMUs or functions of the time.

    Gives a `ResultWarning` if the coupling makes energy out of nothing that is a noticeable part of what it exchanges.

    Returns:
        The recorded outputs at every communication point, and the energy of each bond.

    Raises:
        UsageError, UnknownNameError: the arguments do not fit each other or the FMUs.
        FmuError: an FMU cannot be read or started.
        StepError: a step failed; the message has what the coupling made until then.
    """
    # what the arguments say by themselves
    _check(coupling)
    stop, step = coupling.stop, coupling.step
    if not coupling.fmus:
        raise UsageError("a coupling needs at least one FMU")
    for name in coupling.fmus:
        if "." in name:
            raise UsageError(f"the component '{name}' has a dot in its name, where the name of a variable would begin")
    # the FMUs, the wires between them and their start values
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        parts = {
            name: _Part(name, Path(path), folder / str(index), stack)
            for index, (name, path) in enumerate(coupling.fmus.items())
        }
        wires = [item if isinstance(item, Wire) else Wire(*item) for item in coupling.connections]
        run = _Run(parts, wires, courses(coupling.inputs), coupling.order, coupling.extrapolation, coupling.passes)
        for end, value in (coupling.values or {}).items():
            part, name = _end(parts, end)
            part.set({name: start_value(part.variables[name], value)})
        shown = [_end(parts, item) for item in coupling.outputs] or [
            (part, name) for part in parts.values() for name in part.names("output")
        ]
        # the start of all, whose inputs agree with outputs
        run.start()
        if coupling.tolerance or coupling.passes > 1:
            for part in parts.values():
                if not part.saves:
                    raise UsageError(f"'{part.name}' cannot save its state: leave tolerance and passes out")
        # what is recorded, from t = 0 on
        seen = _Shown(shown)
        times, rows, sums = [0.0], [seen.values()], [run.sums()]

        def note(time: float) -> None:
            times.append(time)
            rows.append(seen.values())
            sums.append(run.sums())

        # the steps: chosen by rollback for a tolerance, else of equal size
        remedy = _remedy(parts.values(), coupling)
        try:
            if coupling.tolerance:
                _controlled(run, stop, step, coupling.tolerance, note)
            else:
                for time, end in pairwise(communication_points(stop, step, step).tolist()):
                    run.step(time, min(step, stop - time))
                    note(end)
        except StepError as error:
            notices = _notices(run.energies(sums), remedy)
            raise StepError("; ".join((str(error), *notices))) from None
    # the energy that each bond made out of nothing, and the result
    bonds = run.energies(sums)
    notices = _notices(bonds, remedy)
    for text in notices:
        warnings.warn(text, ResultWarning, stacklevel=2)
    names = tuple(f"{part.name}.{name}" for part, name in shown)
    units = {f"{part.name}.{name}": unit_of(part.variables[name]) for part, name in shown}
    return CoupledResult(np.array(times), names, np.array(rows), units, notices=notices, bonds=bonds)


def _notices(bonds: Sequence[BondEnergy], remedy: str) -> tuple[str, ...]:
    """Return a notice on the bond that makes most energy, if any of them makes a noticeable part."""
    wrong = [item for item in bonds if item.noticeable]
    if not wrong:
        return ()
    worst = max(wrong, key=lambda item: abs(item.farthest))
    made, exchanged = worst.farthest, float(worst.exchanged[-1])
    gain = "makes {:.3g} J out of nothing" if made > 0 else "takes {:.3g} J away"
    others = f", and {len(wrong) - 1} more pair(s) do likewise" if len(wrong) > 1 else ""
    percent = 100 * abs(made) / exchanged if exchanged else math.inf
    part = f"{percent:.3g} % of the {exchanged:.3g} J exchanged there"
    return (f"the coupling {worst.bond} {gain.format(abs(made))}, {part}{others}; take {remedy}",)


def _remedy(parts: Iterable["_Part"], coupling: CoupleArguments) -> str:
    """Return what would make the coupling's error smaller, of all that is not chosen yet."""
    saves = all(part.saves for part in parts)
    ways = {
        "extrapolation=1": coupling.extrapolation == 0,
        "order='gauss_seidel'": coupling.order == "jacobi",
        f"passes={coupling.passes + 1}": saves,
        "a tolerance such as 1e-5": saves and not coupling.tolerance,
        "a smaller tolerance": coupling.tolerance > 0,
    }
    return ", ".join([*(way for way, open_ in ways.items() if open_), f"or a step shorter than {coupling.step:g} s"])


def _check(coupling: CoupleArguments) -> None:
    order, extrapolation, passes = coupling.order, coupling.extrapolation, coupling.passes
    for label, value in (("stop time", coupling.stop), ("communication step", coupling.step)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"the {label} is {value} s; it must be a positive number")
    if order not in {"jacobi", "gauss_seidel"}:
        raise UsageError(f"there is no order '{order}'; {nearest(order, ('jacobi', 'gauss_seidel'))}")
    if extrapolation not in {0, 1}:
        raise UsageError(f"extrapolation = {extrapolation}: it is 0 (hold) or 1 (a line)")
    if passes < 1:
        raise UsageError(f"passes = {passes}: each step is done at least once")
    if not 0 <= coupling.tolerance < 1:
        raise UsageError(f"the tolerance is {coupling.tolerance}; it is 0 (equal steps) or below 1, such as 1e-6")


class _Group(NamedTuple):
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


class _Part:
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
        self._known: dict[tuple[str, ...], tuple[_Group, ...]] = {}
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
            self.slave.doStep(currentCommunicationPoint=time, communicationStepSize=size)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            where = f"'{self.name}' cannot step from t = {time:g} s by {size:g} s"
            raise StepError(f"{where}: {self._said(error)}") from None

    def _groups(self, names: tuple[str, ...]) -> tuple[_Group, ...]:
        """Return names by the type whose functions get and set the variables, made once for the same names."""
        if names not in self._known:
            by_kind: dict[str, list[str]] = {}
            for name in names:
                by_kind.setdefault(self._kinds[name], []).append(name)
            self._known[names] = tuple(self._group(kind, some) for kind, some in by_kind.items())
        return self._known[names]

    def _group(self, kind: str, names: Sequence[str]) -> _Group:
        references = [self.variables[name].valueReference for name in names]
        return _Group(tuple(names), references, getattr(self.slave, f"get{kind}"), getattr(self.slave, f"set{kind}"))

    def _call(self, request: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
            raise FmuError(f"'{self.name}' refuses {request}: {self._said(error)}") from None

    def _said(self, error: Exception) -> str:
        """Return the messages of the FMU; if there are none, FMPy's error."""
        return "; ".join(dict.fromkeys(self.messages)) or str(error)


def _end(parts: Mapping[str, _Part], text: str) -> tuple[_Part, str]:
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


def _by_part(ends: Iterable[tuple[_Part, str]]) -> dict[_Part, tuple[str, ...]]:
    """Return names of variables, each once, by their FMU."""
    names: dict[_Part, tuple[str, ...]] = {}
    for part, name in dict.fromkeys(ends):
        names[part] = (*names.get(part, ()), name)
    return names


class _Shown:
    """Variables of all FMUs that are read together.

    Args:
        ends: FMU and name of each.
    """

    def __init__(self, ends: Sequence[tuple[_Part, str]]) -> None:
        self._ends, self._names = ends, _by_part(ends)

    def values(self) -> list[float]:
        """Return their values now."""
        values = {part: part.get_by_name(names) for part, names in self._names.items()}
        return [values[part][name] for part, name in self._ends]


class _Source(NamedTuple):
    """The output that an input follows.

    Args:
        part: its FMU.
        name: its name.
        factor, offset: what makes the input's value of its own, units included.
    """

    part: _Part
    name: str
    factor: float
    offset: float

    def of(self, value: float) -> float:
        """Return the value of the input for one of the output."""
        return self.factor * value + self.offset


@dataclass
class _Line:
    """The source of an input: an output of another FMU, or a function of the time."""

    part: _Part
    name: str
    source: _Source | None = None
    signal: Course | None = None
    past: tuple[float, float] | None = None  # time and value at the last communication point

    def value(self, time: float) -> float:
        """Return the value of the source at a time."""
        if self.source is None:
            assert self.signal is not None
            return self.signal.at(time)
        return self.source.of(self.source.part.get((self.source.name,))[0])


class _Saved(NamedTuple):
    """State of a coupled run, to which it can go back.

    Args:
        parts: states of the FMUs by the name of the component.
        past: last values of the inputs.
        sums: energies of the bonds.
    """

    parts: dict[str, Any]
    past: dict[str, tuple[float, float] | None]
    sums: list[tuple[float, float, float]]


class _Run:
    """The FMUs and the sources of their inputs."""

    def __init__(
        self,
        parts: Mapping[str, _Part],
        connections: Sequence[Wire],
        inputs: Mapping[str, Course],
        order: Order,
        extrapolation: int,
        passes: int,
    ) -> None:
        self.parts, self.extrapolation, self.passes = parts, extrapolation, passes
        self.lines: dict[str, _Line] = {}
        plain: list[Wire] = []  # the connections as factors of plain numbers
        for item in connections:
            part, name = self._input(parts, item.end)
            source, shown = _end(parts, item.start)
            where = f"connection {item.start}={item.end}"
            refuse_source(where, item.start, source.variables[shown].causality, SOURCES)
            refuse_types(where, source.variables[shown].type, part.variables[name].type, item.scale)
            if not math.isfinite(item.scale):
                raise UsageError(f"{where}: the factor is {item.factor}; it must be a finite number")
            (quantity, unit), (taken, wanted) = source.unit(shown), part.unit(name)
            factor, offset = conversion(where, quantity, taken, unit, wanted, item.factor, plain=True)
            self.lines[item.end] = _Line(part, name, _Source(source, shown, factor, offset))
            plain.append(replace(item, factor=factor))
        for end, signal in inputs.items():
            part, name = self._input(parts, end)
            self.lines[end] = _Line(part, name, signal=course_of(part.variables[name], signal))
        self.sources = {end: line.source for end, line in self.lines.items() if line.source}
        self.shown = _Shown([(source.part, source.name) for source in self.sources.values()])
        self.needed_later = self._needed_later() if order == "gauss_seidel" else {}
        self.tallies = [Tally(bond) for bond in bonds_of(plain, self._unit)]
        self.powers: dict[str, tuple[str, ...]] = dict.fromkeys(parts, ())  # outputs that make powers, by component
        for tally in self.tallies:
            for start in (tally.bond.effort.start, tally.bond.rate.start):
                part, name = _end(parts, start)
                self.powers[part.name] += (name,)

    def _unit(self, text: str) -> str:
        part, name = _end(self.parts, text)
        return unit_of(part.variables[name])

    def _needed_later(self) -> dict[_Part, tuple[str, ...]]:
        """Return the outputs of each FMU that FMUs stepped after it follow."""
        order = {part: k for k, part in enumerate(self.parts.values())}
        return _by_part(
            (source.part, source.name)
            for end, source in self.sources.items()
            if order[source.part] < order[self.lines[end].part]
        )

    def sums(self) -> list[tuple[float, float, float]]:
        """Return what the bonds have made and exchanged (J), and their largest effort (N or N.m)."""
        return [tally.sums for tally in self.tallies]

    def energies(self, sums: Sequence[Sequence[tuple[float, float, float]]]) -> tuple[BondEnergy, ...]:
        """Return the energies of the bonds, from their sums at all times."""
        columns = np.array(sums).reshape(len(sums), len(self.tallies), 3)
        return tuple(
            BondEnergy(tally.bond, columns[:, k, 0], columns[:, k, 1], AT_REST * float(columns[-1, k, 2]))
            for k, tally in enumerate(self.tallies)
        )

    def _input(self, parts: Mapping[str, _Part], end: str) -> tuple[_Part, str]:
        part, name = _end(parts, end)
        if part.variables[name].causality != "input":
            raise UsageError(f"'{end}' is not an input but {part.variables[name].causality}")
        if end in self.lines:
            raise UsageError(f"'{end}' is connected twice")
        return part, name

    def start(self) -> None:
        """Initialise all FMUs; their inputs agree with the outputs they follow unless a loop has direct feedthrough."""
        for part in self.parts.values():
            part.start()
        for _ in range(len(self.parts) + 1):  # outputs may depend on inputs, along a chain of FMUs
            for line in self.lines.values():
                line.part.set({line.name: line.value(0.0)})
        for part in self.parts.values():
            part.begin()

    def step(self, time: float, size: float) -> None:
        """Do a communication step of all FMUs, once for each pass."""
        now = self._values(time)
        state = self.save() if self.passes > 1 else None
        try:
            # first pass: the sources at the end of the step are extrapolated
            self._pass(now, {}, time, size)
            # further passes: back to the start, and again with the sources at the end as the pass before left them
            for _ in range(1, self.passes):
                ahead = self._values(time + size)
                assert state is not None
                self.restore(state)
                self._pass(now, ahead, time, size)
        finally:
            if state is not None:
                self.forget(state)
        # the values that the next extrapolation goes through
        for end, line in self.lines.items():
            line.past = (time, now[end])

    def _values(self, time: float) -> dict[str, float]:
        """Return the values of all sources at a time, which all FMUs have reached."""
        shown = zip(self.sources.items(), self.shown.values(), strict=True)
        followed = {end: source.of(value) for (end, source), value in shown}
        return {end: followed[end] if line.source else line.value(time) for end, line in self.lines.items()}

    def _pass(self, now: Mapping[str, float], ahead: Mapping[str, float], time: float, size: float) -> None:
        """Step all FMUs once; `ahead` holds the sources at the step's end, as the pass before computed them."""
        reached: dict[_Part, dict[str, float]] = {}  # outputs at the step's end that others follow
        exchanged: dict[str, Ends] = {}  # the inputs as the FMUs get them, and the outputs that make powers
        for name, part in self.parts.items():
            # its inputs over the step: u(t) = held + slope (t - time)
            held: dict[str, float] = {}
            slopes: dict[str, float] = {}
            for end, line in self.lines.items():
                if line.part is part:
                    along = self._along(line, now[end], ahead.get(end), time, size, reached)
                    held[line.name], slopes[line.name] = along
            # an FMU that takes derivatives of inputs gets the line, another its mean held + slope h / 2
            if part.ramps and held:
                part.set(held)
                part.ramp(slopes)
            elif held:
                part.set({item: value + slopes[item] * size / 2 for item, value in held.items()})
            # the step, with the outputs of its bonds before and after it
            shown = self.powers[name]
            first = part.get(shown) if shown else []
            part.step(time, size)
            if shown:
                ends = zip(first, part.get(shown), strict=True)
                exchanged.update(zip((f"{name}.{item}" for item in shown), ends, strict=True))
                bend = (0.0, 1.0) if part.ramps else (0.5, 0.5)
                exchanged.update(
                    (f"{name}.{item}", (value + bend[0] * size * slopes[item], value + bend[1] * size * slopes[item]))
                    for item, value in held.items()
                )
            # inputs as they are at the end of the step
            if any(slopes.values()) and not part.ramps:  # outputs may follow inputs directly
                part.set({item: value + slopes[item] * size for item, value in held.items()})
            # Gauss-Seidel: the FMUs that come later follow the outputs at the end of the step
            if part in self.needed_later:
                reached[part] = part.get_by_name(self.needed_later[part])
        # the energy of each bond, from effort and rate as each side had them
        for tally in self.tallies:
            effort, rate = tally.bond.effort, tally.bond.rate
            tally.add(size, exchanged[effort.start], exchanged[rate.end], exchanged[rate.start], exchanged[effort.end])

    def _along(
        self,
        line: _Line,
        now: float,
        ahead: float | None,
        time: float,
        size: float,
        reached: Mapping[_Part, Mapping[str, float]],
    ) -> tuple[float, float]:
        """Return the value at the step's start, and the slope over the step, of an input."""
        # values that are no real numbers jump
        if not line.part.is_real(line.name):
            return now, 0.0
        # a function of the time: its secant over the step
        if line.signal is not None:
            (value,), (rate,) = line.signal.secants((time, time + size))
            return value, rate if self.extrapolation or ahead is not None else 0.0
        # an output at the end of the step: of an FMU that was stepped before (Gauss-Seidel), or of the last pass
        reached_value = None
        if line.source is not None and line.source.part in reached:
            reached_value = line.source.of(reached[line.source.part][line.source.name])
        if ahead is not None:
            return now, ((ahead if reached_value is None else reached_value) - now) / size
        if reached_value is not None:
            return (now, (reached_value - now) / size) if self.extrapolation else (reached_value, 0.0)
        # the line through the last two communication points, or the last value
        if self.extrapolation and line.past is not None:
            before, value = line.past
            return now, (now - value) / (time - before)
        return now, 0.0

    def save(self) -> "_Saved":
        """Return the state of all FMUs."""
        return _Saved(
            {name: part.slave.getFMUState() for name, part in self.parts.items()},
            {end: line.past for end, line in self.lines.items()},
            self.sums(),
        )

    def restore(self, state: "_Saved") -> None:
        """Restore a state of all FMUs."""
        for name, part in self.parts.items():
            part.slave.setFMUState(state.parts[name])
        for end, line in self.lines.items():
            line.past = state.past[end]
        for tally, sums in zip(self.tallies, state.sums, strict=True):
            tally.sums = sums

    def forget(self, state: "_Saved") -> None:
        """Free a state."""
        for name, part in self.parts.items():
            part.slave.freeFMUState(state.parts[name])

    def followed(self) -> list[float]:
        """Return the current values for the real inputs that follow outputs."""
        lines = (line for line in self.lines.values() if line.source is not None)
        return [line.value(0.0) for line in lines if line.part.is_real(line.name)]


def _controlled(run: _Run, stop: float, step: float, tolerance: float, note: Callable[[float], None]) -> None:
    """Step by rollback, comparing a step with two halves; the coupling error has the order of extrapolation plus 1."""
    time, size, power = 0.0, step, run.extrapolation + 2
    while time < stop * (1 - 1e-12):
        size = min(size, step, stop - time)
        if size < SHORTEST * stop:
            raise StepError(f"the coupling meets no tolerance of {tolerance:g} at t = {time:g} s: take a larger one")
        # the same span by one step and, from the saved state, by two halves
        state = run.save()
        try:
            run.step(time, size)
            whole = run.followed()
            run.restore(state)
            run.step(time, size / 2)
            run.step(time + size / 2, size / 2)
            halves = run.followed()
            # error: the largest |a - b| / (1 + |b|) of the inputs; within the tolerance the halves are kept
            error = max((abs(a - b) / (1 + abs(b)) for a, b in zip(whole, halves, strict=True)), default=0.0)
            if error <= tolerance:
                time = stop if stop - time - size < 1e-12 * stop else time + size
                note(time)
            else:
                run.restore(state)
        finally:
            run.forget(state)
        # next step: h (tolerance / error)^(1 / (order + 1))
        factor = SAFETY * (tolerance / error) ** (1 / power) if error else LARGEST
        size *= min(LARGEST, max(LEAST, factor))
