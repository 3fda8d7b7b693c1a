"""mbfmu report."""

from dataclasses import dataclass
from typing import ClassVar

from mbfmu.cli.console import Report, Tell
from mbfmu.cli.run_options import RunOptions
from mbfmu.cli.sources import ShownOptions
from mbfmu.cli.view import Moved, PageFile, ViewSource, models_of, write_page


@dataclass(frozen=True, kw_only=True)
class ReportFile(PageFile):
    """The file of a report."""

    ENDING: ClassVar[str] = "_report.html"


def report(
    tell: Tell,
    *,
    geometry: Moved = None,
    file: ReportFile,
    run: RunOptions,
    source: ViewSource,
    shown: ShownOptions,
) -> Report:
    """Write one HTML page on a run: settings, versions, error, picture, tables, curves, events, warnings."""
    from mbfmu import report

    return write_page(report, tell, source, file, run, {**shown.named(), "model": models_of(source, geometry)})
