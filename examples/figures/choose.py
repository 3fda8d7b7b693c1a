"""Figure: a flow chart that chooses a stepper, beside error and time of several on a slider-crank."""

from matplotlib.figure import Figure

import mbfmu
from examples.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, arrow, blank, box, panels

MODEL = "slider_crank"
STOP = 2.0
STEPPERS = {"rattle": BLUE, "projected": ORANGE, "gauss": GREEN, "radau": PURPLE}
STEPS = (0.01, 0.005, 0.002, 0.001)
"""s"""
QUESTIONS = (
    ("Many contacts at once?", "moreau"),
    ("Stiff forces: oil, bushings,\ncontact springs, steep friction?", "radau"),
    ("Other contacts, or wheels\nand blades that do not slip?", "projected"),
    ("Hours of simulated time,\nlittle damping?", "lobatto or gauss"),
    ("Accuracy at least cost?", "projected order=8"),
)
"""What the page on steppers advises, in the order of its importance."""
DEFAULT = "Use the default."


def draw() -> Figure:
    """Return the figure."""
    figure, (chart, plot) = panels(1, 2, (9.8, 3.9), gridspec_kw={"width_ratios": (1.5, 1)})
    blank(chart, (-2.0, 5.1), (-5.6, 0.6))
    for index, (question, answer) in enumerate(QUESTIONS):
        y = -float(index)
        box(chart, (0.0, y), (3.7, 0.74), question, text_size=8)
        box(chart, (3.85, y), (2.4, 0.5), answer, "#ffffff", mono=True, text_size=8)
        arrow(chart, (1.85, y), (2.65, y), GREY)
        chart.text(2.22, y + 0.08, "yes", size=8, ha="center")
        arrow(chart, (0.0, y - 0.36), (0.0, y - 0.64), GREY)
        chart.text(0.08, y - 0.55, "no", size=8)
    box(chart, (0.0, -5.0), (3.7, 0.5), DEFAULT, "#ffffff", text_size=8)
    found = mbfmu.compare(MODEL, STOP, steppers=tuple(STEPPERS), steps=STEPS)
    for stepper, colour in STEPPERS.items():
        rows = [row for row in found.rows if row.stepper == stepper]
        plot.loglog([row.ms for row in rows], [row.relative for row in rows], "o-", color=colour, label=stepper)
    plot.set(xlabel="computing time of a run of 2 s [ms]", ylabel="largest error / range")
    plot.legend()
    figure.tight_layout()
    return figure
