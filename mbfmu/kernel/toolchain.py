"""C sources -> a shared library in the user's cache: by this machine's compiler, or by zig, for any platform."""

import atexit
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import platformdirs

from mbfmu.errors import UsageError

LARGE, HUGE = 600_000, 1_500_000
"""Characters of a source file that decide its optimisation, as gcc's -O2 takes minutes on very long functions.

step.c:  -O2 below LARGE, else -O1
others:  -O2 below LARGE / 2, -O1 below HUGE, else -O0
"""
STANDARD = ("-std=c99", "-fvisibility=hidden")
"""Flags of every compiler."""
LEVEL = "MBFMU_OPTIMIZATION"
"""Environment variable that sets one level of optimisation, 0 to 3, for every file, whatever its size."""
TARGETS = {
    "linux64": (("x86_64-linux-gnu.2.17",), ".so"),
    "win64": (("x86_64-windows-gnu",), ".dll"),
    "darwin64": (("x86_64-macos.11.0", "aarch64-macos.11.0"), ".dylib"),
}
"""Zig's names of the processors of each FMI platform, and the suffix of the platform's libraries."""
ZIG = 'python -m pip install "mbfmu[cross]"'
"""Command that installs zig, a C compiler for every platform."""
REMEDIES = {
    "linux": "install gcc, such as by `apt install gcc libc6-dev` or `dnf install gcc`, or zig",
    "darwin": "install the command line tools by `xcode-select --install`, or zig",
    "win32": "install zig",
}
"""Advice on how to get a C compiler, by `sys.platform`; `ZIG` follows."""
PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}
"""Zig's names of processors whose name in `platform.machine()` differs."""
ROUNDED = "-ffp-contract=off"
"""Flag that keeps compilers from computing a * b + c with a single rounding, which not every processor does."""
HERE = {"linux": "linux64", "darwin": "darwin64", "win32": "win64"}
"""FMI platform of this machine, by `sys.platform`."""


class BuildError(Exception):
    """The complaint of a compiler, in one line."""


@dataclass(frozen=True)
class Toolchain:
    """A compiler for one platform.

    Args:
        command: the command that runs it.
        version: the version that it prints.
        suffix: suffix of a shared library.
        compiling: flags for compiling, besides the optimisation.
        linking: flags for linking.
        optimisation: flag for every file; empty where the size of each decides.
    """

    command: tuple[str, ...]
    version: str
    suffix: str
    compiling: tuple[str, ...]
    linking: tuple[str, ...]
    optimisation: str


def host() -> Toolchain | None:
    """Return the compiler for this machine: that of $CC alone if it is set, else cc, gcc, clang or zig; None without.

    On Windows $CC and the three are left out.

    Raises:
        UsageError: the environment variable `LEVEL` holds no level of optimisation.
    """
    here = HERE.get(sys.platform, "linux64")
    suffix = TARGETS[here][1]
    if sys.platform != "win32":
        named = os.environ.get("CC")
        candidates = [named] if named else ["cc", "gcc", "clang"]
        path = next((path for name in candidates if (path := shutil.which(name))), None)
        if path is not None:
            return Toolchain((path,), _version(path), suffix, ("-fPIC", ROUNDED), ("-lm",), _level())
        if named:
            return None
    if not _has_zig():
        return None
    machine = platform.machine().lower()
    return _zig(here, TARGETS[here][0][0].replace("x86_64", PROCESSORS.get(machine, machine)))


def remedy() -> str:
    """Return how to get a C compiler."""
    return f"{REMEDIES.get(sys.platform, 'install gcc, clang or zig')}: {ZIG}"


def cross(name: str) -> tuple[Toolchain, ...]:
    """Return zig as a compiler for each processor of an FMI platform; empty unless the package ziglang is installed.

    Raises:
        UsageError: the environment variable `LEVEL` holds no level of optimisation.
    """
    return tuple(_zig(name, target) for target in TARGETS[name][0]) if _has_zig() else ()


def _has_zig() -> bool:
    return importlib.util.find_spec("ziglang") is not None


def _zig(name: str, target: str) -> Toolchain:
    """Return zig as a compiler for an FMI platform and one of zig's targets."""
    position = () if name == "win64" else ("-fPIC",)
    return Toolchain(
        (sys.executable, "-m", "ziglang", "cc", "-target", target),
        f"ziglang {version('ziglang')}",
        TARGETS[name][1],
        ("-g0", "-fno-sanitize=undefined", ROUNDED, *position),
        ("-s",) if name == "win64" else ("-lm", "-s"),
        _level(),
    )


