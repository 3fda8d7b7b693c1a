"""Couplings of spatial angles that are known up to full turns: absolute coordinates against those of joints."""

import math

import numpy as np
import pytest

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import ModelError
from mbfmu.model import AxisMotion, BodyShape, FixedTranslation, Gear, Parameter, Revolute, System, World, connect


def geared(ratio: float | str, w: float = 9.0, *more: AxisMotion) -> System:
    """Return two unbalanced rotors in space, geared to each other."""
    inertia = {"I_11": 0.1, "I_22": 0.1, "I_33": 0.1}
    return System(
        "geared",
        parameters=(Parameter("k", 0.5, "1"),),
        components=(
            World(g=9.81, n=(0, -1, 0)),
            Revolute("a", n=(0, 0, 1), phi=0.3, w=None if more else w),
            BodyShape("wheel", m=1.0, r=(0.3, 0, 0), r_CM=(0.1, 0, 0), **inertia),
            FixedTranslation("apart", r=(1, 0, 0)),
            Revolute("b", n=(0, 0, 1)),
            BodyShape("pinion", m=1.0, r=(0.2, 0, 0), r_CM=(0.05, 0, 0), **inertia),
            Gear("gear", joint_a="a", joint_b="b", ratio=ratio),
            *more,
        ),
        connections=(
            connect("world.frame_b", "a.frame_a"),
            connect("a.frame_b", "wheel.frame_a"),
            connect("world.frame_b", "apart.frame_a"),
            connect("apart.frame_b", "b.frame_a"),
            connect("b.frame_b", "pinion.frame_a"),
        ),
    )


@pytest.mark.parametrize("ratio", [-1.5, "k"])
def test_a_gear_of_spatial_axes_turns_alike_in_all_coordinates(ratio: float | str) -> None:
    """Over almost three revolutions; measured apart by 1e-13."""
    how = {"stepper": "projected", "options": {"order": 8}, "step": 2e-3}
    one, other = (mbfmu.simulate(geared(ratio), 2.0, coordinates=c, **how) for c in ("joint", "absolute"))
    assert one["a.phi"][-1] > 5 * math.pi
    for name in ("a.phi", "a.w", "b.phi", "gear.tau"):
        assert other[name] == pytest.approx(one[name], abs=1e-11)


def test_a_prescribed_motion_of_a_spatial_axis_goes_round_in_absolute_coordinates() -> None:
    run = mbfmu.simulate(geared(0.5, 0.0, AxisMotion("drive", "a", "0.3 + 7*time")), 2.0, coordinates="absolute")
    assert run["a.phi"] == pytest.approx(0.3 + 7 * run.time, abs=1e-11)
    assert run["b.phi"] == pytest.approx(2 * (0.3 + 7 * run.time), abs=1e-11)


@pytest.mark.parametrize("ratio", [0.7243, 1 / 97])
def test_a_ratio_by_which_a_turn_has_too_many_periods_is_refused(ratio: float) -> None:
    with pytest.raises(ModelError, match="known only up to full turns, and the coupling has no ratio of small whole"):
        derive(geared(ratio), "absolute")
    derive(geared(ratio), "joint")


def test_another_ratio_than_that_of_the_equations_has_no_value() -> None:
    """The period of its jumps would be another one."""
    dae = derive(geared("k"), "absolute")
    q, p = np.linspace(0.1, 0.9, dae.n), dae.p_default()
    assert np.all(np.isfinite(np.array(dae.constraints.Phi(q, p, 0.0))))
    p[[item.name for item in dae.parameters].index("k")] = 0.6
    assert np.isnan(np.array(dae.constraints.Phi(q, p, 0.0))).sum() == 1
