"""The FMU as a ZIP file: everything that must hold before a byte of it is trusted."""

import stat
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path

from mbfmu.checker.outcome import PRACTICE, Finding, Outcome, Rule

MEMBER_LIMIT = 2**29
"""Bytes one member may unpack to."""
DESCRIPTION_LIMIT = 2**26
"""Bytes modelDescription.xml may unpack to; its tree takes many times as much."""
TOTAL_LIMIT = 2**30
"""Bytes the file may have, and all members together may unpack to."""
COUNT_LIMIT = 50_000
"""Members the archive may have."""
STORED_LIMIT = 2**16
"""Bytes that may lie uncompressed in the archive."""
NEWEST_VERSION = 20
"""Of the ZIP format that may be needed to extract, times ten."""
DESCRIPTOR_FOLLOWS, ENCRYPTED = 8, 1
"""General purpose bits of a member."""

DESCRIPTION = "modelDescription.xml"
HEADER = b"PK\1\2"
"""What each entry of the archive's directory begins with."""


@dataclass(frozen=True)
class Archive:
    """A sound ZIP file: its bytes and the names in it (folders end with a slash)."""

    data: bytes
    names: frozenset[str]

    def read(self, name: str, most: int = -1) -> bytes:
        """Return one member, unpacked, or its first bytes."""
        with zipfile.ZipFile(BytesIO(self.data)) as file, file.open(name) as member:
            return member.read(most)


def read_archive(path: str | PathLike[str]) -> tuple[Archive | None, list[Outcome]]:
    """Read an FMU's archive; None if what is found makes it unsafe or useless to go on, the reason first."""
    archive, judged = _judged(path)
    fatal = {rule.name for rule in RULES if rule.gate}
    return archive, sorted(judged, key=lambda outcome: outcome.status != "fail" or outcome.rule not in fatal)


def _judged(path: str | PathLike[str]) -> tuple[Archive | None, list[Outcome]]:
    try:
        file = Path(path)
        if not file.is_file():
            return None, FILE.judge(lambda: [(f"there is no file '{path}'", None)])
        if file.stat().st_size > TOTAL_LIMIT:
            return None, ZIP_SIZE.judge(lambda: [(f"the file is larger than {TOTAL_LIMIT} bytes", None)])
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        return None, [FILE.outcome("fail", f"the file cannot be read: {error}")]
    judged = [*FILE.judge(list), *EXTENSION.judge(lambda: extension(file.name))]
    if data.count(HEADER) > COUNT_LIMIT:
        return None, [*judged, ZIP_SIZE.outcome("fail", f"the archive has more than {COUNT_LIMIT} members")]

    try:
        with zipfile.ZipFile(BytesIO(data)) as content:
            members = content.infolist()
            for rule, function in ((ZIP_PATH, zip_path), (ZIP_SIZE, zip_size), (ZIP_METHOD, zip_method)):
                judged += rule.judge(lambda function=function: function(members))  # type: ignore[misc]
            if any(outcome.status == "fail" for outcome in judged if outcome.rule != EXTENSION.name):
                return None, judged
            damaged = content.testzip()
    except Exception as error:  # noqa: BLE001 - zipfile answers damage with a dozen kinds of exception
        return None, [*judged, ZIP.outcome("fail", f"not a sound ZIP file ({error}); export the FMU again")]

    if damaged is not None:
        return None, [*judged, ZIP.outcome("fail", f"the member '{damaged}' is damaged; export the FMU again", damaged)]
    archive = Archive(data, frozenset(member.filename for member in members))
    missing = [] if DESCRIPTION in archive.names else [(f"there is no {DESCRIPTION} at the top of the archive", None)]
    judged += [*ZIP.judge(list), *ZIP_STORED.judge(lambda: zip_stored(members))]
    judged += DESCRIPTION_MISSING.judge(lambda: missing)
    return (None if missing else archive), judged


def extension(name: str) -> Iterator[Finding]:
    """The file's name ends with .fmu."""
    if not name.endswith(".fmu"):
        yield f"the name '{name}' does not end with '.fmu'", None


def zip_path(members: list[zipfile.ZipInfo]) -> Iterator[Finding]:
    """Every member unpacks to one place of its own inside the folder: no absolute or parent path, no link."""
    for member in members:
        name = member.orig_filename
        if name.startswith("/") or ".." in name.split("/") or set(name) & set("\\:\0"):
            yield f"the member {name!r} must have a relative path with '/' and no '..'", name
        elif stat.S_ISLNK(member.external_attr >> 16):
            yield f"the member {name!r} is a symbolic link; pack the file itself", name
    for name, count in Counter(member.filename for member in members).items():
        if count > 1:
            yield f"{count} members are named {name!r}; which one is meant?", name


def zip_size(members: list[zipfile.ZipInfo]) -> Iterator[Finding]:
    """Nothing unpacks to more than a model needs, so a ZIP bomb is never opened."""
    for member in members:
        if member.file_size > (DESCRIPTION_LIMIT if member.filename == DESCRIPTION else MEMBER_LIMIT):
            yield f"the member {member.filename!r} would unpack to {member.file_size} bytes", member.filename
    total = sum(member.file_size for member in members)
    if total > TOTAL_LIMIT:
        yield f"the archive would unpack to {total} bytes", None


def zip_method(members: list[zipfile.ZipInfo]) -> Iterator[Finding]:
    """Members are deflated or stored, not encrypted, and need no ZIP version above 2.0."""
    for member in members:
        name, stored = member.filename, member.compress_type == zipfile.ZIP_STORED
        if not stored and member.compress_type != zipfile.ZIP_DEFLATED:
            yield f"the member {name!r} is packed with method {member.compress_type}; use deflate (8)", name
        elif member.flag_bits & ENCRYPTED:
            yield f"the member {name!r} is encrypted", name
        elif member.extract_version > NEWEST_VERSION:
            yield f"the member {name!r} needs ZIP version {member.extract_version / 10:.1f}; 2.0 is the newest", name
        elif stored and member.flag_bits & DESCRIPTOR_FOLLOWS:
            yield f"the member {name!r} is stored with its size behind it (bit 3); deflate it", name


def zip_stored(members: list[zipfile.ZipInfo]) -> Iterator[Finding]:
    """The archive is compressed."""
    stored = sum(member.file_size for member in members if member.compress_type == zipfile.ZIP_STORED)
    if stored > STORED_LIMIT:
        yield f"{stored} bytes lie uncompressed in the archive; pack it with deflate", None


FILE = Rule("file", "2.3", "There is a file that can be read.", gate=True)
EXTENSION = Rule.of(extension, "2.3")
ZIP = Rule("zip", "2.3", "The file is a sound ZIP archive.", gate=True)
ZIP_PATH = Rule.of(zip_path, "2.3", gate=True)
ZIP_SIZE = Rule.of(zip_size, PRACTICE, gate=True)
ZIP_METHOD = Rule.of(zip_method, "2.3", gate=True)
ZIP_STORED = Rule.of(zip_stored, PRACTICE)
DESCRIPTION_MISSING = Rule("description-missing", "2.3", f"{DESCRIPTION} lies at the top of the archive.", gate=True)

RULES = (FILE, EXTENSION, ZIP_PATH, ZIP_SIZE, ZIP_METHOD, ZIP, ZIP_STORED, DESCRIPTION_MISSING)
