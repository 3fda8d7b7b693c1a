"""Kernels of tcc: there at once, with the bits of the optimised ones that follow them."""

import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.kernel import Compiled, load, loading, vector
from mbfmu.kernel.build import early, toolchain
from mbfmu.kernel.build.early import Early
from mbfmu.kernel.build.toolchain import LEVEL, BuildError, Library, Toolchain, built, for_kernels, host, local, tcc
from mbfmu.model import System
from mbfmu.prepared.prepare import prepare

pytestmark = pytest.mark.skipif(tcc() is None, reason="tcc is installed on Linux and Windows for Intel and AMD alone")
H = 1e-3
CASES = [
    ("two_link", "rattle", "absolute"),
    ("slider_crank", "projected", "joint"),
    pytest.param("arm6", "direct", "joint", marks=pytest.mark.further),
    pytest.param("slider_crank_friction", "projected", "joint", marks=pytest.mark.further),
    pytest.param("sampled_pid_two_link", "direct", "joint", marks=pytest.mark.further),
    pytest.param("excavator_flexible", "radau", "joint", marks=pytest.mark.further),
]
"""Model, stepper and coordinates."""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The empty folder of a cache, and no level of optimisation asked for."""
    monkeypatch.delenv(LEVEL, raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "mbfmu"


@pytest.fixture
def held(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What lets an optimising compiler begin."""
    assert not fresh.exists()
    go = threading.Event()

    def later(sources: Any, compiler: Toolchain, *more: Any) -> Library:
        if compiler != tcc():
            assert go.wait(60)
        return built(sources, compiler, *more)

    monkeypatch.setattr(early, "built", later)
    yield go
    go.set()


