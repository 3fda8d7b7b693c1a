"""mbfmu list."""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any

import typer

from mbfmu.cli.console import Report, Tell


class Kind(str, Enum):
    """Kinds of lists that `mbfmu list` shows."""

    models = "models"
    steppers = "steppers"
    components = "components"
    readers = "readers"


def list_(
    _: Tell,
    what: Annotated[Kind | None, typer.Argument(help="leave it out for all")] = None,
) -> Report:
    """List the models, steppers, components or file formats."""
    from mbfmu.cli.tables import table
    from mbfmu.show.listing import components, models, readers, steppers

    listings: dict[Kind, Callable[[], list[dict[str, Any]]]] = {
        Kind.models: models,
        Kind.steppers: steppers,
        Kind.components: components,
        Kind.readers: readers,
    }
    sections = {kind.value: rows() for kind, rows in listings.items() if what in {None, kind}}
    return Report(sections, tuple(table(kind, rows) for kind, rows in sections.items()))
