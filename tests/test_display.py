"""Display units: tables, pictures, pages and FMUs show the same values in the units that a user chooses."""

import json
import math
import re
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from test_view import call, data, unpacked

import mbfmu
from mbfmu.base.result import read_table
from mbfmu.base.units import DISPLAYED, UNITS, display_of, known_unit
from mbfmu.errors import UnknownNameError, UsageError
from mbfmu.fmu.description import Header, model_description
from mbfmu.fmu.description3 import model_description3
from mbfmu.fmu.interface import interface
from mbfmu.model import System
from mbfmu.prepared.prepare import prepare
from mbfmu.show.plot import plot_result
from mbfmu.show.viewer.motion import unit_of

STOP = 0.05
PREFIXES = {"k": 1e3, "m": 1e-3, "c": 1e-2, "M": 1e6}
NAMED = {
    "deg": math.tau / 360, "rev": math.tau, "min": 60.0, "h": 3600.0, "bar": 1e5, "l": 1e-3, "t": 1e3, "g": 1e-3,
    "kg": 1.0, "N": 1.0, "m": 1.0, "s": 1.0, "Pa": 1.0, "W": 1.0, "J": 1.0, "rad": 1.0,
}  # fmt: skip
"""Sizes of units in SI units."""


def size(name: str) -> float:
    """Return the size of a unit in SI units, by its parts: symbols with prefixes and exponents."""
    total, sign = 1.0, 1
    for mark, symbol, power in re.findall(r"([./]?)([A-Za-z]+)(\d?)", name):
        sign = -1 if mark == "/" else sign
        prefix = "" if symbol in NAMED else symbol[0]
        total *= (NAMED[symbol.removeprefix(prefix)] * PREFIXES.get(prefix, 1.0)) ** (sign * int(power or 1))
    return total


def test_a_display_unit_is_as_large_as_its_name_says() -> None:
    for unit in UNITS.values():
        for name, factor in unit.display.items():
            assert factor * size(name) == pytest.approx(1.0, rel=1e-14), name
        assert unit.quantity or not unit.display, "FMI states a display unit in the declared type"


@pytest.mark.parametrize(
    ("names", "kind", "reason"),
    [
        (["inch"], UnknownNameError, "no display unit 'inch'"),
        (["mm", "cm"], UsageError, "mm and cm are both display units of m: choose one"),
    ],
)
def test_what_is_no_choice_of_units_is_refused(names: list[str], kind: type[Exception], reason: str) -> None:
    with pytest.raises(kind, match=reason):
        mbfmu.simulate("two_link", STOP, display=names)


def test_the_command_shows_the_chosen_units_and_writes_si_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("simulate", "two_link", "--stop", str(STOP), "--show", "shoulder.phi,shoulder.w")
    assert call(*command, "-o", "run.csv", monkeypatch=monkeypatch) == 0
    assert call(*command, "--display", "deg", "-o", "shown.csv", monkeypatch=monkeypatch) == 0
    text, si = capfd.readouterr().out, read_table(tmp_path / "run.csv")
    (row,) = re.findall(r"shoulder\.phi +│ +deg +│ +(\S+)", text)
    assert float(row) == pytest.approx(math.degrees(si["shoulder.phi"][-1]), rel=1e-5)
    assert re.search(r"shoulder\.w +│ +rad/s +│", text)  # a unit of its own
    assert (tmp_path / "shown.csv").read_bytes() == (tmp_path / "run.csv").read_bytes()


def test_pictures_tables_of_notebooks_and_pages_have_the_values_in_the_unit(two_link: System) -> None:
    run = mbfmu.simulate(two_link, STOP, show=["shoulder.phi"], display=["deg"])
    assert run.units["shoulder.phi"] == "rad"
    degrees = np.degrees(run["shoulder.phi"])
    (axes,) = plot_result(run, None).axes
    assert axes.get_ylabel() == "angle [deg]"
    assert np.allclose(axes.lines[0].get_ydata(), degrees, rtol=1e-12)
    assert f"<td>deg</td><td>{degrees[-1]:.6g}</td>" in run._repr_html_()
    for page in (mbfmu.view(run, model=two_link), mbfmu.view(two_link, STOP, display=["deg"])):
        (curve,) = (item for item in data(page)["curves"] if item["name"] == "shoulder.phi")
        assert curve["label"] == "angle [deg]"
        assert unpacked(curve["values"])[-1] == pytest.approx(degrees[-1], rel=1e-6)


