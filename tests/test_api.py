"""The Python interface: what it shows, what it takes, and what it says to wrong arguments."""

import ast
import inspect
import math
import os
import pydoc
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import mbfmu
from mbfmu.base.arguments import checked
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError, ModelFileError, StepError, StepperError, UnknownNameError, UsageError
from mbfmu.kernel import describe
from mbfmu.model import Body, Prismatic, Spring, System, World, connect
from mbfmu.model.library import known_models
from mbfmu.model.readers import READERS, Reader
from mbfmu.model.toml import from_toml, to_toml
from mbfmu.prepared.prepare import prepare
from mbfmu.show.listing import components
from mbfmu.show.listing import readers as listed_readers
from mbfmu.show.listing import steppers as listed_steppers
from mbfmu.stepper import FAMILIES, Choice, named

H = 1 / 128
"""Communication step of which multiples are exact."""
PUBLIC = [name for name in mbfmu.__all__ if name != "__version__"]


def is_function(name: str) -> bool:
    """Tell functions from classes; a class of an extra that is not here is none."""
    try:
        return inspect.isfunction(getattr(mbfmu, name))
    except UsageError:
        return False


FUNCTIONS = [name for name in PUBLIC if is_function(name)]
MODELS = (
    "simulate",
    "export",
    "compare",
    "equations",
    "equilibrium",
    "inverse",
    "linearize",
    "kinematics",
    "workspace",
    "modes",
    "bode",
    "locus",
    "sweep",
    "view",
    "Simulation",
    "fit",
    "optimize",
    "Sensitivity",
)
"""Functions that take a model."""


# -- what it shows --------------------------------------------------------------------------------------------------


def test_dir_shows_the_public_names_and_nothing_private() -> None:
    shown = {name for name in dir(mbfmu) if not name.startswith("__")}
    assert shown == set(PUBLIC)
    assert all(getattr(mbfmu, name) is not None for name in PUBLIC)


