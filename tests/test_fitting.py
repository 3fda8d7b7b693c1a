"""Fit: known values are recovered, and standard errors are those of the closed form."""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu import cli
from mbfmu.analysis.equilibria import read_start
from mbfmu.base.result import read_table
from mbfmu.errors import MbfmuError, StartError, UnknownNameError, UsageError
from mbfmu.model import Block, Defined, Parameter, Port, State

TRUE = {"l1": 0.9, "m2": 1.3, "elbow.phi": 0.4}
CHOICES: dict[str, Any] = {"stepper": "rattle", "step": 2e-3}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the table of a run with known values, driven by torques."""
    result = mbfmu.simulate(
        "two_link", 0.5, output_interval=0.02, values=TRUE, inputs={"shoulder.tau": 3.0, "elbow.tau": -1.0}, **CHOICES
    )
    return result.write(tmp_path_factory.mktemp("measured") / "run.csv")


def table(path: Path, **columns: Any) -> Path:
    """Write columns as a .csv file."""
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def line(c: float = 0.0, **bounds: float) -> Block:
    """Return x' = c, whose course is linear in c and in the start value: y = x0 + c t."""
    return Block(
        name="line",
        description="",
        inputs=(Port("u", "m/s", ""),),
        states=(State("x", "c + u", "m", 0.0, ""),),
        defined=(Defined("y", "x", "m", "", True),),
        parameters=(Parameter("c", c, "m/s", "", **bounds),),
    )


# -- what it finds ----------------------------------------------------------------------------------------------------


def test_known_values_are_recovered(measured: Path) -> None:
    found = mbfmu.fit("two_link", measured, list(TRUE), **CHOICES)
    assert found.values == pytest.approx(TRUE, rel=1e-8)
    assert set(found.residuals) == {f"{joint}.{what}" for joint in ("shoulder", "elbow") for what in ("phi", "w", "a")}
    assert found.rms < 1e-9
    assert not found.notices


def test_a_few_columns_from_a_later_time_are_enough(measured: Path, tmp_path: Path) -> None:
    columns = read_table(measured)
    kept = {name: columns[name][5:] for name in ("time", "elbow.phi", "shoulder.tau", "elbow.tau")}
    data = table(tmp_path / "later.csv", **kept)
    found = mbfmu.fit("two_link", data, list(TRUE), **CHOICES)
    assert found.values == pytest.approx(TRUE, rel=1e-8)
    assert found.points == 21


def test_an_input_given_wins_over_a_column(measured: Path, tmp_path: Path) -> None:
    columns = dict(read_table(measured))
    columns["shoulder.tau"] = np.zeros_like(columns["time"])
    data = table(tmp_path / "run.csv", **columns)
    found = mbfmu.fit("two_link", data, list(TRUE), inputs={"shoulder.tau": 3.0}, **CHOICES)
    assert found.values == pytest.approx(TRUE, rel=1e-8)


