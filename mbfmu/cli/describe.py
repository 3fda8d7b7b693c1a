"""mbfmu describe."""

from typing import Any

import mbfmu
from mbfmu.cli.choices import Coordinates, Free, Model, Values, settings
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.robot import with_robot


@with_robot
def describe(
    _: Tell, model: Model, coordinates: Coordinates = None, values: Values = None, free: Free = None, robot: Any = None
) -> Report:
    """Explain a model: bodies, joints, loops, degrees of freedom, redundant constraints."""
    from mbfmu.cli.tables import table
    from mbfmu.show.listing import description

    system = mbfmu.load(model, settings(values), free or (), robot)
    found = description(system, coordinates)
    tables = (table(kind, rows) for kind, rows in found.items() if rows)
    return Report({"model": system.name, "description": system.description, **found}, tuple(tables))
