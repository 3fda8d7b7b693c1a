"""An arm that swings up from rest to rest with the least effort: torques over time, found with exact gradients.

Run: python -m examples.swing [--plot FILE]
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mbfmu
from examples.report import Curves, Found, Panel, Row, present
from mbfmu.analysis.optimize import Optimum

MODEL = "two_link"
STOP, STEP, INTERVAL = 1.0, 0.01, 0.02
"""s; the effort counts at the output points."""
HANGING = {"shoulder.phi": -np.pi / 2}
ENDS = {"shoulder.phi": np.pi / 2, "elbow.phi": 0.0, "shoulder.w": 0.0, "elbow.w": 0.0}
"""rad and rad/s, upright and at rest."""
TORQUES = ("shoulder.tau", "elbow.tau")
LIMITS = (-60.0, 60.0)
"""N.m, of each torque; they keep the search from runs that are far off."""
KNOTS = (6, 12, 24)
"""Values of each torque."""


def swing(knots: int) -> Optimum:
    """Return the least effort with a number of knots."""
    return mbfmu.optimize(
        mbfmu.load(MODEL), STOP, " + ".join(f"rms({name})**2" for name in TORQUES),
        knots=dict.fromkeys(TORQUES, knots), subject=[f"last({name}) = {value}" for name, value in ENDS.items()],
        bounds=dict.fromkeys(TORQUES, LIMITS), values=HANGING, step=STEP, output_interval=INTERVAL,
    )  # fmt: skip


def run() -> Found:
    """Find the torques with more and more knots, and run the arm with the last ones."""
    numbers: dict[str, float] = {}
    for knots in KNOTS:
        found = swing(knots)
        numbers |= {f"effort, {knots}": found.least**0.5, f"runs, {knots}": float(found.runs)}
    how: dict[str, Any] = {"values": HANGING, "output_interval": INTERVAL}
    with tempfile.TemporaryDirectory() as folder:
        table = str(found.write_inputs(Path(folder) / "torques.csv"))
        driven = dict.fromkeys(TORQUES, table)
        motion = mbfmu.simulate(mbfmu.load(MODEL), STOP, inputs=driven, step=STEP, **how)
        fine = mbfmu.simulate(mbfmu.load(MODEL), STOP, inputs=driven, step=STEP / 10, **how)
    for name, result in {"run again": motion, "tenth of the step": fine}.items():
        numbers[name] = max(abs(float(result[key][-1]) - value) for key, value in ENDS.items())
    angles: Curves = {name: (motion.time, np.degrees(motion[f"{name}.phi"])) for name in ("shoulder", "elbow")}
    torques: Curves = {name.partition(".")[0]: (item.time, item.values) for name, item in found.trajectories.items()}
    path: Curves = {}
    for k, label in ((1, "elbow's path"), (2, "tip's path")):
        places = [motion[f"link{k}.frame_b.r_0[{axis}]"] for axis in (1, 2)]
        path[label] = places[0], places[1]
    panels = (
        Panel("torques", "t [s]", "torque [N.m]", torques),
        Panel("angles", "t [s]", "angle [°]", angles, legend=""),
        Panel("in the plane", "x [m]", "y [m]", path, equal=True),
    )
    return Found(numbers, panels, columns=3)


def main() -> dict[str, float]:
    """Return efforts (N.m), numbers of runs, and the largest differences from the wanted end (rad, rad/s)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        *(
            (
                f"least effort with {knots} values a torque",
                "-",
                f"{found[f'effort, {knots}']:.3f} N.m, {found[f'runs, {knots}']:.0f} runs",
            )
            for knots in KNOTS
        ),
        ("away from the end, run again", "round-off", f"{found['run again']:.0e}"),
        ("away from the end with a tenth of the step", "-", f"{found['tenth of the step']:.0e}"),
    ]


if __name__ == "__main__":
    present("An arm that swings up in 1 s", run, rows, "expected")
