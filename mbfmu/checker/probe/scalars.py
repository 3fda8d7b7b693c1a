"""An FMU of FMI 3.0 as a master of FMI 2.0 drives it: scalar variables, and the calls of FMI 2.0.

Each element of an array is a variable, r[2] or A[1,2], in row-major order; all floating-point types are Real, and all
whole-number types Integer. Binary values, clocks, arrays of texts and very large arrays keep their type, which FMI 2.0
does not have, so that a master can leave them out and name them. Events lie within steps, unless `events3` steps over
them.
"""

import math
from collections.abc import Iterable, Sequence
from copy import copy
from itertools import product
from typing import Any, NamedTuple

from fmpy import fmi3
from fmpy.fmi2 import fmi2Discard

LARGEST = 10_000
"""Largest number of elements of an array whose elements are variables."""
MOST = 50_000
"""Largest number of elements of all these arrays together."""
WHOLE = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
"""Types of FMI 3.0 whose values are whole numbers."""
TYPES = {"Float64": "Real", "Float32": "Real", **dict.fromkeys(WHOLE, "Integer")}
"""Types of FMI 2.0 for those of FMI 3.0 that it does not have."""
SAME = ("Boolean", "String", "Enumeration")
"""Types that both versions have."""


RENAMED = {
    "newDiscreteStates": "updateDiscreteStates",
    "getDerivatives": "getContinuousStateDerivatives",
}
"""Methods of FMPy's class for FMI 3.0 that do what those of another name do for FMI 2.0."""


class Place(NamedTuple):
    """What stands in for the value reference of a scalar.

    Args:
        type: type whose functions get and set the variable.
        reference: its value reference.
        size: its number of elements.
        element: number of the element, from 0.
    """

    type: str
    reference: int
    size: int
    element: int


def scalars(description: Any) -> Any:
    """Return FMPy's description of an FMU of FMI 3.0 with scalar variables; another version's is returned as it is.

    An alias is a local variable: the variable itself is the one to set.

    Raises:
        ValueError: an array has neither one start value nor one for each element.
    """
    if not description.fmiVersion.startswith("3."):
        return description
    total, elements = 0, []
    for variable in description.modelVariables:
        size = math.prod(variable.shape)
        scalar = size <= LARGEST and (size == 1 or total + size <= MOST)
        total += size if scalar else 0
        elements.append(_elements(variable) if scalar else [copy(variable)])
    of = {id(variable): items for variable, items in zip(description.modelVariables, elements, strict=True)}
    for variable, items in zip(description.modelVariables, elements, strict=True):
        if variable.derivative is not None:
            states = of[id(variable.derivative)]
            for number, item in enumerate(items):
                item.derivative = states[number] if len(states) == len(items) else None
    found = copy(description)
    found.modelVariables = [item for items in elements for item in items]
    return found


def _elements(variable: Any) -> list[Any]:
    """Return the scalars of a variable; one of a type that FMI 2.0 does not have is returned as it is."""
    size = math.prod(variable.shape)
    if variable.type not in (*TYPES, *SAME) or (variable.shape and variable.type == "String"):
        return [copy(variable)]
    starts = (variable.start or "").split() if variable.type != "String" else [variable.start]
    if len(starts) not in (0, 1, size):
        raise ValueError(f"'{variable.name}' has {size} elements but {len(starts)} start values")
    before, after = (variable.name[:-1], ")") if variable.name.endswith(")") else (variable.name, "")
    found = []
    for index, place in enumerate(product(*(range(1, n + 1) for n in variable.shape))):
        item = copy(variable)
        item.name = f"{before}[{','.join(map(str, place))}]{after}" if place else variable.name
        item.type = TYPES.get(variable.type, variable.type)
        item.start = starts[index if len(starts) > 1 else 0] if starts else None
        item.valueReference = Place(_of_functions(variable.type), variable.valueReference, size, index)
        item.shape, item.causality = (), variable.causality if variable.alias is None else "local"
        found.append(item)
    return found


