"""Kernels: compiled equals interpreted, failures are reported, state in and state out."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import DEFAULTS, ENDS, both_kernels, label, run, thorough
from interpreted import Interpreted
from mechanisms import MECHANISMS, free_body, slider_crank

import mbfmu
from mbfmu.errors import KernelError
from mbfmu.kernel import at_once, compiled_library, load, recording, vector
from mbfmu.kernel.build.toolchain import tcc
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.failure import Facts
from mbfmu.kernel.runtime import INCONSISTENT_START, NOT_CONVERGED, NOT_FINITE, OK, Compiled, move
from mbfmu.model import System
from mbfmu.prepared.prepare import prepare

LARGE = ("spatial_arm", "spatial_two_link")
"""Mechanisms whose kernels take seconds to compile: they meet every family once, the others the ends of its options."""


@pytest.mark.parametrize(
    ("mechanism", "scheme"),
    thorough(
        ((name, scheme) for name in MECHANISMS for scheme in (DEFAULTS if name in LARGE else ENDS)),
        lambda name, scheme: (
            (scheme in DEFAULTS and name == "slider_crank")
            or (scheme in DEFAULTS and scheme[0] in {"projected", "rattle", "gauss"} and name == "free_body")
            or (scheme in DEFAULTS and scheme[0] == "projected" and name not in LARGE)
        ),
    ),
    ids=lambda item: item if isinstance(item, str) else label(item),
)
def test_compiled_and_interpreted_kernels_agree_to_round_off(
    mechanism: str, scheme: tuple[str, Mapping[str, Any]]
) -> None:
    prepared = prepare(MECHANISMS[mechanism](), scheme[0], scheme[1], 1e-3)
    compiled, interpreted = (run(prepared, 0.05, 1e-3, 0.2, kernel) for kernel in both_kernels(prepared))
    assert compiled.status.substeps == interpreted.status.substeps == 50
    for name, value in compiled.y.items():
        scale = 1.0 + abs(value)
        assert abs(value - interpreted.y[name]) < 2e-10 * scale, name
    assert compiled.q == pytest.approx(interpreted.q, abs=5e-12)  # extrapolation, 50 steps: the sines differ in 1e-16
    assert compiled.v == pytest.approx(interpreted.v, abs=1e-10)


@pytest.mark.parametrize(
    "make", [lambda p: both_kernels(p)[0], lambda p: both_kernels(p)[1]], ids=["compiled", "interpreted"]
)
class TestFailures:
    """What both kernels do when a step or a start cannot be done."""

    def test_a_step_that_does_not_converge_is_reported_and_keeps_the_state(
        self, make: Callable[[Any], Any], two_link: System
    ) -> None:
        prepared = prepare(two_link, "rattle", {}, 1.0)
        kernel = make(prepared)
        x = prepared.initial_state()
        before = bytes(x)
        u, p = vector([1e9, -1e9]), vector(prepared.dae.p_default())
        x1, status = kernel.advance(x, u, vector([0.0, 0.0]), p, 0.0, 10.0, 3)
        assert status.code in {NOT_CONVERGED, NOT_FINITE}
        assert bytes(x1) == before == bytes(x)
        assert "t = " in Facts("arm").message(status)
        assert "solver.step" in Facts("arm").message(status)

    def test_inputs_that_are_not_finite_are_reported(self, make: Callable[[Any], Any], two_link: System) -> None:
        prepared = prepare(two_link, "direct", {}, 1e-3)
        kernel = make(prepared)
        x = prepared.initial_state()
        bad = vector([float("nan"), 0.0])
        x1, status = kernel.advance(x, bad, vector([0.0, 0.0]), vector(prepared.dae.p_default()), 0.0, 1e-3, 1)
        assert status.code == NOT_FINITE
        assert bytes(x1) == bytes(x)

    def test_a_step_too_long_is_done_in_parts(self, make: Callable[[Any], Any]) -> None:
        """A step over which the slider-crank's Newton method fails is taken in halves, and all parts count."""
        prepared = prepare(slider_crank().with_values({"crank.w": 40.0}), "rattle", {}, 1e-3)
        kernel = make(prepared)
        x = prepared.initial_state()
        p, u = vector(prepared.dae.p_default()), vector([0.0])
        tried = [kernel.advance(x, u, u, p, 0.0, h, 1)[1] for h in np.linspace(0.02, 0.4, 39)]
        parted = [status for status in tried if status.code == OK and status.substeps > 1]
        assert parted
        assert all(status.least_step < 0.4 for status in parted)

    def test_an_impossible_start_is_reported(self, make: Callable[[Any], Any]) -> None:
        prepared = prepare(slider_crank(crank_phi=1.5, l1=2.0, l2=1.0), "rattle", {}, 1e-3)
        kernel = make(prepared)
        s, p = vector(prepared.dae.s_default()), vector(prepared.dae.p_default())
        _, status = kernel.initialize(s, vector([0.0]), p, 0.0, 1e-3)
        assert status.code in {NOT_CONVERGED, INCONSISTENT_START}


