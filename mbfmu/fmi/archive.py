"""The FMU as a ZIP file: everything that must hold before a byte of it is trusted."""

import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path

from mbfmu.errors import FmuError
from mbfmu.fmi.fault import Fault, one_line

MEMBER_LIMIT = 2**29
"""Largest number of bytes that one member may unpack to."""
DESCRIPTION_LIMIT = 2**26
"""Largest number of bytes that modelDescription.xml may unpack to; its tree takes many times as much."""
TOTAL_LIMIT = 2**30
"""Largest number of bytes that the file may have, and that all members together may unpack to."""
COUNT_LIMIT = 50_000
"""Largest number of members of the archive."""
MARK_LIMIT = 2**20
"""Largest number of tags and value references in modelDescription.xml: a quarter of a million variables of FMI 2.0, or
half a million of FMI 3.0, which take about a gigabyte of memory."""
NEWEST_VERSION = 20
"""Newest version of the ZIP format that may be needed to extract, times ten."""
DESCRIPTOR_FOLLOWS, ENCRYPTED = 8, 1
"""Bits of the general purpose flag of a member of a ZIP file."""

DAMAGES = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError)
"""Exceptions by which zipfile reports a member that is damaged, encrypted or packed by an unknown method."""

DESCRIPTION = "modelDescription.xml"
HEADER = b"PK\1\2"
"""Bytes that each entry of the archive's directory begins with."""

FILE, ZIP_PATH, ZIP_SIZE, ZIP_METHOD, ZIP, MISSING = (
    "file", "zip-path", "zip-size", "zip-method", "zip", "description-missing",
)  # fmt: skip
"""Kinds of faults of an archive."""


@dataclass(frozen=True)
class Archive:
    """A sound ZIP file: its bytes and the names in it (folders end with a slash)."""

    data: bytes
    names: frozenset[str]

    def read(self, name: str, most: int = -1) -> bytes:
        """Return one member, unpacked, or its first bytes.

        Raises:
            FmuError: it is damaged.
        """
        try:
            with zipfile.ZipFile(BytesIO(self.data)) as file, file.open(name) as member:
                return member.read(most)
        except DAMAGES as error:
            raise FmuError(one_line(f"'{name}' cannot be unpacked ({error}); export the FMU again")) from None

    def unpack(self, folder: Path) -> None:
        """Write all members, unpacked, to a folder.

        Raises:
            FmuError: a member is damaged, or cannot be written.
        """
        try:
            with zipfile.ZipFile(BytesIO(self.data)) as file:
                file.extractall(folder)
        except OSError as error:
            raise FmuError(one_line(f"it cannot be unpacked: {error.strerror or error}")) from None
        except DAMAGES as error:
            raise FmuError(one_line(f"it cannot be unpacked ({error}); export the FMU again")) from None


@dataclass(frozen=True)
class Inspection:
    """The state of a file that should be an FMU.

    Args:
        tried: kinds of faults that were looked for.
        faults: those that were found.
        members: entries of the directory; none if it was not read.
        archive: the file if it is sound and has a description.
    """

    tried: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    members: tuple[zipfile.ZipInfo, ...] = ()
    archive: Archive | None = None


def read_archive(path: str | PathLike[str], content: bytes | None = None) -> Archive:
    """Return the archive of an FMU, which is safe to unpack.

    How its members are packed does not matter here, and damage is found where a member is unpacked.

    Args:
        path: path of the file.
        content: its bytes if they are known.

    Raises:
        FmuError: there is no file, or it is unsafe or useless to continue.
    """
    inspection = inspect(path, content, safety=True)
    if inspection.tried == (FILE,) and content is None and not Path(path).is_file():
        raise FmuError(f"there is no FMU '{fspath(path)}'")
    if inspection.archive is None:
        raise FmuError(f"'{fspath(path)}' is not a usable FMU: {inspection.faults[0]}")
    return inspection.archive


