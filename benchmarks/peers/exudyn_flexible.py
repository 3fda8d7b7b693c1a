"""Exudyn: ANCF cables that fall, and a bar by the reduced order floating frame of reference formulation (FFRF)."""

import time
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.bending import FALL, MODES, SETS, SWING, Way, bar
from benchmarks.judge import Array
from benchmarks.peers.exudyn import exu, items, march

FEM = import_module("exudyn.FEM")
METHODS = ("GeneralizedAlpha", "TrapezoidalIndex2")
ELEMENTS = (2, 4, 8)
AXIAL = 1e6
"""Axial stiffness of the cable, N: stiffer ones shorten by less than 1e-5, and their steps fail sooner."""
TOLERANCE = 1e-8
"""Exudyn's own for Newton's method: with 1e-10, cables of small steps do not converge."""


def falling() -> Iterator[Way]:
    """Return the ways of the falling beam."""
    for elements in ELEMENTS:
        for method in METHODS:
            yield Way("exudyn", f"{elements} ANCF cables, {method}", partial(_falls, elements, method))


def swinging() -> Iterator[Way]:
    """Return the ways of the reduced bar."""
    for method in METHODS:
        yield Way("exudyn", f"FFRF, {method}", partial(_swings, method))


def _falls(elements: int, method: str, n: int) -> tuple[float, Array]:
    mbs = exu.SystemContainer().AddSystem()
    nodes = [
        mbs.AddNode(items.NodePoint2DSlope1(referenceCoordinates=[k / elements, 0, 1, 0])) for k in range(elements + 1)
    ]
    for k in range(elements):
        cable = mbs.AddObject(
            items.ObjectANCFCable2D(
                nodeNumbers=nodes[k : k + 2], length=1 / elements, massPerLength=1.0, bendingStiffness=5.0,
                axialStiffness=AXIAL,
            )
        )  # fmt: skip
        marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=cable))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, -9.81, 0]))
    still = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0))
    for row in (0, 1):
        moving = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=row))
        mbs.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[still, moving]))
    seconds = _march(mbs, FALL, n, method, elements)
    return seconds, np.array(mbs.GetNodeOutput(nodes[-1], exu.OutputVariableType.Position))[:2]


def _swings(method: str, n: int) -> tuple[float, Array]:
    mbs = exu.SystemContainer().AddSystem()
    body = FEM.ObjectFFRFreducedOrderInterface(_reduced()).AddObjectFFRFreducedOrder(
        mbs, positionRef=[0, 0, 0], gravity=[0, -9.81, 0]
    )["oFFRFreducedOrder"]
    root, tip = (list(map(int, bar().sets[name])) for name in SETS)
    ends = [
        mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=mbs.AddObject(items.ObjectGround()), localPosition=[0, 0, 0])),
        mbs.AddMarker(
            items.MarkerSuperElementRigid(
                bodyNumber=body, meshNodeNumbers=root, weightingFactors=[1 / len(root)] * len(root)
            )
        ),
    ]
    mbs.AddObject(items.GenericJoint(markerNumbers=ends, constrainedAxes=[1, 1, 1, 1, 1, 0]))
    seconds = _march(mbs, SWING, n, method, 1)
    kind = exu.OutputVariableType.Position
    return seconds, np.mean([mbs.GetObjectOutputSuperElement(body, kind, node) for node in tip], axis=0)


def _march(mbs: Any, stop: float, n: int, method: str, size: int) -> float:
    solver = exu.MainSolverImplicitSecondOrder()
    return march(mbs, stop, n, method, solver, size, TOLERANCE, time.process_time)


@cache
def _reduced() -> Any:
    """Return the bar with its modes of Hurty, Craig and Bampton, both ends rigid."""
    model = bar()
    order = np.lexsort((model.dofs[:, 1], model.dofs[:, 0]))
    found = FEM.FEMinterface()
    found.nodes = {"Position": model.nodes}
    found.massMatrix, found.stiffnessMatrix = (csr_matrix(item)[order][:, order] for item in (model.M, model.K))
    found.ComputeHurtyCraigBamptonModes(
        boundaryNodesList=[list(map(int, model.sets[name])) for name in SETS],
        nEigenModes=MODES,
        computationMode=FEM.HCBstaticModeSelection.RBE2,
    )
    return found
