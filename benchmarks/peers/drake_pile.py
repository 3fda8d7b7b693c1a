"""Drake with many contacts: discrete plants with point contact by SAP, see `drake_contacts`."""

import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import damping
from benchmarks.pile import Heap, Seen, Watch, Way, push, steps

analysis = import_module("pydrake.systems.analysis")
framework = import_module("pydrake.systems.framework")
geometry = import_module("pydrake.geometry")
math = import_module("pydrake.math")
plants = import_module("pydrake.multibody.plant")
tree = import_module("pydrake.multibody.tree")

FREQUENCIES = (0.1, 0.3)
"""Frequencies of a contact, times the step, that are tried; the solver's own damping ratio is half."""


def ways(task: Heap) -> Iterator[Way]:
    """Return SAP with contacts of some stiffnesses."""
    for frequency in FREQUENCIES:
        yield Way("drake", f"SAP, contact {frequency:g}/h", partial(run, task, frequency))


def run(task: Heap, frequency: float, h: float, watch: Watch | None) -> float:
    """Run the whole time; return the processor's time."""
    n = steps(task, h)
    h = task.stop / n
    diagram, plant, bodies = build(task, frequency, h)
    simulator = analysis.Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for body, place in zip(bodies, task.places, strict=True):
        plant.SetFreeBodyPose(context, body, math.RigidTransform(place))
    simulator.Initialize()
    results = plant.get_contact_results_output_port()
    numbers = {int(body.index()): k for k, body in enumerate(bodies)}
    begin = time.process_time()
    try:
        if watch is None:
            simulator.AdvanceTo(task.stop)
            return time.process_time() - begin
        for k in range(n):
            pairs = results.Eval(context)  # of the step that follows
            acting = [pairs.point_pair_contact_info(i) for i in range(pairs.num_point_pair_contacts())]
            acting = [(numbers.get(int(i.bodyA_index()), -1), numbers[int(i.bodyB_index())], i) for i in acting]
            acting = [(a, b, i.contact_force().copy(), i.point_pair().nhat_BA_W.copy()) for a, b, i in acting]
            simulator.AdvanceTo((k + 1) * h)
            r = np.array([body.EvalPoseInWorld(context).translation() for body in bodies])
            rates = [body.EvalSpatialVelocityInWorld(context) for body in bodies]
            v, w = np.array([i.translational() for i in rates]), np.array([i.rotational() for i in rates])
            pushes = [
                push(task, r, v, w, b, a if a >= 0 else -1 - int(np.argmax(task.walls[:, :3] @ -normal)), f)
                for a, b, f, normal in acting
            ]
            watch(Seen(r, v, w, pushes))
    except RuntimeError:
        return float("nan")
    return time.process_time() - begin


def build(task: Heap, frequency: float, h: float) -> tuple[Any, Any, list[Any]]:
    """Return a diagram, its plant and the spheres."""
    builder, w = framework.DiagramBuilder(), frequency / h
    plant, _ = plants.AddMultibodyPlantSceneGraph(builder, h)
    plant.set_discrete_contact_approximation(plants.DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector(np.array([0.0, 0.0, -task.g]))
    material = geometry.ProximityProperties()
    geometry.AddContactMaterial(
        dissipation=1.0, point_stiffness=2 * task.m * w**2,
        friction=plants.CoulombFriction(task.mu, task.mu), properties=material,
    )  # fmt: skip
    material.AddProperty("material", "relaxation_time", max(damping(task.e) - frequency / 2, 0.0) / w)
    for k, (*n, d) in enumerate(task.walls):
        pose = geometry.HalfSpace.MakePose(np.array(n), np.array(n) * d)
        plant.RegisterCollisionGeometry(plant.world_body(), pose, geometry.HalfSpace(), f"wall{k}", material)
    bodies = []
    for k in range(len(task.places)):
        body = plant.AddRigidBody(f"sphere{k}", tree.SpatialInertia.SolidSphereWithMass(task.m, task.radius))
        ball = geometry.Sphere(task.radius)
        plant.RegisterCollisionGeometry(body, math.RigidTransform(), ball, f"ball{k}", material)
        bodies.append(body)
    plant.Finalize()
    return builder.Build(), plant, bodies