@pytest.mark.parametrize(
    ("name", "iteration", "h", "halved"),
    [
        ("two_link", "newton", 1e-3, False),
        ("two_link", "simplified", 1e-3, False),
        ("spatial_two_link", "simplified", 1e-3, False),
        ("spatial_two_link", "simplified", 0.2, True),
        ("driven", "simplified", 1e-3, False),
    ],
)
def test_many_steps_in_one_call_equal_single_steps_bitwise(name: str, iteration: str, h: float, halved: bool) -> None:
    """What a step leaves to the next one, such as the factor at its end, is what that would compute itself."""
    system = MECHANISMS[name]() if name in MECHANISMS else mbfmu.load("driven_pendulum" if name == "driven" else name)
    prepared = prepare(system, "rattle", {"iteration": iteration}, h, coordinates="absolute")
    kernel, p, u = prepared.kernel, vector(prepared.dae.p_default()), vector(prepared.outline.u_default())
    still = vector([0.0] * len(u))
    x = prepared.initial_state(u)
    together, status = kernel.advance(x, u, still, p, 0.0, h, 20)
    assert status.code == OK
    assert (status.substeps > 20) == halved
    for k in range(20):
        x, _ = kernel.advance(x, u, still, p, k * h, h, 1)
    assert bytes(x) == bytes(together)


def test_input_rates_interpolate_the_inputs_within_the_call(two_link: System) -> None:
    """Both kernels take u + du (t' - t): a ramp over ten steps is the ramp cut into ten calls."""
    prepared = prepare(two_link, "direct", {}, 1e-3)
    p, u, du = vector(prepared.dae.p_default()), vector([1.0, 0.0]), vector([50.0, -20.0])
    ends = []
    for kernel in both_kernels(prepared):
        x0 = prepared.initial_state(u)
        once, _ = kernel.advance(x0, u, du, p, 0.0, 1e-3, 10)
        x = x0
        for k in range(10):
            now = vector([a + b * k * 1e-3 for a, b in zip(u, du, strict=True)])
            x, _ = kernel.advance(x, now, du, p, k * 1e-3, 1e-3, 1)
        assert np.array(once) == pytest.approx(np.array(x), abs=1e-14)
        held, _ = kernel.advance(x0, u, vector([0.0, 0.0]), p, 0.0, 1e-3, 10)
        assert np.max(np.abs(np.array(once) - np.array(held))) > 1e-6
        ends.append(np.array(once))
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)


def test_the_same_bundle_gives_the_same_source(two_link: System) -> None:
    first, second = (c_sources(prepare(two_link, "gauss", {}, 1e-3).bundle) for _ in range(2))
    assert first == second


