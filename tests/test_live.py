"""Live pages: their kernel has the bits of the native one, and their controls do what they name."""

import ctypes
import importlib.util
import json
import math
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_browser import browser, near, opened, picture, seek
from test_view import call
from test_view_flexible import crooked

import mbfmu
from mbfmu.base.result import read_table
from mbfmu.errors import UnknownNameError, UsageError
from mbfmu.fmu.interface import SETTING, Interface, interface
from mbfmu.fmu.native.shell import shell_libraries
from mbfmu.kernel.build.platforms import is_here
from mbfmu.model.expression import Expression
from mbfmu.prepared.prepare import Prepared, prepare_run
from mbfmu.prepared.settings import RunSettings
from mbfmu.show.viewer.live import PLATFORM, live_content
from mbfmu.show.viewer.pulls import pulls_of, with_pulls

Page = Any
Array = npt.NDArray[np.float64]
__all__ = ["browser"]

HERE = "x86_64-linux"
NODE = shutil.which("node")
HOST = Path(__file__).with_name("live_host.mjs")
WORKER = Path(mbfmu.__file__).parent / "show" / "viewer" / "worker.js"
H = 0.01
LARGEST = 1.6e6
"""Bytes of a page."""
pytestmark = [
    pytest.mark.skipif(not is_here(HERE), reason="compares with 64-bit Linux"),
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs the package ziglang"),
]
needs_node = pytest.mark.skipif(NODE is None, reason="needs node")


# -- the worker ------------------------------------------------------------------------------------------------------


@cache
def prepared(name: str) -> tuple[Prepared, Interface]:
    """Return a model of models/ with its variables."""
    made = prepare_run(mbfmu.load(name), RunSettings())
    return made, interface(made)


@cache
def worker_of(name: str) -> Path:
    """Return a page with what a worker needs, without a picture."""
    made, table = prepared(name)
    module = shell_libraries(made, "live", table, (PLATFORM,), lambda _: None)[PLATFORM].content
    content = json.dumps(live_content(table, made, module, RunSettings(), {}, (), {}))
    path = Path(mkdtemp(prefix="mbfmu-live-")) / "worker.html"
    scripts = {"application/json": ("live", content), "text/plain": ("worker", WORKER.read_text(encoding="utf-8"))}
    text = "".join(f'<script type="{kind}" id="{id}">{inner}</script>' for kind, (id, inner) in scripts.items())
    path.write_text(text, encoding="utf-8")
    return path


