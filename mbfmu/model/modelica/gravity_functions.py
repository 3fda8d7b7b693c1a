"""Functions of gravity that a Modelica model has, whose outputs become formulas of the position."""

from typing import Any

from mbfmu.errors import ModelError
from mbfmu.model.component import Value
from mbfmu.model.modelica.values import Nested, Values

STANDARD = "Modelica.Mechanics.MultiBody.Forces.Internal.standardGravityAcceleration"
"""Function of gravity that the library has itself."""
PLACE = ("x", "y", "z")
"""Names of a position in the formulas of a field."""


class FunctionBody(Values):
    """The values inside a function, while its assignments are followed.

    Args:
        outer: the values of the flat model, to which its arguments belong.
        name: name of the function, for messages.
    """

    def __init__(self, outer: Values, name: str) -> None:
        super().__init__(outer.variables, outer.required)
        self.name = name
        self.known: dict[str, Nested] = {}

    def value(self, tree: Any) -> Nested:
        """Return the value of a tree of the compiler, in which names are variables of the function."""
        match tree:
            case {"Index": {"base": base, "subscripts": subscripts}}:
                return self.picked(self.value(base), subscripts)
        return super().value(tree)

    def reference(self, item: Any) -> Nested:
        """Return the value of a variable of the function.

        Raises:
            ModelError: the function does not declare it.
        """
        name = item["name"]["name"]
        if self.known.get(name) is None:
            raise ModelError(f"the function '{self.name}' uses '{name}', which it does not declare")
        return self.picked(self.known[name], item["subscripts"])

    def picked(self, value: Nested, subscripts: list[Any]) -> Nested:
        """Return an entry of an array."""
        for item in subscripts:
            if "Index" not in item or not isinstance(value, list):
                raise ModelError(f"the function '{self.name}': only single entries of an array are read")
            value = value[item["Index"]["value"] - 1]
        return value

    def result(self, function: Any, arguments: list[Nested]) -> Nested:
        """Return the output of a function.

        Args:
            function: the function, as the compiler has it.
            arguments: a value for each input.

        Raises:
            ModelError: it has statements other than assignments of whole variables, or another number of outputs.
        """
        inputs, outputs = function["inputs"], function["outputs"]
        if function["external"] or len(outputs) != 1 or len(arguments) != len(inputs):
            raise ModelError(f"the function '{self.name}' is not read: it has one output, and a value for each input")
        self.known = {item["name"]: value for item, value in zip(inputs, arguments, strict=True)}
        for item in function["locals"]:
            if item["default"] is not None:
                self.known[item["name"]] = self.value(item["default"])
        for statement in function["body"]:
            parts = statement.get("Assignment", {"comp": {"parts": []}})["comp"]["parts"]
            if len(parts) != 1 or parts[0]["subs"]:
                raise ModelError(f"the function '{self.name}': only assignments of whole variables are read")
            self.known[parts[0]["ident"]] = self.value(statement["Assignment"]["value"])
        return self.reference({"name": {"name": outputs[0]["name"]}, "subscripts": []})


def gravity_field(flat: dict[str, Any], values: Values, world: str) -> list[Value] | None:
    """Return the gravity acceleration of a world by a user's function, m/s2, as formulas of x, y and z.

    Args:
        flat: the flat model.
        values: its values.
        world: name of the world.

    Returns:
        Three formulas; None if the function is the library's own.

    Raises:
        ModelError: the function is not read.
    """
    for item in flat["equations"]:
        match item.get("residual"):
            case {"Binary": {"lhs": {"VarRef": {"name": {"name": name}}}, "rhs": {"FunctionCall": call}}} if (
                name == f"{world}.mbfmu_g" and call["name"]["name"] != STANDARD
            ):
                path = call["name"]["name"]
                given = [_numbers(values, values.value(entry)) for entry in call["args"][1:]]
                result = FunctionBody(values, path).result(flat["functions"][path], [[*PLACE], *given])
                if not isinstance(result, list) or len(result) != len(PLACE):
                    raise ModelError(f"the function '{path}' must return the three components of gravity")
                return result
    return None


def _numbers(values: Values, value: Nested) -> Nested:
    return [_numbers(values, entry) for entry in value] if isinstance(value, list) else values.number(value)
