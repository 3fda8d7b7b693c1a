"""The sources of a native FMU compile anywhere, alone or beside others; its binaries need little and are reproducible;
no call, however wrong, breaks it."""

import importlib.util
import json
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fmpy.build import build_platform_binary
from harness import thorough
from masters import Instance, Unpacked
from native_fmus import HEADERS, HOST, SANITIZED, SOURCES, Case, built_host, label, unpacked

import mbfmu
from mbfmu.base.cache import cache_folder
from mbfmu.errors import FmuError, MbfmuError
from mbfmu.fmu.interface import OUTPUT, interface
from mbfmu.kernel import compiled_library
from mbfmu.kernel.build.toolchain import alone
from mbfmu.prepared.prepare import prepare

H = 1e-3
ARM = Case("two_link", "rattle")
ROD = Case("slider_crank", "local", (), "absolute")
needs_zig = pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang")
needs_linux = pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="reads ELF files")


def run(program: Path, *arguments: str, timeout: int = 120) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# -- safety ---------------------------------------------------------------------------------------------------------


@pytest.fixture(
    scope="module",
    params=thorough(zip([ARM, ROD, Case("quarter_car", "direct")]), lambda case: case == ARM),
    ids=label,
)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C host with an FMU's sources, both watched by the address and undefined-behaviour sanitizers."""
    sources = unpacked(request.param).folder / "sources"
    return built_host(sources, tmp_path_factory.mktemp("host"), SANITIZED)


@pytest.mark.slow
def test_whole_lives_with_every_feature_are_clean(host: Path) -> None:
    assert run(host, "life") == ""


def test_every_function_is_legal_where_the_standard_says_and_else_an_error_that_changes_nothing(host: Path) -> None:
    assert run(host, "illegal") == ""


@pytest.mark.parametrize("seed", thorough(zip(["1", "2"]), lambda seed: seed == "1"))
def test_no_sequence_of_random_calls_breaks_an_instance(host: Path, seed: str) -> None:
    assert run(host, "fuzz", "100000", seed).startswith("100000 calls")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_valgrind_sees_no_wrong_access_and_no_leak(tmp_path: Path) -> None:
    program = built_host(unpacked(ARM).folder / "sources", tmp_path, ("-g", "-O1"))
    for task in (("life",), ("illegal",), ("fuzz", "3000", "3")):
        run(Path("valgrind"), "-q", "--error-exitcode=9", "--leak-check=full", str(program), *task)


@needs_linux
@pytest.mark.slow
def test_a_million_steps_take_no_more_memory(tmp_path: Path) -> None:
    program = built_host(unpacked(ARM).folder / "sources", tmp_path, ("-O2",))
    assert run(program, "memory", "1000000").endswith("kB more\n")