def posted(name: str, orders: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what the worker of a model posts at orders."""
    assert NODE
    done = subprocess.run([NODE, str(HOST), str(worker_of(name)), json.dumps(orders)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows_of(messages: Sequence[Mapping[str, Any]], name: str) -> Array:
    """Return the rows that a worker posts, from its last start on, shape (n, number of variables)."""
    rows: list[Array] = []
    for message in messages:
        if "begun" in message:
            rows = []
        if "back" in message:
            rows = [np.concatenate(rows)[: message["back"] + 1]]
        if text := message.get("begun") or message.get("rows"):
            rows.append(np.frombuffer(b64decode(text)).reshape(-1, len(prepared(name)[1].variables)))
    return np.concatenate(rows)


def reference(name: str, variable: str) -> int:
    """Return the value reference of a variable."""
    return prepared(name)[1].index(variable) - 1


def opening(name: str, changes: Mapping[str, float] | None = None, inputs: Mapping[str, Any] | None = None) -> Any:
    """Return the order that begins a run."""
    pairs = {"changes": changes or {}, "inputs": inputs or {}}
    return {
        "order": "open",
        **{key: [[reference(name, item), value] for item, value in of.items()] for key, of in pairs.items()},
    }


@cache
def library(name: str) -> ctypes.CDLL:
    """Return the core of a model's FMU as a library of this machine."""
    made, table = prepared(name)
    path = Path(mkdtemp(prefix="mbfmu-live-")) / "core.so"
    path.write_bytes(shell_libraries(made, "live", table, (HERE,), lambda _: None)[HERE].content)
    core = ctypes.CDLL(str(path))
    core.shell_size.restype = ctypes.c_size_t
    return core


class Native:
    """A run of the native core of a model's FMU.

    Args:
        name: the model.
        changes: values of parameters and start values.
    """

    def __init__(self, name: str, changes: Mapping[str, float] | None = None) -> None:
        self.table, self.core = prepared(name)[1], library(name)
        self.memory = ctypes.create_string_buffer(self.core.shell_size())
        self.said: list[str] = []
        self.log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p)(
            lambda _, text: self.said.append(text.decode())
        )
        settings = [item.start or 0.0 for item in self.table.variables if item.kind == SETTING]
        self.core.shell_open(self.memory, self.log, (ctypes.c_double * len(settings))(*settings))
        for item, value in (changes or {}).items():
            self.set(reference(name, item), value)
        assert self.core.shell_initialise(self.memory) == 0
        assert self.core.shell_run(self.memory) == 0

    def set(self, vr: int, value: float, rate: float | None = None) -> None:
        """Set a variable, and for an input the rate at which it goes on."""
        number: Any = ctypes.c_double if (kind := self.table.variables[vr].type) == "Real" else ctypes.c_int
        set_value = getattr(self.core, f"shell_set_{kind.lower()}")
        assert set_value(self.memory, (ctypes.c_uint * 1)(vr), ctypes.c_size_t(1), (number * 1)(value)) == 0
        if rate is not None:
            arguments = (ctypes.c_uint * 1)(vr), ctypes.c_size_t(1), (ctypes.c_int * 1)(1), (ctypes.c_double * 1)(rate)
            assert self.core.shell_set_rates(self.memory, *arguments) == 0

    def row(self) -> list[float]:
        """Return the values of all variables."""
        values = []
        for vr, item in enumerate(self.table.variables):
            number: Any = ctypes.c_double if item.type == "Real" else ctypes.c_int
            value = (number * 1)()
            get = getattr(self.core, f"shell_get_{item.type.lower()}")
            assert get(self.memory, (ctypes.c_uint * 1)(vr), ctypes.c_size_t(1), value) == 0
            values.append(float(value[0]))
        return values

    def step(self) -> None:
        """Take a communication step."""
        assert self.core.shell_step(self.memory, ctypes.c_double(self.row()[0]), ctypes.c_double(H)) == 0, self.said


def native_rows(name: str, steps: int, changes: Mapping[str, float] | None = None) -> Array:
    """Return the rows of the native library over steps."""
    native = Native(name, changes)
    rows = [native.row()]
    for _ in range(steps):
        native.step()
        rows.append(native.row())
    return np.array(rows)


TEN = (
    "crane",
    "excavator",
    "woodpecker",
    "car",
    "gripper",
    "sampled_pid",
    "slider_crank",
    "stewart",
    "bouncing_ball",
    "heavy_top",
)
"""Models with loops, oil, impacts with friction, tyres, grips, samples, and in space."""


@needs_node
@pytest.mark.parametrize("name", ["two_link", "sampled_pid", "bouncing_ball"])
def test_a_worker_computes_the_bits_of_the_native_library(name: str) -> None:
    rows = rows_of(posted(name, [opening(name), {"order": "steps", "count": 50}]), name)
    assert rows.tobytes() == native_rows(name, 50).tobytes()
    assert np.ptp(rows[:, 0]) == pytest.approx(50 * H)


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_ten_models_have_the_bits_of_the_native_library_over_ten_seconds(name: str) -> None:
    rows = rows_of(posted(name, [opening(name), {"order": "steps", "count": 1000}]), name)
    assert rows.tobytes() == native_rows(name, 1000).tobytes()
    assert rows[-1, 0] == pytest.approx(10.0)


