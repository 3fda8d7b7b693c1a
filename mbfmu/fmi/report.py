"""The report of a process in which a foreign FMU runs: JSON lines on what was its standard output.

Each line begins with a token that the parent has written to the input, because an FMU may write to any descriptor.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable


def begin() -> Callable[..., None]:
    """Return the function that writes a line, each at once, for the next call of the FMU may be the last.

    The process ends with its parent, whatever ends that and whatever the FMU does: its input is a pipe from there.
    """
    token = b""
    while not token.endswith(b"\n") and (byte := os.read(0, 1)):
        token += byte
    threading.Thread(target=_end_with_parent, args=(os.dup(0),), daemon=True).start()
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the FMU prints must not get between the lines

    def write(**line: object) -> None:
        # the first line break ends what the FMU may have written to the descriptor
        print(f"\n{token.decode().strip()}{json.dumps(line)}", file=stream, flush=True)

    for name in [name for name in sys.modules if name.partition(".")[0] == __name__.partition(".")[0]]:
        del sys.modules[name]  # they are none of the FMU's business
    return write


def _end_with_parent(pipe: int) -> None:
    """Wait for the end of the parent, and end this process and those that the FMU started."""
    os.read(pipe, 1)
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
