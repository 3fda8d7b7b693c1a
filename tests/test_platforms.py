"""A native FMU has the same bits on every platform: its library runs under emulators, and prints what it computes."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import pytest
from masters import Unpacked

import mbfmu
from mbfmu.base.cache import cache_folder
from mbfmu.checker import report
from mbfmu.checker.document import FOLDERS
from mbfmu.fmi.binaries import platforms_of
from mbfmu.fmi.elf import needed_versions
from mbfmu.fmu.export import platforms_of as requested
from mbfmu.fmu.native import NAMES, VERSIONS
from mbfmu.kernel.build.platforms import PLATFORMS, is_here
from mbfmu.kernel.build.toolchain import LEVEL, alone

HOST = Path(__file__).with_name("platform_host.c")
MODULE_HOST = HOST.with_suffix(".mjs")
PAGE = HOST.parents[1] / "docs" / "native.md"
STEPS, H = 1000, 1e-3
MODELS = ("slider_crank", "sampled_pid", "woodpecker", "excavator")
"""A closed loop, a controller with samples, impacts with friction, and hydraulics."""
pytestmark = [
    pytest.mark.skipif(not is_here("x86_64-linux"), reason="emulates other platforms on 64-bit Linux"),
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang"),
]


class Emulator(NamedTuple):
    """What runs programs of a platform here.

    Args:
        programs: names of the program, the first that is there is taken.
        options: its options.
        needed: a file of the platform's C library that must be there.
        packages: Debian's packages that have both.
    """

    programs: tuple[str, ...]
    options: tuple[str, ...] = ()
    needed: str = "/"
    packages: str = ""


EMULATORS = {
    "aarch64-linux": Emulator(
        ("qemu-aarch64",), ("-L", "/usr/aarch64-linux-gnu"), "/usr/aarch64-linux-gnu/lib", "qemu-user libc6-arm64-cross"
    ),
    "armv7-linux": Emulator(
        ("qemu-arm",), ("-L", "/usr/arm-linux-gnueabihf"), "/usr/arm-linux-gnueabihf/lib", "qemu-user libc6-armhf-cross"
    ),
    "riscv64-linux": Emulator(
        ("qemu-riscv64",),
        ("-L", "/usr/riscv64-linux-gnu"),
        "/usr/riscv64-linux-gnu/lib",
        "qemu-user libc6-riscv64-cross",
    ),
    "x86-linux": Emulator(("/lib/ld-linux.so.2",), packages="libc6-i386"),
    "x86_64-windows": Emulator(("wine64", "/usr/lib/wine/wine64"), packages="wine64"),
    "x86-windows": Emulator(("/usr/lib/wine/wine", "/usr/lib/wine/wine32"), packages="wine32:i386"),
    "wasm32": Emulator(("node",), (str(MODULE_HOST),), packages="nodejs"),
}
MUSL = Emulator(("musl-gcc",), packages="musl-tools")


def found(emulator: Emulator) -> str:
    """Return the path of an emulator's program, or skip the test."""
    program = next(filter(None, map(shutil.which, emulator.programs)), None)
    if program is None or not Path(emulator.needed).exists():
        pytest.skip(f"needs Debian's {emulator.packages}")
    return program


@cache
def exported(model: str, platform: str, level: str) -> Unpacked:
    """Return a model as an FMU for a platform, unpacked; made once a session for a level of the environment."""
    assert os.environ.get(LEVEL, "") == level
    folder = Path(mkdtemp(prefix="mbfmu-platforms-"))
    path = mbfmu.export(model, folder / f"{model}.fmu", backend="native", platforms=[platform])
    return Unpacked(path, folder / "fmu")


def library(fmu: Unpacked) -> Path:
    """Return the only library of an FMU."""
    (path,) = (fmu.folder / "binaries").rglob("*.*")
    return path


def arguments(fmu: Unpacked) -> list[str]:
    """Return the arguments of the host after the library; it reads the first variables, up to one that is not Real."""
    variables = sorted(fmu.description.modelVariables, key=lambda item: int(item.valueReference))
    whole = (k for k, item in enumerate(variables) if item.type != "Real" or item.valueReference != k)
    return [fmu.description.guid, str(STEPS), str(H), str(next(whole, len(variables)))]


def compiled(command: list[str], fmu: Unpacked, name: str) -> Path:
    """Compile the host by a compiler; return the program, beside the FMU's folder."""
    program = fmu.folder.parent / name
    subprocess.run([*command, "-std=c99", f"-I{fmu.folder / 'sources'}", str(HOST), "-o", str(program)], check=True)
    return program


def crossed(fmu: Unpacked, platform: str) -> Path:
    """Compile the host for a platform by zig."""
    target = ["-target", *PLATFORMS[platform].targets]
    zigs = Path(os.environ.get("ZIG_GLOBAL_CACHE_DIR", cache_folder() / "zig"))
    with pytest.MonkeyPatch.context() as environment, alone(zigs):
        environment.setenv("ZIG_GLOBAL_CACHE_DIR", str(zigs))
        # as for the library: zig has its own libraries for these flags
        flags = ["-g0", "-s", "-O1", "-w", "-fno-sanitize=undefined"]
        return compiled([sys.executable, "-m", "ziglang", "cc", *target, *flags], fmu, "host.exe")


