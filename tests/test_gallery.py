"""The gallery: its live pages are those that an example makes, as large as it says, and they run."""

import re
from pathlib import Path
from typing import Any

import pytest
from test_browser import browser  # noqa: F401 - a fixture
from test_docs import ROOT
from test_live import LARGEST, pytestmark, until

from examples.live_pages import LIVE, LivePage

__all__ = ["pytestmark"]

ROW = re.compile(r"^\| \[\w+\]\(live/(\w+)\.html\) \| ([\d.]+) MB \|", re.MULTILINE)
SIZES = dict(ROW.findall((ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")))
"""Sizes that the gallery states, MB, by the models of its pages."""


def test_the_gallery_links_the_six_pages_that_the_site_is_given() -> None:
    assert list(SIZES) == [item.model for item in LIVE]
    assert len(SIZES) == 6
    workflow = (ROOT / ".github/workflows/docs.yml").read_text(encoding="utf-8")
    assert workflow.index("zensical build --strict") < workflow.index("python -m examples.live_pages site/live")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the steps leave omega_M")  # of the woodpecker, at its own step
@pytest.mark.parametrize("item", LIVE, ids=lambda item: item.model)
def test_a_page_of_the_gallery_is_as_large_as_it_says_and_runs_without_complaint(
    item: LivePage,
    browser: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    path = item.made().write(tmp_path / "page.html")
    assert f"{path.stat().st_size / 1e6:.1f}" == SIZES[item.model]
    assert path.stat().st_size < LARGEST
    faults: list[str] = []
    context = browser.new_context(offline=True)
    try:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(path.as_uri())
        until(page, "record.length > 300")
        assert page.evaluate(
            "running && (element('message').hidden || !element('message').classList.contains('fault'))"
        )
    finally:
        context.close()
    assert faults == []
