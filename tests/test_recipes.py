"""Every recipe of fmus/ gives FMUs without a problem that foreign masters, tools and solvers run alike."""

import json
import os
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple
from unittest import mock

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from harness import thorough
from instances3 import Instance3
from masters import Array, Instance, Unpacked, run_ecos, run_fmpy, run_libcosim
from test_fmi3 import scalars
from test_toolbox import tool

import mbfmu
from mbfmu.errors import ModelFileError
from mbfmu.fmu.recipe import known_recipes, read_recipe
from mbfmu.kernel.build.toolchain import LEVEL
from mbfmu.model import Model
from mbfmu.stepper import Family

STOP, STEP = 0.2, 1e-3
"""s; of the runs that are compared."""
FEW = {"quarter_car_tolerance", "two_link_rattle"}
"""Those run by default: one with steps chosen by a tolerance, one with equal steps."""
UNTIL = {"slider_crank_clearance": 8}
"""Points up to which runs are compared whose times differ in the last bit: impacts in quick succession make it grow."""
SOLVED = {"slider_crank_projected", "stick_slip"}
"""Those run by default in all four uses: one with constraints, one with events."""


def driving(variables: list[Any]) -> dict[str, float]:
    """Return values of the inputs that move something."""
    inputs = [item for item in variables if item.causality == "input"]
    return {
        item.name: float(item.start) or (-1.0) ** number * 2.0 * min(1.0, float(item.nominal or 1.0))
        for number, item in enumerate(inputs)
    }


class Exported:
    """A recipe's FMU, what drives it and what FMPy makes of it."""

    def __init__(self, name: str, folder: Path) -> None:
        recipe = read_recipe(known_recipes()[name])
        self.fmu = mbfmu.export(
            mbfmu.load(recipe.model, recipe.values),
            folder / f"{name}.fmu",
            **recipe.choices(),
        )
        variables = fmpy.read_model_description(str(self.fmu)).modelVariables
        self.values = driving(variables)
        self.outputs = [item.name for item in variables if item.causality == "output"]
        self.series: Array = run_fmpy(self.fmu, self.values, self.outputs, STOP, STEP)


@pytest.fixture(scope="module", params=thorough(zip(sorted(known_recipes())), lambda name: name in FEW))
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return Exported(request.param, tmp_path_factory.mktemp("recipe"))


def test_the_check_finds_nothing(exported: Exported) -> None:
    assert mbfmu.check(exported.fmu) == []


def test_something_moves(exported: Exported) -> None:
    assert np.ptp(exported.series, axis=0).max() > 1e-3


@pytest.mark.parametrize("run", [run_libcosim, run_ecos], ids=["libcosim", "ecos"])
def test_a_master_gives_the_series_of_fmpy(run: Callable[..., Array], exported: Exported) -> None:
    found = run(exported.fmu, exported.values, exported.outputs, STOP, STEP)
    np.testing.assert_allclose(found, exported.series, rtol=1e-9, atol=1e-9)


def test_a_foreign_tool_finds_it_compliant_and_runs_it_in_a_container(exported: Exported, tmp_path: Path) -> None:
    said = tool("fmutool", "-input", str(exported.fmu), "-check", cwd=tmp_path)
    assert "No semantic error" in said
    assert "ERROR" not in said
    (tmp_path / "box.json").write_text(json.dumps({"fmu": [exported.fmu.name], "step_size": STEP}), encoding="utf-8")
    (tmp_path / exported.fmu.name).write_bytes(exported.fmu.read_bytes())
    tool("fmucontainer", "-container", "box.json", "-fmu-directory", ".", cwd=tmp_path)
    inside = run_fmpy(tmp_path / "box.fmu", exported.values, exported.outputs, STOP, STEP)
    points = UNTIL.get(exported.fmu.stem, len(inside))
    np.testing.assert_allclose(inside[:points], exported.series[:points], rtol=1e-9, atol=1e-9)


# -- co-simulation and model exchange, over FMI 2.0 and 3.0 ------------------------------------------------------------

USES = [(kind, fmi) for kind in ("cs", "me") for fmi in ("2.0", "3.0")]
"""What each recipe's native FMUs are for."""


class Span(NamedTuple):
    """How a recipe's FMUs are compared.

    Args:
        error: largest difference of an output between a solver with a relative tolerance of 1e-10 and the stepper,
            relative to the output's largest value; about ten times what was measured.
        stop: s.
        finer: number of steps of the stepper in one of the recipe; with a quarter of it its own error is below that.
    """

    error: float
    stop: float = 0.5
    finer: int = 16


