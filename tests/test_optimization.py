"""Optimize: minima with a closed form are found, and gradients of measures are those of differences."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu import cli
from mbfmu.equilibria import read_start
from mbfmu.errors import MbfmuError
from mbfmu.model import Block, Defined, Parameter, Port, State
from mbfmu.study.measures import MEASURES, SLOPES


def line(c: float = 0.5) -> Block:
    """Return x' = c from x = x0: y = x0 + c t."""
    return Block(
        name="line",
        description="",
        inputs=(Port("u", "m/s", ""),),
        states=(State("x", "c + u", "m", 0.0, ""),),
        defined=(Defined("y", "x", "m", "", True),),
        parameters=(Parameter("c", c, "m/s", ""),),
    )


@pytest.mark.parametrize("name", MEASURES)
def test_slopes_of_measures_are_those_of_differences(name: str) -> None:
    numbers = np.random.default_rng(1)
    time, values, h = np.sort(numbers.random(9)), numbers.normal(size=9), 1e-6
    ahead, behind = (np.array([MEASURES[name](time, values + k * h * row) for row in np.eye(9)]) for k in (1, -1))
    assert SLOPES[name](time, values) == pytest.approx((ahead - behind) / (2 * h), abs=1e-8)


def test_a_minimum_with_a_closed_form_is_found() -> None:
    found = mbfmu.optimize(line(), 1.0, "(last(y) - 2)**2 + c**2", ["c"], step=0.05)
    assert found["c"] == pytest.approx(1.0, rel=1e-7)
    assert found.least == pytest.approx(2.0, rel=1e-12)
    assert found.before == pytest.approx(2.5, rel=1e-12)
    assert not found.notices


def test_two_values_and_several_measures_are_minimised_together() -> None:
    goal = "(mean(y) - 1)**2 + (ptp(y) - max(0.5, 0.2))**2 + 0*rms(y)"
    found = mbfmu.optimize(line(), 2.0, goal, ["c", "x"], step=0.05)
    assert found.values == pytest.approx({"c": 0.25, "x": 0.75}, rel=1e-5)


def test_a_machine_is_improved_up_to_its_bounds() -> None:
    found = mbfmu.optimize(
        "two_link", 0.3, "last(shoulder.phi)**2", ["m1", "m2"], bounds={"m1": (0.5, 2.0), "m2": (0.5, 2.0)}, step=5e-3
    )
    ends = {
        (m1, m2): mbfmu.simulate("two_link", 0.3, step=5e-3, values={"m1": m1, "m2": m2})["shoulder.phi"][-1] ** 2
        for m1 in (0.5, 1.0, 2.0)
        for m2 in (0.5, 1.0, 2.0)
    }
    assert found.before == ends[1.0, 1.0]
    assert found.least <= min(ends.values()) * (1 + 1e-12)
    assert all(item.bound for item in found.items)


def test_what_is_written_starts_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = "optimize two_link --stop 0.1 --step 1e-2 --free m2 --bounds m2=0.5:2 -o best.json --set l1=0.8 --json"
    goal = "rms(shoulder.w) + last(elbow.phi)"
    monkeypatch.setattr(sys, "argv", ["mbfmu", *given.split(), "--minimize", goal])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"model", "stop", "minimize", "values", "before", "least", "runs", "wrote"}
    assert document["least"] < document["before"]
    assert read_start(tmp_path / "best.json") == {"l1": 0.8, "m2": document["values"][0]["value"]}


@pytest.mark.parametrize(
    ("goal", "more", "message"),
    [
        ("c", {}, "measures no output"),
        ("last(z)", {}, "'z' is neither an output that is measured"),
        ("last(y) + k", {}, "'k' is neither an output that is measured"),
        ("last(y", {}, "a parenthesis is open"),
        ("last(y + 1)", {}, "neither an output"),
        ("log(last(y) - 9)", {}, "not finite"),
        ("last(y)", {"bounds": {"c": (1.0, 2.0)}}, "not between 1 and 2"),
    ],
)
def test_mistakes_are_told(goal: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(MbfmuError, match=message):
        mbfmu.optimize(line(), 1.0, goal, ["c"], step=0.05, **more)


def test_a_value_that_was_not_free_is_an_unknown_name() -> None:
    with pytest.raises(MbfmuError, match="'k' was not free"):
        mbfmu.optimize(line(), 1.0, "last(y)**2", ["c"], step=0.05)["k"]


def test_models_with_events_are_refused_by_name() -> None:
    with pytest.raises(MbfmuError, match="gaps or dry friction"):
        mbfmu.optimize("bouncing_ball", 0.1, "last(y)", ["g"])
