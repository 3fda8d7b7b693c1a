"""Signals of a flat model that equations define: what each variable is in terms of others."""

from collections.abc import Iterator
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
        self.entries = lambda name: entries(flat, name)

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

    def equations(self) -> Iterator[str]:
        """Yield the names that have an equation."""
        yield from self.trees
