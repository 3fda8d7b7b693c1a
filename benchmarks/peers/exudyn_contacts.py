"""Exudyn where something touches: its contact and friction objects, in its own loops without range checks.

Gaps are `ObjectContactCoordinate` (the ball) and `ObjectContactSphereTriangle` (the puck): springs and dampers, as
stiff as the step allows. Friction of a given normal force is `ObjectConnectorCoordinateSpringDamperExt`: bristles with
implicit methods, as its manual advises, and made viscous below a small speed with explicit ones. Pushes and belts are
coordinates of their own, in the same linear equations.
"""

from collections.abc import Iterator
from functools import partial
from math import cos, hypot, log, pi, sin
from time import process_time
from typing import Any

import numpy as np

from benchmarks.case import MOST, Case, End, number_of_steps, touched
from benchmarks.peers.exudyn import exu, items
from benchmarks.task import Task

FREQUENCIES = {"ball": (0.01, 0.03, 0.1), "puck": (0.3, 1.0), "block": (0.3, 1.0, 10.0), "belt": (0.3, 1.0, 10.0)}
"""Frequencies of a contact or of a bristle, times the step, that are tried."""
METHODS = ("RK44", "TrapezoidalIndex2", "GeneralizedAlpha")
HEAVY = 1e12
"""Mass of the belt, kg: its velocity stays."""
RADIUS, INERTIA = 0.1, 1e9
"""Of the puck's ball, m and kg m2: friction turns it by nothing."""


def cases(task: Task) -> Iterator[Case]:
    """Return explicit and implicit methods, each with contacts of some stiffnesses."""
    for method in METHODS:
        for frequency in FREQUENCIES[task.touching]:
            label = f"{method}, contact {frequency:g}/h"
            once = partial(run, task, method, frequency)
            yield Case(task, "exudyn", label, "absolute", once, finest=task.stop / MOST)


def run(task: Task, method: str, frequency: float, h: float) -> End:
    """Run the whole time; return how it went."""
    n = number_of_steps(task, h)
    w = frequency * n / task.stop
    mbs = exu.SystemContainer().AddSystem()
    e = task.values.get("e", 0.0)
    ratio = -log(e) / hypot(pi, log(e)) if e else 1.0  # a spring and damper that also pull until the gap opens
    {"ball": ball, "block": block, "belt": belt, "puck": puck}[task.touching](mbs, task, w, ratio, method == "RK44")
    mbs.Assemble()
    seconds = solve(mbs, task, n, method)
    q, v = (np.array(getattr(mbs.systemData, f"GetODE2Coordinates{name}")()) for name in ("", "_t"))
    watched = (q[0], v[0]) if task.touching == "ball" else q
    gap = {"ball": q[0], "puck": q[min(2, len(q) - 1)]}.get(task.touching, 0.0)
    return touched(task, seconds, n, dict(zip(task.exact, map(float, watched), strict=False)), float(gap))


def point(mbs: Any, m: float, q: float = 0.0, v: float = 0.0) -> tuple[Any, Any]:
    """Add a mass with one coordinate; return its node and a marker of the coordinate."""
    node = mbs.AddNode(items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[q], initialVelocities=[v]))
    mbs.AddObject(items.ObjectMass1D(nodeNumber=node, physicsMass=m))
    return node, mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=0))


def still(mbs: Any) -> Any:
    """Add a marker that does not move; return it."""
    return mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0))


def data(mbs: Any, values: list[float]) -> Any:
    """Add what a contact remembers; return its node."""
    return mbs.AddNode(items.NodeGenericData(numberOfDataCoordinates=len(values), initialCoordinates=values))


def ball(mbs: Any, task: Task, w: float, ratio: float, _: bool) -> None:
    """Build the ball."""
    value, m = task.values, task.values["m"]
    _, marker = point(mbs, m, value["h"])
    mbs.AddLoad(items.LoadCoordinate(markerNumber=marker, load=-m * value["g"]))
    contact = items.ObjectContactCoordinate(
        markerNumbers=[still(mbs), marker], nodeNumber=data(mbs, [value["h"]]),
        contactStiffness=m * w**2, contactDamping=2 * ratio * w * m,
    )  # fmt: skip
    mbs.AddObject(contact)


def friction(mbs: Any, markers: list[Any], F: float, w: float, m: float, explicit: bool) -> None:
    """Add friction of the size F between two coordinates."""
    made = items.ObjectConnectorCoordinateSpringDamperExt(
        markerNumbers=markers, dynamicFrictionForce=F,
        nodeNumber=exu.InvalidIndex() if explicit else data(mbs, [0.0, 0.0, 0.0]),
        stickingStiffness=m * w**2, stickingDamping=2 * m * w,
        frictionProportionalZone=F / (m * w) if explicit else 0.0,
    )  # fmt: skip
    mbs.AddObject(made)


