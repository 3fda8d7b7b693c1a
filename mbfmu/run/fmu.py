"""The run of an FMU through FMPy: what it is given, and what it gives."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.base.result import Result, matching, roles
from mbfmu.errors import FmuError, UnknownNameError, UsageError, nearest
from mbfmu.fmi.annotations import derivatives_of
from mbfmu.fmi.archive import DESCRIPTION, Archive, read_archive
from mbfmu.fmi.events import PERIODIC
from mbfmu.fmi.fault import one_line
from mbfmu.fmi.plan import VALUES, Plan, has_event_mode
from mbfmu.fmi.reading import KINDS
from mbfmu.fmi.scalars import WIDE, ScalarIndex, fits, scalars
from mbfmu.fmu.interface import STEP, TOLERANCE
from mbfmu.kernel.limits import CLOSE
from mbfmu.model import RotationalMove, TranslationalMove
from mbfmu.prepared.settings import InputValue
from mbfmu.run.inputs import Constant, Course, InputFormula, as_type, pieces
from mbfmu.run.model import POINTS, communication_points

TIMEOUT = 60.0
"""Seconds after which an FMU that does nothing is ended."""


def read_fmu(path: Path, content: bytes | None = None, *, kind: str | None = None, validate: bool = True) -> Any:
    """Return FMPy's model description of an .fmu file, with the scalar variables that a master of FMI 2.0 sees.

    Args:
        path: path of the file.
        content: its bytes if they are known.
        kind: use, a key of `KINDS`, to which the description is reduced; None: all that the FMU has.
        validate: whether a description that breaks the XML schema is an error.

    Raises:
        FmuError: the file is missing, unsafe to unpack, of another version than FMI 2.0 and 3.0, for scheduled
            execution alone, not for the requested use, breaks the schema, or FMPy cannot read it.
    """
    import fmpy

    if content is None and not path.is_file():
        raise FmuError(f"there is no FMU '{path}'")
    archive = read_archive(path, content)
    root = _root_of(path, archive, validate)
    try:
        description = fmpy.read_model_description(BytesIO(archive.data), validate=False)
        if description.modelExchange is not None:
            variables = {item.name: item for item in description.modelVariables}
            for name, of in derivatives_of(root).items():
                if name in variables and of in variables:
                    variables[name].derivative = variables[of]
        description = scalars(description)
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        raise FmuError(f"'{path}' is not an FMU that FMPy can read: {one_line(str(error))}") from None
    if description.coSimulation is None and description.modelExchange is None:
        raise FmuError(f"'{path}' is only for scheduled execution: have its tool export it for co-simulation")
    if kind is not None:
        _reduce(path, description, kind)
    return description


def _reduce(path: Path, description: Any, kind: str) -> None:
    """Reduce FMPy's model description to a use of the FMU.

    Raises:
        FmuError: the FMU is not for it.
    """
    uses = {"cs": description.coSimulation, "me": description.modelExchange}
    if uses[kind] is None:
        (other,) = uses.keys() - {kind}
        raise FmuError(f"'{path}' is for {KINDS[other][1]} only: leave out --kind, or use --kind {other}")
    description.coSimulation = uses["cs"] if kind == "cs" else None
    description.modelExchange = uses["me"] if kind == "me" else None


def _root_of(path: Path, archive: Archive, validate: bool) -> Any:
    """Return the root of the description of an FMU; see `read_fmu` for errors."""
    from mbfmu.fmi import xml  # only FMUs need lxml

    data = archive.read(DESCRIPTION)
    root, fault = xml.parse_description(data)
    if fault is not None and fault.kind == xml.VERSION:
        raise FmuError(
            f"'{path}' {fault.text.partition(':')[0].removeprefix('the FMU ')}: have its tool export it as "
            "FMI 2.0 or 3.0"
        )
    if fault is not None:
        raise FmuError(f"'{path}' cannot be read: {DESCRIPTION}: {fault}")
    breaches = None
    if validate:
        root, breaches = xml.validate(data, root)
    if breaches is not None:
        text, line = next(breaches, ("it breaks the schema", None))
        where = "" if line is None else f", line {line}"
        raise FmuError(
            f"'{path}': {DESCRIPTION}{where} breaks the XML schema of FMI {root.get('fmiVersion')}: "
            f"{one_line(text)}; see mbfmu check, and --no-validate"
        )
    return root


@dataclass(frozen=True)
class FmuRun:
    """A run of an FMU, as it is requested.

    Args:
        path: path of the file, or of the folder it is unpacked to.
        description: FMPy's model description.
        points: times of the output points, s, shape (n_t,).
        values: start values by name.
        shown: names of the variables of the result.
        chosen: names that tables and pictures show.
        given: the inputs that change, by name.
        own: length of a step, s.
        tolerance: relative tolerance of the solver in model exchange; None: that of the FMU.
    """

    path: Path
    description: Any
    points: npt.NDArray[np.float64]
    values: Mapping[str, Any]
    shown: tuple[str, ...]
    chosen: tuple[str, ...]
    given: Mapping[str, Course]
    own: float
    tolerance: float | None = None

    @property
    def plan(self) -> Plan:
        """The plan that `follow` keeps to."""
        first, last = (float(self.points[k]) for k in (0, -1))
        return Plan(first, last, dict(self.values), self.shown, tuple(self.given), self.tolerance)

    def rows(self) -> Iterator[list[float]]:
        """Give the rows for `follow`: steps of the FMU's own length if an input changes, with its line over each.

        In model exchange inputs follow the lines. In co-simulation an FMU that takes derivatives of inputs gets them,
        any other the means over each step: an error of second order.
        A motion (see `AxisMove`) is given as it is at the start of the step, as the FMU itself continues along its
        parabola.
        """
        about = self.description.coSimulation
        variables = {item.name: item for item in self.description.modelVariables}
        motions = _motions(variables)
        means = [
            variables[name].type == "Real"
            and about is not None
            and not (about.canInterpolateInputs or name in motions or variables[name].variability == "discrete")
            for name in self.given
        ]
        free = about is None or about.canHandleVariableCommunicationStepSize
        whole = [VALUES[variables[name].type] is round for name in self.given]
        for start, end in pairwise(self.points.tolist()):
            times = (
                pieces(self.given.values() if free else (), start, end, self.own, True) if self.given else [start, end]
            )
            lines = [item.lines(times) if free else item.secants(times) for item in self.given.values()]
            for k, (t, t1) in enumerate(pairwise(times)):
                yield [
                    t,
                    t1 - t,
                    *(
                        values[k] + (rates[k] * (t1 - t) / 2 if mean else 0.0)
                        for mean, (values, rates) in zip(means, lines, strict=True)
                    ),
                    *(
                        item.rest(t) if is_whole else rates[k]
                        for item, is_whole, (_, rates) in zip(self.given.values(), whole, lines, strict=True)
                    ),
                ]
            held = [
                item.rest(end) if is_whole else 0.0 for item, is_whole in zip(self.given.values(), whole, strict=True)
            ]
            yield [end, 0.0, *(item.at(end) for item in self.given.values()), *held]

    def result(
        self, table: npt.NDArray[np.float64], seconds: float, messages: Iterable[str],
        rests: npt.NDArray[np.int16] | None = None,
    ) -> Result:  # fmt: skip
        """Return the result of the run.

        Args:
            table: time and the variables to show, shape (n_t, 1 + n_shown).
            seconds: wall time, s.
            messages: what the FMU said.
            rests: what the table lacks of the 64-bit integers to show, in their order, shape (n_t, n_wide); None:
                nothing.
        """
        variables = {item.name: item for item in self.description.modelVariables}
        notices = [*messages]
        outputs = {name: item for name, item in variables.items() if item.causality == "output"}
        texts = [name for name, item in outputs.items() if item.type == "String"]
        if texts:
            notices.append(f"texts are left out of the result: {', '.join(texts)}")
        known = (*VALUES, "String", "Clock")  # a clock has ticked or not at an event, and there is none between steps
        others = [f"{name} ({_kind(item)})" for name, item in outputs.items() if item.type not in known]
        if others:
            notices.append(f"left out of the result: {', '.join(others)}")
        ticking = PERIODIC if has_event_mode(self.description) else ()
        clocks = [
            name
            for name, item in variables.items()
            if item.type == "Clock" and item.causality == "input" and item.intervalVariability not in ticking
        ]
        if clocks and not (self.description.generationTool or "").startswith("mbfmu"):  # whose need no activation
            notices.append(f"these clocks were never activated: {', '.join(clocks)}")
        wrong = [name for name, column in zip(self.shown, table[:, 1:].T, strict=True) if not np.isfinite(column).all()]
        if wrong:
            notices.append(f"not finite at times: {', '.join(wrong)}")
        return Result(
            table[:, 0],
            self.shown,
            table[:, 1:],
            {name: unit_of(variables[name]) for name in self.shown},
            seconds=seconds,
            roles=roles(
                (item.name, item.causality, unit_of(item), item.derivative and item.derivative.name)
                for item in (variables[name] for name in self.shown)
            ),
            notices=tuple(notices),
            chosen=self.chosen,
            whole={} if rests is None else self._whole(table, rests),
        )

    def _whole(self, table: npt.NDArray[np.float64], rests: npt.NDArray[np.int16]) -> dict[str, npt.NDArray[Any]]:
        """Return the exact values of the 64-bit integers, by name."""
        types = {item.name: getattr(item.valueReference, "type", "") for item in self.description.modelVariables}
        wide = [name for name in self.shown if types[name] in WIDE]
        return {
            name: np.array(
                [int(value) + rest for value, rest in zip(table[:, 1 + self.shown.index(name)], column, strict=True)],
                dtype=types[name].lower(),
            )
            for name, column in zip(wide, rests.T.tolist(), strict=True)
        }


def fmu_run(
    path: Path,
    description: Any,
    stop: float,
    step: float | None,
    tolerance: float | None,
    interval: float | None,
    values: Mapping[str, Any],
    given: Mapping[str, Course],
    show: Sequence[str] = (),
    start: float | None = None,
) -> FmuRun:
    """Return the run of an FMU.

    Args:
        path: path of the file, or of the folder it is unpacked to.
        description: FMPy's model description.
        stop: end of the run, s.
        step: value of solver.step, s; None: the FMU's own.
        tolerance: value of solver.tolerance; in model exchange relative tolerance of the solver; None: the FMU's own.
        interval: time between outputs, s; None: about 500 points.
        values: parameters and start values by name.
        given: inputs over time, by name.
        show: see `simulate`.
        start: begin of the run, s; None: that of its DefaultExperiment.

    Raises:
        UsageError, UnknownNameError: an argument is invalid.
    """
    # names that the FMU has; inputs that can be driven
    variables = {item.name: item for item in description.modelVariables}
    for name in [*values, *given]:
        if name not in variables:
            raise UnknownNameError(f"'{path}' has no variable '{name}'; {nearest(name, variables)}")
    for name in given:
        if variables[name].causality != "input":
            raise UsageError(f"'{name}' of '{path}' is not an input but {variables[name].causality}")
        if variables[name].type not in VALUES:
            raise UsageError(f"input '{name}' of '{path}' is {_kind(variables[name])}, which keeps its start value")
    # the time: from start to stop
    first, source = _start_of(path, description, start)
    if not (math.isfinite(stop) and stop > first):
        raise UsageError(f"the stop time is {stop} s; it must be a time after the start, {first:g} s{source}")
    # start values, among them step and tolerance, which are parameters of the FMU
    start_values = {name: start_value(variables[name], value) for name, value in values.items()}
    default = float(variables[STEP].start) if STEP in variables else _default_step(description)
    if step is not None:
        if STEP not in variables:
            raise UsageError(f"'{path}' has no parameter {STEP}")
        start_values[STEP] = float(step)
    exchange = description.coSimulation is None
    if exchange and tolerance is not None and not 0.0 < tolerance < 1.0:
        raise UsageError(f"the tolerance is {tolerance}; in model exchange it must be between 0 and 1, such as 1e-8")
    if tolerance is not None and not exchange:
        if TOLERANCE not in variables:
            raise UsageError(f"'{path}' has no parameter {TOLERANCE}")
        start_values[TOLERANCE] = float(tolerance)
    # communication points; inputs, which begin with their values there
    step_size = start_values.get(STEP, default)
    points = _points(path, description, first, stop, step_size, interval)
    inputs = {name: course_of(variables[name], item) for name, item in given.items()}
    for item in inputs.values():
        if isinstance(item, InputFormula):
            item.column(points)
        start_values[item.name] = VALUES[variables[item.name].type](item.at(first)) + item.rest(first)
    # variables of the result
    shown = tuple(
        item.name
        for item in description.modelVariables
        if item.causality in {"input", "output", "local"} and item.type in VALUES and item.name != "time"
    )
    return FmuRun(
        path,
        description,
        points,
        start_values,
        shown,
        matching(show, shown),
        {name: item for name, item in inputs.items() if not isinstance(item, Constant)},
        step_size,
        tolerance if exchange else None,
    )


def _start_of(path: Path, description: Any, start: float | None) -> tuple[float, str]:
    """Return the start time of a run, s, and a clause that says where it is from."""
    experiment = description.defaultExperiment
    if start is None and experiment is not None and experiment.startTime is not None:
        stated = float(experiment.startTime)
        if math.isfinite(stated):
            return stated, f", as the DefaultExperiment of '{path}' says: --start gives another" if stated else ""
    if start is not None and not math.isfinite(start):
        raise UsageError(f"the start time is {start} s; it must be a finite number")
    return start or 0.0, ""


def _points(
    path: Path, description: Any, start: float, stop: float, step: float, interval: float | None
) -> npt.NDArray[np.float64]:
    """Return the output points of an FMU's run; one that takes steps of one length only has intervals of one length."""
    about = description.coSimulation
    fixed = about is not None and not about.canHandleVariableCommunicationStepSize
    if fixed and interval is None and step > 0:
        n = round((stop - start) / step)
        if n and math.isclose(n * step, stop - start, rel_tol=CLOSE):
            interval = step * next(k for k in range(max(1, round(n / POINTS)), 0, -1) if n % k == 0)
    points = communication_points(stop, step, interval, start)
    if fixed and len(points) > 2 and not math.isclose(points[-1] - points[-2], points[1] - points[0], rel_tol=1e-6):
        raise UsageError(
            f"'{path}' takes steps of one length only: the time from {start:g} s to {stop:g} s must be a multiple of "
            f"the output interval, {points[1] - points[0]:g} s"
        )
    return points