def test_the_timing_host_runs_an_fmu_and_its_kernel(tmp_path: Path) -> None:
    fmu, prepared = unpacked(ARM), prepare(mbfmu.load("two_link"), "rattle", {}, H)
    library = next((fmu.folder / "binaries").glob(f"*/{fmu.description.coSimulation.modelIdentifier}.*"))
    source = Path(__file__).parents[1] / "benchmarks" / "native_host.c"
    program = tmp_path / "timing"
    command = [
        "gcc",
        "-std=c99",
        "-O2",
        "-Wall",
        "-Werror",
        f"-I{fmu.folder / 'sources'}",
        source,
        "-ldl",
        "-o",
        program,
    ]
    subprocess.run(command, check=True)
    first = str(next(item.reference for item in interface(prepared).variables if item.kind == OUTPUT))
    values = " ".join(map(str, [*prepared.dae.s_default(), *prepared.dae.p_default()]))
    kernel = compiled_library(prepared.bundle)
    command = [program, "2000", "0.001", library, fmu.description.guid, "2", first, "48", kernel]
    done = subprocess.run(command, input=values, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told.keys() == {"kernel", "fmu", "ratio", "q999", "worst"}
    assert all(value > 0 for value in told.values())
    command[1] = "999"
    assert subprocess.run(command, input=values, capture_output=True, text=True, check=False).returncode == 2


# -- sources --------------------------------------------------------------------------------------------------------


def test_the_sources_compile_without_a_warning(tmp_path: Path) -> None:
    built_host(unpacked(ARM).folder / "sources", tmp_path, ("-O1", "-Wpedantic"))


def test_the_description_lists_the_sources_to_compile() -> None:
    configuration = unpacked(ARM).description.buildConfigurations[0]
    assert set(configuration.sourceFileSets[0].sourceFiles) == set(SOURCES)


def test_a_function_that_the_step_and_its_derivatives_both_call_is_written_once() -> None:
    texts = {name: (unpacked(ARM).folder / "sources" / name).read_text() for name in SOURCES}
    heads = re.findall(r"^(static )?void (\w*step_equations0)\(.*\) \{$", "\n".join(texts.values()), re.MULTILINE)
    assert [(scope, name) for scope, name in heads if "t_" not in name] == [("", "shared0_step_equations0")]
    assert "shared0_step_equations0((" in texts["step.c"]
    assert "shared0_step_equations0((" in texts["tangent.c"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="fmpy compiles with cmake")
def test_fmpy_compiles_the_sources_to_an_fmu_with_the_same_numbers(tmp_path: Path) -> None:
    with Instance(unpacked(ARM)) as slave:
        expected = slave.start({"shoulder.tau": 1.0}).run(0, 50, H)
    archive = ARM.export(tmp_path / "two_link.fmu", backend="native")
    fmu = Unpacked(archive, tmp_path / "two_link")
    shutil.rmtree(fmu.folder / "binaries")
    build = tmp_path / "build"
    build.mkdir()
    build_platform_binary(fmu.folder, build)
    with Instance(fmu) as slave:
        found = slave.start({"shoulder.tau": 1.0}).run(0, 50, H)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_two_fmus_are_linked_into_one_program_by_their_prefixes(tmp_path: Path) -> None:
    objects = []
    for case in (ARM, ROD):
        folder = tmp_path / case.model
        shutil.copytree(unpacked(case).folder / "sources", folder)
        names = (HOST.name, *SOURCES)
        for item in (HOST, *HEADERS):
            shutil.copy(item, folder)
        text = (folder / HOST.name).read_text().replace("int main(", f"int {case.model}_main(")
        (folder / HOST.name).write_text(text)
        command = ["gcc", "-std=c99", f"-DFMI2_FUNCTION_PREFIX={case.model}_", "-c", *names]
        subprocess.run(command, cwd=folder, check=True)
        objects += [str(folder / name.replace(".c", ".o")) for name in names]
    both = tmp_path / "both.c"
    both.write_text(
        "int two_link_main(int, char **); int slider_crank_main(int, char **);\n"
        "int main(int n, char **a) { return two_link_main(n, a) + slider_crank_main(n, a); }\n"
    )
    program = tmp_path / "both"
    subprocess.run(["gcc", str(both), *objects, "-lm", "-o", str(program)], check=True)
    assert run(program, "life") == ""


def test_names_of_any_letters_are_safe_in_the_tables(tmp_path: Path) -> None:
    from mbfmu.fmu.native.tables import c_text

    name = 'a"b\\c??/d%n é\t1'
    program = tmp_path / "text"
    (tmp_path / "text.c").write_text(
        f"#include <stdio.h>\nint main(void) {{ fputs({c_text(name)}, stdout); return 0; }}"
    )
    subprocess.run(
        ["gcc", "-std=c99", "-Wall", "-Werror", "-trigraphs", "text.c", "-o", "text"], cwd=tmp_path, check=True
    )
    assert run(program) == name


# -- binaries -------------------------------------------------------------------------------------------------------


@needs_linux
def test_the_binary_needs_libc_and_libm_only_and_shows_the_functions_of_the_standard_only() -> None:
    library = next((unpacked(ARM).folder / "binaries" / "linux64").iterdir())
    needed = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"NEEDED\s+(\S+)", needed)) <= {"libc.so.6", "libm.so.6"}
    shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in shown.splitlines()}
    assert all(name.startswith("fmi2") for name in names)
    assert len(names) == 34  # all functions of co-simulation and those common to both kinds
    sections = subprocess.run(["objdump", "-h", library], capture_output=True, text=True, check=True).stdout
    writable = [int(size, 16) for size in re.findall(r" \.(?:data|bss) +([0-9a-f]+)", sections)]
    assert sum(writable) <= 32  # of the C runtime; the FMU has no data outside of its instances


