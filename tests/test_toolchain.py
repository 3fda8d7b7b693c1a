"""Compilers: every one of them, at every level of optimisation, gives a kernel of the same bits."""

import importlib.util
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import cache_key
from mechanisms import slider_crank, spatial_arm

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.kernel import Compiled, compiled_library, library, load, vector
from mbfmu.kernel.build import toolchain
from mbfmu.kernel.build.toolchain import HUGE, LARGE, LEVEL, Toolchain, _by_size, ahead, built, host, local, remedy
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.many import many_library
from mbfmu.model import System
from mbfmu.prepared.prepare import prepare

needs_zig = pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang")
SIZES = {
    ("step.c", LARGE - 1): "-O2",
    ("step.c", LARGE): "-O1",
    ("step.c", 10 * HUGE): "-O1",
    ("adjoint.c", LARGE - 1): "-O2",
    ("rest.c", 1): "-O1",
    ("rest.c", HUGE - 1): "-O1",
    ("rest.c", HUGE): "-O0",
    ("tangent.c", 2 * LARGE - 1): "-O1",
    ("tangent.c", 2 * LARGE): "-O0",
}
"""Flag by name and characters of a source file."""
ZIGS = {
    ("win32", "AMD64"): ("x86_64-windows-gnu", ".dll", b"MZ"),
    ("darwin", "arm64"): ("aarch64-macos.11.0", ".dylib", b"\xcf\xfa\xed\xfe"),
    ("linux", "aarch64"): ("aarch64-linux-gnu.2.17", ".so", b"\x7fELF"),
}
"""Zig's target, the suffix of libraries and their first bytes, by system and processor."""
CASES = {
    "two_link-rattle": (lambda: mbfmu.load("two_link"), "rattle", {}),
    "slider_crank-gauss": (slider_crank, "gauss", {"stages": 3, "projection": "symmetric"}),
    "spatial_arm-projected": (spatial_arm, "projected", {"order": 8}),
}
LONG = {"slider_crank-gauss", "spatial_arm-projected"}
"""Cases that take long to compile."""
PARAMETERS = [pytest.param(case, marks=[pytest.mark.further][: case in LONG]) for case in CASES]


def bits(kernel: Compiled, prepared: Any) -> list[float]:
    """Return state and outputs after 200 steps, and the state after steps chosen for a tolerance."""
    u, p = vector([0.3] * len(prepared.dae.inputs)), vector(prepared.dae.p_default())
    still = vector([0.0] * len(prepared.dae.inputs))
    x0, _ = kernel.initialize(vector(prepared.dae.s_default()), u, p, 0.0, 1e-3)
    x, status = kernel.advance(x0, u, still, p, 0.0, 1e-3, 200)
    chosen, control = kernel.control(x0, u, still, p, 0.0, 0.05, 0.01, 1e-6)
    assert status.code == control.code == 0
    return [*x, *kernel.outputs(x, u, p, 0.2), *chosen]


