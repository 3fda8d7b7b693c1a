"""Modelica's library: its examples move as Dymola says, by names that are short at their place in it."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import mbfmu

FOLDER = Path(__file__).parent
RESULTS = json.loads((FOLDER / "references" / "modelica_library.json").read_text(encoding="utf-8"))["results"]
ACCURACY = 1e-5
"""Accuracy of the reference results in the first second: ten times the relative tolerance that they were made with."""


@pytest.mark.parametrize("example", RESULTS)
def test_the_examples_of_the_library_move_as_dymola_says(example: str) -> None:
    columns, rows = RESULTS[example]["columns"], np.array(RESULTS[example]["rows"])
    path = FOLDER / "modelica" / "library.mo"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = mbfmu.load(f"{path}:Mechanisms.{example.partition('/')[2]}")
    found = mbfmu.simulate(system, rows[-1, 0], step=0.01, tolerance=1e-8)
    called = {"j1.phi": "j1_phi"}
    for number, column in enumerate(columns, 1):
        name = called.get(column, column.replace("body.body.", "body.").replace("frame_a.", ""))
        ours = np.interp(rows[:, 0], found["time"], found[name])
        np.testing.assert_allclose(ours, rows[:, number], rtol=ACCURACY, atol=ACCURACY, err_msg=column)