@needs_zig
@needs_linux
def test_a_binary_made_by_zig_runs_on_old_systems() -> None:
    library = next((unpacked(ARM).folder / "binaries" / "linux64").iterdir())
    asked = subprocess.run(["objdump", "-T", library], capture_output=True, text=True, check=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", asked)}
    assert max(versions) <= (2, 17)


def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    one, other = (ARM.export(tmp_path / f"{k}" / "two_link.fmu", backend="native") for k in (1, 2))
    assert one.read_bytes() == other.read_bytes()


@needs_zig
@pytest.mark.further
@pytest.mark.long
def test_binaries_for_three_platforms_come_from_one_machine_and_are_reproducible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    magic = {"linux64": b"\x7fELF", "win64": b"MZ", "darwin64": b"\xca\xfe\xba\xbe"}
    made = []
    zigs = cache_folder() / "zig"
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(zigs))
    for k in (1, 2):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache{k}"))
        with alone(zigs):
            path = ARM.export(tmp_path / f"{k}.fmu", backend="native", platforms=tuple(magic))
        made.append(path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("binaries/")]
            assert {name.split("/")[1] for name in names} == set(magic)
            for name in names:
                assert archive.read(name).startswith(magic[name.split("/")[1]])
    assert made[0] == made[1]


WINE = shutil.which("wine64") or shutil.which("wine") or shutil.which("/usr/lib/wine/wine64")


@needs_zig
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(WINE is None, reason="needs wine")
def test_the_binary_for_windows_runs_under_wine_with_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fmu = Unpacked(
        ARM.export(tmp_path / "two_link.fmu", backend="native", platforms=["win64", "linux64"]), tmp_path / "two_link"
    )
    shutil.copy(fmu.folder / "binaries" / "win64" / "two_link.dll", tmp_path)
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-std=c99", "-O1", "-w"]
    command += ["-g0", "-s", "-fno-sanitize=undefined"]  # as for the binary: zig has its own libraries for these flags
    command += [f"-I{fmu.folder / 'sources'}", str(HOST), "two_link.dll", "-o", "host.exe"]
    zigs = cache_folder() / "zig"
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(zigs))
    with alone(zigs):
        subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.setenv("WINEPREFIX", str(tmp_path / "wine"))
    monkeypatch.setenv("WINEDEBUG", "-all")
    host = str(tmp_path / "host.exe")
    for task in (("life",), ("illegal",), ("fuzz", "20000", "1")):
        run(Path(str(WINE)), host, *task)
    found = run(Path(str(WINE)), host, "numbers", "300")
    here = built_host(fmu.folder / "sources", tmp_path, ("-O2",))
    expected = run(here, "numbers", "300")
    pairs = (map(float, text.split()) for text in (found, expected))
    np.testing.assert_allclose(*map(list, pairs), rtol=1e-12, atol=1e-12)


def test_without_zig_a_foreign_platform_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(FmuError, match=r"binary for x86_64-windows needs zig.*python -m pip install .*\[cross\]"):
        mbfmu.export(mbfmu.load("two_link"), tmp_path / "two_link.fmu", backend="native", platforms=["win64"])
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\ntest \"$1\" = --version && exit 0\necho 'step.c: cannot' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr("mbfmu.kernel.loading._notice", lambda _: None)
    with pytest.raises(MbfmuError, match=r"the C compiler (for x86_64-linux )?failed: step\.c: cannot"):
        Case("pendulum", "direct").export(tmp_path / "pendulum.fmu", backend="native", platforms=["linux64"])
