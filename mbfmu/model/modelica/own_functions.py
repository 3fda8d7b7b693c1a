"""Functions of a model's own, such as one that makes a table: their algorithms, followed with numbers."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mbfmu.errors import ModelError

MOST = 100_000
"""Largest number of statements that a call follows."""
NUMBERS: dict[str, Callable[..., float]] = {
    "Sqrt": math.sqrt, "Exp": math.exp, "Log": math.log, "Abs": abs, "Sin": math.sin, "Cos": math.cos,
    "Tan": math.tan, "Asin": math.asin, "Acos": math.acos, "Atan": math.atan, "Atan2": math.atan2,
    "Tanh": math.tanh, "Min": min, "Max": max, "Floor": math.floor, "Sign": lambda x: float((x > 0) - (x < 0)),
}  # fmt: skip
"""Built-in functions, by the compiler's names."""
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b,
    "Exp": lambda a, b: a**b, "Lt": lambda a, b: a < b, "Le": lambda a, b: a <= b, "Gt": lambda a, b: a > b,
    "Ge": lambda a, b: a >= b, "Eq": lambda a, b: a == b, "And": lambda a, b: bool(a and b),
    "Or": lambda a, b: bool(a or b),
}  # fmt: skip
"""Operations of two numbers, by the compiler's names."""


class FunctionCall:
    """A call of a function of the flat model.

    Args:
        functions: all functions of the flat model, by their names.
        name: name of the one that is called.
    """

    def __init__(self, functions: Mapping[str, Any], name: str) -> None:
        self.functions, self.name, self.item = functions, name, functions[name]
        self.known: dict[str, Any] = {}
        self.left = MOST

    def result(self, arguments: Sequence[Any]) -> Any:
        """Return the output, a number or nested lists; arguments: numbers or nested lists, in the order of the inputs.

        Raises:
            ModelError: the algorithm has what is not read, or no end.
        """
        if len(self.item["outputs"]) != 1 or len(arguments) != len(self.item["inputs"]):
            raise ModelError(f"the function '{self.name}' is read with one output and all of its inputs")
        self.known = {item["name"]: value for item, value in zip(self.item["inputs"], arguments, strict=True)}
        for item in (*self.item["outputs"], *self.item["locals"]):
            self.known[item["name"]] = self.zeros([round(self.subscript(size)) for size in item["shape_expr"]])
            if item["default"]:
                self.known[item["name"]] = self.value(item["default"])
        try:
            self.follow(self.item["body"])
        except (ArithmeticError, ValueError, IndexError, TypeError) as error:
            raise ModelError(f"the function '{self.name}' cannot be followed: {error}") from None
        return self.known[self.item["outputs"][0]["name"]]

    def zeros(self, sizes: Sequence[int]) -> Any:
        """Return an array of zeros as nested lists.

        Raises:
            ModelError: it is too large.
        """
        if math.prod(sizes) > MOST:
            raise ModelError(f"the function '{self.name}' has arrays of more than {MOST} numbers")
        return [self.zeros(sizes[1:]) for _ in range(sizes[0])] if sizes else 0.0

    def follow(self, statements: Sequence[Any]) -> None:
        """Take the steps of an algorithm one after the other.

        Raises:
            ModelError: there are too many, or one is not read.
        """
        for statement in statements:
            self.left -= 1
            if self.left < 0:
                raise ModelError(f"the function '{self.name}' takes more than {MOST} statements")
            match statement:
                case {"Assignment": {"comp": {"parts": [part]}, "value": tree}}:
                    self.assign(part, self.value(tree))
                case {"For": {"indices": [{"ident": name, "range": {"Range": bounds}}], "equations": inner}}:
                    first, last = (round(self.value(bounds[end])) for end in ("start", "end"))
                    step = round(self.value(bounds["step"])) if bounds["step"] else 1
                    for index in range(first, last + (1 if step > 0 else -1), step):
                        self.known[name] = float(index)
                        self.follow(inner)
                case _:
                    kind = next(iter(statement)) if isinstance(statement, dict) else statement
                    raise ModelError(f"the function '{self.name}' has a statement '{kind}', which is not read")

    def assign(self, part: Any, value: Any) -> None:
        """Set a variable, or an entry of one."""
        indices = [round(self.subscript(item)) - 1 for item in part["subs"]]
        if not indices:
            self.known[part["ident"]] = value
            return
        *outer, last = indices
        self.entry(self.known[part["ident"]], outer)[self.checked(last)] = value

    def entry(self, value: Any, indices: Sequence[int]) -> Any:
        """Return an entry of nested lists."""
        for index in indices:
            value = value[self.checked(index)]
        return value

    @staticmethod
    def checked(index: int) -> int:
        """Return an index that counts from 0, if it is one.

        Raises:
            IndexError: it is below 0.
        """
        if index < 0:
            raise IndexError(f"there is no entry {index + 1}")
        return index

    def subscript(self, item: Any) -> float:
        """Return the number that a subscript is.

        Raises:
            ModelError: it is a range.
        """
        match item:
            case {"Index": {"value": value}}:
                return float(value)
            case {"Expr": {"expr": tree}}:
                return float(self.value(tree))
        raise ModelError(f"the function '{self.name}' takes ranges of an array, which is not read")

    def value(self, tree: Any) -> Any:
        """Return the value of a tree of the compiler.

        Raises:
            ModelError: it has what is not read.
        """
        match tree:
            case {"Literal": {"value": literal}}:
                return float(next(iter(literal.values())))
            case {"Array": {"elements": entries}}:
                return [self.value(entry) for entry in entries]
            case {"VarRef": {"name": {"name": name}, "subscripts": subscripts}} if name in self.known:
                return self.entry(self.known[name], [round(self.subscript(item)) - 1 for item in subscripts])
            case {"Index": {"base": array, "subscripts": subscripts}}:
                return self.entry(self.value(array), [round(self.subscript(item)) - 1 for item in subscripts])
            case {"Unary": {"op": "Minus", "rhs": operand}}:
                return -self.value(operand)
            case {"Binary": {"op": sign, "lhs": one, "rhs": other}} if sign in SIGNS:
                return SIGNS[sign](self.value(one), self.value(other))
            case {"If": {"branches": branches, "else_branch": last}}:
                chosen = (branch for condition, branch in branches if self.value(condition))
                return self.value(next(chosen, last))
            case {"BuiltinCall": {"function": name, "args": arguments}} if name in NUMBERS:
                return float(NUMBERS[name](*map(self.value, arguments)))
            case {"FunctionCall": {"name": {"name": name}, "args": arguments}} if name in self.functions:
                if name == self.name:
                    raise ModelError(f"the function '{name}' calls itself, which is not read")
                inner = FunctionCall({key: item for key, item in self.functions.items() if key != self.name}, name)
                return inner.result([self.value(item) for item in arguments])
        raise ModelError(f"the function '{self.name}' has '{next(iter(tree))}', which is not read")
