"""Pages that show a mechanism moving: what they hold is the motion, and they need nothing from elsewhere."""

import base64
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from plotly.offline import get_plotlyjs

import mbfmu
from mbfmu import cli
from mbfmu.errors import ModelError, UsageError
from mbfmu.model import System
from mbfmu.result import Result
from mbfmu.view import Motion, motion_of_model, motion_of_result, result_of_csv, write_page

STOP = 0.3


def data(page: Path) -> dict[str, Any]:
    """Return what the page's script reads."""
    found = re.search(r'<script type="application/json" id="motion">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def unpacked(text: str) -> npt.NDArray[np.float32]:
    """Return packed numbers."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def point(motion: Motion, number: int) -> npt.NDArray[np.float64]:
    """Return where a point is, shape (n_t, dim)."""
    return motion.points[:, number]


# -- the motion ------------------------------------------------------------------------------------------------------


def test_bones_of_a_planar_arm_are_where_its_angles_say(two_link: System) -> None:
    motion = motion_of_model(two_link, STOP)
    result = mbfmu.simulate(two_link, STOP)
    assert np.array_equal(motion.result.values, result.values)
    joints = dict(motion.joints)
    l1 = np.linalg.norm(point(motion, joints["elbow"]), axis=1)
    assert np.allclose(l1, l1[0], atol=1e-12)
    phi = result["shoulder.phi"]
    assert np.allclose(point(motion, joints["elbow"]), l1[:, None] * np.column_stack([np.cos(phi), np.sin(phi)]))
    ends = [point(motion, bone.end) for bone in motion.bones if bone.body == "link2"]
    tip = np.column_stack([result["link2.frame_b.r_0[1]"], result["link2.frame_b.r_0[2]"]])
    assert any(np.allclose(end, tip, atol=1e-12) for end in ends)
    assert motion.up == (0.0, 1.0)
    assert motion.ground() == (joints["shoulder"],)


@pytest.mark.parametrize("name", ["four_bar", "spatial_slider_crank", "stewart"])
def test_loops_are_closed_in_every_picture(name: str) -> None:
    motion = motion_of_model(mbfmu.load(name), 0.05, step=1e-3)
    ends = {number for bone in motion.bones for number in (bone.start, bone.end)}
    for _, number in motion.joints:
        gaps = [np.abs(point(motion, number) - point(motion, end)).max() for end in ends]
        assert min(gaps) < 1e-9 or number in motion.ground()
    for bone in motion.bones:  # rigid
        length = np.linalg.norm(point(motion, bone.end) - point(motion, bone.start), axis=1)
        assert np.ptp(length) < 1e-9


def test_a_result_file_an_fmu_and_the_model_show_the_same(two_link: System, two_link_fmu: Path, tmp_path: Path) -> None:
    run = mbfmu.simulate(two_link, STOP)
    table = result_of_csv(run.write_csv(tmp_path / "run.csv"))
    from_table = motion_of_result(table, "run.csv")
    from_fmu = motion_of_result(mbfmu.simulate(two_link_fmu, STOP), "two_link.fmu")
    assert from_table.bones == from_fmu.bones
    assert [bone.body for bone in from_table.bones] == ["link1", "link2"]
    assert np.allclose(from_table.points, from_fmu.points, atol=1e-9)
    model = motion_of_model(two_link, STOP)
    for bone in from_table.bones:
        hips = [point(model, other.end) for other in model.bones if other.body == bone.body]
        for number in (bone.start, bone.end):
            assert min(np.abs(point(from_table, number) - hip).max() for hip in hips) < 1e-9
    assert {table.units[name] for name in ("shoulder.phi", "elbow.w", "energy.total")} == {"rad", "rad/s", "J"}


def test_axes_of_a_body_are_orthonormal_and_turn_with_it() -> None:
    motion = motion_of_model(mbfmu.load("rigid_body"), STOP)
    (axes,) = motion.axes
    arms = np.stack([point(motion, tip) - point(motion, axes.origin) for tip in axes.tips], axis=2)
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    assert np.allclose(np.swapaxes(arms, 1, 2) @ arms, np.eye(3), atol=1e-9)
    assert np.allclose(np.linalg.det(arms), 1.0)
    t = motion.result.time
    rate = np.gradient(arms, t, axis=0, edge_order=2)
    spin = np.swapaxes(arms, 1, 2) @ rate  # the skew matrix of the angular velocity in the body
    w = np.stack([motion.result[f"body.w_a[{k}]"] for k in (1, 2, 3)], axis=1)
    found = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    assert np.allclose(found, w, atol=1e-4)


def test_a_body_that_bones_do_not_show_shows_its_axes() -> None:
    shown = {axes.body: axes.wanted for axes in motion_of_model(mbfmu.load("slider_crank"), 0.01).axes}
    assert shown == {"link1": False, "link2": False, "block": True}


def test_upwards_is_against_gravity_unless_asked(two_link: System) -> None:
    arm = mbfmu.load("heavy_top")
    assert motion_of_model(arm, 0.01).up == (0.0, 0.0, 1.0)
    assert motion_of_model(arm, 0.01, up="-y").up == (0.0, -1.0, 0.0)
    for model, up in ((arm, "w"), (two_link, "z")):
        with pytest.raises(UsageError, match="upwards"):
            motion_of_model(model, 0.01, up=up)


# -- the page --------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """Notes the ids of a page, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: dict[str, str] = {}
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids[value or ""] = tag
            elif name in {"src", "href"}:
                self.loaded.append(value or "")


@pytest.mark.parametrize("name", ["two_link", "heavy_top"])
def test_a_page_holds_every_frame_its_controls_and_nothing_from_elsewhere(name: str, tmp_path: Path) -> None:
    motion = motion_of_model(mbfmu.load(name), STOP)
    page = write_page(motion, tmp_path / "page.html", name, "free fall")
    text = page.read_text(encoding="utf-8")
    assert get_plotlyjs() in text
    own = text.replace(get_plotlyjs(), "")
    assert "://" not in own
    assert "default-src 'none'" in own
    assert re.search(r"@[A-Z]+@", own) is None
    elements = Elements()
    elements.feed(own)
    assert elements.loaded == []
    controls = {"play": "button", "time": "input", "speed": "select", "traces": "input", "axes": "input"}
    assert controls.items() <= elements.ids.items()
    content = data(page)
    frames = unpacked(content["frames"]).reshape(motion.points.shape)
    assert np.allclose(frames, motion.points, atol=1e-6)
    assert np.allclose(unpacked(content["frame_times"]), motion.result.time)
    curves = {series["name"]: series["values"] for panel in content["panels"] for series in panel["series"]}
    assert "energy.total" in curves
    for label, values in curves.items():
        assert np.allclose(unpacked(values), motion.result[label], rtol=1e-6, atol=1e-6)


def test_a_long_run_is_thinned_with_its_ends(tmp_path: Path) -> None:
    t = np.linspace(0, 9, 5001)
    columns = {"b.r_0[1]": np.cos(t), "b.r_0[2]": np.sin(t), "b.phi": t}
    motion = motion_of_result(Result(t, tuple(columns), np.column_stack(list(columns.values()))), "long")
    times = unpacked(data(write_page(motion, tmp_path / "long.html", "long"))["frame_times"])
    assert len(times) == 1000
    assert (times[0], times[-1]) == (0.0, 9.0)


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    t = np.array([0.0, 1.0])
    name = "</script><b>"
    result = Result(t, (f"{name}.r_0[1]", f"{name}.r_0[2]", f"{name}.phi"), np.array([[0.0, 1, 2], [1, 2, 3]]))
    page = write_page(motion_of_result(result, "odd"), tmp_path / "odd.html", name)
    assert name not in page.read_text(encoding="utf-8").replace(get_plotlyjs(), "")
    assert len(unpacked(data(page)["frames"])) == 2 * 4 * 2  # r_0, and the axes' origin and two tips


# -- mistakes and the command ----------------------------------------------------------------------------------------


def test_what_has_no_bodies_is_refused() -> None:
    with pytest.raises(ModelError, match="no bodies to show"):
        motion_of_model(mbfmu.load("rolling_disk"), 0.1)
    bare = Result(np.array([0.0, 1.0]), ("y",), np.zeros((2, 1)))
    with pytest.raises(UsageError, match=r"'bare\.csv' does not say where bodies are: it needs columns NAME\.r_0"):
        motion_of_result(bare, "bare.csv")


def test_a_missing_library_is_named_with_the_way_to_install_it(
    two_link: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    motion = motion_of_model(two_link, 0.01)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(UsageError, match=r"needs plotly: .*pip install \"mbfmu\[view\]\""):
        write_page(motion, tmp_path / "page.html", "arm")
    assert list(tmp_path.iterdir()) == []


def call(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run `mbfmu ARGUMENTS` in this process; return its exit status."""
    monkeypatch.setattr(sys, "argv", ["mbfmu", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_the_command_shows_models_fmus_and_results(
    two_link_fmu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mbfmu.simulate(mbfmu.load("two_link"), 0.1).write_csv("run.csv")
    more = ["--stop", "0.1", "--set", "l1=0.7", "--input", "shoulder.tau=2"]
    for name, arguments in {
        "two_link.html": ["two_link", *more],
        "fmu.html": [str(two_link_fmu), *more, "-o", "fmu.html"],
        "run.html": ["run.csv"],
    }.items():
        assert call("view", *arguments, monkeypatch=monkeypatch) == 0
        out, err = capfd.readouterr()
        assert out.startswith(f"wrote {name} (")
        assert err == ""
        content = data(tmp_path / name)
        assert content["dim"] == 2
        assert {bone[0] for bone in content["bones"]} == {"link1", "link2"}
        assert unpacked(content["frame_times"])[-1] == np.float32(0.1)


MISTAKES = {
    "two_lnik": "did you mean 'two_link'",
    "two_link --stop -1": "the stop time is -1.0 s",
    "two_link --stop 0.01 -o page.pdf": "'page.pdf' must end in .html",
    "two_link --stop 0.01 -o file/page.html": "cannot write 'file/page.html'",
    "two_link --stop 0.01 --up z": "--up z",
    "rolling_disk --stop 0.01": "no bodies to show",
    "missing.csv": "cannot read 'missing.csv'",
    "other.csv": "'other.csv' does not say where bodies are",
    "other.csv --stop 1": "'other.csv' is a run already",
    "missing.fmu": "no FMU 'missing.fmu'",
}


@pytest.mark.parametrize("arguments", MISTAKES)
def test_a_mistake_ends_in_one_clear_line_and_leaves_no_file(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "other.csv").write_text("time,other\n0,1\n1,2\n", encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    assert call("view", *arguments.split(), monkeypatch=monkeypatch) == 1
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("mbfmu: ")
    assert MISTAKES[arguments] in line
    assert sorted(tmp_path.iterdir()) == before