def test_type_checkers_and_users_see_the_same_names() -> None:
    tree = ast.parse(Path(mbfmu.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(typed) == set(PUBLIC)
    homes = {name: f"mbfmu.{home}" for home, names in mbfmu._HOMES.items() for name in names}
    assert homes == {name: home for name, home in typed.items() if name not in {"errors", "model"}}


def test_help_gives_an_overview_of_every_function_and_class() -> None:
    text = pydoc.plain(pydoc.render_doc(mbfmu))
    overview = (mbfmu.__doc__ or "").split()
    for name in PUBLIC:
        kind = getattr(mbfmu, name)
        if not (isinstance(kind, type) and issubclass(kind, Choice)) and name not in {"errors", "model", "connect"}:
            assert name in overview or f"{name}:" in overview or f"{name}," in overview or f"{name}," in text.split()
        if callable(kind):
            assert f"{name}(" in text or f"class {name}" in text


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="simulat"):
        mbfmu.simulat  # noqa: B018


def test_a_public_function_stays_one_when_all_modules_are_imported() -> None:
    script = (
        "import pkgutil, importlib, inspect, mbfmu\n"
        "for item in pkgutil.iter_modules(mbfmu.__path__):\n"
        "    if item.name != '__main__':\n"
        "        importlib.import_module(f'mbfmu.{item.name}')\n"
        f"print(all(inspect.isfunction(getattr(mbfmu, name)) for name in {FUNCTIONS}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


# -- models by name and path ----------------------------------------------------------------------------------------


def test_a_model_its_name_and_its_path_are_the_same_model(tmp_path: Path) -> None:
    path = known_models()["two_link"]
    given = (mbfmu.load("two_link"), "two_link", path, str(path))
    runs = [mbfmu.simulate(item, 0.1, values={"l1": 0.5}).values for item in given]
    slopes = [mbfmu.linearize(item).A for item in given]
    files = [mbfmu.export(item, tmp_path / f"{n}.fmu").read_bytes() for n, item in enumerate(given)]
    ends = [mbfmu.Simulation(item).step(None, H) for item in given]
    for found in (runs, slopes, ends):
        assert all(np.array_equal(found[0], other) for other in found)
    assert len(set(files)) == 1
    rows = [mbfmu.compare(item, 0.1, steppers=("projected",), steps=(0.05,)).rows[0].error for item in given[:2]]
    assert rows[0] == rows[1]


def test_a_sweep_takes_a_model_by_name_and_path_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def note(study: Any, _: Any, todo: list[Any], *__: Any) -> dict[Any, Any]:
        seen.append(study.subject.fingerprint())
        return dict.fromkeys(todo)

    monkeypatch.setattr("mbfmu.analysis.study.run", note)
    for item in (mbfmu.load("two_link"), "two_link", known_models()["two_link"]):
        mbfmu.sweep(item, 0.1, measures={"top": "max(shoulder.phi)"}, vary={"l1": [1.0, 2.0]}, stepper=mbfmu.Direct())
    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_a_model_function_takes_its_arguments_from_the_values() -> None:
    number = len(mbfmu.simulate("chain", 0.001, values={"N": 3}).names)
    assert number > len(mbfmu.simulate("chain", 0.001, values={"N": 2}).names)


@pytest.mark.parametrize("name", sorted({*MODELS} - {"sweep"}))
def test_an_unknown_model_is_an_unknown_name(name: str) -> None:
    more = {
        "compare": (1.0,),
        "simulate": (1.0,),
        "inverse": ({},),
        "locus": ({"l": [1.0, 2.0]},),
        "kinematics": ({},),
        "workspace": ("x", {}),
        "fit": ("x.csv", ["l"]),
        "optimize": (1.0, "rms(x)", ["l"]),
        "Sensitivity": (1.0, ["l"]),
    }.get(name, ())
    with pytest.raises(UnknownNameError, match="did you mean 'pendulum'"):
        getattr(mbfmu, name)("pendulm", *more)


def test_a_number_is_an_input_that_is_constant() -> None:
    runs = [mbfmu.simulate("cart_pendulum", 0.1, inputs={"rail.f": item}) for item in (3, 3.0, "3", lambda _: 3.0)]
    assert all(np.array_equal(runs[0].values, run.values) for run in runs)
    assert np.all(runs[0]["rail.f"] == 3.0)


# -- wrong types ----------------------------------------------------------------------------------------------------

TEXTS = (3, ["rattle"], b"rattle")
NUMBERS = ("1", [1.0], True, {"a": 1})
NAMED = (3, "x", [1.0], {1: 2.0})
PATHS = (3, [1], b"x.fmu")
WRONG: Mapping[str, tuple[Any, ...]] = {
    "model": ([1], None, 3.0, b"x", {"name": "x"}),
    "system": ([1], None, 3.0, b"x"),
    "source": ([1], None, 3.0),
    "stop": (*NUMBERS, None),
    "profiles": ("x", 1.5, None),
    "correlations": (3, "x", [1]),
    "step": NUMBERS,
    "tolerance": NUMBERS,
    "period": NUMBERS,
    "output_interval": NUMBERS,
    "stepper": TEXTS,
    "steppers": ("rattle", 3, [3], {"rattle": 1}),
    "steps": ("0.1", 3, ["0.1"], None),
    "options": (3, "x", [1], {1: 2}),
    "values": NAMED,
    "inputs": (*NAMED, {"f_x": [1]}, {"f_x": None}),
    "input_hold": ("yes", 3),
    "energy_balance": ("yes", 3),
    "error_samples": ("yes", 0.5, None),
    "tolerance_of_result": NUMBERS,
    "error": ("yes", 3),
    "derivatives": ("yes", 3),
    "choose": ("x", 3, [3]),
    "show": ("x", 3, [3]),
    "display": ("x", 3, [3]),
    "pull": ("x", 3, [3]),
    "outputs": ("x", 3, [3]),
    "states": ("x", 3, [3]),
    "at": NUMBERS,
    "mode": ("1", 1.5, True),
    "up": (3, ["z"]),
    "coordinates": TEXTS,
    "deformation": ("1", None, [1.0]),
    "live": ("yes", 3),
    "progress": (3, "x"),
    "ended": (3, "x"),
    "path": PATHS,
    "backend": TEXTS,
    "fmi": TEXTS,
    "version": TEXTS,
    "parameters": (3, "x", [("a.x", 1)], {1: 2.0}, {"a.x": None}),
    "kind": TEXTS,
    "platforms": ("linux64", 3, [3]),
    "real_time": ("1", 1.5, True),
    "single_precision": ("yes", 3),
    "measures": (3, "x", ["x"], {"a": 3}, None),
    "vary": (3, "x", {"l": 3}, {"l": "x"}, {"l": ["x"]}),
    "sample": ([3], 1.5, None),
    "distributions": (3, "x", {"l": 3}),
    "seed": ("3", 1.5),
    "start": NUMBERS,
    "timeout": NUMBERS,
    "output": PATHS,
    "again": ("yes", 3),
    "scalars": ("yes", 3),
    "validate": ("yes", 3),
    "scheduler": (3, [1]),
    "free": (3, [3]),
    "robot": (3, "x"),
    "workers": ("2", 1.5),
    "batch": ("2", 1.5, [2]),
    "threads": ("2", 1.5, None),
    "fmus": (3, "x", None, {"a": 3}, {1: "a.fmu"}),
    "components": (3, "x", None, {"a": 3}),
    "connections": (3, "x", [3], ["a.x=b.y"], [("a.x",)], [("a.x", 3)]),
    "order": (3, None),
    "extrapolation": ("1", 1.5),
    "passes": ("1", 1.5, None),
    "result": (3, None, "x"),
    "title": (3, None),
    "hold": (*NAMED, {"x": "1"}),
    "motion": (3, None, {"x": [1]}, {1: "time"}),
    "efforts": ("f_x", 3, [3]),
    "data": PATHS,
    "minimize": TEXTS,
    "sigma": NAMED,
    "frame": TEXTS,
    "axes": (3, "x", {"l": 3}, {"l": "x"}, {"l": ["x"]}),
    "sources": ("x", 3, [3]),
    "frequency": (3, "x", ["x"]),
    "parameter": (3, "x", {"l": 3}, {"l": "x"}, {"l": ["x"]}),
    "bounds": (3, "x", {"l": 1.0}, {1: [0.0, 1.0]}),
    "subject": ("last(y) = 1", 3, [3]),
    "knots": (3, "u", {"u": "3"}, {"u": 1.5}, {1: 3}),
    "knots_hold": ("yes", 3),
    "run": (3, "two_link"),
}
"""Values of a wrong type for each argument of a public function."""
RIGHT: Mapping[str, Any] = {
    "model": "pendulum",
    "source": "pendulum",
    "stop": 0.1,
    "step": 0.01,
    "path": "none.fmu",
    "measures": {"top": "max(x)"},
    "fmus": {},
    "components": {},
    "connections": (),
    "motion": {"x": "time"},
    "free": ["l"],
    "parameter": {"l": [1.0, 2.0]},
    "frame": "x",
    "axes": {"l": [1.0]},
    "result": Result(np.array([0.0, 1.0]), ("x",), np.array([[1.0], [2.0]]), {"x": "m"}),
}
"""Arguments that a function cannot do without; `system` has another meaning in write_ssp."""
CASES = [
    (name, argument, value)
    for name in [*FUNCTIONS, "Simulation"]
    for argument in inspect.signature(getattr(mbfmu, name)).parameters
    if name not in {"connect", "steppers", "wire"}
    for value in WRONG.get(argument, ())
    if not (name in {"inverse", "kinematics", "write_ssp"} and argument in {"stop", "system"} and value is None)
    if not (name == "plot_result" and (argument, value) == ("path", None))
    if not (name in {"report", "view"} and argument in {"stop", "model"} and value in (None, {"name": "x"}))
]


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CASES}))
def test_an_argument_of_a_wrong_type_is_a_usage_error_that_names_it(name: str) -> None:
    function: Callable[..., Any] = getattr(mbfmu, name)
    parameters = inspect.signature(function).parameters.values()
    for argument, value in ((argument, value) for of, argument, value in CASES if of == name):
        needed = [item.name for item in parameters if item.default is item.empty and item.name != argument]
        right = {key: RIGHT.get(key, "pendulum") for key in needed}
        with pytest.raises(UsageError, match=rf"{name}: .*{argument}.* must be .*, not "):
            function(**{**right, argument: value})


