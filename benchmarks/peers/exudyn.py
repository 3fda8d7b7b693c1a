"""Exudyn: its own loops in C++, without range checks; a tree in joint coordinates, all else in absolute ones.

Timed are the steps alone, without assembly. Bodies of planar tasks are planar ones. Dense solver for few bodies, sparse
for many; nothing is written while it runs.
"""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import MOST, Case, End, judged, number_of_steps
from benchmarks.judge import Array, Poses, poses
from benchmarks.task import ORIGIN, Task, Vector3, X, Y

setattr(sys, "exudynFast", True)  # noqa: B010 - what Exudyn reads to load the module without range checks
exu = import_module("exudyn")
items = import_module("exudyn.itemInterface")

EXPLICIT = ("RK44", "RK67")
DENSE, FRESH = 8, 3
"""Most planar bodies with which the dense solver, and a new Jacobian in each step, are the faster choice."""
LARGEST_TREE = 32
"""Links up to which the tree is run: its cost grows with their cube."""


def cases(task: Task) -> Iterator[Case]:
    """Return the explicit methods on a tree; generalised alpha and the trapezoidal rule in absolute coordinates."""
    if not task.pins and len(task.links) <= LARGEST_TREE:
        for method in EXPLICIT:
            yield Case(
                task,
                "exudyn",
                method.replace("RK44", "RK4 (RK44)"),
                "joint",
                partial(tree, task, method),
                finest=task.stop / MOST,
            )
    for method, label in (
        ("GeneralizedAlpha", "generalized-alpha rho=0.9"),
        ("TrapezoidalIndex2", "trapezoidal index 2"),
    ):
        yield Case(task, "exudyn", label, "absolute", partial(absolute, task, method), finest=task.stop / MOST)


def tree(task: Task, method: str, h: float) -> End:
    """Run a tree in joint coordinates; return how it went."""
    mbs = exu.SystemContainer().AddSystem()
    N = len(task.links)
    node = mbs.AddNode(
        items.NodeGenericODE2(
            numberOfODE2Coordinates=N,
            referenceCoordinates=[0.0] * N,
            initialCoordinates=[link.q for link in task.links],
            initialCoordinates_t=[link.v for link in task.links],
        )
    )
    kinds = {X: exu.JointType.RevoluteX, Y: exu.JointType.RevoluteY}
    mbs.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=node,
            gravity=list(task.gravity),
            jointTypes=[kinds.get(link.axis, exu.JointType.RevoluteZ) for link in task.links],
            linkParents=[link.parent for link in task.links],
            jointTransformations=exu.Matrix3DList([np.eye(3)] * N),
            jointOffsets=exu.Vector3DList([list(link.at) for link in task.links]),
            linkInertiasCOM=exu.Matrix3DList([np.diag(link.inertia) for link in task.links]),
            linkCOMs=exu.Vector3DList([list(link.center) for link in task.links]),
            linkMasses=[link.m for link in task.links],
        )
    )
    seconds, n = solve(mbs, task, h, method, exu.MainSolverExplicit())
    q, v = (np.array(getattr(mbs.systemData, f"GetODE2Coordinates{name}")()) for name in ("", "_t"))
    return judged(task, seconds, n, q, v)


def absolute(task: Task, method: str, h: float) -> End:
    """Run in absolute coordinates; return how it went."""
    mbs = exu.SystemContainer().AddSystem()
    start = poses(task, *(np.array([getattr(link, name) for link in task.links]) for name in ("q", "v")))
    ground = mbs.AddObject(items.ObjectGround())
    bodies = [body(mbs, task, start, i) for i in range(len(task.links))]
    for i, link in enumerate(task.links):
        ends = [
            (ground, np.array(link.at)) if link.parent < 0 else (bodies[link.parent], seen(task, link.parent, link.at)),
            (bodies[i], seen(task, i, ORIGIN)),
        ]
        if link.slides:
            hold(mbs, bodies[i], rows=(1, 2))
        elif task.planar:
            pin(mbs, ends)
        else:
            inward = start.R[link.parent] if link.parent >= 0 else np.eye(3)
            mbs.CreateRevoluteJoint(
                itemNumbers=[ends[0][0], ends[1][0]],
                position=list(start.r[i]),
                axis=list(inward @ np.array(link.axis)),
                useGlobalFrame=True,
                show=False,
            )
    for item in task.pins:
        pin(mbs, [(bodies[item.a], seen(task, item.a, item.at_a)), (bodies[item.b], seen(task, item.b, item.at_b))])
    for number, link in zip(bodies, task.links, strict=True):
        if link.torque:
            mbs.CreateTorque(itemNumber=number, loadVector=[0.0, 0.0, link.torque], show=False)
    for spring in task.springs:
        pairs = ((spring.a, spring.at_a), (spring.b, spring.at_b))
        points = [(bodies[i], seen(task, i, at)) if i >= 0 else (ground, np.array(at)) for i, at in pairs]
        markers = [mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=at, localPosition=list(r))) for at, r in points]
        spring_of = items.ObjectConnectorSpringDamper
        mbs.AddObject(spring_of(markerNumbers=markers, referenceLength=spring.length, stiffness=spring.c))
    seconds, n = solve(mbs, task, h, method, exu.MainSolverImplicitSecondOrder())
    return judged(task, seconds, n, None, None, ends_of(mbs, task, bodies))


