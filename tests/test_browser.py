"""Pages in a real browser: they load without an error or a network, play, follow their controls and draw something."""

import io
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from harness import extra
from PIL import Image
from test_drives import BARREL, ROD_OF_DRIVE, crane_with

import mbfmu
from mbfmu.base.result import Result
from mbfmu.model import LinearDrive, System
from mbfmu.show.viewer import ShownMotion, motion_of_model, motion_of_result, page_of

api = extra("playwright.sync_api", "test")
Browser, ConsoleMessage, Frame, Page = api.Browser, api.ConsoleMessage, api.Frame, api.Page

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
SWITCHES = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
"""WebGL is drawn by the processor."""
STOP = 0.5
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def browser(pytestconfig: pytest.Config) -> Iterator[Browser]:
    if not CHROMIUM:
        assert not pytestconfig.getoption("--all"), "install Chromium: apt-get install chromium"
        pytest.skip("needs Chromium")
    with api.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield found
        found.close()


@pytest.fixture(scope="module")
def faults() -> list[str]:
    """Errors and warnings of the page."""
    return []


@pytest.fixture(scope="module")
def page(browser: Browser, faults: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page of an arm, at rest at 0.1 s, without a network."""
    path = tmp_path_factory.mktemp("page") / "arm.html"
    page_of(motion_of_model(mbfmu.load("two_link"), STOP), "arm").write(path)
    yield from opened(browser, path, faults)


def opened(browser: Browser, path: Path, faults: list[str]) -> Iterator[Page]:
    """Yield a page; note what it complains about."""
    context = browser.new_context(viewport={"width": 1000, "height": 600}, offline=True)
    page = context.new_page()

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and "GPU stall" not in message.text:  # the driver's, for screenshots
            faults.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{path.as_uri()}#t=0.1")
    page.wait_for_selector("#scene canvas")
    yield page
    context.close()


def time_of(page: Page) -> float:
    return float(page.input_value("#time"))


def wait_for(page: Page, where: Page | Frame, t: float) -> None:
    """Wait until the time has passed t, at most for 20 s."""
    for _ in range(400):
        if float(where.input_value("#time")) > t:
            return
        page.wait_for_timeout(50)
    pytest.fail(f"the time stays at {where.input_value('#time')} s")


def seek(page: Page, t: float) -> None:
    """Move the slider."""
    page.eval_on_selector("#time", "(slider, t) => { slider.value = t; slider.dispatchEvent(new Event('input')); }", t)


def picture(page: Page, selector: str) -> npt.NDArray[np.int64]:
    """Return what an element looks like once the browser has drawn it, shape (height, width, 3)."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    with Image.open(io.BytesIO(page.locator(selector).screenshot())) as image:
        return np.asarray(image.convert("RGB")).astype(np.int64)


def near(drawn: npt.NDArray[np.int64], colour: tuple[int, int, int]) -> int:
    """Return the number of points whose colour is about that, lighter or darker."""
    shade = drawn / np.maximum(np.linalg.norm(drawn, axis=2, keepdims=True), 1)
    pure = np.array(colour) / np.linalg.norm(colour)
    return int(np.sum(np.linalg.norm(shade - pure, axis=2) < 0.2))


def test_a_page_opens_at_the_time_in_its_address(page: Page) -> None:
    assert time_of(page) == pytest.approx(0.1)
    assert page.text_content("#clock") == "0.1000 of 0.5 s"
    assert page.text_content("#play") == "Play"


def test_playing_moves_the_time_on_and_pausing_stops_it(page: Page) -> None:
    seek(page, 0.1)
    page.click("#play")
    wait_for(page, page, 0.11)
    assert page.text_content("#play") == "Pause"
    page.keyboard.press("Space")
    stopped = time_of(page)
    page.wait_for_timeout(100)
    assert time_of(page) == stopped


def test_the_slider_the_keys_and_a_click_in_a_plot_set_the_time(page: Page) -> None:
    seek(page, 0.3)
    assert page.text_content("#clock") == "0.3000 of 0.5 s"
    page.keyboard.press("ArrowRight")
    assert time_of(page) == pytest.approx(0.3 + STOP / 200)
    box = page.locator("#graph").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] - 16, box["y"] + box["height"] / 2)  # the right edge of the plots
    assert time_of(page) == pytest.approx(STOP)


def test_the_mechanism_is_drawn_in_its_colours_and_moves(page: Page) -> None:
    seek(page, 0.0)
    start = picture(page, "#scene")
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):  # the two links
        assert near(start, colour) > 500
    seek(page, STOP)
    end = picture(page, "#scene")
    assert np.mean(np.abs(start - end).max(axis=2) > 30) > 0.01


def test_the_cursor_moves_over_the_curves(page: Page) -> None:
    seek(page, 0.1)
    before = picture(page, "#graph")
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):
        assert near(before, colour) > 200
    seek(page, 0.4)
    moved = np.abs(before - picture(page, "#graph")).max(axis=2) > 100
    columns = np.flatnonzero(moved.sum(axis=0) > 0.5 * len(moved))
    left, right = 64, before.shape[1] - 16
    assert abs(columns[0] - (left + 0.2 * (right - left))) < 3
    assert abs(columns[-1] - (left + 0.8 * (right - left))) < 3