@needs_node
def test_changed_parameters_and_starts_act_from_a_restart_on_and_inputs_run_as_lines_between_points() -> None:
    changes, ramp, tau = {"l1": 0.7, "shoulder.phi": 0.2}, "8*time-1", reference("two_link", "shoulder.tau")
    orders = [
        opening("two_link"),
        {"order": "input", "vr": tau, "text": ramp},
        {"order": "steps", "count": 3},
        {"order": "restart", "changes": [[reference("two_link", name), value] for name, value in changes.items()]},
        {"order": "steps", "count": 20},
    ]
    rows, native, expected = rows_of(posted("two_link", orders), "two_link"), Native("two_link", changes), []
    for k in range(21):
        t = native.row()[0]
        native.set(tau, 8 * t - 1, ((8 * (t + H) - 1) - (8 * t - 1)) / H)
        expected.append(native.row())
        if k < 20:
            native.step()
    assert rows.tobytes() == np.array(expected).tobytes()
    run = mbfmu.simulate(
        mbfmu.load("two_link"), 20 * H, values=changes, inputs={"shoulder.tau": ramp}, output_interval=H
    )
    found = rows[:, [reference("two_link", name) for name in ("shoulder.phi", "elbow.phi")]]
    assert np.allclose(found, np.column_stack([run["shoulder.phi"], run["elbow.phi"]]), atol=1e-8)


@needs_node
def test_a_run_goes_back_and_repeats_itself_to_the_bit() -> None:
    once = [opening("bouncing_ball"), {"order": "steps", "count": 40}]
    again = [*once, {"order": "back", "to": 17}, {"order": "steps", "count": 23}]
    assert rows_of(posted("bouncing_ball", again), "bouncing_ball").tobytes() == rows_of(
        posted("bouncing_ball", once), "bouncing_ball"
    ).tobytes()  # fmt: skip


@needs_node
def test_a_parameter_that_was_changed_stays_so_when_the_run_goes_back() -> None:
    mass = reference("two_link", "m1")
    five = {"order": "steps", "count": 5}
    orders = [opening("two_link"), five, {"order": "parameter", "vr": mass, "value": 2.5}, five]
    rows = rows_of(posted("two_link", [*orders, {"order": "back", "to": 3}, five]), "two_link")
    assert list(rows[:, mass]) == 4 * [1.0] + 5 * [2.5]


FORMULAS = (
    "1", "-time**2", "2**-time", "2**3**2", "1 - 2 - 3*time", "8/4/2", "sin(2*pi*time) + cos(time)",
    "where(time < 0.5, 1, -1)",
    "min(time, .25) + max(time, 1e-1)", "atan2(1, time)", "abs(floor(-time))", "deg(90)*sign(-time)", "(time >= 0.3)*5",
    "+sqrt(time)", "exp(-time)*tanh(time)/log(2 + time)", "true - false",
)  # fmt: skip
WRONG = ("", "1 +", "2*(3", "foo(1)", "x", "sin(1, 2)", "1 2", "time.real", "a = 3", "time; 1")


@needs_node
def test_a_page_reads_expressions_as_the_command_line_does_and_says_what_is_wrong() -> None:
    times = (0.0, 0.3, 0.7)
    values = [
        message["value"]
        for message in posted("two_link", [{"formula": text, "time": t} for text in FORMULAS for t in times])
    ]
    expected = [float(Expression(text).evaluate(lambda _, t=t: t)) for text in FORMULAS for t in times]
    assert np.allclose(values, expected, rtol=1e-14, atol=1e-15)
    assert all(message.get("wrong") for message in posted("two_link", [{"formula": text, "time": 0} for text in WRONG]))


