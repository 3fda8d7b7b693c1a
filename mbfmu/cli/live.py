"""mbfmu live."""

import webbrowser

from mbfmu.cli.console import Report, Tell
from mbfmu.cli.run_options import ViewOptions
from mbfmu.cli.sources import ShownOptions, shown_names
from mbfmu.cli.view import PageFile, Pull, ViewSource, write_page


def live(
    tell: Tell, *, file: PageFile, run: ViewOptions, source: ViewSource, shown: ShownOptions, pull: Pull = None
) -> Report:
    """Write one HTML page that computes the motion itself, and open it; inputs and parameters can be changed in it."""
    from mbfmu import view

    how = {**shown.named(), "live": True, "pull": shown_names(pull)}
    report = write_page(view, tell, source, file, run, how)
    webbrowser.open(report.wrote[0].resolve().as_uri())
    return report
