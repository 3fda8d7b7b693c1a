"""Writing files whole or not at all."""

import contextlib
import os
from pathlib import Path

from mbfmu.errors import MbfmuError


def write_aside(path: Path, content: bytes) -> Path:
    """Write a file under another name and rename it when it is complete; its folder is made if needed.

    Raises:
        MbfmuError: the file cannot be written; nothing is left behind.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(content)
        os.replace(aside, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise MbfmuError(f"cannot write '{path}': {error.strerror or error}") from None
    return path
