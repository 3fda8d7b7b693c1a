"""Values of the flat model: numbers, and expressions of its parameters as text."""

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import casadi as ca

from mbfmu.errors import ExpressionError, ModelError, ValueRangeError
from mbfmu.model.component import Value
from mbfmu.model.expression import Expression
from mbfmu.model.modelica.own_functions import FunctionCall
from mbfmu.model.robot.assembly import identifier

Nested: TypeAlias = Any
"""A value, or a list of values."""
MOST = 100_000
"""Largest number of numbers that ``fill`` gives."""
FILLED: dict[str, tuple[float, ...]] = {"Fill": (), "Zeros": (0.0,), "Ones": (1.0,)}
"""First argument of the functions that fill arrays, where they say it themselves."""
CONVERSIONS = {"to_deg": 180.0 / math.pi, "from_rpm": math.pi / 30.0, "to_rpm": 30.0 / math.pi}
"""Factors of functions of Modelica.Units.Conversions, by name."""
RATES = {"phi": "w", "w": "a", "s": "v", "v": "a", "phi_rel": "w_rel", "w_rel": "a_rel", "s_rel": "v_rel",
         "v_rel": "a_rel"}  # fmt: skip
"""Time derivative of each coordinate and velocity, by its name."""
SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Exp": "**", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">=",
         "AddElem": "+", "SubElem": "-", "MulElem": "*", "DivElem": "/", "ExpElem": "**", "And": "*"}  # fmt: skip
CALLS = {"Sqrt": "sqrt", "Exp": "exp", "Log": "log", "Abs": "abs", "Sin": "sin", "Cos": "cos", "Tan": "tan",
         "Asin": "asin", "Acos": "acos", "Atan": "atan", "Atan2": "atan2", "Tanh": "tanh", "Min": "min", "Max": "max",
         "Floor": "floor", "Sign": "sign"}  # fmt: skip


def path_of(name: str) -> str:
    """Return the name of a variable without brackets: ``arm[2].L`` is ``arm_2.L``."""
    return ".".join(identifier(part.replace("]", "")) for part in name.split("."))


