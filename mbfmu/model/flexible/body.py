"""Base of flexible bodies: a floating frame of reference, and shape coordinates that move every other point in it."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.model.component import OWN_SIZE, QuantityField, Vector, start
from mbfmu.model.frame import SX
from mbfmu.model.parts import MovingPart
from mbfmu.model.relative import cross, moment_of
from mbfmu.model.sensors import Measured


@dataclass(frozen=True)
class MassIntegrals:
    """Integrals over the mass of a flexible body, for points r of the body seen from frame_a and resolved there.

    The kinetic energy of a body whose frame_a has the velocity v and the angular velocity w, resolved in frame_a, is

        T = m v.v / 2 + v.(w x first + first') + w.J w / 2 + w.spin + own.

    (Schwertassek & Wallrapp, Dynamik flexibler Mehrkoerpersysteme, 1999.)

    Args:
        m: mass, kg, SX scalar.
        first: integral of r, kg.m, SX, shape (2,) or (3,).
        J: moment of inertia about the origin of frame_a, kg.m2, SX scalar (planar) or shape (3, 3).
        spin: integral of r x r', kg.m2/s, SX scalar (planar) or shape (3,).
        own: kinetic energy of the rates of shape alone, J, SX scalar.
    """

    m: SX
    first: SX
    J: SX
    spin: SX
    own: SX


@dataclass(frozen=True)
class Surface:
    """The surface of a flexible body in a picture, for its shape coordinates.

    Args:
        points: places of v corners seen from frame_a and resolved there, m, SX, shape (3, v), in a planar system too.
        triangles: numbers of their corners, counterclockwise from outside, shape (f, 3).
        stress: stresses at the corners, N/m2: xx, yy, zz, xy, yz and zx, SX, shape (6, v), or the normal stress of
            fibres alone, shape (1, v); None: unknown.
    """

    points: SX
    triangles: npt.NDArray[np.int64]
    stress: SX | None = None


@dataclass(frozen=True)
class FlexibleBody(MovingPart):
    """Base of flexible bodies, which state how their shape depends on coordinates eta.

    `poses` gives the frames for the shape ``p.eta``; terms of second order in eta belong to it where forces along the
    body are to stiffen or soften it.

    Args:
        r_0, v_0, phi, w, Q, w_a: start values as in `MovingPart`.
        eta: start values of the shape coordinates.
        eta_t: start values of their rates.
    """

    eta: Vector | None = start("m", "shape coordinate", sizes=OWN_SIZE)
    eta_t: Vector | None = start("m/s", "rate of the shape coordinate", sizes=OWN_SIZE)

    @abstractmethod
    def count(self, planar: bool) -> int:
        """Return the number of shape coordinates in a planar or a spatial system."""

    @abstractmethod
    def integrals(self, p: Any, rate: SX) -> MassIntegrals:
        """Return the integrals over the mass.

        Args:
            p: the component's quantities, and its shape coordinates ``p.eta``.
            rate: rates of the shape coordinates, SX, shape (n,).
        """

    @abstractmethod
    def strain_energy(self, p: Any) -> SX:
        """Return the energy that the shape stores, J.

        Args:
            p: the component's quantities, and its shape coordinates ``p.eta``.
        """

    @abstractmethod
    def damping(self, p: Any, rate: SX) -> SX:
        """Return the effort of damping on each shape coordinate, SX, shape (n,).

        Args:
            p: the component's quantities, and its shape coordinates ``p.eta``.
            rate: rates of the shape coordinates, SX, shape (n,).
        """

    def signals(self, p: Any) -> tuple[Measured, ...]:
        """Return what of the shape is an output besides the coordinates, such as stresses.

        Args:
            p: the component's quantities, and its shape coordinates ``p.eta``.
        """
        return ()

    def surface(self, p: Any, thick: float) -> Surface | None:
        """Return the surface for pictures; None: they show lines to the frames.

        Args:
            p: the component's quantities, and its shape coordinates ``p.eta``.
            thick: radius of a bar that is drawn as a line is, m.
        """
        return None

    def declared(self) -> Iterator[tuple[QuantityField, str, Any]]:
        for quantity, label, value in super().declared():
            shaped = label in {"eta", "eta_t"}
            yield replace(quantity, sizes=(self.count(True), self.count(False))) if shaped else quantity, label, value


def kinetic_energy(body: MassIntegrals, first_t: SX, v: SX, w: SX) -> SX:
    """Return the kinetic energy of a flexible body, J.

    Args:
        body: its integrals.
        first_t: rate of their `first`, kg.m/s, seen from frame_a.
        v: velocity of frame_a, m/s, resolved in frame_a.
        w: angular velocity, rad/s, resolved in frame_a.
    """
    return (body.m * ca.dot(v, v) + ca.dot(w, body.J @ w)) / 2 + ca.dot(v, cross(w, body.first) + first_t) + ca.dot(
        w, body.spin
    ) + body.own  # fmt: skip


def momenta(body: MassIntegrals, first_t: SX, v: SX, w: SX) -> tuple[SX, SX]:
    """Return linear momentum, N.s, and angular momentum about frame_a's origin, N.m.s, resolved in frame_a.

    Args:
        body: its integrals.
        first_t: rate of their `first`, kg.m/s, seen from frame_a.
        v: velocity of frame_a, m/s, resolved in frame_a.
        w: angular velocity, rad/s, resolved in frame_a.
    """
    return body.m * v + cross(w, body.first) + first_t, moment_of(body.first, v) + body.J @ w + body.spin


def are_parts(places: Any) -> bool:
    """Return whether places are parts of a length, numbers from 0 to 1."""
    return isinstance(places, Iterable) and all(isinstance(xi, int | float) and 0 <= xi <= 1 for xi in places)
