"""Expressions of parameters, written as text and never run as code."""

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca

from mbfmu.errors import ExpressionError, ValueRangeError

MAX_LENGTH = 10_000
MAX_DEPTH = 60
SHOWN = 60
KEPT = 10_000
"""Number of expressions whose syntax trees are kept: the same few recur in every part and at every load of a model."""

CONSTANTS: dict[str, float] = {"pi": math.pi, "true": 1.0, "false": 0.0}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": ca.sqrt, "exp": ca.exp, "log": ca.log, "abs": ca.fabs,
    "sin": ca.sin, "cos": ca.cos, "tan": ca.tan,
    "asin": ca.asin, "acos": ca.acos, "atan": ca.atan, "atan2": ca.atan2, "tanh": ca.tanh,
    "min": ca.fmin, "max": ca.fmax, "deg": lambda degrees: degrees * (math.pi / 180),
    "floor": ca.floor, "sign": ca.sign, "where": ca.if_else,
}  # fmt: skip
OPERATIONS = ("der", "previous")
"""Functions of a name, which give another quantity: ``der(x)`` and ``previous(x)``."""
ARGUMENTS: dict[str, int] = {"atan2": 2, "min": 2, "max": 2, "where": 3}
"""Number of arguments of the functions that do not take one."""
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.USub: lambda a: -a,
    ast.UAdd: lambda a: a,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
