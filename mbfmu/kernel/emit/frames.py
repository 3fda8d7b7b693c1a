"""MX Function -> C text: calls of other functions, and the operations on whole vectors and matrices in between.

Each value has a place: an argument, a part of another value, a constant, a variable of its own (``s4``), a result, or
room in the work vector (``v7``), which is used again when the value is no longer needed. Operations on each element of
a vector are written as one loop.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import KernelError
from mbfmu.kernel.emit.operations import OPERATIONS, literal, operation
from mbfmu.kernel.emit.places import Tables, Value

CONCATENATIONS = frozenset({ca.OP_VERTCAT, ca.OP_HORZCAT, ca.OP_DIAGCAT})
SPLITS = frozenset({ca.OP_VERTSPLIT, ca.OP_HORZSPLIT, ca.OP_DIAGSPLIT})
ASSIGNED = {ca.OP_SETNONZEROS: "=", ca.OP_ADDNONZEROS: "+="}
"""Operations that give some nonzeros of their first operand those of the second, or add these to them."""
SAME_NONZEROS = frozenset({ca.OP_RESHAPE, ca.OP_SPARSITY_CAST})
REARRANGED: dict[int, Callable[[Any], list[int]]] = {
    ca.OP_GETNONZEROS: lambda node: _chosen(node.info()),
    ca.OP_TRANSPOSE: lambda node: _places(_numbered(node.dep().sparsity()).T),
    ca.OP_PROJECT: lambda node: _places(ca.project(_numbered(node.dep().sparsity()), node.sparsity())),
}
"""Operations whose results are nonzeros of their operand in another order, each with a function that returns the
number of the nonzero for each entry, -1 for zero."""


@dataclass(frozen=True)
class Written:
    """A function in C.

    Args:
        name: its name in C.
        work: number of entries of the work vector that it needs.
        optional: numbers of the results that a caller may leave out.
    """

    name: str
    work: int
    optional: frozenset[int]


@dataclass(frozen=True)
class Instruction:
    """An instruction of an MX Function in single assignment.

    Args:
        code: CasADi's number of the operation.
        node: CasADi MX; None for a result.
        given: numbers of the values it takes.
        made: numbers of the values it makes, -1 for values that are not used.
        which: number of the result, for a result.
        offset: number of nonzeros of that result that come before, for a result.
    """

    code: int
    node: Any
    given: tuple[int, ...]
    made: tuple[int, ...]
    which: int = -1
    offset: int = 0


def instructions(function: Any) -> list[Instruction]:
    """Return the instructions of an MX Function.

    Raises:
        KernelError: a result is not whole.
    """
    result: list[Instruction] = []
    current: dict[int, int] = {}  # CasADi's number of a place -> value in it
    size: dict[int, int] = {}
    stored = [0] * function.n_out()
    for k in range(function.n_instructions()):
        code, node, registers = function.instruction_id(k), function.instruction_MX(k), function.instruction_output(k)
        operands = () if code == ca.OP_INPUT else tuple(current[register] for register in function.instruction_input(k))
        if code == ca.OP_OUTPUT:
            which = registers[0]
            result.append(Instruction(code, None, operands, (), which, stored[which]))
            stored[which] += size[operands[0]]
            continue
        made = tuple(len(size) + index if register >= 0 else -1 for index, register in enumerate(registers))
        for index, register, pattern in zip(made, registers, _patterns(code, node), strict=True):
            size[len(size)] = pattern.nnz()
            current[register] = index
        result.append(Instruction(code, node, operands, made))
    for which, count in enumerate(stored):
        if count != function.nnz_out(which):
            raise KernelError(f"result {which} of '{function.name()}' is not whole")
    return result


def callees(function: Any) -> tuple[Any, ...]:
    """Return the functions that a Function calls: CasADi Functions.

    Raises:
        KernelError: the Function is of an unknown kind.
    """
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
    """Yield (callee, number of the result) for each result that a Function leaves out when it calls another."""
    if function.is_a("MXFunction"):
        for item in instructions(function):
            if item.code == ca.OP_CALL:
                yield from ((item.node.which_function(), which) for which, to in enumerate(item.made) if to < 0)


def choice(function: Any, written: Callable[[Any], Written], tables: Tables) -> tuple[str, int]:
    """Return the body of a CasADi Switch and the work it needs: its first argument chooses the function to call.

    Args:
        function: CasADi Switch.
        written: returns a called function as it is in C.
        tables: constants of the file.
    """
    info = function.info()
    cases = [_case(function, item, written(item), tables) for item in (*info["f"], info["f_def"])]
    *texts, other = (text for text, _ in cases)
    lines = [f"  if (arg[0][0] == {k}) {text}\n  else" for k, text in enumerate(texts)]
    return "\n".join([*lines, f"    {other}\n"]), max(work for _, work in cases)


def _case(function: Any, called: Any, how: Written, tables: Tables) -> tuple[str, int]:
    """Return the call of one of the functions of a Switch, and its work; other sparsity patterns are projected."""
    patterns = [
        (
            [called.sparsity_in(k) for k in range(called.n_in())],
            [function.sparsity_in(k + 1) for k in range(called.n_in())],
        ),
        (
            [called.sparsity_out(k) for k in range(called.n_out())],
            [function.sparsity_out(k) for k in range(called.n_out())],
        ),
    ]
    if all(pattern == supplied for pattern, supplied in patterns):
        return f"{how.name}(arg + 1, res, w);", how.work
    room, before, after = 0, [], []
    addresses: list[list[str]] = [[], []]
    for which, (pattern, supplied) in enumerate(patterns):
        for k, (inner, outer) in enumerate(zip(pattern, supplied, strict=True)):
            whole = f"res[{k}]" if which else f"arg[{k + 1}]"
            if inner == outer:
                addresses[which].append(whole)
                continue
            address, source, target = f"w + {room}", *((inner, outer) if which else (outer, inner))
            addresses[which].append(address)
            at = tables.name("int", map(str, _places(ca.project(_numbered(source), target)) or [0]))
            if which:
                after.append(f"if ({whole}) gather({address}, {at}, {target.nnz()}, {whole});")
            else:
                before.append(f"gather({whole}, {at}, {target.nnz()}, {address});")
            room += inner.nnz()
    arguments, results = (", ".join(each) for each in addresses)
    call = f"{how.name}((const V *const[]){{{arguments}}}, (V *const[]){{{results}}}, w + {room});"
    return f"{{ {' '.join([*before, call, *after])} }}", room + how.work


class MatrixText:
    """The C text of an MX Function.

    Args:
        function: CasADi MX Function.
        unwanted: numbers of the results that a caller may leave out.
        written: returns a called function as it is in C.
        tables: constants of the file.

    Raises:
        KernelError: the function has an unknown operation.
    """

    def __init__(
        self, function: Any, unwanted: Collection[int], written: Callable[[Any], Written], tables: Tables
    ) -> None:
        self._name, self._unwanted, self._written, self._tables = function.name(), unwanted, written, tables
        self._instructions, first_optional = _optional_last(instructions(function), unwanted)
        self._users = self._used_by()
        self._lines: list[str] = []
        self._scratch = max(map(self._scratch_of, self._instructions), default=0)
        self._size = 0  # of the room after the scratch
        self._free: dict[int, list[int]] = defaultdict(list)  # places in the room, by size
        self._rooms: dict[int, tuple[int, int]] = {}  # place and size of the room that a value has
        self._values: dict[int, Value] = {}
        ended = self._ended()
        for k, item in enumerate(self._instructions):
            if k == first_optional:
                self._lines.append(f"if ({' || '.join(f'res[{which}]' for which in sorted(unwanted))}) {{")
            if item.code == ca.OP_OUTPUT:
                self._store(item)
            else:
                self._values.update(zip(item.made, self._results(item), strict=True))
            for index in ended[k]:
                if index in self._rooms:
                    offset, size = self._rooms.pop(index)
                    self._free[size].append(offset)
        if first_optional < len(self._instructions):
            self._lines.append("}")

    @property
    def work(self) -> int:
        """Number of entries of the work vector that the function needs."""
        return self._scratch + self._size

    @property
    def text(self) -> str:
        """The function's body."""
        return "".join(f"  {line}\n" for line in self._lines)

    def _used_by(self) -> Mapping[int, list[Instruction]]:
        """Return the instructions that use each value."""
        users = defaultdict(list)
        for item in self._instructions:
            for index in item.given:
                users[index].append(item)
        return users

    def _scratch_of(self, item: Instruction) -> int:
        """Return the number of entries of the work vector that an instruction needs while it runs."""
        if item.code == ca.OP_CALL:
            return self._written(item.node.which_function()).work
        if item.code == ca.OP_SOLVE:
            matrix, turned = item.node.dep(1).sparsity(), item.node.info()["tr"]
            room = self._tables.factorisation(matrix.T if turned else matrix)[1]
            return int(room + matrix.nnz() if turned else room)
        return int(item.node.size1()) if item.code == ca.OP_MTIMES else 0

    def _ended(self) -> Mapping[int, list[int]]:
        """Return, for each instruction, the values that are not needed after it."""
        last: dict[int, int] = {}
        for k in reversed(range(len(self._instructions))):
            item = self._instructions[k]
            within = _is_part(item) or self._is_inlined(item)
            needed = max((last[index] for index in item.made if index in last), default=k) if within else k
            for index in item.given:
                last[index] = max(last.get(index, 0), needed)
        ended = defaultdict(list)
        for index, k in last.items():
            ended[k].append(index)
        return ended

    def _is_inlined(self, item: Instruction) -> bool:
        """Return whether a vector is computed where it is used: by elements, and used once, by an operation on them."""
        if item.code not in OPERATIONS or item.node.nnz() == 1:
            return False
        users = self._users[item.made[0]]
        return len(users) == 1 and users[0].code in OPERATIONS and users[0].node.nnz() == item.node.nnz()

    def _new(self, index: int, pattern: Any) -> Value:
        """Return the place to write a value to."""
        size, label = int(pattern.nnz()), len(self._lines)
        for user in self._users[index]:
            if user.code == ca.OP_OUTPUT and user.which not in self._unwanted:
                return Value(f"res[{user.which}]", pattern).part(user.offset, pattern)
        if size == 1:
            self._lines.append(f"V s{label};")
            return Value(f"&s{label}", pattern)
        if self._free[size]:
            offset = self._free[size].pop()
        else:
            offset = self._size
            self._size += size
        self._rooms[index] = offset, size
        self._lines.append(f"V *const v{label} = w + {self._scratch + offset};")
        return Value(f"v{label}", pattern)

    def _store(self, item: Instruction) -> None:
        """Write a part of a result, if it is not there already."""
        value = self._values[item.given[0]]
        target = Value(f"res[{item.which}]", value.pattern).part(item.offset, value.pattern)
        if target.text != value.text and value.size:
            guard = f"if (res[{item.which}]) " if item.which in self._unwanted else ""
            self._lines.append(f"{guard}copy({value.text}, {value.size}, {target.text});")

    def _results(self, item: Instruction) -> list[Value]:
        """Write an instruction; return its results."""
        code, node, operands = item.code, item.node, [self._values[index] for index in item.given]
        if code == ca.OP_CALL:
            return self._call(item, operands)
        if code in SPLITS:
            return list(_split(node.info()["output"], operands[0]))
        pattern = node.sparsity()
        if code == ca.OP_INPUT:
            info = node.info()
            return [Value(f"arg[{info['ind']}]", pattern).part(info["offset"], pattern)]
        if code == ca.OP_CONST:
            numbers = [float(entry) for entry in node.to_DM().nonzeros()] or [0.0]
            return [Value(self._tables.name("V", (f"ENTRY({literal(entry)})" for entry in numbers)), pattern)]
        if code in SAME_NONZEROS:
            return [operands[0].part(0, pattern)]
        if code == ca.OP_GETNONZEROS and (where := _side_by_side(node)) is not None:
            return [operands[0].part(where, pattern)]
        if code in OPERATIONS:
            return [self._by_elements(item, operands)]
        result = self._new(item.made[0], pattern)
        self._compute(item, operands, result)
        return [result]

    def _compute(self, item: Instruction, values: list[Value], result: Value) -> None:
        """Write an instruction whose result has a place of its own."""
        code, node = item.code, item.node
        if code in CONCATENATIONS:
            offset = 0
            for value in values:
                self._lines.append(f"copy({value.text}, {value.size}, {result.part(offset, value.pattern).text});")
                offset += value.size
        elif code in REARRANGED:
            at = self._tables.name("int", map(str, REARRANGED[code](node)))
            self._lines.append(f"gather({values[0].text}, {at}, {result.size}, {result.text});")
        elif code == ca.OP_MTIMES:
            start, x, y = values
            patterns = [self._tables.pattern(value.pattern) for value in (x, y, result)]
            operands = f"{patterns[0]}, {x.text}, {patterns[1]}, {y.text}, {start.text}, {patterns[2]}, {result.text}"
            self._lines.append(f"multiply_add({operands}, w);")
        elif code in ASSIGNED:
            whole, part = values
            at = self._tables.name("int", map(str, _chosen(node.info())))
            self._lines.append(f"copy({whole.text}, {whole.size}, {result.text});")
            self._lines.append(
                f"for (int i = 0; i < {part.size}; ++i) {result.text}[{at}[i]] {ASSIGNED[code]} {part.element('i')};"
            )
        elif code == ca.OP_SOLVE:
            right, matrix = values
            factor, of = matrix.pattern, matrix.text
            if node.info()["tr"]:
                factor = matrix.pattern.T
                of = f"w + {self._tables.factorisation(factor)[1]}"
                at = self._tables.name("int", map(str, _places(_numbered(matrix.pattern).T)))
                self._lines.append(f"gather({matrix.text}, {at}, {matrix.size}, {of});")
            name, _ = self._tables.factorisation(factor)
            self._lines.append(f"solve(&{name}, {of}, {right.text}, {result.pattern.size2()}, {result.text}, w);")
        elif code == ca.OP_NORM1:
            self._lines.append(f"{result.element('0')} = norm_1({values[0].text}, {values[0].size});")
        elif code == ca.OP_DOT:
            x, y = values
            self._lines.append(f"{result.element('0')} = dot({x.text}, {y.text}, {x.size});")
        else:
            operation(code, self._name)  # raises with its name

    def _call(self, item: Instruction, operands: list[Value]) -> list[Value]:
        """Write a call; return its results."""
        callee = self._written(item.node.which_function())
        patterns = _patterns(item.code, item.node)
        results = [
            self._new(index, pattern) if index >= 0 or which not in callee.optional else Value("0", pattern)
            for which, (index, pattern) in enumerate(zip(item.made, patterns, strict=True))
        ]
        arguments, addresses = (", ".join(value.text for value in values) for values in (operands, results))
        self._lines.append(f"{callee.name}((const V *const[]){{{arguments}}}, (V *const[]){{{addresses}}}, w);")
        return results

    def _by_elements(self, item: Instruction, values: list[Value]) -> Value:
        """Return the result of an operation on each nonzero, of vectors of one size or with a single number."""
        name, order = operation(item.code, self._name)
        pattern = item.node.sparsity()
        if any(value.size not in {1, pattern.nnz()} for value in values):
            raise KernelError(f"operands of {name} in '{self._name}' differ in size")
        operands = (
            literal(position) if isinstance(position, float) else values[position].element("i") for position in order
        )
        expression = f"{name}({', '.join(operands)})"
        if self._is_inlined(item):
            return Value("", pattern, expression)
        result = self._new(item.made[0], pattern)
        loop = "" if result.size == 1 else f"for (int i = 0; i < {result.size}; ++i) "
        self._lines.append(f"{loop}{result.element('i')} = {expression};")
        return result


