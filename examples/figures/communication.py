"""Figure: a communication step, its internal steps, and an input that is held or extrapolated between exchanges."""

import numpy as np
from matplotlib.figure import Figure

from examples.figures.style import BLUE, GREEN, GREY, INK, ORANGE, arrow, panels

H, INTERNAL = 0.5, 5
"""Communication step, s, and the number of internal steps in each."""
END = 3.0


def signal(time: np.ndarray) -> np.ndarray:
    """Return what another FMU computes."""
    return np.sin(1.6 * time) + 0.15 * time


def draw() -> Figure:
    """Return the figure."""
    exchange = np.arange(0.0, END + H / 2, H)
    time = np.linspace(0.0, END, 601)
    last = np.minimum((time / H + 1e-9).astype(int), len(exchange) - 2)
    values = signal(exchange)
    slope = (values - signal(exchange - H))[last] / H
    figure, (sheet,) = panels(1, 1, (7.6, 3.2))
    sheet.plot(time, signal(time), color=INK, label="signal of the other FMU")
    sheet.plot(exchange, values, "o", color=INK, markersize=4)
    sheet.step(exchange, values, where="post", color=BLUE, label="held: late by H/2 on average")
    sheet.plot(time, signal(time - H / 2), color=BLUE, linestyle=":", label="signal H/2 earlier")
    broken = np.where(
        np.abs(time / H - np.round(time / H)) < 2e-3, np.nan, values[last] + slope * (time - exchange[last])
    )
    sheet.plot(time, broken, color=ORANGE, label="linear extrapolation")
    low = -1.0
    for instant in exchange:
        sheet.plot([instant, instant], [low - 0.12, low + 0.12], color=INK)
    for instant in np.arange(0.0, END + 1e-9, H / INTERNAL):
        sheet.plot([instant, instant], [low - 0.05, low + 0.05], color=GREEN)
    sheet.plot([0, END], [low, low], color=GREY, linewidth=0.8)
    arrow(sheet, (H, low + 0.25), (2 * H, low + 0.25), head="<|-|>", width=1.0)
    sheet.text(1.5 * H, low + 0.3, "H", ha="center")
    sheet.text(2 * H + 0.05, low + 0.17, "internal steps of the FMU", color=GREEN, size=8)
    sheet.set(xlabel="time [s]", ylabel="input", xticks=exchange, ylim=(low - 0.2, 2.3))
    sheet.legend(loc="upper right", ncol=2, fontsize=8)
    figure.tight_layout()
    return figure
