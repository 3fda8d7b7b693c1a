"""The report of a process in which a foreign FMU runs: JSON lines on what was its standard output."""

import json
import os
import sys
from collections.abc import Callable


def begin() -> Callable[..., None]:
    """Return the function that writes a line, each at once, for the next call of the FMU may be the last."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the FMU prints must not get between the lines

    def write(**line: object) -> None:
        print(json.dumps(line), file=stream, flush=True)

    for name in [name for name in sys.modules if name.partition(".")[0] == __name__.partition(".")[0]]:
        del sys.modules[name]  # they are none of the FMU's business
    return write
