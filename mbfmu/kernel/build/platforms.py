"""The platforms that zig compiles libraries for, and which of them this machine is."""

import platform
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """A system with its processors.

    Args:
        targets: zig's names of the processors with the oldest system that the code runs on.
        suffix: suffix of a library.
        compiling: flags for compiling.
        linking: flags for linking objects to a library.
    """

    targets: tuple[str, ...]
    suffix: str
    compiling: tuple[str, ...] = ("-fPIC",)
    linking: tuple[str, ...] = ("-shared", "-lm", "-s")


MODULE = (
    "-fno-stack-protector",
    "-mexec-model=reactor",
    "-Wl,--export-dynamic,--export=calloc,--export=free,--export-table,--growable-table",
    "-Wl,-z,stack-size=1048576",
    "-lm",
    "-s",
)
"""Flags for linking a WebAssembly module: a library without `main`, whose functions, memory and table of functions its
host uses; the host allocates what it passes."""

SSE2 = ("-msse2", "-mfpmath=sse")
"""Flags for 32-bit x86, whose older unit for floating point rounds twice."""
PLATFORMS = {
    "x86_64-linux": Platform(("x86_64-linux-gnu.2.17",), ".so"),
    "aarch64-linux": Platform(("aarch64-linux-gnu.2.17",), ".so"),
    "armv7-linux": Platform(("arm-linux-gnueabihf.2.17",), ".so"),
    "riscv64-linux": Platform(("riscv64-linux-gnu.2.27",), ".so"),
    "x86-linux": Platform(("x86-linux-gnu.2.17",), ".so", ("-fPIC", *SSE2)),
    "x86_64-windows": Platform(("x86_64-windows-gnu",), ".dll", (), ("-shared", "-s")),
    "x86-windows": Platform(("x86-windows-gnu",), ".dll", SSE2, ("-shared", "-s")),
    "darwin": Platform(("x86_64-macos.11.0", "aarch64-macos.11.0"), ".dylib"),
    "wasm32": Platform(("wasm32-wasi",), ".wasm", ("-fno-stack-protector",), MODULE),
}
"""Platforms by name."""
SUFFIXES = {"win32": ".dll", "darwin": ".dylib"}
"""Suffix of libraries by `sys.platform`; elsewhere it is .so."""
_SYSTEMS = {"linux": "linux", "win32": "windows"}
"""Names of systems in those of platforms, by `sys.platform`."""
_PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64", "armv8l": "armv7", "armv7l": "armv7", "i686": "x86"}
"""Names of processors in those of platforms, where `platform.machine()` has others."""


def processor() -> str:
    """Return the name of this machine's processor, such as x86_64."""
    machine = platform.machine().lower()
    return _PROCESSORS.get(machine, machine)


def platform_here() -> str:
    """Return the name of this machine's platform, which `PLATFORMS` may lack."""
    return "darwin" if sys.platform == "darwin" else f"{processor()}-{_SYSTEMS.get(sys.platform, sys.platform)}"


def is_here(name: str) -> bool:
    """Return whether libraries for a platform run on this machine."""
    return platform_here() == name
