"""Check an FMI 2.0 co-simulation FMU, whoever made it: archive, schema, FMPy, our own rules, a test run.

archive.py  the ZIP file; nothing hostile gets past it
static.py   modelDescription.xml: the XSD, FMPy's validation, and one function a rule
dynamic.py  supervises probe.py, the separate process in which the FMU runs
"""

from os import PathLike

from mbfmu.fmu.check.archive import read_archive
from mbfmu.fmu.check.dynamic import run_fmu
from mbfmu.fmu.check.problem import Problem
from mbfmu.fmu.check.static import check_description

__all__ = ["Problem", "check"]


def check(path: str | PathLike[str]) -> list[Problem]:
    """List what is wrong with an FMU; an empty list means that it passed every rule.

    Whatever lies at `path`, missing, damaged or hostile, the answer is a list. The last rules run the
    FMU's code with the rights of the caller (in a process of its own), if it has a library for this platform.

    Args:
        path: the .fmu file.
    """
    archive, problems = read_archive(path)
    if archive is None:
        return problems
    fmu, found = check_description(archive)
    problems += found
    if fmu is not None:
        problems += run_fmu(fmu)
    return problems