def _optional_last(every: list[Instruction], unwanted: Collection[int]) -> tuple[list[Instruction], int]:
    """Return instructions with those last that only unwanted results need, and the place of the first of these."""
    if not unwanted:
        return every, len(every)
    needed: set[int] = set()
    always = [False] * len(every)
    for k in reversed(range(len(every))):
        item = every[k]
        always[k] = item.which not in unwanted if item.code == ca.OP_OUTPUT else not needed.isdisjoint(item.made)
        if always[k]:
            needed.update(item.given)
    first, last = (
        [item for item, kept in zip(every, always, strict=True) if kept is wanted] for wanted in (True, False)
    )
    return first + last, len(first)


def _patterns(code: int, node: Any) -> list[Any]:
    """Return the sparsity patterns of a node's results."""
    function = node.which_function() if code == ca.OP_CALL else node.info()["output"] if code in SPLITS else None
    return [function.sparsity_out(k) for k in range(function.n_out())] if function else [node.sparsity()]


def _split(output: Any, whole: Value) -> Iterator[Value]:
    """Yield the parts of a value that is split; `output` is a Function with their patterns."""
    offset = 0
    for which in range(output.n_out()):
        yield whole.part(offset, output.sparsity_out(which))
        offset += output.nnz_out(which)


def _is_part(item: Instruction) -> bool:
    """Return whether the values that an instruction makes lie within the value it takes."""
    if item.code == ca.OP_GETNONZEROS:
        return _side_by_side(item.node) is not None
    return item.code in SAME_NONZEROS | SPLITS


def _side_by_side(node: Any) -> int | None:
    """Return the first of the nonzeros that are taken, if they are adjacent; else None."""
    cut = node.info().get("slice")
    return int(cut["start"]) if cut and cut["step"] == 1 else None


def _chosen(info: Mapping[str, Any]) -> list[int]:
    """Return the nonzeros that are taken; CasADi describes them by a list, a slice, or a slice of slices."""
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
