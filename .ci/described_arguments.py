"""What pages show of described arguments and fields: arguments one by one, and defaults as values."""

import dataclasses
import importlib
import inspect
from typing import Any

import griffe


class DescribedArguments(griffe.Extension):
    """An extension of Griffe that gives such a function the fields of its class as parameters, and fields their values.

    A default such as ``quantity(9.81, "m/s2", "gravity acceleration")`` is shown as 9.81.
    """

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Change the functions of a package that `takes` decorates, and the defaults of its dataclasses."""
        modules = [pkg]
        while modules:
            module = modules.pop()
            own = [item for item in module.members.values() if not item.is_alias]
            modules += [item for item in own if item.is_module]
            for described in own:
                if described.is_class and any("dataclass" in mark.callable_path for mark in described.decorators):
                    _evaluate(described)
            for function in own:
                if function.is_function and any(mark.callable_path.endswith(".takes") for mark in function.decorators):
                    _show(function)


def _show(function: griffe.Function) -> None:
    """Give a function its parameters and the docstring that has them."""
    taken = getattr(importlib.import_module(function.module.path), function.name)
    (argument,) = function.parameters
    described = function.module.modules_collection[argument.annotation.canonical_path]
    fields = {name: item for kind in (*reversed(described.mro()), described) for name, item in kind.attributes.items()}
    function.parameters = griffe.Parameters(*(
        griffe.Parameter(
            item.name,
            annotation=fields[item.name].annotation.slice.elements[0],
            kind=griffe.ParameterKind[item.kind.name.lower()],
            default=fields[item.name].value,
        )
        for item in inspect.signature(taken).parameters.values()
    ))  # fmt: skip
    function.docstring.value = inspect.getdoc(taken)


def _evaluate(described: griffe.Class) -> None:
    """Replace the defaults of a dataclass that functions declare by their values."""
    own = getattr(importlib.import_module(described.module.path), described.name)
    values = {item.name: item.default for item in dataclasses.fields(own)}
    for name, attribute in described.attributes.items():
        default = values.get(name, dataclasses.MISSING)
        if isinstance(attribute.value, griffe.ExprCall) and default is not dataclasses.MISSING:
            attribute.value = repr(default)