@needs_node
def test_what_the_fmu_refuses_is_told_and_a_failed_run_goes_on_from_before() -> None:
    mass, tau = reference("two_link", "m1"), reference("two_link", "shoulder.tau")
    start = [opening("two_link"), {"order": "steps", "count": 5}]
    refused, bad, fine = posted("two_link", [
        *start, {"order": "parameter", "vr": mass, "value": -1}, {"order": "input", "vr": tau, "text": "log(-time)"},
        {"order": "input", "vr": tau, "text": 2},
    ])[2:]  # fmt: skip
    assert "m1" in refused["wrong"]
    assert "not finite" in bad["wrong"]
    assert fine["wrong"] == ""
    late = {"order": "input", "vr": tau, "text": "sqrt(0.1-time)"}
    messages = posted(
        "two_link", [*start, late, {"order": "steps", "count": 50}, {**late, "text": 0}, {"order": "steps", "count": 2}]
    )
    (failed,) = (message for message in messages if "failed" in message)
    assert "shoulder.tau is not finite at t = 0.1" in failed["failed"]
    assert rows_of(messages, "two_link")[-1, 0] > failed["time"]


# -- the page --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A live page of an arm."""
    made = mbfmu.view(
        "two_link", 0.5, live=True, inputs={"shoulder.tau": "sin(time)"}, show=["shoulder.phi", "energy.*"]
    )
    assert made.live
    assert len(made.html) < LARGEST
    return made.write(tmp_path_factory.mktemp("live") / "arm.html")


@pytest.fixture(scope="module")
def faults() -> list[str]:
    """Errors and warnings of the page."""
    return []


@pytest.fixture(scope="module")
def page(browser: Any, file: Path, faults: list[str]) -> Iterator[Page]:
    yield from opened(browser, file, faults)


def clock(page: Page) -> float:
    """Return the time that the page shows, s."""
    return float(page.text_content("#clock").split()[0])


def until(page: Page, condition: str) -> None:
    """Wait until a condition of the page's script holds, at most for 20 s."""
    for _ in range(800):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"it is not so that {condition}")


def begun_anew(page: Page) -> None:
    """Bring the page to rest at the start of a run."""
    if page.text_content("#play") == "Pause":
        page.click("#play")
    page.click("#restart")
    until(page, "ready && record.length === 1")


def enter(page: Page, name: str, text: str) -> None:
    """Type a value into the field of a variable."""
    page.eval_on_selector(f'.control input[aria-label="{name}"]', "(field) => field.closest('details').open = true")
    page.fill(f'.control input[aria-label="{name}"]', text)
    page.press(f'.control input[aria-label="{name}"]', "Enter")


def value(page: Page, name: str) -> float:
    """Return the last value of a variable."""
    return float(page.evaluate("(name) => record.row(record.last)[references.get(name)]", name))


def test_a_live_page_runs_at_once_and_pauses_steps_and_restarts(page: Page) -> None:
    until(page, "record.length > 3")
    assert page.text_content("#play") == "Pause"
    page.click("#play")
    page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    stopped = clock(page)
    page.click("#step")
    until(page, f"Number.parseFloat(element('clock').textContent) > {stopped}")
    assert clock(page) == pytest.approx(stopped + H)
    begun_anew(page)
    assert clock(page) == 0.0
    page.keyboard.press("Space")
    until(page, "record.length > 3 && running")
    assert "pictures a second" in page.text_content("#status")


def test_slow_motion_takes_more_time_and_the_most_takes_less(page: Page) -> None:
    begun_anew(page)
    lengths = {}
    for speed in ("0.01", "Infinity"):
        page.select_option("#speed", speed)
        page.click("#play")
        page.wait_for_timeout(400)
        page.click("#play")
        lengths[speed] = page.evaluate("record.time(record.last)")
        begun_anew(page)
    page.select_option("#speed", "1")
    assert lengths["0.01"] < 0.3
    assert lengths["Infinity"] > 2