@pytest.mark.slow
@pytest.mark.parametrize("control", ["traces", "axes", "shapes"])
def test_a_box_switches_what_it_names_on_and_off(page: Page, control: str) -> None:
    seek(page, 0.2)
    before = picture(page, "#scene")
    page.click(f"#{control}")
    assert np.sum(np.abs(picture(page, "#scene") - before).max(axis=2) > 20) > 100
    page.click(f"#{control}")
    assert np.array_equal(picture(page, "#scene"), before)


@pytest.mark.slow
def test_the_camera_turns_with_the_mouse_and_comes_back(page: Page) -> None:
    page.select_option("#camera", "front")
    before = picture(page, "#scene")
    page.mouse.move(300, 300)
    page.mouse.down()
    page.mouse.move(380, 340)
    page.mouse.up()
    page.mouse.move(300, 590)
    assert np.mean(np.abs(picture(page, "#scene") - before).max(axis=2) > 20) > 0.01
    page.select_option("#camera", "top")
    page.select_option("#camera", "front")
    assert np.mean(np.abs(picture(page, "#scene") - before).max(axis=2) > 20) < 0.001


def test_a_page_complains_of_nothing(page: Page, faults: list[str]) -> None:
    seek(page, 0.0)
    picture(page, "#scene")
    assert faults == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the mesh 'package.*flange")  # the robot's model has no such file
@pytest.mark.parametrize("name", ["heavy_top", "robot", "crane"])
def test_mechanisms_in_space_of_meshes_and_of_cylinders_are_drawn_without_complaint(
    name: str, browser: Browser, tmp_path: Path
) -> None:
    faults: list[str] = []
    path = mbfmu.view(name, 0.05).write(tmp_path / "page.html")
    for page in opened(browser, path, faults):
        background = picture(page, "#scene")
        page.click("#shapes")
        assert np.mean(np.abs(picture(page, "#scene") - background).max(axis=2) > 30) > 0.01
    assert faults == []


def body_at(t: npt.NDArray[np.float64], curve: npt.NDArray[np.float64]) -> ShownMotion:
    """The motion of one body at some times, with a joint's angle."""
    columns = {"b.r_0[1]": t - t[0], "b.r_0[2]": 0 * t, "b.phi": 0 * t, "hinge.phi": curve}
    return motion_of_result(Result(t, tuple(columns), np.column_stack(list(columns.values()))), "run")


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ([3.0], "3.0000 of 3 s"),
        ([-2.0, -1.5], "-1.5000 of -1.5 s"),
        ([1764216000.25, 1764216000.35], "1764216000.3500 of 1764216000.35 s"),
    ],
)
def test_a_page_tells_its_time_whenever_it_is(times: list[float], shown: str, browser: Browser, tmp_path: Path) -> None:
    faults: list[str] = []
    path = page_of(body_at(np.array(times), np.array(times) - 4.0), "run").write(tmp_path / "page.html")
    for page in opened(browser, path, faults):
        seek(page, times[-1])
        assert page.text_content("#clock") == shown
        page.click("#play")
        page.wait_for_timeout(100)
        assert math.isfinite(time_of(page))
    assert faults == []


def test_a_curve_with_values_that_are_not_finite_is_drawn_beside_them(browser: Browser, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 101)
    wild = np.where(t < 0.2, np.nan, np.where(t < 0.4, 1e300, np.sin(9 * t)))
    path = page_of(body_at(t, wild), "run").write(tmp_path / "page.html")
    faults: list[str] = []
    for page in opened(browser, path, faults):
        assert near(picture(page, "#plots"), (0x00, 0x72, 0xB2)) > 300
    assert faults == []


@pytest.mark.slow
def test_a_drive_has_a_colour_of_its_own_among_other_bodies(browser: Browser, tmp_path: Path) -> None:
    """Bodies are told apart, as a drive among them is no mechanism."""
    crane = crane_with(LinearDrive("lift", n=(0, 1), L=1.3, **BARREL, **ROD_OF_DRIVE))
    path = page_of(motion_of_model(crane, 0.2), "crane").write(tmp_path / "page.html")
    for page in opened(browser, path, []):
        assert page.input_value("#colours") == "body"
        bodies = page.locator("#legend button").all_inner_texts()
        assert {"beam1", "beam2", "lift.barrel", "lift.rod"} <= set(bodies)
        page.select_option("#colours", "group")
        assert page.locator("#legend button").all_inner_texts() == ["others", "lift"]


@pytest.mark.slow
@pytest.mark.usefixtures("browser")
def test_the_picture_of_the_documentation_shows_a_crane(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.viewed", "--plot", str(tmp_path / "view.png")]
    subprocess.run(command, cwd=ROOT, check=True)
    with Image.open(tmp_path / "view.png") as image:
        drawn = np.asarray(image.convert("RGB")).astype(np.int64)
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (0x00, 0x9E, 0x73), (0xCC, 0x79, 0xA7)):
        assert near(drawn, colour) > 1000  # two beams and two cylinders


@pytest.mark.slow
def test_a_notebook_plays_the_page_in_its_frame(browser: Browser, two_link: System) -> None:
    faults: list[str] = []
    page = browser.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.set_content(f"<html><body>{mbfmu.view(two_link, STOP)._repr_html_()}</body></html>")
    frame = page.frames[1]
    frame.wait_for_selector("#scene canvas")
    assert frame.text_content("#play") == "Pause"
    wait_for(page, frame, 0.01)
    page.close()
    assert faults == []
