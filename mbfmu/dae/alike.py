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


def slopes(formulas: Sequence[Formula], x: SX) -> SX:
    """Return the Jacobian of all formulas, one after the other, with respect to symbols, sparse, shape (n, m)."""
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
            key = item.kind.function.__hash__(), tuple(those)
            if key not in known:
                slope = argument(ca.jacobian(item.kind.value, item.kind.symbols[those]))
                known[key] = slope, apart(f"{item.kind.function.name()}_slope", [item.kind.symbols], [slope.given])
            slope, function = known[key]
            slope = slope.renamed(function(item.symbols))
        where = slope.pattern.get_triplet()
        rows += [begin + row for row in where[0]]
        columns += [among[column] for column in where[1]]
        entries.append(slope.entries)
        begin += item.value.numel()
    pattern, order = ca.Sparsity.triplet(begin, x.numel(), rows, columns, False)
    return ca.SX(pattern, ca.vertcat(*entries)[order])


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
        given: its entries that are no numbers, SX column.
        pattern: CasADi Sparsity.
        numbers: the number that each of its entries is, or None.
    """

    given: SX
    pattern: Any
    numbers: tuple[float | None, ...]

    @cached_property
    def form(self) -> Hashable:
        """The common part of matrices that differ in the entries that are no numbers."""
        return (*self.pattern.shape, *self.pattern.colind(), *self.pattern.row(), *self.numbers)

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
            entries[[place for place, number in enumerate(self.numbers) if number is None]] = self.given
        return entries

    @property
    def matrix(self) -> SX:
        """The matrix."""
        return ca.SX(self.pattern, self.entries)


def argument(matrix: SX) -> Argument:
    """Return a matrix as a formula takes it."""
    entries = matrix.nonzeros()
    numbers = tuple([float(item) if item.is_constant() else None for item in entries])
    if all(number is None for number in numbers):
        return Argument(ca.vec(matrix.nz[:]), matrix.sparsity(), numbers)
    named = [item for item, number in zip(entries, numbers, strict=True) if number is None]
    return Argument(ca.vertcat(ca.SX(0, 1), *named), matrix.sparsity(), numbers)


def columns(x: SX, places: Sequence[Sequence[int]]) -> list[Argument]:
    """Return entries of a column as a formula takes them, numbers like others.

    Args:
        x: SX, shape (n,).
        places: numbers of the entries of each argument.
    """
    whole = ca.densify(x)[[place for each in places for place in each]]
    parts = ca.vertsplit(whole, [0, *accumulate(map(len, places))])
    return [Argument(part, part.sparsity(), (None,) * part.numel()) for part in parts]


class Calls:
    """Formulas as calls of functions that are made once for all arguments of one form.

    A formula is a function of SX that gives an SX, of which entries that are left out stay so.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Any, list[int], Any]] = {}

    def __call__(self, formula: Callable[..., SX], *arguments: Argument) -> SX:
        """Return the value of a formula."""
        key = formula, *(item.form for item in arguments)
        if key not in self._known:
            inner = [item.renamed(ca.SX.sym("x", item.given.numel())) for item in arguments]
            result = formula(*(item.matrix for item in inner))
            entries = ca.vertcat(ca.SX(0, 1), *result.nonzeros())
            needed = [k for k, item in enumerate(inner) if item.given.numel() and ca.depends_on(entries, item.given)]
            function = apart(formula.__name__.strip("_"), [inner[k].given for k in needed], [entries])
            plain = result.is_column() and result.is_dense()
            self._known[key] = function, needed, None if plain else result.sparsity()
        function, needed, pattern = self._known[key]
        entries = function(*[arguments[k].given for k in needed])
        return entries if pattern is None else ca.SX(pattern, entries)


def product(matrix: SX, x: SX) -> SX:
    """Return a product, where `Calls` make it a call."""
    return matrix @ x


class Blocks:
    """A matrix with a block for each body, whose products with columns are calls.

    Args:
        matrix: SX, shape (n, n).
        rows: numbers of the rows of each block.
        calls: makes the calls.
    """

    def __init__(self, matrix: SX, rows: Sequence[Sequence[int]], calls: Calls) -> None:
        self.blocks, self._calls = [argument(matrix[list(each), list(each)]) for each in rows], calls
        self._rows = rows
        order = [row for each in rows for row in each]
        self._place = sorted(range(len(order)), key=order.__getitem__)

    @property
    def entries(self) -> SX:
        """Entries of all blocks that are no numbers."""
        return ca.vertcat(ca.SX(0, 1), *(block.given for block in self.blocks))

    def with_entries(self, entries: SX) -> "Blocks":
        """Return the matrix with other entries."""
        found = copy.copy(self)
        found.blocks = renamed(self.blocks, entries)
        return found

    def __call__(self, x: SX) -> SX:
        """Return the product with a column, shape (n,)."""
        parts = columns(x, self._rows)
        found = [self._calls(product, *each) for each in zip(self.blocks, parts, strict=True)]
        return ca.vertcat(*map(ca.densify, found))[self._place]


def renamed(arguments: Sequence[Argument], entries: SX) -> list[Argument]:
    """Return arguments with other entries: those of all, one after the other."""
    parts = ca.vertsplit(entries, [0, *accumulate(item.given.numel() for item in arguments)])
    return [item.renamed(part) for item, part in zip(arguments, parts, strict=True)]


def rows_of(bodies: Sequence[int]) -> list[list[int]]:
    """Return the numbers of the rows of each body, from the number of the body of each row."""
    found: dict[int, list[int]] = defaultdict(list)
    for row, body in enumerate(bodies):
        found[body].append(row)
    return list(found.values())


def _told(item: Formula) -> str:
    """Return a text that alike formulas have in common."""
    x = ca.SX.sym("x", item.symbols.numel())
    written = ca.Function("f", [x], [ca.Function("f", [item.symbols], [item.value])(x)])
    text: str = written.serialize()
    return text