def hide_compilers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Leave nothing in the PATH."""
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CC", raising=False)


def zig_of(system: str, machine: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    """Return the compiler of a system and processor without any compiler but zig."""
    with monkeypatch.context() as there:
        hide_compilers(there, folder)
        there.setattr(sys, "platform", system)
        there.setattr(platform, "machine", lambda: machine)
        compiler = host()
    assert compiler is not None
    return compiler


@pytest.mark.parametrize("case", PARAMETERS)
def test_every_level_of_optimisation_gives_the_same_bits(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, stepper, options = CASES[case]
    prepared = prepare(make(), stepper, options, 1e-3)
    libraries = []
    for level in "0123":
        monkeypatch.setenv(LEVEL, level)
        libraries.append(compiled_library(prepared.bundle))
    assert len(set(libraries)) == 4
    first, *others = (bits(Compiled(str(library)), prepared) for library in libraries)
    for other in others:
        assert other == first


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_kernel_for_this_processor_alone_gives_the_bits_of_one_for_any(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, stepper, options = CASES[case]
    prepared = prepare(make(), stepper, options, 1e-3)
    monkeypatch.delenv(LEVEL, raising=False)
    found = [library(prepared.bundle, portable) for portable in (True, False)]
    portable, own = (bits(Compiled(str(each.path)), prepared) for each in found if each)
    assert own == portable
    assert (found[0] == found[1]) == (local() == host())


def test_a_kernel_for_a_processor_is_found_by_its_name_and_features_and_never_packed(
    monkeypatch: pytest.MonkeyPatch, two_link: System
) -> None:
    monkeypatch.delenv(LEVEL, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    keys = []
    for processor in ("one\nsse2 avx2", "one\nsse2", "another\nsse2", ""):
        monkeypatch.setattr(toolchain, "_processor", lambda told=processor: told)
        compiler = local()
        assert compiler is not None
        assert ("-march=native" in compiler.compiling) == bool(processor)
        keys.append([cache_key(two_link, None, {}, None, False, portable=portable) for portable in (False, True)])
    own, packed = zip(*keys, strict=True)
    assert len(set(own)) == 4
    assert set(packed) == {own[-1]}


@needs_zig
@pytest.mark.parametrize("case", PARAMETERS)
def test_where_no_other_compiler_is_zig_compiles_a_kernel_of_the_same_bits(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    make, stepper, options = CASES[case]
    prepared = prepare(make(), stepper, options, 1e-3)
    expected = bits(Compiled(str(compiled_library(prepared.bundle))), prepared)
    hide_compilers(monkeypatch, tmp_path)
    compiler = host()
    assert compiler is not None
    assert "ziglang" in compiler.command
    kernel = load(prepared.bundle)
    assert isinstance(kernel, Compiled)
    assert bits(kernel, prepared) == expected
    assert not recwarn.list


@needs_zig
@pytest.mark.skipif(sys.platform == "win32", reason="$CC is not read on Windows")
@pytest.mark.parametrize("large", [LARGE, 0])
def test_clang_takes_the_flags_it_is_given_for_files_of_any_size_and_gives_the_same_bits(
    large: int, two_link: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zig's C compiler under another name is clang, which refuses flags that only gcc knows."""
    prepared = prepare(two_link, "rattle", None, 1e-3)
    expected = bits(Compiled(str(compiled_library(prepared.bundle))), prepared)
    clang = tmp_path / "clang"
    clang.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang cc "$@"\n')
    clang.chmod(0o755)
    monkeypatch.setenv("CC", str(clang))
    monkeypatch.delenv(LEVEL, raising=False)
    monkeypatch.setattr(toolchain, "LARGE", large)
    monkeypatch.setattr(toolchain, "_processor", lambda: "")  # zig has no -mtune=generic
    assert bits(Compiled(str(compiled_library(prepared.bundle))), prepared) == expected
    assert many_library(prepared.bundle) is not None


