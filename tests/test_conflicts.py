"""Contacts without a solution are named: friction that makes them singular, stops against prescribed motions."""

import math
import re
from typing import Any

import pytest

import mbfmu
from mbfmu.errors import StartError, StepError
from mbfmu.model import (
    Body,
    FreeMotion,
    Gear,
    PointOnPlane,
    Prismatic,
    Revolute,
    RotationalMove,
    System,
    TranslationalEndStop,
    World,
    connect,
)


def rod(phi: float, mu: float, vx: float, w: float = 0.0) -> System:
    """Return a uniform rod of 2 m and 1 kg that slides on its lower end."""
    return System(
        name="rod",
        planar=True,
        components=(
            World(g=9.81),
            FreeMotion("free", r_rel=(0, 0), phi=phi, v_rel=(vx, 0), w=w),
            Body("body", m=1.0, r_CM=(1.0, 0), I_33=1.0 / 3.0),
            PointOnPlane("touch", e=0.0, mu=mu),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("world.frame_b", "touch.frame_a"),
            connect("body.frame_a", "touch.frame_b"),
        ),
    )


def painleve(phi: float, mu: float) -> float:
    """Return m gddot/N of the end that slides towards -x; below 0 it is Painleve's paradox."""
    return 1 + 3 * math.cos(phi) ** 2 - 3 * mu * math.sin(phi) * math.cos(phi)


def test_a_start_in_painleves_paradox_is_named() -> None:
    assert painleve(1.1, 1.5) < 0 < painleve(1.1, 1.2)
    with pytest.raises(StartError, match=re.escape("rod: no start: the friction of 'touch' is so large that ")) as told:
        mbfmu.simulate(rod(1.1, 1.5, -3.0), 0.01)
    assert "(Painleve's paradox)" in str(told.value)
    assert mbfmu.simulate(rod(1.1, 1.5, 3.0), 0.01)["touch.f_n"][-1] > 0  # the other way it is pulled
    assert mbfmu.simulate(rod(1.1, 1.2, -3.0), 0.001)["touch.f_n"][-1] > 0


def test_a_slide_into_painleves_paradox_is_named() -> None:
    assert 0 < painleve(0.7, 1.8) < 0.1 * (1 + 3 * math.cos(0.7) ** 2)
    with pytest.raises(
        StepError, match=r"rod: no step from t = 0.00\S+ s: the friction of 'touch' is so large"
    ) as told:
        mbfmu.simulate(rod(0.7, 1.8, -4.0, 3.0), 0.5)
    assert "smaller solver.step" not in str(told.value)


def hoist() -> System:
    """Return a load on a rope that a drum pays out, above a deck on which it comes to sit."""
    return System(
        name="hoist",
        planar=True,
        components=(
            World(g=9.81, n=(0, -1)),
            Prismatic("rope", n=(0, -1), s=5.0, v=0.0),
            Body("load", m=500.0),
            Revolute("drum", phi=0.0, w=0.0),
            RotationalMove("cmd", joint="drum"),
            Body("wheel", m=50.0, I_33=20.0),
            TranslationalEndStop("deck", joint="rope", lower=-10.0, upper=5.2, e=0.0),
            Gear("wound", joint_a="rope", joint_b="drum", ratio=0.3, offset=5.0),
        ),
        connections=(
            connect("world.frame_b", "rope.frame_a"),
            connect("rope.frame_b", "load.frame_a"),
            connect("world.frame_b", "drum.frame_a"),
            connect("drum.frame_b", "wheel.frame_a"),
        ),
    )


def test_a_stop_against_a_prescribed_motion_is_named_with_what_prescribes_it() -> None:
    inputs: dict[str, Any] = {"cmd.phi": "0.25*(1 - cos(pi*time/2))/0.3"}
    with pytest.raises(StepError, match=r"'deck\.upper' closes against a motion that does not give way, prescribed"):
        mbfmu.simulate(hoist(), 2.0, inputs=inputs)