def test_dragging_the_time_back_shows_what_was_and_going_on_forgets_what_came_later(page: Page) -> None:
    begun_anew(page)
    page.evaluate("order('steps', { count: 100 })")
    until(page, "record.length === 101")
    phi = page.evaluate("record.row(40)[references.get('shoulder.phi')]")
    page.eval_on_selector("#time", "(slider) => { slider.value = 0.4; slider.dispatchEvent(new Event('input')); }")
    assert clock(page) == pytest.approx(0.4)
    assert page.evaluate("record.length") == 101
    page.click("#step")
    until(page, "record.length === 42")
    assert page.evaluate("record.row(40)[references.get('shoulder.phi')]") == phi
    box = page.locator("#graph").bounding_box()
    page.mouse.click(box["x"] + 65, box["y"] + 60)  # the start, in the plots
    assert clock(page) < 0.1


def test_inputs_take_numbers_and_expressions_by_field_slider_and_keys(page: Page) -> None:
    begun_anew(page)
    assert page.input_value('.control input[aria-label="shoulder.tau"]') == "sin(time)"
    enter(page, "shoulder.tau", "3 + time")
    page.click("#step")
    until(page, "record.length === 2")
    assert value(page, "shoulder.tau") == pytest.approx(3 + H)
    enter(page, "shoulder.tau", "3 +")
    until(page, "document.querySelector('.control em:not([hidden])')?.textContent.includes('too early')")
    page.eval_on_selector(
        'input[aria-label="shoulder.tau, slider"]',
        "(slider) => { slider.value = 100; slider.dispatchEvent(new Event('input')); }",
    )
    page.click("#step")
    until(page, "record.length === 3")
    assert value(page, "shoulder.tau") == 100
    page.keyboard.down("ArrowRight")
    page.keyboard.press(".")
    until(page, "record.length === 4")
    assert value(page, "shoulder.tau") == 500
    page.keyboard.up("ArrowRight")
    page.keyboard.press(".")
    until(page, "record.length === 5")
    assert value(page, "shoulder.tau") == 100
    page.select_option('select[aria-label="keys of shoulder.tau"]', "")
    enter(page, "shoulder.tau", "0")


def test_parameters_act_at_once_or_from_a_restart_on_within_their_bounds(page: Page) -> None:
    begun_anew(page)
    enter(page, "m1", "2.5")
    page.click("#step")
    until(page, "record.length === 2")
    assert value(page, "m1") == 2.5
    enter(page, "m1", "-1")
    assert "from 1e-9" in page.text_content(".control[data-vr] em:not([hidden])")
    enter(page, "m1", "1")
    enter(page, "l1", "0.5")
    page.click("#step")
    until(page, "record.length === 3")
    assert value(page, "l1") == 1.0
    begun_anew(page)
    assert value(page, "l1") == 0.5
    enter(page, "l1", "1")
    begun_anew(page)
    assert value(page, "l1") == 1.0


def test_any_variable_can_be_plotted(page: Page) -> None:
    assert page.evaluate("chosen") == ["shoulder.phi", "energy.total", "energy.kinetic", "energy.potential"]
    page.click("#chooser summary")
    page.fill("#find", "elbow.")
    names = page.locator("#names label").all_inner_texts()
    assert {"elbow.phi", "elbow.w"} <= {name.strip() for name in names}
    page.check('#names input[value="elbow.w"]')
    assert page.evaluate("panels.map((panel) => panel.label)") == ["angle [rad]", "energy [J]", "ang. velocity [rad/s]"]
    page.uncheck('#names input[value="elbow.w"]')
    page.click("#chooser summary")
    assert "elbow.w" not in page.evaluate("chosen")
    page.select_option("#window", "2")
    assert page.evaluate("axis.end - axis.begin") == pytest.approx(2)
    page.select_option("#window", "10")