def worded(description: Any, inputs: Mapping[str, InputValue]) -> tuple[dict[str, Any], dict[str, InputValue]]:
    """Return the inputs that are texts or whole numbers of more than 53 bits, and the others with words as numbers.

    Words are ``true``, ``false`` and the names of an enumeration's items.

    Raises:
        UsageError: a text input gets something else.
    """
    variables = {item.name: item for item in description.modelVariables}
    texts: dict[str, Any] = {}
    rest: dict[str, InputValue] = {}
    for name, value in inputs.items():
        variable = variables.get(name)
        if variable is not None and variable.type == "String":
            if not isinstance(value, str):
                raise UsageError(f"input {name} is a text, which stays as it is during the run; {value!r} is none")
            texts[name] = value
        elif variable is not None and variable.type == "Integer" and (whole := _whole_of(value)) is not None:
            texts[name] = whole
        elif variable is not None and isinstance(value, str):
            rest[name] = _words(variable).get(value.strip(), value)
        else:
            rest[name] = value
    return texts, rest


def _whole_of(value: Any) -> int | None:
    """Return a whole number that a floating-point number cannot hold, from a number or its text; None for others."""
    try:
        whole = int(value) if isinstance(value, str | int) else None
    except ValueError:
        return None
    return None if whole is None or int(float(whole)) == whole else whole


