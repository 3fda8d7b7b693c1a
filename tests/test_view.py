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
import trimesh
from plotly.offline import get_plotlyjs

import mbfmu
from mbfmu import cli
from mbfmu.errors import ModelError, UsageError
from mbfmu.model import System
from mbfmu.result import Result
from mbfmu.view import Look, Trajectory, looks_of, motion_of_model, motion_of_result, result_of_table, write_page
from mbfmu.view.looks import MOST

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


def point(motion: Trajectory, number: int) -> npt.NDArray[np.float64]:
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
    table = result_of_table(run.write(tmp_path / "run.csv"))
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
    with pytest.raises(UsageError, match=r"'bare\.csv' has no positions of bodies: it needs columns NAME\.r_0"):
        motion_of_result(bare, "bare.csv")


def test_a_missing_library_is_named_with_the_way_to_install_it(
    two_link: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    motion = motion_of_model(two_link, 0.01)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(UsageError, match=r"needs plotly: .*pip install \"mbfmu\[view\]\""):
        write_page(motion, tmp_path / "page.html", "arm")
    assert list(tmp_path.iterdir()) == []


# -- what links look like --------------------------------------------------------------------------------------------

ARM = """<robot name="arm">
<link name="base"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
<link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
<visual><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/><geometry>ROD</geometry></visual></link>
<link name="tool"><visual><origin xyz="0 0 1"/><geometry><sphere radius="0.1"/></geometry><material name="m">
<color rgba="1 0 0 0.5"/></material></visual></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
<joint name="weld" type="fixed"><parent link="rod"/><child link="tool"/>
<origin xyz="1 0 0" rpy="0 -1.5707963267948966 0"/></joint>
</robot>"""
"""A rod that swings about y, with a massless tool welded to its end, whose z points back along the rod."""


def arm(folder: Path, rod: str = '<cylinder radius="0.1" length="1"/>') -> str:
    """Write the arm with another geometry for its rod; return the path."""
    path = folder / "arm.urdf"
    path.write_text(ARM.replace("ROD", rod), encoding="utf-8")
    return str(path)


def volume(look: Look) -> float:
    """Return the volume that triangles enclose whose corners go round counterclockwise from outside."""
    a, b, c = (look.vertices[look.triangles[:, corner]] for corner in range(3))
    return float(np.sum(a * np.cross(b, c))) / 6


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ('<box size="1 2 3"/>', 6.0),
        ('<cylinder radius="0.2" length="3"/>', np.pi * 0.2**2 * 3),
        ('<sphere radius="0.3"/>', 4 / 3 * np.pi * 0.3**3),
        ('<capsule radius="0.2" length="3"/>', np.pi * 0.2**2 * 3 + 4 / 3 * np.pi * 0.2**3),
    ],
)
def test_the_triangles_of_a_shape_enclose_its_volume(shape: str, size: float, tmp_path: Path) -> None:
    look = looks_of(arm(tmp_path, shape))[1]
    assert volume(look) == pytest.approx(size, rel=0.03)
    assert np.allclose(look.vertices.mean(axis=0), (0.5, 0, 0), atol=1e-12)


def test_a_look_belongs_to_the_body_its_link_is_fixed_to(tmp_path: Path) -> None:
    base, rod, tool = looks_of(arm(tmp_path))
    assert (base.body, rod.body, tool.body) == ("", "rod", "rod")
    assert np.allclose(np.ptp(base.vertices, axis=0), (1, 2, 3))
    assert np.allclose(np.ptp(rod.vertices, axis=0), (1, 0.2, 0.2), atol=2e-2)
    assert np.allclose(tool.vertices.mean(axis=0), (0, 0, 0), atol=1e-12)  # 1 m out along the rod and 1 m back
    assert (rod.colour, tool.colour) == (None, (1, 0, 0, 0.5))


