"""Stiff forces: a spring far faster than the step, on the two-link arm."""

from typing import Any

import numpy as np
import pytest
from harness import thorough

import mbfmu
from mbfmu.errors import StepError
from mbfmu.model import RotationalSpring, System

REST, OFF = 0.3, 1e-3
"""rad: the spring's rest angle, and how far from it the elbow starts."""


@pytest.fixture(scope="module")
def stiff() -> System:
    """The arm with a spring of 1e7 N.m/rad at its elbow: a period of about 1 ms."""
    arm = mbfmu.load("two_link")
    assert isinstance(arm, System)
    spring = RotationalSpring("spring", joint="elbow", c=1e7, phi_rel0=REST)
    return System("stiff", (*arm.components, spring), arm.connections, arm.parameters, planar=True).with_values(
        {"elbow.phi": REST + OFF}
    )


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
@pytest.mark.parametrize(
    "coordinates", thorough(zip(["absolute", "joint"]), lambda coordinates: coordinates == "joint")
)
@pytest.mark.parametrize(
    ("stepper", "options"),
    [
        ("radau", {}),
        ("radau", {"stages": 2}),
        ("local", {"iteration": "newton"}),
        ("generalized_alpha", {}),
        ("generalized_alpha", {"index": 3}),
    ],
)
def test_steppers_for_stiff_forces_step_over_a_fast_spring_and_its_lost_energy_is_told(
    stiff: System, stepper: str, options: dict[str, Any], coordinates: str
) -> None:
    ways: dict[str, Any] = {"stepper": stepper, "options": options, "coordinates": coordinates, "error_samples": 0}
    run = mbfmu.simulate(stiff, 1.0, step=0.01, **ways)
    assert bool(run.notices) == (np.ptp(run["energy.total"]) > 0.02 * np.ptp(run["energy.potential"]))
    assert np.abs(run["elbow.phi"] - REST).max() < 1.1 * OFF
    assert run["constraint.position"].max() < 1e-14


@pytest.mark.parametrize(
    "coordinates", thorough(zip(["absolute", "joint"]), lambda coordinates: coordinates == "joint")
)
@pytest.mark.parametrize("stepper", ["direct", "projected", "rattle", "local"])
def test_other_steppers_fail_and_name_one_for_stiff_forces(stiff: System, stepper: str, coordinates: str) -> None:
    with pytest.raises(StepError, match="for stiff forces") as caught:
        mbfmu.simulate(stiff, 1.0, stepper=stepper, step=0.01, coordinates=coordinates)
    assert "radau" in str(caught.value)