def test_a_wrong_type_inside_a_list_or_dictionary_is_named_by_its_place() -> None:
    with pytest.raises(
        UsageError, match=r"simulate: inputs\['f_x'\] = \[1\] must be a text, a number, True or False or a fun"
    ):
        mbfmu.simulate("pendulum", 1.0, inputs={"f_x": [1]})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match=r"compare: steps\[1\] = '0.1' must be a number, not a str"):
        mbfmu.compare("pendulum", 1.0, steps=(0.1, "0.1"))  # type: ignore[arg-type]


def test_each_kind_of_annotation_takes_what_it_says_and_refuses_the_rest() -> None:
    def echo(
        mode: Literal["a", "b"] = "a",
        pair: tuple[str, int] = ("x", 1),
        run: Callable[[float], float] | None = None,
        anything: Any = None,
        texts: Iterable[str] = (),
        on: bool = False,
    ) -> Any:
        return mode, pair, run, anything, texts, on

    function = checked(echo)
    assert function("c", ("y", 2), abs, object, iter("ab"), True)[:3] == ("c", ("y", 2), abs)
    for wrong, said in (
        ({"mode": 1}, "mode = 1 must be 'a' or 'b', not an int"),
        ({"pair": ("x",)}, "must be a tuple \\(a text, a whole number\\), not a tuple of 1"),
        ({"run": 3.0}, "run = 3.0 must be a function or None, not a float"),
        ({"texts": "ab"}, "texts = 'ab' must be a list \\(each item a text\\), not a str"),
        ({"texts": ["a", 1]}, r"texts\[1\] = 1 must be a text, not an int"),
        ({"on": 1}, "on = 1 must be True or False, not an int"),
    ):
        with pytest.raises(UsageError, match=said):
            function(**wrong)
    assert inspect.signature(function) == inspect.signature(echo)


def test_a_type_that_only_a_type_checker_imports_is_left_to_it() -> None:
    def echo(step: float, robot: "NoSuchClass | None" = None) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return step, robot

    function = checked(echo)
    assert function(1.0, "arm") == (1.0, "arm")
    with pytest.raises(UsageError, match="step = 'x' must be a number"):
        function("x")


def test_the_arguments_of_all_public_functions_have_values_of_a_wrong_type_here() -> None:
    asked = {name for item in [*FUNCTIONS, "Simulation"] for name in inspect.signature(getattr(mbfmu, item)).parameters}
    assert asked - set(WRONG) - {"frame_a", "frame_b", "target", "factor", "offset"} == set()


def test_numbers_of_numpy_are_numbers() -> None:
    found = mbfmu.simulate(
        "pendulum", np.float32(0.25), step=np.float64(0.125), output_interval=np.float64(0.125), error_samples=0
    )
    assert found.time.tolist() == [0.0, 0.125, 0.25]


# -- a Result -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run() -> Result:
    """A short run of the pendulum."""
    return mbfmu.simulate("cart_pendulum", 0.5)


def test_a_result_is_shown_in_one_short_line(run: Result) -> None:
    text = repr(run)
    assert len(text) < 200
    assert "\n" not in text
    assert "0 to 0.5 s" in text
    assert f"{len(run.names)} variables" in text


def test_a_notebook_shows_a_row_for_every_variable_with_last_least_and_greatest_value() -> None:
    found = Result(np.array([0.0, 1.0, 2.0]), ("a<b", "c"), np.array([[1.0, 7.0], [-2.0, 8.0], [0.5, 9.0]]), {"c": "m"})
    text = found._repr_html_()
    assert "<tr><th>a&lt;b</th><td></td><td>0.5</td><td>-2</td><td>1</td></tr>" in text
    assert "<tr><th>c</th><td>m</td><td>9</td><td>7</td><td>9</td></tr>" in text
    assert "<table>" in Result(np.empty(0), ("c",), np.empty((0, 1)))._repr_html_()


def test_a_result_knows_its_names(run: Result) -> None:
    assert "hinge.phi" in run
    assert "time" in run
    assert "hinge.fi" not in run
    assert 3 not in run
    assert list(run) == list(run.names)
    for index in (0, None, ("hinge.phi",)):
        with pytest.raises(UsageError, match="indexed by the name"):
            run[index]  # type: ignore[index]


