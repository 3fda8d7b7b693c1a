"""Options that commands share as one object: a command takes the object, the command line shows its options."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

T = TypeVar("T")


@dataclass(frozen=True)
class Expansion:
    """The options of which an argument of a command is made.

    Args:
        options: the options, as arguments for Typer.
        make: function of their values by name that returns the argument.
        panel: title of their panel in the help, which comes after the other options; empty: they are among these.
    """

    options: tuple[inspect.Parameter, ...]
    make: Callable[..., Any]
    panel: str = ""

    def made(self, values: dict[str, Any]) -> Any:
        """Return the argument, and take the values it is made of out of a dictionary."""
        taken = {}
        for item in self.options:
            inner = expansion_of(item.annotation)
            taken[item.name] = inner.made(values) if inner else values.pop(item.name)
        return self.make(**taken)


def shared(options: Mapping[str, tuple[Any, Any]], make: Callable[..., Any], *, panel: str = "") -> Expansion:
    """Return the options of an argument.

    Args:
        options: type for Typer and default of each option, by name.
        make: function of their values by name.
        panel: title of their panel in the help; empty: they have none.
    """
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = (inspect.Parameter(name, keyword, default=b, annotation=a) for name, (a, b) in options.items())
    return Expansion(tuple(parameters), make, panel)


class OptionGroup:
    """A base of frozen dataclasses: an argument of such a type is shown as one option for each field.

    Attributes:
        PANEL: title of their panel in the help; empty: they have none.
    """

    PANEL: ClassVar[str] = ""


def expansion_of(annotation: Any) -> Expansion | None:
    """Return the options of which an argument of a type is made; None if it is an option itself."""
    for item in getattr(annotation, "__metadata__", ()):
        if isinstance(item, Expansion):
            return item
    if isinstance(annotation, type) and issubclass(annotation, OptionGroup):
        fields = inspect.signature(annotation, eval_str=True).parameters
        return Expansion(tuple(fields.values()), annotation, annotation.PANEL)
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


def _flat(parameters: Iterable[inspect.Parameter], panel: str = "") -> Iterator[tuple[inspect.Parameter, bool]]:
    """Yield each option, and whether it has a panel of its own."""
    for item in parameters:
        if group := expansion_of(item.annotation):
            yield from _flat(group.options, group.panel or panel)
        else:
            item = item.replace(annotation=_in_panel(item.annotation, panel)) if panel else item
            yield item.replace(kind=inspect.Parameter.KEYWORD_ONLY), bool(panel)


def _in_panel(annotation: Any, panel: str) -> Any:
    """Return the annotation of an option that is shown in a panel; one without help stays as it is."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, info = get_args(annotation)
    info = copy(info)
    info.rich_help_panel = panel
    return Annotated[kind, info]
