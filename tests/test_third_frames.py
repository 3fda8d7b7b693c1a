"""Forces resolved in the axes of a third frame, and gravity by a formula of the place."""

import numpy as np
import pytest

import mbfmu
from mbfmu.model import (
    Body,
    Component,
    ForceBetween,
    FreeMotion,
    GravityField,
    Revolute,
    System,
    TorqueBetween,
    World,
    WorldForce,
    WorldTorque,
    connect,
)

RATE = 2.0
"""Angular velocity of the turntable about z, rad/s."""


def turntable(force: Component, given: str) -> tuple[np.ndarray, np.ndarray, mbfmu.Result]:
    """The motion of a free body under a force of size 3 along x of a turntable that keeps its speed."""
    system = System(
        "turntable",
        (
            World(g=0.0),
            Revolute("axis", phi=0.0, w=RATE),
            Body("table", m=1.0, I_11=1.0, I_22=1.0, I_33=1.0),
            FreeMotion("free", r_rel=(0, 0, 0), v_rel=(0, 0, 0), Q_rel=(1, 0, 0, 0), w_rel=(0, 0, 0)),
            Body("body", m=2.0, I_11=0.5, I_22=0.5, I_33=0.5),
            force,
        ),
        (
            connect("world.frame_b", "axis.frame_a"),
            connect("axis.frame_b", "table.frame_a"),
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("body.frame_a", "force.frame_b"),
            connect("table.frame_a", "force.frame_resolve"),
            *([connect("world.frame_b", "force.frame_a")] if "frame_a" in force.frames else []),
        ),
    )
    found = mbfmu.simulate(system, 1.0, step=2e-3, inputs={f"force.{given}[1]": 3.0}, error_samples=0)
    t = found["time"]
    # along e(t) = (cos, sin): the integral of 3 e(t), with nothing on the table
    return 3 * np.sin(RATE * t) / RATE, 3 * (1 - np.cos(RATE * t)) / RATE, found


@pytest.mark.parametrize("kind", [WorldForce, ForceBetween])
def test_a_force_resolved_in_a_third_frame_turns_with_it_and_leaves_it_alone(kind: type[Component]) -> None:
    x, y, found = turntable(kind("force", resolve="frame_resolve"), "f")
    np.testing.assert_allclose(found["body.v_0[1]"], x / 2.0, atol=1e-6)
    np.testing.assert_allclose(found["body.v_0[2]"], y / 2.0, atol=1e-6)
    np.testing.assert_allclose(found["axis.w"], RATE, atol=1e-12)


@pytest.mark.parametrize("kind", [WorldTorque, TorqueBetween])
def test_a_torque_resolved_in_a_third_frame_turns_with_it(kind: type[Component]) -> None:
    """A ball has angular momentum ``0.5 w`` in any direction."""
    x, y, found = turntable(kind("force", resolve="frame_resolve"), "t")
    np.testing.assert_allclose(found["free.w_rel[1]"], x / 0.5, atol=1e-5)
    np.testing.assert_allclose(found["free.w_rel[2]"], y / 0.5, atol=1e-5)


@pytest.mark.parametrize("planar", [True, False])
def test_a_field_that_grows_with_the_distance_swings_a_mass_as_a_spring_would(planar: bool) -> None:
    """With ``g = -k r`` a mass moves as ``r = r_0 cos(sqrt(k) t)``, whatever its mass; z follows in space."""
    zeros = (0, 0) if planar else (0, 0, 0)
    start = (1.0, -0.5) if planar else (1.0, -0.5, 0.3)
    turned = {"phi": 0.0, "w": 0.0} if planar else {"Q_rel": (1, 0, 0, 0), "w_rel": (0, 0, 0)}
    system = System(
        "field",
        (
            World(g=0.0),
            FreeMotion("free", r_rel=start, v_rel=zeros, **turned),
            Body("body", m=2.0, I_33=1.0) if planar else Body("body", m=2.0, I_11=1.0, I_22=1.0, I_33=1.0),
            GravityField("field", m=2.0, g_x="-4*x", g_y="-4*y", g_z="-4*z"),
        ),
        (
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("body.frame_a", "field.frame_b"),
        ),
        planar=planar,
    )
    found = mbfmu.simulate(system, 1.0, step=1e-3, error_samples=0)
    for index, at in enumerate(start, 1):
        np.testing.assert_allclose(found[f"body.r_0[{index}]"], at * np.cos(2 * found["time"]), atol=1e-6)
