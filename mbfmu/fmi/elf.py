"""Versions of the system's libraries that the library of an FMU needs on Linux, read from its ELF file."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

NEEDED_VERSIONS = 0x6FFFFFFE
"""Type of the section with the needed versions (SHT_GNU_verneed, Linux Standard Base, 10.7)."""
INTERFACES = ("GLIBC", "GLIBCXX")
"""Prefixes of the versions that are reported: of the C library and of libstdc++."""
MOST = 1000
"""Largest number of entries that are read of a list."""


class SectionLayout(NamedTuple):
    """Offsets and formats of the list of sections in a file of 32 or 64 bits.

    Args:
        first_at: offset of that of the first section (e_shoff).
        offset: format of an offset.
        sizes_at: offset of the size of an entry and of their number (e_shentsize, e_shnum).
        header: format of the begin of an entry, up to sh_link.
    """

    first_at: int
    offset: str
    sizes_at: int
    header: str


FORMS = {
    b"\x7fELF\x01\x01": SectionLayout(0x20, "<I", 0x2E, "<IIIIIII"),
    b"\x7fELF\x02\x01": SectionLayout(0x28, "<Q", 0x3A, "<IIQQQQI"),
}
"""Forms by the first bytes of a file (System V ABI, 4)."""


def needed_versions(library: bytes) -> tuple[str, ...]:
    """Return the newest versions of the C library and of libstdc++ that a library needs, such as GLIBC_2.32.

    Args:
        library: content of the file; of other than ELF files of lowest bytes first, or damaged ones, nothing is known.
    """
    try:
        names = list(_names(library))
    except (struct.error, ValueError, OverflowError):
        return ()
    newest: dict[str, tuple[int, ...]] = {}
    for name in names:
        interface, _, version = name.partition("_")
        if interface in INTERFACES and version.replace(".", "").isdecimal():
            parts = tuple(int(part) for part in version.split("."))
            newest[interface] = max(newest.get(interface, ()), parts)
    return tuple(f"{name}_{'.'.join(map(str, newest[name]))}" for name in INTERFACES if name in newest)


def _names(library: bytes) -> Iterator[str]:
    """Yield the names of the versions that a library needs."""
    form = FORMS.get(library[:6])
    if form is None:
        return
    (first,) = struct.unpack_from(form.offset, library, form.first_at)
    size, count = struct.unpack_from("<HH", library, form.sizes_at)
    headers = [struct.unpack_from(form.header, library, first + k * size) for k in range(min(count, MOST))]
    for _, kind, _, _, offset, _, link in headers:
        if kind != NEEDED_VERSIONS or link >= len(headers):
            continue
        texts = headers[link][4]
        for needed in _chain(library, offset, 12):
            (start,) = struct.unpack_from("<I", library, needed + 8)
            for version in _chain(library, needed + start, 12):
                (text,) = struct.unpack_from("<I", library, version + 8)
                begin = texts + text
                yield library[begin : library.index(b"\0", begin)].decode("ascii", "replace")


def _chain(library: bytes, offset: int, next_at: int) -> Iterator[int]:
    """Yield the offsets of the entries of a list, each of which has the distance of the next."""
    for _ in range(MOST):
        yield offset
        (distance,) = struct.unpack_from("<I", library, offset + next_at)
        if not distance:
            return
        offset += distance
