"""Fixtures all tests share, and how thoroughly they run."""

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

import mbfmu
from mbfmu.kernel.toolchain import LEVEL
from mbfmu.model import System

REFERENCES = Path(__file__).parent / "references"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--all`."""
    parser.addoption(
        "--all", action="store_true", help="run the tests marked slow too, with kernels optimised as users get them"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Compile without optimisation, which gives the same bits sooner (test_toolchain.py), unless all is asked for.

    Tests that try random examples try a quarter of them (`examples` in harness.py).
    """
    hypothesis.settings.register_profile("quick", max_examples=25)
    if not config.getoption("--all"):
        os.environ.setdefault(LEVEL, "0")
        hypothesis.settings.load_profile("quick")


def pytest_collection_finish() -> None:
    """Keep the garbage collector from searching the tests themselves, which all live to the end, again and again."""
    gc.collect()
    gc.freeze()


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is left out."""
    level = os.environ.get(LEVEL)
    kernels = f"-O{level}" if level else "optimised by size"
    return f"kernels: {kernels}; slow tests: {'run' if _takes_slow(config) else 'left out, --all runs them'}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked slow, unless they are asked for."""
    if not _takes_slow(config):
        slow = [item for item in items if item.get_closest_marker("slow")]
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)


def _takes_slow(config: pytest.Config) -> bool:
    """Whether slow tests run: with `--all`, or where `-m` selects."""
    return bool(config.getoption("--all") or config.getoption("-m"))


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
