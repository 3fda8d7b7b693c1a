"""Interface -> the variables of FMI 3.0: clocks, and arrays of scalars whose names count them, r[1], r[2], r[3].

The elements of an array follow each other in the table of variables, and its value reference is that of the first.
Continuous states and their time derivatives stay scalars: PyFMI counts a state that is an array as one, and CasADi's
DaeBuilder has no arrays. For importing tools without arrays and
clocks, all variables may stay scalars, and the clocks be left out.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from mbfmu.fmu.interface import Interface, Variable

TYPES = {"Real": "Float64", "Integer": "Int32", "Boolean": "Boolean", "Enumeration": "Enumeration"}
"""Names of the types in FMI 3.0."""
EVENTS = "events.clock"
COUNTED = re.compile(r"(?P<before>.*)\[(?P<place>\d+(?:,\d+)*)\](?P<after>\)?)")
"""The name of an element of an array, and that of the derivative of one."""


@dataclass(frozen=True)
class Array:
    """One variable of FMI 3.0.

    Args:
        name: structured name.
        elements: the scalars in the order of their value references, the last index changing first.
        shape: its dimensions; empty: a scalar.
    """

    name: str
    elements: tuple[Variable, ...]
    shape: tuple[int, ...] = ()

    @property
    def first(self) -> Variable:
        """The first element, from which it has all that its elements share."""
        return self.elements[0]

    @property
    def reference(self) -> int:
        """The value reference."""
        return self.first.reference

    @property
    def initial(self) -> str | None:
        """The attribute `initial`."""
        return self.first.initial


def arrays(interface: Interface) -> tuple[Array, ...]:
    """Return the variables of FMI 3.0, in the order of their value references."""
    if interface.scalars:
        return tuple(Array(item.name, (item,)) for item in interface.variables)
    taken = {item.name for item in interface.variables}
    alone = {item.name for pair in interface.states for item in pair}
    members = Counter(_base(item.name) for item in interface.variables)
    result: list[Array] = []
    start = 0
    while start < len(interface.variables):
        first = interface.variables[start]
        run = (first,) if first.name in alone else _run(interface.variables, start)
        name, shape = _shape(run)
        whole = 1 < len(run) == members[name] == prod(shape) and name not in taken
        result += [Array(name, run, shape)] if whole else [Array(item.name, (item,)) for item in run]
        start += len(run)
    return _settled(result)


@dataclass(frozen=True)
class ClockVariable:
    """A clock of FMI 3.0.

    Args:
        name: structured name.
        reference: value reference.
        description: one line.
        sampled: number of the sampled block whose instants it has; None: it ticks with events of contact and friction.
    """

    name: str
    reference: int
    description: str
    sampled: int | None = None


def clocks(interface: Interface) -> tuple[ClockVariable, ...]:
    """Return the clocks, whose value references follow those of the variables; there are none in model exchange."""
    if interface.states or interface.exchange or interface.scalars:
        return ()
    first = len(interface.variables)
    events = [ClockVariable(EVENTS, first, "ticks with events of contact and friction")] if interface.guards else []
    first += len(events)
    return (
        *events,
        *(ClockVariable(f"{name}.clock", first + k, f"instants at which {name} computes", k)
          for k, name in enumerate(interface.sampled)),
    )  # fmt: skip


def by_element(variables: Iterable[Array]) -> dict[str, Array]:
    """Return the variable of FMI 3.0 that each scalar belongs to, by the name of the scalar."""
    return {item.name: array for array in variables for item in array.elements}


def references_of(names: Iterable[str], owners: dict[str, Array]) -> list[int]:
    """Return the value references of the variables that scalars belong to, each once, in order."""
    return sorted({owners[name].reference for name in names})


def _base(name: str) -> str | None:
    """Return the name of the array that a name counts an element of; None if it counts none."""
    parts = COUNTED.fullmatch(name)
    return parts["before"] + parts["after"] if parts else None


def _run(variables: Sequence[Variable], start: int) -> tuple[Variable, ...]:
    """Return the variable at an index, and those right after it that are elements of the same array."""
    first = variables[start]
    base, end = _base(first.name), start + 1
    while base and end < len(variables) and _base(variables[end].name) == base and _alike(first, variables[end]):
        end += 1
    return tuple(variables[start:end])


def _alike(a: Variable, b: Variable) -> bool:
    """Return whether two scalars share all that the elements of an array share."""
    kept: tuple[Callable[[Variable], object], ...] = (
        lambda item: (item.kind, item.causality, item.variability, item.initial, item.unit, item.type, item.fixed),
        lambda item: item.items,
        lambda item: (item.min, item.max, item.start is None, item.start_offset is None, item.derivative_of is None),
    )
    return all(facts(a) == facts(b) for facts in kept)


def _shape(run: Sequence[Variable]) -> tuple[str, tuple[int, ...]]:
    """Return the name and the shape of the array that a run of elements makes; no shape if it does not."""
    parts = [COUNTED.fullmatch(item.name) for item in run]
    indices = [tuple(map(int, part["place"].split(","))) for part in parts if part]
    if not indices:
        return run[0].name, ()
    shape = indices[-1]
    complete = indices == [tuple(item) for item in product(*(range(1, n + 1) for n in shape))]
    return str(_base(run[0].name)), shape if complete else ()


def _settled(arrays_read: Sequence[Array]) -> tuple[Array, ...]:
    """Return the arrays without those that are not the derivative of one array of the same shape."""
    now = list(arrays_read)
    while True:
        owners = by_element(now)
        broken = [item for item in now if item.shape and not _derives(item, owners)]
        if not broken:
            return tuple(now)
        now = [
            part
            for item in now
            for part in ([Array(each.name, (each,)) for each in item.elements] if item in broken else [item])
        ]


def _derives(array: Array, owners: dict[str, Array]) -> bool:
    """Return whether an array is the derivative of none, or of one array element by element."""
    names = [item.derivative_of for item in array.elements]
    if names[0] is None:
        return True
    return [item.name for item in owners[names[0]].elements] == names
