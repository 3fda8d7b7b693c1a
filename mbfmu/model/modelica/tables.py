"""Tables of Modelica.Blocks: what is read of them."""

from collections.abc import Iterable
from itertools import pairwise

from mbfmu.errors import ModelError
from mbfmu.model.modelica.values import Values

READ = {"smoothness": ("LinearSegments",), "extrapolation": ("LastTwoPoints", "HoldLastPoint")}
"""Options that are read, by the parameter that chooses one."""


def refuse_tables(values: Values, names: Iterable[str]) -> None:
    """Raise an error if a table is not one of straight lines between rows that the model itself has.

    Args:
        values: the values of the flat model.
        names: names of the components that consist of equations.

    Raises:
        ModelError: one is not.
    """
    for name in (name for name in names if f"{name}.tableOnFile" in values.variables):
        if values.number(values.of(f"{name}.tableOnFile")):
            raise ModelError(f"'{name}': a table in a file is not read; write its rows as table=[0,0; 1,2]")
        for label, known in READ.items():
            chosen = values.of(f"{name}.{label}")
            if chosen not in known:
                raise ModelError(f"'{name}.{label}' is {chosen}, which is not read; use {' or '.join(known)}")
        rows = values.of(f"{name}.table")
        steps = [values.number(row[0]) for row in rows]
        if len(steps) < 2 or any(one >= other for one, other in pairwise(steps)):
            raise ModelError(f"'{name}.table' needs two rows or more, whose first column increases from row to row")
