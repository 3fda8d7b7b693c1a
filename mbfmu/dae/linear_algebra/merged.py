"""CasADi Functions in which equal operations are done once."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

import casadi as ca

LONG = 4000
"""Smallest number of operations of long functions, for which loops are sought and equal operations merged as they are
written.
"""


def merged(name: str, inputs: Sequence[Any], results: Sequence[Any]) -> ca.Function:
    """Return a Function in which equal operations are done once, now or, in a long one, as its code is written.

    CasADi takes several times as long to find them as for all else about a long function, or about one that calls it,
    and finds them again in each function that is made of others.

    Args:
        name: its name.
        inputs: its arguments, SX or MX symbols.
        results: its results.
    """
    function = ca.Function(name, list(inputs), list(results))
    parts = (function, *function.find_functions(0))
    if not function.n_instructions() or any(
        item.is_a("SXFunction") and item.n_instructions() >= LONG for item in parts
    ):
        return function
    return ca.Function(name, list(inputs), ca.cse(list(results)))


class Later:
    """A Function that is made when it is first called or asked for anything: not every stepper needs each.

    Args:
        make: gives the Function.
    """

    def __init__(self, make: Callable[[], ca.Function]) -> None:
        self._make = make

    @cached_property
    def _function(self) -> ca.Function:
        return self._make()

    def __call__(self, *arguments: Any) -> Any:
        """Return the results of a call."""
        return self._function(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the Function."""
        return getattr(self._function, name)


def later(make: Callable[[], ca.Function]) -> ca.Function:
    """Return a Function that is made when it is first called, see `Later`.

    Args:
        make: gives the Function.
    """
    return cast("ca.Function", Later(make))


def operations(function: Any) -> int:
    """Return the number of operations of a function and of all functions that it calls, each of them counted once."""
    return sum(own_operations(item) for item in (function, *function.find_functions()))


def own_operations(function: Any) -> int:
    """Return the number of operations of a function, without those of the functions that it calls."""
    return 0 if function.class_name() == "Switch" else int(function.n_instructions())
