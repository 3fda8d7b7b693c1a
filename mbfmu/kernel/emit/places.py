"""Places of values in generated C: expressions of their addresses, and tables of constants."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Value:
    """The nonzeros of a matrix in generated code.

    Args:
        text: C expression of the first nonzero's address; that of a single number begins with ``&``.
        pattern: CasADi Sparsity.
        expression: C expression of nonzero ``i``, for a value that is computed where it is used; else empty.
    """

    text: str
    pattern: Any
    expression: str = ""

    @property
    def size(self) -> int:
        """Number of nonzeros."""
        return int(self.pattern.nnz())

    def part(self, offset: int, pattern: Any) -> "Value":
        """Return the nonzeros from `offset` on, as many as a pattern has."""
        return Value(f"({self.text} + {offset})" if offset else self.text, pattern)

    def element(self, index: str) -> str:
        """Return the nonzero of an index, or the only nonzero, as a C expression."""
        if self.expression:
            return self.expression
        if self.text.startswith("&"):
            return self.text[1:]
        return f"{self.text}[{0 if self.size == 1 else index}]"


class Tables:
    """Constants of a file, each written once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}

    def name(self, declaration: str, values: Iterable[str]) -> str:
        """Return the name of a table of values.

        Args:
            declaration: C type of the table.
            values: C text of each entry.
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
        """Return the name of the factorisation of a pattern, and the room that a solution with it needs."""
        v, R, rows, columns = pattern.qr_sparse()
        tables = [self.pattern(item) for item in (pattern, v, R)]
        tables += [self.name("int", map(str, item)) for item in (rows, columns)]
        return self.name("struct qr", tables), v.nnz() + R.nnz() + v.size2() + v.size1()
