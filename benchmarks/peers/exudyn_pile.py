"""Exudyn with many contacts: its `GeneralContact` between spheres and triangles, see `exudyn_contacts`."""

from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmarks.case import damping
from benchmarks.peers.exudyn import exu, items
from benchmarks.pile import Heap, Seen, Watch, Way, steps

FREQUENCIES = (0.1, 0.3)
"""Frequencies of a contact, times the step, that are tried."""
METHODS = ("ExplicitMidpoint", "VelocityVerlet")
FAR = 2.0
"""How far the triangles of the box reach, m."""


def ways(task: Heap) -> Iterator[Way]:
    """Return explicit methods, which its examples with many spheres use, with contacts of some stiffnesses."""
    for method in METHODS:
        for frequency in FREQUENCIES:
            yield Way("exudyn", f"{method}, contact {frequency:g}/h", partial(run, task, method, frequency))


def run(task: Heap, method: str, frequency: float, h: float, watch: Watch | None) -> float:
    """Run the whole time; return the processor's time."""
    n = steps(task, h)
    mbs = exu.SystemContainer().AddSystem()
    nodes = build(mbs, task, frequency * n / task.stop)
    kinds = exu.OutputVariableType

    def look(mbs: Any, _: float) -> bool:
        found = (kinds.Position, kinds.Velocity, kinds.AngularVelocity)
        r, v, w = (np.array([mbs.GetNodeOutput(node, kind) for node in nodes]) for kind in found)
        assert watch is not None
        watch(Seen(r, v, w, None))
        return True

    if watch is not None:
        mbs.SetPostStepUserFunction(look)
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.solution.sensors.active = False
    settings.parallel.numberOfThreads = 1
    integration = settings.timeIntegration
    integration.numberOfSteps = n
    integration.endTime = task.stop
    integration.automaticStepSize = False
    integration.stepInformation = 0
    integration.verboseMode = 0
    integration.explicitIntegration.computeEndOfStepAccelerations = False
    integration.explicitIntegration.dynamicSolverType = getattr(exu.DynamicSolverType, method)
    solver = exu.MainSolverExplicit()
    solver.InitializeSolver(mbs, settings)
    begin = process_time()
    done = solver.SolveSteps(mbs, settings)
    seconds = process_time() - begin
    solver.FinalizeSolver(mbs, settings)
    return seconds if done else float("nan")


def build(mbs: Any, task: Heap, w: float) -> list[Any]:
    """Add spheres and box, with contacts of the angular frequency w, rad/s; return the spheres' nodes."""
    # two of them in series have half the stiffness and, as dampers in parallel, twice the damping
    stiffness, rate = 2 * task.m * w**2, damping(task.e) * w * task.m
    contact = mbs.AddGeneralContact()
    contact.sphereSphereContact = True
    contact.SetFrictionPairings(task.mu * np.eye(1))
    contact.SetFrictionProportionalZone(task.mu * task.g / w)
    contact.SetSearchTreeCellSize([4, 4, 4])
    contact.SetSearchTreeBox([-FAR / 2, -FAR / 2, -task.side], [FAR / 2, FAR / 2, FAR])
    ground = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=mbs.AddObject(items.ObjectGround())))
    for *n, d in task.walls:
        normal = np.array(n)
        one = FAR * np.roll(normal, 1)
        other = np.cross(normal, one)
        corners = [normal * d + s * one + t * other for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        contact.AddTrianglesRigidBodyBased(
            rigidBodyMarkerIndex=ground, contactStiffness=stiffness, contactDamping=rate, frictionMaterialIndex=0,
            pointList=corners, triangleList=[[0, 1, 2], [0, 2, 3]],
        )  # fmt: skip
    nodes = []
    for place in task.places:
        node = mbs.AddNode(
            items.NodeRigidBodyRotVecLG(referenceCoordinates=[*place, 0.0, 0.0, 0.0], initialVelocities=[0.0] * 6)
        )
        inertia = [task.inertia] * 3 + [0.0] * 3
        body = mbs.AddObject(items.ObjectRigidBody(nodeNumber=node, physicsMass=task.m, physicsInertia=inertia))
        center = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=center, loadVector=[0.0, 0.0, -task.g]))
        contact.AddSphereWithMarker(
            mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=node)), radius=task.radius, contactStiffness=stiffness,
            contactDamping=rate, frictionMaterialIndex=0,
        )  # fmt: skip
        nodes.append(node)
    return nodes
