"""System -> Dae in absolute coordinates: (x, y, phi) or (r, Q) of every body, multipliers for every joint.

The origin of a rigid body's coordinates is its centre of mass, so that the mass matrix is block diagonal. Parts that
flexible ones hold together have the coordinates of one of them, where a joint leads to, and the shape coordinates: they
come last, and what they have in inertia is computed from part to part as in joint coordinates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca

from mbfmu.dae.augmented import Light, augmented
from mbfmu.dae.bodies import Bodies, Carried, Coordinates
from mbfmu.dae.dae import Dae
from mbfmu.dae.equations import equations
from mbfmu.dae.inertia import inertial_terms
from mbfmu.dae.tree.links import Branch, Links, bond, unit
from mbfmu.model.frame import SX, G_matrix, Pose, identity
from mbfmu.model.mechanism import flatten
from mbfmu.model.system import System


def absolute(
    system: System,
    turning: bool = False,
    formulas: Mapping[str, str] | None = None,
    choices: Sequence[str] = (),
    weightless: bool = False,
    spare: int = 0,
) -> Dae:
    """Derive the equations of a system in absolute coordinates.

    Args:
        system: the mechanism.
        turning: see `Bodies`.
        formulas: see `flatten`.
        choices: see `flatten`.
        weightless: see `Mechanism`.
        spare: see `Bodies`.

    Raises:
        MassError: the constraints allow a motion without mass.
        ModelError: the system is invalid; the message says what to mend.
    """
    mechanism = replace(flatten(system, formulas, choices), weightless=weightless)
    bodies = Bodies(mechanism, central=True, coordinates=_coordinates, turning=turning, spare=spare)
    light = [
        Light(bodies.own_numbers[index], reason, bodies.is_one_body(index) and bodies.has_negative_inertia(index))
        for index, reason in bodies.lacking.items()
    ]
    return augmented(equations(bodies, inertial_terms(bodies)), light)


def _coordinates(bodies: Bodies) -> Coordinates:
    # Rigid bodies: position and angle or quaternion Q, with |Q|^2 - 1 = 0 and w = 2 G Qdot
    names: list[str] = []
    q, v, poses = [], [], {0: identity(bodies.planar)}
    intrinsic: list[tuple[str, SX]] = []
    dim = bodies.dim
    rates = {0: (ca.SX(dim, 1), ca.SX(1 if bodies.planar else 3, 1))}
    alone = [index for index, _ in bodies.moving() if index not in bodies.bonded]
    for index in alone:
        labels, here, rate = _symbols(bodies, index)
        names += labels
        q.append(here)
        v.append(rate)
        pose = Pose(here[:dim], here[dim:])
        poses[index] = pose
        turning = rate[dim:] if bodies.planar else 2 * G_matrix(pose.angle) @ rate[dim:]
        rates[index] = rate[:dim], turning
        if not bodies.planar:
            intrinsic.append((bodies.owner(index), ca.sumsqr(pose.angle) - 1))
    # Flexible bodies, and those bonded to them: coordinates of links
    links = Links(bodies, names)
    held = [edge for edge in bodies.tree.order if edge.far in bodies.bonded]
    for edge in held:
        links.add(_free(bodies, edge.far) if edge.path else bond(bodies, edge))
        poses[edge.far], *others = links.origin(edge.far)
        rates[edge.far] = others[0], others[1]
    empty = ca.SX(0, 1)
    return Coordinates(
        names=tuple(links.names),
        q=ca.vertcat(empty, *q, links.q),
        v=ca.vertcat(empty, *v, links.v),
        poses=tuple(poses[index] for index in range(len(bodies.groups))),
        rates=tuple(rates[index] for index in range(len(bodies.groups))),
        intrinsic=(*intrinsic, *links.intrinsic),
        carried={},
        order=(*alone, *(edge.far for edge in held)),
        recursive=False,
        links=tuple(links.links),
    )


def _symbols(bodies: Bodies, index: int) -> tuple[list[str], SX, SX]:
    """Return names, coordinates and rates of a body."""
    entries = ("x", "y", "phi") if bodies.planar else ("r[1]", "r[2]", "r[3]", "Q[1]", "Q[2]", "Q[3]", "Q[4]")
    names = [f"{bodies.owner(index)}.{entry}" for entry in entries]
    here = ca.vertcat(*(ca.SX.sym(name) for name in names))
    return names, here, ca.vertcat(*(ca.SX.sym(f"der({name})") for name in names))


def _free(bodies: Bodies, index: int) -> Branch:
    """Return the branch from the world to the first of the bodies that flexible parts hold together."""
    _, here, rate = _symbols(bodies, index)
    dim, turn = bodies.dim, slice(bodies.dim, here.numel())
    angle, turning = (here[turn], rate[turn]) if bodies.planar else unit(here[turn], rate[turn])
    w_b = turning if bodies.planar else 2 * G_matrix(angle) @ turning
    names = ("x", "y", "phi") if bodies.planar else ("r", "Q")
    sizes = (0, 1, 2, 3) if bodies.planar else (0, 3, 7)
    coordinates, rates = (dict(zip(names, ca.vertsplit(item, sizes), strict=True)) for item in (here, rate))
    carried = Carried(coordinates, rates, Pose(here[:dim], angle), rate[:dim], w_b)
    origin = identity(bodies.planar)
    quaternions = () if bodies.planar else (turn,)
    return Branch(0, index, bodies.owner(index), carried, quaternions, True, origin, origin)