def noisy(tmp_path: Path) -> tuple[Path, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a table of a line with errors, the matrix of the linear problem and the measured values."""
    time = np.linspace(0.0, 2.0, 41)
    y = 0.7 + 1.9 * time + np.random.default_rng(3).normal(0.0, 0.05, time.size)
    return table(tmp_path / "line.csv", time=time, y=y), np.stack([np.ones_like(time), time], axis=1), y


def test_standard_errors_are_those_of_linear_regression(tmp_path: Path) -> None:
    data, X, y = noisy(tmp_path)
    found = mbfmu.fit(line(), data, ["x", "c"])
    wanted, squares, *_ = np.linalg.lstsq(X, y, rcond=None)
    covariance = squares[0] / (len(y) - 2) * np.linalg.inv(X.T @ X)
    assert list(found.values.values()) == pytest.approx(wanted, rel=1e-10)
    assert [item.error for item in found.items] == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-8)
    assert found.covariance == pytest.approx(covariance, rel=1e-8)
    assert found.residuals["y"] == pytest.approx(np.sqrt(squares[0] / len(y)), rel=1e-10)


def test_known_errors_of_the_data_give_those_of_the_values(tmp_path: Path) -> None:
    data, X, _ = noisy(tmp_path)
    found = mbfmu.fit(line(), data, ["x", "c"], sigma={"y": 0.2})
    assert found.covariance == pytest.approx(0.2**2 * np.linalg.inv(X.T @ X), rel=1e-8)


def test_bounds_hold_and_are_told(tmp_path: Path) -> None:
    data, *_ = noisy(tmp_path)
    own = mbfmu.fit(line(0.5, max=1.0), data, ["c", "x"])
    asked = mbfmu.fit(line(0.5), data, ["c", "x"], bounds={"c": (0.0, 1.0)})
    for found in (own, asked):
        assert found["c"] == pytest.approx(1.0, abs=1e-6)
        assert found["c"] <= 1.0
        assert found.items[0].bound
        assert np.isnan(found.items[0].error)
        assert not found.items[1].bound


def rising(slope: str, **values: float) -> Block:
    """Return x' = slope, an expression of parameters."""
    return Block(
        name="rising",
        description="",
        states=(State("x", slope, "m", 0.0, ""),),
        defined=(Defined("y", "x", "m", "", True),),
        parameters=tuple(Parameter(name, value, "1", "") for name, value in values.items()),
    )


@pytest.mark.parametrize(
    ("slope", "values", "words"),
    [
        ("a + b", {"a": 1.0, "b": 1.0}, "a, b apart, only a + b"),
        ("a*b", {"a": 1.0, "b": 1.0}, "a, b apart, only a*b"),
        ("m*l**2", {"m": 2.0, "l": 0.5}, "m, l apart, only m*l**2"),
        ("k/m", {"k": 3.0, "m": 2.0}, "k, m apart, only k/m"),
        ("a + 0.3*b", {"a": 1.0, "b": 2.0}, "a, b apart, only a + 0.3 b"),
        ("a + b - c", {"a": 1.0, "b": 2.0, "c": 1.0}, "a, b, c apart, only a + b - c"),
        ("a + b*b", {"a": 1.0, "b": 0.5}, "a, b apart, only a + {slope:.4g} b to first order"),
        ("a + 0*b", {"a": 1.0, "b": 0.5}, "b"),
    ],
)
def test_what_the_data_tell_of_values_is_said_in_words(
    slope: str, values: dict[str, float], words: str, tmp_path: Path
) -> None:
    time = np.linspace(0.0, 1.0, 11)
    data = table(tmp_path / "line.csv", time=time, y=1.2 * time)
    found = mbfmu.fit(rising(slope, **values), data, [*values, "x"])
    words = words.format(slope=2 * found.values.get("b", 0.0))
    assert found.notices == (f"the data do not determine {words}: free fewer values, or measure more",)
    assert found.identifiability.rank == 2
    kept = found.identifiability.undetermined[0]
    assert all(np.isinf(item.error) == (item.name in kept) for item in found.items)


def test_intervals_correlation_and_profiles_are_those_of_linear_regression(tmp_path: Path) -> None:
    data, X, _ = noisy(tmp_path)
    found = mbfmu.fit(line(), data, ["x", "c"], profiles=2)
    covariance = np.linalg.inv(X.T @ X)
    assert found.correlation[0, 1] == pytest.approx(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
    quantile = 2.0226909  # of Student's distribution with 39 degrees of freedom, at 97.5 %
    for item in found.items:
        assert item.interval == pytest.approx((item.value - quantile * item.error, item.value + quantile * item.error))
    assert {profile.name for profile in found.profiles} == {"x", "c"}
    for profile in found.profiles:
        assert profile.rise == pytest.approx([9, 4, 1, 0, 1, 4, 9], abs=1e-6)
        assert profile.interval == pytest.approx(
            next(item.interval for item in found.items if item.name == profile.name)
        )
    assert found.identifiability.rank == 2
    assert not found.notices


def test_a_profile_shows_how_little_the_data_say_of_a_large_value(tmp_path: Path) -> None:
    # x' = 1/c falls to nothing for a large c, so that the data leave c open above, and bound it below
    time = np.linspace(0.0, 1.0, 6)
    data = table(tmp_path / "line.csv", time=time, y=0.1 * time)
    found = mbfmu.fit(rising("1/c", c=4.0), data, ["c"], sigma={"y": 0.1}, profiles=1)
    assert found["c"] == pytest.approx(10.0)
    low = found.profiles[0].interval[0]
    assert low > found.items[0].interval[0] + 5  # the standard error alone reaches below 0
    # by hand: the sum of squares rises by (1/c - 0.1)^2 sum t^2 / sigma^2
    held = np.array(found.profiles[0].values)
    assert found.profiles[0].rise == pytest.approx((1 / held - 0.1) ** 2 * (time @ time) / 0.01, rel=1e-6)


def test_values_that_residuals_of_zero_do_not_determine_have_infinite_errors(tmp_path: Path) -> None:
    block = line()
    unused = Block(
        name="unused", description="", inputs=block.inputs, states=block.states, defined=block.defined,
        parameters=(*block.parameters, Parameter("d", 1.0, "1", "")),
    )  # fmt: skip
    data = table(tmp_path / "data.csv", time=[0.0, 1.0, 2.0], y=[0.0, 0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mbfmu.fit(unused, data, ["c", "d"])
    assert [item.error for item in found.items] == [0.0, np.inf]
    assert found.notices == ("the data do not determine d: free fewer values, or measure more",)


def test_as_many_values_as_measured_ones_have_no_errors_and_this_is_told(tmp_path: Path) -> None:
    data = table(tmp_path / "data.csv", time=[0.0, 1.0], y=[0.5, 2.0])
    found = mbfmu.fit(line(), data, ["c", "x"])
    assert all(np.isnan(item.error) for item in found.items)
    assert found.notices[0].startswith("2 values take 2 measured ones to the last")
    known = mbfmu.fit(line(), data, ["c", "x"], sigma={"y": 0.1})
    assert known.items[1].error == pytest.approx(0.1)
    assert not known.notices


@pytest.mark.parametrize(("begin", "comma"), [("\ufeff", ","), ("", ", ")])
def test_headers_are_read_as_excel_and_people_write_them(begin: str, comma: str, tmp_path: Path) -> None:
    data = tmp_path / "line.csv"
    data.write_text(f"{begin}time,y,u\n0,0.5,0\n1,2,0\n2,3.5,0\n".replace(",", comma), encoding="utf-8")
    assert mbfmu.fit(line(), data, ["c", "x"]).values == pytest.approx({"c": 1.5, "x": 0.5})
    assert mbfmu.simulate(line(), 0.1, inputs={"u": str(data)})["y"][-1] == 0.0


# -- what it writes ---------------------------------------------------------------------------------------------------


def test_what_is_written_starts_a_run(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = f"fit two_link --data {measured} --free l1,m2 --free elbow.phi --step 2e-3 --stepper rattle -o fit.toml"
    shown = {}
    for how in ("--json", "--quiet"):
        monkeypatch.setattr(sys, "argv", ["mbfmu", *given.split(), how])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert not caught.value.code
        shown[how] = capsys.readouterr().out
    document = json.loads(shown["--json"])
    assert set(document) == {
        "model", "values", "covariance", "correlation", "identifiability", "profiles", "outputs", "residual", "points",
        "runs", "wrote",
    }  # fmt: skip
    values = {item["name"]: item["value"] for item in document["values"]}
    assert values == pytest.approx(TRUE, rel=1e-8)
    assert read_start(tmp_path / "fit.toml") == values
    for word in ("standard error", "rms residual", "elbow.phi", "wrote fit.toml"):
        assert word in shown["--quiet"]


@pytest.mark.parametrize("target", ["folder.toml", "/dev/full"])
def test_a_file_that_cannot_be_written_does_not_take_what_was_found(
    target: str, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if target.startswith("/") and not Path(target).exists():
        pytest.skip(f"there is no {target}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.toml").mkdir()
    given = f"fit two_link --data {measured} --free l1 --step 2e-3 --stepper rattle -o {target}"
    monkeypatch.setattr(sys, "argv", ["mbfmu", *given.split()])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1
    shown = capsys.readouterr()
    assert f"cannot write '{target}'" in shown.err
    assert ("rms residual" in shown.out) == (target == "/dev/full")  # a folder is known before the fit


# -- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({"time": [0.0, 1.0], "z": [0.0, 1.0]}, {}, r"no column with the name of an output of 'line' .*; it has z"),
        ({"time": [0.0, 1.0], "y": [0.0, 1.0]}, {"outputs": ["yy"]}, "has no output 'yy'; did you mean 'y'"),
        ({"time": [0.0, 1.0], "y": [0.0, 1.0]}, {"outputs": ["y", "y"]}, "name each column once"),
        ({"time": [0.0, 1.0], "y": [0.0, 1.0]}, {"step": 0.0}, "the step is 0.0 s"),
        ({"time": [0.0, 1.0], "z": [0.0, 1.0]}, {"outputs": ["y"]}, "has no column 'y'"),
        ({"time": [-1.0, 1.0], "y": [0.0, 1.0]}, {}, "begins at t = -1 s"),
        ({"time": [0.0], "y": [0.0]}, {}, "has one row"),
        ({"time": [1.0], "y": [0.0]}, {}, "has 1 measured values, for 2 free ones"),
        ({"time": [0.0, 1.0], "y": [0.0, float("nan")]}, {}, "'y' needs one finite number for each time"),
        ({"time": [0.0, 1.0], "y": [0.0, 1.0]}, {"sigma": {"y": 0.0}}, "sigma of y = 0.0: it must be a positive"),
        ({"time": [0.0, 1.0], "y": [0.0, 1.0]}, {"sigma": {"z": 1.0}}, "give one for each of y"),
        ({"time": [0.0, 1.0], "y": [0.0, 1.0]}, {"bounds": {"c": (1.0, 2.0)}}, "begins at c = 0, not between 1 and 2"),
        ({"time": [0.0, 1.0], "y": [0.0, 1.0]}, {"bounds": {"c": (2.0, 1.0)}}, "a least and a greatest value"),
        ({"time": [0.0, 1.0], "y": [0.0, 1.0]}, {"bounds": {"d": (2.0, 3.0)}}, "'d' is not free"),
    ],
)
def test_mistakes_are_told(columns: dict[str, list[float]], more: dict[str, Any], message: str, tmp_path: Path) -> None:
    data = table(tmp_path / "data.csv", **columns)
    with pytest.raises(MbfmuError, match=message):
        mbfmu.fit(line(), data, ["c", "x"], **more)


def test_a_value_that_was_not_fitted_is_an_unknown_name(tmp_path: Path) -> None:
    data, *_ = noisy(tmp_path)
    with pytest.raises(UnknownNameError, match="'k' was not fitted"):
        mbfmu.fit(line(), data, ["c", "x"])["k"]


def test_a_start_that_cannot_be_is_told(measured: Path) -> None:
    with pytest.raises((StartError, UsageError, UnknownNameError)):
        mbfmu.fit("slider_crank", measured, ["crank.phi"], values={"l2": 0.1}, outputs=["slider.s"])
