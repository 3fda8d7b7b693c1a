"""Absurd results are reported even where no energy can tell, by runs and by FMUs of both back ends."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import mbfmu
from mbfmu.model import (
    AxisMotion,
    Block,
    Body,
    Contact,
    Coordinate,
    Defined,
    LagrangianSystem,
    Revolute,
    State,
    System,
    World,
    connect,
)

compiler = pytest.mark.skipif(os.name == "nt" or not shutil.which("gcc"), reason="there is no C compiler")


def spool() -> Block:
    """Return a state that decays by 1000/s from 0.5 s on, beyond the limit of an explicit step of 4 ms."""
    return Block(
        "spool", states=(State("y", "-1000*y*(time > 0.5)", "1", 1.0),), defined=(Defined("out", "y", output=True),)
    )


def rotor(w: float) -> System:
    """Return a rotor that is driven at a constant speed, rad/s."""
    return System(
        "rotor",
        planar=True,
        components=(
            World(g=0.0), Revolute("axle"), Body("disk", m=1.0, I_33=1.0), AxisMotion("drive", "axle", f"{w}*time"),
        ),
        connections=(connect("world.frame_b", "axle.frame_a"), connect("axle.frame_b", "disk.frame_a")),
    )  # fmt: skip


def growing(rate: float) -> Block:
    """Return a state that grows by a rate, 1/s, from 1."""
    return Block("growing", states=(State("y", f"{rate}*y", "1", 1.0),), defined=(Defined("out", "y", output=True),))


def notices(model: Any, stop: float, **how: Any) -> str:
    """Return the notices of a run."""
    return "\n".join(mbfmu.simulate(model, stop, **how).notices)


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_a_step_that_does_not_resolve_the_motion_is_reported() -> None:
    """The block falls over and ends below the ground, where its corners allow it: nearly all steps end at events."""
    for text in (notices("rocking_block", 10.0, step=2.0), notices(growing(30.0), 0.5, stepper="projected", step=0.1)):
        assert "estimated error of" in text
        assert "take a smaller step" in text


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_a_body_behind_its_contact_is_reported() -> None:
    """A gap that has fallen below zero is not a state; the explicit stepper without projection drifts through it."""
    ball = LagrangianSystem(
        "ball", (Coordinate("y", "m", 1.0, 0.0),), "der(y)**2/2", "9.81*y",
        contacts=(Contact("ground", gap="y", sliding="", restitution=0.5),),
    )  # fmt: skip
    assert not notices(ball, 2.0)
    assert "right.gap = -" in (text := notices("rocking_block", 2.0, stepper="direct", step=2.0))
    assert "is below 0: the steps have led through the contact" in text


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_what_is_large_by_the_motion_itself_is_reported_only_if_it_is_hopeless() -> None:
    assert not notices(rotor(2e4), 1.0)
    assert not notices(growing(10.0), 2.0)  # to 5e8
    assert "times its typical size; check inputs and parameters" in notices(growing(20.0), 2.0)  # to 2e17


def test_steps_that_are_chosen_well_are_not_reported() -> None:
    assert not notices(growing(30.0), 0.5, stepper="projected", step=0.1, tolerance=1e-6)


@compiler
@pytest.mark.parametrize(("backend", "fmi"), [("native", "2.0"), ("native", "3.0"), ("python", "2.0")])
@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_every_kind_of_fmu_reports_an_error_and_a_state_far_beyond_its_size_once(
    backend: str, fmi: str, tmp_path: Path
) -> None:
    """The error is judged after 100 steps and after a tenth more each time; a step from 0.5 s on multiplies by 5."""
    path, how = tmp_path / "spool.fmu", {"stepper": "projected", "step": 4e-3}
    mbfmu.export(spool(), path, backend=backend, fmi=fmi, platforms=["linux64"], **how)
    error, size = notices(path, 0.6, output_interval=4e-3).splitlines()
    assert re.fullmatch(
        r"spool: the steps leave y with an estimated error of more than its range, most of it from t = 0.5\d* s; "
        r"take a smaller solver.step, or set solver.tolerance \(said once, at t = 0.5\d+ s\)",
        error,
    )
    assert re.fullmatch(
        r"spool: y = \S+ is \S+ times its typical size; check inputs and parameters, or take other steps "
        r"\(said once, at t = 0.5\d+ s\)",
        size,
    )


@compiler
@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_an_fmu_reports_the_error_of_a_few_steps_when_it_ends(tmp_path: Path) -> None:
    mbfmu.export(growing(30.0), tmp_path / "f.fmu", stepper="projected", step=0.1, platforms=["linux64"])
    text = notices(tmp_path / "f.fmu", 0.5)
    assert text.startswith("growing: the steps leave y with an estimated error of ")
    assert text.endswith("(said once, at t = 0.5 s)")
