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
    """An instance of FMI 3.0 behind calls of FMI 2.0; value references are places.

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

    def setupExperiment(self, **given: float | None) -> None:
        """Keep start time, stop time and tolerance for the initialisation."""
        self._experiment = given

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
        found: tuple[bool, bool, bool, float] = self._slave.doStep(time, size, False)
        self._reached = found[3]
        return found

    def getRealStatus(self, _: int) -> float:
        """Return the time up to which the last step came, s."""
        return self._reached

    def get(self, places: Sequence[ScalarIndex]) -> list[Any]:
        """Return the values of elements."""
        arrays: dict[int, list[Any]] = {}
        for kind, sizes in _by_type(places).items():
            values = getattr(self._slave, f"get{kind}")(list(sizes), sum(sizes.values()))
            for reference, size in sizes.items():
                arrays[reference], values = values[:size], values[size:]
        return [arrays[place.reference][place.element] for place in places]

    def set(self, places: Sequence[ScalarIndex], values: Sequence[Any]) -> None:
        """Set the values of elements.

        Raises:
            ValueError: a whole number does not fit its type.
        """
        arrays: dict[int, list[Any]] = {}
        for place, value in zip(places, values, strict=True):
            if not fits(place, value):
                raise ValueError(f"{value} is beyond the type {place.type}")
            arrays.setdefault(place.reference, self._array(place))[place.element] = value
        for kind, sizes in _by_type(places).items():
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
        given: Sequence[ScalarIndex], wanted: Sequence[ScalarIndex],
    ) -> list[float]:  # fmt: skip
        """Return the elements that are wanted of a derivative, from the seeds of those that are given."""
        seeds = dict.fromkeys(_every(given), 0.0)
        seeds.update({(place.reference, place.element): value for place, value in zip(given, seed, strict=True)})
        rows, columns = (list(dict.fromkeys(place.reference for place in places)) for places in (unknowns, knowns))
        every = _every(wanted)
        values = dict(zip(every, call(rows, columns, list(seeds.values()), len(every)), strict=True))
        return [values[place.reference, place.element] for place in wanted]

    def _array(self, place: ScalarIndex) -> list[Any]:
        """Return the elements of the variable of a place as they were set last."""
        last = self._last.get(place.reference) or self._starts.get(place.reference)
        return list(last) if last else [0] * place.size


def _every(places: Sequence[ScalarIndex]) -> list[tuple[int, int]]:
    """Return value reference and element for all elements of the variables of places."""
    sizes = {place.reference: place.size for place in places}
    return [(reference, element) for reference, size in sizes.items() for element in range(size)]


def _by_type(places: Iterable[ScalarIndex]) -> dict[str, dict[int, int]]:
    """Return the sizes of the variables of places, by their types and value references."""
    found: dict[str, dict[int, int]] = {}
    for place in places:
        found.setdefault(place.type, {})[place.reference] = place.size
    return found
