"""Fixtures all tests share."""

from pathlib import Path

import pytest

import mbfmu
from mbfmu.model import System

REFERENCES = Path(__file__).parent / "references"


@pytest.fixture(scope="session")
def two_link() -> System:
    """The two-link arm of models/."""
    return mbfmu.load("two_link")


@pytest.fixture(scope="session")
def two_link_fmu(two_link: System, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two-link arm with rattle as an FMU, h = 1 ms."""
    return mbfmu.export(two_link, tmp_path_factory.mktemp("fmu") / "two_link.fmu", stepper="rattle", step=1e-3)
