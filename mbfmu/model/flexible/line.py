"""FlexibleLine: a geometrically exact beam as a chain of nodes, for deflections of any size."""

from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.errors import ValueRangeError
from mbfmu.model.component import Component, Value, Vector, quantity, start
from mbfmu.model.composite import Composite, Inside
from mbfmu.model.flexible.body import are_parts
from mbfmu.model.frame import SX, Frame, Pose
from mbfmu.model.joints.joint import Joint, JointCoordinate, sliding, turning
from mbfmu.model.parts import Body
from mbfmu.model.relative import Q_rel, cross, r_rel

MOST_ELEMENTS = 1000
"""Largest number of elements of a line."""
GREGORY = (Fraction(-1, 8), Fraction(1, 6), Fraction(-1, 24))
"""Corrections at an end, as parts of the spacing, that give the trapezoidal rule an error of fourth order (Gregory)."""
SMALL = 1e-3
"""Square of the tangent of half an angle below which functions of the angle are computed from their power series."""
TERMS = 9
"""Number of terms of power series, for full precision up to angles of 1 rad."""


@dataclass(frozen=True)
class FlexibleLine(Composite):
    """A uniform beam along a line that may bend, twist, stretch and shear far, in the plane or in space.

    This is Simo and Reissner's geometrically exact beam: its sections stay plane and rigid, strains are those of their
    frames, whatever the rotation, and the stress is linear in them. Nodes divide the line into equal elements: a
    node is a section with its share of the mass, and between two nodes there is an elastic joint. From frame_a to
    frame_b the components are `node0`, `joint1`, `node1`, `joint2` and so on.

    Without loads the line is straight along the x axis of frame_a, or a helix or an arc with the curvatures `kappa`. It
    begins undeformed and at rest in itself.

    Deflections of bodies at rest have errors of fourth order in the length of an element, and so has motion as far as
    it is bending; waves of tension, shear and torsion have errors of second order.

    Args:
        L: length, m.
        rho: density, kg/m3.
        A: area of the section, m2.
        E: modulus of elasticity, N/m2.
        G: shear modulus, N/m2.
        I_z, I_y: second moment of area for bending along y and, in a spatial system, along z, m4.
        I_t: torsion constant of the section, m4.
        k_y, k_z: shear correction factors along y and, in a spatial system, along z: the shear stiffness is k G A.
        k_I: factor of the rotary inertia of the sections, which is rho times the second moments of area.
        kappa_x, kappa_y, kappa_z: torsion and curvatures about y and z without loads, rad/m; a planar line has
            kappa_z only.
        tau: retardation time of Kelvin and Voigt's damping, s: stress is linear in strain + tau * rate of strain.
        elements: number of elements.
        at: places of further frames frame_1, frame_2 and so on, as parts of the length, each at a node.
    """

    L: Value = quantity(1.0, "m", "length", min=0)
    rho: Value = quantity(7850.0, "kg/m3", "density", min=0)
    A: Value = quantity(1e-4, "m2", "area of the section", min=0)
    E: Value = quantity(2.1e11, "N/m2", "modulus of elasticity", min=0)
    G: Value = quantity(8.1e10, "N/m2", "shear modulus", min=0)
    I_z: Value = quantity(1e-8 / 12, "m4", "second moment of area for bending along y", min=0)
    I_y: Value = quantity(1e-8 / 12, "m4", "second moment of area for bending along z", min=0, spatial_only=True)
    I_t: Value = quantity(1.406e-9, "m4", "torsion constant of the section", min=0, spatial_only=True)
    k_y: Value = quantity(5 / 6, "1", "shear correction factor along y", min=0)
    k_z: Value = quantity(5 / 6, "1", "shear correction factor along z", min=0, spatial_only=True)
    k_I: Value = quantity(1.0, "1", "factor of the rotary inertia of the sections", min=0)
    kappa_x: Value = quantity(0.0, "rad/m", "torsion without loads", spatial_only=True)
    kappa_y: Value = quantity(0.0, "rad/m", "curvature about y without loads", spatial_only=True)
    kappa_z: Value = quantity(0.0, "rad/m", "curvature about z without loads")
    tau: Value = quantity(0.0, "s", "retardation time of the damping", min=0)
    elements: int = 8
    at: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        count = self.elements
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 2 <= count <= MOST_ELEMENTS:
            raise ValueRangeError(f"{self.name}.elements = {count!r} must be a whole number from 2 to {MOST_ELEMENTS}")
        if not are_parts(self.at):
            raise ValueRangeError(
                f"{self.name}.at = {self.at!r} must be parts of the length between 0 and 1, such as (0.5,)"
            )
        for xi in self.at:
            if not 0 < xi < 1 or abs(xi * count - round(xi * count)) > 1e-9:
                raise ValueRangeError(
                    f"{self.name}.at = {self.at!r}: {xi!r} is not at a node between the ends: the nodes are at "
                    f"multiples of 1/{count} of the length, so choose another number of elements or another position"
                )
        super().__post_init__()

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b", *(f"frame_{index}" for index in range(1, len(self.at) + 1)))

    def inside(self, planar: bool) -> Inside:
        components: dict[str, Component] = {}
        connections: list[tuple[str, str]] = []
        length = f"L/{self.elements}"
        elastic: dict[str, Any] = {
            "EA": "E*A", "GA_y": "k_y*G*A", "GA_z": "k_z*G*A", "GI_t": "G*I_t", "EI_y": "E*I_y", "EI_z": "E*I_z",
        }  # fmt: skip
        for name in ("kappa_x", "kappa_y", "kappa_z", "tau"):  # zeros leave the equations
            elastic[name] = name if getattr(self, name) != 0 else 0.0
        straight = (0.0, 0.0, 0.0)
        begun: dict[str, Any] = {"u": straight, "u_t": straight}
        begun |= {"phi": 0.0, "w": 0.0} if planar else {"theta": straight, "theta_t": straight}
        # nodes with their shares of the mass, joined by elastic elements
        for k, share in enumerate(weights(self.elements)):
            node, joint = f"node{k}", f"joint{k}"
            components[node] = Body(
                node, m=f"{share}*rho*A*{length}", I_11=f"{share}*k_I*rho*(I_y + I_z)*{length}",
                I_22=f"{share}*k_I*rho*I_y*{length}", I_33=f"{share}*k_I*rho*I_z*{length}",
            )  # fmt: skip
            if k:
                components[joint] = ElasticJoint(joint, L=length, **elastic, **begun)
                connections.append((f"node{k - 1}.frame_a", f"{joint}.frame_a"))
                connections.append((f"{joint}.frame_b", f"{node}.frame_a"))
        places = {"frame_a": 0.0, "frame_b": 1.0, **{f"frame_{k}": xi for k, xi in enumerate(self.at, 1)}}
        ends = {name: f"node{round(xi * self.elements)}.frame_a" for name, xi in places.items()}
        return Inside(components, tuple(connections), ends)


