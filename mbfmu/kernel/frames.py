"""MX Function -> C text: calls of other functions, and what is done with whole vectors and matrices in between.

Each value has a place of its own: an argument, a part of another value, a constant, a number of its own (``s4``), or
room in the work vector (``v7``), which is used again when the value is needed no more.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import KernelError
from mbfmu.kernel.operations import literal, operation

CONCATENATIONS = frozenset({ca.OP_VERTCAT, ca.OP_HORZCAT, ca.OP_DIAGCAT})
SPLITS = frozenset({ca.OP_VERTSPLIT, ca.OP_HORZSPLIT})
SAME_NONZEROS = frozenset({ca.OP_RESHAPE, ca.OP_SPARSITY_CAST})
REARRANGED: dict[int, Callable[[Any], list[int]]] = {
    ca.OP_GETNONZEROS: lambda node: _chosen(node.info()),
    ca.OP_TRANSPOSE: lambda node: _places(_numbered(node.dep().sparsity()).T),
    ca.OP_PROJECT: lambda node: _places(ca.project(_numbered(node.dep().sparsity()), node.sparsity())),
}
"""Operations whose results are nonzeros of their operand in another order: -> the number of each, -1 for zero."""


def _chosen(info: Mapping[str, Any]) -> list[int]:
    """Return which nonzeros are taken, as CasADi tells it of a node: a list, a slice, or a slice of slices."""
    if "nz" in info:
        return list(info["nz"])
    if "slice" in info:
        return list(_range(info["slice"]))
    return [i + j for i in _range(info["outer"]) for j in _range(info["inner"])]


def _range(piece: Mapping[str, int]) -> range:
    return range(piece["start"], piece["stop"], piece["step"])


def _numbered(pattern: Any) -> Any:
    """Return the matrix of a pattern whose nonzeros are numbered from 1."""
    return ca.DM(pattern, list(range(1, pattern.nnz() + 1)))


def _places(numbered: Any) -> list[int]:
    return [int(item) - 1 for item in numbered.nonzeros()]


@dataclass(frozen=True)
class Written:
    """A function in C.

    Args:
        name: in C.
        work: how many numbers of the work vector it needs.
    """

    name: str
    work: int


@dataclass(frozen=True)
class Value:
    """The nonzeros of a matrix in generated code.

    Args:
        text: C expression of the first one's address; that of a single number begins with ``&``.
        pattern: CasADi Sparsity.
    """

    text: str
    pattern: Any

    @property
    def size(self) -> int:
        """Number of nonzeros."""
        return int(self.pattern.nnz())

    def part(self, offset: int, pattern: Any) -> "Value":
        """Return the nonzeros from one on, as those of a pattern."""
        return Value(f"({self.text} + {offset})" if offset else self.text, pattern)

    def element(self, index: str) -> str:
        """Return the nonzero of an index as a C expression, or the only one."""
        if self.text.startswith("&"):
            return self.text[1:]
        return f"{self.text}[{0 if self.size == 1 else index}]"


def callees(function: Any) -> tuple[Any, ...]:
    """Return the functions that a Function calls: CasADi Functions."""
    if function.is_a("SXFunction"):
        return ()
    if function.is_a("MXFunction"):
        codes = range(function.n_instructions())
        calls = (function.instruction_MX(k) for k in codes if function.instruction_id(k) == ca.OP_CALL)
        return tuple(call.which_function() for call in calls)
    if function.class_name() == "Switch":
        return (*function.info()["f"], function.info()["f_def"])
    raise KernelError(f"no C code is known for '{function.name()}', a function of kind {function.class_name()}")


def unwanted_results(function: Any) -> Iterator[tuple[Any, int]]:
    """Yield (callee, number of the result) for what a Function does not ask of those it calls."""
    if function.is_a("MXFunction"):
        for k in range(function.n_instructions()):
            if function.instruction_id(k) == ca.OP_CALL:
                results = function.instruction_output(k)
                yield from (
                    (function.instruction_MX(k).which_function(), which) for which, to in enumerate(results) if to < 0
                )


class Tables:
    """Constants of a file, each written once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}

    def name(self, declaration: str, values: Iterable[str]) -> str:
        """Return the name of a table of values.

        Args:
            declaration: its C type.
            values: C texts.
        """
        text = "{" + ", ".join(values) + "}"
        key = declaration + text
        if key not in self._names:
            self._names[key] = f"c{len(self._names)}"
            array = "" if declaration.startswith("struct") else "[]"
            self.lines.append(f"static const {declaration} {self._names[key]}{array} = {text};")
        return self._names[key]

    def pattern(self, pattern: Any) -> str:
        """Return the name of a sparsity pattern's table."""
        return self.name("int", map(str, [*pattern.shape, *pattern.colind(), *pattern.row()]))

    def factorisation(self, pattern: Any) -> tuple[str, int]:
        """Return the name of a matrix pattern's factorisation, and the room that its solution needs."""
        v, R, rows, columns = pattern.qr_sparse()
        tables = [self.pattern(item) for item in (pattern, v, R)]
        tables += [self.name("int", map(str, item)) for item in (rows, columns)]
        return self.name("struct qr", tables), v.nnz() + R.nnz() + v.size2() + v.size1()