@pytest.fixture
def bare(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any compiler but tcc."""
    loading._notice.cache_clear()
    monkeypatch.setenv("PATH", str(fresh))
    monkeypatch.setattr(toolchain, "_has_zig", lambda: False)


def stepped(simulation: mbfmu.Simulation, count: int) -> bytes:
    """Return the state after some steps."""
    for _ in range(count):
        simulation.step({}, H)
    return simulation.state


@pytest.mark.parametrize(("name", "stepper", "coordinates"), CASES)
def test_tcc_gives_the_bits_of_an_optimised_kernel(name: str, stepper: str, coordinates: str) -> None:
    prepared = prepare(mbfmu.load(name), stepper, {}, H, coordinates=coordinates)
    outline, sources = prepared.outline, early.c_sources(prepared.bundle)
    u, p = vector(outline.u_default()), vector(outline.p_default())
    found = []
    for compiler in (tcc(), local()):
        assert compiler is not None
        kernel = Compiled(str(built(sources, compiler, "kernel").path))
        x, _ = kernel.initialize(vector(outline.s_default()), u, p, 0.0, H)
        still = vector([0.0] * len(u))
        for k in range(20):
            x, y, failure = kernel.communicate(x, u, still, p, k * H, H, H, 0.0)
            assert failure is None
        found.append([bytes(x), bytes(y)])  # type: ignore[arg-type]
    assert found[0] == found[1]


def test_a_simulation_begins_at_once_and_goes_on_optimised_to_the_same_bits(
    held: threading.Event, two_link: System
) -> None:
    given: dict[str, Any] = {"stepper": "rattle", "step": H}
    simulation = mbfmu.Simulation(two_link, **given)
    kernel = simulation._kernel
    assert isinstance(kernel, Compiled)
    first = kernel.path
    stepped(simulation, 20)
    assert kernel.path == first
    held.set()
    simulation.finish_compiling()
    assert kernel.path != first
    found = stepped(simulation, 20)
    again = mbfmu.Simulation(two_link, **given)  # from the cache, optimised from the start
    assert again._kernel.path == kernel.path  # type: ignore[union-attr]
    assert stepped(again, 40) == found


def test_the_rest_of_the_package_takes_the_optimised_kernel_alone(held: threading.Event, two_link: System) -> None:
    prepared = prepare(two_link, "direct", {}, H)
    begun = prepared.early_kernel
    held.set()
    assert prepared.kernel is begun
    assert isinstance(begun, Compiled)
    compiler = local()
    assert compiler is not None
    assert begun.path == str(built(early.c_sources(prepared.bundle), compiler, "kernel").path)


def test_python_ends_after_the_optimised_kernel_is_there(fresh: Path) -> None:
    script = "import mbfmu; mbfmu.Simulation('two_link', stepper='rattle').step({}, 0.01)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((fresh / "kernels").glob("*.so"))) == 2
    assert len(list((fresh / "starts").glob("*.json"))) == 1


@pytest.mark.parametrize("error", [BuildError("no space"), OSError("gone")])
def test_where_the_optimising_compiler_fails_the_kernel_goes_on_as_it_is_with_a_warning(
    error: Exception, two_link: System
) -> None:
    kernel = prepare(two_link, "direct", {}, H).kernel
    assert isinstance(kernel, Compiled)
    path = kernel.path

    def fail() -> Library:
        raise error

    with pytest.warns(RuntimeWarning, match=f"the C compiler failed: {error}.*three to five times"):
        Early(kernel, fail).finish()
    assert kernel.path == path


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are no signals on Windows")
def test_an_interrupt_ends_the_optimising_compiler_without_another_word(fresh: Path) -> None:
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # ignored in the background
    script = f"{heard}; import mbfmu; mbfmu.Simulation('arm6', stepper='rattle'); print('begun', flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    os.killpg(process.pid, signal.SIGINT)
    complaint = process.communicate(timeout=60)[1]
    assert complaint.endswith("KeyboardInterrupt\n")
    assert len(list((fresh / "kernels").glob("*.so"))) == 1


@pytest.mark.usefixtures("fresh")
def test_there_is_no_early_kernel_where_it_gains_nothing(two_link: System, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, made = prepare(two_link, "direct", {}, H).bundle, list[Library]()
    kernel = load(bundle)
    found = early.early(bundle, made.append)
    assert found is not None
    assert isinstance(kernel, Compiled)
    assert [found.kernel.path] == [str(library.path) for library in made] == [kernel.path]
    with monkeypatch.context() as patch:
        patch.setenv(LEVEL, "2")
        assert early.early(bundle, print) is None
    with monkeypatch.context() as patch:
        patch.setenv("CC", "cc")
        assert early.early(bundle, print) is None
    with monkeypatch.context() as patch:
        patch.setattr(early, "local", lambda: None)
        assert early.early(bundle, print) is None


@pytest.mark.usefixtures("fresh")
def test_without_optimisation_tcc_makes_kernels_but_no_fmus_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    assert for_kernels() == local() != tcc()
    monkeypatch.setenv(LEVEL, "0")
    assert for_kernels() == for_kernels(portable=True) == tcc()
    assert host() != tcc()
    monkeypatch.setenv("CC", "cc")
    assert for_kernels() == local()
    monkeypatch.setenv("CC", "no-such-compiler")
    assert for_kernels() is None


@pytest.mark.usefixtures("bare")
def test_without_another_compiler_events_and_tolerances_work_and_a_notice_tells_what_is_faster() -> None:
    with pytest.warns(RuntimeWarning, match=r"no C compiler but tcc found: .*three to five times.*install"):
        found = mbfmu.simulate(mbfmu.load("bouncing_ball"), 0.6, tolerance=1e-6)
    assert np.isfinite(found.values).all()


@pytest.mark.usefixtures("bare")
def test_without_another_compiler_an_fmu_has_a_kernel_of_tcc(tmp_path: Path, two_link: System) -> None:
    with pytest.warns(RuntimeWarning, match="no C compiler but tcc found"):
        path = mbfmu.export(two_link, tmp_path / "two_link.fmu", stepper="rattle")
    expected = mbfmu.simulate(two_link, 0.05, stepper="rattle", output_interval=0.01)
    found = mbfmu.simulate(path, 0.05, output_interval=0.01)
    assert found["elbow.phi"].tolist() == expected["elbow.phi"].tolist()


@pytest.mark.parametrize(
    ("system", "machine"), [("darwin", "arm64"), ("darwin", "x86_64"), ("linux", "aarch64"), ("win32", "ARM64")]
)
def test_there_is_no_tcc_for_other_platforms(system: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert tcc() is None


def test_a_library_of_tcc_needs_no_c_library_but_that_of_its_process(two_link: System) -> None:
    prepared = prepare(two_link, "direct", {}, H)
    compiler = tcc()
    assert compiler is not None
    library = built(early.c_sources(prepared.bundle), compiler, "kernel")
    assert b"libm.so" not in library.content
    assert b"libc.so" not in library.content
