"""The error of a coupled run, estimated by steps in halves: against the truth, and without a change of the run."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from masters import NO_LOADER
from pythonfmu.builder import FmuBuilder  # before an FMU of this process brings its own pythonfmu, without binaries
from test_cosimulation import SPRUNG, mass, spring

import mbfmu
from mbfmu.errors import ResultWarning, StepError
from mbfmu.fmu.ssp import Wire
from mbfmu.model import Block, Defined, Parameter
from mbfmu.run.couple import couple
from mbfmu.run.coupling_error import CoupledSignal, Segment, activity_of, chosen, estimated, lasting

PROPORTIONAL = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Real


class Proportional(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.y, self.u, self.steps = 0.0, 0.0, 0
        self.register_variable(Real("y", causality=Fmi2Causality.input))
        self.register_variable(Real("u", causality=Fmi2Causality.output))

    def do_step(self, time, size):
        self.steps += 1
        self.u = 100.0 * (0.5 - self.y) + HIDDEN * self.steps
        return True
"""
"""A controller that keeps a number of steps to itself, of which its output may have a part."""


DAMPER = 2.0
"""N.s/m."""


def damped() -> Block:
    """A spring with a damper beside it."""
    block = spring()
    force = Defined("f", "-c*x - d*v", "N", output=True)
    return Block("damped", block.inputs, block.states, (force,), (*block.parameters, Parameter("d", DAMPER, "N.s/m")))


