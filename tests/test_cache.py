"""The cache is never trusted blindly and never needed: what is damaged, gone or too much is made anew, or told."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmpy
import pytest
from harness import thorough
from masters import Instance, Unpacked

import mbfmu
from mbfmu.base import cache as store
from mbfmu.errors import FmuError, KernelError, MbfmuError, UsageError
from mbfmu.kernel import Compiled
from mbfmu.kernel.build import toolchain
from mbfmu.prepared.prepare import Prepared, prepare

MB = 1_000_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache, where the compiler is this machine's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "_has_zig", lambda: False)
    return tmp_path / "cache" / "mbfmu"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of the compiler, as they are run."""
    commands: list[list[str]] = []
    run = toolchain._started

    def noted(command: list[str], *more: Any) -> Any:
        commands.append(command)
        return run(command, *more)

    monkeypatch.setattr(toolchain, "_started", noted)
    return commands


def native(path: Path, **choices: Any) -> Path:
    """Export the pendulum as a native FMU for this machine."""
    choices = {"stepper": "direct", "backend": "native", "platforms": ["linux64"], **choices}
    return mbfmu.export(mbfmu.load("pendulum"), path, **choices)


def binary(fmu: Path) -> bytes:
    """The binary in an FMU for Linux."""
    with zipfile.ZipFile(fmu) as archive:
        return archive.read("binaries/linux64/pendulum.so")


def pendulum() -> Prepared:
    """The pendulum, ready to run."""
    return prepare(mbfmu.load("pendulum"), "direct", {}, 1e-3)


def age(folder: Path, by: float) -> None:
    """Let all files of the cache be used a time ago, s."""
    for path in folder.rglob("*"):
        then = path.stat().st_mtime - by
        os.utime(path, (then, then))


# -- what is damaged ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"0.25", b"0.26")),
        lambda path: path.write_bytes(path.read_bytes() + b"\0"),
        lambda path: path.unlink(),
        lambda path: path.with_name("one.sha256").unlink(),
        lambda path: path.with_name("one.sha256").write_bytes(b""),
        lambda path: path.with_name("one.sha256").write_bytes(b"0" * 64),
    ],
    ids=["empty", "an end short", "one constant", "longer", "gone", "no seal", "empty seal", "another seal"],
)
def test_a_file_with_another_content_than_was_kept_counts_as_not_there(
    damage: Callable[[Path], Any], folder: Path
) -> None:
    path = folder / "kernels" / "one"
    store.keep(path, b"a constant of 0.25")
    assert store.verified(path) == b"a constant of 0.25"
    damage(path)
    assert store.verified(path) is None
    store.keep(path, b"a constant of 0.25")
    assert store.verified(path) == b"a constant of 0.25"


@pytest.mark.parametrize(
    ("name", "content"),
    [("o/1/libc.a", b""), ("o/1/libc.a", None), (store.LIST, b"damaged\nlist"), (store.LIST, b"\xff")],
    ids=["cut", "gone", "list", "bytes"],
)
def test_a_folder_of_another_program_is_removed_when_a_listed_file_changes(
    name: str, content: bytes | None, tmp_path: Path
) -> None:
    for made in ("o/1/libc.a", "o/2/crt1.o", "h/notes.txt"):
        (tmp_path / made).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / made).write_text("made")
    store.check_folder(tmp_path)
    store.list_folder(tmp_path, ("o", "z"))
    (tmp_path / "o/3.o").write_text("newer, not yet listed")
    (tmp_path / "h/notes.txt").write_text("not of these parts")
    store.check_folder(tmp_path)
    store.list_folder(tmp_path, ("o", "z"))
    store.check_folder(tmp_path)
    assert (tmp_path / "o/3.o").exists()
    (tmp_path / name).write_bytes(content) if content is not None else (tmp_path / name).unlink()
    if name != store.LIST:
        store.list_folder(tmp_path, ("o", "z"))
    store.check_folder(tmp_path)
    assert not tmp_path.exists()


def test_a_file_under_the_name_of_another_counts_as_not_there(folder: Path) -> None:
    one, other = folder / "kernels" / "one", folder / "kernels" / "other"
    store.keep(one, b"content")
    for ending in ("", store.SEAL):
        os.rename(f"{one}{ending}", f"{other}{ending}")
    assert store.verified(other) is None


