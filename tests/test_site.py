"""The site of the pages, opened as files without a network: the search finds, and its results lead to pages."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import extra
from test_browser import CHROMIUM, SWITCHES
from test_docs import ROOT

import mbfmu

api = extra("playwright.sync_api", "test")
extra("zensical", "docs")
pytestmark = pytest.mark.further
PAGES = ("index.md", "how.md", "api/index.md")
"""Pages of the site that is tried, one of them in a folder."""
RESULTS = (
    "() => [...document.querySelectorAll('*')]"
    ".flatMap(e => e.shadowRoot ? [...e.shadowRoot.querySelectorAll('ol a')] : []).map(link => link.href)"
)
"""The addresses of the results, which are in a shadow tree."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a site with the project's settings and a few of its pages."""
    folder = tmp_path_factory.mktemp("project")
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    text = re.sub(r"^nav = \[.*?^\]\n", f"nav = {list(PAGES)}\n", text, flags=re.MULTILINE | re.DOTALL)
    (folder / "zensical.toml").write_text(text.replace(".ci/", f"{ROOT}/.ci/"), encoding="utf-8")
    for path in (ROOT / "docs").glob("*.*s"):
        (folder / "docs").mkdir(exist_ok=True)
        shutil.copy(path, folder / "docs")
    shutil.copytree(ROOT / "docs" / "katex", folder / "docs" / "katex")
    for page in PAGES:
        target = folder / "docs" / page
        target.parent.mkdir(exist_ok=True)
        content = (ROOT / "docs" / page).read_text(encoding="utf-8")
        target.write_text(re.sub(r"^:::.*$", "", content, flags=re.MULTILINE), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("zensical")), "build"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    return folder / "site"


@pytest.fixture(scope="module")
def context(pytestconfig: pytest.Config) -> Iterator[api.BrowserContext]:
    if not CHROMIUM:
        assert not pytestconfig.getoption("--all"), "install Chromium: apt-get install chromium"
        pytest.skip("needs Chromium")
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
        browser.close()


@pytest.mark.parametrize("start", ["index.html", "api/index.html"])
def test_the_search_works_in_pages_that_are_opened_as_files(
    start: str, site: Path, context: api.BrowserContext
) -> None:
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto((site / start).as_uri())
    page.keyboard.press("/")
    page.wait_for_function("() => document.activeElement !== document.body")
    page.keyboard.type("multipliers")
    page.wait_for_function(f"() => ({RESULTS})().length > 0")
    found = [item for item in page.evaluate(RESULTS) if item.startswith((site / "how.html").as_uri())]
    assert found
    page.goto(found[0])
    assert "multipliers" in (page.text_content("main") or "")
    assert faults == []


def test_every_page_says_of_which_version_it_is(site: Path) -> None:
    for page in PAGES:
        assert f"mbfmu {mbfmu.__version__}" in (site / page).with_suffix(".html").read_text(encoding="utf-8")