def _level() -> str:
    """Return the flag of the level of optimisation that the environment asks for; empty without."""
    level = os.environ.get(LEVEL, "")
    if level not in {"", "0", "1", "2", "3"}:
        raise UsageError(f"{LEVEL} is '{level}', which is no level of optimisation: set it to 0, 1, 2 or 3")
    return level and f"-O{level}"


def cache_folder() -> Path:
    """Return the user's folder for files that can be made again."""
    return Path(platformdirs.user_cache_dir("mbfmu", appauthor=False))


def is_here(name: str) -> bool:
    """Return whether libraries for an FMI platform run on this machine."""
    return HERE.get(sys.platform) == name and platform.machine().lower() in {"x86_64", "amd64"}


def built(sources: Mapping[str, str], toolchain: Toolchain, name: str) -> Path:
    """Return the path of the shared library of the sources, made now or found in the user's cache.

    Its name in the cache is a hash of the sources, the compiler's version and the flags. If the cache cannot be
    written, the library lasts as long as this process.

    Args:
        sources: texts by file name; files in .h are included, the others are compiled in parallel.
        toolchain: the compiler.
        name: name of the library, which some platforms write into it.

    Raises:
        BuildError: the compiler reports an error.
    """
    flags = {
        file: (*STANDARD, *toolchain.compiling, toolchain.optimisation or _by_size(file, len(text)))
        for file, text in sources.items()
        if file.endswith(".c")
    }
    told = [
        *toolchain.command,
        toolchain.version,
        *toolchain.linking,
        *(flag for each in flags.values() for flag in each),
    ]
    key = hashlib.sha256("\n".join([name, *sources, *sources.values(), *told]).encode()).hexdigest()[:32]
    library = cache_folder() / "kernels" / f"{key}{toolchain.suffix}"
    if os.path.exists(library):
        return library
    lasting = cache_folder() if _writable(library.parent) else _passing_folder()
    folder = lasting / "kernels"
    folder.mkdir(exist_ok=True)
    library = folder / library.name
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for file, text in sources.items():
            (Path(scratch) / file).write_text(text, encoding="utf-8")
        made = f"{name}{toolchain.suffix}"
        compiling = [[*toolchain.command, *flags[file], "-c", file, "-o", f"{file}.o"] for file in flags]
        linking = [*toolchain.command, "-shared", "-o", made, *(f"{file}.o" for file in flags), *toolchain.linking]
        environment = {
            **os.environ,
            "ZIG_LOCAL_CACHE_DIR": str(Path(scratch) / "zig"),
            "ZIG_GLOBAL_CACHE_DIR": os.environ.get("ZIG_GLOBAL_CACHE_DIR", str(lasting / "zig")),
        }
        for commands in (compiling, [linking]):
            _run_together(commands, scratch, environment)
        if toolchain.suffix == ".dll":
            _forget_time(Path(scratch) / made)
        os.replace(Path(scratch) / made, library)
    return library


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


@cache
def _passing_folder() -> Path:
    """Return a folder for files that cannot be kept; it is deleted when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="mbfmu-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _forget_time(dll: Path) -> None:
    """Set the link time of a DLL, in its PE header, to zero."""
    content = bytearray(dll.read_bytes())
    time = int.from_bytes(content[0x3C:0x40], "little") + 8
    content[time : time + 4] = bytes(4)
    dll.write_bytes(content)


def _by_size(name: str, size: int) -> str:
    """Return the optimisation of a source file by its name and its characters."""
    hot = name == "step.c"
    if size < (LARGE if hot else LARGE // 2):
        return "-O2"
    return "-O1" if hot or size < HUGE else "-O0"


def _run_together(commands: list[list[str]], folder: str, environment: Mapping[str, str]) -> None:
    """Run commands in parallel."""
    running = [
        subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for command in commands
    ]
    complaints = [process.communicate()[1] for process in running]
    for process, complaint in zip(running, complaints, strict=True):
        if process.returncode:
            raise BuildError(next(iter(complaint.splitlines()), f"exit status {process.returncode}"))


@cache
def _version(compiler: str) -> str:
    run = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return run.stdout