def weights(elements: int) -> list[Fraction]:
    """Return the nodes' shares of the mass of one element: those of Gregory's rule, for two elements Simpson's."""
    shares = [Fraction(1)] * (elements + 1)
    shares[0] = shares[-1] = Fraction(1, 2)
    for index, item in enumerate(GREGORY):
        shares[index] += item
        shares[-1 - index] += item
    return shares


@dataclass(frozen=True)
class ElasticJoint(Joint):
    """An element of a geometrically exact beam, as an elastic joint between two sections.

    The strains between the sections are constant, so that frame_b is at the exponential of (d, theta) seen from
    frame_a (Sonneville, Cardona & Bruels, Comput. Methods Appl. Mech. Eng. 268, 2014): turned by the rotation vector
    theta, at the place

        r = d + (sin(h) / h)^2 / 2 theta x d + (1 - sin(2 h) / (2 h)) / (2 h)^2 theta x (theta x d),    h = |theta| / 2.

    With the Rodrigues vector tau = tan(h) n of the rotation about n the reverse is

        theta = 2 A tau,    d = A (r - tau x r) + B (tau . r) tau,
        A = arctan(|tau|) / |tau|,    B = (1 - A) / |tau|^2.

    The coordinates are stretch and shears u = d - L e_x and the angles by which theta differs from L kappa, phi in the
    plane and theta in space. The energy is

        V = (EA u_x^2 + S_y u_y^2 + S_z u_z^2 + GI_t theta_x^2 + EI_y theta_y^2 + EI_z theta_z^2) / (2 L).

    A transverse force makes the moment, and so the curvature, vary along the element, which makes it more flexible:
    1 / S_y = 1 / GA_y + L^2 / (12 EI_z), and alike for z (MacNeal, Comput. Struct. 8, 1978). For small deflections its
    stiffness is that of Timoshenko's beam, for any length. In space a constant moment m varies along a curved element,
    as seen from the sections, by a = kappa x m per length. With this rate of change of the moment, the curvature is
    linear along the element; of the energy V, made smallest for the given (d, theta), with the terms of Magnus'
    expansion by which such a curvature changes them, what is left is

        u_y - L^3 a_z / (12 EI_z)  for u_y,    u_z + L^3 a_y / (12 EI_y)  for u_z,
        V - L^3 (a_x^2 / GI_t + a_y^2 / EI_y + a_z^2 / EI_z) / 24  for V.

    Without it the error of bending in two directions would be of second order in L.

    Args:
        L: length, m.
        EA: stiffness against tension, N.
        GA_y, GA_z: stiffness against shear, N.
        GI_t: stiffness against torsion, N.m2.
        EI_y, EI_z: stiffness against bending about y and z, N.m2.
        kappa_x, kappa_y, kappa_z, tau: as in `FlexibleLine`.
        u, u_t: start values of stretch and shears, m, and their rates, m/s.
        phi, w: start values of the angle of bending, rad, and its rate, rad/s (planar).
        theta, theta_t: start values of the angles of torsion and bending, rad, and their rates, rad/s (spatial).
    """

    L: Value = quantity(1.0, "m", "length", min=0)
    EA: Value = quantity(1.0, "N", "stiffness against tension", min=0)
    GA_y: Value = quantity(1.0, "N", "stiffness against shear along y", min=0)
    GA_z: Value = quantity(1.0, "N", "stiffness against shear along z", min=0, spatial_only=True)
    GI_t: Value = quantity(1.0, "N.m2", "stiffness against torsion", min=0, spatial_only=True)
    EI_y: Value = quantity(1.0, "N.m2", "stiffness against bending about y", min=0, spatial_only=True)
    EI_z: Value = quantity(1.0, "N.m2", "stiffness against bending about z", min=0)
    k_I: Value = quantity(1.0, "1", "factor of the rotary inertia of the sections", min=0)
    kappa_x: Value = quantity(0.0, "rad/m", "torsion without loads", spatial_only=True)
    kappa_y: Value = quantity(0.0, "rad/m", "curvature about y without loads", spatial_only=True)
    kappa_z: Value = quantity(0.0, "rad/m", "curvature about z without loads")
    tau: Value = quantity(0.0, "s", "retardation time of the damping", min=0)
    u: Vector | None = start("m", "stretch and shears", sizes=(2, 3))
    u_t: Vector | None = start("m/s", "rates of stretch and shears", sizes=(2, 3))
    phi: Value | None = start("rad", "angle of bending")
    w: Value | None = start("rad/s", "rate of the angle of bending")
    theta: Vector | None = start("rad", "angles of torsion and bending", sizes=(3,), spatial_only=True)
    theta_t: Vector | None = start("rad/s", "rates of the angles", sizes=(3,), spatial_only=True)

    def motion(self, p: Any, a: Frame, b: Frame) -> tuple[JointCoordinate, ...]:
        r = r_rel(a, b)
        Q = None if p.planar else Q_rel(a, b)
        # Rodrigues' vector of the rotation between the sections: tau = tan(theta/2) n
        tau = ca.tan((b.phi - a.phi) / 2) if Q is None else Q[1:] / Q[0]
        square = ca.dot(tau, tau)
        # logarithm: theta = 2 A tau, d = A (r - tau x r) + B (tau . r) tau
        B = _reverse(square)
        A = 1 - square * B
        d = A * (r - cross(tau, r)) + (0 if p.planar else B * ca.dot(tau, r) * tau)
        angle = 2 * A * tau - p.L * _curvature(p)
        bent = turning(angle) if p.planar else turning(angle, "theta", "theta_t", "theta_tt")
        return sliding(d - _along(p), "u", "u_t", "u_tt"), bent

    def pose(self, p: Any, coordinates: dict[str, SX]) -> Pose:
        d = _along(p) + coordinates["u"]
        theta = ca.sparsify(p.L * _curvature(p)) + coordinates["phi" if p.planar else "theta"]
        square = ca.dot(theta, theta)
        # exponential: r = d + (sin h/h)^2/2 theta x d + ... theta x (theta x d), h = |theta|/2
        s = 1 - square / 4 * _third(square / 4)
        r = d + s**2 / 2 * cross(theta, d) + _third(square) * cross(theta, cross(theta, d))
        return Pose(r, theta if p.planar else ca.vertcat(ca.sqrt(1 - square / 4 * s**2), s / 2 * theta))

    def potential(self, p: Any, *coordinates: SX) -> SX:
        u, theta = coordinates
        if p.planar:
            return _quadratic(p, u, theta)
        flexible = p.L**2 / 12 / ca.vertcat(p.GI_t, p.EI_y, p.EI_z)
        # a curved element: its moment varies by a = kappa x m per length
        m = ca.vertcat(p.GI_t, p.EI_y, p.EI_z) * theta / p.L
        a = ca.cross(theta / p.L + _curvature(p), m)
        sheared = u + p.L * ca.vertcat(0, -flexible[2] * a[2], flexible[1] * a[1])
        return _quadratic(p, sheared, theta) - p.L / 2 * ca.dot(flexible, a**2)

    def dissipation(self, p: Any, *rates: SX) -> SX:
        return p.tau * _quadratic(p, *rates)