ALLOWED = f"use numbers, names of parameters, + - * / ** < <= > >= and {', '.join(FUNCTIONS)}"


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression of named quantities, such as ``m1*l1**2/12``.

    Names may be dotted, and entries of a vector, such as ``rod.r[1]``; ``der(x)`` is the name of the time derivative of
    x, ``previous(x)`` that of the value of x at the last sampling.

    Numbers, ``+ - * / **``, parentheses, ``pi`` and the functions in `FUNCTIONS` are allowed; ``deg(x)`` is an angle of
    x degrees in rad. A comparison, ``a < b``, ``a <= b``, ``a > b`` or ``a >= b``, is 1 where it holds and else 0;
    ``where(c, a, b)`` is a where c is not 0 and else b.

    Args:
        text: the expression.

    Raises:
        ExpressionError: the text is not such an expression.
    """

    text: str

    def __post_init__(self) -> None:
        try:
            self.names  # noqa: B018 - reading the names checks the text
        except RecursionError:
            raise ExpressionError(f"expression is nested too deeply: {self.quoted}") from None

    @property
    def quoted(self) -> str:
        """The beginning of the text on one line, for messages."""
        return repr(self.text if len(self.text) <= SHOWN else self.text[: SHOWN - 3] + "...")

    @property
    def tree(self) -> ast.expr:
        """The syntax tree of the text."""
        return _read(self).tree

    @property
    def names(self) -> frozenset[str]:
        """The names the expression refers to."""
        return frozenset(_read(self).names)

    def evaluate(self, lookup: Callable[[str], Any]) -> Any:
        """Return the value of the expression, a number or a CasADi expression.

        Args:
            lookup: function that returns the value of a name; it raises an error if there is none.
        """
        text = _read(self)
        if text.formula is not None:
            values = [lookup(name) for name in text.names]
            if all(isinstance(value, ca.SX) and value.is_scalar() for value in values):
                return text.formula(*values)
        return self._walk(text.tree, lookup, 0)

    def _walk(self, node: ast.expr, lookup: Callable[[str], Any], depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ExpressionError(f"expression is nested too deeply: {self.quoted}")
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as value):
                try:
                    return ca.SX(float(value))
                except OverflowError:
                    raise ExpressionError(f"a number in {self.quoted} is too large") from None
            case ast.Name() | ast.Attribute() | ast.Subscript():
                name = _dotted(node)
                if name is not None:
                    return ca.SX(CONSTANTS[name]) if name in CONSTANTS else lookup(name)
            case ast.BinOp(op=op) if type(op) in OPERATORS:
                return self._chain(node, lookup, depth)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self._walk(left, lookup, depth + 1), self._walk(right, lookup, depth + 1))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                return OPERATORS[type(op)](self._walk(operand, lookup, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if (
                name in OPERATIONS and _dotted(inner) is not None
            ):
                return lookup(f"{name}({_dotted(inner)})")
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                values = [self._walk(arg, lookup, depth + 1) for arg in args]
                wanted = ARGUMENTS.get(name, 1)
                if len(values) == wanted:
                    return FUNCTIONS[name](*values)
                raise ExpressionError(f"'{name}' takes {wanted} argument(s), not {len(values)}, in {self.quoted}")
        raise ExpressionError(
            f"{_unparsed(node)} is not allowed in the expression {self.quoted}{_hint(node)}: {ALLOWED}"
        )

    def _chain(self, node: ast.expr, lookup: Callable[[str], Any], depth: int) -> Any:
        """Return the value of operations each of which has the one before as its left operand, as in a flat sum."""
        rest: list[tuple[type, ast.expr]] = []
        while isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            rest.append((type(node.op), node.right))
            node = node.left
        value = self._walk(node, lookup, depth + 1)
        for kind, right in reversed(rest):
            value = OPERATORS[kind](value, self._walk(right, lookup, depth + 1))
        return value


class _Text(NamedTuple):
    """The text of an expression, read.

    Args:
        tree: its syntax tree.
        names: the names it refers to.
        formula: Function of scalars (names) -> value, a call of which takes less time than to write the operations
            again; None: they are too few, or nothing has a name.
    """

    tree: ast.expr
    names: tuple[str, ...]
    formula: Any


@lru_cache(maxsize=KEPT)
def _read(expression: Expression) -> _Text:
    """Return the text of an expression, read.

    Raises:
        ExpressionError: the text is no expression.
    """
    text = expression.text
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"expression of {len(text)} characters is too long (at most {MAX_LENGTH})")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError):
        raise ExpressionError(f"cannot read the expression {expression.quoted}: {ALLOWED}") from None
    symbols: dict[str, Any] = {}

    def note(name: str) -> Any:
        return symbols.setdefault(name, ca.SX.sym(name))

    value = expression._walk(tree, note, 0)
    names, arguments = tuple(symbols), list(symbols.values())
    formula = None
    if names and value.n_dep() and any(value.dep(index).n_dep() for index in range(value.n_dep())):
        formula = ca.Function("value", arguments, [value])
    return _Text(tree, names, formula)


def constant(text: str) -> float:
    """Return the number that an expression without names stands for, such as ``pi/6`` or ``deg(30)``.

    Raises:
        ExpressionError: the text is not an expression, or has a name in it.
        ValueRangeError: the number is NaN or infinite.
    """
    expression = Expression(text)
    if expression.names:
        raise ExpressionError(f"{expression.quoted} is not a number: there is '{min(expression.names)}' in it")
    number = float(ca.DM(ca.evalf(ca.SX(expression.evaluate(lambda _: ca.SX(0))))))
    if not math.isfinite(number):
        raise ValueRangeError(f"{expression.quoted} is {number}: give a finite number")
    return number


GUESS = "guess"
"""Function that marks the value of a free start value as an initial guess: ``guess(0.5)``."""


def guessed(text: str) -> str | None:
    """Return the argument of a text ``guess(EXPRESSION)``; None for any other text."""
    if not text.lstrip().startswith(GUESS) or len(text) > MAX_LENGTH:
        return None
    try:
        match ast.parse(text.strip(), mode="eval").body:
            case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name == GUESS:
                return ast.unparse(inner)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        pass  # `Expression` says what is wrong
    return None


def _hint(node: ast.expr) -> str:
    match node:
        case ast.BinOp(op=ast.BitXor()):
            return "; a power is written **"
        case ast.Compare(ops=[_, _, *_]) | ast.BoolOp(op=ast.And()):
            return "; that both comparisons hold is written (a < b)*(b < c)"
        case ast.IfExp():
            return "; a choice is written where(condition, a, b)"
    return ""


def _unparsed(node: ast.expr) -> str:
    try:
        return _shortened(ast.unparse(node))
    except ValueError:  # an integer with more digits than Python writes
        return "a number of so many digits"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")


def _dotted(node: ast.expr) -> str | None:
    """Return the name that a node is, such as ``rod.r_CM[1]``; None if it is none."""
    match node:
        case ast.Subscript(value=ast.Name() | ast.Attribute() as value, slice=ast.Constant(value=int() as index)):
            name = _dotted(value)
            return f"{name}[{index}]" if name is not None and index > 0 and index is not True else None
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])
