"""FMUs for model exchange tell a solver when its history no longer holds."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from exchanging import Exchanged, Kept, exchanged, keeping_history
from harness import thorough
from masters import Unpacked
from struck import ball, incline

import mbfmu

MODELS: dict[str, Any] = {"ball": ball, "incline": incline}


@cache
def fmu(name: str, fmi: str = "2.0") -> Unpacked:
    """A model as an FMU for model exchange, unpacked; made once a session."""
    folder = Path(mkdtemp(prefix="mbfmu-history-"))
    return exchanged(MODELS[name]() if name in MODELS else name, folder / f"{name}.fmu", fmi=fmi)


@cache
def sticking() -> float:
    """Where the mass on the belt is after 8 s, as steps find it."""
    run = mbfmu.simulate("stick_slip", 8.0, stepper="projected", options={"order": 9}, step=1e-3)
    return float(run["x"][-1])


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-5, 1e-6, 1e-7])
def test_a_solver_that_keeps_its_history_unless_told_finds_the_motion_after_a_change_of_modes(
    fmi: str, tolerance: float
) -> None:
    """At 4.99 s the mass begins to slip: its place and rate stay, and its acceleration jumps."""
    found = keeping_history(fmu("stick_slip", fmi), 8.0, tolerance, ["x"])
    assert found.restarts == found.events == 1
    assert sticking() == pytest.approx(0.001733, abs=1e-6)
    assert found.values[0] == pytest.approx(sticking(), abs=30 * tolerance)  # 9 times the tolerance at most


PUSHED = [(0.1, "push", 2.0), (0.3, "push", -1.0), (0.31, "push", 0.5)]


@pytest.mark.parametrize(
    ("name", "stop", "jumps", "shown", "fmi"),
    thorough(
        [
            (name, *rest, fmi)
            for name, *rest in (
                ("stick_slip", 8.0, (), ("x", "v")),
                ("ball", 1.2, (), ("y", "der(y)")),
                ("incline", 0.6, PUSHED, ("x", "der(x)")),
                ("sampled_pid_two_link", 0.2, (), ("elbow.phi", "elbow.w")),
            )
            for fmi in ("2.0", "3.0")
        ],
        lambda name, *rest: rest[-1] == "2.0" or name == "stick_slip",
    ),
)
def test_a_solver_that_begins_anew_when_told_takes_the_steps_of_one_that_does_so_at_every_event(
    name: str, stop: float, jumps: Any, shown: tuple[str, ...], fmi: str
) -> None:
    found: list[Kept] = [
        keeping_history(fmu(name, fmi), stop, 1e-6, shown, always=always, jumps=jumps) for always in (False, True)
    ]
    assert found[0] == found[1]
    assert found[0].events >= max(1, len(jumps))


def test_an_input_or_a_parameter_that_jumps_at_an_event_is_told_once() -> None:
    with Exchanged(fmu("incline")).start() as run:
        assert run.event() == (False, np.inf)
        for values in ({"push": 1.0}, {"mu": 0.4}, {"push": 2.0}):
            run.model.enterEventMode()
            run.set(values)
            assert run.update()[0]
            assert not run.event()[0]
        run.set({"push": 2.5})  # between events a master knows what it sets
        assert not run.event()[0]
