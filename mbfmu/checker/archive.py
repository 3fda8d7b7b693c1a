"""Rules on the FMU as a ZIP file: those without which it is not read, and those on what was read."""

import zipfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from mbfmu.checker.outcome import PRACTICE, Finding, Outcome, Rule
from mbfmu.fmi import archive as of
from mbfmu.fmi.archive import DESCRIPTION, Inspection

STORED_LIMIT = 2**16
"""Largest number of bytes that all members stored without compression may have together."""


def extension(path: str | PathLike[str]) -> Iterator[Finding]:
    """The file's name ends with .fmu."""
    name = Path(path).name
    if not name.endswith(".fmu"):
        yield f"the name '{name}' does not end with '.fmu'", None


def zip_stored(members: tuple[zipfile.ZipInfo, ...]) -> Iterator[Finding]:
    """The archive is compressed."""
    stored = sum(member.file_size for member in members if member.compress_type == zipfile.ZIP_STORED)
    if stored > STORED_LIMIT:
        yield f"{stored} bytes lie uncompressed in the archive; pack it with deflate", None


FILE = Rule(of.FILE, "2.3", "There is a file that can be read.", gate=True)
EXTENSION = Rule.of(extension, "2.3")
ZIP = Rule(of.ZIP, "2.3", "The file is a sound ZIP archive.", gate=True)
ZIP_PATH = Rule(
    of.ZIP_PATH,
    "2.3",
    "Every member unpacks to one place of its own inside the folder: no absolute or parent path, no link.",
    gate=True,
)
ZIP_SIZE = Rule(
    of.ZIP_SIZE, PRACTICE, "Nothing unpacks to more than a model needs, so a ZIP bomb is never opened.", gate=True
)
ZIP_METHOD = Rule(
    of.ZIP_METHOD, "2.3", "Members are deflated or stored, not encrypted, and need no ZIP version above 2.0.", gate=True
)
ZIP_STORED = Rule.of(zip_stored, PRACTICE)
DESCRIPTION_MISSING = Rule(of.MISSING, "2.3", f"{DESCRIPTION} lies at the top of the archive.", gate=True)

RULES = (FILE, EXTENSION, ZIP_PATH, ZIP_SIZE, ZIP_METHOD, ZIP, ZIP_STORED, DESCRIPTION_MISSING)


def judge_archive(path: str | PathLike[str], inspection: Inspection) -> list[Outcome]:
    """Return what the rules say of what stands at a path, as far as it was looked at."""
    judged: list[Outcome] = []
    for rule in RULES:
        if rule.name in inspection.tried:
            judged += rule.judge(lambda kind=rule.name: _findings(inspection, kind))  # type: ignore[misc]
    if FILE.name in inspection.tried and all(fault.kind != FILE.name for fault in inspection.faults):
        judged += EXTENSION.judge(lambda: extension(path))
    if DESCRIPTION_MISSING.name in inspection.tried:
        judged += ZIP_STORED.judge(lambda: zip_stored(inspection.members))
    return judged


def _findings(inspection: Inspection, kind: str) -> Iterator[Finding]:
    """Yield the faults of a kind."""
    return ((fault.text, fault.where) for fault in inspection.faults if fault.kind == kind)
