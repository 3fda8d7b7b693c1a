"""A warm start is a cold one, only sooner: the same numbers, files and refusals, whatever the cache holds."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import cache_key, thorough
from mechanisms import slider_crank

import mbfmu
from mbfmu.base.cache import cache_folder
from mbfmu.dae import Layout
from mbfmu.errors import StartError, StepperError, UnknownNameError
from mbfmu.fmu.interface import interface
from mbfmu.kernel import Compiled
from mbfmu.kernel.build.toolchain import alone
from mbfmu.model import Block, Body, FixedTranslation, Parameter, Revolute, System, Value, World, connect, quantity
from mbfmu.model.library import known_models
from mbfmu.model.system_data import Subsystem
from mbfmu.prepared import start_cache
from mbfmu.prepared.prepare import Prepared, prepare

RUNS = """
import sys, numpy, mbfmu, mbfmu.prepared.prepare as room
derive, derived = room.derive, []
room.derive = lambda *given: derived.append(0) or derive(*given)
RUNS = [
    ("two_link", dict(stepper="direct")),
    ("two_link", dict(stepper="rattle", values={"l1": 0.8, "shoulder.phi": 0.3}, inputs={"shoulder.tau": "sin(time)"})),
    ("two_link", dict(stepper="gauss", options={"stages": 2}, coordinates="absolute")),
    ("slider_crank", dict(stepper="projected", options={"order": 5}, tolerance=1e-6)),
    ("four_bar", dict(stepper="radau", coordinates="joint")),
    ("chaplygin_sleigh", dict()),
    ("dc_motor", dict()),
    ("cart_pendulum", dict(stepper="lobatto")),
    ("trajectory", dict()),
][: int(sys.argv[2])]
found = [mbfmu.simulate(mbfmu.load(name), 0.02, step=1e-3, **given) for name, given in RUNS]
numpy.savez(sys.argv[1], *(numpy.column_stack([item.time, item.values]) for item in found))
print(len(RUNS), len(derived))
"""
EXPORTS = """
import sys, mbfmu
mbfmu.export(mbfmu.load("slider_crank"), sys.argv[1] + "/python.fmu", stepper="projected")
mbfmu.export(mbfmu.load("two_link"), sys.argv[1] + "/native.fmu", backend="native", stepper="rattle")
"""
KERNEL = """
import mbfmu, mbfmu.prepared.prepare
print(mbfmu.prepared.prepare.prepare(mbfmu.load("two_link"), "direct", {}, 1e-3).kernel.path)
"""


def started(script: str, cache: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start a script in a new process, with a cache of its own; what zig, the compiler, keeps for itself is shared."""
    own = {"XDG_CACHE_HOME": str(cache), "ZIG_GLOBAL_CACHE_DIR": str(cache_folder() / "zig")}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *map(str, arguments)],
        env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def told(process: subprocess.Popen[str]) -> str:
    """What a script says in the end."""
    out, complaints = process.communicate(timeout=300)
    assert process.returncode == 0, complaints
    return out


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mbfmu"


@pytest.fixture
def kept(cache: Path, two_link: System) -> Path:
    """The file that a first start of the two-link arm keeps."""
    first(two_link)
    (found,) = (cache / "starts").glob("*.json")
    return found


def first(system: System | Block, stepper: str | None = "direct", **given: Any) -> tuple[Prepared, Any]:
    """A model with its stepper, and its first state."""
    prepared = prepare(system, stepper, {}, 1e-3, **given)
    return prepared, bytes(prepared.initial_state())


# -- the same ---------------------------------------------------------------------------------------------------------


def test_a_warm_run_derives_nothing_and_gives_a_cold_runs_numbers_bit_for_bit(tmp_path: Path) -> None:
    files = [tmp_path / "cold.npz", tmp_path / "warm.npz"]
    said = [told(started(RUNS, tmp_path / "cache", file, 9)).split() for file in files]
    assert said == [["9", "9"], ["9", "0"]]
    cold, again = (np.load(file) for file in files)
    assert len(cold.files) == 9
    for name in cold.files:
        assert cold[name].tobytes() == again[name].tobytes()


BATCH = """
import mbfmu, mbfmu.prepared.prepare as room
derive, derived = room.derive, []
room.derive = lambda *given: derived.append(0) or derive(*given)
arms = mbfmu.Simulation("two_link", batch=9, stepper="direct", values={"l1": [0.1 * (k + 5) for k in range(9)]})
print(arms.step([1.0, 2.0], 0.01).tobytes().hex(), len(derived))
"""