SPANS = {
    "arm6_rk4": Span(1e-7),
    "crane_radau": Span(5e-6),
    "dc_motor": Span(1e-7),
    "excavator": Span(6e-5, 1.0),
    "hydraulic_manipulator": Span(4e-7),
    "hydraulic_servo": Span(1e-8),
    "manipulator_hydraulics": Span(2e-9),
    "pid": Span(1e-8),
    "quarter_car_tolerance": Span(2e-8),
    "rolling_disk_impulse": Span(6e-7, finer=64),
    "slider_crank_clearance": Span(3e-6, 0.1),
    "slider_crank_projected": Span(4e-7),
    "stewart_projected": Span(7e-7),
    "stick_slip": Span(2e-7, 10.0),
    "trajectory": Span(1e-15),
    "two_link_rattle": Span(6e-7, finer=64),
    "woodpecker": Span(2e-5, 1.0),
}
"""Those with impacts run for the whole of the recipe's time, and a belt for its two events. The errors of the others
grow as smoothly as in any part of their motion."""


class Uses:
    """A recipe's native FMUs, each written when it is first asked for.

    They are compiled without optimisation, which gives the same bits sooner (test_toolchain.py).
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.recipe = read_recipe(known_recipes()[name])
        self.made: dict[tuple[str, str], Unpacked] = {}

    @cached_property
    def model(self) -> Model:
        """The recipe's model."""
        return mbfmu.load(self.recipe.model, self.recipe.values)

    def path(self, kind: str, fmi: str) -> Path:
        """Return the FMU for a use."""
        return self[kind, fmi].folder.with_suffix(".fmu")

    def __getitem__(self, use: tuple[str, str]) -> Unpacked:
        """Return the FMU for a use, unpacked."""
        if use not in self.made:
            kind, fmi = use
            recipe = self.recipe.exchanged() if kind == "me" else self.recipe
            folder = self.folder / f"{self.name}-{kind}-{fmi[0]}"
            with mock.patch.dict(os.environ, {LEVEL: "0"}):
                path = mbfmu.export(
                    self.model, folder.with_suffix(".fmu"), kind=kind, backend="native",
                    platforms=["linux64"], **{**recipe.choices(), "fmi": fmi},
                )  # fmt: skip
            self.made[use] = Unpacked(path, folder)
        return self.made[use]

    def run(self, kind: str, fmi: str, **more: Any) -> dict[str, Array]:
        """Run in FMPy; return all real outputs but the time of the last event, with arrays by element."""
        fmu = self[kind, fmi]
        shown = [name for name in fmu.names("output") if fmu.variables[name].type in {"Real", "Float64"}]
        shown = [name for name in shown if name != "events.time"]
        start = {**driving(self["cs", "2.0"].description.modelVariables), **more.pop("start_values", {})}
        found = fmpy.simulate_fmu(str(fmu.folder), output=shown, start_values=start, record_events=False, **more)
        series = {}
        for name in shown:
            if fmu.variables[name].shape:
                series.update({f"{name}[{k + 1}]": column for k, column in enumerate(found[name].T)})
            else:
                series[name] = found[name]
        return series

    def solved(self, tolerance: float, fmi: str = "2.0", **more: Any) -> dict[str, Array]:
        """Run with a solver, see `run`."""
        return self.run(
            "me", fmi, fmi_type="ModelExchange", solver="CVode", relative_tolerance=tolerance, **self.times, **more
        )

    @property
    def times(self) -> dict[str, float]:
        """The end and the interval of a run, short enough for the number of steps that FMPy grants its solver."""
        stop = SPANS[self.name].stop
        return {"stop_time": stop, "output_interval": stop / 200}


@cache
def native(name: str) -> Uses:
    """Return a recipe's native FMUs; once a session."""
    return Uses(name, Path(mkdtemp(prefix="mbfmu-recipe-")))


@pytest.fixture(scope="module", params=thorough(zip(sorted(known_recipes())), lambda name: name in SOLVED))
def uses(request: pytest.FixtureRequest) -> Uses:
    return native(request.param)


@pytest.mark.parametrize(("kind", "fmi"), USES)
def test_neither_the_check_nor_fmpy_finds_anything_whatever_it_is_for(uses: Uses, kind: str, fmi: str) -> None:
    path = uses.path(kind, fmi)
    assert mbfmu.check(path) == []
    assert validate_fmu(str(path)) == []


def test_it_steps_alike_over_both_versions_to_the_bit(uses: Uses) -> None:
    old_fmu, new_fmu = uses["cs", "2.0"], uses["cs", "3.0"]
    inputs, size = driving(old_fmu.description.modelVariables), SPANS[uses.name].stop / 40
    with Instance(old_fmu).start(inputs) as old, Instance3(new_fmu).start(inputs) as new:
        found: list[list[Any]] = [new.get()]
        for k in range(40):
            for run in (old, new):
                run.set({name: value * (1 + 0.1 * (-1) ** k) for name, value in inputs.items()})
                run.step(k * size, size)
            found.append(new.get())
            assert found[-1] == list(old.get(scalars(old_fmu)))
    assert found[0] != found[-1]


def test_a_solver_integrates_it_alike_over_both_versions_to_the_bit(uses: Uses) -> None:
    old, new = uses.solved(1e-8), uses.solved(1e-8, "3.0")
    assert list(old) == list(new)
    for name, column in old.items():
        assert np.array_equal(column, new[name]), name