def test_a_plot_is_a_figure_that_a_notebook_shows_and_a_file_if_a_path_is_given(run: Result, tmp_path: Path) -> None:
    figure = run.plot(tmp_path / "run.png", "a swing")
    assert isinstance(figure, Figure)
    assert figure.get_suptitle() == "a swing"
    drawn = {line.get_label() for axes in figure.axes for line in axes.lines}
    assert {"hinge.phi", "hinge.w", "energy.total"} <= drawn
    for content in (figure._repr_png_(), (tmp_path / "run.png").read_bytes()):
        assert content.startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="a figure ends in"):
        run.plot(tmp_path / "run.docx")
    with pytest.raises(UsageError, match="path = 3 must be"):
        run.plot(3)  # type: ignore[arg-type]


def test_a_data_frame_has_the_values_over_the_time(run: Result) -> None:
    frame = run.to_pandas()
    assert list(frame.columns) == list(run.names)
    assert np.array_equal(frame.to_numpy(), run.values)
    assert np.array_equal(frame.index.to_numpy(), run.time)
    assert frame.index.name == "time"


def test_without_pandas_the_message_says_how_to_get_it(run: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install .*\[pandas\]"):
        run.to_pandas()


# -- a Simulation ---------------------------------------------------------------------------------------------------


def controller(phi: float, w: float) -> dict[str, float]:
    return {"rail.f": -60.0 * (phi - np.pi / 2) - 12.0 * w}


@pytest.mark.parametrize("how", [{}, {"stepper": "projected", "tolerance": 1e-6}, {"stepper": mbfmu.Gauss(stages=2)}])
def test_steps_with_held_inputs_are_those_of_simulate_to_the_bit(how: dict[str, Any], tmp_path: Path) -> None:
    pulls = [0.0, 3.0, -2.0, 5.0, 0.5, 0.5, 0.0, 1.0]
    table = tmp_path / "pulls.csv"
    rows = [f"{k * H!r},{pull}" for k, pull in enumerate(pulls)]
    table.write_text("\n".join(["time,rail.f", *rows]), encoding="utf-8")
    found = mbfmu.simulate(
        "cart_pendulum", len(pulls) * H, step=H / 4, output_interval=H, inputs={"rail.f": str(table)}, input_hold=True,
        **how,
    )  # fmt: skip
    sim = mbfmu.Simulation("cart_pendulum", step=H / 4, inputs={"rail.f": pulls[0]}, **how)
    coordinates = ("rail.s", "rail.v", "hinge.phi", "hinge.w", "energy.total")
    for k, pull in enumerate(pulls, 1):
        sim.step({"rail.f": pull}, H)
        assert [sim[name] for name in coordinates] == [found[name][k] for name in coordinates]
        assert sim.time == found.time[k]


def test_steps_are_those_of_the_fmu_to_the_bit(tmp_path: Path) -> None:
    fmu = mbfmu.export("cart_pendulum", tmp_path / "cart.fmu", step=H / 4)
    found = mbfmu.simulate(fmu, 8 * H, output_interval=H, inputs={"rail.f": 2.5})
    sim = mbfmu.Simulation("cart_pendulum", step=H / 4, inputs={"rail.f": 2.5})
    for k in range(1, 9):
        y = dict(zip(sim.output_names, sim.step(None, H), strict=True))
        assert {name: y[name] for name in ("rail.s", "hinge.phi", "hinge.w", "hinge.a")} == {
            name: found[name][k] for name in ("rail.s", "hinge.phi", "hinge.w", "hinge.a")
        }


@pytest.mark.parametrize("how", [{}, {"stepper": "block"}, {"stepper": "projected", "tolerance": 1e-6}])
def test_a_restored_state_goes_on_to_the_bit(how: dict[str, Any]) -> None:
    sim = mbfmu.Simulation("cart_pendulum", **how)
    for _ in range(3):
        sim.step({"rail.f": 1.0}, 0.02)
    state, time, now = sim.state, sim.time, sim.outputs
    ends = []
    for _ in range(2):
        ends.append([sim.step([4.0], 0.013) for _ in range(5)])
        assert sim.time > time
        sim.restore(state)
        assert sim.time == time
        assert np.array_equal(sim.outputs, now)
        assert sim.inputs.tolist() == [1.0]
    assert np.array_equal(ends[0], ends[1])
    other = mbfmu.Simulation("cart_pendulum", **how)
    other.restore(state)
    assert np.array_equal([other.step([4.0], 0.013) for _ in range(5)], ends[0])


def test_a_controller_in_a_loop_holds_the_pole_up() -> None:
    sim = mbfmu.Simulation("cart_pendulum")
    for _ in range(500):
        sim.step(controller(sim["hinge.phi"], sim["hinge.w"]), 0.01)
    assert abs(sim["hinge.phi"] - np.pi / 2) < 1e-3
    assert sim.time == pytest.approx(5.0)


def test_inputs_are_held_until_others_are_given() -> None:
    sim = mbfmu.Simulation("cart_pendulum")
    assert sim.inputs.tolist() == [0.0]
    sim.step({"rail.f": 3.0}, 0.01)
    sim.step({}, 0.01)
    sim.step(None, 0.01)
    assert sim.inputs.tolist() == [3.0]
    assert sim["rail.f"] == 3.0
    assert sim.input_names == ("rail.f",)
    assert sim.units["rail.f"] == "N"
    assert len(sim.outputs) == len(sim.output_names)


def test_arrays_that_a_simulation_gives_are_the_users_own() -> None:
    sim = mbfmu.Simulation("cart_pendulum")
    y, u = sim.step({"rail.f": 3.0}, 0.01), sim.inputs
    kept = y.copy()
    y[:] = u[:] = 7.0
    assert np.array_equal(sim.outputs, kept)
    assert sim.inputs.tolist() == [3.0]


def test_a_failed_step_changes_nothing() -> None:
    sim = mbfmu.Simulation("cart_pendulum")
    sim.step({"rail.f": 1.0}, 0.1)
    state = sim.state
    with pytest.raises(StepError, match="no step from"):
        sim.step({"rail.f": 1e99}, 1.0)
    assert sim.state == state


@pytest.mark.parametrize("batch", [None, 2])
def test_a_step_below_the_round_off_of_the_time_is_an_error(batch: int | None) -> None:
    sim = mbfmu.Simulation("cart_pendulum", batch=batch)
    sim.step(None, 0.5)
    state = sim.state
    with pytest.raises(UsageError, match=r"dt = 1e-17 s is below the round-off of the time t = 0\.5 s: take more"):
        sim.step(None, 1e-17)
    assert sim.state == state


@pytest.mark.parametrize(
    ("inputs", "dt", "message"),
    [
        ({"rail.g": 1.0}, 0.1, "no input 'rail.g'; did you mean 'rail.f'"),
        ({"rail.f": "1"}, 0.1, "rail.f = '1' must be a finite number"),
        ({"rail.f": np.nan}, 0.1, "must be a finite number"),
        ({"rail.f": None}, 0.1, "must be a finite number"),
        ([1.0, 2.0], 0.1, r"or 1 numbers"),
        ("1", 0.1, r"or 1 numbers"),
        (3.0, 0.1, r"or 1 numbers"),
        ([[1.0]], 0.1, r"or 1 numbers"),
        ([object()], 0.1, r"rail\.f = <object"),
        ([10**400], 0.1, r"rail\.f = 1000.*must be a finite number"),
        ({"rail.f": 10**400}, 0.1, "must be a finite number"),
        ({"rail.f": np.complex128(1)}, 0.1, "must be a finite number"),
        ({"rail.f": np.timedelta64(1, "s")}, 0.1, "must be a finite number"),
        (None, np.timedelta64(1, "s"), "positive number of seconds"),
        pytest.param(None, 10**400, "positive number of seconds", id="too long"),
        (None, 0.0, "positive number of seconds"),
        (None, -0.1, "positive number of seconds"),
        (None, np.inf, "positive number of seconds"),
        (None, "0.1", "positive number of seconds"),
        (None, True, "positive number of seconds"),
        (None, 1e9, r"dt = 1e\+09 s needs 1e\+12 steps of 0.001 s, and at most 1e\+07 are taken at once"),
    ],
)
def test_a_wrong_step_is_an_error_and_changes_nothing(inputs: Any, dt: Any, message: str) -> None:
    sim = mbfmu.Simulation("cart_pendulum")
    state = sim.state
    with pytest.raises(MbfmuError, match=message):
        sim.step(inputs, dt)
    assert sim.state == state


@pytest.mark.parametrize("step", [0.0, -1e-3, math.nan, math.inf, pytest.param(10**400, id="too large")])
def test_a_simulation_refuses_an_inner_step_that_is_no_positive_number(step: float) -> None:
    with pytest.raises(UsageError, match=r"the step is .* s; it must be a positive number"):
        mbfmu.Simulation("cart_pendulum", step=step)


def test_a_simulation_is_of_a_model_not_of_an_fmu() -> None:
    with pytest.raises(UsageError, match="run FMUs with simulate or couple"):
        mbfmu.Simulation("arm.fmu")
    with pytest.raises(UnknownNameError, match=r"'rail\.g'"):
        mbfmu.Simulation("cart_pendulum", inputs={"rail.g": 1.0})
    with pytest.raises(UnknownNameError, match=r"'rail\.g'"):
        mbfmu.Simulation("cart_pendulum")["rail.g"]


def test_a_state_is_taken_however_the_same_stepper_and_coordinates_are_named() -> None:
    state = mbfmu.Simulation("cart_pendulum").state
    for names in (
        {"stepper": "rattle"},
        {"stepper": mbfmu.Rattle(), "coordinates": "joint"},
        {"stepper": "rattle", "options": {"iteration": "newton"}},
    ):
        mbfmu.Simulation("cart_pendulum", **names).restore(state)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="with this stepper and coordinates"):
        mbfmu.Simulation("cart_pendulum", coordinates="absolute").restore(state)
    with pytest.raises(UsageError, match="with this stepper and coordinates"):
        mbfmu.Simulation("cart_pendulum", stepper=mbfmu.Rattle(iteration="simplified")).restore(state)


