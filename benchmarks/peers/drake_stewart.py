"""Drake: the Stewart platform of the library, a discrete plant; ball constraints of SAP hold its legs to the plate."""

import time
from importlib import import_module
from typing import Any

import numpy as np

from mbfmu.model import Body, FixedRotation, FixedTranslation, System

analysis = import_module("pydrake.systems.analysis")
geometry = import_module("pydrake.common.eigen_geometry")
math = import_module("pydrake.math")
plants = import_module("pydrake.multibody.plant")
tree = import_module("pydrake.multibody.tree")


def run(system: System, h: float, n: int) -> tuple[float, float]:
    """Take n steps from home, with no forces in the legs; return their time, s, and the extension of a leg, m.

    Args:
        system: of the library.
        h: step, s.
        n: number of steps.
    """
    parts: dict[str, Any] = {item.name: item for item in system.components}
    plant = plants.MultibodyPlant(h)
    plant.set_discrete_contact_approximation(plants.DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector(np.array([0.0, 0.0, -9.81]))
    plate = body_of(plant, parts["platform"])
    for k in range(1, 7):
        foot, home, head = (parts[f"{name}{k}"] for name in ("foot", "home", "head"))
        assert isinstance(foot, FixedRotation)
        assert isinstance(home, FixedTranslation)
        assert isinstance(head, FixedTranslation)
        turn = math.RotationMatrix(geometry.AngleAxis(foot.angle, np.array(foot.n, dtype=float)))
        pose = math.RigidTransform(turn, np.array(foot.r, dtype=float))
        base = plant.AddFrame(tree.FixedOffsetFrame(f"foot{k}", plant.world_frame(), pose))
        tube, rod = body_of(plant, parts[f"tube{k}"]), body_of(plant, parts[f"rod{k}"])
        plant.AddJoint(tree.UniversalJoint(f"base{k}", base, tube.body_frame()))
        along = math.RigidTransform(np.array(home.r, dtype=float))
        slide = plant.AddFrame(tree.FixedOffsetFrame(f"home{k}", tube.body_frame(), along))
        plant.AddJoint(tree.PrismaticJoint(f"leg{k}", slide, rod.body_frame(), np.array([0.0, 0.0, 1.0])))
        plant.AddBallConstraint(rod, np.zeros(3), plate, np.array(head.r, dtype=float))
    plant.Finalize()
    simulator = analysis.Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetFreeBodyPose(context, plate, math.RigidTransform(np.array(parts["platform"].r_0, dtype=float)))
    simulator.Initialize()
    begin = time.process_time()
    simulator.AdvanceTo(n * h)
    seconds = time.process_time() - begin
    return seconds, float(plant.GetJointByName("leg1").get_translation(context))


def body_of(plant: Any, part: object) -> Any:
    """Return a body of the plant with the inertia of one of the system."""
    assert isinstance(part, Body)
    about = tree.RotationalInertia(*(float(item) for item in (part.I_11, part.I_22, part.I_33)))
    center = np.array(part.r_CM or (0.0, 0.0, 0.0), dtype=float)
    return plant.AddRigidBody(part.name, tree.SpatialInertia.MakeFromCentralInertia(float(part.m), center, about))
