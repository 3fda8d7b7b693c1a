"""mbfmu describe."""

from mbfmu.cli.console import Report, Tell
from mbfmu.cli.sources import DerivedSource


def describe(_: Tell, source: DerivedSource) -> Report:
    """Explain a model: bodies, joints, loops, degrees of freedom, redundant constraints."""
    from mbfmu.cli.tables import table
    from mbfmu.show.listing import description

    system = source.load()
    sections = description(system, source.coordinates)
    tables = (table(kind, rows) for kind, rows in sections.items() if rows)
    return Report({"model": system.name, "description": system.description, **sections}, tuple(tables))