def inspect(path: str | PathLike[str], content: bytes | None = None, *, safety: bool = False) -> Inspection:
    """Return what stands at a path, up to the first kinds of faults that make it unsafe or useless to continue.

    Args:
        path: path of the file.
        content: its bytes if they are known.
        safety: whether to look only for what makes it unsafe to unpack.
    """
    # 1. The file, and whether its size lets it be read at all
    try:
        if content is None:
            file = Path(path)
            if not file.is_file():
                return _broken((FILE,), FILE, f"there is no file '{path}'")
            if file.stat().st_size > TOTAL_LIMIT:
                return _broken((ZIP_SIZE,), ZIP_SIZE, f"the file is larger than {TOTAL_LIMIT} bytes")
            content = file.read_bytes()
    except (OSError, ValueError) as error:
        return _broken((FILE,), FILE, f"the file cannot be read: {error}")
    if content.count(HEADER) > COUNT_LIMIT:
        return _broken((FILE, ZIP_SIZE), ZIP_SIZE, f"the archive has more than {COUNT_LIMIT} members")

    # 2. The directory, before anything is unpacked, then the checksums
    tried: tuple[str, ...] = (FILE,)
    members: tuple[zipfile.ZipInfo, ...] = ()
    damaged = None
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive_file:
            members = tuple(archive_file.infolist())
            tried = (FILE, ZIP_PATH, ZIP_SIZE, ZIP_METHOD)
            methods = () if safety else tuple(_of_methods(members))
            if faults := (*_of_paths(members), *_of_sizes(members), *methods):
                return Inspection(tried, faults, members)
            if not safety:
                damaged = archive_file.testzip()
    except Exception as error:  # noqa: BLE001 - zipfile answers damage with a dozen kinds of exception
        return _broken((*tried, ZIP), ZIP, f"not a sound ZIP file ({error}); export the FMU again")
    if damaged is not None:
        return _broken((*tried, ZIP), ZIP, f"the member '{damaged}' is damaged; export the FMU again", damaged)

    # 3. The description, before it becomes a tree
    archive = Archive(content, frozenset(member.filename for member in members))
    if DESCRIPTION not in archive.names:
        missing = Fault(MISSING, f"there is no {DESCRIPTION} at the top of the archive")
        return Inspection((*tried, ZIP, MISSING), (missing,), members)
    try:
        text = archive.read(DESCRIPTION)
        marks = text.count(b"<") + text.count(b"valueReference=")
    except FmuError as error:
        return _broken((*tried, ZIP), ZIP, str(error), DESCRIPTION)
    if marks > MARK_LIMIT:
        excess = f"{DESCRIPTION} has {marks} tags and value references, more than {MARK_LIMIT}: export fewer variables"
        return Inspection(tried, (Fault(ZIP_SIZE, excess, DESCRIPTION),), members)
    return Inspection((*tried, ZIP, MISSING), (), members, archive)


def _broken(tried: tuple[str, ...], kind: str, text: str, where: str | None = None) -> Inspection:
    """Return the end of an inspection at one fault."""
    return Inspection(tried, (Fault(kind, text, where),))


def _of_paths(members: tuple[zipfile.ZipInfo, ...]) -> Iterator[Fault]:
    """Yield members that do not unpack to one path of their own inside the folder."""
    for member in members:
        name = member.orig_filename
        if name.startswith("/") or ".." in name.split("/") or set(name) & set("\\:\0"):
            yield Fault(ZIP_PATH, f"the member {name!r} must have a relative path with '/' and no '..'", name)
        elif stat.S_ISLNK(member.external_attr >> 16):
            yield Fault(ZIP_PATH, f"the member {name!r} is a symbolic link; pack the file itself", name)
    contents = {(member.filename, member.file_size, member.CRC) for member in members}
    for name, count in Counter(name for name, _, _ in contents).items():
        if count > 1:
            yield Fault(ZIP_PATH, f"{count} members are named {name!r}; which one is meant?", name)


def _of_sizes(members: tuple[zipfile.ZipInfo, ...]) -> Iterator[Fault]:
    """Yield members that unpack to more than a model needs, so that a ZIP bomb is never opened."""
    for member in members:
        name = member.filename
        if member.file_size > (DESCRIPTION_LIMIT if name == DESCRIPTION else MEMBER_LIMIT):
            yield Fault(ZIP_SIZE, f"the member {name!r} would unpack to {member.file_size} bytes", name)
    total = sum(member.file_size for member in members)
    if total > TOTAL_LIMIT:
        yield Fault(ZIP_SIZE, f"the archive would unpack to {total} bytes")


def _of_methods(members: tuple[zipfile.ZipInfo, ...]) -> Iterator[Fault]:
    """Yield members that are neither deflated nor stored, encrypted, or of a newer version of ZIP."""
    for member in members:
        name, stored = member.filename, member.compress_type == zipfile.ZIP_STORED
        text = ""
        if not stored and member.compress_type != zipfile.ZIP_DEFLATED:
            text = f"is packed with method {member.compress_type}; use deflate (8)"
        elif member.flag_bits & ENCRYPTED:
            text = "is encrypted"
        elif member.extract_version > NEWEST_VERSION:
            text = f"needs ZIP version {member.extract_version / 10:.1f}; 2.0 is the newest"
        elif stored and member.flag_bits & DESCRIPTOR_FOLLOWS:
            text = "is stored with its size behind it (bit 3); deflate it"
        if text:
            yield Fault(ZIP_METHOD, f"the member {name!r} {text}", name)
