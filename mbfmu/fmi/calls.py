"""The calls of FMI 2.0 for an instance of FMI 3.0, as a master of FMI 2.0 drives it."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from fmpy.fmi2 import fmi2Discard

from mbfmu.fmi.scalars import ScalarIndex, fits

RENAMED = {
    "newDiscreteStates": "updateDiscreteStates",
    "getDerivatives": "getContinuousStateDerivatives",
}
"""Methods of FMPy's class for FMI 3.0 that do what those of another name do for FMI 2.0."""


class Ended(Exception):  # noqa: N818 - it tells how a step ended
    """A step after which the FMU asks for the end of the run; a master takes it as it takes a discarded step."""

    status = fmi2Discard


class Scalars:
    """An instance of FMI 3.0 behind calls of FMI 2.0; value references are of type `ScalarIndex`.

    An array of which some elements are set gets the others as they were last set, or else their start values.

    Args:
        slave: FMPy's instance.
        starts: start values of all elements by value reference.
        events: whether it uses its event mode.
    """

    def __init__(self, slave: Any, starts: Iterable[tuple[int, list[Any]]], events: bool = False) -> None:
        self._slave, self.events = slave, events
        self._starts = dict(starts)
        self._last: dict[int, list[Any]] = {}
        self._experiment: dict[str, float | None] = {}
        self._reached = -math.inf

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slave, RENAMED.get(name, name))

    def setupExperiment(self, **experiment: float | None) -> None:
        """Keep start time, stop time and tolerance for the initialisation."""
        self._experiment = experiment

    def enterInitializationMode(self) -> None:
        """Enter initialisation mode."""
        self._slave.enterInitializationMode(**self._experiment)

    def reset(self) -> None:
        """Return to the state after instantiation."""
        self._slave.reset()
        self._last.clear()
        self._reached = -math.inf

    def doStep(self, currentCommunicationPoint: float, communicationStepSize: float) -> None:
        """Do a step; states of earlier times may be set later."""
        _, ends, early, _ = self.advance(currentCommunicationPoint, communicationStepSize)
        if ends:
            raise Ended("it ended the run")
        if early:
            raise RuntimeError("fmi3DoStep returned early though this was not allowed")

    def advance(self, time: float, size: float) -> tuple[bool, bool, bool, float]:
        """Do a step; return whether an event is met, whether the run ends, whether it is early, and the time, s."""
        result: tuple[bool, bool, bool, float] = self._slave.doStep(time, size, False)
        self._reached = result[3]
        return result

    def getRealStatus(self, _: int) -> float:
        """Return the time up to which the last step came, s."""
        return self._reached

    def get(self, indices: Sequence[ScalarIndex]) -> list[Any]:
        """Return the values of elements."""
        arrays: dict[int, list[Any]] = {}
        for kind, sizes in _by_type(indices).items():
            values = getattr(self._slave, f"get{kind}")(list(sizes), sum(sizes.values()))
            for reference, size in sizes.items():
                arrays[reference], values = values[:size], values[size:]
        return [arrays[index.reference][index.element] for index in indices]

    def set(self, indices: Sequence[ScalarIndex], values: Sequence[Any]) -> None:
        """Set the values of elements.

        Raises:
            ValueError: a whole number does not fit its type.
        """
        arrays: dict[int, list[Any]] = {}
        for index, value in zip(indices, values, strict=True):
            if not fits(index, value):
                raise ValueError(f"{value} is beyond the type {index.type}")
            arrays.setdefault(index.reference, self._array(index))[index.element] = value
        for kind, sizes in _by_type(indices).items():
            flat = [value for reference in sizes for value in arrays[reference]]
            getattr(self._slave, f"set{kind}")(list(sizes), flat)
        self._last.update(arrays)

    getReal = getInteger = getBoolean = getString = get
    setReal = setInteger = setBoolean = setString = set
    setInt64 = set  # so FMPy sets enumerations of FMI 3.0

    def getDirectionalDerivative(
        self, unknowns: Sequence[ScalarIndex], knowns: Sequence[ScalarIndex], seed: Sequence[float]
    ) -> list[float]:
        """Return the derivatives of the unknowns along a direction of the knowns."""
        return self._derivative(self._slave.getDirectionalDerivative, unknowns, knowns, seed, knowns, unknowns)

    def getAdjointDerivative(
        self, unknowns: Sequence[ScalarIndex], knowns: Sequence[ScalarIndex], seed: Sequence[float]
    ) -> list[float]:
        """Return the derivatives of a weighted sum of the unknowns by the knowns."""
        return self._derivative(self._slave.getAdjointDerivative, unknowns, knowns, seed, unknowns, knowns)

    def _derivative(
        self, call: Any, unknowns: Sequence[ScalarIndex], knowns: Sequence[ScalarIndex], seed: Sequence[float],
        known: Sequence[ScalarIndex], wanted: Sequence[ScalarIndex],
    ) -> list[float]:  # fmt: skip
        """Return the elements that are wanted of a derivative, from the seeds of those that are given."""
        seeds = dict.fromkeys(_every(known), 0.0)
        seeds.update({(index.reference, index.element): value for index, value in zip(known, seed, strict=True)})
        rows, columns = (list(dict.fromkeys(index.reference for index in indices)) for indices in (unknowns, knowns))
        every = _every(wanted)
        values = dict(zip(every, call(rows, columns, list(seeds.values()), len(every)), strict=True))
        return [values[index.reference, index.element] for index in wanted]

    def _array(self, index: ScalarIndex) -> list[Any]:
        """Return the elements of the variable of a scalar index as they were set last."""
        last = self._last.get(index.reference) or self._starts.get(index.reference)
        return list(last) if last else [0] * index.size


def _every(indices: Sequence[ScalarIndex]) -> list[tuple[int, int]]:
    """Return value reference and element for all elements of the variables of scalar indices."""
    sizes = {index.reference: index.size for index in indices}
    return [(reference, element) for reference, size in sizes.items() for element in range(size)]


def _by_type(indices: Iterable[ScalarIndex]) -> dict[str, dict[int, int]]:
    """Return the sizes of the variables of scalar indices, by their types and value references."""
    sizes: dict[str, dict[int, int]] = {}
    for index in indices:
        sizes.setdefault(index.type, {})[index.reference] = index.size
    return sizes
