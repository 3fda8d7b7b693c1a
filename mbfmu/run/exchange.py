"""The exchange between the FMUs of a coupling: a communication step of all, with what each gets from the others."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from mbfmu.errors import StepError, UsageError
from mbfmu.fmu.conversion import conversion
from mbfmu.fmu.ssp import Wire, refuse_source, refuse_types
from mbfmu.run.bonds import AT_REST, BondEnergy, Ends, Tally, bonds_of
from mbfmu.run.fmu import course_of, unit_of
from mbfmu.run.inputs import Course
from mbfmu.run.part import CoupledFmu, Shown, by_part, end_of

Order = Literal["jacobi", "gauss_seidel"]

Steps = Sequence[tuple[float, float]]
"""Times and sizes of steps, s."""
SAFETY = 0.9
"""Ratio of a chosen step to the step that is expected to meet the tolerance."""
LARGEST, LEAST = 4.0, 0.2
"""Largest and smallest factor by which a step may change at once."""
SHORTEST = 1e-9
"""Smallest ratio of a chosen step to the time of the run."""
SOURCES = ("output", "local", "calculatedParameter")
"""Causalities of the variables that inputs may follow."""


class FollowedOutput(NamedTuple):
    """The output that an input follows.

    Args:
        part: its FMU.
        name: its name.
        factor, offset: what makes the input's value of its own, units included.
    """

    part: CoupledFmu
    name: str
    factor: float
    offset: float

    def of(self, value: float) -> float:
        """Return the value of the input for one of the output."""
        return self.factor * value + self.offset


@dataclass
class Line:
    """The source of an input: an output of another FMU, or a function of the time."""

    part: CoupledFmu
    name: str
    source: FollowedOutput | None = None
    signal: Course | None = None
    past: tuple[float, float] | None = None  # time and value at the last communication point

    def value(self, time: float) -> float:
        """Return the value of the source at a time."""
        if self.source is None:
            assert self.signal is not None
            return self.signal.at(time)
        return self.source.of(self.source.part.get((self.source.name,))[0])


class Saved(NamedTuple):
    """State of a coupled run, to which it can go back.

    Args:
        parts: states of the FMUs by the name of the component.
        past: last values of the inputs.
        sums: energies of the bonds.
    """

    parts: dict[str, Any]
    past: dict[str, tuple[float, float] | None]
    sums: list[tuple[float, float, float]]


class CoupledRun:
    """The FMUs and the sources of their inputs."""

    def __init__(
        self,
        parts: Mapping[str, CoupledFmu],
        connections: Sequence[Wire],
        inputs: Mapping[str, Course],
        order: Order,
        extrapolation: int,
        passes: int,
    ) -> None:
        self.parts, self.extrapolation, self.passes = parts, extrapolation, passes
        self.lines: dict[str, Line] = {}
        plain: list[Wire] = []  # the connections as factors of plain numbers
        for item in connections:
            part, name = self._input(parts, item.end)
            source, shown = end_of(parts, item.start)
            where = f"connection {item.start}={item.end}"
            refuse_source(where, item.start, source.variables[shown].causality, SOURCES)
            refuse_types(where, source.variables[shown].type, part.variables[name].type, item.scale)
            if not math.isfinite(item.scale):
                raise UsageError(f"{where}: the factor is {item.factor}; it must be a finite number")
            (quantity, unit), (taken, wanted) = source.unit(shown), part.unit(name)
            factor, offset = conversion(where, quantity, taken, unit, wanted, item.factor, plain=True)
            self.lines[item.end] = Line(part, name, FollowedOutput(source, shown, factor, offset))
            plain.append(replace(item, factor=factor))
        for end, signal in inputs.items():
            part, name = self._input(parts, end)
            self.lines[end] = Line(part, name, signal=course_of(part.variables[name], signal))
        self.sources = {end: line.source for end, line in self.lines.items() if line.source}
        self.shown = Shown([(source.part, source.name) for source in self.sources.values()])
        self.needed_later = self._needed_later() if order == "gauss_seidel" else {}
        self.tallies = [Tally(bond) for bond in bonds_of(plain, self._unit)]
        self.powers: dict[str, tuple[str, ...]] = dict.fromkeys(parts, ())  # outputs that make powers, by component
        for tally in self.tallies:
            for start in (tally.bond.effort.start, tally.bond.rate.start):
                part, name = end_of(parts, start)
                self.powers[part.name] += (name,)

    def _unit(self, text: str) -> str:
        part, name = end_of(self.parts, text)
        return unit_of(part.variables[name])

    def _needed_later(self) -> dict[CoupledFmu, tuple[str, ...]]:
        """Return the outputs of each FMU that FMUs stepped after it follow."""
        order = {part: k for k, part in enumerate(self.parts.values())}
        return by_part(
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

    def _input(self, parts: Mapping[str, CoupledFmu], end: str) -> tuple[CoupledFmu, str]:
        part, name = end_of(parts, end)
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

    def halves(self, steps: Steps) -> None:
        """Do communication steps, each as two of half its size."""
        for time, size in steps:
            self.step(time, size / 2)
            self.step(time + size / 2, size / 2)

    def _values(self, time: float) -> dict[str, float]:
        """Return the values of all sources at a time, which all FMUs have reached."""
        shown = zip(self.sources.items(), self.shown.values(), strict=True)
        followed = {end: source.of(value) for (end, source), value in shown}
        return {end: followed[end] if line.source else line.value(time) for end, line in self.lines.items()}

    def _pass(self, now: Mapping[str, float], ahead: Mapping[str, float], time: float, size: float) -> None:
        """Step all FMUs once; `ahead` holds the sources at the step's end, as the pass before computed them."""
        reached: dict[CoupledFmu, dict[str, float]] = {}  # outputs at the step's end that others follow
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
        line: Line,
        now: float,
        ahead: float | None,
        time: float,
        size: float,
        reached: Mapping[CoupledFmu, Mapping[str, float]],
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

    def save(self) -> "Saved":
        """Return the state of all FMUs."""
        return Saved(
            {name: part.save() for name, part in self.parts.items()},
            {end: line.past for end, line in self.lines.items()},
            self.sums(),
        )

    def restore(self, state: "Saved") -> None:
        """Restore a state of all FMUs."""
        for name, part in self.parts.items():
            part.restore(state.parts[name])
        for end, line in self.lines.items():
            line.past = state.past[end]
        for tally, sums in zip(self.tallies, state.sums, strict=True):
            tally.sums = sums

    def forget(self, state: "Saved") -> None:
        """Free a state."""
        for name, part in self.parts.items():
            part.forget(state.parts[name])

    def followed(self) -> list[float]:
        """Return the current values for the real inputs that follow outputs."""
        lines = (line for line in self.lines.values() if line.source is not None)
        return [line.value(0.0) for line in lines if line.part.is_real(line.name)]


def controlled(
    run: CoupledRun, stop: float, step: float, tolerance: float, note: Callable[[float, Steps], None]
) -> None:
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
                steps = ((time, size / 2), (time + size / 2, size / 2))
                time = stop if stop - time - size < 1e-12 * stop else time + size
                note(time, steps)
            else:
                run.restore(state)
        finally:
            run.forget(state)
        # next step: h (tolerance / error)^(1 / (order + 1))
        factor = SAFETY * (tolerance / error) ** (1 / power) if error else LARGEST
        size *= min(LARGEST, max(LEAST, factor))
