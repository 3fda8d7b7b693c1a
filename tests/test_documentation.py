"""What is inside an FMU for people: documentation, picture, licences; and the platforms chosen."""

import math
import struct
import xml.etree.ElementTree as ET
import zipfile
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from harness import thorough

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.fmu.picture import DOT, HEIGHT, INK, LINE, WIDTH, PlaneDrawing, drawing, png, svg
from mbfmu.prepared.prepare import prepare


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def inside(two_link_fmu: Path) -> dict[str, bytes]:
    """The members of the two-link arm's FMU."""
    return members(two_link_fmu)


class Text(HTMLParser):
    """Gathers the text of a page, and checks that its elements close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_names_every_variable_the_stepper_and_the_known_traps(inside: dict[str, bytes]) -> None:
    page = Text()
    page.feed(inside["documentation/index.html"].decode("utf-8"))
    assert not page.open
    root = ET.fromstring(inside["modelDescription.xml"])
    for item in root.iter("ScalarVariable"):
        if item.get("causality") in {"input", "output", "parameter", "local", "calculatedParameter"}:
            assert str(item.get("name")) in page.text
    for word in ("rattle", "LD_PRELOAD", "degrees of freedom", "N.m", "solver.step", "Discard"):
        assert word in page.text


def test_the_page_tells_which_joints_carry_coordinates_and_why_others_do_not(tmp_path: Path) -> None:
    system = mbfmu.load("slider_crank")
    packed = mbfmu.export(system, tmp_path / "mixed.fmu", coordinates="absolute: link2", stepper="projected")
    page = Text()
    page.feed(members(packed)["documentation/index.html"].decode("utf-8"))
    for words in (
        "coordinates asked forabsolute:link2",
        "joints with coordinatescrank, slider",
        "joints by constraintsrod (2: as asked), pin (2: short chains)",
    ):
        assert words in page.text


def pixels_of(data: bytes) -> npt.NDArray[np.uint8]:
    """The pixels of a PNG file, shape (HEIGHT, WIDTH, 3)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (WIDTH, HEIGHT)
    size = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + size]), dtype=np.uint8).reshape(HEIGHT, 1 + 3 * WIDTH)
    return rows[:, 1:].reshape(HEIGHT, WIDTH, 3)


def test_the_icon_is_a_picture_of_the_mechanism(inside: dict[str, bytes]) -> None:
    assert len(np.unique(pixels_of(inside["model.png"]).reshape(-1, 3), axis=0)) > 10


@pytest.mark.parametrize(
    ("line", "joint"),
    [
        ((100.3, 80.2, 300.7, 250.9), None),
        ((40.0, 310.5, 440.0, 310.5), None),
        ((77.7, 320.0, 77.7, 40.0), None),
        ((200.0, 200.0, 200.0, 200.0), None),
        (None, (240.4, 61.5)),
    ],
)
def test_strokes_and_dots_have_the_area_of_their_shape(
    line: tuple[float, float, float, float] | None, joint: tuple[float, float] | None
) -> None:
    """Measured: 0.4 % of the area at most, that of a line without length."""
    picture = PlaneDrawing((("body", "#000000", *line),) if line else (), (("joint", *joint),) if joint else ())
    ink = int(INK[1:3], 16) if joint else 0
    area = np.sum(255.0 - pixels_of(png(picture))[:, :, 0]) / (255 - ink)
    if line:
        wanted = LINE * math.dist(line[:2], line[2:]) + math.pi * (LINE / 2) ** 2
    else:
        wanted = math.pi * ((DOT + 1) ** 2 - (DOT - 1) ** 2)
    assert area == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("name", thorough(zip(["two_link", "bricard", "stewart"]), lambda name: name != "stewart"))
def test_a_picture_shows_every_body_and_joint_inside_its_frame(name: str) -> None:
    prepared = prepare(mbfmu.load(name), "direct", {}, 1e-3)
    dae = prepared.dae
    found = drawing(dae, prepared.coordinates_of(prepared.initial_state()), dae.extended(dae.p_default()))
    assert found is not None
    bodies = {item.name.rpartition(".")[0] for item in dae.outputs if item.name.endswith(".r_0[1]")}
    assert {line[0] for line in found.lines} == {body for body in bodies if not body.endswith("frame_b")}
    for x, y in [*((line[2], line[3]) for line in found.lines), *((x, y) for _, x, y in found.joints)]:
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    ET.fromstring(svg(found, name))
    assert len(png(found)) > 1000


def test_a_system_given_by_its_lagrangian_has_a_page_without_a_picture(tmp_path: Path) -> None:
    found = members(mbfmu.export(mbfmu.load("rolling_disk"), tmp_path / "disk.fmu", stepper="nodal_impulse"))
    assert "model.png" not in found
    assert b"<svg" not in found["documentation/index.html"]


def test_the_licences_of_what_is_packed_are_inside(inside: dict[str, bytes]) -> None:
    text = inside["documentation/licenses/license.txt"].decode()
    assert "mbfmu" in text
    assert "pythonfmu" in text


def test_a_native_fmu_holds_the_licence_of_the_headers_of_fmi(tmp_path: Path) -> None:
    found = members(mbfmu.export(mbfmu.load("pendulum"), tmp_path / "pendulum.fmu", backend="native"))
    text = " ".join(found["documentation/licenses/license.txt"].decode().split())
    assert "fmi2Functions.h, fmi2FunctionTypes.h, fmi2TypesPlatform.h Copyright (C) 2008-2011 MODELISAR" in text
    for name in ("fmi2Functions.h", "fmi2FunctionTypes.h", "fmi2TypesPlatform.h"):
        licence = " ".join(found[f"sources/{name}"].decode().partition("Copyright (C)")[2].partition("*/")[0].split())
        assert licence in text


def test_an_fmu_has_the_loaders_of_the_platforms_chosen(tmp_path: Path) -> None:
    system = mbfmu.load("two_link")
    found = members(mbfmu.export(system, tmp_path / "w.fmu", platforms=("win64",)))
    assert not any("linux64" in name for name in found)
    assert any(name.startswith("binaries/win64/") for name in found)
    with pytest.raises(UsageError, match="no loader for 'darwin64'"):
        mbfmu.export(system, tmp_path / "d.fmu", platforms=("darwin64",))
    assert not (tmp_path / "d.fmu").exists()
