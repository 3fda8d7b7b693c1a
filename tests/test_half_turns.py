"""Springs, stops and latches on a spatial angle known only up to full turns: right within half a turn, else refused."""

import math
from typing import Any

import pytest

import mbfmu
from mbfmu.errors import StartError, StepError
from mbfmu.model import (
    AxisLaw,
    Body,
    BodyShape,
    Component,
    FixedRotation,
    FixedTranslation,
    Revolute,
    RotationalDryFriction,
    RotationalEndStop,
    RotationalLatch,
    RotationalSpring,
    RotationalStop,
    System,
    World,
    connect,
    guess,
)

NAMED = "'shaft' is half a turn away, up to which these coordinates know its angle for 'it': use joint coordinates"


def spun(force: Component, **start: float) -> System:
    """Return a body of 0.25 kg.m2 that turns on a shaft."""
    parts = World(g=0.0), Revolute("shaft", n=(0, 0, 1), **start), Body("body", m=1.0, I_11=0.1, I_22=0.2, I_33=0.25)
    ends = connect("world.frame_b", "shaft.frame_a"), connect("shaft.frame_b", "body.frame_a")
    return System("spun", (*parts, force), ends)


@pytest.mark.parametrize(
    "force",
    [
        RotationalSpring("it", joint="shaft", c=1.0),
        AxisLaw("it", joint="shaft", formula="-s"),
        RotationalStop("it", joint="shaft", lower=-2.0, upper=9.0, c=100.0),
        RotationalEndStop("it", joint="shaft", lower=-2.0, upper=9.0),
        RotationalLatch("it", joint="shaft", position=9.0, side="below", pull=0.5),
    ],
    ids=lambda force: type(force).__name__,
)
def test_a_motion_past_half_a_turn_ends_where_a_force_takes_an_angle_known_up_to_full_turns(force: Component) -> None:
    system = spun(force, phi=0.0, w=20.0)
    with pytest.raises(StepError, match=NAMED):
        mbfmu.simulate(system, 1.0, coordinates="absolute")
    assert mbfmu.simulate(system, 1.0, coordinates="joint")["shaft.phi"].max() > math.pi


def test_a_start_past_half_a_turn_is_refused_where_a_force_takes_an_angle_known_up_to_full_turns() -> None:
    system = spun(RotationalSpring("it", joint="shaft", c=1.0, phi_rel0=3.0), phi=4.0)
    with pytest.raises(StartError, match=NAMED):
        mbfmu.simulate(system, 0.01, coordinates="absolute")
    assert mbfmu.simulate(system, 0.01, coordinates="joint")["it.tau"][0] == pytest.approx(-1.0)


def test_dry_friction_takes_no_angle_and_brakes_over_many_turns() -> None:
    """The shaft stops after I w^2 / (2 F) = 10 rad; measured apart by 1.2e-8 by the default steps."""
    system = spun(RotationalDryFriction("it", joint="shaft", F_c=5.0), phi=0.0, w=20.0)
    assert mbfmu.simulate(system, 1.5, coordinates="absolute")["shaft.phi"][-1] == pytest.approx(10.0, abs=1e-6)


def four_bar(planar: bool, corner: float) -> System:
    """Return four bars around a square; the frame of the last pin is turned by `corner`, rad."""
    axis: dict[str, Any] = {} if planar else {"n": (0, 0, 1)}

    def at(x: float, y: float) -> tuple[float, ...]:
        return (x, y) if planar else (x, y, 0.0)

    inertia = {"I_33": 0.02} if planar else {"I_11": 0.01, "I_22": 0.02, "I_33": 0.02}
    bars = [BodyShape(f"bar_{k}", m=1.0, r=at(1, 0), r_CM=at(0.5, 0), **inertia) for k in range(3)]
    starts = (
        {"phi": 0.1, "w": 0.3},
        {"phi": guess(1.47)},
        {"phi": guess(1.47 - 2 * math.pi * planar)},
        {"phi": guess(1.67)},
    )
    pins = [Revolute(f"pin_{k}", **axis, **start) for k, start in enumerate(starts)]
    rest = (
        FixedTranslation("ground", r=at(0, 1.2)),
        FixedRotation("corner", angle=corner, **axis),
        RotationalSpring("spring", joint="pin_3", c=3.0),
    )
    ends = [("world.frame_b", "pin_0.frame_a"), ("world.frame_b", "ground.frame_a")]
    ends += [("ground.frame_b", "corner.frame_a"), ("corner.frame_b", "pin_3.frame_b")]
    ends += [(f"pin_{k}.frame_b", f"bar_{k}.frame_a") for k in range(3)]
    ends += [(f"bar_{k}.frame_b", f"pin_{k + 1}.frame_a") for k in range(3)]
    world = World(n=(0, -1) if planar else (0, -1, 0))
    return System("bars", (world, *pins, *bars, *rest), tuple(connect(*pair) for pair in ends), planar=planar)


@pytest.mark.parametrize("corner", [-math.pi / 2, 3 * math.pi / 2])
def test_a_spring_where_a_spatial_loop_is_cut_acts_as_in_the_plane_whatever_the_signs_of_quaternions(
    corner: float,
) -> None:
    plain = mbfmu.simulate(four_bar(True, -math.pi / 2), 0.1, stepper="projected", options={"order": 8})
    for coordinates in ("absolute", "joint:pin_0,pin_1,pin_2"):
        run = mbfmu.simulate(
            four_bar(False, corner), 0.1, stepper="projected", options={"order": 8}, coordinates=coordinates
        )
        assert run["pin_3.phi"][0] == pytest.approx(1.671, abs=1e-3)
        for name in ("pin_3.phi", "spring.tau", "pin_0.phi"):
            assert run[name][[0, -1]] == pytest.approx(plain[name][[0, -1]], rel=1e-9)
