"""Signals of a flat model that equations define: what each variable is in terms of others."""

from collections.abc import Callable, Iterator
from typing import Any

from mbfmu.errors import ModelError
from mbfmu.model.modelica.connections import entries, named, sets_of, signals, whole_of


def definition(item: Any) -> tuple[str, Any] | None:
    """Return the name and the value of an equation ``name = value``; None if it is another one."""
    if not isinstance(item["origin"], dict) or "ComponentEquation" not in item["origin"]:
        return None
    match item.get("residual"):
        case {"Binary": {"op": "Sub", "lhs": lhs, "rhs": rhs}} if name := named(lhs):
            return name, rhs
    return None


def names_in(tree: Any) -> Iterator[str]:
    """Yield the names of the variables in a tree of the compiler, with their subscripts where these are numbers."""
    if isinstance(tree, dict):
        if "VarRef" in tree:
            yield named(tree) or tree["VarRef"]["name"]["name"]
        for item in tree.values():
            yield from names_in(item)
    elif isinstance(tree, list):
        for item in tree:
            yield from names_in(item)


class Definitions:
    """The equations ``name = value`` of a flat model, and what connections make equal to their names.

    Args:
        flat: the flat model.
        owned: names of the components whose equations say nothing, as mbfmu has a component for each.
    """

    def __init__(self, flat: dict[str, Any], owned: set[str]) -> None:
        self.variables: dict[str, Any] = flat["variables"]
        self.trees: dict[str, Any] = {}
        for item in flat["equations"]:
            pair = definition(item)
            if pair is None or item["origin"]["ComponentEquation"]["component"] in owned:
                continue
            name, tree = pair
            variable = self.variables.get(whole_of(name))
            if variable is None or variable["variability"] != "Empty" or self.inside(name, owned):
                continue
            if name in self.trees:
                raise ModelError(f"'{name}' has two equations: leave one out")
            self.trees[name] = tree
        for name, item in self.variables.items():
            if item["variability"] == "Empty" and item["binding"] is not None and not item["dims"]:
                self.trees.setdefault(name, item["binding"])
        groups = sets_of(signals(flat))
        self.equal = {end: group for group in groups for end in group}
        self.rates = dict(self.derivatives(flat, owned))
        """Trees of the time derivatives of states of the model's own, by name."""
        self.implied = self.implicit(flat, owned)
        """Equations that decide a variable without being solved for it, by its name."""
        self.flat = flat

    def is_own(self, name: str, owned: set[str]) -> bool:
        """Return whether a scalar is a variable of the model's own."""
        variable = self.variables.get(whole_of(name))
        return variable is not None and variable["variability"] == "Empty" and not self.inside(name, owned)

    def derivatives(self, flat: dict[str, Any], owned: set[str]) -> Iterator[tuple[str, Any]]:
        """Yield name and value of each equation ``der(name) = value``."""
        for item in flat["equations"]:
            match item.get("residual"):
                case {"Binary": {"op": "Sub", "lhs": {"BuiltinCall": {"function": "Der", "args": [x]}}, "rhs": rhs}}:
                    if (name := named(x)) and self.is_own(name, owned) and name not in self.trees:
                        yield name, rhs

    def implicit(self, flat: dict[str, Any], owned: set[str]) -> dict[str, Any]:
        """Return the equations other than definitions, each by the one variable in it that nothing defines."""
        implied: dict[str, Any] = {}
        left = [item for item in flat["equations"] if self.is_open(item, owned)]
        while left:
            later = []
            for item in left:
                names = {name for name in names_in(item["residual"]) if self.is_own(name, owned)}
                unknown = [name for name in names if not self.is_decided(name) and name not in implied]
                if len(unknown) == 1:
                    implied[unknown[0]] = item
                else:
                    later.append(item)
            if len(later) == len(left):
                break
            left = later
        return implied

    def reads(self, item: Any) -> bool:
        """Return whether an equation decides one variable of the model's own, or its derivative."""
        pair = definition(item)
        if pair is not None and pair[0] in self.trees:
            return True
        residual = item.get("residual")
        of_rate = any(residual["Binary"]["rhs"] is tree for tree in self.rates.values() if "Binary" in (residual or {}))
        return of_rate or any(residual is one["residual"] for one in self.implied.values())

    def is_known(self, name: str) -> bool:
        """Return whether an equation decides a variable of the model's own."""
        return name in self.implied or self.is_decided(name)

    def is_open(self, item: Any, owned: set[str]) -> bool:
        """Return whether an equation of the model's own gives neither a variable nor its derivative."""
        if not isinstance(item["origin"], dict) or "ComponentEquation" not in item["origin"]:
            return False
        if item["origin"]["ComponentEquation"]["component"] in owned or item.get("residual") is None:
            return False
        pair = definition(item)
        of_rate = any(item["residual"].get("Binary", {}).get("rhs") is tree for tree in self.rates.values())
        return not of_rate and (pair is None or self.trees.get(pair[0]) is not pair[1])

    def is_decided(self, name: str) -> bool:
        """Return whether an equation or a connection decides a variable."""
        return name in self.rates or any(end in self.trees for end in (name, *self.equal.get(name, ())))

    @staticmethod
    def inside(name: str, owned: set[str]) -> bool:
        """Return whether a variable belongs to one of these components."""
        return any(name.startswith(f"{item}.") for item in owned)

    def of(self, name: str) -> Any:
        """Return the tree of the value of a scalar; None if nothing defines it."""
        for end in (name, *self.equal.get(name, ())):
            tree = self.trees.get(end)
            if tree is not None and named(tree) != name:
                return tree
        return None

    def reach(self, name: str, moves: Callable[[str], str]) -> set[str]:
        """Return the coordinates, velocities and states that the value of a scalar depends on.

        Args:
            name: its name.
            moves: function that returns which of these a variable is; empty: none.
        """
        if moving := moves(name):
            return {moving}
        found: set[str] = set()
        seen, todo = {name}, [name]
        while todo:
            here = todo.pop()
            variable = self.variables.get(whole_of(here), {})
            for tree in filter(None, (self.of(here), variable.get("binding"))):
                names = {end for name in names_in(tree) for end in entries(self.flat, name)}
                for other in names - seen:
                    seen.add(other)
                    if moving := moves(other):
                        found.add(moving)
                    else:
                        todo.append(other)
        return found

    def equations(self) -> Iterator[str]:
        """Yield the names that have an equation."""
        yield from self.trees