def test_a_warm_batch_derives_nothing_and_has_the_same_bits(tmp_path: Path) -> None:
    cold, warm = (told(started(BATCH, tmp_path / "cache")).split() for _ in range(2))
    assert cold[0] == warm[0]
    assert [cold[1], warm[1]] == ["1", "0"]


@pytest.mark.usefixtures("cache")
def test_a_warm_start_tells_what_a_cold_one_told() -> None:
    """Between the two ways in which the loop closes: -1.03 and 2.77 rad."""
    system = slider_crank().with_values({"rod.phi": "guess(0.87)"})
    for cold in (True, False):
        prepared = prepare(system, "direct", {}, 1e-3)
        assert (prepared.cached is None) == cold
        with pytest.warns(UserWarning, match="the loops close in two ways"):
            prepared.initial_state()


@pytest.mark.slow
def test_processes_that_start_at_once_disturb_nobody(tmp_path: Path) -> None:
    files = [tmp_path / f"{k}.npz" for k in range(3)]
    for process in [started(RUNS, tmp_path / "cache", file, 3) for file in files[:2]]:
        told(process)
    assert told(started(RUNS, tmp_path / "cache", files[2], 3)).split() == ["3", "0"]
    runs = [np.load(file) for file in files]
    for name in runs[0].files:
        assert len({run[name].tobytes() for run in runs}) == 1


def test_a_warm_export_writes_the_bytes_of_a_cold_one(tmp_path: Path) -> None:
    for name in ("cold", "warm"):
        (tmp_path / name).mkdir()
        with alone(cache_folder() / "zig"):
            told(started(EXPORTS, tmp_path / "cache", tmp_path / name))
    for name in ("python.fmu", "native.fmu"):
        assert (tmp_path / "cold" / name).read_bytes() == (tmp_path / "warm" / name).read_bytes()


@pytest.mark.usefixtures("cache")
def test_the_outline_says_what_the_equations_say() -> None:
    for model in ("two_link", "slider_crank", "dc_motor"):
        cold, again = (first(mbfmu.load(model), None)[0] for _ in range(2))
        assert cold.cached is None
        assert again.cached is not None
        assert replace(again.outline, rows=None) == replace(cold.outline, rows=None)
        assert isinstance(cold.dae, Layout)
        for name in ("name", "inputs", "parameters", "outputs", "starts"):
            assert getattr(again.outline, name) == getattr(cold.dae, name)
        assert interface(again) == interface(cold)


def test_a_start_that_is_refused_is_refused_again_with_the_same_words(cache: Path) -> None:
    wrong = [
        slider_crank(crank_phi=1.5, l1=2.0, l2=1.0),
        mbfmu.load("n_four_bar", {"N": 1, "a0.phi": np.pi / 2}),
    ]
    for system in wrong:
        said = []
        for _ in range(2):
            with pytest.raises(StartError) as caught:
                first(system, "projected", coordinates="absolute")
            said.append(str(caught.value))
        assert said[0] == said[1]
    assert "singular position" in said[0]
    assert len(list((cache / "starts").glob("*.json"))) == len(wrong)


@pytest.mark.usefixtures("kept")
def test_what_is_wrong_with_a_question_is_said_at_once_however_warm(two_link: System) -> None:
    with pytest.raises(UnknownNameError, match="no stepper 'nothing'"):
        prepare(two_link, "nothing", {}, 1e-3)
    with pytest.raises(StepperError, match="no option 'nothing'"):
        prepare(two_link, "direct", {"nothing": 1}, 1e-3)
    multistep = {"method": "abm4"}
    prepare(two_link, "direct", multistep, 1e-3).kernel  # noqa: B018
    with pytest.raises(StepperError, match="multistep"):
        prepare(two_link, "direct", multistep, 1e-3, tolerance=1e-6)


@pytest.mark.usefixtures("kept")
def test_step_and_tolerance_are_those_asked_for(two_link: System) -> None:
    prepared = prepare(two_link, "direct", {}, 2e-3, 0.0)
    assert prepared.cached is not None
    assert prepared.step == 2e-3
    starts = {item.name: item.start for item in interface(prepared).variables}
    assert starts["solver.step"] == 2e-3


@pytest.mark.usefixtures("cache")
def test_a_model_that_changes_after_a_warm_start_is_derived_as_it_was() -> None:
    places: list[Value] = [2.0, 0.0]
    system = pendulum(FixedTranslation("hook", r=places))  # type: ignore[arg-type]
    cold = first(system)[0].dae
    again = first(system)[0]
    assert again.cached is not None
    places[0] = 3.0
    assert again.dae.parameters == cold.parameters


