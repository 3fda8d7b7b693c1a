"""Options that commands share as one object: a command takes the object, the command line shows its options."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Expansion:
    """The options of which an argument of a command is made.

    Args:
        options: the options, as arguments for Typer.
        make: function of their values by name that returns the argument.
        last: whether they come after all others in the help.
    """

    options: tuple[inspect.Parameter, ...]
    make: Callable[..., Any]
    last: bool = False

    def made(self, values: dict[str, Any]) -> Any:
        """Return the argument, and take the values it is made of out of a dictionary."""
        taken = {}
        for item in self.options:
            inner = expansion_of(item.annotation)
            taken[item.name] = inner.made(values) if inner else values.pop(item.name)
        return self.make(**taken)


def shared(options: Mapping[str, tuple[Any, Any]], make: Callable[..., Any], *, last: bool = False) -> Expansion:
    """Return the options of an argument.

    Args:
        options: type for Typer and default of each option, by name.
        make: function of their values by name.
        last: whether they come last in the help.
    """
    keyword = inspect.Parameter.KEYWORD_ONLY
    return Expansion(
        tuple(inspect.Parameter(name, keyword, default=b, annotation=a) for name, (a, b) in options.items()), make, last
    )


class OptionGroup:
    """A base of frozen dataclasses: an argument of such a type is shown as one option for each field."""


def expansion_of(annotation: Any) -> Expansion | None:
    """Return the options of which an argument of a type is made; None if it is an option itself."""
    for item in getattr(annotation, "__metadata__", ()):
        if isinstance(item, Expansion):
            return item
    if isinstance(annotation, type) and issubclass(annotation, OptionGroup):
        return Expansion(tuple(inspect.signature(annotation, eval_str=True).parameters.values()), annotation)
    return None


def expanded(function: Callable[..., T]) -> Callable[..., T]:
    """Return a command with all its options one by one, whose function takes the objects made of them.

    Args:
        function: its first argument is a `Tell`, the others are options or made of options.
    """
    signature = inspect.signature(function, eval_str=True)
    first, *others = signature.parameters.values()
    groups = {item.name: group for item in others if (group := expansion_of(item.annotation))}

    @functools.wraps(function)
    def run(tell: Any, **values: Any) -> T:
        made = {name: group.made(values) for name, group in groups.items()}
        return function(tell, **values, **made)

    options = sorted(_flat(others), key=lambda pair: pair[1])
    run.__dict__["__signature__"] = signature.replace(parameters=[first, *(item for item, _ in options)])
    return run


def _flat(parameters: Iterable[inspect.Parameter], last: bool = False) -> Iterator[tuple[inspect.Parameter, bool]]:
    """Yield each option, and whether it comes last."""
    for item in parameters:
        if group := expansion_of(item.annotation):
            yield from _flat(group.options, last or group.last)
        else:
            yield item.replace(kind=inspect.Parameter.KEYWORD_ONLY), last