def test_a_state_of_another_model_or_stepper_is_refused() -> None:
    sim = mbfmu.Simulation("pendulum", stepper="projected")
    for other in (mbfmu.Simulation("cart_pendulum"), mbfmu.Simulation("pendulum", stepper="radau")):
        with pytest.raises(UsageError, match="not one of 'pendulum'"):
            sim.restore(other.state)
    for wrong in (None, "x", 3, b"", bytearray(sim.state)):
        with pytest.raises(UsageError, match="state"):
            sim.restore(wrong)  # type: ignore[arg-type]


SIM = mbfmu.Simulation("pendulum", stepper="projected")


@given(place=st.integers(0, len(SIM.state) - 1), bit=st.integers(0, 7))
def test_a_damaged_state_is_refused_and_changes_nothing(place: int, bit: int) -> None:
    state = SIM.state
    damaged = bytearray(state)
    damaged[place] ^= 1 << bit
    with pytest.raises(UsageError, match="damaged"):
        SIM.restore(bytes(damaged))
    assert SIM.state == state


# -- steppers as objects --------------------------------------------------------------------------------------------


def test_every_family_has_a_public_choice_and_its_defaults_are_those_of_the_method() -> None:
    choices = {name: getattr(mbfmu, name) for name in PUBLIC if issubclass_of(getattr(mbfmu, name), Choice)}
    assert sorted(choices.values(), key=lambda item: item.name) == sorted(
        (family.choice for family in FAMILIES.values()), key=lambda item: item.name
    )
    for family in FAMILIES.values():
        arguments = dict(list(inspect.signature(family.make).parameters.items())[1:])
        assert family.choice().options() == {key: item.default for key, item in arguments.items()}
        assert {key: item.default for key, item in family.options.items()} == family.choice().options()


