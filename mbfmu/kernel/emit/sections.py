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


class CodeLine(NamedTuple):
    """A line of straight code.

    Args:
        text: the C statement.
        name: the variable that it sets; empty where it gives a result.
        takes: numbers of the lines whose values it takes; only sections need them.
        leaf: whether it reads an argument or a constant, which any section can do again.
    """

    text: str
    name: str
    takes: Sequence[int]
    leaf: bool


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


def as_one(always: Sequence[CodeLine], sometimes: Sequence[CodeLine], requested: str) -> Code:
    """Return straight code as one function.

    Args:
        always: lines that run always.
        sometimes: lines after these that run on a condition.
        requested: this condition, in C.
    """
    declared = _declared(line.name for line in (*always, *sometimes))
    return Code(_text([*declared, *(line.text for line in always), *_if(requested, [line.text for line in sometimes])]))


def in_sections(
    always: Sequence[CodeLine], sometimes: Sequence[CodeLine], requested: str, name: str, length: int, waiting: int
) -> Code:
    """Return straight code as a function that calls its sections, or as a whole where few values wait.

    Args:
        always: lines that run always.
        sometimes: lines after these that run on a condition.
        requested: this condition, in C.
        name: name of the function.
        length: usual number of lines of a section.
        waiting: mean number of values that wait below which up to `WHOLE` lines are left whole.
    """
    lines = [*always, *sometimes]
    uses = _uses(lines)
    if len(lines) <= WHOLE and sum(use - k for k, use in enumerate(uses)) < waiting * len(lines):
        return as_one(always, sometimes, requested)
    bounds = [*_bounds(uses, 0, len(always), length), *_bounds(uses, len(always), len(lines), length)]
    section_of = [index for index, (start, end) in enumerate(bounds) for _ in range(start, end)]
    slots, work = _slots(uses, section_of)
    sections = {f"{name}_{k}": _section(lines, bound, slots) for k, bound in enumerate(bounds)}
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


def _section(lines: Sequence[CodeLine], bound: tuple[int, int], slots: Mapping[int, int]) -> str:
    """Return a section: its lines, each value of another section read where it is needed first."""
    written: list[str] = []
    held: dict[str, int] = {}  # the line whose value each variable has
    for k in range(*bound):
        line = lines[k]
        for taken in line.takes:
            name = lines[taken].name
            if held.get(name) != taken:
                written.append(lines[taken].text if lines[taken].leaf else f"{name} = w[{slots[taken]}];")
                held[name] = taken
        if line.leaf:
            continue
        written.append(line.text)
        if line.name:
            held[line.name] = k
        if k in slots:
            written.append(f"w[{slots[k]}] = {line.name};")
    return _text([*_declared(held), *written])


def _declared(names: Iterable[str]) -> list[str]:
    """Return the declaration of variables in one line; none without them."""
    declared = sorted({name for name in names if name})
    return [f"V {', '.join(declared)};"] if declared else []


def _if(condition: str, lines: Sequence[str]) -> list[str]:
    """Return lines that run on a condition."""
    return [f"if ({condition}) {{", *(f"  {line}" for line in lines), "}"] if lines else []


def _text(lines: Iterable[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)
