"""Writing files whole or not at all, and refusing a path before the work for it begins."""

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from errno import EACCES, EISDIR, ELOOP, ENOTDIR
from pathlib import Path
from typing import BinaryIO

from mbfmu.errors import MbfmuError, UsageError


def write_aside(path: Path, content: bytes) -> Path:
    """Write a file under another name and rename it when it is complete; its folder is made if needed.

    A link stays, and the file that it leads to is replaced; permissions stay. A device, a pipe or the standard output
    is written through.

    Raises:
        MbfmuError: the file cannot be written; nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        stream = _stream(path)
        if stream is not None:
            with stream:
                stream.write(content)
            return path
        _check_target(target)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        target.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(content)
        if mode is not None:
            aside.chmod(mode)
        os.replace(aside, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise MbfmuError(f"cannot write '{path}': {error.strerror or error}") from None
    return path


def _check_target(target: Path) -> None:
    """Raise an OSError if a file cannot be written, as far as that is known before."""
    folder = next(item for item in target.parents if os.path.lexists(item))
    faults = {
        ELOOP: target.is_symlink(),
        EISDIR: target.is_dir(),
        ENOTDIR: not folder.is_dir(),
        EACCES: not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)),
    }
    for code, faulty in faults.items():
        if faulty:
            raise OSError(code, os.strerror(code))


def refuse_existing(folder: Path) -> None:
    """Raise an error if a folder to be made holds something already, or is a file.

    Raises:
        UsageError: it is there and is no empty folder.
        MbfmuError: it cannot be read.
    """
    try:
        if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
            raise UsageError(f"'{folder}' is there already, and is not overwritten: name a new folder, or remove it")
    except OSError as error:
        raise MbfmuError(f"cannot read '{folder}': {error.strerror or error}") from None


def write_folder(folder: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write a folder of files under another name and rename it when it is complete; return the files' paths.

    Args:
        folder: folder to make; it may be there if it is empty.
        contents: contents of the files by name, which may lead into folders of it by ``/``.

    Raises:
        UsageError: the folder holds something already.
        MbfmuError: it cannot be written; nothing is left behind.
    """
    refuse_existing(folder)
    target = Path(os.path.realpath(folder))
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        aside.mkdir(parents=True)
        for name, content in contents.items():
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            (aside / name).write_bytes(content)
        if target.exists():
            target.rmdir()
        os.replace(aside, target)
    except OSError as error:
        raise MbfmuError(f"cannot write '{folder}': {error.strerror or error}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return tuple(folder / name for name in contents)


@contextlib.contextmanager
def kept_for_itself(path: Path) -> Iterator[None]:
    """Keep other processes from a file that this one reads and writes again and again, until the end of a block.

    They see it by a lock on a file beside it, which is removed at the end; a process that is killed leaves no lock.
    Where no such file can be written, nothing is kept.

    Args:
        path: path of the file.

    Raises:
        UsageError: another process, or another block, keeps it.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.lock")
    try:
        lock = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    try:
        if not (_locked(lock) and beside.exists() and os.path.samestat(os.fstat(lock), beside.stat())):
            message = f"another run writes to '{path}': wait for its end, or name another file"
            raise UsageError(message)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows keeps a file that is open
                beside.unlink()
    finally:
        os.close(lock)
        if sys.platform == "win32":
            with contextlib.suppress(OSError):
                beside.unlink()


def _locked(descriptor: int) -> bool:
    """Return whether a file is locked now, as long as it is open."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_stream(path: Path) -> bool:
    """Return whether a path leads to a device, a pipe or a socket, which is written through."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_standard_output(path: Path) -> bool:
    """Return whether a path leads to what the standard output of this process is, the null device excepted."""
    try:
        status = path.stat()
        return os.path.samestat(status, os.fstat(1)) and not os.path.samestat(status, os.stat(os.devnull))
    except OSError:
        return False


def _stream(path: Path) -> BinaryIO | None:
    """Return what a path leads to, opened, if it is no regular file."""
    if is_standard_output(path):
        sys.stdout.flush()
        return os.fdopen(os.dup(1), "wb")  # opened anew, a file would be written from its beginning
    return path.open("wb") if is_stream(path) else None


def ending_of(path: Path, endings: Sequence[str]) -> str:
    """Return the ending that decides the format of a file; a device or a pipe without one has the first format.

    Args:
        path: path of the file.
        endings: allowed endings, in lower case, such as ``.csv``.

    Raises:
        UsageError: the path has another ending.
    """
    ending = path.suffix.lower()
    if ending in endings:
        return ending
    if not ending and (is_stream(path) or is_standard_output(path)):
        return endings[0]
    *others, last = endings
    allowed = f"{', '.join(others)} or {last}" if others else last
    raise UsageError(f"'{path}' must end in {allowed}")


def check_outputs(outputs: Iterable[Path | None], sources: Iterable[str | os.PathLike[str]]) -> None:
    """Raise an error before work begins, if a file to be written is one that is read, or cannot be written.

    Raises:
        UsageError: a path of `outputs` leads to the file of a path of `sources`.
        MbfmuError: it leads to a folder, or writing there is not allowed.
    """
    read = [source for source in sources if os.path.isfile(source)]
    for path in outputs:
        if path is None or is_stream(path) or is_standard_output(path):
            continue
        for source in read:
            if path.exists() and os.path.samefile(path, source):
                raise UsageError(f"'{path}' would overwrite '{source}', which is read: name another file")
        try:
            _check_target(Path(os.path.realpath(path)))
        except OSError as error:
            raise MbfmuError(f"cannot write '{path}': {error.strerror or error}") from None
