"""Friction and formulas along combinations of axes, springs in the plane and gravity of a point: closed forms."""

from dataclasses import replace

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import ModelError, ValueRangeError
from mbfmu.model import (
    AxesDryFriction,
    AxesLaw,
    Body,
    CartesianSpringDamper,
    Component,
    Connection,
    EddyCurrentBrake,
    FreeMotion,
    PointGravity,
    Revolute,
    System,
    World,
    connect,
)


def shafts(*more: Component) -> System:
    """Return two shafts of 1 and 3 kg m2 on the world, the first with 12 rad/s, and what acts on them."""
    parts: list[Component] = [World("world", g=0.0)]
    joined: list[Connection] = []
    for name, J, w in (("a", 1.0, 12.0), ("b", 3.0, 0.0)):
        parts += [Revolute(name, phi=0.0, w=w), Body(f"{name}_body", m=1.0, I_33=J)]
        joined += [connect("world.frame_b", f"{name}.frame_a"), connect(f"{name}.frame_b", f"{name}_body.frame_a")]
    return System("Shafts", (*parts, *more), tuple(joined), planar=True)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_friction_between_two_axes_slips_and_then_holds_up_to_its_size(coordinates: str) -> None:
    """Slip ends after 12/(1 + 1/3)/F; a torque that needs less than F to share moves both as one, and more slips."""
    for torque, alike in ((4.0, True), (12.0, False)):
        system = shafts(
            AxesDryFriction("clutch", joints=("b", "a"), ratios=(1.0, -1.0), sliding="6.0"),
            AxesLaw("motor", joints=("a",), ratios=(1.0,), formula=f"where(time < 2, 0, {torque})"),
        )
        found = mbfmu.simulate(system, 3.0, step=1e-2, coordinates=coordinates, error_samples=0)
        before = np.searchsorted(found["time"], 1.99)
        assert found["a.w"][before] == pytest.approx(3, abs=1e-8)
        assert found["b.w"][before] == pytest.approx(3, abs=1e-8)
        rates = (torque / 4, torque / 4) if alike else (torque - 6, 6 / 3)
        assert found["a.w"][-1] == pytest.approx(3 + rates[0], rel=2e-2)
        assert found["b.w"][-1] == pytest.approx(3 + rates[1], rel=2e-2)


def test_friction_that_begins_while_its_bodies_move_acts_against_the_slip_that_has_grown() -> None:
    """A clutch without size lets a motor turn shaft a from rest; closed at 1 s, it takes 6 N.m from a to b."""
    for sign in (1, -1):
        system = shafts(
            AxesDryFriction("clutch", joints=("b", "a"), ratios=(1.0, -1.0), sliding="where(time < 1, 0, 6)"),
            AxesLaw("motor", joints=("a",), ratios=(1.0,), formula=f"where(time < 0.5, 0, {sign * 10})"),
        )
        parts = [replace(item, w=0.0) if item.name == "a" else item for item in system.components]
        result = mbfmu.simulate(replace(system, components=tuple(parts)), 1.5, step=1e-2, error_samples=0)
        assert result["a.w"][-1] == pytest.approx(sign * (10 * 0.5 + (10 - 6) * 0.5), abs=0.05)
        assert result["b.w"][-1] == pytest.approx(sign * 6 / 3 * 0.5, abs=0.05)


def test_an_element_of_axes_has_a_ratio_for_each() -> None:
    with pytest.raises(ValueRangeError, match="must be 2 ratios"):
        AxesDryFriction("clutch", joints=("a", "b"), ratios=(1.0,))


def free(planar: bool, *more: Component, **starts: object) -> System:
    """Return a body that is free, with what acts between the world and it."""
    acting = tuple(item for part in more for item in (connect("world.frame_b", f"{part.name}.frame_a"),
                                                      connect("body.frame_a", f"{part.name}.frame_b")))  # fmt: skip
    body = Body("body", m=2.0, I_11=0.1, I_22=0.1, I_33=0.5, **starts)  # type: ignore[arg-type]
    joined = (connect("world.frame_b", "joint.frame_a"), connect("joint.frame_b", "body.frame_a"), *acting)
    return System("Free", (World("world", g=0.0), FreeMotion("joint"), body, *more), joined, planar=planar)


def test_springs_along_the_axes_of_the_world_and_about_z_swing_each_for_itself() -> None:
    spring = CartesianSpringDamper("spring", c_x=8.0, c_y=18.0, c_phi=2.0, s_relx0=0.5, phi_rel0=0.1, d_y=4.0)
    system = free(True, spring, r_0=(1.0, 0.3), v_0=(0.0, 0.0), phi=0.4, w=0.0)
    found = mbfmu.simulate(system, 2.0, step=1e-3, error_samples=0)
    t = found["time"]
    np.testing.assert_allclose(found["body.r_0[1]"], 0.5 + 0.5 * np.cos(2 * t), atol=1e-5)
    np.testing.assert_allclose(found["body.phi"], 0.1 + 0.3 * np.cos(2 * t), atol=1e-5)
    omega = np.sqrt(9 - 1)
    y = 0.3 * np.exp(-t) * (np.cos(omega * t) + np.sin(omega * t) / omega)
    np.testing.assert_allclose(found["body.r_0[2]"], y, atol=1e-5)
    with pytest.raises(ModelError, match="needs a planar system"):
        mbfmu.simulate(free(False, spring), 0.1)


def test_a_mass_in_the_gravity_of_a_point_falls_as_energy_says() -> None:
    """From rest at 2 m, v^2/2 = mu (1/r - 1/2)."""
    system = free(True, PointGravity("planet", mu=3.0, m=2.0), r_0=(0.0, 2.0), v_0=(0.0, 0.0), phi=0.0, w=0.0)
    found = mbfmu.simulate(system, 1.0, step=1e-3, error_samples=0)
    r = found["body.r_0[2]"]
    np.testing.assert_allclose(found["body.v_0[2]"] ** 2 / 2, 3 * (1 / r - 1 / 2), atol=1e-5)
    assert r[-1] < 1.7


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_brake_by_eddy_currents_turns_the_energy_of_two_shafts_into_heat(coordinates: str) -> None:
    """Momentum is kept; the slip x = v / v_peak falls by log x + x^2/2 = c - 2 peak t / (J v_peak)."""
    brake = EddyCurrentBrake("brake", joints=("b", "a"), ratios=(1.0, -1.0), peak=6.0, v_peak=4.0)
    warm = replace(brake, alpha=0.004, C=2.0, T=300.0)
    J = 1 / (1 / 1 + 1 / 3)
    for item in (brake, warm):
        found = mbfmu.simulate(shafts(item), 1.0, step=1e-3, coordinates=coordinates, error_samples=0)
        np.testing.assert_allclose(found["a.w"] + 3 * found["b.w"], 12, atol=1e-9)
        x = (found["a.w"] - found["b.w"]) / 4
        if item is brake:
            fallen = np.log(x / x[0]) + (x**2 - x[0] ** 2) / 2
            np.testing.assert_allclose(fallen, -2 * 6 / (J * 4) * found["time"], atol=1e-8)
            assert set(found["brake.T"]) == {293.15}
        else:
            np.testing.assert_allclose(2 * (found["brake.T"] - 300), J * 16 * (x[0] ** 2 - x**2) / 2, atol=1e-6)