class Values:
    """The values of the variables of a flat model.

    Args:
        variables: they, by name, as the compiler gives them.
        required: names of those that need a value, as the library has none for them.
        functions: functions of the flat model, by their names, as the compiler gives them.
    """

    def __init__(
        self, variables: dict[str, Any], required: frozenset[str], functions: dict[str, Any] | None = None
    ) -> None:
        self.variables, self.required, self.functions = variables, required, functions or {}
        self.kept: dict[str, Nested] = {}
        self.texts: dict[str, Value] = {}
        """Value of each scalar that expressions refer to, by its full name."""
        self.own: dict[str, None] = {}
        """Those of them that are parameters of the user's."""
        self.without: list[str] = []
        self.numbers: dict[str, float] = {}
        self.moves: Callable[[str], str] = lambda _: ""
        """Function that returns the coordinate, velocity or state that a variable is, whose name formulas have."""
        self.rate_of: Callable[[str], Any] = lambda _: None
        """Function that returns the tree of the derivative of a state, None for what is none."""
        self.moving: dict[str, str] = {}
        """Full names of these, each with how formulas have it."""
        self.held: list[str] = []
        """Functions of the model's own that are called with parameters of the user's, as numbers."""
        self.defined: Callable[[str], Any] = lambda _: None
        """Function that returns the tree of what defines a variable, None for nothing."""

    def of(self, name: str, attribute: str = "binding") -> Nested:
        """Return the value of a variable, or its start value, an expression of full names; arrays are lists."""
        key = f"{name} {attribute}"
        if key in self.kept:
            if self.kept[key] is None:
                raise ModelError(f"'{name}' depends on itself")
            return self.kept[key]
        self.kept[key] = None
        variable = self.variables[name]
        tree, sizes = variable[attribute], variable["dims"]
        if tree is None and attribute == "binding" and variable["variability"] == "Empty":
            if sizes:
                return self.entries_of(name, sizes, key)
            tree = self.defined(name)
            if moving := self.moves(name):
                self.kept[key] = self.named_moving(moving)
                return self.kept[key]
            if tree is None:
                raise ModelError(f"'{name}' is a variable, and a value must be an expression of parameters")
        if tree is None and attribute == "binding":
            if name in self.required:
                raise ModelError(f"'{name}' has no value, and the library has no default for it: give one")
            tree = variable["start"]
            self.without.append(name)
        try:
            value = self.value(tree) if tree is not None else 0.0
        except RecursionError:
            raise ModelError(f"'{name}': the expression is nested too deeply") from None
        if sizes and not isinstance(value, list):
            for size in reversed(sizes):
                value = [value] * size
        self.kept[key] = value
        return value

    def give(self, name: str, value: Nested, attribute: str = "binding") -> None:
        """Give a variable a value, or a start value, that the model says by other means."""
        self.kept[f"{name} {attribute}"] = value

    def entries_of(self, name: str, sizes: list[int], key: str) -> Nested:
        """Return the values of the entries of a variable that is an array, each of which has its own definition."""
        first, *others = sizes
        self.kept[key] = [
            self.entries_of(entry, others, f"{entry} entries") if others else self.signal(entry)
            for entry in (f"{name}[{index}]" for index in range(1, first + 1))
        ]
        return self.kept[key]

    def signal(self, name: str) -> Nested:
        """Return the value of a scalar variable, or of an entry, by what defines it.

        Raises:
            ModelError: nothing does, or it depends on itself.
        """
        key = f"{name} defined"
        if key not in self.kept:
            tree = self.defined(name)
            if tree is None:
                raise ModelError(f"'{name}' is a variable, and a value must be an expression of parameters")
            self.kept[key] = None
            try:
                self.kept[key] = self.value(tree)
            finally:
                if self.kept[key] is None:
                    del self.kept[key]
        if self.kept[key] is None:
            raise ModelError(f"'{name}' depends on itself")
        return self.kept[key]

    def value(self, tree: Any) -> Nested:
        """Return the value of a tree of the compiler.

        Raises:
            ModelError: it has an operation that is not read.
        """
        ((kind, item),) = tree.items()
        match kind:
            case "Literal":
                ((_, literal),) = item["value"].items()
                return literal if isinstance(literal, str) else float(literal)
            case "Array":
                return [self.value(entry) for entry in item["elements"]]
            case "VarRef":
                return self.reference(item)
            case "Unary":
                return self.unary(item["op"], self.value(item["rhs"]))
            case "Binary" if item["op"] in SIGNS:
                return joined(SIGNS[item["op"]], self.value(item["lhs"]), self.value(item["rhs"]))
            case "Binary" if item["op"] == "Eq":
                one, other = (self.literal(self.value(item[side])) for side in ("lhs", "rhs"))
                return float(one == other)
            case "If":
                return self.choice(item["branches"], item["else_branch"])
            case "Range" if item["step"] is None:
                first, last = (round(self.number(self.value(item[end]))) for end in ("start", "end"))
                return [float(index) for index in range(first, min(last, first + MOST) + 1)]
            case "BuiltinCall":
                if (value := self.builtin(item["function"], item["args"])) is not None:
                    return value
            case "FunctionCall" if item["name"]["name"] in self.functions:
                return self.called(item["name"]["name"], [self.value(entry) for entry in item["args"]])
            case "FunctionCall":
                if (value := self.call(item["name"]["name"], item["args"])) is not None:
                    return value
        label = item.get("function") or item.get("op") or kind if isinstance(item, dict) else kind
        raise ModelError(f"the operation '{label}' is not read in expressions")

    def builtin(self, function: str, arguments: list[Any]) -> Nested:
        """Return the value of a function of the language; None for one that is not read."""
        if function == "Der":
            return self.rate(self.value(arguments[0]))
        if function == "Size":
            name = arguments[0].get("VarRef", {}).get("name", {}).get("name", "")
            sizes = self.variables.get(name, {"dims": []})["dims"]
            index = round(self.number(self.value(arguments[1]))) if len(arguments) > 1 else 1
            return float(sizes[index - 1]) if 0 < index <= len(sizes) else None
        if function == "Sum":
            entries = [item for item in self.value(arguments[0]) if item != 0.0]
            return " + ".join(map(text, entries)) if entries else 0.0
        if function in FILLED:
            return self.filled([*FILLED[function], *map(self.value, arguments)])
        return (
            f"{CALLS[function]}({', '.join(text(self.value(item)) for item in arguments)})"
            if function in CALLS
            else None
        )

    def choice(self, branches: list[Any], otherwise: Any) -> Nested:
        """Return the value that conditions choose; those that are numbers choose here and now."""
        kept = []
        for condition, branch in branches:
            holds = self.value(condition)
            if holds == 1.0:
                otherwise = branch
                break
            if holds != 0.0:
                kept.append((holds, branch))
        result = self.value(otherwise)
        for holds, branch in reversed(kept):
            result = f"where({text(holds)}, {text(self.value(branch))}, {text(result)})"
        return result

    def literal(self, value: Nested) -> Nested:
        """Return what a name stands for: a number, or an item of an enumeration.

        Raises:
            ModelError: it is neither.
        """
        while isinstance(value, str) and value in self.texts:
            value = self.texts[value]
        changing = value == "time" or value in self.moving if isinstance(value, str) else False
        if changing or isinstance(value, list) or (isinstance(value, str) and not value.isidentifier()):
            raise ModelError("the operation 'Eq' is read of whole numbers and of items of enumerations")
        return value

    def filled(self, arguments: list[Nested]) -> Nested:
        """Return an array of equal values: the first argument, then the sizes.

        Raises:
            ModelError: it is too large.
        """
        value, *sizes = arguments
        counts = [self.number(size) for size in sizes]
        if not 0 <= math.prod(counts) <= MOST:
            raise ModelError(f"fill(...) of {math.prod(counts):g} numbers: at most {MOST} are read")
        for size in reversed(counts):
            value = [value] * round(size)
        return value

    def call(self, function: str, arguments: list[Any]) -> Nested:
        """Return the value of a function of Modelica's library; None for one that is not read."""
        unit = function.rpartition("Conversions.")[2]
        if (name := _function(function)) in CALLS.values():
            return f"{name}({text(self.value(arguments[0]))})"
        if unit == "from_deg":
            return f"deg({text(self.value(arguments[0]))})"
        return joined("*", self.value(arguments[0]), CONVERSIONS[unit]) if unit in CONVERSIONS else None

    def rate(self, value: Nested) -> Nested:
        """Return the time derivative of a coordinate, a velocity or a state.

        Raises:
            ModelError: it is something else.
        """
        if isinstance(value, list):
            return [self.rate(entry) for entry in value]
        name = self.moving.get(str(value), "")
        if (tree := self.rate_of(name)) is not None:
            return self.value(tree)
        owner, _, label = name.rpartition(".")
        derived = f"{owner}.{RATES.get(label, '')}"
        if not self.moves(derived):
            raise ModelError("'der' is read of states, and of coordinates and velocities of joints and flanges")
        return self.named_moving(derived)

    def named_moving(self, name: str) -> str:
        """Return how formulas have a coordinate, a velocity or a state."""
        self.moving[path_of(name)] = name
        return path_of(name)

    def called(self, name: str, arguments: list[Nested]) -> Nested:
        """Return what a function of the model's own gives for the numbers that its arguments are."""

        def numbers(value: Nested) -> Any:
            if isinstance(value, list):
                return [numbers(entry) for entry in value]
            if self.varies(value):
                self.held.append(name)
            return self.number(value)

        return FunctionCall(self.functions, name).result(numbers(arguments))

    def unary(self, op: str, operand: Nested) -> Nested:
        """Return a value with a sign."""
        if isinstance(operand, list):
            return [self.unary(op, entry) for entry in operand]
        if op in {"Minus", "Plus"}:
            return operand if op == "Plus" else -operand if isinstance(operand, float) else f"-({operand})"
        if op == "Not":
            return f"1 - ({text(operand)})"
        raise ModelError(f"the operation '{op}' is not read in expressions")

    def reference(self, item: Any) -> Nested:
        """Return the value that a name stands for: a parameter by its name, an array by its entries."""
        name = item["name"]["name"]
        if name not in self.variables:
            return name.rpartition(".")[2]  # an item of an enumeration
        variable = self.variables[name]
        if variable["variability"] == "Empty":
            index = [place for sub in item["subscripts"] if (place := self.index(sub)) is not None]
            entry = "".join(f"[{position}]" for position in index)
            if len(index) == len(variable["dims"]) and (moving := self.moves(f"{name}{entry}")):
                return self.named_moving(moving)
            if len(index) == len(item["subscripts"]) == len(variable["dims"]):
                return self.signal(f"{name}{entry}")
            if len(index) == len(item["subscripts"]) > 0:
                return self.entries_of(f"{name}{entry}", variable["dims"][len(index) :], f"{name}{entry} entries")
            return self.of(name)
        value = self.of(name)
        indices: list[int] = []
        for subscript in item["subscripts"]:
            if (place := self.index(subscript)) is None:
                raise ModelError(f"'{name}': only single entries of an array are read")
            indices.append(place)
        return self.named(path_of(name), value, indices)

    def index(self, subscript: Any) -> int | None:
        """Return the number that a subscript is; None for a range."""
        match subscript:
            case {"Index": {"value": int(value)}}:
                return value
            case {"Expr": {"expr": tree}}:
                value = self.value(tree)
                return None if isinstance(value, list) else round(self.number(value))
        return None

    def named(self, path: str, value: Nested, indices: list[int]) -> Nested:
        """Return the entries of a value by names that expressions can refer to."""
        if isinstance(value, list):
            if indices:
                return self.named(f"{path}_{indices[0]}", value[indices[0] - 1], indices[1:])
            return [self.named(f"{path}_{index}", entry, []) for index, entry in enumerate(value, 1)]
        if isinstance(value, str) and not _is_expression(value):
            return value
        self.texts[path] = value
        return path

    def varies(self, value: Value) -> bool:
        """Return whether a value depends on parameters of the user's."""
        if not isinstance(value, str):
            return False
        names = Expression(value).names - {"time"} - self.moving.keys()
        return any(name in self.own or self.varies(self.texts[name]) for name in names)

    def number(self, value: Nested) -> float:
        """Return the number that a value is.

        Raises:
            ValueRangeError: it is not finite.
        """
        if isinstance(value, float | int):
            return float(value)
        if changing := sorted(Expression(value).names & {*self.moving, "time"}):
            raise ModelError(f"a value that depends on '{changing[0]}' stands where only parameters can")
        result = float(ca.DM(ca.evalf(ca.SX(Expression(value).evaluate(lambda name: ca.SX(self.number_of(name)))))))
        if not math.isfinite(result):
            raise ValueRangeError(f"'{value}' is {result}: give a finite number")
        return result

    def in_numbers(self, value: Value) -> str:
        """Return a value as a formula of ``time`` and numbers."""
        if not isinstance(value, str):
            return repr(value)
        names = Expression(value).names - {"time"} - self.moving.keys()
        known = {name: self.in_numbers(self.texts[name]) for name in names}
        return re.sub(
            r"(?<![\w.])[A-Za-z_][\w.]*", lambda match: f"({known[match[0]]})" if match[0] in known else match[0], value
        )

    def number_of(self, path: str) -> float:
        """Return the number that a scalar is, by its full name."""
        if path not in self.numbers:
            self.numbers[path] = self.number(self.texts[path])
        return self.numbers[path]


