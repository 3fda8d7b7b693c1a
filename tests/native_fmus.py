"""Native FMUs for tests, exported once each, and the C host that runs their sources."""

import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import pytest
from masters import NO_LOADER, Unpacked

import mbfmu

HOST, HOST3 = (Path(__file__).with_name(f"native_host{version}.c") for version in ("", 3))
"""The C hosts of FMI 2.0 and 3.0."""
HEADERS = tuple(Path(__file__).with_name(name) for name in ("native_host.h", "native_exchange.h"))
"""What they share."""
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
"""Flags of the address and undefined-behaviour sanitizers."""
SOURCES = ("core.c", "fmi2.c", "step.c", "rest.c", "tangent.c")


class Case(NamedTuple):
    """A model with a stepper."""

    model: str
    stepper: str
    options: tuple[tuple[str, Any], ...] = ()
    coordinates: str | None = None
    tolerance: float = 0.0

    def export(self, path: Path, **more: Any) -> Path:
        """Write it as an FMU."""
        return mbfmu.export(
            mbfmu.load(self.model), path, stepper=self.stepper, options=dict(self.options),
            coordinates=self.coordinates, tolerance=self.tolerance, **more,
        )  # fmt: skip


def label(case: Case) -> str:
    """Name a case in a test's id."""
    words = (case.model, case.stepper, *(value for _, value in case.options), case.coordinates or "")
    return "-".join(str(word) for word in words if word) + ("-tolerance" if case.tolerance else "")


@cache
def unpacked(case: Case, backend: str = "native", real_time: int | None = None) -> Unpacked:
    """Return a case as an FMU, unpacked; made once a session. Skip a test whose FMU does not run here."""
    if backend == "python" and NO_LOADER:
        pytest.skip(NO_LOADER)
    folder = Path(mkdtemp(prefix="mbfmu-native-"))
    return Unpacked(case.export(folder / "model.fmu", backend=backend, real_time=real_time), folder / "model")


def built_host(sources: Path, folder: Path, flags: Sequence[str], defines: Mapping[str, str] | None = None) -> Path:
    """Compile the C host of an FMU's version with its sources; a warning is an error."""
    program, host = folder / "host", HOST3 if (sources / "fmi3.c").exists() else HOST
    command = [
        "gcc", "-std=c99", "-Wall", "-Wextra", "-Wno-unused", "-Werror", *flags,
        *(f"-D{name}={value}" for name, value in (defines or {}).items()),
        f"-I{sources}", str(host), *map(str, sorted(sources.glob("*.c"))), "-lm", "-o", str(program),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program