def test_the_run_is_downloaded_as_a_table(page: Page, tmp_path: Path) -> None:
    begun_anew(page)
    page.evaluate("order('steps', { count: 10 })")
    until(page, "record.length === 11")
    with page.expect_download() as found:
        page.click("#table")
    found.value.save_as(tmp_path / "run.csv")
    table = read_table(tmp_path / "run.csv")
    assert np.allclose(table["time"], H * np.arange(11))
    assert table["energy.total"][-1] == value(page, "energy.total")
    assert "m1" not in table


def test_the_head_of_the_page_says_the_error_of_the_run(page: Page) -> None:
    begun_anew(page)
    page.evaluate("order('steps', { count: 20 })")
    until(page, "record.length === 21")
    page.wait_for_timeout(400)  # it is said a few times a second
    said = page.text_content("#status").rpartition("error ")[2].removesuffix(" of the range")
    assert float(said) == pytest.approx(value(page, "solver.error"), rel=0.05)


def test_the_step_of_the_solver_can_be_changed_while_a_run_goes_on(page: Page) -> None:
    begun_anew(page)
    before = value(page, "solver.step")
    page.evaluate("order('steps', { count: 10 })")
    until(page, "record.length === 11")
    end = value(page, "elbow.phi")
    seek(page, 5 * H)
    enter(page, "solver.step", str(before / 2))
    page.evaluate("resume(), order('steps', { count: 5 })")
    until(page, f"record.length === 11 && record.row(record.last)[references.get('solver.step')] === {before / 2}")
    assert value(page, "elbow.phi") != end
    assert value(page, "elbow.phi") == pytest.approx(end, abs=1e-6)
    enter(page, "solver.step", str(before))


def test_what_a_live_page_shows_of_the_machine_can_be_chosen(page: Page) -> None:
    begun_anew(page)
    start = picture(page, "#view")
    for switch in ("#shapes", "#axes"):
        page.click(switch)
        assert np.sum(np.abs(picture(page, "#view") - start).max(axis=2) > 20) > 50
        page.click(switch)
    page.click("#bodies button >> nth=0")
    assert near(picture(page, "#view"), (0x00, 0x72, 0xB2)) < 0.1 * near(start, (0x00, 0x72, 0xB2))
    page.click("#bodies button >> nth=0")
    assert np.array_equal(picture(page, "#view"), start)
    page.select_option("#camera", "top")
    assert np.mean(np.abs(picture(page, "#view") - start).max(axis=2) > 20) > 0.01
    page.select_option("#camera", "oblique")


def test_a_live_page_takes_a_film_until_it_is_ended(page: Page, tmp_path: Path) -> None:
    begun_anew(page)
    page.click("#film")
    page.click("#play")
    until(page, "record.length > 5")
    with page.expect_download() as saved:
        page.click("#film")
    saved.value.save_as(tmp_path / "arm.webm")
    assert (tmp_path / "arm.webm").read_bytes()[:4] == b"\x1a\x45\xdf\xa3"  # EBML
    assert page.text_content("#film") == "Film"


def test_a_failure_shows_its_message_and_the_run_goes_on_after_it(page: Page) -> None:
    begun_anew(page)
    enter(page, "shoulder.tau", "sqrt(0.055 - time)")
    page.click("#play")
    until(page, "!element('message').hidden")
    assert "shoulder.tau is not finite" in page.text_content("#message")
    assert page.text_content("#play") == "Play"
    enter(page, "shoulder.tau", "0")
    length = page.evaluate("record.length")
    page.click("#step")
    until(page, f"record.length === {length + 1}")
    assert page.is_hidden("#message")


def test_a_live_page_draws_the_machine_and_its_traces_and_complains_of_nothing(page: Page, faults: list[str]) -> None:
    begun_anew(page)
    page.evaluate("order('steps', { count: 30 })")
    until(page, "record.length === 31")
    start = picture(page, "#view")
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):
        assert near(start, colour) > 300
    page.check("#traces")
    assert np.sum(np.abs(picture(page, "#view") - start).max(axis=2) > 20) > 50
    page.uncheck("#traces")
    assert faults == []


