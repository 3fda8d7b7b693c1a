"""Arguments: a public function rejects what is not of the type that its signature states."""

import functools
import inspect
import math
import os
import reprlib
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from numbers import Complex, Integral, Real
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from mbfmu.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

P = ParamSpec("P")
R = TypeVar("R")

WORDS = {
    float: "a number",
    int: "a whole number",
    str: "a text",
    bool: "True or False",
    os.PathLike: "a path",
    type(None): "None",
}
"""Words for a type in a message; other classes have their names."""
NUMBERS = {float: Real, int: Integral, complex: Complex}
"""Numbers that are of a type, of Python's or NumPy's."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that raises a UsageError for an argument that is not of its annotated type.

    Args:
        function: a function whose annotations say what is wanted; a Literal stands for the type of its values, as the
            function itself knows which of them are allowed; beside another type, for its values alone.
    """
    where = function.__qualname__.removesuffix(".__init__")
    signature = inspect.signature(function)
    return functools.wraps(function)(with_types(function, where, signature, lambda: types_of(function)))


def with_types(
    function: Callable[P, R], where: str, signature: inspect.Signature, types: Callable[[], Mapping[str, Any]]
) -> Callable[P, R]:
    """Return a function that raises a UsageError for an argument that is not of its type.

    Args:
        function: the function.
        where: its name in messages.
        signature: its signature.
        types: function that returns the types by name, which is called when they are first needed.
    """
    wanted = functools.cache(types)

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in wanted():
                check_type(f"{where}: {name}", value, wanted()[name])
        return function(*args, **kwargs)

    return call


def types_of(item: Any) -> dict[str, Any]:
    """Return the types of a function's arguments, or of a class's fields, by name.

    One that only a type checker imports is Any.
    """
    homes = [(item.__annotations__, item.__globals__)] if inspect.isfunction(item) else [
        (inspect.get_annotations(base), vars(sys.modules[base.__module__])) for base in reversed(item.__mro__)
    ]  # fmt: skip
    result: dict[str, Any] = {}
    for hints, names in homes:
        for name, hint in hints.items():
            one = types.SimpleNamespace(__annotations__={name: hint})
            try:
                result |= typing.get_type_hints(one, globalns=names)
            except NameError:
                result[name] = Any
    return result


def check_type(where: str, value: Any, hint: Any) -> None:
    """Raise an error if a value is not of a type.

    Args:
        where: name of the value in the message.
        value: the value.
        hint: the type, as an annotation.

    Raises:
        UsageError: the value is of another type.
    """
    fault = _fault(where, value, hint)
    if fault:
        part, wrong, needed = fault
        size = f" of {len(wrong)}" if isinstance(wrong, tuple) else ""
        raise UsageError(f"{part} = {reprlib.repr(wrong)} must be {words(needed)}, not {_named(type(wrong))}{size}")


def _fault(where: str, value: Any, hint: Any) -> tuple[str, Any, Any] | None:
    """Return name, value and wanted type of the innermost part that is not of its type; None if there is none."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        beside = any(typing.get_origin(item) is not Literal and item is not type(None) for item in inner)
        literal = [item for item in inner if beside and typing.get_origin(item) is Literal]
        values = [one for item in literal for one in typing.get_args(item)]
        missed = [] if any(type(value) is type(one) and value == one for one in values) else literal
        faults = [(where, value, hint) if item in missed else _fault(where, value, item) for item in inner]
        if None in faults:
            return None
        return next((item for item in faults if item and item[0] != where), (where, value, hint))
    if not _is(value, origin or hint, inner):
        return where, value, hint
    fixed = origin is tuple and inner[-1] is not ...
    if fixed and len(value) != len(inner):
        return where, value, hint
    parts: Iterable[tuple[str, Any, Any]] = ()
    if isinstance(origin, type) and issubclass(origin, Mapping):
        parts = [(f"a name in {where}", key, inner[0]) for key in value]
        parts += [(f"{where}[{key!r}]", item, inner[1]) for key, item in value.items()]
    elif isinstance(origin, type) and issubclass(origin, Iterable) and isinstance(value, Sequence):
        kinds = inner if fixed else inner[:1] * len(value)
        parts = [(f"{where}[{index}]", *pair) for index, pair in enumerate(zip(value, kinds, strict=True))]
    return next((fault for part in parts if (fault := _fault(*part))), None)


def _is(value: Any, kind: Any, inner: tuple[Any, ...]) -> bool:
    """Return whether a value is of a type, leaving aside what it contains."""
    if kind is Literal:
        return any(_is(value, type(item), ()) for item in inner)
    if kind in NUMBERS:
        return isinstance(value, NUMBERS[kind]) and not (isinstance(value, bool) or _is_span(value))
    if kind is Callable:
        return callable(value)
    if kind is Any or not isinstance(kind, type):
        return True
    if issubclass(kind, Iterable) and kind is not str and isinstance(value, (str, bytes)):
        return False  # a text is a sequence of texts only by its letters
    if kind is Sequence:
        return hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, Mapping)
    return isinstance(value, kind)


def _is_span(value: Any) -> bool:
    """Return whether a value is a time span of NumPy, which counts as a whole number."""
    return getattr(getattr(value, "dtype", None), "kind", "") == "m"


def numbers(value: Any) -> "npt.NDArray[np.float64]":
    """Return the real numbers that a user gives, as an array of their shape; all are NaN if one of them is no number.

    A text, a complex number, a date, a masked entry and a whole number that is too large for a float are none.
    """
    import numpy as np

    if _is_masked(value):
        return np.array(math.nan)
    try:
        array = np.asanyarray(value)
    except ValueError:  # rows of different lengths
        return np.array(math.nan)
    objects = array.flat if array.dtype.kind == "O" else ()
    if array.dtype.kind in "biufO" and all(isinstance(item, Real) for item in objects):
        with suppress(OverflowError):
            return np.asarray(array, dtype=np.float64)
    return np.full(array.shape, math.nan)


def _is_masked(value: Any) -> bool:
    """Return whether an array, or one in a list, has a masked entry: of a list, NumPy takes what is behind the mask."""
    import numpy as np

    if isinstance(value, list | tuple):
        return any(map(_is_masked, value))
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def number(value: Any) -> float:
    """Return the real number that a user gives; NaN if it is none."""
    if isinstance(value, float):
        return value
    values = numbers(value)
    return float(values.item()) if values.size == 1 else math.nan


def words(hint: Any) -> str:
    """Return words for a type, as they follow "must be"."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        *most, last = dict.fromkeys(words(item) for item in inner)
        return f"{', '.join(most)} or {last}" if most else last
    kind = origin or hint
    if kind is Literal:
        return " or ".join(map(repr, inner))
    if kind is Callable:
        return "a function"
    if kind in WORDS:
        return WORDS[kind]
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return f"a dictionary from names to values ({words(inner[1])})" if inner[1] is not Any else "a dictionary"
    if kind is tuple and inner[-1] is not ...:
        return f"a tuple ({', '.join(words(item) for item in inner)})"
    if isinstance(kind, type) and issubclass(kind, Iterable) and inner:
        return f"a list (each item {words(inner[0])})"
    return _named(kind) if isinstance(kind, type) else "a value"


def _named(kind: type) -> str:
    if kind in {type(None), bool}:
        return "None" if kind is type(None) else "a bool"
    return f"a{'n' if kind.__name__[0] in 'AEIOUaeiou' else ''} {kind.__name__}"
