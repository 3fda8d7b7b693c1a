"""The page of `mbfmu view` as a browser draws it: a crane that its cylinders lift.

Run: python -m examples.viewed [--plot FILE] (needs Chromium and the package playwright)
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import mbfmu

MODEL = "crane"
INPUTS = {"lift.f": "25000", "tilt.f": "-2000"}
STOP, MOMENT = 1.0, 0.45
"""s, end of the run, and the time of the picture."""
SIZE = {"width": 1200, "height": 680}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def shoot(path: str, model: str = MODEL, stop: float = STOP) -> None:
    """Write a picture of the page of a model that runs with `INPUTS`."""
    page = mbfmu.view(model, stop, stepper="rattle", inputs=INPUTS)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        address = page.write(Path(folder) / "page.html").as_uri()
        found = next((program for name in BROWSERS if (program := shutil.which(name))), None)
        switches = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        browser = driver.chromium.launch(executable_path=found, args=switches)
        tab = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        tab.goto(f"{address}#t={MOMENT}")
        tab.wait_for_selector("#scene canvas")
        tab.click("#traces")
        tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        tab.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", default="view.png", metavar="FILE")
    shoot(parser.parse_args().plot)
