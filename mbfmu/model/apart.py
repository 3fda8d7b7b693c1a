"""Programs of others that read model files, in processes with limits: they may recurse, grow or run without end."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mbfmu.errors import ModelFileError
from mbfmu.fmi.supervise import supervise
from mbfmu.model.source import SourceText

LONGEST = 30.0
"""Longest time that such a program may take, s."""
LARGEST = 2_000_000_000
"""Largest memory that such a program may take, bytes."""
PIECE = 1_000_000
"""Largest number of characters of a line of its report."""


def run_apart(module: str, job: Mapping[str, Any], source: SourceText, program: str) -> dict[str, Any]:
    """Return what a module reports on a file that it reads in a process of its own.

    Args:
        module: full name of a module with a function `run` of the path of its job, which calls `limit_memory` first,
            and `write_result` with the function that writes a line of a report.
        job: what it must know, as JSON data.
        source: the file, for messages.
        program: name of the program that the module runs, for messages.

    Raises:
        ModelFileError: the program takes too long or too much memory, or ends the process.
    """
    pieces: list[str] = []
    try:
        with TemporaryDirectory(prefix="mbfmu_", ignore_cleanup_errors=True) as folder:
            ending = supervise(module, job, Path(folder), LONGEST, lambda line: pieces.append(line["piece"]))
    except OSError as error:
        raise ModelFileError(f"cannot run {program}: {error.strerror or error}") from None
    if pieces and ending.code == 0:
        result: dict[str, Any] = json.loads("".join(pieces))
        return result
    if ending.silent:
        reason = f"takes more than {LONGEST:g} s"
    elif "MemoryError" in ending.written or "memory allocation" in ending.written:
        reason = f"takes more than {LARGEST / 1e9:g} GB of memory"
    else:
        last = " ".join(ending.written.strip().splitlines()[-1:])
        reason = (
            f"fails, as it does for texts that are nested too deeply (exit status {ending.code}{last and ': '}{last})"
        )
    raise source.error(1, f"{program} {reason}: make the file simpler")


def write_result(write: Callable[..., None], result: Mapping[str, Any]) -> None:
    """Write what `run_apart` returns, in lines of a report.

    Args:
        write: writes a line.
        result: the result.
    """
    text = json.dumps(result)
    for begin in range(0, len(text), PIECE):
        write(piece=text[begin : begin + PIECE])


def limit_memory() -> None:
    """Set a limit to the memory of this process, where the system can do so."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (LARGEST, LARGEST))
