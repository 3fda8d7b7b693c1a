"""Rotors that a moving body carries, with their gyroscopic torque on it."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.component import Value, direction, quantity, start
from mbfmu.model.composite import MAIN, Composite, Inside
from mbfmu.model.joints import Revolute
from mbfmu.model.parts import Inertia, Part
from mbfmu.model.relative import axis


@dataclass(frozen=True)
class AxialInertia(Part):
    """Inertia about one axis, ``J n n^T``, without mass; a negative one takes away what another part has there.

    For spatial systems: a planar body turns about z, so that there it is ``J`` times the square of n along z.

    Args:
        J: moment of inertia, kg.m2.
        n: axis, a unit vector resolved in frame_a.
    """

    J: Value = quantity(0.0, "kg.m2", "moment of inertia about n")
    n: tuple[float, ...] = direction(0.0, 0.0, 1.0)

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a",)

    def inertia(self, p: Any) -> Inertia:
        n = axis(self.n)
        turning = p.J * (n[2] ** 2 if p.planar else n @ n.T)
        return Inertia(ca.SX(0), ca.SX(2 if p.planar else 3, 1), turning)


@dataclass(frozen=True)
class CarriedRotor(Composite):
    """A rotor in a body that moves: it turns by `phi` about an axis of the body, and its spin turns the body back.

    Mass and inertia of the rotor at standstill belong to the body that carries it, with angular velocity w_a; the rotor
    adds the energy ``T = J w (n . w_a) + J w^2 / 2``. So, with a torque tau between body and rotor,

        J (a + n . dw_a/dt) = tau,    t = -n tau + n J (n . dw_a/dt) - w_a x n J w    on the body

    (the equations of `Rotor1D` on a `Mounting1D`, Modelica Standard Library 4). It is made of the revolute joint
    itself, with the coordinate `phi`, the `wheel` with the inertia J about n, and `counted`, which takes this inertia
    from the body.

    Args:
        J: inertia of the rotor about its axis, kg.m2; the body's own inertia about n is larger, unless it cannot turn.
        n: axis, a unit vector resolved in frame_a.
        phi: start angle of the rotor seen from the body, rad.
        w: start angular velocity seen from the body, rad/s.
        actuated: whether the torque `tau` between body and rotor is an input.
    """

    J: Value = quantity(0.001, "kg.m2", "inertia of the rotor about its axis", min=0)
    n: tuple[float, ...] = direction(0.0, 0.0, 1.0)
    phi: Value | None = start("rad", "angle of the rotor seen from the body")
    w: Value | None = start("rad/s", "angular velocity of the rotor seen from the body")
    actuated: bool = False

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a",)

    def inside(self, planar: bool) -> Inside:
        components = {
            MAIN: Revolute(self.name, n=self.n, actuated=self.actuated),
            "wheel": AxialInertia("wheel", J="J", n=self.n),
            "counted": AxialInertia("counted", J="-J", n=self.n),
        }
        connections = (("frame_b", "wheel.frame_a"), ("frame_a", "counted.frame_a"))
        return Inside(components, connections, {"frame_a": "frame_a"})
