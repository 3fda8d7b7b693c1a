"""The FMU as a ZIP file: everything that must hold before a byte of it is trusted."""

import stat
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path

from mbfmu.fmu.check.problem import Problem

MEMBER_LIMIT = 2**29
"""Bytes one member may unpack to."""
DESCRIPTION_LIMIT = 2**26
"""Bytes modelDescription.xml may unpack to; its tree takes many times as much."""
TOTAL_LIMIT = 2**30
"""Bytes the file may have, and all members together may unpack to."""
STORED_LIMIT = 2**16
"""Bytes that may lie uncompressed in the archive."""

DESCRIPTION = "modelDescription.xml"


@dataclass(frozen=True)
class Archive:
    """A sound ZIP file: its bytes and the names in it (folders end with a slash)."""

    data: bytes
    names: frozenset[str]

    def read(self, name: str) -> bytes:
        """Return one member, unpacked."""
        with zipfile.ZipFile(BytesIO(self.data)) as file:
            return file.read(name)


def read_archive(path: str | PathLike[str]) -> tuple[Archive | None, list[Problem]]:
    """Read an FMU's archive; None if the problems make it unsafe or useless to go on."""
    try:
        file = Path(path)
        if not file.is_file():
            return None, [Problem("file", f"there is no file '{path}'")]
        if file.stat().st_size > TOTAL_LIMIT:
            return None, [Problem("zip-size", f"the file is larger than {TOTAL_LIMIT} bytes")]
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        return None, [Problem("file", f"the file cannot be read: {error}")]

    try:
        with zipfile.ZipFile(BytesIO(data)) as content:
            members = content.infolist()
            problems = [*_names(members), *_sizes(members)]
            if problems:
                return None, problems
            damaged = content.testzip()
    except Exception as error:  # noqa: BLE001 - zipfile answers damage with a dozen kinds of exception
        return None, [Problem("zip", f"not a sound ZIP file ({error}); export the FMU again")]

    names = frozenset(member.filename for member in members)
    if damaged is not None:
        return None, [Problem("zip", f"the member '{damaged}' is damaged; export the FMU again")]
    if DESCRIPTION not in names:
        return None, [Problem("description-missing", f"there is no {DESCRIPTION} at the top of the archive")]
    return Archive(data, names), list(_stored(members))


def _names(members: list[zipfile.ZipInfo]) -> Iterator[Problem]:
    """Every member unpacks to one place of its own inside the folder (FMI 2.0.4, 2.3)."""
    for member in members:
        name = member.orig_filename
        if name.startswith("/") or ".." in name.split("/") or set(name) & set("\\:\0"):
            yield Problem("zip-path", f"the member {name!r} must have a relative path with '/' and no '..'")
        elif stat.S_ISLNK(member.external_attr >> 16):
            yield Problem("zip-path", f"the member {name!r} is a symbolic link; pack the file itself")
    for name, count in Counter(member.filename for member in members).items():
        if count > 1:
            yield Problem("zip-path", f"{count} members are named {name!r}; which one is meant?")


def _sizes(members: list[zipfile.ZipInfo]) -> Iterator[Problem]:
    """Nothing unpacks to more than a model needs, so a ZIP bomb is never opened."""
    for member in members:
        if member.file_size > (DESCRIPTION_LIMIT if member.filename == DESCRIPTION else MEMBER_LIMIT):
            yield Problem("zip-size", f"the member {member.filename!r} would unpack to {member.file_size} bytes")
    total = sum(member.file_size for member in members)
    if total > TOTAL_LIMIT:
        yield Problem("zip-size", f"the archive would unpack to {total} bytes")


def _stored(members: list[zipfile.ZipInfo]) -> Iterator[Problem]:
    """The archive is compressed."""
    stored = sum(member.file_size for member in members if member.compress_type == zipfile.ZIP_STORED)
    if stored > STORED_LIMIT:
        yield Problem("zip-stored", f"{stored} bytes lie uncompressed in the archive; pack it with deflate")
