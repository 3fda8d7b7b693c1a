"""The user's cache: files that can be made again, each verified by a hash of its content before it is used.

Beside each file lies its seal, a hash of its name and content. A file without its seal, or with another content, counts
as not there, so that it is made again. Both are written aside and renamed: processes that write at once do not disturb
each other, and a file that is removed or replaced stays whole where it is open or loaded.

Files that another program writes into the cache are listed after it ran, and held to the list before it runs again.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from mbfmu.base.files import write_aside
from mbfmu.errors import UsageError

KINDS = {
    "kernels": "compiled libraries, by their source",
    "starts": "what a run needs of a model, by all that decides it",
    "zig": "the C libraries of platforms, compiled by zig",
}
"""Folders of the cache, with what they hold."""
SEALED = ("kernels", "starts")
"""Folders of the cache whose files are verified by hashes, and limited in their size together."""
LIMIT = "MBFMU_CACHE_LIMIT"
"""Environment variable with the largest size of the sealed folders, in MB."""
USUAL_LIMIT = 1000.0
"""Largest size of the sealed folders unless the environment sets it, in MB: some 5000 models of ordinary size."""
GRACE = 60.0
"""Time for which a file stays after its last use, s: a process may have verified it and be about to load it."""
SEAL = ".sha256"
"""Ending of the name of the file that holds the hash of another file in the cache."""
LIST = "files.sha256"
"""Name of the list of the files in a folder that another program fills: a hash of the rest, then a line for each."""


@dataclass(frozen=True)
class Usage:
    """The files of a folder of the cache.

    Args:
        kind: name of the folder, of `KINDS`.
        holds: what is in it.
        files: number of files, without seals.
        size: bytes of all files.
    """

    kind: str
    holds: str
    files: int
    size: int


def cache_folder() -> Path:
    """Return the folder of the user's cache, which can be deleted at any time."""
    return Path(platformdirs.user_cache_dir("mbfmu", appauthor=False))


def passing_folder() -> Path:
    """Return a folder for files that cannot be kept; it is deleted when this process ends.

    Raises:
        OSError: it cannot be made.
    """
    return _passing_folder(os.getpid())


@cache
def _passing_folder(owner: int) -> Path:
    """Return the folder of a process; one that is forked from it has its own, and leaves this one."""
    folder = Path(tempfile.mkdtemp(prefix="mbfmu-"))

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def verified(path: Path) -> bytes | None:
    """Return the content of a file that `keep` wrote; None if it is not there or damaged. It counts as used now."""
    try:
        content = path.read_bytes()
        if _seal(path).read_bytes() != _sealed(path, content):
            return None
    except OSError:
        return None
    with suppress(OSError):
        os.utime(path)
    return content


def keep(path: Path, content: bytes) -> None:
    """Write a file with its seal; if it lies in the user's cache, remove what was not used for longest above the limit.

    Raises:
        MbfmuError: the file cannot be written.
        UsageError: the environment sets a limit that is no size.
    """
    largest = limit()
    write_aside(path, content)
    write_aside(_seal(path), _sealed(path, content))
    if path.is_relative_to(cache_folder()):
        _trim(largest)


def check_folder(folder: Path) -> None:
    """Remove a folder that another program fills, if a file that `list_folder` listed has changed or is gone."""
    try:
        seal, _, text = (folder / LIST).read_text(encoding="utf-8").partition("\n")
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        seal, text = "", "damaged"
    lines = (line.partition(" ") for line in text.splitlines())
    if seal != _hash(text.encode()) or any(_hash_of(folder / path) != listed for listed, _, path in lines):
        shutil.rmtree(folder, ignore_errors=True)


def list_folder(folder: Path, parts: Iterable[str]) -> None:
    """List the files in some sub-folders with hashes of their contents; those listed before keep their hashes.

    Raises:
        MbfmuError: the list cannot be written.
    """
    listed = {}
    with suppress(OSError, ValueError):
        before = (folder / LIST).read_text(encoding="utf-8").partition("\n")[2]
        listed = {path: digest for digest, _, path in (line.partition(" ") for line in before.splitlines())}
    paths = (Path(path) for part in parts for path, _ in _files(folder / part))
    names = [path.relative_to(folder).as_posix() for path in paths]
    if new := set(names) - set(listed):
        listed.update({name: digest for name in new if (digest := _hash_of(folder / name))})
        text = "".join(f"{digest} {name}\n" for name, digest in sorted(listed.items()))
        write_aside(folder / LIST, f"{_hash(text.encode())}\n{text}".encode())


def limit() -> float:
    """Return the largest size of the sealed folders, in bytes.

    Raises:
        UsageError: the environment sets a limit that is no size.
    """
    text = os.environ.get(LIMIT, "")
    try:
        size = float(text) if text else USUAL_LIMIT
    except ValueError:
        size = -1.0
    if not size >= 0:
        raise UsageError(f"{LIMIT} is '{text}', which is not a size: set it to a number of MB, such as 500")
    return size * 1e6


def usage() -> list[Usage]:
    """Return how much is in each folder of the cache."""
    usages = []
    for kind, holds in KINDS.items():
        files = list(_files(cache_folder() / kind))
        count = sum(not path.endswith(SEAL) for path, _ in files)
        usages.append(Usage(kind, holds, count, sum(status.st_size for _, status in files)))
    return usages


def clear() -> None:
    """Remove all files of the cache; on Windows those that a process has loaded stay."""
    for kind in KINDS:
        shutil.rmtree(cache_folder() / kind, ignore_errors=True)


def _trim(largest: float) -> None:
    """Remove files and their seals from the user's cache until its sealed folders have at most a size, in bytes."""
    entries: dict[str, tuple[float, int]] = {}
    for kind in SEALED:
        for path, status in _files(cache_folder() / kind):
            used, size = entries.get(name := path.removesuffix(SEAL), (0.0, 0))
            entries[name] = max(used, status.st_mtime), size + status.st_size
    excess = sum(size for _, size in entries.values()) - largest
    for name, (used, size) in sorted(entries.items(), key=lambda item: item[1]):
        if excess <= 0 or used > time.time() - GRACE:
            return
        with suppress(OSError):  # another process was first, or Windows has it loaded
            os.unlink(name)
        if not os.path.exists(name):
            with suppress(OSError):
                os.unlink(name + SEAL)
            excess -= size


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield path and status of each file below a folder; those that vanish meanwhile are left out."""
    waiting = [str(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry.path, entry.stat(follow_symlinks=False)


def _seal(path: Path) -> Path:
    return path.with_name(path.name + SEAL)


def _sealed(path: Path, content: bytes) -> bytes:
    return _hash(path.name.encode() + b"\n" + content).encode()


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_of(path: Path) -> str:
    """Return the hash of a file's content; empty if it cannot be read."""
    try:
        return _hash(path.read_bytes())
    except OSError:
        return ""