def _function(name: str) -> str:
    """Return the name of a function of Modelica.Math, empty for another one."""
    package, _, leaf = name.rpartition(".")
    return leaf if package == "Modelica.Math" else ""


def _is_expression(item: str) -> bool:
    try:
        Expression(item)
    except ExpressionError:
        return False
    return True


def text(value: Nested) -> str:
    """Return a scalar as the text of an expression."""
    if isinstance(value, list):
        raise ModelError("an array stands where a number is needed")
    return repr(value) if isinstance(value, float) else f"({value})"


def joined(sign: str, a: Nested, b: Nested) -> Nested:
    """Return the result of an operation, entry by entry, without zeros and ones that do nothing."""
    if isinstance(a, list) or isinstance(b, list):
        if sign not in {"+", "-", "*", "/"} or (sign == "/" and isinstance(b, list)):
            raise ModelError(f"the operation {sign} of arrays is not read")
        if isinstance(a, list) and isinstance(b, list):
            if sign == "*" and len(a) == len(b) and not any(isinstance(item, list) for item in (*a, *b)):
                total: Nested = 0.0
                for one, other in zip(a, b, strict=True):
                    total = joined("+", total, joined("*", one, other))
                return total
            if sign == "*" or len(a) != len(b):
                raise ModelError(f"the operation {sign} of arrays is not read")
            return [joined(sign, one, other) for one, other in zip(a, b, strict=True)]
        if isinstance(a, list):
            return [joined(sign, one, b) for one in a]
        return [joined(sign, a, other) for other in b]
    if (sign == "*" and (a == 0.0 or b == 0.0)) or (sign == "/" and a == 0.0):
        return 0.0
    if (sign in "+-" and b == 0.0) or (sign in {"*", "/", "**"} and b == 1.0):
        return a
    if sign in "+*" and a == float(sign == "*"):
        return b
    return f"{text(a)}{sign}{text(b)}"
