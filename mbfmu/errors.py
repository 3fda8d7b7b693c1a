"""The exception tree: every mistake a user can make has a name.

```text
MbfmuError
├── ModelError               a model that is invalid
│   ├── NameInUseError       two things with one name
│   ├── UnknownNameError     a parameter, component, frame, model or stepper that does not exist
│   ├── FrameConnectionError frames connected wrongly, or a body connected to nothing
│   ├── MassError            a free body without mass or inertia
│   ├── AxisError            an axis without a direction, or not as the joint needs it
│   ├── ExpressionError      an expression of parameters that cannot be read
│   ├── ValueRangeError      a value that is NaN, infinite or outside its bounds
│   └── StartError           start values that contradict each other or the constraints
├── ModelFileError           a model file that is missing or does not parse
├── StepperError             a stepper, an option and a model that do not go together
├── KernelError              equations for which no code can be generated
├── StepError                a step that failed (time, residual, remedy)
├── EquilibriumError         no equilibrium near the start, or one that is not determined
├── FmuError                 an FMU that cannot be written, read or run
└── UsageError               a call or command with arguments that are invalid
```
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice


class MbfmuError(Exception):
    """Base of all errors of mbfmu; its text says what is wrong, where, and how to correct it."""


class ModelError(MbfmuError):
    """A model that is invalid."""


class NameInUseError(ModelError):
    """Two things with one name."""


class UnknownNameError(ModelError):
    """A name that does not exist."""


class FrameConnectionError(ModelError):
    """Frames connected wrongly, or a body connected to nothing."""


class MassError(ModelError):
    """A free body without mass or inertia."""


class AxisError(ModelError):
    """An axis without a direction, or one that does not suit its joint."""


class ExpressionError(ModelError):
    """An expression of parameters that cannot be read."""


class ValueRangeError(ModelError):
    """A value that is NaN, infinite or outside its bounds."""


class StartError(ModelError):
    """Start values that contradict each other or the constraints."""


class ModelFileError(MbfmuError):
    """A model file that is missing or does not parse."""


class StepperError(MbfmuError):
    """A stepper, an option and a model that do not go together."""


class KernelError(MbfmuError):
    """Equations for which no code can be generated."""


class StepError(MbfmuError):
    """A step that failed; the state is as it was before the step."""


class EquilibriumError(MbfmuError):
    """An equilibrium that does not exist near the start, or that the equations do not determine."""


class FmuError(MbfmuError):
    """An FMU that cannot be written, read or run."""


class UsageError(MbfmuError):
    """A call or command with arguments that are invalid."""


class ResultWarning(UserWarning):
    """A run that went through, with results that are wrong by a noticeable part."""


MOST_NAMES = 1000
"""Largest number of known names that are compared with a wrong one."""
LONGEST_NAME = 200
"""Largest number of characters of names that are compared, as this takes a time that grows with their square."""
MOST_SHOWN = 30
"""Largest number of known names that a message lists."""
MOST_SAID = 3
"""Usual largest number of other things that a message lists."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a clause that ends an error message: the known name nearest to a wrong one, or the known names."""
    names = list(dict.fromkeys(islice(known, MOST_NAMES)))
    brief = [item for item in names if len(item) <= LONGEST_NAME]
    close = get_close_matches(name, brief, n=1, cutoff=0.5) if len(name) <= LONGEST_NAME else []
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known: {first_of(sorted(names, key=lambda item: (item.count('.'), item)), MOST_SHOWN) or 'none'}"


def reason_of(error: BaseException) -> str:
    """Return what an error says, for a message that names the file already: that of the system names it too."""
    return str(getattr(error, "strerror", None) or error)


def first_of(texts: Sequence[str], most: int = MOST_SAID) -> str:
    """Return the first texts of a list, with commas, and the number of the others."""
    return ", ".join(texts[:most]) + f" and {len(texts) - most} more" * (len(texts) > most)