def _along(p: Any) -> SX:
    """Return the way from one node to the next of a straight line without loads, m."""
    return ca.vertcat(p.L, ca.SX(1 if p.planar else 2, 1))


def _curvature(p: Any) -> SX:
    """Return torsion and curvatures without loads, rad/m, resolved in the section."""
    return p.kappa_z if p.planar else ca.vertcat(p.kappa_x, p.kappa_y, p.kappa_z)


def _quadratic(p: Any, u: SX, angle: SX) -> SX:
    """Return the energy of an element for strains that are small."""
    S_y = 1 / (1 / p.GA_y + p.L**2 / (12 * p.EI_z))
    if p.planar:
        stiffness = ca.vertcat(p.EA, S_y, p.EI_z)
    else:
        S_z = 1 / (1 / p.GA_z + p.L**2 / (12 * p.EI_y))
        stiffness = ca.vertcat(p.EA, S_y, S_z, p.GI_t, p.EI_y, p.EI_z)
    return ca.dot(stiffness, ca.vertcat(u, angle) ** 2) / (2 * p.L)


def _third(y: SX) -> SX:
    """Return (1 - sin(x) / x) / x^2 for y = x^2."""
    series = ca.SX(0)
    for k in reversed(range(TERMS)):
        series = 1 / factorial(2 * k + 3) - y * series
    return series


def _reverse(y: SX) -> SX:
    """Return (1 - arctan(x) / x) / x^2 for y = x^2."""
    series = ca.SX(0)
    for k in reversed(range(TERMS - 3)):
        series = 1 / (2 * k + 3) - y * series
    large = ca.sqrt(ca.fmax(y, SMALL))
    return ca.if_else(y < SMALL, series, (1 - ca.atan(large) / large) / large**2)