def issubclass_of(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def test_a_choice_takes_what_its_text_takes() -> None:
    for family in FAMILIES.values():
        for options in family.variants():
            made = family.choice(**options)
            assert named(made, None) == (family.name, options)
            assert family.choice(**{key: str(value) for key, value in options.items() if value is not None}) == made
        for key, item in family.options.items():
            with pytest.raises(StepperError, match=rf"'{family.name}': {key}=no such is not allowed; allowed: "):
                family.choice(**{key: "no such"})
            assert item.default is None or item.checked(family.name, key, item.default) == item.default


@pytest.mark.parametrize("choice", [mbfmu.Rattle(iteration="simplified"), mbfmu.Projected(order=8), mbfmu.Radau()])
def test_a_choice_and_its_text_are_the_same_stepper(choice: Choice) -> None:
    system = mbfmu.load("pendulum")
    one, other = prepare(system, choice, None, 1e-3), prepare(system, choice.name, choice.options(), 1e-3)
    assert one.stepper == other.stepper
    assert describe(one.bundle) == describe(other.bundle)


def test_a_choice_is_taken_wherever_a_stepper_is(tmp_path: Path) -> None:
    choice = mbfmu.Projected(order=8)
    given = {"stepper": "projected", "options": {"order": 8}}
    runs = [mbfmu.simulate("pendulum", 0.1, **item).values for item in ({"stepper": choice}, given)]
    assert np.array_equal(*runs)
    files = [
        mbfmu.export("pendulum", tmp_path / f"{k}.fmu", **item) for k, item in enumerate(({"stepper": choice}, given))
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    (row,) = mbfmu.compare("pendulum", 0.1, steppers=[choice], steps=[0.05]).rows
    assert row.stepper == "projected order=8"
    with pytest.raises(StepperError, match="has its options already"):
        mbfmu.simulate("pendulum", 0.1, stepper=choice, options={"order": 4})
    with pytest.raises(UsageError, match="has its stepper inside"):
        mbfmu.simulate(files[0], 0.1, stepper=choice)


def test_the_table_of_steppers_is_by_name_with_what_each_allows() -> None:
    table = mbfmu.steppers()
    assert list(table) == list(FAMILIES)
    assert table["rattle"].options["iteration"].choices == ("newton", "simplified")
    assert table["rattle"].preserves


@pytest.mark.parametrize(
    ("model", "stepper", "reason"),
    [
        ("cart_pendulum", "rattle iteration=newton", "dampers that are stiff for the step; if none is stiff"),
        ("crane", "projected order=4", "no spring, damper or the like"),
        ("ice_skate", "projected order=4", "nonholonomic"),
        ("pid", "radau stages=3", "first-order equations"),
    ],
)
def test_the_stepper_that_nobody_names_follows_from_the_structure_and_is_said_with_the_reason(
    model: str, stepper: str, reason: str
) -> None:
    for _ in range(2):  # the second run may start from the cache
        run = mbfmu.simulate(model, 0.01)
        assert run.stepper == stepper
        assert run.reason.startswith("by default: ")
        assert reason in run.reason
    named = mbfmu.simulate(model, 0.01, stepper=stepper.split()[0])
    assert np.array_equal(named.values, run.values)
    assert named.reason == "named by the user"
    assert mbfmu.Simulation(model).stepper == stepper


def test_an_input_over_time_leaves_the_default_stepper_as_it_is() -> None:
    steppers = {mbfmu.simulate("two_link", 0.01, inputs={"elbow.tau": given}).stepper for given in (1.0, "sin(time)")}
    assert steppers == {"projected order=4"}


def test_a_stepper_that_the_model_names_is_said_to_be_its_own() -> None:
    system = replace(mbfmu.load("cart_pendulum"), stepper="projected")
    run = mbfmu.simulate(system, 0.01)
    assert (run.stepper, run.reason) == ("projected order=4", "named by the model")


# -- other packages -------------------------------------------------------------------------------------------------

EXTENSION = '''
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from mbfmu.errors import ModelFileError
from mbfmu.model import Body, Prismatic, Spring, System, World, connect
from mbfmu.model.readers import Reader
from mbfmu.stepper import Choice, option
from mbfmu.stepper.direct import FAMILY, direct


@dataclass(frozen=True)
class Mine(Choice):
    """The stepper `mine`."""

    name: ClassVar[str] = "mine"
    method: Literal["rk4", "dopri5"] = option("dopri5", "the explicit method")


def mine(dae, method):
    return replace(direct(dae, method), name="mine")


MINE = replace(FAMILY, choice=Mine, make=mine)
MINE_TOO = replace(MINE, order="2")


@dataclass(frozen=True)
class RubberBand(Spring):
    """A spring from another package."""


def hung(path):
    """Read a mass on a spring: the class of the spring and its constant."""
    kind, constant = path.read_text().split()
    if kind == "Nothing":
        return None
    if float(constant) < 0:
        raise ModelFileError(f"'{path}': {constant} is below 0")
    return System(
        name="hung",
        planar=True,
        components=(
            World(),
            Prismatic("rail", n=(0.0, 1.0, 0.0), s=-0.5),
            Body("mass", m=2.0, I_33=1.0),
            {"Spring": Spring, "RubberBand": RubberBand}[kind]("band", c=float(constant)),
        ),
        connections=(
            connect("world.frame_b", "rail.frame_a"),
            connect("rail.frame_b", "mass.frame_a"),
            connect("world.frame_b", "band.frame_a"),
            connect("band.frame_b", "mass.frame_a"),
        ),
    )


HUNG = Reader("hung masses", (".hung",), hung, "a mass on a spring")
GREEDY = Reader("greedy", (".hung", ".toml", ".greedy"), hung)
'''
HUNG = "[mbfmu.readers]\nhung = rubber:HUNG\n"
"""Entry point of a reader."""


def hung(c: float) -> System:
    """Return a mass on a spring."""
    return System(
        name="hung",
        planar=True,
        components=(
            World(),
            Prismatic("rail", n=(0.0, 1.0, 0.0), s=-0.5),
            Body("mass", m=2.0, I_33=1.0),
            Spring("band", c=c),
        ),
        connections=(
            connect("world.frame_b", "rail.frame_a"),
            connect("rail.frame_b", "mass.frame_a"),
            connect("world.frame_b", "band.frame_a"),
            connect("band.frame_b", "mass.frame_a"),
        ),
    )


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that installs a package with the given entry points for this test."""

    def do(text: str) -> None:
        site = tmp_path / "site"
        about = site / "rubber-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rubber\nVersion: 1.0\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(text, encoding="utf-8")
        (site / "rubber.py").write_text(EXTENSION, encoding="utf-8")
        (site / "broken.py").write_text("1 / 0\n", encoding="utf-8")
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, "rubber", raising=False)

    return do


def test_a_stepper_of_another_package_is_one_like_the_others(install: Callable[[str], None], tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no stepper 'mine'"):
        mbfmu.simulate("pendulum", 0.1, stepper="mine")
    install("[mbfmu.steppers]\nmine = rubber:MINE\n")
    assert "mine" in mbfmu.steppers()
    assert "mine" in [row["name"] for row in listed_steppers()]
    own = mbfmu.simulate("pendulum", 0.1, stepper="direct", options={"method": "dopri5"})
    for how in ({"stepper": "mine"}, {"stepper": mbfmu.steppers()["mine"].choice()}):
        assert np.array_equal(mbfmu.simulate("pendulum", 0.1, **how).values, own.values)
    fmu = mbfmu.export("pendulum", tmp_path / "pendulum.fmu", stepper="mine")
    found = mbfmu.simulate(fmu, 0.1)
    np.testing.assert_allclose(found["x"], own["x"], rtol=0, atol=1e-13)
    with pytest.raises(UnknownNameError, match="did you mean 'mine'"):
        mbfmu.simulate("pendulum", 0.1, stepper="mne")


def test_a_model_with_a_stepper_of_another_package_is_not_stored_in_the_start_cache(
    install: Callable[[str], None],
) -> None:
    install("[mbfmu.steppers]\nmine = rubber:MINE\n")
    assert prepare(mbfmu.load("pendulum"), "mine", None, 1e-3).key is None


def test_a_component_of_another_package_is_listed_and_read_from_toml(install: Callable[[str], None]) -> None:
    plain = hung(100.0)
    text = to_toml(plain).replace('type = "Spring"', 'type = "RubberBand"')
    assert "RubberBand" in text
    with pytest.raises(MbfmuError, match="no component 'RubberBand'"):
        from_toml(text)
    install("[mbfmu.components]\nRubberBand = rubber:RubberBand\n")
    row = next(row for row in components() if row["name"] == "RubberBand")
    assert row["what_it_is"] == "A spring from another package."
    assert row["quantities"] == next(row for row in components() if row["name"] == "Spring")["quantities"]
    system = from_toml(text)
    assert to_toml(system) == text
    one, other = mbfmu.simulate(system, 0.1), mbfmu.simulate(plain, 0.1)
    assert np.array_equal(one.values, other.values)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("bad = broken:MINE", "ZeroDivisionError: division by zero"),
        ("bad = nothing:MINE", "ModuleNotFoundError"),
        ("bad = rubber:nothing", "AttributeError"),
        ("bad = rubber:mine", "it must be a Family"),
        ("bad = mbfmu.stepper.direct:FAMILY", "mbfmu has a 'direct' itself"),
    ],
)
def test_a_broken_entry_point_is_one_warning_that_names_it(
    entry: str, reason: str, install: Callable[[str], None]
) -> None:
    install(f"[mbfmu.steppers]\n{entry}\nmine = rubber:MINE\n")
    with pytest.warns(
        RuntimeWarning, match=rf"'{entry}' in group 'mbfmu.steppers' of 'rubber' is left out.*{reason}"
    ) as seen:
        table = mbfmu.steppers()
    assert len(seen) == 1
    assert list(table) == [*FAMILIES, "mine"]
    mbfmu.simulate("pendulum", 0.01, stepper="rattle")  # what mbfmu has itself asks no other package


def test_the_command_line_lists_other_packages_and_names_a_broken_one(
    install: Callable[[str], None], tmp_path: Path
) -> None:
    install("[mbfmu.steppers]\nbad = broken:MINE\nmine = rubber:MINE\n")
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "mbfmu", "list", "steppers"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "mine" in done.stdout
    assert done.stderr.count("notice") == 1
    assert "'bad = broken:MINE'" in done.stderr


def test_a_file_of_another_packages_format_is_a_model_like_the_others(
    install: Callable[[str], None], tmp_path: Path
) -> None:
    path = tmp_path / "mass.hung"
    path.write_text("Spring 100", encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"a model file ends in \.py, .* or \.mjcf$"):
        mbfmu.load(path)
    install(HUNG)
    assert mbfmu.load(path) == hung(100.0)
    path = path.rename(tmp_path / "MASS.HUNG")
    result = mbfmu.simulate(str(path), 0.1)
    assert np.array_equal(result.values, mbfmu.simulate(hung(100.0), 0.1).values)
    exported = mbfmu.simulate(mbfmu.export(path, tmp_path / "mass.fmu"), 0.1)
    np.testing.assert_allclose(exported["rail.s"], result["rail.s"], rtol=0, atol=1e-13)
    with pytest.raises(ModelFileError, match=r"or \.hung$"):
        mbfmu.load(tmp_path / "mass.fmu")


def test_the_content_of_another_packages_file_decides_what_the_start_cache_has(
    install: Callable[[str], None], tmp_path: Path
) -> None:
    install(HUNG)
    path, keys = tmp_path / "mass.hung", []
    for text in ("Spring 100", "Spring 200", "Spring   100", "RubberBand 100"):
        path.write_text(text, encoding="utf-8")
        keys.append(prepare(mbfmu.load(path), None, None, 1e-3).key)
    assert keys[0] == keys[2] == prepare(hung(100.0), None, None, 1e-3).key != keys[1]
    assert keys[3] is None  # a class that is not mbfmu's own


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Spring -1", "'.*mass.hung': -1 is below 0"),
        ("Wire 100", "'.*mass.hung': the reader of hung masses fails with KeyError: 'Wire'"),
        ("Nothing 100", "'.*mass.hung': the reader of hung masses returned a NoneType, not a model"),
    ],
)
def test_a_mistake_in_another_packages_file_is_one_error_that_names_the_file(
    text: str, message: str, install: Callable[[str], None], tmp_path: Path
) -> None:
    install(HUNG)
    path = tmp_path / "mass.hung"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError, match=message):
        mbfmu.load(path)


def test_a_suffix_that_is_mbfmus_own_or_claimed_twice_is_left_out_with_a_warning_that_names_both(
    install: Callable[[str], None], tmp_path: Path
) -> None:
    install(f"{HUNG}greedy = rubber:GREEDY\n")
    for suffix in ("hung", "greedy"):
        (tmp_path / f"mass.{suffix}").write_text("Spring 100", encoding="utf-8")
    greedy, other = (
        f"entry point '{name} = rubber:{name.upper()}' in group 'mbfmu.readers' of 'rubber'"
        for name in ("greedy", "hung")
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert mbfmu.load(tmp_path / "mass.greedy") == hung(100.0)
        with pytest.raises(ModelFileError, match=r"or \.greedy$"):
            mbfmu.load(tmp_path / "mass.hung")
        assert listed_readers()[-1] == {"name": "greedy", "suffixes": [".greedy"], "what_it_is": ""}
    assert {str(item.message) for item in seen} == {
        f"{greedy} is left out for '.toml': mbfmu has a '.toml' itself",
        f"{greedy} and {other} are left out for '.hung', which each of them has: uninstall all but one",
    }


def test_a_stepper_that_two_packages_have_is_left_out_with_a_warning_that_names_both(
    install: Callable[[str], None],
) -> None:
    install("[mbfmu.steppers]\nmine = rubber:MINE\nother = rubber:MINE_TOO\n")
    with pytest.warns(RuntimeWarning, match=r"rubber:MINE'.* and .*rubber:MINE_TOO'.* are left out for 'mine'"):
        assert "mine" not in mbfmu.steppers()


@pytest.mark.parametrize("suffixes", [".yaml", ("yaml",), (".YAML",), (".tar.gz",), ()])
def test_a_reader_needs_suffixes_that_files_have(suffixes: Any) -> None:
    with pytest.raises(UsageError, match=r"reader 'mine': suffixes = .* must be a tuple such as"):
        Reader("mine", suffixes, mbfmu.load)


def test_formats_of_mbfmu_with_one_suffix_differ_by_their_roots() -> None:
    for row in READERS:
        assert callable(row.read)
        assert (row.takes == "options") == bool(row.robot)
        assert not row.robot or callable(row.read_robot)
        rivals = [other for other in READERS if set(row.suffixes) & set(other.suffixes)]
        assert len(rivals) == 1 or all(other.root for other in rivals)
        assert len({other.root for other in rivals}) == len(rivals)


@pytest.mark.parametrize("name", ["pendulum", *(path.stem for path in known_models().values() if path.suffix != ".py")])
def test_the_suffix_of_a_model_file_may_be_in_upper_case(name: str, tmp_path: Path) -> None:
    path = known_models()[name]
    copy = tmp_path / f"{name}{path.suffix.upper()}"
    copy.write_bytes(path.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which name the file
        assert mbfmu.load(copy) == mbfmu.load(path)
