"""Program with calls -> C text: what is computed between calls, and loops over the calls.

A long mechanism of alike parts calls one function for each of them (`dae/alike.py`), so that its equations are derived,
read and compiled once. Results of calls, and values of one piece between calls that others take, stand in one array,
the memory. Calls follow each other as their operands allow, those of one part close together; where a sequence of
functions recurs it becomes a loop. A call is given the place of an argument where its numbers stand side by side, else
a copy of them.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from mbfmu.kernel.frames import Written
from mbfmu.kernel.program import Called, Flags, Nodes, Output, Program, part_of, taken_by, triples, with_leaves
from mbfmu.kernel.sections import Code

PERIOD = 24
"""Largest number of calls in a turn of a loop."""
TURNS = 3
"""Smallest number of turns of a loop."""


@dataclass(frozen=True)
class Loop:
    """Calls that recur.

    Args:
        functions: CasADi Functions that each turn calls.
        array: number of the array of each number that each call takes, see `Pieces`; for each call of a turn shape
            (turns, numbers).
        index: its place there.
        to_array: number of the array of each of its results, in the same way.
        to_index: place of the first number of each result there.
    """

    functions: tuple[Any, ...]
    array: tuple[Nodes, ...]
    index: tuple[Nodes, ...]
    to_array: tuple[Nodes, ...]
    to_index: tuple[Nodes, ...]


@dataclass(frozen=True)
class Piece:
    """Operations between calls, and the calls that follow them.

    Args:
        program: the operations; the memory is its last argument and its last result.
        loops: the calls.
    """

    program: Program
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class Pieces:
    """A program with calls in pieces.

    Arrays are numbered: the arguments of the function, the memory, the results of the function.

    Args:
        pieces: what it does, in this order.
        memory: number of entries of the memory.
        arguments: number of arguments of the function.
        results: number of its results.
    """

    pieces: tuple[Piece, ...]
    memory: int
    arguments: int
    results: int


def pieces_of(program: Program, arguments: int, results: int, unwanted: Collection[int]) -> Pieces:
    """Return a program with calls in pieces.

    Args:
        program: the program.
        arguments: number of arguments of its function, after which the results of calls are one more.
        results: number of results of its function.
        unwanted: numbers of the results that a caller may leave out.
    """
    memory = str(arguments)
    is_result = program.kind == program.kinds.index(memory)
    giver = _givers(program, is_result)
    level, when = _levels(program, giver)
    stages = range(max(when) + 1)
    ordered = [_ordered(program, giver, [k for k, at in enumerate(when) if at == stage]) for stage in stages]
    turns = [_turns(program, each) for each in ordered]
    order = [number for each in ordered for number in each]
    direct, others = _direct(program, is_result, order, unwanted)
    shown: dict[int, list[Output]] = defaultdict(list)
    for item, stage in zip(others, level[[item.node for item in others]].tolist(), strict=True):
        shown[stage].append(item)
    operations = [np.flatnonzero(~program.leaf & (level == stage)) for stage in range(len(stages) + 1)]
    crossing = [_crossing(program, level, stage, own, shown[stage]) for stage, own in enumerate(operations)]
    passing = _passing(program, is_result, [turn for each in turns for loop in each for turn in loop], others)
    places = _Places(program, arguments, order, np.concatenate(crossing), direct, passing)
    kept = np.array(sorted(places.kept), dtype=np.int64)
    kinds = tuple(dict.fromkeys([*program.kinds, *(str(arguments + 1 + k) for k in range(results))]))
    numbers = np.array([kinds.index(str(arguments + k)) for k in range(results + 1)])
    kind, index = program.kind.copy(), program.index.copy()
    kind[is_result], index[is_result] = numbers[places.array[is_result] - arguments], places.index[is_result]
    program = replace(program, kinds=kinds, kind=kind, index=index)
    found = []
    for stage, own in enumerate(operations):
        stored = [Output(results, places.kept[node], node) for node in kept[level[kept] == stage].tolist()]
        longer, new = with_leaves(program, [memory] * len(crossing[stage]), places.index[crossing[stage]].tolist())
        renamed = np.append(np.arange(len(longer.kind)), -1)
        renamed[crossing[stage]] = new
        outputs = [Output(item.which, item.element, int(renamed[item.node])) for item in shown[stage]]
        depth = np.append(program.depth, np.zeros(len(new), dtype=np.int64))
        part = part_of(replace(longer, operands=renamed[longer.operands]), own, [*outputs, *stored], depth)
        found.append(Piece(part, tuple(places.loops(turns[stage])) if stage < len(stages) else ()))
    return Pieces(tuple(found), places.size, arguments, results)


def with_calls(parts: Pieces, code: Callable[[Program, int], Code], written: Callable[[Any], Written]) -> Code:
    """Return the code of a program in pieces.

    Args:
        parts: the pieces.
        code: gives the code of the operations of a piece by its number.
        written: returns a called function as it is in C.
    """
    codes = [code(piece.program, number) for number, piece in enumerate(parts.pieces)]
    loops = [loop for piece in parts.pieces for loop in piece.loops]
    callees = {item.__hash__(): written(item) for loop in loops for item in loop.functions}
    work = max([*(each.work for each in codes), *(each.work for each in callees.values())])
    written_to = [f"res[{k}]" for k in range(parts.results)]
    given = ", ".join([*(f"arg[{k}]" for k in range(parts.arguments)), "memory", *written_to])
    shown = ", ".join([*written_to, "memory"])
    lines = [
        f"  V *const memory = w + {work};",
        f"  const V *const given[] = {{{given}}};",
        f"  V *const shown[] = {{{shown}}};",
        f"  V *const to[] = {{{', '.join(['memory', *written_to])}}};",
    ]
    for piece, each in zip(parts.pieces, codes, strict=True):
        if piece.program.outputs:
            lines += [
                "  {",
                "  const V *const *const arg = given;",
                "  V *const *const res = shown;",
                each.body + "  }",
            ]
        for loop in piece.loops:
            lines += _loop(loop, [callees[item.__hash__()].name for item in loop.functions], parts.arguments)
    sections = {name: text for each in codes for name, text in each.sections.items()}
    return Code("\n".join([*lines, ""]), work + parts.memory, sections)


def _givers(program: Program, is_result: Flags) -> list[int]:
    """Return the number of the call that gives each node, -1 for nodes that are no results of calls."""
    of_results = np.repeat(np.arange(len(program.calls)), [call.size for call in program.calls])
    found = np.full(len(program.kind), -1)
    found[is_result] = of_results[program.index[is_result]]
    given: list[int] = found.tolist()
    return given


def _levels(program: Program, giver: Sequence[int]) -> tuple[Nodes, list[int]]:
    """Return the numbers of the piece that computes each node, or first has it, and of the piece before each call.

    Args:
        program: the program.
        giver: number of the call that gives each node, or -1.
    """
    level = [0] * (len(program.kind) + 1)  # the last one stands for no operand
    before = level.copy()  # the piece after which a call can take the node
    when: list[int] = []

    def at(call: Called) -> int:
        return max(map(before.__getitem__, call.given), default=0)

    for node, (leaf, (a, b, c)) in enumerate(zip(program.leaf.tolist(), triples(program.operands), strict=True)):
        if not leaf:
            first, second, third = level[a], level[b], level[c]
            first = second if second > first else first
            level[node] = before[node] = third if third > first else first
        elif giver[node] >= 0:
            while len(when) <= giver[node]:
                when.append(at(program.calls[len(when)]))
            before[node] = when[giver[node]]
            level[node] = before[node] + 1
    when += [at(call) for call in program.calls[len(when) :]]
    return np.array(_late(program, level, when)), when


def _late(program: Program, level: list[int], when: Sequence[int]) -> list[int]:
    """Return the pieces in which nodes are computed: those of the first that take them, if that leaves less to keep.

    Args:
        program: the program.
        level: number of the first piece in which each node can be computed; the last one stands for no node.
        when: number of the piece before each call.
    """
    never = 1 + max(level)
    latest = [never] * len(level)
    for item in program.outputs:
        latest[item.node] = min(latest[item.node], level[item.node])
    for call, stage in zip(program.calls, when, strict=True):
        for node in call.given:
            latest[node] = min(latest[node], stage)
    leaf = program.leaf.tolist()
    for node, given in zip(reversed(range(len(leaf))), triples(program.operands[::-1]), strict=True):
        if not leaf[node]:
            for taken in given:
                if latest[node] < latest[taken]:
                    latest[taken] = latest[node]
    found = level[:-1]
    for node, given in enumerate(triples(program.operands)):
        if leaf[node] or latest[node] <= level[node]:
            continue
        ahead = [taken for taken in given if taken >= 0 and not leaf[taken]]
        if all(found[taken] == latest[node] for taken in ahead):
            found[node] = latest[node]
        else:
            found[node] = max(level[node], *(found[taken] for taken in ahead))
    return found


def _ordered(program: Program, giver: Sequence[int], calls: Sequence[int]) -> list[int]:
    """Return the numbers of calls, each after those whose results it takes, and as soon after these as can be.

    Args:
        program: the program.
        giver: number of the call that gives each node, or -1.
        calls: numbers of the calls.
    """
    among = set(calls)
    users: dict[int, list[int]] = defaultdict(list)
    lacking: dict[int, int] = {}
    for number in calls:
        before = {giver[node] for node in program.calls[number].given} & among
        lacking[number] = len(before)
        for each in before:
            users[each].append(number)
    ready = [number for number in calls if not lacking[number]]  # sorted, and so a heap
    found: list[int] = []
    while ready:
        waiting = [heapq.heappop(ready)]
        while waiting:
            number = waiting.pop()
            found.append(number)
            for user in users[number]:
                lacking[user] -= 1
                if not lacking[user]:
                    waiting.append(user)
    return found


def _crossing(program: Program, level: Nodes, stage: int, own: Nodes, shown: Sequence[Output]) -> Nodes:
    """Return the operations of earlier pieces that a piece takes."""
    taken = taken_by(program, own, shown)
    return taken[~program.leaf[taken] & (level[taken] < stage)]


def _direct(
    program: Program, is_result: Flags, order: Sequence[int], unwanted: Collection[int]
) -> tuple[dict[int, tuple[int, int]], list[Output]]:
    """Return the results of calls that are written where the function shows them, and what else it shows.

    Args:
        program: the program.
        is_result: whether a node is a result of a call.
        order: numbers of the calls.
        unwanted: numbers of the results that a caller may leave out.

    Returns:
        Number of the function's result, and place there, by the number of the first one among the results of all calls;
        the other results.
    """
    results, index = is_result.tolist(), program.index.tolist()
    shown = {
        index[item.node]: item
        for item in reversed(program.outputs)
        if results[item.node] and item.which not in unwanted
    }
    found: dict[int, tuple[int, int]] = {}
    taken: set[Output] = set()
    for number in order:
        call = program.calls[number]
        for begin, end in _results(call):
            items = [shown.get(place) for place in range(begin, end)]
            first = items[0] if items else None
            if first and all(
                item and (item.which, item.element) == (first.which, first.element + k) for k, item in enumerate(items)
            ):
                found[begin] = first.which, first.element
                taken.update(item for item in items if item)
    return found, [item for item in program.outputs if item not in taken]


def _turns(program: Program, order: Sequence[int]) -> list[Nodes]:
    """Return the numbers of calls in loops, each of shape (turns, calls of a turn).

    Args:
        program: the program.
        order: numbers of the calls, in their order.
    """
    found = []
    for start, period, turns in _recurring([program.calls[number].function.__hash__() for number in order]):
        found.append(np.array(order[start : start + period * turns]).reshape(turns, period))
    return found


def _passing(program: Program, is_result: Flags, turns: Sequence[Nodes], others: Sequence[Output]) -> dict[int, int]:
    """Return the place within a turn of results of calls that calls of the same turn alone take.

    Args:
        program: the program.
        is_result: whether a node is a result of a call.
        turns: numbers of the calls of each turn.
        others: what the function shows that is not written where it shows it.

    Returns:
        The places by the number of the first one among the results of all calls.
    """
    count = sum(call.size for call in program.calls)
    first, last = np.full(count, len(turns)), np.full(count, -1)  # the turns that take each result
    for turn, numbers in enumerate(turns):
        for number in numbers.tolist():
            given = np.array(program.calls[number].given, dtype=np.int64)
            taken = program.index[given[is_result[given]]]
            first[taken] = np.minimum(first[taken], turn)
            last[taken] = turn
    elsewhere = taken_by(program, np.flatnonzero(~program.leaf), others)
    first[program.index[elsewhere[is_result[elsewhere]]]] = -1
    found: dict[int, int] = {}
    for turn, numbers in enumerate(turns):
        size = 0
        for number in numbers.tolist():
            for begin, end in _results(program.calls[number]):
                if begin < end and (first[begin:end] == turn).all() and (last[begin:end] == turn).all():
                    found[begin] = size
                    size += end - begin
    return found


def _results(call: Called) -> Iterator[tuple[int, int]]:
    """Yield the number of the first one of each result of a call, and that after its last, among those of all calls."""
    function = call.function
    return pairwise(accumulate((function.nnz_out(k) for k in range(function.n_out())), initial=call.place))


class _Places:
    """Places of values: arguments, or the memory, with the results of calls first, in their order.

    Args:
        program: the program.
        memory: number of the array that is the memory.
        order: numbers of the calls, in their order.
        crossing: operations that other pieces take.
        direct: results of calls that are results of the function, see `_direct`.
        passing: results that are taken in their own turn alone, see `_passing`; each turn has the same places for them.

    Attributes:
        array: number of the array that each node stands in, shape (n,).
        index: its place there, shape (n,).
        kept: places in the memory of nodes that are no results of calls.
        size: number of entries of the memory.
    """

    def __init__(
        self,
        program: Program,
        memory: int,
        order: Sequence[int],
        crossing: Nodes,
        direct: Mapping[int, tuple[int, int]],
        passing: Mapping[int, int],
    ) -> None:
        self._calls = program.calls
        count = sum(call.size for call in program.calls)
        array, moved = np.full(count, memory), np.zeros(count, dtype=np.int64)
        ends = (
            passing[begin] + end - begin for call in self._calls for begin, end in _results(call) if begin in passing
        )
        self.size = max(ends, default=0)
        self._to: dict[int, list[tuple[int, int]]] = {number: [] for number in order}
        for numbers in self._by_function(order):
            function = self._calls[numbers[0]].function
            for begin, end in pairwise(accumulate((function.nnz_out(k) for k in range(function.n_out())), initial=0)):
                for number in numbers:
                    at = self._calls[number].place + begin
                    which, first = memory, self.size
                    if at in direct:
                        which, first = memory + 1 + direct[at][0], direct[at][1]
                    elif at in passing:
                        first = passing[at]
                    else:
                        self.size += end - begin
                    array[at : at + end - begin], moved[at : at + end - begin] = (
                        which,
                        np.arange(first, first + end - begin),
                    )
                    self._to[number].append((which, first))
        arrays = [int(name) if name.isdecimal() else -1 for name in program.kinds]
        self.array, self.index = np.array(arrays)[program.kind], program.index.copy()
        results = self.array == memory
        of_results = program.index[results]
        self.array[results], self.index[results] = array[of_results], moved[of_results]
        self.kept: dict[int, int] = {}
        alone = ((self.array < 0) | ~program.leaf).tolist()
        taken = []
        for numbers in self._by_function(order):
            function = self._calls[numbers[0]].function
            for begin, end in pairwise(accumulate((function.nnz_in(k) for k in range(function.n_in())), initial=0)):
                taken += [node for each in numbers for node in self._calls[each].given[begin:end] if alone[node]]
        for node in dict.fromkeys([*taken, *crossing.tolist()]):
            self.kept[node] = self.size
            self.size += 1
        nodes = list(self.kept)
        self.array[nodes], self.index[nodes] = memory, list(self.kept.values())

    def _by_function(self, order: Sequence[int]) -> list[list[int]]:
        """Return the numbers of calls by what they call: what these take or give of a kind then stands side by side."""
        found: dict[int, list[int]] = defaultdict(list)
        for number in order:
            found[self._calls[number].function.__hash__()].append(number)
        return list(found.values())

    def loops(self, every: Sequence[Nodes]) -> Iterator[Loop]:
        """Yield calls in loops, from their numbers (see `_turns`)."""
        for numbers in every:
            turns = len(numbers)
            given = [
                np.array([self._calls[number].given for number in each], dtype=np.int64).reshape(turns, -1)
                for each in numbers.T.tolist()
            ]
            to = [
                np.array([self._to[number] for number in each], dtype=np.int64).reshape(turns, -1, 2)
                for each in numbers.T.tolist()
            ]
            array, index = [self.array[nodes] for nodes in given], [self.index[nodes] for nodes in given]
            to_array, to_index = [each[:, :, 0] for each in to], [each[:, :, 1] for each in to]
            for begin, end in _stretches(np.concatenate([*array, *index, *to_array, *to_index], axis=1)):
                yield Loop(
                    tuple(self._calls[number].function for number in numbers[begin].tolist()),
                    *(tuple(each[begin:end] for each in item) for item in (array, index, to_array, to_index)),
                )


def _stretches(rows: Nodes) -> Iterator[tuple[int, int]]:
    """Yield the first turn, and that after the last, of parts of a loop: places linear in the turn, or any."""
    count, steps = len(rows), np.diff(rows, axis=0)
    same = (steps[1:] == steps[:-1]).all(axis=1).tolist()
    start = begun = 0
    while start < count:
        end = min(start + 2, count)
        while end < count and same[end - 2]:
            end += 1
        if end - start < TURNS:
            start = max(start + 1, end - 1)
            continue
        if begun < start:
            yield begun, start
        yield start, end
        begun = start = end
    if begun < count:
        yield begun, count


def _recurring(items: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the first place, the length and the number of turns of sequences that recur, one after the other."""
    sequence, n = np.array(items), len(items)
    same = []  # for each length, at how many places from each one on the item that far ahead is equal
    for period in range(1, min(PERIOD, n) + 1):
        unequal = np.append(np.flatnonzero(sequence[period:] != sequence[: n - period]), n - period)
        places = np.arange(n - period)
        same.append(np.append(unequal[np.searchsorted(unequal, places)] - places, np.zeros(period, dtype=np.int64)))
    start = 0
    while start < n:
        turns = [1 + int(each[start]) // period for period, each in enumerate(same, 1)]
        covered = [period * count if count >= TURNS else 0 for period, count in enumerate(turns, 1)]
        best = int(np.argmax(covered))
        period, count = (best + 1, turns[best]) if covered[best] else (1, 1)
        yield start, period, count
        start += period * count


def _loop(loop: Loop, names: Sequence[str], memory: int) -> Iterator[str]:
    """Yield the text of a loop.

    Args:
        loop: the loop.
        names: names of its functions in C.
        memory: number of the array that is the memory.
    """
    turns, tables = len(loop.index[0]), _LocalTables()
    lines: list[str] = []
    for k, (function, name) in enumerate(zip(loop.functions, names, strict=True)):
        ends = accumulate((function.nnz_in(j) for j in range(function.n_in())), initial=0)
        given: list[str] = []
        for begin, end in pairwise(ends):
            array, index = loop.array[k][:, begin:end], loop.index[k][:, begin:end]
            given.append(_argument(array, index, f"x{k}_{len(given)}", tables, lines))
        to = [
            _address("to", array - memory, index, tables)
            for array, index in zip(loop.to_array[k].T, loop.to_index[k].T, strict=True)
        ]
        lines.append(f"{name}((const V *const[]){{{', '.join(given)}}}, (V *const[]){{{', '.join(to)}}}, w);")
    indent = "    " if turns == 1 else "      "
    yield "  {"
    yield from (f"    {line}" for line in tables.lines)
    if turns > 1:
        yield f"    for (int k = 0; k < {turns}; ++k) {{"
    yield from (f"{indent}{line}" for line in lines)
    if turns > 1:
        yield "    }"
    yield "  }"


class _LocalTables:
    """Tables of a loop."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def name(self, values: Nodes) -> str:
        """Return the name of a table of values."""
        name = f"t{len(self.lines)}"
        self.lines.append(f"static const int {name}[] = {{{', '.join(map(str, values.ravel().tolist()))}}};")
        return name

    def number(self, values: Nodes) -> str:
        """Return the C expression of a number in each turn: linear in k, or from a table."""
        steps = set(np.diff(values).tolist()) or {0}
        return _linear(int(values[0]), steps.pop()) if len(steps) == 1 else f"{self.name(values)}[k]"


def _address(arrays: str, array: Nodes, index: Nodes, tables: _LocalTables) -> str:
    """Return the C expression of an address in each turn: of an entry, by its index, of one of some arrays."""
    return f"{arrays}[{tables.number(array)}] + {tables.number(index)}"


def _linear(first: int, step: int) -> str:
    """Return the C expression of a number that is linear in that of the turn."""
    return f"{first} + {step} * k" if step else str(first)


def _argument(array: Nodes, index: Nodes, name: str, tables: _LocalTables, lines: list[str]) -> str:
    """Return the C expression of an argument's address in each turn.

    Args:
        array: numbers of the arrays of its numbers, shape (turns, n).
        index: their places there.
        name: name of a copy of it.
        tables: tables, to which those that it takes are added.
        lines: statements, to which those that copy it are added.
    """
    turns, n = index.shape
    if not n:
        return "w"
    if (array[:, 0] == array.T).all() and (np.diff(index, axis=1) == 1).all():
        return _address("given", array[:, 0], index[:, 0], tables)
    lines.append(f"V {name}[{n}];")
    step = index[1] - index[0] if turns > 1 else np.zeros(n, dtype=np.int64)
    if (array == array[0]).all() and (np.diff(index, axis=0) == step).all():
        beside = (np.diff(array[0]) == 0) & (np.diff(index[0]) == 1) & (np.diff(step) == 0)
        ends = [0, *(np.flatnonzero(~beside) + 1).tolist(), n]
        for begin, end in pairwise(ends):
            place = f"given[{array[0, begin]}][{_linear(int(index[0, begin]), int(step[begin]))}"
            if end == begin + 1:
                lines.append(f"{name}[{begin}] = {place}];")
            else:
                lines.append(f"for (int i = 0; i < {end - begin}; ++i) {name}[{begin} + i] = {place} + i];")
        return name
    which = str(array[0, 0]) if (array == array[0, 0]).all() else f"{tables.name(array)}[{n} * k + i]"
    lines.append(f"for (int i = 0; i < {n}; ++i) {name}[i] = given[{which}][{tables.name(index)}[{n} * k + i]];")
    return name
