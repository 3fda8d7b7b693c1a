"""Figure: a controller around an FMU: what is wired to which port, and when values are exchanged."""

from matplotlib.figure import Figure

from examples.figures.style import BLUE, GREY, ORANGE, PALE, arrow, blank, box, panels

INPUTS = ("shoulder.tau", "elbow.tau")
OUTPUTS = ("shoulder.phi", "shoulder.w", "elbow.phi", "elbow.w")
"""Ports of models/two_link.py."""


def draw() -> Figure:
    """Return the figure."""
    figure, (sheet,) = panels(1, 1, (8.6, 3.0))
    blank(sheet, (-1.6, 10.2), (-2.3, 1.75))
    arrow(sheet, (-1.4, 0.0), (-0.2, 0.0))
    sheet.text(-0.8, 0.1, "reference", ha="center", size=8)
    box(sheet, (1.0, 0.0), (2.3, 1.2), "controller\nsample time T")
    box(sheet, (6.4, 0.0), (3.4, 2.6), "", PALE)
    sheet.text(6.4, 1.42, "FMU block: two_link.fmu", ha="center", family="monospace", size=8)
    sheet.text(6.4, -0.15, "communication step H = T\ninternal steps:\nsolver.step", ha="center", va="center", size=8)
    for name, y in zip(INPUTS, (0.5, -0.3), strict=True):
        arrow(sheet, (2.2, y), (4.65, y), ORANGE)
        sheet.text(4.5, y + 0.1, name, ha="right", family="monospace", size=7.5, color=ORANGE)
    for name, y in zip(OUTPUTS, (1.0, 0.35, -0.3, -0.95), strict=True):
        arrow(sheet, (8.1, y), (9.6, y), BLUE)
        sheet.text(8.2, y + 0.1, name, family="monospace", size=7.5, color=BLUE)
    sheet.plot([9.6, 9.6, 1.0], [1.0, -1.9, -1.9], color=BLUE, linewidth=1.3)
    arrow(sheet, (1.0, -1.9), (1.0, -0.62), BLUE)
    sheet.text(5.3, -1.8, "angles and velocities at the last communication point", ha="center", size=8, color=BLUE)
    sheet.text(3.4, 0.95, "torques, held over H", ha="center", size=8, color=GREY)
    return figure
