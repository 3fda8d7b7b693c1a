"""Alike formulas: what differs in its symbols alone is one function, which is called for each.

A long mechanism repeats the equations of a joint and of a body. As a call of one function each they are derived, read
and compiled once (`kernel/calls.py`); written out, 1000 bodies take half as long again to start. Short mechanisms, and
those in the plane, are quicker to step without calls, and have none.
"""

import copy
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import casadi as ca

from mbfmu.model.frame import SX

MANY = 300
"""Smallest number of alike formulas that become calls."""


@dataclass(frozen=True)
class Kind:
    """The common part of alike formulas.

    Args:
        symbols: the symbols of one of them, shape (k,).
        value: SX, that one, shape (n,).
        function: Function of its symbols -> each formula; it stays one where it is called.
    """

    symbols: SX
    value: SX
    function: Any


@dataclass(frozen=True)
class Formula:
    """A formula of some symbols.

    Args:
        value: SX, shape (n,).
        symbols: the symbols that it depends on, shape (k,), in the order of its kind.
        kind: what it calls; None: it is written out.
    """

    value: SX
    symbols: SX
    kind: Kind | None = None


def apart(name: str, given: Sequence[SX], results: Sequence[SX]) -> Any:
    """Return a Function that stays one where it is called with SX."""
    return ca.Function(name, list(given), list(results), {"never_inline": True})


def written_out(value: SX) -> Formula:
    """Return a column as a formula that is no call."""
    return Formula(value, ca.vertcat(ca.SX(0, 1), *ca.symvar(value)))


def alike(name: str, values: Sequence[SX]) -> list[Formula]:
    """Return formulas, of which many that differ in their symbols alone are calls of one function.

    Args:
        name: name of the functions.
        values: SX, dense columns.
    """
    found = [written_out(value) for value in values]
    if len(values) < MANY:
        return found
    members: dict[str, list[int]] = defaultdict(list)
    for number, item in enumerate(found):
        members[_told(item)].append(number)
    for numbers in members.values():
        if len(numbers) >= MANY:
            first = found[numbers[0]]
            kind = Kind(first.symbols, first.value, apart(name, [first.symbols], [ca.densify(first.value)]))
            for number in numbers:
                found[number] = Formula(kind.function(found[number].symbols), found[number].symbols, kind)
    return found


def values_of(formulas: Sequence[Formula]) -> SX:
    """Return the values of formulas as one column."""
    return ca.vertcat(ca.SX(0, 1), *(item.value for item in formulas))


def slopes(formulas: Sequence[Formula], x: SX, owners: Sequence[str] = ()) -> SX:
    """Return the Jacobian of all formulas, one after the other, with respect to symbols, sparse, shape (n, m).

    Args:
        formulas: the formulas.
        x: the symbols, shape (m,).
        owners: what each of them belongs to: slopes by those of one owner are a result of their own of a call.
    """
    number_of = {symbol.element_hash(): number for number, symbol in enumerate(x.nonzeros())}
    known: dict[Hashable, tuple[Argument, Any]] = {}
    rows: list[int] = []
    columns: list[int] = []
    entries = [ca.SX(0, 1)]
    begin = 0
    for item in formulas:
        own = [number_of.get(symbol.element_hash(), -1) for symbol in item.symbols.nonzeros()]
        if item.kind is None:
            among = [number for number in own if number >= 0]
            slope = argument(ca.jacobian(item.value, x[among]))
        else:
            those = sorted((place for place, number in enumerate(own) if number >= 0), key=own.__getitem__)
            among = [own[place] for place in those]
            others = [
                column
                for column in range(1, len(among))
                if owners and owners[among[column]] != owners[among[column - 1]]
            ]
            key = item.kind.function.__hash__(), tuple(those), tuple(others)
            if key not in known:
                slope = argument(ca.jacobian(item.kind.value, item.kind.symbols[those]))
                ends = [sum(number is None for number in slope.numbers[:end]) for end in _ends(slope.pattern, others)]
                parts = ca.vertsplit(slope.given, ends)
                known[key] = slope, apart(f"{item.kind.function.name()}_slope", [item.kind.symbols], parts)
            slope, function = known[key]
            slope = slope.renamed(ca.vertcat(*function.call([item.symbols])))
        where = slope.pattern.get_triplet()
        rows += [begin + row for row in where[0]]
        columns += [among[column] for column in where[1]]
        entries.append(slope.entries)
        begin += item.value.numel()
    pattern, order = ca.Sparsity.triplet(begin, x.numel(), rows, columns, False)
    return ca.SX(pattern, ca.vertcat(*entries)[order])


