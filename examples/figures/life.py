"""Figure: the states of an FMU for co-simulation, the calls between them, and what may be set and read in each."""

from matplotlib.figure import Figure

from examples.figures.style import GREEN, GREY, ORANGE, arrow, blank, box, panels

STATES = (
    ("instantiated", "set: parameters,\nstart values, inputs", "read: nothing"),
    ("initialization", "set: the same", "read: all variables;\nthe start is consistent"),
    ("step mode", "set: inputs,\ntunable parameters", "read: all variables"),
    ("terminated", "set: nothing", "read: last values"),
)
CALLS = ("EnterInitializationMode", "ExitInitializationMode", "Terminate")
PITCH = 3.1


def draw() -> Figure:
    """Return the figure."""
    figure, (sheet,) = panels(1, 1, (9.2, 2.9))
    blank(sheet, (-1.2, 3 * PITCH + 1.2), (-1.9, 1.6))
    for index, (name, may_set, may_read) in enumerate(STATES):
        x = index * PITCH
        box(sheet, (x, 0.0), (1.75, 0.6), name)
        sheet.text(x, -0.5, may_set, ha="center", va="top", size=8, color=ORANGE)
        sheet.text(x, -1.05, may_read, ha="center", va="top", size=8, color=GREEN)
        if index < len(CALLS):
            arrow(sheet, (x + 0.9, 0.0), (x + PITCH - 0.9, 0.0))
            sheet.text(
                x + PITCH / 2,
                0.1,
                CALLS[index].replace("Init", "\nInit").replace("Mode", "\nMode"),
                ha="center",
                size=7,
            )
    x = 2 * PITCH
    arrow(sheet, (x + 0.35, 0.32), (x - 0.35, 0.32), bend=1.6)
    sheet.text(x, 1.1, "DoStep: set inputs, step, read outputs", ha="center", size=8)
    arrow(sheet, (x - 0.6, 0.32), (0.4, 0.32), GREY, bend=0.18)
    sheet.text(PITCH * 0.75, 1.0, "Reset (from any state)", ha="center", size=8, color=GREY)
    figure.tight_layout()
    return figure
