"""System -> Dae in absolute coordinates: (x, y, phi) or (r, Q) of every body, multipliers for every joint.

The origin of a rigid body's coordinates is its centre of mass, so that the mass matrix is block diagonal. That of a
body with flexible parts is the frame_a of its first part; the shape coordinates of all flexible parts come last.
"""

from collections.abc import Mapping, Sequence

import casadi as ca

from mbfmu.dae.bodies import Bodies, Coordinates
from mbfmu.dae.dae import Dae
from mbfmu.dae.equations import equations
from mbfmu.dae.inertia import inertial_terms
from mbfmu.model.frame import SX, G_matrix, Pose, identity
from mbfmu.model.mechanism import flatten
from mbfmu.model.system import System


def absolute(
    system: System,
    turning: bool = False,
    formulas: Mapping[str, str] | None = None,
    choices: Sequence[str] = (),
) -> Dae:
    """Derive the equations of a system in absolute coordinates.

    Args:
        system: the mechanism.
        turning: see `Bodies`.
        formulas: see `flatten`.
        choices: see `flatten`.

    Raises:
        ModelError: the system is invalid; the message says what to mend.
    """
    bodies = Bodies(flatten(system, formulas, choices), central=True, coordinates=_coordinates, turning=turning)
    return equations(bodies, inertial_terms(bodies))


def _coordinates(bodies: Bodies) -> Coordinates:
    names: list[str] = []
    q, v, poses = [], [], [identity(bodies.planar)]
    intrinsic: list[tuple[str, SX]] = []
    dim = bodies.dim
    rates = [(ca.SX(dim, 1), ca.SX(1 if bodies.planar else 3, 1))]
    entries = ("x", "y", "phi") if bodies.planar else ("r[1]", "r[2]", "r[3]", "Q[1]", "Q[2]", "Q[3]", "Q[4]")
    for number, _ in bodies.moving():
        own = [f"{bodies.owner(number)}.{entry}" for entry in entries]
        names += own
        here = ca.vertcat(*(ca.SX.sym(name) for name in own))
        rate = ca.vertcat(*(ca.SX.sym(f"der({name})") for name in own))
        q.append(here)
        v.append(rate)
        pose = Pose(here[:dim], here[dim:])
        poses.append(pose)
        turning = rate[dim:] if bodies.planar else 2 * G_matrix(pose.angle) @ rate[dim:]
        rates.append((rate[:dim], turning))
        if not bodies.planar:
            intrinsic.append((bodies.owner(number), ca.sumsqr(pose.angle) - 1))
    for shape in bodies.shapes.values():
        names += shape.names
        q.append(shape.eta)
        v.append(shape.rate)
    empty = ca.SX(0, 1)
    return Coordinates(
        tuple(names), ca.vertcat(empty, *q), ca.vertcat(empty, *v), tuple(poses), tuple(rates),
        tuple(intrinsic), {}, recursive=False,
    )  # fmt: skip