def test_a_solver_converges_to_the_motion_of_the_stepper(uses: Uses) -> None:
    span = SPANS[uses.name]

    def steps(finer: int) -> dict[str, Array]:
        size = {"solver.step": uses.recipe.step / finer}
        return uses.run("cs", "2.0", fmi_type="CoSimulation", start_values=size, **uses.times)

    def apart(found: dict[str, Array]) -> float:
        """Return the largest difference but of what is left of the constraints."""
        return max(
            float(np.max(np.abs(found[name] - column)) / max(np.max(np.abs(column)), 1e-3))
            for name, column in exact.items()
            if not name.startswith("constraint.")
        )

    exact = steps(span.finer)
    rough, fine, own = apart(uses.solved(1e-8)), apart(uses.solved(1e-10)), apart(steps(span.finer // 4))
    assert max(fine, own) < span.error
    assert fine < max(rough / 3, 1e-10)


@pytest.mark.parametrize(
    "uses", thorough(zip(["stick_slip", "woodpecker"]), lambda name: name in SOLVED), indirect=True
)
@pytest.mark.parametrize(("tolerance", "late"), [(1e-6, 3e-4), (1e-10, 3e-7)])  # 2.7e-5 and 3e-8 s
def test_a_solver_meets_the_events_of_the_stepper(uses: Uses, tolerance: float, late: float) -> None:
    shown = ["events.count", "events.time"]
    stop = SPANS[uses.name].stop
    solved = fmpy.simulate_fmu(
        str(uses["me", "2.0"].folder), fmi_type="ModelExchange", solver="CVode", relative_tolerance=tolerance,
        stop_time=stop, output_interval=stop / 200, output=shown,
    )  # fmt: skip
    with Instance(uses["cs", "2.0"]).start({"solver.step": uses.recipe.step / 16}) as run:
        run.step(0.0, stop)
        count, time = run.get(shown)
    assert solved["events.count"][-1] == count > 1
    assert solved["events.time"][-1] == pytest.approx(time, abs=late)


LEFT = {"crane_radau": True, "excavator": False, "rolling_disk_impulse": True, "slider_crank_projected": True,
        "stewart_projected": True}  # fmt: skip
"""Recipes with constraints beside contacts: whether a solver at 1e-6 leaves them by more than `DRIFT` within 0.1 s.

The samplings of the excavator's controllers are events too, 200 times a second."""
DRIFT = 1e-5
"""Default of solver.drift, m, rad, m/s or rad/s."""


@pytest.mark.parametrize("uses", thorough(zip(LEFT), lambda name: name in SOLVED), indirect=True)
def test_events_keep_a_solver_at_the_constraints(uses: Uses) -> None:
    fmu = uses["me", "2.0"]
    found = fmpy.simulate_fmu(
        str(fmu.folder), fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-6, stop_time=100.0,
        output_interval=0.1, output=["constraint.position", "constraint.velocity"],
        start_values=driving(fmu.description.modelVariables),
    )  # fmt: skip
    left = np.maximum(found["constraint.position"], found["constraint.velocity"])
    before = np.flatnonzero(np.diff(found["time"]) == 0)
    assert len(before) > 0
    assert np.any(left > DRIFT) == LEFT[uses.name]
    assert np.all(np.delete(left, before) <= DRIFT)
    assert np.all(left[before + 1] < 1e-9)  # 2e-11 where the platform's legs turn at 200 rad/s, 2e-14 of others


def test_a_recipe_for_model_exchange_leaves_its_stepper_out(said: Callable[..., str]) -> None:
    said("export", "two_link_rattle", "--backend", "native", "--kind", "me")
    description = fmpy.read_model_description("two_link_rattle.fmu")
    assert description.modelExchange
    assert not description.coSimulation
    asked = ("--backend", "native", "--kind", "me", "--stepper", "rattle", "-o", "other.fmu")
    assert "model exchange has no stepper" in said("export", "two_link_rattle", *asked)


@pytest.mark.parametrize(
    "family",
    thorough(zip(mbfmu.steppers().values()), lambda family: family.name == "gauss"),
    ids=lambda family: family.name,
)
def test_the_check_finds_nothing_whatever_the_stepper(family: Family, tmp_path: Path) -> None:
    path = mbfmu.export(mbfmu.load("two_link"), tmp_path / "arm.fmu", stepper=family.name, coordinates="absolute")
    assert mbfmu.check(path) == []


def test_a_recipe_has_numbers_expressions_of_numbers_and_guesses(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    head = 'model = "two_link"\n[values]\n'
    path.write_text(head + '"shoulder.phi" = "deg(30)"\n"elbow.phi" = "guess(pi/6)"\nl1 = 2\n', encoding="utf-8")
    assert read_recipe(path).values == {
        "shoulder.phi": pytest.approx(np.pi / 6, rel=1e-15), "elbow.phi": "guess(pi/6)", "l1": 2
    }  # fmt: skip
    path.write_text(head + 'l1 = "2*l2"\n', encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"l1 = '2\*l2': '2\*l2' is not a number: there is 'l2' in it"):
        read_recipe(path)
