"""A page of `mbfmu view` as a browser without a screen draws it, with Chromium and the package playwright."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from mbfmu.show.viewer import Page

SIZE = {"width": 1200, "height": 680}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def shoot(path: str, page: Page, moment: float, traces: bool = False) -> None:
    """Write a picture of a page.

    Args:
        path: the picture's path.
        page: the page.
        moment: time of the picture, s.
        traces: whether traces are drawn.
    """
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        address = page.write(Path(folder) / "page.html").as_uri()
        found = next((program for name in BROWSERS if (program := shutil.which(name))), None)
        switches = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        browser = driver.chromium.launch(executable_path=found, args=switches)
        tab = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        tab.goto(f"{address}#t={moment}")
        tab.wait_for_selector("#scene canvas")
        if traces:
            tab.click("#traces")
        tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        tab.screenshot(path=path)
        browser.close()