def body(mbs: Any, task: Task, start: Poses, number: int) -> Any:
    """Add a link, its reference point at the centre of mass; return its number."""
    link = task.links[number]
    center, velocity = start.point(number, link.center)
    inertia = import_module("exudyn.rigidBodyUtilities").RigidBodyInertia(link.m, np.diag(link.inertia))
    return mbs.CreateRigidBody(
        referencePosition=list(center),
        referenceRotationMatrix=start.R[number],
        initialVelocity=list(velocity),
        initialAngularVelocity=list(start.w[number]),
        inertia=inertia,
        gravity=list(task.gravity),
        create2D=task.planar,
        show=False,
    )


def seen(task: Task, number: int, at: Vector3) -> Array:
    """Return a point of a link, seen from its centre of mass."""
    return np.subtract(at, task.links[number].center)


def pin(mbs: Any, ends: list[tuple[Any, Array]]) -> None:
    """Join two points in the plane."""
    markers = [mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=at, localPosition=list(r))) for at, r in ends]
    mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))


def hold(mbs: Any, number: Any, rows: tuple[int, ...]) -> None:
    """Hold some coordinates of a planar body."""
    still = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0))
    node = mbs.GetObject(number)["nodeNumber"]
    for row in rows:
        moving = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=row))
        mbs.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[still, moving]))


def solve(mbs: Any, task: Task, h: float, method: str, solver: Any) -> tuple[float, int]:
    """Take all steps; return their wall time (NaN: given up) and number."""
    n, size = number_of_steps(task, h), len(task.links) * (1 if task.planar else 3)
    # with the default tolerance the error stops falling at 5e-6 on andrews
    return march(mbs, task.stop, n, method, solver, size, 1e-10, time.perf_counter), n


def march(
    mbs: Any, stop: float, n: int, method: str, solver: Any, size: int, tolerance: float, clock: Callable[[], float]
) -> float:
    """Take n equal steps; return the time of the loop alone, s; NaN: it was given up.

    Args:
        mbs: the system, not yet assembled.
        stop: s.
        n: number of steps.
        method: name of Exudyn's dynamic solver.
        solver: its solver.
        size: of the system, in planar bodies.
        tolerance: relative, of Newton's method.
        clock: returns seconds.
    """
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.solution.sensors.active = False
    settings.parallel.numberOfThreads = 1
    integration = settings.timeIntegration
    integration.solverType = getattr(exu.DynamicSolverType, method)
    integration.numberOfSteps = n
    integration.endTime = stop
    integration.automaticStepSize = False
    integration.adaptiveStep = False
    integration.stepInformation = 0
    integration.newton.useModifiedNewton = True
    integration.newton.relativeTolerance = tolerance
    integration.generalizedAlpha.spectralRadius = 0.9
    integration.generalizedAlpha.useNewmark = method == "TrapezoidalIndex2"
    integration.generalizedAlpha.useIndex2Constraints = method == "TrapezoidalIndex2"
    integration.newton.modifiedNewtonJacUpdatePerStep = size <= FRESH
    if size > DENSE:
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    solver.InitializeSolver(mbs, settings)
    begin = clock()
    done = solver.SolveSteps(mbs, settings)
    seconds = clock() - begin
    solver.FinalizeSolver(mbs, settings)
    return seconds if done else np.nan


def ends_of(mbs: Any, task: Task, bodies: list[Any]) -> Poses:
    """Return where the links are."""
    kinds = exu.OutputVariableType

    def all_of(kind: Any) -> Array:
        return np.array([mbs.GetObjectOutputBody(at, kind, list(seen(task, i, ORIGIN))) for i, at in enumerate(bodies)])

    return Poses(
        R=all_of(kinds.RotationMatrix).reshape(-1, 3, 3),
        r=all_of(kinds.Position),
        v=all_of(kinds.Velocity),
        w=all_of(kinds.AngularVelocity),
    )
