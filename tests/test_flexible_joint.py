"""Flexible bodies in joint coordinates: the same motion as in absolute ones, and as that of rigid bodies if stiff."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flexible_mechanisms import BEAM, FLEXIBLE, beam, chain
from harness import thorough
from states import assert_same_motion

import mbfmu
from mbfmu.dae import derive
from mbfmu.kernel.emit.program import read_program
from mbfmu.model import Body, BodyShape, Component, FreeMotion, Revolute, World

FEW = {"arm", "backward", "brackets", "branched in space", "clamped"}
"""Mechanisms that stand for all."""


@pytest.mark.parametrize("name", thorough(zip(FLEXIBLE), lambda name: name in FEW))
def test_flexible_bodies_move_the_same_in_both_coordinates(name: str) -> None:
    """All outputs from random states agree: shapes, accelerations, and the cut forces of all joints."""
    joint, absolute = assert_same_motion(FLEXIBLE[name], seed=1, away=0.1)
    assert joint.n < absolute.n or not absolute.m


@pytest.mark.parametrize("coordinates", ["joint", pytest.param("absolute", marks=pytest.mark.further)])
def test_stiff_bodies_move_as_rigid_ones(coordinates: str) -> None:
    """The motion of a double pendulum with a body at its tip differs by a part that falls as 1 / E."""
    m = BEAM["rho"] * BEAM["A"]
    rods = [BodyShape(name, m=m, r=(1.0, 0), r_CM=(0.5, 0), I_33=m / 12) for name in ("upper", "fore")]
    joints = Revolute("shoulder", phi=0.3, w=0.5), Revolute("elbow", phi=0.5, w=-1.0)
    tip = Body("tip", m=0.5, I_33=0.04)
    ways: dict[str, Any] = {"stop": 0.5, "output_interval": 0.1, "step": 2e-3, "stepper": "radau", "error_samples": 0}
    rigid = mbfmu.simulate(chain(joints[0], rods[0], joints[1], rods[1], tip), **ways)
    errors = []
    for E in (1e9, 1e12):
        beams = [beam(name, E=E) for name in ("upper", "fore")]
        run = mbfmu.simulate(chain(joints[0], beams[0], joints[1], beams[1], tip), coordinates=coordinates, **ways)
        errors.append(np.abs(run["elbow.phi"] - rigid["elbow.phi"]).max())
    assert errors[1] < errors[0] / 300
    assert errors[1] < 1e-5


@pytest.mark.parametrize("planar", [True, pytest.param(False, marks=pytest.mark.further)])
def test_free_bodies_keep_their_momentum_in_joint_coordinates(planar: bool) -> None:
    tip = Body("tip", m=0.5, r_CM=(0.1, 0.05, 0.0), I_11=0.02, I_22=0.03, I_33=0.04)
    rod, hinge = beam("rod", modes=1, zeta=0.0, axial=1), Revolute("hinge", n=(0, 0, 1), w=3.0)
    still = {"v_rel": (0, 0), "w": 0.0} if planar else {"v_rel": (0, 0, 0), "w_rel": (0, 0, 0)}
    model = chain(FreeMotion("free", **still), rod, hinge, tip, planar=planar)
    run = mbfmu.simulate(
        replace(model, components=(World(g=0.0), *model.components[1:])), stop=0.1, step=1e-3, stepper="nodal_impulse",
        coordinates="joint", output_interval=0.02,
    )  # fmt: skip
    names = [name for name in run.names if name.startswith("momentum.")]
    assert len(names) == (3 if planar else 6)
    for name in names:
        assert np.ptp(run[name]) < 1e-12 * (1 + np.abs(run[name]).max())
    assert np.ptp(run["rod.eta[1]"]) > 1e-3


@pytest.mark.further
@pytest.mark.parametrize("stepper", sorted(mbfmu.steppers()))
def test_every_stepper_takes_flexible_bodies_in_joint_coordinates(stepper: str) -> None:
    model = FLEXIBLE["row"]
    ways: dict[str, Any] = {"stop": 0.1, "coordinates": "joint", "output_interval": 0.1}
    exact = mbfmu.simulate(model, stepper="radau", step=1e-3, **ways)
    run = mbfmu.simulate(model, stepper=stepper, step=1e-4, **ways)
    for name in ("hinge.phi", "one.eta[1]", "two.eta[3]", "three.eta_t[1]"):
        assert run[name][-1] == pytest.approx(exact[name][-1], abs=1e-4 * (1 + np.abs(exact[name]).max()))


@pytest.mark.parametrize("planar", [True, False])
def test_a_rigid_link_costs_the_same_operations_where_flexible_bodies_hang_on_it(planar: bool) -> None:
    """What one more link adds to the force and to the acceleration, in a chain that ends in a body or in a beam.

    The chain is so long that with either end its accelerations are those of articulated bodies.
    """

    def operations(count: int, last: Component) -> list[int]:
        r, r_CM = ((1.0, 0.1), (0.5, 0.0)) if planar else ((1.0, 0.1, 0.2), (0.5, 0.0, 0.1))
        rods = [BodyShape(f"rod{k}", m=1.0, r=r, r_CM=r_CM, I_11=0.1, I_22=0.2, I_33=0.3) for k in range(count)]
        joints = [Revolute(f"joint{k}", n=(0, 0, 1) if planar or k % 2 else (0, 1, 0)) for k in range(count)]
        pairs = (item for pair in zip(joints, rods, strict=True) for item in pair)
        dae = derive(chain(*pairs, Revolute("end", n=(0, 0, 1) if planar else (1, 0, 0)), last, planar=planar), "joint")
        return [
            read_program(item).size
            for item in (dae.equations.force, dae.equations.free_acceleration, dae.equations.mass_solve)
        ]

    ends = Body("tip", m=0.5, r_CM=(0.1, 0.05, 0.0), I_11=0.02, I_22=0.03, I_33=0.04), beam("tip")
    added = [np.subtract(operations(17, last), operations(16, last)).tolist() for last in ends]
    assert added[0] == added[1]