def _ends(pattern: Any, columns: Sequence[int]) -> list[int]:
    """Return 0, the numbers of entries of a Sparsity before some columns, and that of all."""
    return [0, *(pattern.colind()[column] for column in columns), pattern.nnz()]


def second_rates(formulas: Sequence[Formula], q: SX, v: SX, t: SX) -> SX:
    """Return the second time derivative of all formulas of q and t, without accelerations, shape (n,).

    Args:
        formulas: the formulas.
        q: coordinates, symbols.
        v: their rates, symbols.
        t: time, a symbol.
    """
    number_of = {symbol.element_hash(): number for number, symbol in enumerate(q.nonzeros())}
    known: dict[Hashable, Any] = {}
    found = [ca.SX(0, 1)]

    def twice(value: SX, x: SX, rate: SX, time: SX) -> SX:
        for _ in range(2):
            value = ca.jtimes(value, x, rate) + (ca.jacobian(value, time) if time.numel() else 0)
        return value

    for item in formulas:
        hashes = [symbol.element_hash() for symbol in item.symbols.nonzeros()]
        those = [place for place, each in enumerate(hashes) if each in number_of]
        at = [place for place, each in enumerate(hashes) if each == t.element_hash()]
        rate = v[[number_of[hashes[place]] for place in those]]
        if item.kind is None:
            found.append(twice(item.value, item.symbols[those], rate, item.symbols[at]))
            continue
        key = item.kind.function.__hash__(), tuple(those), tuple(at)
        if key not in known:
            own = ca.SX.sym("rate", len(those))
            value = twice(item.kind.value, item.kind.symbols[those], own, item.kind.symbols[at])
            name = f"{item.kind.function.name()}_second_rates"
            known[key] = apart(name, [item.kind.symbols, own], ca.cse([ca.densify(value)]))
        found.append(known[key](item.symbols, rate))
    return ca.vertcat(*found)


@dataclass(frozen=True, eq=False)
class Argument:
    """A matrix that a formula takes.

    Args:
        given: its entries that are no numbers, SX column; one that recurs may be there once.
        pattern: CasADi Sparsity.
        numbers: the number that each of its entries is, or None.
        places: place in `given` of each entry that is no number.
    """

    given: SX
    pattern: Any
    numbers: tuple[float | None, ...]
    places: tuple[int, ...]

    @cached_property
    def form(self) -> Hashable:
        """The common part of matrices that differ in the entries that are no numbers."""
        return (*self.pattern.shape, *self.pattern.colind(), *self.pattern.row(), *self.numbers, *self.places)

    def renamed(self, given: SX) -> "Argument":
        """Return an argument of the same form with other entries."""
        found = copy.copy(self)
        object.__setattr__(found, "given", given)
        return found

    @property
    def entries(self) -> SX:
        """All its entries, SX column."""
        entries = ca.vertcat(ca.SX(0, 1), *(math.nan if number is None else number for number in self.numbers))
        if self.given.numel():
            named = [place for place, number in enumerate(self.numbers) if number is None]
            entries[named] = self.given[list(self.places)]
        return entries

    @property
    def matrix(self) -> SX:
        """The matrix."""
        return ca.SX(self.pattern, self.entries)