def printed(command: list[str], fmu: Unpacked) -> list[str]:
    """Return the lines that a host prints."""
    environment = {**os.environ, "WINEPREFIX": str(fmu.folder.parent / "wine"), "WINEDEBUG": "-all"}
    done = subprocess.run(
        [*command, str(library(fmu)), *arguments(fmu)],
        capture_output=True, text=True, check=False, timeout=300, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@cache
def expected(model: str, level: str) -> list[str]:
    """Return what the host prints with the library for this machine."""
    fmu = exported(model, "x86_64-linux", level)
    host = compiled(["gcc", "-O1", "-Wall", "-Wextra", "-Wno-pedantic"], fmu, "here")
    return printed([str(host)], fmu)


def elsewhere(model: str, platform: str, level: str) -> list[str]:
    """Return what the host prints with the library for another platform."""
    emulator = EMULATORS[platform]
    program = found(emulator)
    fmu = exported(model, platform, level)
    hosts = [] if platform == "wasm32" else [str(crossed(fmu, platform))]
    return printed([program, *emulator.options, *hosts], fmu)


def test_a_platform_is_called_by_its_name_or_by_its_folder_in_either_version() -> None:
    for form in VERSIONS.values():
        assert set(form.tuples) == set(PLATFORMS)
        for name, folders in form.tuples.items():
            assert {NAMES[each] for each in (name, *folders)} == {name}
    path = exported(MODELS[0], "x86_64-linux", os.environ.get(LEVEL, "")).folder.parent / "again.fmu"
    mbfmu.export(MODELS[0], path, backend="native", platforms=["linux64", "x86_64-linux"])
    assert path.read_bytes() == (path.parent / f"{MODELS[0]}.fmu").read_bytes()


def test_all_stands_for_the_platforms_that_a_version_names_and_the_folders_of_others_are_told() -> None:
    assert requested("all", "python", "2.0") == (["x86_64-linux", "x86_64-windows"], ())
    assert requested("all", "native", "2.0")[0] == [
        name for name, folders in VERSIONS["2.0"].tuples.items() if folders[0] in FOLDERS
    ]
    assert requested("all", "native", "3.0")[0] == [name for name in PLATFORMS if name != "wasm32"]
    names, told = requested("aarch64-linux, win32,wasm32", "native", "2.0")
    assert names == ["aarch64-linux", "win32", "wasm32"]
    assert [text.partition(" in ")[2].partition(",")[0] for text in told] == [
        "binaries/aarch64-linux", "binaries/wasm32"
    ]  # fmt: skip
    assert requested("aarch32-linux,x86_64-darwin", "native", "3.0") == (["aarch32-linux", "x86_64-darwin"], ())


def newer(one: str, other: str) -> bool:
    """Return whether a version of glibc is newer than another one."""
    first, second = ([int(part) for part in name.partition("_")[2].split(".")] for name in (one, other))
    return first > second


QUICK = ("aarch64-linux", "armv7-linux", "riscv64-linux", "x86-linux")
"""Platforms whose C library zig need not compile."""


@pytest.mark.parametrize(
    "platform", [pytest.param(name, marks=[pytest.mark.further][: name not in QUICK]) for name in EMULATORS]
)
def test_a_library_without_optimisation_has_the_bits_and_states_of_this_machine_s(platform: str) -> None:
    level = os.environ.get(LEVEL, "")
    assert elsewhere(MODELS[0], platform, level) == expected(MODELS[0], level)
    fmu = exported(MODELS[0], platform, level)
    (folder,) = VERSIONS["2.0"].tuples[platform]
    (name,) = VERSIONS["3.0"].tuples[platform]
    assert library(fmu).parent.name == folder
    assert platforms_of(library(fmu).read_bytes()) == (name,)
    told = re.search(rf"^\| `{platform}` .*glibc ([\d.]+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    needed = needed_versions(library(fmu).read_bytes())
    assert [name for name in needed if not told or newer(name, f"GLIBC_{told[1]}")] == []
    assert bool(needed) == platform.endswith("linux")
    judged = {item.rule: item.status for item in report(fmu.folder.parent / f"{MODELS[0]}.fmu")}
    assert judged["platform-binary"] == "pass"
    assert judged["binary-format"] == ("pass" if platform != "wasm32" else "not applicable")


@pytest.mark.further
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("platform", EMULATORS)
def test_an_optimised_library_has_the_bits_and_states_of_this_machine_s(
    platform: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LEVEL, raising=False)
    assert elsewhere(model, platform, "") == expected(model, "")


def test_the_library_for_linux_runs_on_systems_with_musl_and_has_the_same_bits() -> None:
    level = os.environ.get(LEVEL, "")
    fmu = exported(MODELS[0], "x86_64-linux", level)
    host = compiled([found(MUSL), "-O1"], fmu, "musl")
    assert b"ld-musl" in host.read_bytes()
    assert printed([str(host)], fmu) == expected(MODELS[0], level)