def choice(function: Any, written: Callable[[Any], Written]) -> tuple[str, int]:
    """Return the body of a CasADi Switch and the work it needs: the first argument chooses which function answers.

    Raises:
        KernelError: its functions have other patterns than it has itself.
    """
    info = function.info()
    if info["project_in"] or info["project_out"]:
        raise KernelError(f"'{function.name()}' chooses between functions of different sparsity")
    cases = [written(item) for item in info["f"]]
    other = written(info["f_def"])
    lines = [f"  if (arg[0][0] == {k}) {item.name}(arg + 1, res, w);\n  else" for k, item in enumerate(cases)]
    return "\n".join([*lines, f"    {other.name}(arg + 1, res, w);\n"]), max(item.work for item in (*cases, other))


class Frame:
    """The C text of an MX Function.

    Args:
        function: CasADi MX Function.
        unwanted: results that a caller may not ask for.
        written: gives each called function as it is in C.
        tables: of the file.

    Raises:
        KernelError: it has an operation that is not known.
    """

    def __init__(
        self, function: Any, unwanted: Collection[int], written: Callable[[Any], Written], tables: Tables
    ) -> None:
        self._function, self._unwanted, self._written, self._tables = function, unwanted, written, tables
        self._codes = [function.instruction_id(k) for k in range(function.n_instructions())]
        self._lines: list[str] = []
        self._scratch = max(map(self._scratch_of, range(len(self._codes))), default=0)
        self._size = 0  # of the room behind the scratch
        self._free: dict[int, list[int]] = defaultdict(list)  # places in the room, by size
        self._taken: dict[int, list[tuple[int, int]]] = {}  # place and size of each result's room
        self._values: dict[int, Value] = {}  # by CasADi's number of the place
        self._stored = [0] * function.n_out()  # nonzeros of each result that are there
        ended = self._ended()
        for k in range(len(self._codes)):
            self._write(k)
            for made in ended[k]:
                for place, size in self._taken.pop(made, ()):
                    self._free[size].append(place)
        for which, count in enumerate(self._stored):
            if count != function.nnz_out(which):
                raise KernelError(f"result {which} of '{function.name()}' is not whole")

    @property
    def work(self) -> int:
        """Number of entries of the work vector that it needs."""
        return self._scratch + self._size

    @property
    def text(self) -> str:
        """The function's body."""
        return "".join(f"  {line}\n" for line in self._lines)

    def _scratch_of(self, k: int) -> int:
        """Return the work that is needed while an instruction runs."""
        code = self._codes[k]
        if code == ca.OP_CALL:
            return self._written(self._function.instruction_MX(k).which_function()).work
        if code == ca.OP_SOLVE:
            return self._tables.factorisation(self._function.instruction_MX(k).dep(1).sparsity())[1]
        return int(self._function.instruction_MX(k).size1()) if code == ca.OP_MTIMES else 0

    def _slice(self, k: int) -> slice | None:
        """Return which nonzeros an instruction takes, if they stand side by side."""
        found = self._function.instruction_MX(k).info().get("slice")
        return slice(found["start"], found["stop"]) if found and found["step"] == 1 else None

    def _ended(self) -> Mapping[int, list[int]]:
        """Return, for each instruction, those whose results are not needed after it."""
        made: dict[int, int] = {}  # place of a value -> instruction in whose room it lies
        last: dict[int, int] = {}
        for k, code in enumerate(self._codes):
            given = [] if code == ca.OP_INPUT else self._function.instruction_input(k)
            for place in given:
                last[made[place]] = k
            part = code in SAME_NONZEROS | SPLITS or (code == ca.OP_GETNONZEROS and self._slice(k) is not None)
            if code != ca.OP_OUTPUT:
                made.update(dict.fromkeys(self._function.instruction_output(k), made[given[0]] if part else k))
        ended = defaultdict(list)
        for number, k in last.items():
            ended[k].append(number)
        return ended

    def _new(self, k: int, pattern: Any) -> Value:
        """Return where a result of an instruction is to be written."""
        size, number = int(pattern.nnz()), len(self._lines)
        if size == 1:
            self._lines.append(f"V s{number};")
            return Value(f"&s{number}", pattern)
        if self._free[size]:
            place = self._free[size].pop()
        else:
            place = self._size
            self._size += size
        self._taken.setdefault(k, []).append((place, size))
        self._lines.append(f"V *const v{number} = w + {self._scratch + place};")
        return Value(f"v{number}", pattern)

    def _write(self, k: int) -> None:
        """Write an instruction."""
        code, node = self._codes[k], self._function.instruction_MX(k)
        given = [] if code == ca.OP_INPUT else [self._values[place] for place in self._function.instruction_input(k)]
        if code == ca.OP_OUTPUT:
            self._store(given[0], self._function.instruction_output(k)[0])
            return
        results = self._results(k, code, node, given)
        self._values.update(zip(self._function.instruction_output(k), results, strict=True))

    def _store(self, value: Value, which: int) -> None:
        """Write a part of a result; the parts come in their order."""
        offset = self._stored[which]
        self._stored[which] += value.size
        guard = f"if (res[{which}]) " if which in self._unwanted else ""
        if value.size == 1:
            self._lines.append(f"{guard}res[{which}][{offset}] = {value.element('0')};")
        elif value.size:
            self._lines.append(f"{guard}copy({value.text}, {value.size}, res[{which}] + {offset});")

    def _results(self, k: int, code: int, node: Any, given: list[Value]) -> list[Value]:
        """Return the results of an instruction after writing what makes them."""
        if code == ca.OP_INPUT:
            info = node.info()
            return [Value(f"arg[{info['ind']}]", node.sparsity()).part(info["offset"], node.sparsity())]
        if code == ca.OP_CONST:
            numbers = [literal(float(item)) for item in node.to_DM().nonzeros()]
            return [Value(self._tables.name("V", numbers or ["0"]), node.sparsity())]
        if code == ca.OP_CALL:
            return self._call(k, node.which_function(), given)
        if code in SAME_NONZEROS:
            return [given[0].part(0, node.sparsity())]
        if code in SPLITS:
            return list(self._parts(node.info()["output"], given[0]))
        if code == ca.OP_GETNONZEROS and (where := self._slice(k)) is not None:
            return [given[0].part(where.start, node.sparsity())]
        result = self._new(k, node.sparsity())
        if code in CONCATENATIONS:
            offset = 0
            for item in given:
                self._lines.append(f"copy({item.text}, {item.size}, {result.text} + {offset});")
                offset += item.size
        elif code in REARRANGED:
            at = self._tables.name("int", map(str, REARRANGED[code](node)))
            self._lines.append(f"gather({given[0].text}, {at}, {result.size}, {result.text});")
        elif code == ca.OP_MTIMES:
            start, x, y = given
            patterns = [self._tables.pattern(item.pattern) for item in (x, y, result)]
            self._lines.append(
                f"multiply_add({patterns[0]}, {x.text}, {patterns[1]}, {y.text}, {start.text}, {patterns[2]}, "
                f"{result.text}, w);"
            )
        elif code == ca.OP_SOLVE and not node.info()["tr"]:
            right, matrix = given
            name, _ = self._tables.factorisation(matrix.pattern)
            sides = result.pattern.size2()
            self._lines.append(f"solve(&{name}, {matrix.text}, {right.text}, {sides}, {result.text}, w);")
        elif code == ca.OP_NORM1:
            self._lines.append(f"{result.element('0')} = norm_1({given[0].text}, {given[0].size});")
        else:
            self._by_elements(code, given, result)
        return [result]

    def _call(self, k: int, callee: Any, given: list[Value]) -> list[Value]:
        """Write a call; return its results."""
        wanted = [place >= 0 for place in self._function.instruction_output(k)]
        patterns = [callee.sparsity_out(which) for which in range(callee.n_out())]
        results = [
            self._new(k, pattern) if asked else Value("0", pattern)
            for pattern, asked in zip(patterns, wanted, strict=True)
        ]
        arguments, addresses = (", ".join(item.text for item in items) for items in (given, results))
        name = self._written(callee).name
        self._lines.append(f"{name}((const V *const[]){{{arguments}}}, (V *const[]){{{addresses}}}, w);")
        return results

    def _parts(self, output: Any, whole: Value) -> Iterator[Value]:
        """Yield the parts of a value that is split; output: a Function with their patterns."""
        offset = 0
        for which in range(output.n_out()):
            yield whole.part(offset, output.sparsity_out(which))
            offset += output.nnz_out(which)

    def _by_elements(self, code: int, given: list[Value], result: Value) -> None:
        """Write an operation on each nonzero, of vectors of one size or with a single number."""
        name, places = operation(code, self._function.name())
        if any(item.size not in {1, result.size} for item in given):
            raise KernelError(f"operands of {name} in '{self._function.name()}' differ in size")
        operands = (literal(item) if isinstance(item, float) else given[item].element("i") for item in places)
        loop = "" if result.size == 1 else f"for (int i = 0; i < {result.size}; ++i) "
        self._lines.append(f"{loop}{result.element('i')} = {name}({', '.join(operands)});")
