"""Drake: a continuous MultibodyPlant by its RK3 with equal steps, in Simulator's own loop; trees only.

Its loops would be springs, or a discrete plant of first order.
"""

import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module

import numpy as np

from benchmarks.case import MOST, Case, End, judged, number_of_steps
from benchmarks.task import Task

analysis = import_module("pydrake.systems.analysis")
plants = import_module("pydrake.multibody.plant")
tree = import_module("pydrake.multibody.tree")
math = import_module("pydrake.math")


def cases(task: Task) -> Iterator[Case]:
    """Return RK3."""
    if not (task.pins or task.loaded):
        yield Case(task, "drake", "RK3", "joint", partial(run, task), finest=task.stop / MOST)


def run(task: Task, h: float) -> End:
    """Run the whole time; return how it went."""
    n = number_of_steps(task, h)
    plant = plants.MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector(np.array(task.gravity))
    bodies, joints = {-1: plant.world_body()}, []
    for i, link in enumerate(task.links):
        center = np.array(link.center)
        about = tree.RotationalInertia(*link.inertia)
        inertia = tree.SpatialInertia.MakeFromCentralInertia(link.m, center, about)
        bodies[i] = plant.AddRigidBody(f"link{i}", inertia)
        place = math.RigidTransform(np.array(link.at))
        inboard = plant.AddFrame(tree.FixedOffsetFrame(f"at{i}", bodies[link.parent].body_frame(), place))
        hinge = tree.RevoluteJoint(f"joint{i}", inboard, bodies[i].body_frame(), np.array(link.axis))
        joints.append(plant.AddJoint(hinge))
    plant.Finalize()
    simulator = analysis.Simulator(plant)
    analysis.ResetIntegratorFromFlags(simulator, "runge_kutta3", task.stop / n)
    integrator = simulator.get_mutable_integrator()
    integrator.set_fixed_step_mode(True)
    context = simulator.get_mutable_context()
    for joint, link in zip(joints, task.links, strict=True):
        joint.set_angle(context, link.q)
        joint.set_angular_rate(context, link.v)
    simulator.Initialize()
    begin = time.perf_counter()
    simulator.AdvanceTo(task.stop)
    seconds = time.perf_counter() - begin
    q = np.array([joint.get_angle(context) for joint in joints])
    v = np.array([joint.get_angular_rate(context) for joint in joints])
    return judged(task, seconds, integrator.get_num_steps_taken(), q, v)
