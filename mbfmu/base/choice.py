"""Choice: a stepper with its options, as a user names it; the steppers themselves are in `mbfmu.stepper`."""

from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from mbfmu.errors import StepperError


@dataclass(frozen=True)
class Option:
    """An option of a family: one of some choices, or a number in a range.

    Args:
        default: value of the option if it is not given; None: what the text says, as the equations decide.
        text: one line on the option, for users.
        choices: the values allowed; empty for a number.
        range: least and greatest number allowed.
    """

    default: Any
    text: str
    choices: tuple[Any, ...] = ()
    range: tuple[float, float] | None = None

    @property
    def allowed(self) -> str:
        """Return the allowed values, as text for users."""
        if self.range:
            return f"{self.range[0]:g}..{self.range[1]:g}"
        return "|".join(map(str, self.choices))

    def checked(self, stepper: str, key: str, value: Any) -> Any:
        """Return the value that a user's text or number stands for.

        Args:
            stepper: name of the stepper, for messages.
            key: name of the option, for messages.
            value: what the user gives.

        Raises:
            StepperError: the value is not allowed.
        """
        if value is None and self.default is None:
            return None
        with suppress(KeyError, TypeError, ValueError):
            if self.range is None:
                return {str(choice): choice for choice in self.choices}[str(value)]
            if self.range[0] <= float(value) <= self.range[1]:
                return float(value)
        raise StepperError(f"stepper '{stepper}': {key}={value} is not allowed; allowed: {self.allowed}")


def option(default: Any, text: str, *, range: tuple[float, float] | None = None) -> Any:
    """Declare an option of a stepper, as a field of its `Choice`.

    The choices are those of the field's type, a Literal.

    Args:
        default: value of the option if it is not given; None: what the text says, as the equations decide.
        text: one line on the option, for users.
        range: least and greatest number allowed, for a number.
    """
    return field(default=default, metadata={"option": (text, range)})


@dataclass(frozen=True)
class Choice:
    """A stepper with its options, in place of a stepper's name: ``mbfmu.Rattle(iteration="simplified")``.

    A family derives a frozen dataclass with a `name`, whose fields are made with `option`.

    Raises:
        StepperError: a value is not allowed.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for key, value in self.table().items():
            object.__setattr__(self, key, value.checked(self.name, key, getattr(self, key)))

    @classmethod
    def table(cls) -> dict[str, Option]:
        """Return the options by name."""
        hints, options = get_type_hints(cls), {}
        for item in fields(cls):
            text, allowed = item.metadata["option"]
            kinds = (hints[item.name], *get_args(hints[item.name]))  # a Literal, or one that may be None
            choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())
            options[item.name] = Option(item.default, text, choices, allowed)
        return options

    def options(self) -> dict[str, Any]:
        """Return the values of the options by name."""
        return {item.name: getattr(self, item.name) for item in fields(self)}
