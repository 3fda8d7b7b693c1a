"""Linear drives and hydraulic cylinders between two lugs, each one component."""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.model.component import Input, Value, direction, quantity, start
from mbfmu.model.composite import MAIN, Composite, Inside
from mbfmu.model.frame import SX
from mbfmu.model.joints import Prismatic, Revolute, Spherical, Universal
from mbfmu.model.joints.joint import check_in_plane
from mbfmu.model.parts import Body, BodyShape


@dataclass(frozen=True)
class LinearDrive(Composite):
    """A drive between two lugs that moves in and out: a barrel hinged at frame_a, a rod hinged at frame_b.

    It is made of five components: `foot` (a revolute joint, in space a universal one), `barrel`, the prismatic joint
    itself with stroke `s`, velocity `v` and the force `f` that pushes the lugs apart, `rod`, and `eye` (a revolute
    joint, in space a spherical one). The lugs are ``L + s`` apart; barrel and rod are bodies of revolution.

    Args:
        n: direction from lug to lug where the angles of `foot` are 0, a unit vector resolved in frame_a. The drive may
            start anywhere within a right angle of it; it chooses on which side the loop closes.
        L: distance of the lugs at s = 0, m.
        m_barrel, m_rod: masses, kg.
        r_barrel: from frame_a to the barrel's centre of mass, along the drive, m.
        r_rod: from frame_b back to the rod's centre of mass, along the drive, m.
        I_barrel, I_rod: inertia about an axis across the drive through the centre of mass, kg.m2.
        J_barrel, J_rod: inertia about the line between the lugs, kg.m2 (spatial).
        s: start stroke, m; None: it follows from closing the loop.
        v: start velocity of the stroke, m/s.
        actuated: whether the force `f` is an input.
    """

    n: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    L: Value = quantity(1.0, "m", "distance of the lugs at s = 0", min=1e-9)
    m_barrel: Value = quantity(10.0, "kg", "mass of the barrel", min=1e-9)
    m_rod: Value = quantity(5.0, "kg", "mass of the rod", min=1e-9)
    r_barrel: Value = quantity(0.4, "m", "frame_a to the barrel's centre of mass")
    r_rod: Value = quantity(0.4, "m", "frame_b back to the rod's centre of mass")
    I_barrel: Value = quantity(1.0, "kg.m2", "inertia of the barrel across the drive", min=1e-12)
    I_rod: Value = quantity(0.5, "kg.m2", "inertia of the rod across the drive", min=1e-12)
    J_barrel: Value = quantity(0.01, "kg.m2", "inertia of the barrel about the drive", min=1e-12, spatial_only=True)
    J_rod: Value = quantity(0.005, "kg.m2", "inertia of the rod about the drive", min=1e-12, spatial_only=True)
    s: Value | None = start("m", "stroke")
    v: Value | None = start("m/s", "velocity of the stroke")
    actuated: bool = True

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b")

    def slider(self) -> Prismatic:
        """Return the joint between barrel and rod."""
        return Prismatic(self.name, n=self.n, actuated=self.actuated)

    def inside(self, planar: bool) -> Inside:
        if planar:
            check_in_plane(self, "n")
        n = tuple([*self.n, 0.0][: 2 if planar else 3])
        barrel, rod = _inertia(n, "I_barrel", "J_barrel"), _inertia(n, "I_rod", "J_rod")
        components = {
            "foot": Revolute("foot") if planar else Universal("foot", **_across(n)),
            "barrel": BodyShape("barrel", m="m_barrel", r=_along(n, "L"), r_CM=_along(n, "r_barrel"), **barrel),
            MAIN: self.slider(),
            "rod": Body("rod", m="m_rod", r_CM=_along(n, "-r_rod"), **rod),
            "eye": Revolute("eye") if planar else Spherical("eye"),
        }
        connections = (
            ("foot.frame_b", "barrel.frame_a"),
            ("barrel.frame_b", "frame_a"),
            ("frame_b", "rod.frame_a"),
            ("rod.frame_a", "eye.frame_a"),
        )
        return Inside(components, connections, {"frame_a": "foot.frame_a", "frame_b": "eye.frame_b"})


@dataclass(frozen=True)
class HydraulicPrismatic(Prismatic):
    """A prismatic joint that the pressures `p_a` and `p_b` of a differential cylinder move: ``f = A_a p_a - A_b p_b``.

    Args:
        n, s, v: as in `Prismatic`.
        D: bore, m: ``A_a = pi D^2 / 4``.
        d: diameter of the rod, m: ``A_b = pi (D^2 - d^2) / 4``.
    """

    D: Value = quantity(0.063, "m", "bore", min=1e-6)
    d: Value = quantity(0.036, "m", "diameter of the rod", min=0)

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (
            *super().inputs(planar),
            Input("p_a", "Pa", "pressure in the chamber that pushes"),
            Input("p_b", "Pa", "pressure in the chamber of the rod"),
        )

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return ca.pi / 4 * (p.D**2 * p.p_a - (p.D**2 - p.d**2) * p.p_b)


@dataclass(frozen=True)
class HydraulicCylinder(LinearDrive):
    """A differential cylinder between two lugs: a `LinearDrive` that the pressures `p_a` and `p_b` move.

    They are inputs, Pa above the surroundings; ``f = A_a p_a - A_b p_b``. With ``actuated=True`` the force `f` is
    added to it, such as the friction of the seals.

    Args:
        n, L, m_barrel, m_rod, r_barrel, r_rod, I_barrel, I_rod, J_barrel, J_rod, s, v: as in `LinearDrive`.
        D: bore, m.
        d: diameter of the rod, m.
    """

    D: Value = quantity(0.063, "m", "bore", min=1e-6)
    d: Value = quantity(0.036, "m", "diameter of the rod", min=0)
    actuated: bool = False

    def slider(self) -> Prismatic:
        return HydraulicPrismatic(self.name, n=self.n, actuated=self.actuated)


def _along(n: tuple[float, ...], length: str) -> tuple[Value, ...]:
    """Return a length along a direction, as a vector of expressions."""
    return tuple(_sum((component, length)) for component in n)


def _inertia(n: tuple[float, ...], across: str, about: str) -> dict[str, Any]:
    """Return the inertia of a body of revolution about an axis n: ``I (E - n n^T) + J n n^T``; in the plane I."""
    if len(n) == 2:
        return {"I_33": across}
    return {
        f"I_{i + 1}{j + 1}": _sum((float(i == j) - n[i] * n[j], across), (n[i] * n[j], about))
        for i in range(3)
        for j in range(i + 1)
    }


def _sum(*terms: tuple[float, str]) -> Value:
    """Return the expression of a sum of numbers times names; terms with 0 are left out."""
    texts = [text if factor == 1 else f"{factor!r}*({text})" for factor, text in terms if factor]
    return " + ".join(texts) if texts else 0.0


def _across(n: tuple[float, ...]) -> dict[str, Any]:
    """Return two directions at right angles to n and to each other, as axes of a universal joint."""
    one = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    one /= np.linalg.norm(one)
    return {"n_a": tuple(one.tolist()), "n_b": tuple(np.cross(n, one).tolist())}
