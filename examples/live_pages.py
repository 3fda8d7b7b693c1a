"""The live pages of the gallery: machines that compute in the browser.

Run: python -m examples.live_pages FOLDER (writes six pages there; needs the extras `view` and `cross`)
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import mbfmu
from mbfmu.show.viewer import Page


@dataclass(frozen=True)
class LivePage:
    """A page of the gallery.

    Args:
        model: the model, by its name.
        show: names of its curves, or patterns; empty: a selection.
        inputs: values or expressions of time, by the names of inputs.
        display: units of its curves and fields.
        pull: bodies that the pointer pulls.
    """

    model: str
    show: tuple[str, ...] = ()
    inputs: dict[str, float | str] = field(default_factory=dict)
    display: tuple[str, ...] = ()
    pull: tuple[str, ...] = ()

    def made(self) -> Page:
        """Return the page."""
        return mbfmu.view(
            self.model, 2.0, live=True, show=self.show, inputs=self.inputs, display=self.display, pull=self.pull
        )


LIVE = (
    LivePage(
        "crane",
        ("boom.phi", "jib.phi", "lift.f", "tilt.f"),
        {"lift.f": "26752 + 300*sin(2*time)", "tilt.f": -13823},  # these forces hold it at rest
        ("deg", "kN"),
    ),
    LivePage("excavator", display=("deg", "bar")),
    LivePage("woodpecker"),
    LivePage("car", inputs={"steer": "0.6*sin(1.5*time)"}),
    LivePage("gripper", inputs={"lift.f": "58.86 + 2*cos(2*time) - 0.6*exp(-time)"}),
    LivePage("two_link", pull=("link2",)),
)
"""The six pages."""


def main(folder: Path) -> None:
    """Write the pages; say how large each is."""
    folder.mkdir(parents=True, exist_ok=True)
    for item in LIVE:
        path = item.made().write(folder / f"{item.model}.html")
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