# -- the hash ---------------------------------------------------------------------------------------------------------


def pendulum(hook: Any) -> System:
    """A pendulum on a hook."""
    return System(
        name="hung",
        planar=True,
        components=(World(), hook, Revolute("pin", phi=0.5), Body("bob", m=1.0, I_33=1.0)),
        connections=(
            connect("world.frame_b", "hook.frame_a"),
            connect("hook.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "bob.frame_a"),
        ),
    )


def test_the_models_of_the_library_start_warm_but_those_with_a_class_of_their_own() -> None:
    found = {name for name in known_models() if cache_key(mbfmu.load(name), None, {}, None, False) is None}
    assert found == {"driven_pendulum", "flexible_pendulum", "ice_skate_harmonic", "quarter_car"}


def test_whatever_may_change_the_kernel_or_its_outline_changes_the_hash(
    two_link: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = tuple(replace(item, value=1.1) if item.name == "l1" else item for item in two_link.parameters)
    actuated = tuple(
        replace(item, actuated=not item.actuated) if isinstance(item, Revolute) else item
        for item in two_link.components
    )
    systems: Mapping[str, System] = {
        "as it is": two_link,
        "parameter": replace(two_link, parameters=longer),
        "type of a number": replace(two_link, parameters=tuple(replace(p, min=-0.0) for p in two_link.parameters)),
        "bound": replace(two_link, parameters=tuple(replace(p, max=9.0) for p in two_link.parameters)),
        "one parameter more": replace(two_link, parameters=(*two_link.parameters, Parameter("spare", 1.0))),
        "start value": two_link.with_values({"shoulder.phi": 0.1}),
        "name": replace(two_link, name="other"),
        "description": replace(two_link, description="other"),
        "order": replace(two_link, components=two_link.components[::-1]),
        "switch": replace(two_link, components=tuple(actuated)),
        "connections": replace(two_link, connections=two_link.connections[::-1]),
        "stepper": replace(two_link, stepper="radau"),
        "within": System("two_link", (Subsystem("inner", two_link),), planar=True),
        "within, with a value": System("two_link", (Subsystem("inner", two_link, {"l1": 0.5}),), planar=True),
    }
    found = {name: cache_key(system, None, {}, None, False) for name, system in systems.items()}
    found["stepper asked for"] = cache_key(two_link, "direct", {}, None, False)
    found["option"] = cache_key(two_link, "direct", {"method": "rk4"}, None, False)
    found["coordinates"] = cache_key(two_link, None, {}, "absolute", False)
    found["tolerance"] = cache_key(two_link, None, {}, None, True)
    found["step too long"] = cache_key(two_link, None, {}, None, False, long=True)
    found["energy balance"] = cache_key(two_link, None, {}, None, False, energy_balance=True)
    found["choices"] = cache_key(two_link, None, {}, None, False, choices=("shoulder.phi",))
    found["inputs as formulas"] = cache_key(two_link, None, {}, None, False, formulas={"shoulder.tau": "sin(time)"})
    monkeypatch.setattr(start_cache, "PROGRAM", start_cache.PROGRAM + " ")
    found["versions or sources"] = cache_key(two_link, None, {}, None, False)
    monkeypatch.setenv("CC", sys.executable)
    found["compiler"] = cache_key(two_link, None, {}, None, False)
    assert None not in found.values()
    for (a, one), (b, other) in permutations(found.items(), 2):
        assert one != other, (a, b)


def test_the_same_model_read_again_has_the_same_hash() -> None:
    first_time, second_time = (cache_key(mbfmu.load("stewart"), "radau", {}, None, False) for _ in range(2))
    assert first_time == second_time


def test_the_source_that_decides_is_in_the_hash() -> None:
    for name in (
        "model/joints/revolute.py", "dae/linear_algebra/redundancy.py", "stepper/radau.py", "kernel/c/driver.c",
        "kernel/codegen.py", "prepared/prepare.py", "prepared/outline.py", "prepared/start_cache.py",
    ):  # fmt: skip
        assert f"'{name}'" in start_cache.PROGRAM


@dataclass(frozen=True)
class Hook(FixedTranslation):
    """A part of a user's."""

    length: Value = quantity(1.0, "m", "length of the hook")


class Text(str):
    """A text that could do anything."""


def with_attribute(part: FixedTranslation) -> FixedTranslation:
    object.__setattr__(part, "wrench", lambda: None)
    return part


FOREIGN = {
    "class": pendulum(Hook("hook", r=(2.0, 0.0))),
    "class within": System("outer", (Subsystem("inner", pendulum(Hook("hook", r=(2.0, 0.0)))),), planar=True),
    "value": replace(pendulum(FixedTranslation("hook", r=(2.0, 0.0))), description=Text("a pendulum")),
    "attribute": pendulum(with_attribute(FixedTranslation("hook", r=(2.0, 0.0)))),
}
"""Models in which something is not mbfmu's own."""


@pytest.mark.parametrize("system", FOREIGN.values(), ids=list(FOREIGN))
def test_a_model_with_something_that_is_not_mbfmus_own_is_never_kept(system: System, cache: Path) -> None:
    for _ in range(2):
        assert first(system)[0].cached is None
    assert not (cache / "starts").exists()


def test_a_class_that_pretends_to_be_mbfmus_own_is_never_kept() -> None:
    names = {key: getattr(FixedTranslation, key) for key in ("__module__", "__qualname__")}
    pretender = type("FixedTranslation", (FixedTranslation,), names)
    assert cache_key(pendulum(pretender("hook", r=(2.0, 0.0))), None, {}, None, False) is None


def test_with_a_stepper_that_is_not_mbfmus_own_nothing_is_kept(
    two_link: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = start_cache.FAMILIES["direct"]
    monkeypatch.setitem(start_cache.FAMILIES, "direct", replace(family, make=foreign))
    assert cache_key(two_link, "direct", {}, None, False) is None


def foreign() -> None:
    """Not a stepper."""


# -- the files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:0],
        lambda whole: whole[:-1],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole.replace(b"shoulder", b"Shoulder"),
        lambda whole: whole + b" ",
        lambda whole: whole[::-1],
    ],
    ids=["empty", "an end short", "cut", "one letter", "longer", "backwards"],
)
def test_a_file_that_is_not_whole_is_ignored_and_written_again(damage: Any, kept: Path, two_link: System) -> None:
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))
    prepared, x = first(two_link)
    assert prepared.cached is None
    assert kept.read_bytes() == whole
    again, same = first(two_link)
    assert again.cached is not None
    assert same == x