@pytest.mark.parametrize("name", ["crane", "heavy_top", "gripper"])
def test_a_table_without_units_has_those_that_names_tell(name: str) -> None:
    run = mbfmu.simulate(name, 0.01, error_samples=0)
    told = {item: unit for item in run.names if (unit := unit_of(item))}
    assert len(told) > 0.5 * len(run.names)
    assert told == {item: run.units[item] for item in told}


def labels(text: str) -> dict[str, str]:
    """Return the labels of the curves of a page by their names."""
    (content,) = re.findall(r'<script type="application/json" id="motion">(.*?)</script>', text, re.DOTALL)
    return {curve["name"]: curve["label"] for curve in json.loads(content)["curves"]}


def test_recorded_runs_modes_and_reports_have_the_units_in_all_their_parts(two_link: System, tmp_path: Path) -> None:
    run = mbfmu.simulate(two_link, STOP, error_samples=0)
    path, shown = run.write(tmp_path / "run.csv"), {"model": two_link, "display": ["deg", "mm"]}
    report = mbfmu.report(path, **shown).html
    (inner,) = re.findall(r'srcdoc="(.*?)" sandbox', report, re.DOTALL)
    for text in (mbfmu.view(path, **shown).html, unescape(inner)):
        found = labels(text)
        assert (found["shoulder.phi"], found["link1.frame_b.r_0[1]"]) == ("angle [deg]", "position [mm]")
    degrees = math.degrees(run["shoulder.phi"][-1])
    assert f'shoulder.phi</th><td>deg</td><td class="number">{degrees:.6g}</td>' in report
    assert "angle [deg]" in report.partition('id="curves"')[2].partition('id="events"')[0]
    mode = mbfmu.view(two_link, values={"shoulder.phi": -math.pi / 2, "elbow.phi": 0}, mode=1, display=["deg"])
    assert labels(mode.html)["shoulder.phi"] == "angle [deg]"


def test_the_command_writes_fmus_with_the_chosen_units_and_shows_runs_of_fmus_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("export", "two_link", "--display", "mm", "-o", "arm.fmu", monkeypatch=monkeypatch) == 0
    with zipfile.ZipFile("arm.fmu") as archive:
        assert 'displayUnit="mm"' in archive.read("modelDescription.xml").decode()
    capfd.readouterr()
    command = ("simulate", "arm.fmu", "--stop", str(STOP), "--show", "shoulder.phi", "--display", "deg")
    assert call(*command, monkeypatch=monkeypatch) == 0
    assert re.search(r"shoulder\.phi +│ +deg +│", capfd.readouterr().out)


@pytest.mark.parametrize("describe", [model_description, model_description3])
def test_an_fmu_names_the_unit_that_importing_tools_show(describe: Callable[..., bytes], two_link: System) -> None:
    table = interface(prepare(two_link, None, None, 1e-3, 0.0))
    header = Header("arm", "", "", 1.0, 1e-3, display=display_of(["mm", "rev/min"]))
    root = etree.fromstring(describe(table, header, ""))
    shown = {
        node.get("unit"): node.get("displayUnit") for node in root.find("TypeDefinitions").iter() if node.get("unit")
    }
    assert (shown["m"], shown["rad/s"], shown["rad"], shown["kg"]) == ("mm", "rev/min", "deg", None)
    declared = {unit.get("name"): [node.get("name") for node in unit] for unit in root.find("UnitDefinitions")}
    for unit, name in shown.items():
        assert name is None or name in declared[unit]


def test_every_display_unit_is_one_of_a_known_unit() -> None:
    for name in DISPLAYED:
        assert all(name in known_unit(si).display for si in display_of([name]))
