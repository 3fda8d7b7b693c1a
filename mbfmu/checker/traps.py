"""Rules on FMUs made with pythonfmu 0.7: what its builder gets wrong, and what goes wrong beside a second FMU."""

import re
from collections.abc import Iterator

from mbfmu.checker.document import StaticRule
from mbfmu.checker.outcome import PRACTICE, Finding, NotApplicable
from mbfmu.fmi.description import Fmu, claims
from mbfmu.fmi.plan import SLAVE_MODULE

LONGEST_SCRIPT = 2**20
"""Largest number of bytes of a script that are searched."""

_SLAVE_CLASS = re.compile(rb"^class\s+\w+\s*\([^()]{0,500}\bFmi2Slave\b[^()]{0,500}\)\s*:", re.MULTILINE)


def execution_tool(fmu: Fmu) -> Iterator[Finding]:
    """A slave that comes with the FMU needs no tool; PyFMI refuses an FMU that says it does."""
    _only_pythonfmu(fmu)
    if claims(fmu.slave, "needsExecutionTool"):
        yield "the slave is inside the FMU: write needsExecutionTool=false", fmu.slave.sourceline


def interpolate_inputs(fmu: Fmu) -> Iterator[Finding]:
    """What is declared works: pythonfmu answers fmi2Error to every input derivative."""
    _only_pythonfmu(fmu)
    if claims(fmu.slave, "canInterpolateInputs"):
        yield "pythonfmu takes no input derivatives: write canInterpolateInputs=false", fmu.slave.sourceline


def module_name(fmu: Fmu) -> Iterator[Finding]:
    """Packed modules have names no other FMU has, by a hash, for the FMUs of a process share `sys.modules`."""
    _only_pythonfmu(fmu)
    parts = (name.split("/") for name in fmu.archive.names if name.endswith(".py"))
    modules = {p[1].removesuffix(".py") for p in parts if p[0] == "resources" and len(p) > 1}
    for module in sorted(modules - {"pythonfmu"}):
        if not re.search("[0-9a-fA-F]{8}", module):
            text = f"the packed module '{module}' needs a unique name, with 8 digits of a hash"
            yield f"{text}: beside another FMU with a '{module}', one runs the other's code", f"resources/{module}.py"


def slave_script(fmu: Fmu) -> Iterator[Finding]:
    """slavemodule.txt names a packed script that has a class derived from Fmi2Slave."""
    _only_pythonfmu(fmu)
    module = fmu.archive.read(SLAVE_MODULE, 1000).decode(errors="replace").split("\n", 1)[0]
    script = f"resources/{module}.py"
    if not module.isidentifier() or script not in fmu.archive.names:
        yield f"{SLAVE_MODULE} names {module!r}, but there is no {script!r}", SLAVE_MODULE
    elif not _SLAVE_CLASS.search(fmu.archive.read(script, LONGEST_SCRIPT)):
        yield f"{script} has no class derived from Fmi2Slave", script


def _only_pythonfmu(fmu: Fmu) -> None:
    if not fmu.is_pythonfmu:
        raise NotApplicable("the FMU is not made with pythonfmu")


RULES: tuple[tuple[StaticRule, str], ...] = (
    (execution_tool, "4.3.1"),
    (interpolate_inputs, "4.3.1"),
    (module_name, PRACTICE),
    (slave_script, PRACTICE),
)
