"""Reports: one page says what was run, with which settings and values, what came out, and what happened."""

import hashlib
import math
import re
import warnings
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_browser import browser  # noqa: F401 - a fixture
from test_view import call

import mbfmu
from mbfmu.errors import ResultWarning, UsageError
from mbfmu.show.viewer import Page

STOP = 0.05


def rows(page: Page, section: str) -> dict[str, list[str]]:
    """Return the cells of the table of a section, by the first of each row."""
    (text,) = re.findall(rf'<h2 id="{section}">.*?(?=<h2|</body>)', page.html, re.DOTALL)
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in re.findall(r"<tr>(.*?)</tr>", text)]
    return {first: [unescape(cell) for cell in others] for first, *others in lines}


def test_a_report_says_what_was_run_with_which_values_and_what_came_out() -> None:
    given = {"values": {"l1": 0.5}, "inputs": {"elbow.tau": "3*time"}, "stepper": "rattle"}
    page, run = (
        mbfmu.report("two_link", STOP, display=["deg", "mm"], **given),
        mbfmu.simulate("two_link", STOP, **given),
    )
    facts = {name: cells[0] for name, cells in rows(page, "run").items()}
    assert facts["what"] == "the model two_link"
    assert facts["stepper"].startswith("rattle")
    assert (facts["values"], facts["inputs"]) == ("l1 = 0.5", "elbow.tau = 3*time")
    assert facts["estimated error"].startswith(f"{run.error.value:.2g} of the range of {run.error.name}")
    assert f"mbfmu {mbfmu.__version__}, Python " in facts["versions"]
    assert rows(page, "values")["l1"][:2] == ["500", "mm"]
    last = math.degrees(run["elbow.phi"][-1])
    assert rows(page, "results")["elbow.phi"][:2] == ["deg", f"{last:.6g}"]
    assert page.html.count("<iframe") == page.html.count("<svg") == 1


def test_events_are_the_changes_of_what_takes_whole_values_only() -> None:
    run = mbfmu.simulate("bouncing_ball", 1.0)
    count = run["ground.impacts"]
    seen = run.time[1:][np.diff(count) > 0]
    text = re.findall(r'<th scope="row">([^<]*)</th><td>ground.impacts</td>', mbfmu.report("bouncing_ball", 1.0).html)
    assert text == [f"{time:g}" for time in seen]
    assert text


def test_warnings_of_the_run_stand_in_the_report_and_are_given_too() -> None:
    with pytest.warns(ResultWarning) as heard:
        page = mbfmu.report("two_link", 4.0, step=0.1, stepper="rattle")
    for item in heard:
        assert str(item.message) in unescape(page.html)


@pytest.mark.parametrize("kind", ["fmu", "csv"])
def test_an_fmu_and_a_table_have_reports_with_the_hash_of_the_file(
    kind: str, two_link_fmu: Path, tmp_path: Path
) -> None:
    path = two_link_fmu if kind == "fmu" else mbfmu.simulate("two_link", STOP).write(tmp_path / "run.csv")
    page = mbfmu.report(path, STOP if kind == "fmu" else None, model="two_link")
    facts = rows(page, "run")
    assert facts["SHA-256"] == [hashlib.sha256(path.read_bytes()).hexdigest()]
    assert ("l1" in rows(page, "values")) == (kind == "fmu")
    assert "<iframe" in page.html


def test_what_has_no_picture_says_why_and_has_the_rest() -> None:
    page = mbfmu.report("pid", STOP)
    assert "There is no picture: 'pid' is given by equations" in unescape(page.html)
    assert rows(page, "values")


def test_a_recorded_run_has_no_settings(tmp_path: Path) -> None:
    path = mbfmu.simulate("two_link", STOP).write(tmp_path / "run.csv")
    with pytest.raises(UsageError, match="is a run already: leave stop, step out"):
        mbfmu.report(path, STOP, step=1e-3)


def test_the_command_writes_a_report_that_opens_without_a_network_or_a_complaint(
    browser: Any,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call("report", "two_link", "--stop", str(STOP), "--display", "deg", monkeypatch=monkeypatch) == 0
    assert capfd.readouterr().out.startswith("wrote two_link_report.html (")
    faults: list[str] = []
    context = browser.new_context(viewport={"width": 400, "height": 800}, offline=True)
    shown = context.new_page()
    shown.on("console", lambda item: faults.append(item.text) if item.type in {"error", "warning"} else None)
    shown.on("pageerror", lambda error: faults.append(str(error)))
    shown.goto(f"{(tmp_path / 'two_link_report.html').as_uri()}#picture")
    shown.frame_locator("iframe").locator("#scene canvas").wait_for()
    assert shown.evaluate("document.documentElement.scrollWidth") == 400  # wide tables scroll by themselves
    context.close()
    assert [text for text in faults if "GPU stall" not in text] == []
