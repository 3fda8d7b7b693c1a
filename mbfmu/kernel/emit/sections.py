"""Straight code -> C text, that of long functions in sections, each a function of its own.

What compilers do with a function grows faster than its length, and they lose sight of what to hold in registers: a
step of rattle of 13 000 operations takes gcc a sixth of the time in sections, and runs in two thirds of it. Values that
other sections need go through the work vector.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import NamedTuple

LENGTH = 500
"""Usual number of lines of a section; functions of twice as many are cut."""
WAITING = 120
"""Mean number of values that wait for later lines below which a function of up to `WHOLE` lines is left whole.

Compilers find places for so many, while the way through the work vector takes up to 7 percent more instructions. From
130 on a whole function takes up to a third longer.
"""
WHOLE = 4000
"""Largest number of lines of such a function, as compilers take more than twice as long for twice the length."""
LENGTH_IN_LANES = 1200
"""The same in code for several instances, where a value in the work vector costs more."""


WIDTH = 100
"""Largest number of characters of an operation that is written where the only operation that takes it is."""


class CodeLine(NamedTuple):
    """An operation of straight code.

    Args:
        text: what gives its value in C, with {} for each operand; what follows `name` for a result.
        name: the variable that it sets; of a result what comes before its value.
        takes: numbers of the lines whose values it takes, one for each {}.
        kind: one of `LINE`, `REPEATING`, `RESULT`, `LEAF` and `NUMBER`.
    """

    text: str
    name: str
    takes: Sequence[int]
    kind: int

    @property
    def leaf(self) -> bool:
        """Whether it reads an argument or a constant, which any section can do again."""
        return self.kind >= LEAF


LINE, REPEATING, RESULT, LEAF, NUMBER = range(5)
"""Kinds of lines: operations, those whose text has operands more than once, results, arguments and constants."""


class Code(NamedTuple):
    """C text of a function.

    Args:
        body: its statements.
        work: number of entries of the work vector that it needs.
        sections: the statements of other functions, which it calls, by their names.
        included: names of the files that it needs besides those that all generated code includes.
    """

    body: str
    work: int = 0
    sections: Mapping[str, str] = MappingProxyType({})
    included: tuple[str, ...] = ()


def as_one(always: Sequence[CodeLine], sometimes: Sequence[CodeLine], requested: str, width: int = WIDTH) -> Code:
    """Return straight code as one function.

    Args:
        always: lines that run always.
        sometimes: lines after these that run on a condition.
        requested: this condition, in C.
        width: largest number of characters of an operation that is written where it is taken; 0: none is.
    """
    text = _Text([*always, *sometimes], {}, width)
    first, then = text.of(range(len(always))), text.of(range(len(always), len(always) + len(sometimes)))
    return Code(_text([*_declared(text.named), *first, *_if(requested, then)]))


def in_sections(
    always: Sequence[CodeLine],
    sometimes: Sequence[CodeLine],
    requested: str,
    name: str,
    length: int,
    waiting: int,
    width: int = WIDTH,
) -> Code:
    """Return straight code as a function that calls its sections, or as a whole where few values wait.

    Args:
        always: lines that run always.
        sometimes: lines after these that run on a condition.
        requested: this condition, in C.
        name: name of the function.
        length: usual number of lines of a section.
        waiting: mean number of values that wait below which up to `WHOLE` lines are left whole.
        width: see `as_one`.
    """
    lines = [*always, *sometimes]
    uses = _uses(lines)
    if len(lines) <= WHOLE and sum(use - k for k, use in enumerate(uses)) < waiting * len(lines):
        return as_one(always, sometimes, requested, width)
    bounds = [*_bounds(uses, 0, len(always), length), *_bounds(uses, len(always), len(lines), length)]
    section_of = [index for index, (start, end) in enumerate(bounds) for _ in range(start, end)]
    slots, work = _slots(uses, section_of)
    sections = {f"{name}_{k}": _section(lines, bound, slots, width) for k, bound in enumerate(bounds)}
    calls = [f"{each}(arg, res, w);" for each in sections]
    first_ones = sum(start < len(always) for start, _ in bounds)
    return Code(_text([*calls[:first_ones], *_if(requested, calls[first_ones:])]), work, sections)


def _uses(lines: Sequence[CodeLine]) -> list[int]:
    """Return the number of the last line that takes the value of each line; its own for leaves and where none does."""
    uses = list(range(len(lines)))
    for k, line in enumerate(lines):
        for taken in line.takes:
            if not lines[taken].leaf:
                uses[taken] = k
    return uses


def _bounds(uses: Sequence[int], start: int, end: int, length: int) -> list[tuple[int, int]]:
    """Return where the sections of some lines start and end: where few values are needed on both sides."""
    if start == end:
        return []
    change = [0] * (end - start + 1)  # in the number of values that lines before one leave to it or later ones
    for k in range(start, end):
        if uses[k] > k:
            change[k + 1 - start] += 1
            if uses[k] < end:
                change[uses[k] + 1 - start] -= 1
    crossing = list(accumulate(change))
    count = max(1, round((end - start) / length))
    slack = length // 4
    cuts = [
        min(range(middle - slack, middle + slack), key=lambda k: crossing[k])
        for middle in ((end - start) * part // count for part in range(1, count))
    ]
    return list(pairwise((start, *(start + cut for cut in cuts), end)))


def _slots(uses: Sequence[int], section_of: Sequence[int]) -> tuple[dict[int, int], int]:
    """Return the entries of the work vector for the values that later sections take, and the number of entries."""
    slots: dict[int, int] = {}
    free: list[int] = []
    ending: dict[int, list[int]] = defaultdict(list)  # entries that are free after each section
    size = 0
    for k, (section, last) in enumerate(zip(section_of, map(section_of.__getitem__, uses), strict=True)):
        if k and section > section_of[k - 1]:
            free += ending[section - 1]
        if last > section:
            if not free:
                free.append(size)
                size += 1
            slots[k] = free.pop()
            ending[last].append(slots[k])
    return slots, size


def _section(lines: Sequence[CodeLine], bound: tuple[int, int], slots: Mapping[int, int], width: int) -> str:
    """Return a section: its lines, each value of another section read where it is needed first."""
    text = _Text(lines, slots, width, range(*bound))
    written = text.of(range(*bound))
    return _text([*_declared(text.named), *written])


class _Text:
    """Statements of lines, with operations that one other takes alone written within it.

    Args:
        lines: all lines.
        slots: entries of the work vector of those that other sections take.
        width: see `as_one`.
        within: numbers of the lines of this section; default: all.

    Attributes:
        named: the variables that the statements set.
    """

    def __init__(
        self, lines: Sequence[CodeLine], slots: Mapping[int, int], width: int, within: range | None = None
    ) -> None:
        self.lines, self.slots, self.width = lines, slots, width
        self.within = range(len(lines)) if within is None else within
        self.named: dict[str, None] = {}
        self.uses: dict[int, int] = defaultdict(int)  # of each value in these lines; two where it needs a variable
        for k in self.within:
            line = lines[k]
            for taken in line.takes:
                self.uses[taken] += 2 if line.kind == REPEATING else 1
        self.inner: dict[int, str] = {}  # operations that stand within those that take them
        self.held: set[int] = set()  # lines that have a variable

    def of(self, some: Iterable[int]) -> list[str]:
        """Return the statements of some lines, which follow those before."""
        written: list[str] = []
        for k in some:
            line = self.lines[k]
            if line.leaf:
                continue
            value = line.text.format(*[self._operand(taken, written) for taken in line.takes])
            slot = f"w[{self.slots[k]}]" if k in self.slots else ""
            if line.kind == RESULT:
                written.append(f"{line.name} = {value};")
            elif self.uses[k] == 1 and not slot and len(value) <= self.width:
                self.inner[k] = value
            elif slot and self.width and not self.uses[k]:
                written.append(f"{slot} = {value};")
            else:
                self._set(k, value, written)
                if slot:
                    written.append(f"{slot} = {line.name};")
        return written

    def _operand(self, taken: int, written: list[str]) -> str:
        """Return a value that a line takes, which may need a variable set before."""
        line = self.lines[taken]
        if taken in self.held:
            return line.name
        if taken in self.inner:
            return self.inner.pop(taken)
        value = line.text if line.leaf else f"w[{self.slots[taken]}]"
        if self.width and (self.uses[taken] == 1 or line.kind == NUMBER):
            return value
        return self._set(taken, value, written)

    def _set(self, k: int, value: str, written: list[str]) -> str:
        """Write a statement that sets the variable of a line; return it."""
        name = self.lines[k].name
        written.append(f"{name} = {value};")
        self.named[name] = None
        self.held.add(k)
        return name


def _declared(names: Iterable[str]) -> list[str]:
    """Return the declaration of variables in one line; none without them."""
    declared = sorted({name for name in names if name})
    return [f"V {', '.join(declared)};"] if declared else []


def _if(condition: str, lines: Sequence[str]) -> list[str]:
    """Return lines that run on a condition."""
    return [f"if ({condition}) {{", *(f"  {line}" for line in lines), "}"] if lines else []


def _text(lines: Iterable[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)