def argument(matrix: SX, distinct: bool = False) -> Argument:
    """Return a matrix as a formula takes it.

    Args:
        matrix: SX, sparse.
        distinct: whether an entry that recurs, such as those of a symmetric matrix, is given once.
    """
    entries = matrix.nonzeros()
    numbers = tuple([float(item) if item.is_constant() else None for item in entries])
    named = [item for item, number in zip(entries, numbers, strict=True) if number is None]
    places = tuple(range(len(named)))
    if distinct:
        first: dict[int, int] = {}
        places = tuple([first.setdefault(item.element_hash(), len(first)) for item in named])
        named = [named[places.index(place)] for place in range(len(first))]
    elif len(named) == len(entries):
        return Argument(ca.vec(matrix.nz[:]), matrix.sparsity(), numbers, places)
    return Argument(ca.vertcat(ca.SX(0, 1), *named), matrix.sparsity(), numbers, places)


def columns(x: SX, places: Sequence[Sequence[int]]) -> list[Argument]:
    """Return entries of a column as a formula takes them, numbers like others.

    Args:
        x: SX, shape (n,).
        places: numbers of the entries of each argument.
    """
    whole = ca.densify(x)[[place for each in places for place in each]]
    parts = ca.vertsplit(whole, [0, *accumulate(map(len, places))])
    return [Argument(part, part.sparsity(), (None,) * part.numel(), tuple(range(part.numel()))) for part in parts]


class Calls:
    """Formulas as calls of functions that are made once for all arguments of one form.

    A formula is a function of SX that gives an SX, or a tuple of them, of which entries that are left out stay so.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Any, list[int], list[Any], bool]] = {}

    def __call__(self, formula: Callable[..., SX], *arguments: Argument) -> SX:
        """Return the value of a formula, or its values."""
        key = formula, *(item.form for item in arguments)
        if key not in self._known:
            self._known[key] = self._made(formula, arguments)
        function, needed, patterns, several = self._known[key]
        given = [arguments[k].given for k in needed]
        entries = function.call(given) if several else [function(*given)]
        found = [
            own if pattern is None else ca.SX(pattern, own) for own, pattern in zip(entries, patterns, strict=True)
        ]
        return tuple(found) if several else found[0]

    @staticmethod
    def _made(formula: Callable[..., SX], arguments: Sequence[Argument]) -> tuple[Any, list[int], list[Any], bool]:
        """Return a function, the numbers of the arguments that it takes, the patterns of its results, whether several.

        A pattern is None for a dense column.
        """
        inner = [item.renamed(ca.SX.sym("x", item.given.numel())) for item in arguments]
        value = formula(*(item.matrix for item in inner))
        results = value if isinstance(value, tuple) else (value,)
        entries = [ca.vertcat(ca.SX(0, 1), *result.nonzeros()) for result in results]
        every = ca.vertcat(*entries)
        needed = [k for k, item in enumerate(inner) if item.given.numel() and ca.depends_on(every, item.given)]
        function = apart(formula.__name__.strip("_"), [inner[k].given for k in needed], entries)
        patterns = [None if item.is_column() and item.is_dense() else item.sparsity() for item in results]
        return function, needed, patterns, isinstance(value, tuple)


def product(matrix: SX, x: SX) -> SX:
    """Return a product."""
    return matrix @ x


def renamed(arguments: Sequence[Argument], entries: SX) -> list[Argument]:
    """Return arguments with other entries: those of all, one after the other."""
    parts = ca.vertsplit(entries, [0, *accumulate(item.given.numel() for item in arguments)])
    return [item.renamed(part) for item, part in zip(arguments, parts, strict=True)]


def _told(item: Formula) -> str:
    """Return a text that alike formulas have in common."""
    x = ca.SX.sym("x", item.symbols.numel())
    written = ca.Function("f", [x], [ca.Function("f", [item.symbols], [item.value])(x)])
    text: str = written.serialize()
    return text