@pytest.mark.parametrize(("ending", "scale"), [("stl", 0.5), ("obj", 0.5), ("dae", 0.5), ("dae", 0.01)])
@pytest.mark.parametrize("name", ["meshes/rod.", "package://robots/meshes/rod.", "file://FOLDER/robots/meshes/rod."])
def test_a_mesh_is_read_by_its_path_or_package_in_its_scale_and_unit(
    name: str, ending: str, scale: float, tmp_path: Path
) -> None:
    folder = tmp_path / "robots"
    (folder / "meshes").mkdir(parents=True)
    file = folder / "meshes" / f"rod.{ending}"
    trimesh.creation.box((1, 2, 3)).export(file)
    if scale == 0.01:  # in centimetres
        unit = '<unit name="centimeter" meter="0.01"/><up_axis>'
        file.write_text(file.read_text(encoding="utf-8").replace("<up_axis>", unit), encoding="utf-8")
    given = f"{name}{ending}".replace("FOLDER", str(tmp_path))
    text = "" if scale == 0.01 else f'scale="{scale} {scale} {scale}"'
    look = looks_of(arm(folder, f'<mesh filename="{given}" {text}/>'))[1]
    assert volume(look) == pytest.approx(6 * scale**3, rel=1e-5)


def test_a_mesh_too_fine_for_a_browser_is_made_coarser(tmp_path: Path) -> None:
    trimesh.creation.icosphere(subdivisions=6).export(tmp_path / "ball.stl")
    look = looks_of(arm(tmp_path, '<mesh filename="ball.stl"/>'))[1]
    assert MOST / 4 < len(look.triangles) <= MOST
    assert volume(look) == pytest.approx(4 / 3 * np.pi, rel=0.05)
    assert set(np.unique(look.triangles)) == set(range(len(look.vertices)))


@pytest.mark.parametrize(
    ("file", "reason"),
    [("none.stl", "there is no such file"), ("junk.stl", "cannot be read"), ("good.stl", 'pip install "mbfmu[view]"')],
)
def test_a_mesh_that_cannot_be_drawn_is_named_and_left_out(
    file: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "junk.stl").write_text("no mesh", encoding="utf-8")
    trimesh.creation.box().export(tmp_path / "good.stl")
    if file == "good.stl":
        monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.warns(UserWarning, match=f"'{file}' of the link 'rod' is not drawn: .*{re.escape(reason)}"):
        base, tool = looks_of(arm(tmp_path, f'<mesh filename="{file}"/>'))
    assert (base.body, tool.body) == ("", "rod")


def test_the_page_places_a_shape_where_its_body_is(tmp_path: Path) -> None:
    path = arm(tmp_path)
    motion = motion_of_model(mbfmu.load(path), STOP, looks=looks_of(path))
    content = data(write_page(motion, tmp_path / "page.html", "arm"))
    base, _, tool = content["solids"]
    assert base["axes"] == -1
    frames = unpacked(content["frames"]).reshape(len(unpacked(content["frame_times"])), -1, 3)
    axes = content["axes"][tool["axes"]]
    origin = frames[:, axes["origin"]]
    arms = (frames[:, axes["tips"]] - origin[:, None]) / content["arm"]  # as page.js reads them
    placed = origin[:, None] + np.einsum("vk,tkj->tvj", unpacked(tool["vertices"]).reshape(-1, 3), arms)
    phi = motion.result["hinge.phi"]
    assert np.ptp(phi) > 0.1
    center = placed.mean(axis=1)
    assert np.allclose(center, 0.0, atol=1e-6)  # the tool's sphere lies on the hinge
    rod = content["solids"][1]
    middle = (origin[:, None] + np.einsum("vk,tkj->tvj", unpacked(rod["vertices"]).reshape(-1, 3), arms)).mean(axis=1)
    assert np.allclose(middle, 0.5 * np.column_stack([np.cos(phi), 0 * phi, -np.sin(phi)]), atol=1e-6)


def test_what_is_no_urdf_has_no_looks() -> None:
    assert looks_of("two_link") == ()


# -- the command -----------------------------------------------------------------------------------------------------


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
    mbfmu.simulate(mbfmu.load("two_link"), 0.1).write("run.csv")
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
    "other.csv": "'other.csv' has no positions of bodies",
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
