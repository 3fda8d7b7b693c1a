"""The coupled examples: two FMUs against one system, actuators that hold what they should."""

import json
from pathlib import Path

import numpy as np

from examples.coupled import manipulator

SOURCE = Path(__file__).parent / "references" / "hydraulic_manipulator.json"
REFERENCE = json.loads(SOURCE.read_text(encoding="utf-8"))


def test_the_manipulator_as_one_system_is_the_reference() -> None:
    rows = np.array(REFERENCE["M1"])
    times, found = manipulator.monolithic(0.1)
    np.testing.assert_allclose(times, rows[:, 0], atol=1e-12)
    np.testing.assert_allclose(found["arm.length.distance"], rows[:, 1], atol=1e-9)
    np.testing.assert_allclose(found["arm.length.distance_rate"], rows[:, 2], atol=1e-8)
    for column, name in ((3, "oil.p1"), (4, "oil.p2")):
        np.testing.assert_allclose(found[name], rows[:, column], atol=0.1)


def test_mechanics_and_oil_as_two_fmus_keep_the_cylinders_length_within_a_micrometre() -> None:
    found = manipulator.main()
    assert found["length"] < 1e-6
    assert found["length, done once"] < 3e-6
    assert found["length, inputs held"] > 1e-5
    assert found["lift"] > 0.09