@pytest.mark.parametrize("damage", [lambda whole: whole[:0], lambda whole: whole[:9000]], ids=["empty", "cut"])
def test_a_native_export_packs_no_damaged_binary(
    damage: Callable[[bytes], bytes], folder: Path, tmp_path: Path, compiled: list[list[str]]
) -> None:
    whole = native(tmp_path / "whole.fmu").read_bytes()
    contents, once = {path: path.read_bytes() for path in (folder / "kernels").glob("*.so")}, len(compiled)
    for path, content in contents.items():
        path.unlink()
        path.write_bytes(damage(content))
    assert native(tmp_path / "again.fmu").read_bytes() == whole
    assert len(compiled) == 2 * once
    assert {path: path.read_bytes() for path in contents} == contents


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: os.replace(str(path) + store.SEAL, path)], ids=["gone", "another"]
)
def test_an_export_packs_the_library_that_was_made_whatever_happens_to_its_file(
    damage: Callable[[Path], Any], folder: Path, tmp_path: Path
) -> None:
    first = mbfmu.export("pendulum", tmp_path / "first.fmu").read_bytes()
    libraries = [*(folder / "kernels").glob("*.so")]
    assert libraries
    for path in libraries:
        damage(path)
    assert mbfmu.export("pendulum", tmp_path / "second.fmu").read_bytes() == first


# -- what is gone ------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_and_another_begins_while_the_cache_is_cleared(folder: Path) -> None:
    prepared = pendulum()
    before = bytes(prepared.initial_state())
    warm = pendulum()
    assert warm.cached is not None
    store.clear()
    assert list(folder.rglob("*.so")) == []
    assert bytes(prepared.initial_state()) == before
    assert bytes(warm.initial_state()) == before


# -- what is too much --------------------------------------------------------------------------------------------------


def kept(folder: Path) -> set[str]:
    """Names of the files in the cache without their seals."""
    return {path.name for path in folder.rglob("*") if path.is_file() and path.suffix != store.SEAL}


def test_above_its_limit_the_cache_loses_what_was_not_used_for_longest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.LIMIT, "3")
    for name in "abc":
        store.keep(folder / "kernels" / name, bytes(MB - 200))
        age(folder, 100.0)
    store.verified(folder / "kernels" / "a")
    age(folder, 100.0)
    store.keep(folder / "starts" / "d", bytes(MB - 200))
    assert kept(folder) == {"a", "c", "d"}
    assert all(store.verified(path) for path in folder.rglob("[acd]"))
    assert sum(item.size for item in store.usage()) <= 3 * MB
    assert len(list(folder.rglob("*" + store.SEAL))) == 3


def test_what_was_just_used_stays_whatever_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.LIMIT, "0")
    store.keep(folder / "kernels" / "old", b"content")
    age(folder, store.GRACE + 1)
    prepared = pendulum()
    assert isinstance(prepared.kernel, Compiled)
    assert "old" not in kept(folder)
    assert pendulum().cached is not None


@pytest.mark.parametrize("size", ["much", "-1", "nan"])
def test_a_limit_that_is_no_size_is_refused_by_name(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.LIMIT, size)
    with pytest.raises(
        UsageError, match=f"MBFMU_CACHE_LIMIT is '{size}', which is not a size: set it to a number of MB"
    ):
        store.limit()


# -- a full disk -------------------------------------------------------------------------------------------------------

FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from mbfmu.cli import main
main()
"""
"""The command line where no file can have more than 20 kB."""


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit of file sizes")
@pytest.mark.parametrize("back_end", thorough(zip(["python", "native"]), lambda back_end: back_end == "python"))
def test_where_nothing_can_be_written_an_export_ends_in_one_line_and_leaves_no_file(
    back_end: str, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    command = [sys.executable, "-c", FULL, "export", "pendulum", "--backend", back_end]
    done = subprocess.run(
        command, cwd=tmp_path / "here", env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "too large" in line
    assert "free some space" in line
    assert list((tmp_path / "here").iterdir()) == []


def test_a_cache_on_a_full_disk_is_told_and_what_was_compiled_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store.write_aside

    def full(path: Path, content: bytes) -> Path:
        if path.is_relative_to(folder):
            raise MbfmuError(f"cannot write '{path}': No space left on device")
        return write(path, content)

    monkeypatch.setattr(store, "write_aside", full)
    with pytest.warns(
        RuntimeWarning, match=r"No space left on device; what was compiled lasts as long as this process"
    ):
        assert isinstance(pendulum().kernel, Compiled)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("back_end", ["python", "native"])
def test_a_compiler_that_fails_ends_an_export_rather_than_leave_the_kernel_out(
    back_end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\ntest \"$1\" = --version && exit 0\necho 'step.c: No space left' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises((FmuError, KernelError), match=r"the C compiler.* failed: step\.c: No space left"):
        mbfmu.export(mbfmu.load("pendulum"), tmp_path / "p.fmu", backend=back_end)
    assert not (tmp_path / "p.fmu").exists()


@pytest.mark.usefixtures("folder")
def test_a_compiler_that_fails_where_the_disk_is_nearly_full_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = toolchain.Toolchain(("false",), "", ".so", (), (), "-O0")
    with pytest.raises(toolchain.BuildError, match=r"^exit status 1$"):
        toolchain.built({"one.c": "int one;\n"}, compiler, "one")
    monkeypatch.setattr(toolchain, "SCANT", float("inf"))
    with pytest.raises(toolchain.BuildError, match=r"^exit status 1 \([\d.]+ MB are free in '.+'\)$"):
        toolchain.built({"one.c": "int one;\n"}, compiler, "one")


@pytest.mark.usefixtures("folder")
def test_a_compiler_that_writes_nothing_and_reports_nothing_is_not_believed(tmp_path: Path) -> None:
    idle = tmp_path / "idle-cc"
    idle.write_text('#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done\nexit 0\n')
    idle.chmod(0o755)
    compiler = toolchain.Toolchain((str(idle),), "", ".so", (), (), "-O0")
    with pytest.raises(toolchain.BuildError, match="its library is empty"):
        toolchain.built({"one.c": "int one;\n"}, compiler, "one")


# -- what needs no compiler --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_another_step_tolerance_or_stop_time_compiles_nothing(tmp_path: Path, compiled: list[list[str]]) -> None:
    first = native(tmp_path / "first.fmu")
    once = len(compiled)
    assert once
    others = {
        "step": native(tmp_path / "step.fmu", step=2e-3),
        "tolerance": native(tmp_path / "tolerance.fmu", tolerance=1e-6),
        "stop": native(tmp_path / "stop.fmu", stop=3.0),
    }
    assert len(compiled) == once
    assert {binary(path) for path in others.values()} == {binary(first)}
    assert len({fmpy.read_model_description(str(path)).guid for path in (first, *others.values())}) == 4
    assert binary(native(tmp_path / "stepper.fmu", stepper="rattle")) != binary(first)
    assert len(compiled) == 2 * once


def settings(fmu: Path) -> tuple[float, ...]:
    """What an FMU has as solver.step and solver.tolerance, and again after a reset."""
    names = ("solver.step", "solver.tolerance")
    with Instance(Unpacked(fmu, fmu.with_suffix(""))) as slave:
        found = slave.start().get(names)
        slave.set({"solver.step": 0.5})
        slave.slave.reset()
        assert slave.start().get(names) == found
    return found


@pytest.mark.usefixtures("folder")
def test_one_binary_has_the_settings_of_each_description(tmp_path: Path) -> None:
    for step, tolerance in ((1e-3, 0.0), (1 / 3, 1e-7), (5e-324 + 1e-9, 0.1)):
        fmu = native(tmp_path / f"{step}.fmu", step=step, tolerance=tolerance)
        assert settings(fmu) == (step, tolerance)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """A native FMU of the pendulum."""
    folder = tmp_path_factory.mktemp("pendulum")
    return Unpacked(native(folder / "p.fmu"), folder / "p")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda guid: guid[:0],
        lambda guid: guid[:-1],
        lambda guid: guid + " ",
        lambda guid: guid.replace("{", "("),
        lambda guid: "{" + guid[1:17][::-1] + guid[17:],
        lambda guid: guid[:35] + "x" + guid[36:],
        lambda guid: guid[:35] + "7ff0000000000000" + guid[51:],
        lambda guid: guid[:35] + "bf50624dd2f1a9fc" + guid[51:],
    ],
    ids=["none", "short", "long", "brace", "code", "digit", "infinite step", "negative step"],
)
def test_a_guid_of_no_fmu_with_this_binary_is_refused(
    wrong: Callable[[str], str], exported: Unpacked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported.description, "guid", wrong(exported.description.guid))
    with pytest.raises(Exception, match="nstantiate"), Instance(exported):
        pass


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("back_end", "expected"),
    [
        ("python", ["derive", "compile x86_64-linux", "start", "pack"]),
        ("native", ["derive", "start", "write C", "compile x86_64-linux", "pack"]),
    ],
)
def test_an_export_tells_its_phases(back_end: str, expected: list[str], tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    platforms = ["linux64"]
    mbfmu.export(
        mbfmu.load("pendulum"), tmp_path / "p.fmu", backend=back_end, platforms=platforms,
        progress=lambda phase, done: told.append((phase, done)),
    )  # fmt: skip
    assert [phase for phase, _ in told] == expected
    assert [done for _, done in told] == [k / len(expected) for k in range(len(expected))]


# -- the command -------------------------------------------------------------------------------------------------------


def command(*arguments: str) -> dict[str, Any]:
    """The document that `mbfmu cache` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "mbfmu", "cache", "--json", *arguments], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_command_shows_the_size_of_the_cache_and_clears_it(folder: Path) -> None:
    assert command()["size"] == 0
    store.keep(folder / "kernels" / "one", bytes(1000))
    (folder / "other").write_text("not of the cache's kinds")
    before = command()
    assert before["path"] == str(folder)
    assert before["limit"] == 1e9
    assert before["size"] == sum(path.stat().st_size for path in (folder / "kernels").iterdir()) > 1000
    assert [item["files"] for item in before["folders"] if item["kind"] == "kernels"] == [1]
    after = command("--clear")
    assert (after["size"], after["removed"]) == (0, before["size"])
    assert [path.name for path in folder.iterdir()] == ["other"]
