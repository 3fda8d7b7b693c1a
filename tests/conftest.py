"""Fixtures all tests share, and how thoroughly they run."""

import gc
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads take longer to start than these small matrices

import mbfmu
from mbfmu.kernel.build.toolchain import LEVEL
from mbfmu.model import System

REFERENCES = Path(__file__).parent / "references"
GIVEN = os.environ.get(LEVEL)
"""Level of optimisation that the environment asks for."""
REPRESENTED = "represented"
"""Mark of the cases of a matrix, and of pages and studies, that other tests stand for; its argument names a group that
runs together.
"""
LEFT_OUT = ("slow", "further", REPRESENTED)
"""Marks of the tests that run only with `--all`."""
COSTS = Path(__file__).with_name("costs.txt")
"""The tests that `--measure` has marked further: a line has the processor time, s, and the test's id."""
CHEAP, ALONE = 0.4, 1.0
"""Processor time of a test, s, from which it is left out; that of the cheapest test of a function, which stands for the
others."""
SECONDS = "processor seconds"
"""Name of a test's processor time among what its report carries."""
BEGUN = pytest.StashKey[float]()
"""Key of the processor time at which a test has begun."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--all`, `--part` and `--measure`."""
    parser.addoption("--all", action="store_true", help=f"run the tests marked {' or '.join(LEFT_OUT)} too")
    parser.addoption(
        "--part",
        type=_part,
        default=(1, 1),
        metavar="K/N",
        help=f"of the tests marked {' or '.join(LEFT_OUT)}, run the K-th of N parts",
    )
    parser.addoption("--measure", action="store_true", help=f"write {COSTS.name} anew, and leave none of its tests out")


def _part(text: str) -> tuple[int, int]:
    """Read K/N."""
    k, _, n = text.partition("/")
    found = int(k), int(n)
    if not 1 <= found[0] <= found[1]:
        raise ValueError(text)
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Let tests with random examples try a quarter of them (`examples` in harness.py) without `--all`; measure them."""
    hypothesis.settings.register_profile("quick", max_examples=25)
    if not config.getoption("--all"):
        hypothesis.settings.load_profile("quick")
    if config.getoption("--measure") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Measured())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Compile with little optimisation in slow tests and else none: the same bits come sooner (test_toolchain.py)."""
    if GIVEN is None:
        os.environ[LEVEL] = "1" if item.get_closest_marker("slow") else "0"


def pytest_collection_finish() -> None:
    """Keep the garbage collector from searching the tests themselves, which all live to the end, again and again."""
    gc.collect()
    gc.freeze()


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is left out."""
    kernels = f"-O{GIVEN}" if GIVEN else "-O0, in slow tests -O1"
    k, n = config.getoption("--part")
    run = f"part {k} of {n} is run" if n > 1 else "run"
    left = run if _takes_all(config) else "left out, --all runs them"
    return f"kernels: {kernels}; tests marked {' or '.join(LEFT_OUT)}: {left}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are not asked for, and begin with those marked long."""
    everything = _takes_all(config)
    costly = set() if config.getoption("--measure") else set(costs())
    for item in items:
        if item.nodeid in costly:
            item.add_marker(pytest.mark.further)
    k, n = config.getoption("--part")

    def wanted(item: pytest.Item) -> bool:
        if not any(item.get_closest_marker(mark) for mark in LEFT_OUT):
            return True
        mark = item.get_closest_marker(REPRESENTED)
        name = "".join(mark.args) if mark and mark.args else item.nodeid
        return everything and zlib.crc32(name.encode()) % n == k - 1

    left = [item for item in items if not wanted(item)]
    if left:
        items[:] = [item for item in items if wanted(item)]
        config.hook.pytest_deselected(items=left)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure the processor time of a test, and of the processes that it has started and waited for."""
    item.stash[BEGUN] = sum(os.times()[:4])
    yield


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let the report of a test carry its processor time, without the end of its fixtures."""
    item.user_properties.append((SECONDS, sum(os.times()[:4]) - item.stash[BEGUN]))


class _Measured:
    """What the tests of a run took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the time of a test that has ended."""
        if report.when == "teardown":
            self.seconds[report.nodeid] = float(str(dict(report.user_properties)[SECONDS]))

    def pytest_sessionfinish(self) -> None:
        """Write the costs of the functions that ran; of the others what is known stays."""
        ran = {_function(node) for node in self.seconds}
        costly = {node: cost for node, cost in costs().items() if _function(node) not in ran}
        functions: dict[str, list[tuple[float, str]]] = {}
        for node, cost in {**costs(), **self.seconds}.items():
            functions.setdefault(_function(node), []).append((cost, node))
        for name in ran:
            (least, first), *others = sorted(functions[name])
            costly.update({node: cost for cost, node in others if cost > CHEAP})
            if least > ALONE:
                costly[first] = least
        text = "".join(f"{cost:.1f} {node}\n" for node, cost in sorted(costly.items()))
        COSTS.write_text(text, encoding="utf-8")


def _function(node: str) -> str:
    """Return the id of a test's function, without the case."""
    return node.partition("[")[0]


def costs() -> dict[str, float]:
    """Return the processor times, s, of the tests in `COSTS`."""
    lines = COSTS.read_text(encoding="utf-8").splitlines() if COSTS.exists() else []
    return {node: float(cost) for cost, _, node in (line.partition(" ") for line in lines)}


def _takes_all(config: pytest.Config) -> bool:
    """Whether all tests run: with `--all`, or where `-m` selects."""
    return bool(config.getoption("--all") or config.getoption("-m"))


@pytest.fixture(scope="session", autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of all temporary files, of the programs that tests start too; it is removed after the tests."""
    folder = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def two_link() -> System:
    """The two-link arm of models/."""
    return mbfmu.load("two_link")


@pytest.fixture(scope="session")
def two_link_fmu(two_link: System, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two-link arm with rattle as an FMU, h = 1 ms."""
    return mbfmu.export(two_link, tmp_path_factory.mktemp("fmu") / "two_link.fmu", stepper="rattle", step=1e-3)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., str]:
    """Run `mbfmu ARGUMENTS` in an empty folder; return what it says on stdout, or on stderr if it fails."""
    from mbfmu import cli

    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["mbfmu", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        found = capfd.readouterr()
        return found.err if caught.value.code else found.out

    return run