@needs_zig
@pytest.mark.parametrize(("system", "machine"), ZIGS)
def test_zig_is_asked_for_the_system_and_processor_it_runs_on(
    system: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = zig_of(system, machine, tmp_path, monkeypatch)
    assert (compiler.command[-1], compiler.suffix) == ZIGS[system, machine][:2]


@needs_zig
@pytest.mark.slow
@pytest.mark.parametrize(("system", "machine"), ZIGS)
def test_zig_makes_libraries_of_the_system_it_runs_on(
    system: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = zig_of(system, machine, tmp_path, monkeypatch)
    library = built({"one.c": "int one(void) { return 1; }\n"}, compiler, "one")
    assert library.path.suffix == compiler.suffix
    assert library.content.startswith(ZIGS[system, machine][2])


@needs_zig
@pytest.mark.slow
def test_processes_that_fill_the_cache_of_zig_at_once_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = """
import sys
from mbfmu.kernel.build.toolchain import built, cross

(compiler, *_) = cross("x86_64-linux")
for round in range(2):
    name = f"part_{sys.argv[1]}_{round}"
    built({"one.c": f"int {name}(void) {{ return 1; }}\\n"}, compiler, name)
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(place)], stderr=subprocess.PIPE, text=True)
        for place in range(3)
    ]
    assert [process.communicate()[1] for process in processes] == [""] * 3


@pytest.mark.skipif(sys.platform == "win32", reason="$CC is not read on Windows")
def test_a_named_compiler_that_is_zig_inside_keeps_its_own_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho "kept in ${{ZIG_GLOBAL_CACHE_DIR:-its own}}" >> {asked}\nexec cc "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    monkeypatch.delenv("ZIG_GLOBAL_CACHE_DIR", raising=False)
    compiler = host()
    assert compiler is not None
    built({"one.c": "int own_cache(void) { return 1; }\n"}, compiler, "own_cache")
    assert set(asked.read_text().splitlines()) == {"kept in its own"}


def test_a_compiler_that_is_named_and_not_there_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert host() is None
    assert "the environment variable CC is 'no-such-compiler', which is not a program" in remedy()


@pytest.mark.skipif(sys.platform == "win32", reason="$CC is not read on Windows")
def test_a_compiler_may_be_named_with_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "cc -DNAMED=3")
    compiler = host()
    assert compiler is not None
    built({"one.c": "int named(void) { return NAMED; }\n"}, compiler, "named")  # else NAMED is no name


@pytest.mark.parametrize(("file", "flag"), SIZES.items())
def test_the_size_of_a_file_decides_its_optimisation(file: tuple[str, int], flag: str) -> None:
    name, size = file
    assert _by_size(name, "x" * size) == flag


def test_tables_do_not_leave_a_file_without_optimisation() -> None:
    table = "    static const int t0[] = {" + "0, " * HUGE + "0};\n"
    assert [_by_size("rest.c", text) for text in (table, table + "x" * HUGE)] == ["-O1", "-O0"]


def test_a_level_of_optimisation_decides_for_every_file_and_is_part_of_the_start(
    monkeypatch: pytest.MonkeyPatch, two_link: System
) -> None:
    keys = set()
    for level, flag in (("", ""), ("0", "-O0"), ("3", "-O3")):
        monkeypatch.setenv(LEVEL, level)
        compiler = host()
        assert compiler is not None
        assert compiler.optimisation == flag
        keys.add(cache_key(two_link, None, {}, None, False))
    assert len(keys) == 3


@pytest.mark.parametrize("level", ["4", "-O2", "fast"])
def test_a_level_of_optimisation_that_does_not_exist_is_refused_by_name(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEVEL, level)
    with pytest.raises(UsageError, match=f"MBFMU_OPTIMIZATION is '{level}'.*set it to 0, 1, 2 or 3"):
        host()


def test_a_long_file_is_compiled_while_others_are_written_into_the_same_library(
    monkeypatch: pytest.MonkeyPatch, two_link: System, tmp_path: Path
) -> None:
    monkeypatch.setattr(toolchain, "EARLY", 20_000)
    bundle, compiler = prepare(two_link, "direct", {}, 1e-3).bundle, local()
    assert compiler is not None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "after"))
    expected = built(c_sources(bundle), compiler, "kernel").content
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "ahead"))
    running = {}
    with ahead(compiler) as begun:

        def written(name: str, text: str) -> None:
            running[name] = list(begun.running)
            begun.take(name, text)

        found = built(c_sources(bundle, written=written), compiler, "kernel", begun)
    assert running["rest.c"] == ["step.c"]
    assert found.content == expected
    assert not Path(begun.folder).exists()


def test_what_is_compiled_ahead_ends_with_the_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "EARLY", 0)
    compiler = local()
    assert compiler is not None
    begun = ahead(compiler)
    entered = begun.__enter__()
    entered.take("one.c", "int one(void) { return 1; }")
    assert not begun.__exit__(ArithmeticError, ArithmeticError(), None)  # which goes on
    assert entered.running["one.c"].returncode is not None
    assert not Path(entered.folder).exists()
