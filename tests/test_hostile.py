"""Readers of model files under attack: whatever a file holds, the answer is a model or one line, and it comes soon."""

import json
import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from attack import SEEDS, URDF

import mbfmu
from mbfmu.errors import MbfmuError, ModelError, ModelFileError
from mbfmu.model import Body, System, apart
from mbfmu.model.mjcf import polygons
from mbfmu.model.modelica import compiler
from mbfmu.model.robot_options import RobotOptions

MODELICA = "model A\n import Modelica.Mechanics.MultiBody.*;\n inner World world;\n"
BALL = '<body><joint/><geom size="1"/></body>'
MANY = [(reader, 50 if reader == "Modelica" else 500, 1) for reader in SEEDS]
MORE = [pytest.param(reader, 5000, 2, marks=pytest.mark.further) for reader in SEEDS]


@pytest.mark.parametrize(("reader", "count", "seed"), [*MANY, *MORE])
def test_a_damaged_file_is_a_model_or_one_line_and_soon(reader: str, count: int, seed: int, tmp_path: Path) -> None:
    """A process of its own, as damage could end it: the file at hand stays in the folder then."""
    script = Path(__file__).with_name("attack.py")
    command = [sys.executable, str(script), reader, str(seed), str(count), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == []


def refusal(text: str, path: Path, options: RobotOptions | None = None) -> str:
    """Return the error that a file gives, which has file and line in front and is one line."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MbfmuError) as caught:
        mbfmu.load(path, robot=options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- Modelica --------------------------------------------------------------------------------------------------------

BEYOND: dict[str, tuple[str, str]] = {
    "terms": (f"{MODELICA} parameter Real L=1{'+1' * 10000};\nend A;", "line 4: an expression of more than 500"),
    "inner terms": (f"{MODELICA} parameter Real L={'+(1+1' * 30}{'+1' * 450}{')' * 30};\nend A;", "more than 500 op"),
    "choices": (f"{MODELICA} parameter Real L={'if true then ' * 51}1{' else 0' * 51};\nend A;", "more than 500 op"),
    "names": (f"{MODELICA} parameter Real L=a{'.a' * 1000};\nend A;", "more than 500 operations"),
    "arrays": (f"{MODELICA} parameter Real L={'{' * 61}1{'}' * 61};\nend A;", "line 4: parentheses are nested too"),
    "classes": ("".join(f"model A{k}\n" for k in range(61)), "line 61: classes are nested too deeply"),
    "comment": ("model A\n" + "/*" * 400001 + "\nend A;", "line 2: a comment does not end"),
    "string": ('model A\n"' + '\\"' * 300000 + "\nend A;", "line 2: a string does not end"),
    "parts": (f"{MODELICA} Parts.Body b[5000](each m=1);\nend A;", "line 1: 5001 components"),
    "doubles": (
        "model M0 Modelica.Mechanics.MultiBody.Parts.Body x; end M0;\n"
        + "".join(f"model M{k} M{k - 1} a; M{k - 1} b; end M{k};\n" for k in range(1, 28)),
        f"line 1: {2**28 + 2**27 - 2} components",
    ),
}


@pytest.mark.parametrize("case", BEYOND)
def test_a_modelica_text_beyond_bounds_is_refused_before_the_compiler_sees_it(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "run_apart", lambda *_: pytest.fail("the compiler was called"))
    text, said = BEYOND[case]
    assert said in refusal(text, tmp_path / "a.mo")


def test_bounds_leave_long_texts_with_short_expressions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    points = ",".join(f"{{-{k},-{k}}}" for k in range(2000))
    drawn = f"annotation(Icon(graphics={{Line(points={{{points}}})}}))"
    sums = "".join(f" parameter Real a{k}={'+'.join(['1'] * 100)};\n" for k in range(100))
    seen: list[str] = []
    monkeypatch.setattr(compiler, "run_apart", lambda _, job, *__: seen.append(job["model"]) or {"failure": "seen"})
    assert "the compiler gave up: seen" in refusal(f"{MODELICA}{sums} {drawn};\nend A;", tmp_path / "a.mo")
    assert seen == ["A"]


@pytest.mark.skipif(sys.platform == "win32", reason="memory is limited by POSIX")
def test_a_compiler_that_takes_all_memory_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("rumoca")
    text = f"{MODELICA} parameter Real a[:]=fill(1.0,100000000);\nend A;"
    assert "the compiler rumoca takes more than 2 GB of memory: make" in refusal(text, tmp_path / "a.mo")


# -- xacro -----------------------------------------------------------------------------------------------------------

XACRO = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{}</robot>'


@pytest.mark.parametrize(
    "text",
    [
        '<xacro:macro name="m" params=""><xacro:m/></xacro:macro><xacro:m/>',
        '<xacro:include filename="a.xacro"/>',
    ],
)
def test_macros_without_end_are_one_line(text: str, tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    assert "a.xacro', line 1: xacro: macros or files are nested without end" in refusal(
        XACRO.format(text), tmp_path / "a.xacro"
    )


def test_xacro_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xacro")
    monkeypatch.setattr(apart, "LONGEST", 0.3)
    twice = "".join(
        f'<xacro:macro name="m{k}" params=""><xacro:m{k - 1}/><xacro:m{k - 1}/></xacro:macro>' for k in range(1, 40)
    )
    text = f'<xacro:macro name="m0" params=""><link name="a"/></xacro:macro>{twice}<xacro:m39/>'
    assert "xacro takes more than 0.3 s: make the file simpler" in refusal(XACRO.format(text), tmp_path / "a.xacro")


# -- robots ----------------------------------------------------------------------------------------------------------


def mujoco(bodies: str, before: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{bodies}</worldbody></mujoco>"


LONG = "a" * 9000
LINKS = "".join(f'<link name="{LONG}{k}"/>' for k in range(300))
LARGE: dict[str, tuple[str, str, str]] = {
    "bodies": (".xml", mujoco(BALL * 5001), "line 1: more than 5000 bodies"),
    "sites": (
        ".xml",
        mujoco(f'<body><geom size="1"/>{"<site/>" * 2001}</body>'),
        "more than 2000 sites without a name",
    ),
    "joints": (".xml", mujoco(f'<body><geom size="1"/>{"<joint/>" * 101}</body>'), "more than 100 joints"),
    "digits": (".xml", mujoco(f'<body><geom size="{"1" * 1000000}x"/></body>'), "line 1: <geom size="),
    "comments": (".xml", "<!--" * 1000000, "line 1: this is not valid XML"),
    "links": (".sdf", f"<sdf><model name='m'>{'<link/>' * 5001}</model></sdf>", 'a <link> needs name="..."'),
    "names": (
        ".urdf",
        f'<robot name="r">{LINKS}<joint name="j" type="fixed"><parent link="{LONG[:8000]}"/><child link="{LONG}1"/>'
        "</joint></robot>",
        "line 1: joint 'j': there is no link 'aaa",
    ),
}


@pytest.mark.parametrize("case", LARGE)
def test_a_robot_that_is_too_large_is_one_line(case: str, tmp_path: Path) -> None:
    suffix, text, said = LARGE[case]
    assert said in refusal(text, tmp_path / f"a{suffix}")


def loaded(text: str, path: Path, options: RobotOptions | None = None) -> System:
    """Return the system of a text, without its notices."""
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(path, robot=options)
    assert isinstance(system, System)
    return system


def mass(system: System) -> float:
    (body,) = (item for item in system.components if isinstance(item, Body))
    return float(body.m)


def test_attributes_of_thousands_of_default_elements_are_merged_once(tmp_path: Path) -> None:
    """5000 times 5000 merges would take minutes."""
    geoms = '<geom size="1"/>' * 5000
    default = f'<default>{"<geom/>" * 5000}<geom density="3"/></default>'
    path = tmp_path / "a.xml"
    assert mass(loaded(mujoco(f"<body><joint/>{geoms}</body>", default), path)) == pytest.approx(20000 * math.pi)


def test_poses_and_frames_follow_each_other_in_any_number(tmp_path: Path) -> None:
    """The last link of the file is the first of the chain, and the frames are attached to each other."""
    count = 2000
    links = "".join(f'<link name="l{k}"><pose relative_to="l{k + 1}">0 0 0.1 0 0 0</pose></link>' for k in range(count))
    frames = "".join(f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(count))
    joint = '<joint name="j" type="revolute"><parent>f0</parent><child>l0</child><axis><xyz>0 0 1</xyz></axis></joint>'
    text = (
        f'<sdf version="1.8"><model name="m">{links}<link name="l{count}"/>{frames}'
        f'<frame name="f{count}" attached_to="l{count}"/>{joint}</model></sdf>'
    )
    system = loaded(text, tmp_path / "a.sdf", RobotOptions(base="fixed"))
    (origin,) = (item for item in system.components if item.name == "j_origin")
    assert origin.r == pytest.approx((0, 0, 0.1 * count), rel=1e-9)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", ["1e-320", "1e-61", "0", "-0"])
def test_a_number_too_small_to_compute_with_counts_as_zero(size: str, tmp_path: Path) -> None:
    text = URDF.decode()
    tiny = loaded(text.replace('xyz="0.5 0 0"', f'xyz="0.5 {size} 0"'), tmp_path / "a.urdf")
    assert tiny == loaded(text, tmp_path / "a.urdf")
    centred = text.replace('xyz="0.5 0 0"', 'xyz="0 0 0"').replace('iyy="0.1"', f'iyy="{size}"')
    nothing = (
        r"'rod' can turn but an inertia about its centre of mass is 0 kg\.m2: give|'slide_end' can move but has no mass"
    )
    with pytest.raises(ModelError, match=nothing):  # both lack it, and round-off decides which is named
        mbfmu.simulate(loaded(centred, tmp_path / "a.urdf"), 0.01)


@pytest.mark.parametrize("size", ["1e36", "nan", "1e200"])
def test_a_mesh_of_huge_corners_is_one_line(size: str, tmp_path: Path) -> None:
    facets = "".join(f"vertex {a} vertex {b} vertex {c} " for a, b, c in (
        ("0 0 0", f"0 {size} 0", f"{size} 0 0"), ("0 0 0", f"{size} 0 0", f"0 0 {size}"),
        ("0 0 0", f"0 0 {size}", f"0 {size} 0"), (f"{size} 0 0", f"0 {size} 0", f"0 0 {size}"),
    ))  # fmt: skip
    (tmp_path / "m.stl").write_text(f"solid {facets}", encoding="utf-8")
    text = mujoco('<body><joint/><geom type="mesh" mesh="m"/></body>', '<asset><mesh name="m" file="m.stl"/></asset>')
    assert "nothing is larger" in (said := refusal(text, tmp_path / "a.xml")) or "finite corners" in said


def star(count: int) -> str:
    """Return an OBJ file of one flat polygon in the form of a star."""
    corners = [(1 + k % 2, math.tau * k / count) for k in range(count)]
    lines = (f"v {r * math.cos(phi)} {r * math.sin(phi)} 0\n" for r, phi in corners)
    return "".join(lines) + "f " + " ".join(str(k + 1) for k in range(count)) + "\n"


def test_cutting_polygons_takes_a_bounded_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asset = '<asset><mesh name="m" file="m.obj" inertia="shell"/></asset>'
    text = mujoco('<body><joint/><geom type="mesh" mesh="m"/></body>', asset)
    monkeypatch.setattr(polygons, "WORK", 1_000_000)  # of a hundred times as much
    (tmp_path / "m.obj").write_text(star(400), encoding="utf-8")
    assert mass(loaded(text, tmp_path / "a.xml")) > 0
    (tmp_path / "m.obj").write_text(star(4000), encoding="utf-8")
    assert "a polygon of 4000 corners takes too long" in refusal(text, tmp_path / "a.xml")


# -- files in files --------------------------------------------------------------------------------------------------

Place = Callable[[Path], Path]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a model whose bodies are in a file beside that folder."""
    folder = tmp_path / "robot"
    folder.mkdir()
    (tmp_path / "bodies.xml").write_text(f"<mujocoinclude>{BALL}</mujocoinclude>", encoding="utf-8")
    (folder / "robot.xml").write_text(mujoco('<include file="../bodies.xml"/>'), encoding="utf-8")
    return folder


def test_a_file_outside_the_folder_is_included_only_where_that_is_allowed(
    place: Path, said: Callable[..., str]
) -> None:
    path = place / "robot.xml"
    with pytest.raises(ModelFileError, match=r"line 1: .*'\.\./bodies\.xml' is outside the folder .*--allow-outside"):
        mbfmu.load(path)
    allowed = loaded(path.read_text(encoding="utf-8"), path, RobotOptions(outside=True))
    assert allowed.components == loaded(mujoco(BALL), place / "alone.xml").components
    assert "--allow-outside" in said("describe", str(path))
    assert "body_1" in said("describe", str(path), "--allow-outside", "--quiet")
    document = 'name = "a"\nrobot = {file = "robot.xml", outside = true}\n'
    assert "robot has no 'outside'" in refusal(document, place / "a.toml")  # a document stays in its folder
    absolute = mujoco(f'<include file="{place.parent / "bodies.xml"}"/>')
    assert "is outside the folder" in refusal(absolute, place / "absolute.xml")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_does_not_lead_outside_and_linked_models_find_their_files(place: Path, tmp_path: Path) -> None:
    (place / "inside.xml").symlink_to(tmp_path / "bodies.xml")
    assert "is outside the folder" in refusal(mujoco('<include file="inside.xml"/>'), place / "linked.xml")
    (place / "inside.xml").unlink()
    (place / "inside.xml").write_bytes((tmp_path / "bodies.xml").read_bytes())
    installed = tmp_path / "installed"
    installed.mkdir()
    for name in ("linked.xml", "inside.xml"):
        (installed / name).symlink_to(place / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mbfmu.load(installed / "linked.xml") == mbfmu.load(place / "linked.xml")


def test_files_in_files_are_nested_within_a_bound(tmp_path: Path) -> None:
    for k in range(3):
        inner = f'<include file="{k + 1}.xml"/>' if k < 2 else BALL
        text = f"<mujocoinclude>{'<frame>' * 200}{inner}{'</frame>' * 200}</mujocoinclude>"
        (tmp_path / f"{k}.xml").write_text(text, encoding="utf-8")
    assert "more than 400 elements deep" in refusal(mujoco('<include file="0.xml"/>'), tmp_path / "a.xml")