def test_a_small_screen_stacks_the_parts_and_dark_ones_are_dark(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 400, "height": 700})
    tops = [page.locator(name).bounding_box() for name in ("#scene", "#plots", "#controls")]
    assert all(item["width"] > 380 for item in tops)
    assert tops[0]["y"] < tops[1]["y"] < tops[2]["y"]
    assert picture(page, "#view").mean() < 80
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1000, "height": 600})


def test_a_model_without_bodies_has_a_live_page_of_curves(browser: Any, tmp_path: Path) -> None:
    faults: list[str] = []
    path = mbfmu.view("bouncing_ball", 0.1, live=True).write(tmp_path / "page.html")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path.as_uri())
    until(page, "record.length > 5")
    assert page.is_hidden("#scene")
    assert page.is_visible("#graph")
    context.close()
    assert faults == []


@pytest.mark.slow
def test_a_sampled_block_computes_at_its_instants_in_a_page(browser: Any, tmp_path: Path) -> None:
    faults: list[str] = []
    made = mbfmu.view("sampled_pid", 0.1, live=True, values={"Ts": 2 * H})
    for page in opened(browser, made.write(tmp_path / "pid.html"), faults):
        begun_anew(page)
        page.evaluate("order('steps', { count: 60 })")
        until(page, "record.length === 61")
        output = "record.value(k, references.get('u_applied_from_t'))"
        changes = np.flatnonzero(np.diff(page.evaluate(f"Array.from({{ length: 61 }}, (_, k) => {output})"))) + 1
        assert list(changes) == list(range(2, 61, 2))  # and the first sample is at the start
    assert faults == []


@pytest.mark.slow
@pytest.mark.parametrize("planar", [True, False])
def test_flexible_bodies_bend_in_a_live_page_and_their_frames_are_where_the_equations_say(
    planar: bool, browser: Any, tmp_path: Path
) -> None:
    faults: list[str] = []
    made = mbfmu.view(crooked(planar), 0.2, live=True, stepper="generalized_alpha", step=2e-3)
    for page in opened(browser, made.write(tmp_path / "page.html"), faults):
        until(page, "record.length > 20")
        page.click("#play")
        page.wait_for_timeout(200)
        seen, row = page.evaluate(
            "[frames[2].matrix.elements, motion.columns[2].map((vr) => record.row(record.before(t))[vr])]"
        )
        assert page.evaluate("motion.bodies[2].name") == "beam.frame_b"
        dim = 2 if planar else 3
        matrix, R = np.array(seen).reshape(4, 4), np.array(row[dim:]).reshape(dim, dim)  # both column by column
        assert np.allclose(matrix[3, :dim], row[:dim], atol=1e-9)
        assert np.allclose(matrix[:dim, :dim], R, atol=1e-9)
        still = page.evaluate("Array.from(skins[0].vertices)")
        assert np.ptp(np.array(still) - page.evaluate("Array.from(skins[0].rest)")) > 1e-4
        assert "picture" not in page.evaluate("[...known.keys()].join()")
    assert faults == []


@pytest.mark.slow
def test_the_page_of_a_crane_stays_small() -> None:
    assert len(mbfmu.view("crane", 0.1, live=True).html) < LARGEST


# -- mistakes and the command ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"source": "arm.fmu"}, "'arm.fmu' is not a model"),
        ({"source": "two_link", "mode": 1}, "a live page goes without mode"),
        ({"source": "two_link", "inputs": {"shoulder.tau": abs}}, "takes numbers and expressions of time"),
    ],
)
def test_what_no_live_page_takes_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        mbfmu.view(**given, live=True)


def test_the_command_writes_the_page_and_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert call("live", "two_link", "--stop", "0.1", monkeypatch=monkeypatch) == 0
    assert capfd.readouterr().out.startswith("wrote two_link.html (")
    assert opened == [(tmp_path / "two_link.html").as_uri()]