def _words(variable: Any) -> dict[str, float]:
    """Return the numbers that words stand for as values of a variable."""
    if variable.type == "Boolean":
        return {"true": 1.0, "false": 0.0}
    items = variable.declaredType.items if variable.type == "Enumeration" and variable.declaredType is not None else ()
    return {str(item.name): float(item.value) for item in items}


def course_of(variable: Any, function: Course) -> Course:
    """Return the course of an input as its variable's type; see `as_type`.

    An instance of FMI 3.0, which has types of several sizes, rejects what is beyond them.
    """
    return as_type(function, variable.type, any_size=isinstance(variable.valueReference, ScalarIndex))


def start_value(variable: Any, value: Any) -> Any:
    """Return a start value as its variable's type.

    Raises:
        UsageError: it is not of that type.
    """
    if variable.type == "String":
        return str(value)
    if variable.type not in VALUES:
        raise UsageError(f"{variable.name} is {_kind(variable)}, which keeps its start value")
    if variable.causality == "structuralParameter":
        raise UsageError(f"{variable.name} is a structural parameter, which keeps its start value {variable.start}")
    words = _words(variable)
    text = value.strip() if isinstance(value, str) else value
    try:
        exact = _whole_of(text) if variable.type == "Integer" else None
        real = float(words.get(text, text) if isinstance(text, str) else text)
        typed = VALUES[variable.type](real) if exact is None else exact
        if variable.type == "Real" or typed in (real, exact):
            if not fits(variable.valueReference, typed):
                kind = getattr(variable.valueReference, "type", variable.type)
                raise UsageError(f"{variable.name} = {value!r} is beyond its type {kind}")
            return typed
    except (TypeError, ValueError, OverflowError):
        pass
    wanted = {"Real": "a number", "Boolean": "true or false"}.get(variable.type, "a whole number")
    named = f" or {nearest('', words).removeprefix('known: ')}" if variable.type == "Enumeration" and words else ""
    raise UsageError(f"{variable.name} = {value!r}: it must be {wanted}{named}")


def _kind(variable: Any) -> str:
    """Return what a variable is whose type FMI 2.0 does not have, or whose elements are no variables."""
    return f"of type {variable.type}" + (f" with the shape {list(variable.shape)}" if variable.shape else "")


def _motions(variables: Mapping[str, Any]) -> set[str]:
    """Return the names of the inputs that are motions: coordinate, rate and acceleration of one axis."""
    inputs = {name for name, item in variables.items() if item.causality == "input"}
    motions: set[str] = set()
    for name in inputs:
        axis = name.rpartition(".")[0]
        for kind in (RotationalMove, TranslationalMove):
            motion = {f"{axis}.{part}" for part, _, _ in kind.given}
            motions |= motion if motion <= inputs else set()
    return motions


def _default_step(description: Any) -> float:
    experiment = description.defaultExperiment
    stated = float(experiment.stepSize) if experiment is not None and experiment.stepSize else 0.0
    return stated if 0.0 < stated < math.inf else 1e-2


def unit_of(variable: Any, default: str = "1") -> str:
    """Return the unit of a variable of FMPy's model description, from the variable or its type; else the default."""
    return variable.unit or (variable.declaredType.unit if variable.declaredType is not None else "") or default
