"""Drake where something touches: discrete plants with point contact, by SAP and by the lagged solver.

A contact is a spring and a damper, whose relaxation time gives the restitution, as stiff as the step allows; a body
that rests begins as deep as it rests. Pushes that change with time are sources in the diagram. Where nothing bounces,
also the continuous plant by its RK3 with equal steps, whose friction is viscous below the stiction tolerance.
"""

import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from math import cos, sin
from typing import Any

import numpy as np

from benchmarks.case import MOST, Case, End, damping, number_of_steps, touched
from benchmarks.task import Task

analysis = import_module("pydrake.systems.analysis")
framework = import_module("pydrake.systems.framework")
geometry = import_module("pydrake.geometry")
math = import_module("pydrake.math")
plants = import_module("pydrake.multibody.plant")
primitives = import_module("pydrake.systems.primitives")
trajectories = import_module("pydrake.trajectories")
tree = import_module("pydrake.multibody.tree")

FREQUENCIES = (0.03, 0.1, 0.3), (0.1, 0.3, 1.0)
"""Frequencies of a contact, times the step, with bouncing and without; the solvers' own damping ratio is half."""
DISCRETE = {"SAP": "kSap", "lagged": "kLagged"}
RADIUS = 0.1


def cases(task: Task) -> Iterator[Case]:
    """Return the discrete solvers, each with contacts of some stiffnesses, and RK3."""
    for solver in DISCRETE:
        if task.touching == "ball" and solver != "SAP":
            continue  # only SAP has a linear damper; the others damp by Hunt and Crossley's law
        for frequency in FREQUENCIES[task.touching != "ball"]:
            once = partial(run, task, solver, frequency)
            yield Case(task, "drake", f"{solver}, contact {frequency:g}/h", "joint", once, finest=task.stop / MOST)
    if task.touching in {"block", "belt"}:
        yield Case(task, "drake", "RK3, continuous", "joint", partial(run, task, "", 0.1), finest=task.stop / MOST)


def run(task: Task, solver: str, frequency: float, h: float) -> End:
    """Run the whole time; return how it went."""
    n = number_of_steps(task, h)
    h = task.stop / n
    diagram, plant, joints = build(task, solver, frequency / h, h)
    simulator = analysis.Simulator(diagram)
    if not solver:
        analysis.ResetIntegratorFromFlags(simulator, "runge_kutta3", h)
        simulator.get_mutable_integrator().set_fixed_step_mode(True)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    value = task.values
    if task.touching == "puck":
        joints[0].set_translation_rate(context, value["v_1"])
        joints[1].set_translation_rate(context, value["v_2"])
        joints[2].set_translation(context, value["height"])
    elif task.touching == "ball":
        joints[0].set_translation(context, value["h"])
    else:  # as deep as it rests
        g = plant.gravity_field().gravity_vector()
        joints[-1].set_translation(context, g[2] / (frequency / h) ** 2)
    simulator.Initialize()
    begin = time.process_time()
    try:
        simulator.AdvanceTo(task.stop)
    except RuntimeError:
        return End(np.nan, n, *([np.inf] * 4))
    seconds = time.process_time() - begin
    q = [joint.get_translation(context) for joint in joints]
    if task.touching == "belt":
        q[0] += value["v_belt"] * task.stop
    watched = (q[0], joints[0].get_translation_rate(context)) if task.touching == "ball" else q
    return touched(task, seconds, n, dict(zip(task.exact, watched, strict=False)), q[-1])


def build(task: Task, solver: str, w: float, h: float) -> tuple[Any, Any, list[Any]]:
    """Return a diagram, its plant and the joints, with contacts of the angular frequency w, rad/s."""
    value, builder = task.values, framework.DiagramBuilder()
    plant, _ = plants.AddMultibodyPlantSceneGraph(builder, h if solver else 0.0)
    if solver:
        plant.set_discrete_contact_approximation(getattr(plants.DiscreteContactApproximation, DISCRETE[solver]))
    g, alpha = value.get("g", value.get("world.g", 9.81)), value.get("alpha", 0.0)
    plant.mutable_gravity_field().set_gravity_vector(np.array([g * sin(alpha), 0.0, -g * cos(alpha)]))
    m = value["m"]
    mu = value["F_k"] / (m * g) if task.touching == "belt" else value.get("mu", 0.0)
    material = geometry.ProximityProperties()
    ratio = max(damping(value.get("e", 0.0)) - w * h / 2, 0.0)
    friction = plants.CoulombFriction(mu, mu)
    geometry.AddContactMaterial(
        dissipation=1.0, point_stiffness=2 * m * w**2, friction=friction, properties=material
    )  # of two bodies with the same numbers: half the stiffness, twice the relaxation time
    material.AddProperty("material", "relaxation_time", ratio / w)
    axes = {"ball": "z", "block": "xz", "puck": "xyz", "belt": "xz"}[task.touching]
    joints, body = [], plant.world_body()
    for axis in axes:
        last = axis == axes[-1]
        inertia = tree.SpatialInertia.SolidSphereWithMass(m, RADIUS) if last else tree.SpatialInertia.Zero()
        child = plant.AddRigidBody(f"link_{axis}", inertia)
        joints.append(slide(plant, body, child, axis))
        body = child
    if task.touching == "belt":  # seen from the belt, where the spring's other end runs away
        plant.AddForceElement(tree.PrismaticSpring(joints[0], 0.0, value["k"]))
        joints[0].set_default_damping(value["c"])
    level = math.RigidTransform()
    plant.RegisterCollisionGeometry(plant.world_body(), level, geometry.HalfSpace(), "ground", material)
    plant.RegisterCollisionGeometry(
        body, math.RigidTransform([0.0, 0.0, RADIUS]), geometry.Sphere(RADIUS), "it", material
    )
    if task.touching in {"block", "belt"}:
        plant.AddJointActuator("push", joints[0])
    plant.Finalize()
    if not solver:
        plant.set_stiction_tolerance(1e-6)
    if task.touching == "block":
        source = builder.AddSystem(primitives.Sine(value["P"], value["omega_push"], 0.0, 1))
    elif task.touching == "belt":
        k, c, v = (value[name] for name in ("k", "c", "v_belt"))
        ends = [[-c * v, -c * v - k * v * task.stop]]
        course = trajectories.PiecewisePolynomial.FirstOrderHold([0.0, task.stop], ends)
        source = builder.AddSystem(primitives.TrajectorySource(course))
    if task.touching in {"block", "belt"}:
        builder.Connect(source.get_output_port(0), plant.get_actuation_input_port())
    return builder.Build(), plant, joints


def slide(plant: Any, parent: Any, child: Any, axis: str) -> Any:
    """Add a joint along x, y or z; return it."""
    along = np.eye(3)["xyz".index(axis)]
    return plant.AddJoint(tree.PrismaticJoint(f"{child.name()}_{axis}", parent.body_frame(), child.body_frame(), along))
