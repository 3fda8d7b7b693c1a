"""What an FMU's library needs of a Linux system: read from the file, told by the check, named where it is missing."""

import re
import shutil
import struct
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from masters import Unpacked

import mbfmu
from mbfmu.checker import report
from mbfmu.errors import MbfmuError
from mbfmu.fmi.elf import needed_versions

LOADER = Path(str(distribution("pythonfmu").locate_file("pythonfmu/resources/binaries/linux64/libpythonfmu-export.so")))
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux libraries need versions of glibc")


def hashed(name: bytes) -> int:
    """Return the hash of a symbol or version (System V ABI, 5)."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high if high else value
    return value


def renewed(library: bytes, old: bytes, new: bytes) -> bytes:
    """Return a library that needs another version of an interface."""
    assert len(old) == len(new)
    assert old + b"\0" in library
    before, after = (struct.pack("<I", hashed(name)) for name in (old, new))
    return library.replace(old + b"\0", new + b"\0").replace(before, after)


@pytest.mark.skipif(not shutil.which("readelf"), reason="needs readelf")
def test_the_versions_that_a_library_needs_are_those_of_readelf() -> None:
    done = subprocess.run(["readelf", "-V", str(LOADER)], capture_output=True, text=True, check=True)
    needed = done.stdout.partition(".gnu.version_r")[2]
    newest = {
        name: max(tuple(map(int, version.split("."))) for version in re.findall(rf"Name: {name}_([\d.]+)", needed))
        for name in ("GLIBC", "GLIBCXX")
    }
    assert needed_versions(LOADER.read_bytes()) == tuple(
        f"{name}_{'.'.join(map(str, version))}" for name, version in newest.items()
    )


def test_of_damaged_libraries_nothing_is_known() -> None:
    library = LOADER.read_bytes()
    for damaged in (b"", b"MZ", library[:100], library[: len(library) // 2], b"\x7fELF\x02\x01" + b"\xff" * 100):
        assert needed_versions(damaged) == ()


def test_the_check_tells_what_the_loader_of_pythonfmu_needs_and_a_run_names_what_is_missing(tmp_path: Path) -> None:
    fmu = mbfmu.export("two_link", tmp_path / "arm.fmu", platforms=["linux64"])
    (loaded,) = (item for item in report(fmu) if item.rule == "load")
    assert (loaded.status, loaded.message) == (
        "pass",
        "The library loads; it needs GLIBC_2.32 and GLIBCXX_3.4.30 or newer.",
    )
    later = tmp_path / "later.fmu"
    with zipfile.ZipFile(fmu) as source, zipfile.ZipFile(later, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in source.namelist():
            content = source.read(name)
            copy.writestr(
                name, renewed(content, b"GLIBC_2.32", b"GLIBC_9.32") if name.startswith("binaries") else content
            )
    (loaded,) = (item for item in report(later) if item.rule == "load")
    assert loaded.status == "fail"
    assert "version `GLIBC_9.32' not found" in loaded.message
    with pytest.raises(MbfmuError, match=r"version `GLIBC_9\.32' not found"):
        mbfmu.simulate(later, 0.1)


def test_an_instance_that_cannot_be_made_says_why_to_a_master_without_logging(tmp_path: Path) -> None:
    path = mbfmu.export("two_link", tmp_path / "arm.fmu", platforms=["linux64"])
    fmu = Unpacked(path, tmp_path / "arm")
    (fmu.folder / "resources" / "core" / "linux64.so").write_bytes(b"of another processor")
    script = f"import fmpy; fmpy.simulate_fmu({str(fmu.folder)!r}, stop_time=0.1)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "this FMU has no library for linux" in done.stderr