@pytest.mark.skipif(sys.platform == "win32", reason="compilers have other names there")
def test_the_source_compiles_without_a_warning_of_our_own(two_link: System, tmp_path: Path) -> None:
    sources = c_sources(prepare(two_link, "rattle", {}, 1e-3).bundle)
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    command = [
        "cc",
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wno-unused",
        "-Werror",
        "-c",
        *(tmp_path / name for name in sources if name.endswith(".c")),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_compiled_kernel_is_found_again_in_the_cache(two_link: System) -> None:
    bundle = prepare(two_link, "rattle", {}, 1e-3).bundle
    first, second = compiled_library(bundle), compiled_library(bundle)
    assert first == second
    assert first.stat().st_mtime_ns == second.stat().st_mtime_ns


@pytest.mark.skipif(sys.platform == "win32", reason="$CC is not read on Windows")
def test_without_a_compiler_there_is_no_kernel_and_the_remedy_is_told(
    two_link: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "none")
    bundle = prepare(two_link, "direct", {}, 1e-3).bundle
    for make in (load, at_once, recording):
        with pytest.raises(KernelError, match=r"kernels need a C compiler .* and there is none: .* install"):
            make(bundle)


def broken_compiler(folder: Path) -> Path:
    """Write a compiler that fails."""
    folder.mkdir()
    broken = folder / "cc"
    broken.write_text("#!/bin/sh\ntest \"$1\" = --version && exit 0\necho 'kernel.c: cannot' >&2\nexit 1\n")
    broken.chmod(0o755)
    return broken


@pytest.mark.skipif(sys.platform == "win32", reason="$CC is not read on Windows")
def test_a_compiler_that_is_asked_for_and_fails_is_an_error(
    two_link: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", str(broken_compiler(tmp_path / "broken")))
    bundle = prepare(two_link, "direct", {}, 1e-3).bundle
    with pytest.raises(KernelError, match=r"the C compiler failed: kernel\.c: cannot"):
        load(bundle)


@pytest.mark.skipif(tcc() is None, reason="needs tcc")
def test_where_a_compiler_fails_tcc_makes_the_kernel_with_one_notice(
    two_link: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prepared = prepare(two_link, "direct", {}, 1e-3)
    expected = run(prepared, 0.05, 1e-3)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(broken_compiler(tmp_path / "broken").parent))
    monkeypatch.setenv("MBFMU_OPTIMIZATION", "1")
    with pytest.warns(RuntimeWarning, match=r"the C compiler failed: kernel\.c: cannot: kernels of tcc"):
        kernel = load(prepared.bundle)
    assert bytes(run(prepared, 0.05, 1e-3, kernel=kernel).x) == bytes(expected.x)


def test_angles_are_counted_over_full_turns_by_both_kernels() -> None:
    """The state carries the angle, so a spatial revolute goes on beyond 2 pi where its quaternion cannot tell."""
    from mbfmu.model import Body, Revolute, World, connect

    spinning = System(
        name="rotor",
        components=(
            World(g=0.0),
            Revolute("axle", n=(0, 0, 1), phi=1.0, w=20.0),
            Body("rotor", m=1.0, I_11=1.0, I_22=1.0, I_33=1.0),
        ),
        connections=(connect("world.frame_b", "axle.frame_a"), connect("axle.frame_b", "rotor.frame_a")),
    )
    prepared = prepare(spinning, "rattle", {}, 1e-3)
    for kernel in both_kernels(prepared):
        assert isinstance(kernel, Compiled | Interpreted)
        assert run(prepared, 2.0, 1e-3, kernel=kernel).y["axle.phi"] == pytest.approx(41.0, abs=1e-2)


def test_a_body_without_inputs_turns_freely_and_keeps_momentum_and_energy() -> None:
    """500 steps of order 8 change them by 1e-14; the bound leaves room for another processor's rounding."""
    prepared = prepare(free_body(), "projected", {"order": 8}, 1e-3)
    assert not prepared.dae.inputs
    for kernel in both_kernels(prepared):
        first, last = (run(prepared, stop, 1e-3, kernel=kernel).y for stop in (1e-3, 0.501))
        assert abs(last["body.Q[1]"] - first["body.Q[1]"]) > 0.1
        kept = [name for name in first if name.startswith(("momentum", "energy"))]
        assert len(kept) == 9
        for name in kept:
            assert last[name] == pytest.approx(first[name], abs=1e-12), name


@pytest.mark.parametrize("stepper", ["direct", "rattle"])
@pytest.mark.parametrize("span", [5e-324, 1e-310, 1e-200])
def test_a_span_of_the_smallest_numbers_comes_to_an_end(span: float, stepper: str, two_link: System) -> None:
    """Chosen steps cannot become arbitrarily short there: the step is done, or refused."""
    prepared = prepare(two_link, stepper, {}, 1e-3)
    p, u = vector(prepared.dae.p_default()), vector([3.0, 0.5])
    x, still = prepared.initial_state(u), vector([0.0, 0.0])
    x1, status = prepared.kernel.control(x, u, still, p, 0.25, span, 1e-3, 0.1)
    assert status.code == OK or bytes(x1) == bytes(x)


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_a_communication_step_in_one_call_is_its_steps_and_then_the_outputs(tolerance: float, two_link: System) -> None:
    """With inputs that change meanwhile, bit for bit; and it says how it failed, the state being what it was."""
    prepared = prepare(two_link, "rattle", {}, 1e-3)
    p, u, du = vector(prepared.dae.p_default()), vector([1.0, -2.0]), vector([30.0, 5.0])
    kernel = prepared.kernel
    x, _ = kernel.initialize(vector(prepared.dae.s_default()), u, p, 0.0, 1e-3)
    for _ in range(3):
        x1, y, failure = kernel.communicate(x, u, du, p, 0.5, 4.5e-3, 1e-3, tolerance)
        expected, status = move(kernel, x, u, du, p, 0.5, 4.5e-3, 1e-3, tolerance)
        assert (failure, status.code) == (None, OK)
        assert list(x1) == list(expected)
        end = vector(a + b * 4.5e-3 for a, b in zip(u, du, strict=True))
        assert list(y) == list(kernel.outputs(x1, end, p, 0.5 + 4.5e-3))
        x, u, p = x1, vector(u), vector(p)
    same, none, failure = kernel.communicate(x, vector([1e90, 0.0]), du, p, 0.5, 1e-3, 1e-3, tolerance)
    assert (same, none) == (x, None)
    assert failure.code in {NOT_CONVERGED, NOT_FINITE}
    assert "no step from t = 0.5 s" in Facts("arm").message(failure)
