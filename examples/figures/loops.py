"""Figure: a loop as a tree with a cut joint, and the two poses in which it closes, which a guess chooses."""

from matplotlib.figure import Figure

import mbfmu
from examples.figures.solids import paint
from examples.figures.style import BLUE, GREY, ORANGE, PALE, arrow, blank, box, panels
from mbfmu.show.viewer.motion import motion_of_model

MODEL = "slider_crank"
PHI = 0.9
"""Start value of crank.phi, rad."""
GUESSES = (-1.3, -3.6)
"""Guesses of rod.phi, rad."""
BOXES = {"world": (0.0, 0.0), "link1": (0.0, 1.4), "link2": (2.2, 1.4), "block": (2.2, 0.0)}
ON_TREE = {"crank": ("world", "link1"), "rod": ("link1", "link2"), "slider": ("world", "block")}
CUT = {"pin": ("link2", "block")}
"""Joints and the bodies that they connect."""


def draw() -> Figure:
    """Return the figure."""
    figure, (tree, *poses) = panels(1, 3, (9.4, 2.7), gridspec_kw={"width_ratios": (1, 1.2, 1.2)})
    blank(tree, (-0.7, 3.2), (-0.6, 2.0))
    for joints, colour in ((ON_TREE, BLUE), (CUT, ORANGE)):
        for name, (near, far) in joints.items():
            (x0, y0), (x1, y1) = BOXES[near], BOXES[far]
            arrow(tree, (x0, y0), (x1, y1), colour, head="-" if joints is CUT else "-|>")
            beside = (0.1, 0.0) if x0 == x1 else (0.0, 0.12)
            side = "left" if x0 == x1 else "center"
            tree.text(
                (x0 + x1) / 2 + beside[0], (y0 + y1) / 2 + beside[1], name, color=colour, ha=side, family="monospace"
            )
    for name, at in BOXES.items():
        box(tree, at, (1.1, 0.5), name, mono=True, colour="#ffffff" if name == "world" else PALE)
    tree.plot([2.05, 2.35], [0.62, 0.78], color=ORANGE, linewidth=2)
    tree.set_title("tree; the joint pin is cut")
    for sheet, guess in zip(poses, GUESSES, strict=True):
        model = mbfmu.load(MODEL, {"crank.phi": PHI, "rod.phi": f"guess({guess})"})
        motion = motion_of_model(model, 0.01)
        blank(sheet, (-1.7, 2.8), (-0.5, 1.2))
        paint(sheet, motion, bold=1.5)
        s = motion.result["slider.s"][0]
        sheet.set_title(f"rod.phi = guess({guess}): slider.s = {s:.2f} m", family="monospace", size=8)
        sheet.plot([-1.7, 2.8], [0, 0], color=GREY, linewidth=0.7, linestyle=":", zorder=0)
    figure.tight_layout()
    return figure