def _of_functions(kind: str) -> str:
    """Return the type whose functions serve for a type of FMI 3.0."""
    return "Int64" if kind == "Enumeration" else kind


def fits(place: Any, value: Any) -> bool:
    """Return whether a value is within the type of a place, or of FMI 2.0, whose whole numbers have 32 bits."""
    if not isinstance(place, Place):
        return not isinstance(value, int) or -(2**31) <= value < 2**31
    return place.type not in WHOLE or bool(getattr(fmi3, f"fmi3{place.type}")(value).value == value)


def starts_of(description: Any) -> list[tuple[int, list[Any]]]:
    """Return value references of variables with the start values of all their elements, from scalar variables."""
    found: dict[int, list[Any]] = {}
    for item in description.modelVariables:
        if isinstance(item.valueReference, Place) and item.start is not None and item.alias is None:
            found.setdefault(item.valueReference.reference, []).append(value_of(item.type, item.start))
    return list(found.items())


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

    def get(self, places: Sequence[Place]) -> list[Any]:
        """Return the values of elements."""
        arrays: dict[int, list[Any]] = {}
        for kind, sizes in _by_type(places).items():
            values = getattr(self._slave, f"get{kind}")(list(sizes), sum(sizes.values()))
            for reference, size in sizes.items():
                arrays[reference], values = values[:size], values[size:]
        return [arrays[place.reference][place.element] for place in places]

    def set(self, places: Sequence[Place], values: Sequence[Any]) -> None:
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
        self, unknowns: Sequence[Place], knowns: Sequence[Place], seed: Sequence[float]
    ) -> list[float]:
        """Return the derivatives of the unknowns along a direction of the knowns."""
        return self._derivative(self._slave.getDirectionalDerivative, unknowns, knowns, seed, knowns, unknowns)

    def getAdjointDerivative(
        self, unknowns: Sequence[Place], knowns: Sequence[Place], seed: Sequence[float]
    ) -> list[float]:
        """Return the derivatives of a weighted sum of the unknowns by the knowns."""
        return self._derivative(self._slave.getAdjointDerivative, unknowns, knowns, seed, unknowns, knowns)

    def _derivative(
        self, call: Any, unknowns: Sequence[Place], knowns: Sequence[Place], seed: Sequence[float],
        given: Sequence[Place], wanted: Sequence[Place],
    ) -> list[float]:  # fmt: skip
        """Return the elements that are wanted of a derivative, from the seeds of those that are given."""
        seeds = dict.fromkeys(_every(given), 0.0)
        seeds.update({(place.reference, place.element): value for place, value in zip(given, seed, strict=True)})
        rows, columns = (list(dict.fromkeys(place.reference for place in places)) for places in (unknowns, knowns))
        every = _every(wanted)
        values = dict(zip(every, call(rows, columns, list(seeds.values()), len(every)), strict=True))
        return [values[place.reference, place.element] for place in wanted]

    def _array(self, place: Place) -> list[Any]:
        """Return the elements of the variable of a place as they were set last."""
        last = self._last.get(place.reference) or self._starts.get(place.reference)
        return list(last) if last else [0] * place.size


def _every(places: Sequence[Place]) -> list[tuple[int, int]]:
    """Return value reference and element for all elements of the variables of places."""
    sizes = {place.reference: place.size for place in places}
    return [(reference, element) for reference, size in sizes.items() for element in range(size)]


def _by_type(places: Iterable[Place]) -> dict[str, dict[int, int]]:
    """Return the sizes of the variables of places, by their types and value references."""
    found: dict[str, dict[int, int]] = {}
    for place in places:
        found.setdefault(place.type, {})[place.reference] = place.size
    return found


def value_of(kind: str, text: str) -> Any:
    """Return a start value of a type of FMI 2.0."""
    if kind == "Real":
        return float(text)
    if kind == "Boolean":
        return text in ("true", "1")
    return text if kind == "String" else int(text)