@pytest.fixture(scope="module")
def masses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A mass, a spring, and one with a damper."""
    folder = tmp_path_factory.mktemp("masses")
    models = {"mass": (mass(), "rattle"), "spring": (spring(), "projected"), "damped": (damped(), "projected")}
    return {
        name: mbfmu.export(model, folder / f"{name}.fmu", stepper=stepper, step=1e-3, backend="native")
        for name, (model, stepper) in models.items()
    }


def controller(folder: Path, hidden: float = 0.0, **options: bool) -> Path:
    """Return the FMU of the controller, as pythonfmu makes it."""
    script = folder / f"proportional{len(options)}.py"  # a process imports a module of one name once
    script.write_text(PROPORTIONAL.replace("HIDDEN", str(hidden)), encoding="utf-8")
    return Path(FmuBuilder.build_FMU(script, dest=folder, **options))


def closed_form(time: Any, d: float) -> tuple[Any, Any]:
    """Return displacement and velocity of 1 kg on 100 N/m from 1 m, with a damper."""
    damping, swing = d / 2, math.sqrt(100 - d**2 / 4)
    decay = np.exp(-damping * time)
    s = decay * (np.cos(swing * time) + damping / swing * np.sin(swing * time))
    return s, -decay * 100 / swing * np.sin(swing * time)


WAYS: list[dict[str, Any]] = [{}, {"order": "jacobi", "extrapolation": 0}, {"passes": 2}, {"tolerance": 1e-3}]


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
@pytest.mark.parametrize("how", WAYS, ids=str)
@pytest.mark.parametrize(("name", "d", "stop"), [("spring", 0.0, 2.0), ("damped", DAMPER, 8.0)])
def test_the_estimate_is_the_true_error_within_a_factor_of_three(
    masses: dict[str, Path], how: dict[str, Any], name: str, d: float, stop: float
) -> None:
    """By the closed form; the long run is compared at its start, and its damper forgets errors."""
    run = couple({"mass": masses["mass"], "spring": masses[name]}, SPRUNG, stop, 0.01, **how)
    true = []
    for signal, exact in zip(("mass.rail.s", "mass.rail.v"), closed_form(run.time, d), strict=True):
        true.append(np.abs(run[signal] - exact).max() / np.ptp(run[signal]))
    assert 1 / 3 < run.error.value / max(true) < 3
    assert run.error.by_variable.keys() == {"mass.rail.s", "mass.rail.v", "spring.f"}


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
@pytest.mark.parametrize(("how", "stop"), [(how, 0.4 if how else 4.1) for how in WAYS], ids=str)
def test_a_run_has_the_same_bits_with_and_without_an_estimate(
    masses: dict[str, Path], how: dict[str, Any], stop: float
) -> None:
    """The longer run is compared at two segments."""
    parts = {"mass": masses["mass"], "spring": masses["damped"]}
    runs = [couple(parts, SPRUNG, stop, 0.01, error=error, **how) for error in (True, False)]
    assert runs[0].values.tobytes() == runs[1].values.tobytes()
    assert runs[0].bonds[0].made.tobytes() == runs[1].bonds[0].made.tobytes()
    assert runs[0].error.value > 0
    assert (runs[1].error.name, runs[1].error.by_variable) == ("", {})


@pytest.mark.parametrize("step", [0.05, 0.2, 0.5])
def test_a_coupling_that_explodes_says_so_with_what_mends_it(masses: dict[str, Path], step: float) -> None:
    """The spring is the connection itself: no pair of an effort and a rate shows its energy."""
    wire = Wire("a.rail.s", "a.rail.f", -100.0)
    with pytest.warns(ResultWarning, match=r"the communication steps leave a.rail.* take passes=2, a tol.*, a step .*"):
        run = couple({"a": masses["mass"]}, [wire], 10.0, step)
    assert run.error.value > 0.3
    assert run.notices[0].endswith("or all in one FMU")
    with pytest.warns(ResultWarning, match=r"a step of at most 0\.00\d s"):
        finer = couple({"a": masses["mass"]}, [wire], 10.0, 0.02)
    assert finer.error.value < run.error.value


@pytest.mark.skipif(bool(NO_LOADER), reason=NO_LOADER)
def test_an_fmu_without_a_state_is_started_once_more(masses: dict[str, Path], tmp_path: Path) -> None:
    parts = {"mass": masses["mass"], "control": controller(tmp_path)}
    wires = [Wire("mass.rail.s", "control.y", 1.0), Wire("control.u", "mass.rail.f", 1.0)]
    with pytest.warns(ResultWarning, match=r"the communication steps leave .* take a step of at most"):
        run = couple(parts, wires, 2.0, 0.05)
    finer = couple(parts, wires, 2.0, 0.05 / 16, error=False)
    true = np.abs(run["mass.rail.s"] - finer["mass.rail.s"][::16]).max()
    assert 1 / 3 < run.error.by_variable["mass.rail.s"] / true < 3


@pytest.mark.filterwarnings("ignore:the communication steps")
@pytest.mark.skipif(bool(NO_LOADER), reason=NO_LOADER)
def test_an_fmu_that_forgets_a_part_of_its_state_changes_no_run(masses: dict[str, Path], tmp_path: Path) -> None:
    """A controller that claims to save its state and does not save what it counts."""
    parts = {"mass": masses["mass"], "control": controller(tmp_path, 0.1, canGetAndSetFMUstate=True)}
    wires = [Wire("mass.rail.s", "control.y", 1.0), Wire("control.u", "mass.rail.f", 1.0)]
    runs = [couple(parts, wires, 0.2, 0.002, error=error) for error in (True, False)]
    assert runs[0].values.tobytes() == runs[1].values.tobytes()
    assert runs[0].error.value > 0
    with pytest.warns(ResultWarning, match=r"continues differently .*: leave tolerance and passes out"):
        couple(parts, wires, 0.2, 0.002, passes=2)


def test_a_coupling_that_fails_says_how_wrong_it_was(masses: dict[str, Path]) -> None:
    wire = Wire("a.rail.s", "a.rail.f", -100.0)
    with pytest.raises(StepError, match=r"cannot step from .*; the communication steps leave a.rail.* more than its"):
        couple({"a": masses["mass"]}, [wire], 1e4, 0.5)


def test_no_estimate_is_made_where_no_input_follows_an_output(masses: dict[str, Path]) -> None:
    assert couple({"a": masses["mass"]}, (), 0.1, 0.01, inputs={"a.rail.f": math.sin}).error.name == ""


def test_the_command_shows_the_estimate_and_leaves_it_out(
    masses: dict[str, Path], tmp_path: Path, said: Callable[..., str]
) -> None:
    file = tmp_path / "train.toml"
    file.write_text(
        'stop = 0.2\nconnections = ["spring.f=mass.rail.f", "mass.rail.v=spring.v"]\n'
        '[components]\nmass = "mass.fmu"\nspring = "spring.fmu"\n[parameters]\n"mass.rail.s" = 0.5\n',
        encoding="utf-8",
    )
    for name in ("mass", "spring"):
        (tmp_path / f"{name}.fmu").symlink_to(masses[name])
    arguments = ("couple", str(file), "--step", "1e-3", "--set", "spring.c=50")
    assert "estimated error" in said(*arguments)
    assert "estimated error" not in said(*arguments, "--no-error")
    shown = json.loads(said(*arguments, "--json"))
    assert 0 < shown["error"]["value"] < 1e-2
    assert shown["bonds"][0]["connection"] == "spring.f -> mass.rail.f"
    assert shown["variables"]["mass.rail.s"]["max"] == 0.5


# -- what segments tell of a run ------------------------------------------------------------------------------------

SWING = CoupledSignal("a.s", "m", 1.0)


def error_of(kept: float, steps: int = 20_000) -> tuple[float, float]:
    """Return estimated and true error of a signal whose steps add alike errors, of which a step keeps a part."""
    time = np.arange(steps + 1) * 1e-3
    values = np.sin(7.0 * time)[:, None]

    def errors(count: int) -> Any:
        return np.array([1e-6 * (1 - kept**k) / (1 - kept) if kept < 1 else 1e-6 * k for k in range(1, count + 1)])

    picked = chosen(activity_of(values, 2), range(0, steps, 512), 400)
    segments = [Segment(first, 0.75 * errors(length)[:, None]) for first, length in picked]
    return estimated([SWING], time, values, segments, 2).by_variable["a.s"], float(errors(steps)[-1])


@pytest.mark.parametrize("memory", [5, 50, 200, 1000, 10**9])
def test_errors_that_are_forgotten_do_not_add_up(memory: int) -> None:
    """Steps after which a tenth is left; segments have 200, the run 20 000."""
    found, true = error_of(0.1 ** (1 / memory))
    assert 0.5 < found / true < 5


def test_segments_lie_where_most_happens() -> None:
    """A burst at 3 s of 10 s."""
    time = np.arange(10_001) * 1e-3
    values = (np.sin(50 * time) * np.exp(-(((time - 3) / 0.1) ** 2)))[:, None]
    picked = chosen(activity_of(values, 2), range(0, 10_000, 100), 400)
    assert any(first < 3000 < first + length for first, length in picked)
    assert sum(length for _, length in picked) <= 400


def test_a_jump_that_comes_a_step_earlier_is_no_error() -> None:
    differences = np.full((20, 1), 1e-6)
    differences[10:12] = 1.0
    assert lasting(differences).max() <= 1e-6
    grown = 10.0 ** np.arange(20)[:, None]
    assert lasting(grown).max() == grown.max()