def block(mbs: Any, task: Task, w: float, _: float, explicit: bool) -> None:
    """Build the block and an oscillator that pushes it."""
    value, m = task.values, task.values["m"]
    node, marker = point(mbs, m)
    mbs.AddLoad(items.LoadCoordinate(markerNumber=marker, load=m * value["g"] * sin(value["alpha"])))
    friction(mbs, [still(mbs), marker], value["mu"] * m * value["g"] * cos(value["alpha"]), w, m, explicit)
    if value["P"]:
        omega = value["omega_push"]
        shaker = mbs.AddNode(
            items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[0.0], initialVelocities=[omega])
        )
        mbs.AddObject(
            items.ObjectGenericODE2(
                nodeNumbers=[node, shaker], massMatrix=np.diag([0.0, 1.0]),
                stiffnessMatrix=np.array([[0.0, -value["P"]], [0.0, omega**2]]),
            )
        )  # fmt: skip


def belt(mbs: Any, task: Task, w: float, _: float, explicit: bool) -> None:
    """Build the mass, its spring and the belt."""
    value = task.values
    _, mass = point(mbs, value["m"], v=value["v_belt"])
    _, under = point(mbs, HEAVY, v=value["v_belt"])
    mbs.AddObject(
        items.ObjectConnectorCoordinateSpringDamper(
            markerNumbers=[still(mbs), mass], stiffness=value["k"], damping=value["c"]
        )
    )
    friction(mbs, [under, mass], value["F_k"], w, value["m"], explicit)


def puck(mbs: Any, task: Task, w: float, ratio: float, _: bool) -> None:
    """Build the puck, which turns by nothing."""
    value, m = task.values, task.values["m"]
    g = value["world.g"]
    node = mbs.AddNode(
        items.NodeRigidBodyRxyz(
            referenceCoordinates=[0.0] * 6, initialCoordinates=[0.0, 0.0, value["height"], 0.0, 0.0, 0.0],
            initialVelocities=[value["v_1"], value["v_2"], 0.0, 0.0, 0.0, 0.0],
        )
    )  # fmt: skip
    body = mbs.AddObject(
        items.ObjectRigidBody(nodeNumber=node, physicsMass=m, physicsInertia=[INERTIA] * 3 + [0.0] * 3)
    )
    marker = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[0.0, 0.0, RADIUS]))
    center = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
    mbs.AddLoad(items.LoadMassProportional(markerNumber=center, loadVector=[0.0, 0.0, -g]))
    ground = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=mbs.AddObject(items.ObjectGround())))
    mbs.AddObject(
        items.ObjectContactSphereTriangle(
            markerNumbers=[marker, ground], nodeNumber=data(mbs, [0.0] * 4), sphereRadius=RADIUS,
            trianglePoints=exu.Vector3DList([[-100.0, -100.0, 0.0], [100.0, -100.0, 0.0], [0.0, 100.0, 0.0]]),
            includeEdges=0, dynamicFriction=value["mu"], frictionProportionalZone=value["mu"] * g / w,
            contactStiffness=m * w**2, contactDamping=2 * ratio * w * m,
        )
    )  # fmt: skip


def solve(mbs: Any, task: Task, n: int, method: str) -> float:
    """Take all steps; return the processor's time (NaN: given up)."""
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.solution.sensors.active = False
    settings.parallel.numberOfThreads = 1
    integration = settings.timeIntegration
    integration.solverType = getattr(exu.DynamicSolverType, method)
    integration.numberOfSteps = n
    integration.endTime = task.stop
    integration.automaticStepSize = False
    integration.adaptiveStep = False
    integration.stepInformation = 0
    integration.verboseMode = 0
    integration.discontinuous.useRecommendedStepSize = False  # else a run with equal steps ends at the impact
    integration.newton.relativeTolerance = 1e-10
    integration.generalizedAlpha.spectralRadius = 0.9
    integration.generalizedAlpha.useNewmark = method == "TrapezoidalIndex2"
    integration.generalizedAlpha.useIndex2Constraints = method == "TrapezoidalIndex2"
    solver = exu.MainSolverExplicit() if method == "RK44" else exu.MainSolverImplicitSecondOrder()
    solver.InitializeSolver(mbs, settings)
    begin = process_time()
    done = solver.SolveSteps(mbs, settings)
    seconds = process_time() - begin
    solver.FinalizeSolver(mbs, settings)
    return seconds if done else np.nan
