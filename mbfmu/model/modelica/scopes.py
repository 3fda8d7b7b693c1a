"""Systems and sub-systems of a Modelica model while their components and parameters are gathered."""

import re
from dataclasses import dataclass, field
from typing import Any

from mbfmu.errors import ModelError
from mbfmu.model.component import Component, Value
from mbfmu.model.expression import Expression
from mbfmu.model.modelica.values import Values
from mbfmu.model.parameter import Parameter
from mbfmu.model.system import System
from mbfmu.model.system_data import Subsystem


@dataclass
class Scope:
    """Contents of a system or sub-system, while they are gathered."""

    components: list[Any] = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)


class Scopes:
    """The system and its sub-systems, and what full names are called in each.

    Args:
        values: values of the model.
        variables: the variables of the flat model by name.
        notices: list that takes notices.
    """

    def __init__(self, values: Values, variables: dict[str, Any], notices: list[str]) -> None:
        self.values, self.variables, self.notices = values, variables, notices
        self.held: dict[str, Scope] = {"": Scope()}

    def of(self, path: str) -> Scope:
        """Return what a sub-system will have; those around it are made too."""
        if path not in self.held:
            self.of(path.rpartition(".")[0])
            self.held[path] = Scope()
        return self.held[path]

    def localized(self, value: Value, scope: str, kept: frozenset[str] = frozenset()) -> Value:
        """Return an expression of full names as one that components of a sub-system can have; `kept` stay."""
        if not isinstance(value, str):
            return value
        names = Expression(value).names - {"time"} - kept
        if moving := sorted(self.values.moving.keys() & names):
            raise ModelError(f"a value depends on '{moving[0]}', which only torques and forces can")
        called = {name: self.local(name, scope) for name in sorted(names)}
        return re.sub(r"(?<![\w.])[A-Za-z_][\w.]*", lambda match: called.get(match[0], match[0]), value)

    def local(self, name: str, scope: str) -> str:
        """Return what a full name is called in a sub-system; a parameter from further out is handed in."""
        home, _, leaf = name.rpartition(".")
        if name not in self.values.own:
            return f"({self.localized(self.values.texts[name], scope)})"
        if home == scope:
            return leaf
        if home and not f"{scope}.".startswith(f"{home}."):
            self.notices.append(f"'{name}' is a number where it is used in '{scope or 'the model'}'")
            return repr(self.values.number_of(name))
        outer, _, _ = scope.rpartition(".")
        called = f"{name.replace('.', '_')}_"
        here = self.of(scope)
        if called not in here.parameters:
            here.parameters[called] = Parameter(called, self.values.number_of(name))
            here.values[called] = self.local(name, outer)
        return called

    def parameter(self, path: str) -> None:
        """Add a parameter of the user's to its system."""
        scope, _, leaf = path.rpartition(".")
        value = self.values.texts[path]
        result = self.values.number_of(path)
        item: Any = self.variables.get(path) or {}
        names = Expression(value).names if isinstance(value, str) else frozenset()
        unit, text = item.get("unit") or "1", item.get("description") or ""
        here = self.of(scope)
        if scope and names and not any(name.rpartition(".")[0] == scope for name in names):
            here.parameters[leaf] = Parameter(leaf, result, unit, text)
            here.values[leaf] = self.localized(value, scope.rpartition(".")[0])
        else:
            here.parameters[leaf] = Parameter(leaf, self.localized(value, scope) if names else result, unit, text)

    def built(self, scope: str, name: str, planar: bool) -> System:
        """Return a system with its sub-systems, without connections.

        Args:
            scope: path of the system, empty for the whole one.
            name: its name.
            planar: whether it moves in the plane.
        """
        here = self.of(scope)
        inner = [path for path in self.held if path and path.rpartition(".")[0] == scope]
        parts: list[Component | Subsystem] = [*here.components]
        for path in inner:
            leaf = path.rpartition(".")[2]
            parts.append(Subsystem(leaf, self.built(path, leaf, planar), self.held[path].values))
        return System(name, tuple(parts), parameters=tuple(here.parameters.values()), planar=planar)
