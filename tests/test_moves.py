"""Motions given from outside: an axis follows its inputs, and tells the effort that takes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mechanisms import slider_crank

import mbfmu
from mbfmu.model import (
    Body,
    BodyShape,
    Prismatic,
    Revolute,
    RotationalMove,
    System,
    TranslationalMove,
    World,
    connect,
)

G, H = 9.81, 0.01
WAVE = {
    "drive.phi": lambda t: 0.5 * np.sin(2 * t),
    "drive.w": lambda t: np.cos(2 * t),
    "drive.a": lambda t: -2 * np.sin(2 * t),
}
JERK = 4.0
"""Largest third derivative of the wave, rad/s3."""
STEPPERS = ("rattle", "projected", "radau", "generalized_alpha", "local", "lobatto")
"""Those that hold the constraints: others drift off a motion that is given anew at every communication point."""


def swing() -> System:
    """A rod on a driven hinge."""
    return System(
        name="swing",
        planar=True,
        components=(
            World(g=G),
            Revolute("hinge"),
            BodyShape("rod", m=1.0, r=(1, 0), r_CM=(0.5, 0), I_33=1 / 12),
            RotationalMove("drive", joint="hinge"),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
    )


def moved(**choices: Any) -> mbfmu.Result:
    return mbfmu.simulate(swing(), 2.0, step=H, output_interval=H, inputs=WAVE, **choices)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
@pytest.mark.parametrize("stepper", STEPPERS)
def test_an_axis_follows_its_inputs_and_tells_the_torque(stepper: str, coordinates: str) -> None:
    """Between two steps the motion is a parabola: off by jerk H^3/6 in angle, jerk H^2/2 in rate."""
    run = moved(stepper=stepper, coordinates=coordinates)
    t = run.time
    assert np.abs(run["hinge.phi"] - WAVE["drive.phi"](t)).max() == pytest.approx(JERK * H**3 / 6, rel=0.2)
    assert np.abs(run["hinge.w"] - WAVE["drive.w"](t)).max() == pytest.approx(JERK * H**2 / 2, rel=0.2)
    torque = WAVE["drive.a"](t) / 3 + G / 2 * np.cos(WAVE["drive.phi"](t))
    assert np.abs(run["drive.tau"] - torque)[1:].max() < 1.1 * JERK * H / 3
    assert run["constraint.position"].max() < 1e-12


def test_inputs_that_stay_as_they_are_go_on_along_the_same_parabola() -> None:
    held = {"drive.phi": "0.1", "drive.w": "0.2", "drive.a": "0.3"}
    run = mbfmu.simulate(swing(), 1.0, output_interval=H, inputs=held)
    t = run.time
    np.testing.assert_allclose(run["hinge.phi"], 0.1 + 0.2 * t + 0.15 * t**2, atol=1e-12)
    assert run["constraint.velocity"].max() < 1e-12


def test_a_driven_slider_pushes_a_loop() -> None:
    loop = slider_crank()
    driven = System(
        "driven", (*loop.components, TranslationalMove("push", joint="slider")), loop.connections, loop.parameters,
        planar=True,
    )  # fmt: skip
    start = mbfmu.simulate(loop, 0.01, output_interval=0.01)["slider.s"][0].item()
    inputs = {"push.s": f"{start!r} - 0.1*(1 - cos(time))", "push.v": "-0.1*sin(time)", "push.a": "-0.1*cos(time)"}
    run = mbfmu.simulate(driven.with_values({"crank.phi": 0.7}), 1.0, output_interval=0.005, inputs=inputs)
    np.testing.assert_allclose(run["slider.s"], start - 0.1 * (1 - np.cos(run.time)), atol=1e-7)
    power = run["push.f"] * run["slider.v"]
    work = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2) * 0.005])
    assert np.abs(run["energy.total"] - run["energy.total"][0] - work).max() < 2e-3


def test_an_fmu_takes_its_motion_from_inputs(tmp_path: Path) -> None:
    path = mbfmu.export(swing(), tmp_path / "swing.fmu", step=H)
    assert not mbfmu.check(path)
    inside = mbfmu.simulate(path, 2.0, output_interval=H, inputs=WAVE)
    assert np.abs(inside["hinge.phi"] - moved()["hinge.phi"]).max() < 1e-12


def test_a_moved_carriage_shakes_what_hangs_on_it() -> None:
    """The same as a constraint that depends on time: a prescribed motion by formula."""
    system = System(
        name="shaken",
        planar=True,
        components=(
            World(g=G),
            Prismatic("guide"),
            Body("cart", m=1.0, I_33=0.1),
            Revolute("hinge", phi=-1.2, w=0.0),
            BodyShape("rod", m=1.0, r=(1, 0), r_CM=(0.5, 0), I_33=1 / 12),
            TranslationalMove("shake", joint="guide"),
        ),
        connections=(
            connect("world.frame_b", "guide.frame_a"),
            connect("guide.frame_b", "cart.frame_a"),
            connect("cart.frame_a", "hinge.frame_a"),
            connect("hinge.frame_b", "rod.frame_a"),
        ),
    )
    inputs = {"shake.s": "0.2*sin(3*time)", "shake.v": "0.6*cos(3*time)", "shake.a": "-1.8*sin(3*time)"}
    run = mbfmu.simulate(system, 2.0, output_interval=1e-3, inputs=inputs)
    same = mbfmu.simulate(mbfmu.load("driven_pendulum"), 2.0, output_interval=1e-3)
    assert np.abs(run["hinge.phi"] - same["hinge.phi"]).max() < 5e-6
