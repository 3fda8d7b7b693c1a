"""Shapes of modes: the displacements of the bodies that belong to a motion of the states."""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.analysis.linearization.mechanism import Point
from mbfmu.dae import Dae

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class BodyMotion:
    """The motion of a body in a mode: amplitudes and phases, complex, resolved in the world frame.

    Args:
        body: full name.
        displacement: of the centre of mass, or of frame_a where there is none, shape (2 or 3,), in units of the largest
            displacement of a point in the mode.
        rotation: shape (1,) in the plane, (3,) in space, rad for a largest displacement of 1 m.
        largest: largest displacement of the body's centre of mass and the points where joints and forces act, relative
            to that of all bodies, from 0 to 1.
    """

    body: str
    displacement: Complex
    rotation: Complex
    largest: float


class BodySlopes:
    """The slopes of the bodies' points and rotations with respect to the coordinates.

    Args:
        dae: the equations.
        point: the state about which they are.
    """

    def __init__(self, dae: Dae, point: Point) -> None:
        self.bodies: dict[str, list[Array]] = {}
        self.turns: dict[str, Array] = {}
        if dae.skeleton is None or not dae.n:
            return
        q = ca.SX.sym("q", dae.n)
        p = ca.DM(point.p)
        points = dae.skeleton.points(q, p, point.t)
        names = {item.name: k for k, item in enumerate(dae.outputs)}
        owners = list(dict.fromkeys(bone.body for bone in dae.skeleton.bones))
        whole = [body for body in owners if f"{body}.r_0[1]" in names]
        still = ca.DM.zeros(dae.n)
        y = dae.output(
            q, still, ca.DM(point.z), dae.angles(q, p, point.t), still, ca.DM.zeros(dae.m + dae.k), ca.DM(point.u), p,
            point.t,
        )  # fmt: skip
        turned = ca.vertcat(ca.SX(0, 1), *(_angle(y, names, body) for body in whole))
        shown = ca.Function("bodies", [q], [
            ca.densify(ca.jacobian(ca.vec(points), q)), ca.densify(turned), ca.densify(ca.jacobian(turned, q))
        ])  # fmt: skip
        moved, angles, rates = (np.array(item) for item in shown(point.q))
        dim, offset = points.shape[0], 0
        for body in whole:
            bones = [bone for bone in dae.skeleton.bones if bone.body == body]
            numbers = dict.fromkeys([bones[0].start, *(bone.end for bone in bones)])
            self.bodies[body] = [moved[dim * k : dim * (k + 1)] for k in numbers]
            count = 1 if dim == 2 else 4
            rows = slice(offset, offset + count)
            self.turns[body] = rates[rows] if dim == 2 else _rotation(angles[rows, 0], rates[rows])
            offset += count

    def motions(self, shape: Complex) -> tuple[BodyMotion, ...]:
        """Return the motions of the bodies for complex amplitudes of the coordinates, shape (n,)."""
        tracks = {body: [slope @ shape for slope in slopes] for body, slopes in self.bodies.items()}
        sizes = {body: max(float(np.linalg.norm(item)) for item in items) for body, items in tracks.items()}
        largest = max(sizes.values(), default=0.0)
        unit = largest or 1.0
        lead = 1.0 + 0j
        if largest:  # the phase is that of the largest entry, which is real and positive
            first = max((item for items in tracks.values() for item in items), key=lambda item: np.abs(item).max())
            top = first[int(np.argmax(np.abs(first)))]
            lead = top / abs(top)
        return tuple(
            BodyMotion(body, items[0] / (unit * lead), self.turns[body] @ shape / (unit * lead), sizes[body] / unit)
            for body, items in tracks.items()
        )


def _angle(y: Any, names: dict[str, int], body: str) -> Any:
    """Return the angle of a body in the plane, or its quaternion."""
    if f"{body}.phi" in names:
        return y[names[f"{body}.phi"]]
    return ca.vertcat(*(y[names[f"{body}.Q[{k}]"]] for k in range(1, 5)))


def _rotation(Q: Array, rates: Array) -> Array:
    """Return the slopes of the rotation vector, resolved in the world, from those of a quaternion: 2 vec(dQ Q*)."""
    a, A = rates[0], rates[1:]
    b, B = Q[0], Q[1:]
    return np.asarray(2 * (b * A - np.outer(B, a) - np.cross(A.T, B).T))
