"""Rotors on the axes of joints: one energy, whatever the coordinates and the joint's place."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from mechanisms import ROTORS, rail_arm

from mbfmu.dae import Dae, derive
from mbfmu.errors import ModelError
from mbfmu.model import (
    Body,
    BodyShape,
    FixedTranslation,
    Gear,
    Revolute,
    RotationalRotor,
    System,
    World,
    connect,
)

Array = npt.NDArray[np.float64]


def at_start(system: System, coordinates: str, u: list[float]) -> dict[str, float]:
    """The outputs at the start, by name."""
    dae: Dae = derive(system, coordinates)
    s, p, t = dae.s_default(), dae.p_default(), 0.0
    q = np.array(dae.start.guess(s, p, t)).ravel()
    zero = np.zeros(dae.n)

    def residual(v: Array) -> Array:
        moving = np.array(dae.constraints.Phi_q(q, p, t)) @ v
        return np.concatenate([moving.ravel(), np.array(dae.start.rates(q, v, s, p, t)).ravel()])

    rows = np.array([residual(one) - residual(zero) for one in np.eye(dae.n)]).T
    v = np.linalg.lstsq(rows, -residual(zero), rcond=None)[0]
    a, lambda_ = dae.acceleration(q, v, [], u, p, t)
    y = dae.output(q, v, [], dae.start.counted(q, s, p, t), a, lambda_, u, p, t)
    return dict(zip((item.name for item in dae.outputs), np.array(y).ravel().tolist(), strict=True))


ON_AXES = {"elbow.a": 0.66, "rail.a": 1.8}


def test_rotors_give_the_same_motion_and_reactions_in_both_coordinates() -> None:
    mine, other = (at_start(rail_arm(*ROTORS), kind, [3.0, -2.0, 5.0]) for kind in ("joint", "absolute"))
    shared = [name for name in mine if name in other and not name.startswith(("constraint", "momentum"))]
    assert {"elbow.frame_b.t[3]", "rail.frame_b.f[1]", "energy.total"} <= set(shared)
    assert {name: mine[name] for name in shared} == pytest.approx({name: other[name] for name in shared}, abs=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_rotor_acts_as_a_torque_against_the_acceleration_of_its_axis(coordinates: str) -> None:
    """The same efforts less J ratio^2 times the accelerations found, without rotors: motion and reactions are equal."""
    u = [3.0, -2.0, 5.0]
    turning = at_start(rail_arm(*ROTORS), coordinates, u)
    less = [u[0], *(effort - J * turning[name] for effort, (name, J) in zip(u[1:], ON_AXES.items(), strict=True))]
    bare = at_start(rail_arm(), coordinates, less)
    shown = [turning["motor.tau"] + turning["brake.tau"], turning["spindle.f"]]
    assert shown == pytest.approx([-J * turning[name] for name, J in ON_AXES.items()], rel=1e-10)
    assert bare["energy.total"] + 0.66 * 1.1**2 / 2 + 1.8 * 0.4**2 / 2 == pytest.approx(turning["energy.total"])
    compared = [name for name in bare if not name.startswith(("energy", "constraint"))]
    assert {name: turning[name] for name in compared} == pytest.approx(
        {name: bare[name] for name in compared}, abs=1e-9
    )


def test_a_joint_with_a_rotor_carries_a_coordinate_and_one_of_a_loop_of_them_is_refused_with_the_remedy() -> None:
    """Four bars in the plane; one joint carries no coordinate there."""
    bars = [BodyShape(f"bar_{k}", m=1.0, r=(1.0, 0.0), r_CM=(0.5, 0.0), I_33=0.1) for k in range(3)]
    joints = [Revolute(f"pin_{k}", phi=phi) for k, phi in enumerate((1.2, -1.2, -1.9, None))]
    ends = [connect("world.frame_b", "pin_0.frame_a"), connect("world.frame_b", "pin_3.frame_a")]
    ends += [connect(f"pin_{k}.frame_b", f"bar_{k}.frame_a") for k in range(3)]
    ends += [connect(f"bar_{k}.frame_b", f"pin_{k + 1}.frame_{'a' if k < 2 else 'b'}") for k in range(3)]
    system = System("bars", (World("world"), *joints, *bars), tuple(ends), planar=True)
    rotors = [RotationalRotor(f"motor_{joint.name}", joint=joint.name, J=1.0) for joint in joints]
    for rotor in rotors:
        dae = derive(replace(system, components=(*system.components, rotor)), "joint")
        assert f"{rotor.joint}.phi" in dae.coordinates
    with pytest.raises(ModelError, match=r"a rotor is on 'pin_.', which has no coordinate of its own"):
        derive(replace(system, components=(*system.components, *rotors)), "joint")


ARM = (World("world"), Revolute("arm", phi=0.4, w=0.2), Body("bob", m=1.0, r_CM=(1.0, 0.0), I_33=0.1))
ENDS = (connect("world.frame_b", "arm.frame_a"), connect("arm.frame_b", "bob.frame_a"))


def gear(lent: float) -> Gear:
    return Gear("gear", joint_a="shaft", joint_b="arm", ratio=7.0, lent=lent)


def geared(lent: float = 0.0) -> System:
    """An arm with a shaft that turns seven times as fast."""
    shaft = (Revolute("shaft"), Body("rotor", m=1.0, I_33=0.01), gear(lent))
    more = (connect("world.frame_b", "shaft.frame_a"), connect("shaft.frame_b", "rotor.frame_a"))
    return System("geared", (*ARM, *shaft), (*ENDS, *more), planar=True)


def test_a_rotor_before_a_gear_is_one_behind_it_times_the_ratio_squared() -> None:
    """A shaft that drives the joint through a gear, and the rotor with that ratio on the joint itself."""
    short = System("short", (*ARM, RotationalRotor("motor", joint="arm", J=0.01, ratio=7.0)), ENDS, planar=True)
    found = [at_start(system, "joint", [])["arm.a"] for system in (geared(), short)]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("lent", [0.002, -0.004])
def test_inertia_that_a_gear_lends_changes_no_motion_energy_or_reaction(coordinates: str, lent: float) -> None:
    mine, other = (at_start(geared(item), coordinates, []) for item in (lent, 0.0))
    assert {"arm.a", "energy.kinetic", "gear.tau", "arm.frame_b.f[1]"} <= mine.keys()
    assert mine == pytest.approx(other, rel=1e-11, abs=1e-12)


def test_an_axis_without_mass_turns_by_the_inertia_that_a_gear_lends_it() -> None:
    """The shaft weighs nothing: the arm falls as alone, and the gear transmits nothing."""
    more = (connect("world.frame_b", "shaft.frame_a"), connect("shaft.frame_b", "end.frame_a"))
    parts = (*ARM, Revolute("shaft"), FixedTranslation("end"))
    held = System("held", (*parts, gear(0.001)), (*ENDS, *more), planar=True)
    found = at_start(held, "joint", [])
    alone = at_start(System("alone", ARM, ENDS, planar=True), "joint", [])
    assert found["arm.a"] == pytest.approx(alone["arm.a"], rel=1e-12)
    assert found["shaft.a"] == pytest.approx(7 * alone["arm.a"], rel=1e-12)
    assert found["gear.tau"] == pytest.approx(0.0, abs=1e-12)
