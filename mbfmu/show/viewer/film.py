"""Film: the motion of a page as a video or an animated picture, drawn by Chromium without a window."""

import base64
import io
import math
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from mbfmu.base import extras
from mbfmu.base.files import ending_of, write_aside
from mbfmu.errors import MbfmuError, UsageError
from mbfmu.show.viewer.page import Page

ENDINGS = (".mp4", ".gif")
WIDTH, HEIGHT = 1280, 720
"""Size of a picture, pixels."""
RATES = {".mp4": 25, ".gif": 12.5}
"""Pictures a second, by the ending."""
SMALLER = 2
"""Factor by which the pictures of a .gif file are smaller."""
MOST = 6000
"""Largest number of pictures."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SWITCHES = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
"""WebGL is drawn by the processor where there is no graphics processor."""
ALONE = (
    "header, nav, footer, #plots, #legend { display: none !important; } main { display: block !important; } "
    "#scene { height: 100vh; }"
)
"""Style by which the page is the mechanism alone."""
KEY = 2.0
"""Time between pictures that need no other, s."""
CODEC = "avc1.42E01F"
"""H.264, baseline profile, level 3.1."""
TICKS = 1000
"""Units of time in a second of an .mp4 file."""


def refuse_film(path: str | os.PathLike[str], live: bool = False) -> None:
    """Raise an error before a motion is run if its film cannot be made.

    Args:
        path: path of the film.
        live: whether the page computes the motion.

    Raises:
        UsageError: the path has another ending than .mp4 or .gif, the motion is computed, or playwright is missing.
    """
    if live:
        raise UsageError("a film is of a recorded motion: leave --live or --film out")
    ending_of(Path(path), ENDINGS)
    _driver()


def write_film(
    page: Page, path: str | os.PathLike[str], speed: float = 1.0, tell: Callable[[float], None] = lambda _: None
) -> Path:
    """Write the motion of a page as an .mp4 (H.264) or .gif file.

    Args:
        page: a page that plays a recorded motion.
        path: path of the file.
        speed: how many times as fast as in the run the film is.
        tell: called with the fraction done.

    Raises:
        UsageError: the path has another ending, the page draws no recorded motion, the speed is not positive, the film
            is too long, or playwright is not installed.
        MbfmuError: Chromium is not there or fails, or the file cannot be written.
    """
    refuse_film(path)
    ending = Path(path).suffix.lower()
    if not page.scene:
        raise UsageError("a film is of a recorded motion, and this page has none")
    if not (math.isfinite(speed) and speed > 0):
        raise UsageError(f"the speed of the film is {speed}: it must be a positive number")
    rate, begin = RATES[ending], page.begin
    count = max(1, round((page.stop - begin) / speed * rate)) + 1
    if count > MOST:
        raise UsageError(f"a film of {count} pictures is too long: at most {MOST}; take a higher speed")
    times = [min(page.stop, begin + k * speed / rate) for k in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        html = page.write(Path(folder) / "page.html")
        with ThreadPoolExecutor(1) as apart:  # a notebook's thread has an event loop, beside which playwright refuses
            pictures = apart.submit(_pictures, html, times, rate, ending, tell).result()
    return write_aside(Path(path), pictures)


def _driver() -> Any:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise UsageError(f"a film needs playwright and Chromium: {extras.command('film')}") from None
    return sync_playwright


def _pictures(html: Path, times: Sequence[float], rate: float, ending: str, tell: Callable[[float], None]) -> bytes:
    """Return the film of a page, with a picture for each time, s."""
    from playwright.sync_api import Error

    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    part = SMALLER if ending == ".gif" else 1
    try:
        with _driver()() as driver:
            browser = driver.chromium.launch(executable_path=found, args=SWITCHES)
            shown = browser.new_page(viewport={"width": WIDTH // part, "height": HEIGHT // part})
            shown.goto(f"{html.as_uri()}#t={times[0]:g}", timeout=0)
            shown.wait_for_selector("#scene canvas")
            shown.add_style_tag(content=ALONE)
            shown.add_script_tag(content=(resources.files("mbfmu.show.viewer") / "film.js").read_text(encoding="utf-8"))
            codec = CODEC if ending == ".mp4" else ""
            if fault := shown.evaluate("(how) => beginFilm(how)", [WIDTH // part, rate, codec]):
                raise MbfmuError(f"Chromium makes no .mp4 film: {fault}; write a .gif file")
            drawn: list[str] = []
            for k, t in enumerate(times):
                picture = [t, k / rate, k % round(KEY * rate) == 0]
                drawn.append(shown.evaluate("(picture) => drawFilm(picture)", picture))
                tell((k + 1) / len(times))
            if ending == ".gif":
                return _gif(drawn, rate)
            chunks, head, fault = shown.evaluate("() => endFilm()")
            if fault:
                raise MbfmuError(f"Chromium makes no .mp4 film: {fault}; write a .gif file")
            samples = [FilmSample(base64.b64decode(data), key) for data, key in chunks]
            return mp4(samples, base64.b64decode(head), (WIDTH, HEIGHT), rate)
    except Error as error:
        raise MbfmuError(f"the film is not made: {' '.join(str(error).split())[:300]}") from None


def _gif(drawn: Sequence[str], rate: float) -> bytes:
    """Return pictures, PNG in base64, as an animated picture."""
    from PIL import Image

    images = [
        Image.open(io.BytesIO(base64.b64decode(text))).convert("P", palette=Image.Palette.ADAPTIVE) for text in drawn
    ]
    content = io.BytesIO()
    images[0].save(content, "GIF", save_all=True, append_images=images[1:], duration=round(1000 / rate), loop=0)
    return content.getvalue()


@dataclass(frozen=True)
class FilmSample:
    """A picture of a video, as it is encoded.

    Args:
        data: its bytes.
        key: whether it needs no other picture.
    """

    data: bytes
    key: bool


def mp4(samples: Sequence[FilmSample], head: bytes, size: tuple[int, int], rate: float) -> bytes:
    """Return H.264 pictures in the order of their times as an .mp4 file (ISO/IEC 14496-12 and 14496-15).

    Args:
        samples: the pictures.
        head: AVCDecoderConfigurationRecord.
        size: width and height, pixels.
        rate: pictures a second.
    """
    ticks = round(TICKS / rate)
    length, (width, height) = ticks * len(samples), size
    matrix = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
    kinds = _box(b"ftyp", b"isom" + bytes(4) + b"isomavc1mp41")
    entry = _box(
        b"avc1",
        bytes(6) + struct.pack(">H", 1) + bytes(16) + struct.pack(">2H2II H", width, height, 0x480000, 0x480000, 0, 1),
        bytes(32) + struct.pack(">Hh", 24, -1),
        _box(b"avcC", head),
    )
    sizes = [len(sample.data) for sample in samples]
    keys = [k for k, sample in enumerate(samples, 1) if sample.key]

    def movie(first: int) -> bytes:
        """Return the description of the movie, whose pictures begin at a byte of the file."""
        table = _box(
            b"stbl",
            _full(b"stsd", struct.pack(">I", 1), entry),
            _full(b"stts", struct.pack(">3I", 1, len(samples), ticks)),
            _full(b"stss", struct.pack(f">{1 + len(keys)}I", len(keys), *keys)),
            _full(b"stsc", struct.pack(">4I", 1, 1, len(samples), 1)),
            _full(b"stsz", struct.pack(f">{2 + len(sizes)}I", 0, len(sizes), *sizes)),
            _full(b"stco", struct.pack(">2I", 1, first)),
        )
        media = _box(
            b"mdia",
            _full(b"mdhd", struct.pack(">4I2H", 0, 0, TICKS, length, 0x55C4, 0)),  # no language
            _full(b"hdlr", bytes(4) + b"vide" + bytes(12) + b"film\0"),
            _box(
                b"minf",
                _full(b"vmhd", bytes(8), flags=1),
                _box(b"dinf", _full(b"dref", struct.pack(">I", 1), _full(b"url ", flags=1))),
                table,
            ),
        )
        track = (
            struct.pack(">5I", 0, 0, 1, 0, length) + bytes(16) + matrix + struct.pack(">2I", width << 16, height << 16)
        )
        whole = struct.pack(">4IIH", 0, 0, TICKS, length, 0x10000, 0x100) + bytes(10) + matrix + bytes(24)
        return _box(
            b"moov",
            _full(b"mvhd", whole + struct.pack(">I", 2)),
            _box(b"trak", _full(b"tkhd", track, flags=3), media),
        )

    first = len(kinds) + len(movie(0)) + 8
    return kinds + movie(first) + _box(b"mdat", *(item.data for item in samples))


def _box(kind: bytes, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I", 8 + len(content)) + kind + content


def _full(kind: bytes, *parts: bytes, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", flags), *parts)
