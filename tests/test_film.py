"""Films: pictures at even times, in files that players read."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from test_browser import CHROMIUM, SWITCHES, browser, opened  # noqa: F401 - a fixture

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.show.viewer import Page
from mbfmu.show.viewer.film import RATES, FilmSample, mp4, write_film

STOP = 0.12


def boxes(data: bytes, base: int = 0) -> Iterator[tuple[str, int, bytes]]:
    """Yield the kind, the place of the content, and the content of each box."""
    at = 0
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind.decode(), base + at + 8, data[at + 8 : at + size]
        at += size
    assert at == len(data)


def box(data: bytes, path: str) -> bytes:
    """Return the content of a box by the kinds of those around it."""
    for kind in path.split("/"):
        (data,) = (content for name, _, content in boxes(data) if name == kind)
    return data


def test_the_tables_of_a_video_lead_to_its_pictures() -> None:
    samples = [FilmSample(bytes([k]) * (10 + k), k % 3 == 0) for k in range(7)]
    data = mp4(samples, b"head", (64, 48), 25)
    assert [kind for kind, *_ in boxes(data)] == ["ftyp", "moov", "mdat"]
    table = "moov/trak/mdia/minf/stbl/"
    sizes = struct.unpack(">3I7I", box(data, table + "stsz"))[3:]
    (first,) = struct.unpack_from(">I", box(data, table + "stco"), 8)
    for sample, size in zip(samples, sizes, strict=True):
        assert data[first : first + size] == sample.data
        first += size
    assert first == len(data)
    assert struct.unpack(">2I3I", box(data, table + "stss"))[2:] == (1, 4, 7)  # key pictures, from 1 on
    count, each = struct.unpack_from(">2I", box(data, table + "stts"), 8)
    _, _, rate, length = struct.unpack_from(">4I", box(data, "moov/trak/mdia/mdhd"), 4)
    assert (count, count * each, each / rate) == (7, length, 1 / 25)


def test_what_gives_no_film_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.mp4"):
        write_film(Page("", 1.0), tmp_path / "film.avi")
    with pytest.raises(UsageError, match="a film is of a recorded motion"):
        write_film(Page("", 1.0), tmp_path / "film.gif")


@pytest.mark.slow
def test_a_film_has_the_length_of_the_run_in_both_formats(
    browser: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    page = mbfmu.view("two_link", STOP)
    with Image.open(write_film(page, tmp_path / "film.gif")) as picture:
        assert picture.n_frames == round(STOP * RATES[".gif"]) + 1
    film = write_film(page, tmp_path / "film.mp4")
    context = browser.new_context()
    shown = context.new_page()
    shown.goto(film.as_uri())
    length = (
        "(async () => { const video = document.querySelector('video');"
        "while (video.readyState < 2) await new Promise((done) => setTimeout(done, 20));"
        "return [video.duration, video.videoWidth, video.videoHeight]; })()"
    )
    assert shown.evaluate(length) == pytest.approx([(round(STOP * 25) + 1) / 25, 1280, 720])
    context.close()


@pytest.mark.slow
def test_the_page_takes_a_film_of_the_whole_motion(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    faults: list[str] = []
    for page in opened(browser, mbfmu.view("two_link", 0.3).write(tmp_path / "arm.html"), faults):
        with page.expect_download() as saved:
            page.click("#film")
        saved.value.save_as(tmp_path / "arm.webm")
        assert saved.value.suggested_filename == "two_link.webm"
        assert (tmp_path / "arm.webm").read_bytes()[:4] == b"\x1a\x45\xdf\xa3"  # EBML
    assert faults == []