def test_a_file_of_another_hash_is_ignored(kept: Path, two_link: System) -> None:
    other = two_link.with_values({"l1": 0.5})
    key = cache_key(other, "direct", {}, None, False)
    for ending in ("json", "json.sha256"):
        kept.with_name(f"{key}.{ending}").write_bytes(kept.with_name(f"{kept.stem}.{ending}").read_bytes())
    prepared = first(other)[0]
    assert prepared.cached is None
    assert dict(zip((p.name for p in prepared.dae.parameters), prepared.dae.p_default(), strict=True))["l1"] == 0.5


DAMAGE = ["missing", "empty", "cut", "one letter"]
DAMAGES = [None, lambda whole: whole[:0], lambda whole: whole[:5000], lambda whole: whole[:-9] + b"?" + whole[-8:]]


@pytest.mark.parametrize(
    "damage", thorough(zip(DAMAGES), lambda damage: damage in (DAMAGES[0], DAMAGES[3])), ids=DAMAGE
)
@pytest.mark.usefixtures("kept")
def test_a_library_that_is_missing_or_damaged_is_made_again(damage: Any, cache: Path, tmp_path: Path) -> None:
    (library,) = (cache / "kernels").glob("*.so")
    whole = library.read_bytes()
    library.unlink()
    if damage is not None:
        library.write_bytes(damage(whole))
    assert told(started(KERNEL, tmp_path / "cache")).strip() == str(library)
    assert library.read_bytes() == whole


@pytest.mark.parametrize("damage", thorough(zip(DAMAGES[1:]), lambda damage: damage is DAMAGES[3]), ids=DAMAGE[1:])
def test_a_library_that_is_damaged_is_made_again_though_nothing_else_is_kept(
    damage: Any, kept: Path, cache: Path, tmp_path: Path
) -> None:
    """It is then found by its source alone, as that of a model with a class of its own is."""
    (library,) = (cache / "kernels").glob("*.so")
    whole = library.read_bytes()
    library.unlink()
    library.write_bytes(damage(whole))
    kept.unlink()
    assert told(started(KERNEL, tmp_path / "cache")).strip() == str(library)
    assert library.read_bytes() == whole


def test_a_cache_that_cannot_be_written_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_link: System
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    states = set()
    for _ in range(2):
        prepared, x = first(two_link)
        states.add(x)
        assert isinstance(prepared.kernel, Compiled)
        assert prepared.cached is None
    assert len(states) == 1


def test_without_a_compiler_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_link: System) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "none"))
    assert cache_key(two_link, "direct", {}, None, False) is None
