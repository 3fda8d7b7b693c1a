"""Fixtures all tests share, and how thoroughly they run."""

import os
from pathlib import Path

import pytest

import mbfmu
from mbfmu.kernel.toolchain import LEVEL
from mbfmu.model import System

REFERENCES = Path(__file__).parent / "references"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--all`."""
    parser.addoption(
        "--all", action="store_true", help="also the tests marked slow, and kernels optimised as users get them"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Compile without optimisation, which gives the same bits sooner (test_toolchain.py), unless all is asked for."""
    if not config.getoption("--all"):
        os.environ.setdefault(LEVEL, "0")


@pytest.fixture(scope="session")
def two_link() -> System:
    """The two-link arm of models/."""
    return mbfmu.load("two_link")


@pytest.fixture(scope="session")
def two_link_fmu(two_link: System, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two-link arm with rattle as an FMU, h = 1 ms."""
    return mbfmu.export(two_link, tmp_path_factory.mktemp("fmu") / "two_link.fmu", stepper="rattle", step=1e-3)
