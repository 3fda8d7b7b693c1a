"""CasADi Functions -> C text of one file."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from mbfmu.dae.linear_algebra.merged import operations, own_operations
from mbfmu.kernel.emit.frames import MatrixText, Written, callees, choice, unwanted_results
from mbfmu.kernel.emit.places import Tables
from mbfmu.kernel.emit.sections import Code
from mbfmu.kernel.emit.straight import straight
from mbfmu.kernel.emit.tabled import TABLED, tabled
from mbfmu.kernel.shorten import shortened
from mbfmu.kernel.shorten.angles import ANGLES

HEADERS = ("elementary.h", "arithmetic.h", "matrix.h")
"""Names of the files of the folder c that generated code includes."""
LANES = ("elementary.h", "lanes.h", "matrix.h")
"""The same for several instances at a time."""
WITHIN = {"elementary.h": "circular.h", "lanes.h": "several.h", ANGLES: "several.h"}
"""Name of the file that each of these includes."""
SELDOM = 1000
"""Smallest number of operations of a function that is a table if it runs seldom."""
LOOPED = 0.05
"""Lines for each operation up to which loops are written instead of a table."""
SIGNATURE = "(const V *const *arg, V *const *res, V *w)"
"""Arguments of every generated function."""


@dataclass(frozen=True)
class Generated:
    """C text of functions.

    Args:
        text: contents of one file.
        work: number of entries of the work vector that the functions need.
        open: called functions that other files may call too, by their hash.
        included: names of the files that the text includes.
    """

    text: str
    work: int
    open: Mapping[int, Written]
    included: tuple[str, ...]


def generated(
    functions: Sequence[Any],
    external: bool,
    optional: Collection[Any] = (),
    opened: Mapping[int, str] = MappingProxyType({}),
    known: Mapping[int, Written] = MappingProxyType({}),
    included: Sequence[str] = HEADERS,
    callers: Sequence[Any] = (),
    seldom: Collection[int] = (),
    tangent_of: Mapping[int, Any] = MappingProxyType({}),
) -> Generated:
    """Return functions as C text, with all functions that they call.

    Args:
        functions: CasADi Functions.
        external: whether the functions can be called from other files; the functions that they call are static.
        optional: those of the functions whose results after the first are not always asked for.
        opened: names of called functions that another file calls too, by their hash.
        known: functions that another file has, by their hash.
        included: names of the files that define the operations.
        callers: functions of other files that call these.
        seldom: hashes of functions that run seldom, of which the long ones are tables.
        tangent_of: functions by the hash of their tangents, which follow the same tables; see `tangents_of`.

    Raises:
        KernelError: a function has an unknown operation.
    """
    named = {item.__hash__(): item.name() for item in functions}
    names = {**(named if external else {}), **opened}
    unwanted = _unwanted([*functions, *callers], optional)
    writer = _File(unwanted, names, known, seldom, tangent_of, included == LANES)
    for function in functions:
        writer.write(function, function.name())
    every = (*included, *writer.included)
    followed = "".join(f" X{count}({kind})" for kind, count in sorted(writer.followed.items()))
    head = [f"#define FOLLOWED(X1, X2, X3){followed}"] if TABLED in every else []
    head += [f'#include "{name}"' for name in every]
    text = "\n".join([*head, "", *writer.tables.lines, *writer.texts])
    return Generated(text, writer.work, {key: writer.done[key] for key in opened}, every)


def shared(functions: Sequence[Any], others: Sequence[Any], least: int = 0) -> dict[int, str]:
    """Return the functions that both call, by their hash, with a name for each; not those that only these call.

    Args:
        functions: CasADi Functions.
        others: more of them.
        least: number of operations below which a function is not counted, with all that it calls.
    """
    of_others = {item.__hash__() for item in called(others, set())} - {item.__hash__() for item in others}
    both = (item for item in called(functions, of_others) if item.__hash__() in of_others)
    long = (item for item in both if operations(item) >= least)
    return {item.__hash__(): f"shared{k}_{item.name()}" for k, item in enumerate(long)}


def tangents_of(functions: Sequence[Any], others: Sequence[Any]) -> dict[int, Any]:
    """Return the long ones of some functions by the hash of their tangents, which others call.

    Args:
        functions: CasADi Functions.
        others: CasADi Functions.
    """
    names = {item.name() for item in called(others)}
    result = {}
    for item in called([*functions, *others]):
        if f"fwd1_{item.name()}" in names and item.is_a("SXFunction") and item.n_instructions() >= SELDOM:
            tangent = item.forward(1)  # CasADi keeps it: the same that is called
            if all(item.sparsity_out(k) == tangent.sparsity_out(k) for k in range(item.n_out())):
                result[tangent.__hash__()] = item
    return result


def called(functions: Sequence[Any], ends: Collection[int] = ()) -> list[Any]:
    """Return functions with all that they call, but not what those call whose hash is one of the ends."""
    waiting, result = list(functions), {}
    while waiting:
        function = waiting.pop()
        if function.__hash__() not in result:
            result[function.__hash__()] = function
            waiting += () if function.__hash__() in ends else callees(function)
    return list(result.values())


def long_parts(functions: Sequence[Any], least: int, known: Collection[int] = ()) -> list[Any]:
    """Return the long ones among called functions, but for the shortest of them: each can be compiled beside the rest.

    Args:
        functions: CasADi Functions.
        least: smallest number of operations of a long function.
        known: functions that a file has, by their hash.
    """
    new = (item for item in called(functions, known) if item.__hash__() not in known)
    long = [item for item in new if item.is_a("SXFunction") and own_operations(item) >= least]
    return sorted(long, key=own_operations, reverse=True)[:-1]


def laned(functions: Sequence[Any]) -> bool:
    """Return whether functions can run for several instances at a time: none chooses another by a value."""
    return all(function.class_name() != "Switch" for function in called(functions))


def kernel_file(name: str) -> str:
    """Return the text of a file of the folder c."""
    return (files("mbfmu.kernel") / "c" / name).read_text(encoding="utf-8")


def headers(included: Sequence[str] = HEADERS) -> dict[str, str]:
    """Return the files that generated code includes, by name, with those that they include."""
    within = (WITHIN[name] for name in included if name in WITHIN)
    return {name: kernel_file(name) for name in (*included, *within)}


def _unwanted(functions: Sequence[Any], optional: Collection[Any]) -> dict[int, set[int]]:
    """Return the numbers of the results that some caller leaves out, by function."""
    unwanted: dict[int, set[int]] = defaultdict(set)
    for function in optional:
        unwanted[function.__hash__()].update(range(1, function.n_out()))
    for function in called(functions):
        for callee, which in unwanted_results(function):
            for each in (callee, *(callees(callee) if callee.class_name() == "Switch" else ())):
                unwanted[each.__hash__()].add(which)
    return unwanted


class _File:
    """Functions in the order in which they are called, each written once."""

    def __init__(
        self,
        unwanted: Mapping[int, set[int]],
        open_names: Mapping[int, str],
        known: Mapping[int, Written],
        seldom: Collection[int],
        tangent_of: Mapping[int, Any],
        lanes: bool,
    ) -> None:
        self.unwanted, self.open_names, self.seldom, self.lanes = unwanted, open_names, seldom, lanes
        self.tangent_of = tangent_of
        self.tables = Tables()
        self.included: dict[str, None] = {}  # files besides those that all generated code includes
        self.followed: dict[str, int] = {}  # number of operands of each kind of operation in tables
        self.texts = [f"void {item.name}{SIGNATURE};\n" for item in known.values()]
        self.work = 0
        self.done = dict(known)

    def write(self, function: Any, name: str = "") -> Written:
        """Return a function in C, written now or before; `name` is given to a function that others call by name."""
        key = function.__hash__()
        if key not in self.done:
            code = self._code(function, name)
            self.included |= dict.fromkeys(code.included)
            name = self._named(function, name)
            scope = "" if key in self.open_names else "static "
            parts = [(f"SECTION void {part}", body) for part, body in code.sections.items()]
            for head, body in (*parts, (f"{scope}void {name}", code.body)):
                self.texts.append(f"{head}{SIGNATURE} {{\n{body}}}\n")
            self.done[key] = Written(name, code.work, frozenset(self.unwanted.get(key, ())))
            self.work = max(self.work, code.work)
        return self.done[key]

    def _code(self, function: Any, name: str) -> Code:
        unwanted = self.unwanted.get(function.__hash__(), set())
        if function.is_a("SXFunction"):
            name = self._named(function, name)
            if differentiated := self.tangent_of.get(function.__hash__()):
                seeds = differentiated.n_in() + differentiated.n_out()
                if table := tabled(differentiated, self.tables, seeds):
                    self.followed |= table.kinds
                    return table.code
            if function.__hash__() in self.seldom and function.n_instructions() >= SELDOM:
                plain, most_lines = self._table, LOOPED
            else:
                plain, most_lines = partial(straight, lanes=self.lanes), math.inf
            code = shortened(function, unwanted, name, plain, not self.lanes, most_lines)
            return code or plain(function, unwanted, name)
        if function.is_a("MXFunction"):
            frame = MatrixText(function, unwanted, self.write, self.tables)
            return Code(frame.text, frame.work)
        return Code(*choice(function, self.write, self.tables))

    def _table(self, function: Any, unwanted: Collection[int], name: str) -> Code:
        """Return a function as a table; one with too many values at a time as straight code."""
        table = tabled(function, self.tables)
        if table is None:
            return straight(function, unwanted, name)
        self.followed |= table.kinds
        return table.code

    def _named(self, function: Any, name: str) -> str:
        """Return the name in C of a function that is written next."""
        return self.open_names.get(function.__hash__()) or name or f"f{len(self.done)}_{function.name()}"
