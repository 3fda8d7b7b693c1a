"""Contacts on an axis whose motion is prescribed: no force of theirs moves it, and they follow what it does."""

import re

import pytest

import mbfmu
from mbfmu.errors import StartError, StepError
from mbfmu.model import (
    AxisMotion,
    Body,
    Component,
    Gear,
    Prismatic,
    System,
    TranslationalDryFriction,
    TranslationalEndStop,
    TranslationalLatch,
    TranslationalMove,
    TranslationalShearPin,
    World,
    connect,
)

NAMED = "closes against a motion that does not give way, prescribed by drive"


def driven(*more: Component) -> System:
    """Return a mass of 2 kg on a rail."""
    ends = connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "mass.frame_a")
    return System("driven", (World(g=0.0), Prismatic("rail"), Body("mass", m=2.0, I_33=1.0), *more), ends, planar=True)


def motion(s: str) -> AxisMotion:
    return AxisMotion("drive", joint="rail", s=s)


RUB = TranslationalDryFriction("rub", joint="rail", F_c=5.0)
DWELL = "where(time<0.5, 0, (time - 0.5)**2)"


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(("s", "force"), [("time**3", 12 + 5), (DWELL, 4 + 5), (f"-{DWELL}", -4 - 5)])
def test_friction_resists_a_prescribed_motion_that_leaves_rest_without_a_jump(
    coordinates: str, s: str, force: float
) -> None:
    """The drive's force is m s'' + F_c, though the friction sticks at first, with a slip rate that no force changes."""
    run = mbfmu.simulate(driven(motion(s), RUB), 1.0, coordinates=coordinates)
    assert run["rub.sticks"][0] == 1
    assert run["rub.sticks"][-1] == 0
    assert run["drive.f"][-1] == pytest.approx(force, rel=1e-9)


def test_friction_resists_a_motion_from_outside_and_one_through_a_gear() -> None:
    """The load of 1 kg runs 2 m for each metre of the rail, so that the drive bears m s'' + 2 (2 s'' + F_c)."""
    moved = driven(TranslationalMove("drive", joint="rail"), RUB)
    inputs = {"drive.s": "time**3", "drive.v": "3*time**2", "drive.a": "6*time"}
    assert mbfmu.simulate(moved, 1.0, inputs=inputs)["drive.f"][-1] == pytest.approx(17, rel=1e-6)
    parts = (Prismatic("far"), Body("load", m=1.0, I_33=1.0), Gear("gear", joint_a="far", joint_b="rail", ratio=2.0))
    rubbing = TranslationalDryFriction("rub", joint="far", F_c=5.0)
    short = driven(motion("time**3"), *parts, rubbing)
    ends = connect("world.frame_b", "far.frame_a"), connect("far.frame_b", "load.frame_a")
    geared = System("geared", short.components, (*short.connections, *ends), planar=True)
    assert mbfmu.simulate(geared, 1.0)["drive.f"][-1] == pytest.approx(12 + 2 * (12 + 5), rel=1e-9)


@pytest.mark.parametrize(
    ("holding", "flag"),
    [
        (TranslationalLatch("hold", joint="rail", pull=3.0), "hold.closed"),
        (TranslationalShearPin("hold", joint="rail", strength=3.0), "hold.sticks"),
    ],
)
def test_a_prescribed_motion_pulls_a_latch_open_and_breaks_a_pin(holding: Component, flag: str) -> None:
    run = mbfmu.simulate(driven(motion("time**3"), holding), 1.0)
    assert run[flag][0] == 1
    assert run[flag][-1] == 0
    assert run["drive.f"][-1] == pytest.approx(12, rel=1e-9)


@pytest.mark.parametrize("s", ["-time**3", "-time**2", f"-{DWELL}", "-time"])
@pytest.mark.parametrize(
    "stop", [TranslationalEndStop("stop", joint="rail", lower=0.0), TranslationalLatch("stop", joint="rail", pull=3.0)]
)
def test_a_prescribed_motion_from_a_closed_stop_into_it_is_refused_and_named(s: str, stop: Component) -> None:
    with pytest.raises((StartError, StepError), match=re.escape(NAMED)):
        mbfmu.simulate(driven(motion(s), stop), 1.0)
