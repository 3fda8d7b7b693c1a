"""Figure: frames of a body and of a joint, with the vectors and the angle by which a model states them."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Arc

from examples.figures.solids import paint
from examples.figures.style import BLUE, GREEN, GREY, ORANGE, arrow, blank, panels
from mbfmu.model import BodyShape, Revolute, System, World, connect
from mbfmu.show.viewer.motion import motion_of_model

PHI = 0.6
BODY = BodyShape("link", m=1.0, r=(1.6, 0.0), r_CM=(0.9, 0.25), I_33=0.1)
ONE = System(
    name="one",
    planar=True,
    components=(World(g=0.0), Revolute("joint", phi=PHI), BODY),
    connections=(connect("world.frame_b", "joint.frame_a"), connect("joint.frame_b", "link.frame_a")),
)


def draw() -> Figure:
    """Return the figure."""
    motion = motion_of_model(ONE, 0.01)
    figure, (sheet,) = panels(1, 1, (6.0, 3.2))
    blank(sheet, (-1.15, 2.4), (-0.4, 1.5))
    paint(sheet, motion, alpha=0.35)
    origin, end, mass = (motion.track("link", np.array(point))[0] for point in ((0.0, 0.0), (1.6, 0.0), (0.9, 0.25)))
    R = motion.R[0, 0]
    for at, turn, colour in ((origin, np.eye(2), GREY), (origin, R, BLUE), (end, R, BLUE)):
        for axis, name in zip(turn.T, "xy", strict=True):
            arrow(sheet, at, at + 0.52 * axis, colour)
            sheet.text(
                at[0] + 0.6 * axis[0],
                at[1] + 0.6 * axis[1],
                name,
                color=colour,
                ha="center",
                va="center",
                style="italic",
            )
    for point, name, beside in ((end, "r", (0.1, -0.16)), (mass, "r_CM", (-0.28, 0.06))):
        arrow(sheet, origin, point, ORANGE)
        x, y = origin + 0.72 * (point - origin) + beside
        sheet.text(x, y, name, color=ORANGE, family="monospace")
    sheet.plot(*mass, "o", color=ORANGE, markersize=5)
    sheet.add_patch(Arc((0, 0), 1.5, 1.5, theta1=0, theta2=np.degrees(PHI), color=GREEN, linewidth=1.3))
    sheet.plot([0, 1.05], [0, 0], color=GREY, linewidth=0.8, linestyle=":")
    sheet.text(0.8, 0.2, "phi > 0", color=GREEN, family="monospace")
    for at, text, anchor in (
        ((0.14, -0.14), "world.frame_b = joint.frame_a", "left"),
        ((-0.4, 0.3), "joint.frame_b =\nlink.frame_a", "right"),
        ((end[0] + 0.1, end[1] - 0.12), "link.frame_b", "left"),
    ):
        sheet.text(at[0], at[1], text, color=GREY if "world" in text else BLUE, family="monospace", size=8, ha=anchor)
    return figure
