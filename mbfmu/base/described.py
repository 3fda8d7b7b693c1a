"""Described arguments: a function takes one frozen class, whose fields say once what each of its arguments is.

A field of such a class is ``name: Annotated[type, Described(text, unit)] = default``. `takes` makes its fields the
arguments of a function: its callers, `help` and the type checker see them one by one, the function gets the object. A
class that inherits from `RunSettings` so has the arguments of every run, and the command line makes its options of the
same descriptions.
"""

import dataclasses
import functools
import inspect
import textwrap
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

from mbfmu.base.arguments import types_of, with_types

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")

WIDTH = 116
"""Number of columns of a docstring."""
AFTER = ("Returns:", "Raises:")
"""Sections of a docstring that come after the arguments."""


@dataclass(frozen=True)
class Described:
    """A description of an argument, as users read it.

    Args:
        text: what it is, in words.
        unit: SI unit; empty: it has none.
        more: what follows on the unit, such as the default.
        option: name of the option of the command line, with what its help shows for a value; empty: there is none.
        help: help of the option; empty: text and unit.
        check: function that raises an error for a value that is not allowed.
    """

    text: str
    unit: str = ""
    more: str = ""
    option: str = ""
    help: str = ""
    check: Callable[[Any], None] = lambda _: None

    @property
    def line(self) -> str:
        """Text with its unit."""
        return f"{self.text}, {self.unit}" if self.unit else self.text

    @property
    def whole(self) -> str:
        """All that is said, as a docstring has it."""
        return f"{self.line}{self.more}."


def descriptions(kind: type) -> dict[str, Described]:
    """Return the descriptions of the fields of a class by name, in the order of its constructor."""
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        hints |= inspect.get_annotations(base)
    texts = {}
    for name in inspect.signature(kind).parameters:
        notes = getattr(hints[name], "__metadata__", ())
        texts[name] = next(item for item in notes if isinstance(item, Described))
    return texts


def refuse_wrong(values: Any) -> None:
    """Raise an error for the first field of an object whose value its description does not allow."""
    for name, item in descriptions(type(values)).items():
        item.check(getattr(values, name))


def takes(kind: Callable[P, S]) -> Callable[[Callable[[S], R]], Callable[P, R]]:
    """Return a decorator that gives a function of one object the fields of its class as arguments.

    An argument that is not of its field's type raises a UsageError, as `checked` does. The docstring gets the section
    on the arguments.

    Args:
        kind: the class, a frozen dataclass whose fields are described.
    """
    signature, of = inspect.signature(kind), cast(type, kind)
    fields = [item.replace(annotation=_plain(item.annotation)) for item in signature.parameters.values()]

    def decorate(function: Callable[[S], R]) -> Callable[P, R]:
        def taken(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(kind(*args, **kwargs))

        name = function.__qualname__
        call = functools.wraps(function)(with_types(taken, name, signature, lambda: types_of(of)))
        returned = inspect.signature(function).return_annotation
        call.__dict__["__signature__"] = inspect.Signature(fields, return_annotation=returned)
        call.__annotations__ = {item.name: item.annotation for item in fields} | {"return": returned}
        call.__doc__ = documented(function.__doc__ or "", of)
        return cast(Callable[P, R], call)

    return decorate


def part_of(values: Any, kind: type[S]) -> S:
    """Return an object of a class whose fields are those of another object, as far as it has them."""
    names = (item.name for item in dataclasses.fields(cast(Any, kind)))
    return kind(**{name: getattr(values, name) for name in names if hasattr(values, name)})


def documented(text: str, kind: type) -> str:
    """Return a docstring with the section on the arguments, which are the fields of a class."""
    body = inspect.cleandoc(text)
    lines = ["Args:"]
    for name, item in descriptions(kind).items():
        lines += textwrap.wrap(
            f"{name}: {item.whole}", WIDTH, initial_indent="    ", subsequent_indent="        ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    section = "\n".join(lines)
    offsets = [body.index(f"\n{title}\n") for title in AFTER if f"\n{title}\n" in body]
    if not offsets:
        return f"{body}\n\n{section}\n"
    offset = min(offsets) + 1
    return f"{body[:offset]}{section}\n\n{body[offset:]}\n"


def _plain(annotation: Any) -> Any:
    """Return a type without what is said about it."""
    return typing.get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
