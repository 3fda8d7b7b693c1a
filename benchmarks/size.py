"""python -m benchmarks.size [MODEL ...]: what the export of each model of the library takes, from an empty cache.

A native FMU with the model's defaults is made in a process of its own, with this machine's compiler. The columns are
processor time, s: of deriving the equations, starting, writing C, compiling, and all of it with imports; peak memory of
the process or of a compiler, MB; size of the binary, MB; lines of C beside tangents and of tangents; and the functions
with most lines.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conditions import conditions
from benchmarks.table import markdown

COLUMNS = ("model", "derive", "start", "write", "compile", "all, s", "MB of memory", "MB", "lines", "of tangents")
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
"""The processes whose time and memory count: this one and its compilers."""
LARGEST = 3
"""Number of functions that are named."""
SECTION = re.compile(r"(_angles)?(_\d+)?$")
"""Ends of names of functions that are sections of another."""
KERNEL = ("step.c", "rest.c")
"""Names of the generated sources beside tangents."""
TANGENTS = "tangent.c"
"""Name of the generated source of tangents."""


@dataclass(frozen=True)
class Size:
    """What an export took.

    Args:
        times: processor time of the phases derive, start, write and compile, and of all, s.
        memory: peak memory of the process or of the largest compiler, MB.
        binary: size of the binary, MB.
        lines: lines of C beside tangents.
        of_tangents: those of tangents.
        largest: the functions with most lines, and their lines.
    """

    times: tuple[float, ...]
    memory: float
    binary: float
    lines: int
    of_tangents: int
    largest: tuple[tuple[str, int], ...]


def main() -> None:
    """Measure and print."""
    from mbfmu.model.library import known_models

    parser = argparse.ArgumentParser(prog="python -m benchmarks.size", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of the library; default: all")
    parser.add_argument("--no-derivatives", action="store_true", help="FMUs without directional derivatives")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(_exported(chosen.one, not chosen.no_derivatives)))
        return
    print(conditions())
    rows = []
    for name in chosen.models or sorted(known_models()):
        size = measured(name, chosen.no_derivatives)
        rows.append([name, *_cells(size)])
        print(*rows[-1], file=sys.stderr, flush=True)
    print("\n".join(markdown([*COLUMNS, "largest functions"], rows)))


def measured(model: str, without_derivatives: bool = False) -> Size:
    """Return what the export of a model takes, in a process of its own with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        options = ["--no-derivatives"] if without_derivatives else []
        command = [sys.executable, "-m", "benchmarks.size", "--one", model, *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return Size(**found)


def _cells(size: Size) -> list[str]:
    named = ", ".join(f"{name} {lines}" for name, lines in size.largest)
    times = [f"{value:.1f}" for value in size.times]
    return [*times, f"{size.memory:.0f}", f"{size.binary:.2f}", str(size.lines), str(size.of_tangents), named]


def _exported(model: str, derivatives: bool) -> dict[str, object]:
    """Return the fields of a `Size`, of an export in this process."""
    import mbfmu

    sys.modules["ziglang"] = None  # type: ignore[assignment]  # it takes longer, and is for other platforms
    begun: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.fmu"
        mbfmu.export(
            model,
            path,
            backend="native",
            progress=lambda phase, _: begun.append((phase.partition(" ")[0], _processor_time())),
            derivatives=derivatives,
        )
        total = _processor_time()
        with zipfile.ZipFile(path) as archive:
            content = {item.filename: archive.read(item) for item in archive.infolist()}
    # Time from the beginning of each phase to that of the next
    ends = [*(time for _, time in begun[1:]), total]
    phases = {phase: end - start for (phase, start), end in zip(begun, ends, strict=True)}
    sources = {name: content.get(f"sources/{name}", b"").decode() for name in (*KERNEL, TANGENTS)}
    functions = _by_function("\n".join(sources.values()))
    return {
        "times": [*(phases[name] for name in ("derive", "start", "write", "compile")), total],
        "memory": max(resource.getrusage(who).ru_maxrss for who in WHO) / 1024,
        "binary": sum(len(data) for name, data in content.items() if name.startswith("binaries/")) / 1e6,
        "lines": sum(sources[name].count("\n") for name in KERNEL),
        "of_tangents": sources[TANGENTS].count("\n"),
        "largest": functions.most_common(LARGEST),
    }


def _processor_time() -> float:
    used = [resource.getrusage(who) for who in WHO]
    return sum(item.ru_utime + item.ru_stime for item in used)


def _by_function(text: str) -> "Counter[str]":
    """Return the lines of each function of a C text, with its sections."""
    lines: Counter[str] = Counter()
    name = ""
    for line in text.splitlines():
        if line.endswith("{") and not line.startswith(" ") and "(" in line:
            name = SECTION.sub("", line.partition("(")[0].split()[-1])
        if name:
            lines[name] += 1
        if line == "}":
            name = ""
    return lines


if __name__ == "__main__":
    main()
