"""Mach-O libraries for several processors -> one universal library, from which a Mac loads the part it can run."""

import struct
from collections.abc import Sequence

ALIGNMENT = 14
"""Alignment of each part, as a power of two: the page size of Apple's own processors."""


def universal(libraries: Sequence[bytes]) -> bytes:
    """Return the libraries as one, after a header with processor, kind, offset, size and alignment of each."""
    page = 1 << ALIGNMENT
    offset, rows, content = page, b"", b""
    for library in libraries:
        processor, kind = struct.unpack("<2I", library[4:12])
        padded = library + bytes(-len(library) % page)
        rows += struct.pack(">5I", processor, kind, offset, len(library), ALIGNMENT)
        content += padded
        offset += len(padded)
    head = struct.pack(">2I", 0xCAFEBABE, len(libraries)) + rows
    return head + bytes(page - len(head)) + content
