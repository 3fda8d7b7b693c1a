"""A toy woodpecker that pecks its way down a pole, and a slider that rattles in its guide: events against references.

Run: python -m examples.hits [--plot FILE]
"""

from collections.abc import Sequence

import numpy as np

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, present

STOP, STEP = 0.5, 2.5e-4
"""s; of the woodpecker."""
PERIOD, DESCENT = 0.14597606514375183, 0.019445379284716527
"""s and m, of its limit cycle, from where it begins to slip; computed with 30 digits from event to event."""
CYCLE = {"y": 0.0, "v": 0.0, "omega_M": 0.0, "phi_S": -0.20513534924352575, "omega_S": 17.57466620557608}
"""A state of the cycle: the sleeve is about to slip."""
CRANK_STOP, CRANK_STEP = 0.1, 1e-4
"""s; of the slider-crank."""
CORNERS = ("rear_top", "front_top", "rear_bottom", "front_bottom")
OPTIONS = {"order": 8}


def peck() -> tuple[dict[str, float], tuple[Panel, Panel]]:
    """Run the woodpecker from its published start, and once around its limit cycle."""
    how = {"stepper": "projected", "options": OPTIONS, "step": STEP}
    run = mbfmu.simulate(mbfmu.load("woodpecker"), STOP, output_interval=STEP, **how)
    once = mbfmu.Simulation(mbfmu.load("woodpecker"), values=CYCLE, **how)
    once.step({}, PERIOD + 1e-9)
    found = {
        "events": run["events.count"][-1],
        "period": once["events.time"],
        "descent": -once["y"],
        "sticks": float(np.mean(run["lower.sticks"])),
    }
    t, ms = run.time, 1e3
    sticking: Array = np.where(run["lower.sticks"] > 0, run["y"] * ms, np.nan)
    height: Curves = {"sleeve": (t, run["y"] * ms), "sleeve sticks": (t, sticking)}
    angles: Curves = {"bird": (t, run["phi_S"]), "sleeve": (t, run["phi_M"])}
    return found, (
        Panel("woodpecker, its way down", "t [s]", "height [mm]", height),
        Panel("woodpecker, angles", "t [s]", "angle [rad]", angles, legend="lower right"),
    )


def rattle() -> tuple[dict[str, float], tuple[Panel, Panel]]:
    """Run the slider-crank with play, whose corners hit two at a time, and from a start a little tilted."""
    how = {"stepper": "projected", "options": OPTIONS, "step": CRANK_STEP, "output_interval": CRANK_STEP}
    run = mbfmu.simulate(mbfmu.load("slider_crank_clearance"), CRANK_STOP, **how)
    t, mm = run.time, 1e3
    least = min(run[f"{corner}.gap"].min() for corner in CORNERS)
    found = {
        "impacts": sum(run[f"{corner}.impacts"][-1] for corner in CORNERS),
        "penetration": max(0.0, -float(least)),
        "th3": float(np.abs(run["th3"]).max()),
        "gain": float(np.diff(run["energy.total"]).max()),
    }
    # with th3 = 0 the two gaps of a face are equal, and both faces are c = 1 mm from the middle
    place: Curves = {"slider": (t, (run["rear_bottom.gap"] - run["rear_top.gap"]) / 2 * mm)}
    energy: Curves = {"slider": (t, run["energy.total"])}
    return found, (
        Panel("slider in its guide, play 1 mm", "t [s]", "height [mm]", place),
        Panel("slider-crank, energy", "t [s]", "energy [J]", energy),
    )


def run() -> Found:
    """Run both."""
    pecked, bird = peck()
    rattled, slider = rattle()
    return Found(pecked | rattled, (*bird, *slider), columns=2)


def main() -> dict[str, float]:
    """Return what was counted and measured."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        ("woodpecker, 0.5 s: events", "-", f"{found['events']:.0f}"),
        ("woodpecker: part of the time that the sleeve sticks", "-", f"{found['sticks']:.3f}"),
        ("woodpecker: period of the limit cycle", f"{PERIOD:.10f} s", f"{found['period']:.10f} s"),
        ("woodpecker: descent in a period", f"{DESCENT * 1e3:.7f} mm", f"{found['descent'] * 1e3:.7f} mm"),
        ("slider with play, 0.1 s: impacts of corners", "-", f"{found['impacts']:.0f}"),
        ("slider with play: deepest a corner sinks", "round-off", f"{found['penetration']:.0e} m"),
        ("slider with play: its angle, which symmetry keeps", "0", f"{found['th3']:.0e} rad"),
        ("slider with play: largest gain of energy in 0.1 ms", "round-off", f"{found['gain']:.0e} J"),
    ]


if __name__ == "__main__":
    present("Things that hit, stick and stop", run, rows, "reference")
