"""python -m benchmarks.pages: what the live pages of the gallery weigh, and how fast they run in Chromium.

The columns are the size of the page, MB, and of the module in it, kB; seconds of motion that it computes in a second
at the speed of the motion, and at most; pictures that it draws in a second; and the time, ms, that its script takes for
one: on a computer with a graphics processor that must stay below 16.7 ms, without one the processor draws them too.
"""

import shutil
from base64 import b64decode
from dataclasses import astuple, dataclass
from pathlib import Path
from re import findall
from tempfile import TemporaryDirectory
from typing import Any
from zlib import decompress

from playwright.sync_api import sync_playwright

from benchmarks.conditions import conditions
from benchmarks.table import markdown
from examples.live_pages import LIVE
from examples.shot import BROWSERS
from mbfmu.show.viewer import Page

COLUMNS = ("model", "page, MB", "module, kB", "real time", "at most", "pictures/s", "script, ms")
SIZE = {"width": 1280, "height": 800}
SWITCHES = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
"""The processor draws, where there is no graphics processor."""
SPAN = 5000
"""Time over which something is measured, ms."""
MEASURED = """async (span) => {
    let counted = 0;
    const frame = () => new Promise((done) => requestAnimationFrame(() => { counted += 1; done(); }));
    while (!ready || record.length < 3) await frame();
    const motion = () => record.time(record.last), drawn = () => renderer?.info.render.frame ?? counted;
    const over = async (call) => {
        const [t, n, begin] = [motion(), drawn(), performance.now()];
        while (performance.now() < begin + span) await call();
        const seconds = (performance.now() - begin) / 1000;
        return [(motion() - t) / seconds, (drawn() - n) / seconds];
    };
    await over(frame);  // what is slow at the beginning
    const [real, pictures] = await over(frame);
    let [spent, count] = [0, 0];
    await over(async () => {
        await frame();
        const begin = performance.now();
        plotted = -Infinity;
        show();
        renderer?.render(scene, camera);
        spent += performance.now() - begin;
        count += 1;
    });
    element("speed").value = "Infinity";
    play(true);
    const [most] = await over(frame);
    return [real, most, pictures, spent / count];
}"""


@dataclass(frozen=True)
class Measured:
    """What a page weighs and how fast it is, in the order of the columns."""

    model: str
    page: float
    module: float
    real: float
    most: float
    pictures: float
    script: float


def measured(model: str, page: Page, browser: Any) -> Measured:
    """Return the figures of a page in a browser."""
    (module,) = findall(r'"module": "([^"]*)"', page.html)
    with TemporaryDirectory() as folder:
        tab = browser.new_page(viewport=SIZE)
        tab.goto(page.write(Path(folder) / "page.html").as_uri())
        real, most, pictures, script = tab.evaluate(MEASURED, SPAN)
        tab.close()
    kilobytes = len(decompress(b64decode(module), -15)) / 1e3
    return Measured(model, len(page.html) / 1e6, kilobytes, real, most, pictures, script)


def main() -> None:
    """Measure and print."""
    print(conditions())
    with sync_playwright() as driver:
        path = next((program for name in BROWSERS if (program := shutil.which(name))), None)
        browser = driver.chromium.launch(executable_path=path, args=SWITCHES)
        print(f"Chromium {browser.version}")
        rows = [measured(item.model, item.made(), browser) for item in LIVE]
        browser.close()
    cells = [[item if isinstance(item, str) else f"{item:.3g}" for item in astuple(row)] for row in rows]
    print("\n".join(markdown(COLUMNS, cells)))


if __name__ == "__main__":
    main()