def test_a_live_page_shows_and_takes_values_in_the_chosen_units(browser: Any, tmp_path: Path) -> None:
    given = {"shoulder.tau": "2000*time"}
    show = ["shoulder.tau", "shoulder.phi"]
    made = mbfmu.view("two_link", 0.1, live=True, inputs=given, show=show, display=["kN.m", "deg", "t"])
    faults: list[str] = []
    for page in opened(browser, made.write(tmp_path / "arm.html"), faults):
        begun_anew(page)
        assert page.evaluate("panels.map((item) => item.label)") == ["torque [kN.m]", "angle [deg]"]
        page.click("#step")
        until(page, "record.length === 2")
        assert value(page, "shoulder.tau") == pytest.approx(2000 * H)
        shown = page.evaluate("panels.map((item) => item.series[0].values.at(-1))")
        assert shown == pytest.approx([2 * H, math.degrees(value(page, "shoulder.phi"))])
        enter(page, "shoulder.tau", page.input_value('.control input[aria-label="shoulder.tau"]'))  # as it stands
        enter(page, "m1", "0.25")
        page.click("#step")
        until(page, "record.length === 3")
        assert value(page, "shoulder.tau") == pytest.approx(4000 * H)
        assert value(page, "m1") == 250.0
        enter(page, "shoulder.tau", "0.5")
        page.click("#step")
        until(page, "record.length === 4")
        assert value(page, "shoulder.tau") == 500.0
    assert faults == []


def test_the_pointer_pulls_a_point_with_the_force_of_a_damped_spring() -> None:
    model = with_pulls(mbfmu.load("two_link"), ["link2"])
    names = [item.name for item in interface(prepare_run(model, RunSettings())).variables]
    (pull,) = pulls_of(model, names)
    assert [names[vr] for vr in pull["inputs"]] == ["pull_link2_frame_b.f[1]", "pull_link2_frame_b.f[2]"]
    assert [names[vr] for vr in pull["at"]] == ["link2.frame_b.r_0[1]", "link2.frame_b.r_0[2]"]
    for wrong, reason in ((["link3"], "no body or frame 'link3' to pull"), (["link2.frame_x"], "link2.frame_x")):
        with pytest.raises(UnknownNameError, match=reason):
            with_pulls(mbfmu.load("two_link"), wrong)
    with pytest.raises(UsageError, match="'pid' has no bodies to pull"):
        with_pulls(mbfmu.load("pid"), ["x"])


def test_a_point_is_dragged_to_the_pointer_and_let_go(browser: Any, tmp_path: Path) -> None:
    made = mbfmu.view("two_link", 0.5, live=True, pull=["link2"], step=0.002)
    faults: list[str] = []
    for page in opened(browser, made.write(tmp_path / "arm.html"), faults):
        begun_anew(page)
        page.fill("#stiffness", "300")
        x, y = page.evaluate(
            "(() => { const area = renderer.domElement.getBoundingClientRect();"
            "const p = handles[0].position.clone().project(camera);"
            "return [area.left + (p.x + 1) / 2 * area.width, area.top + (1 - p.y) / 2 * area.height]; })()"
        )
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 60, y + 40, steps=3)
        until(page, "record.length > 3")
        page.keyboard.press("Space")  # to rest, with the spring on
        page.wait_for_timeout(200)
        pull, to = page.evaluate("live.pulls[0]"), page.evaluate("pulled.to.toArray()")
        two, one, now = (page.evaluate(f"[...record.row(record.last - {k})]") for k in (2, 1, 0))
        for axis, force, at in zip(to, pull["inputs"], pull["at"], strict=False):
            assert now[force] == pytest.approx(300 * (axis - one[at] - 0.1 * (one[at] - two[at]) / H), rel=1e-9)
        page.mouse.up()
        page.keyboard.press(".")
        until(page, "live.pulls[0].inputs.every((vr) => record.row(record.last)[vr] === 0)")
    assert faults == []
