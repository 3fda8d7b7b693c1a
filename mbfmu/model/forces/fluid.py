"""Forces of a still or steadily flowing fluid on a body."""

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ModelError, ValueRangeError
from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame

SLOWEST = 1e-12
"""Speed, m/s, at which the direction of a flow is smoothed."""


@dataclass(frozen=True)
class BoxDrag(Force):
    """Drag of a box in a fluid: quadratic by its density, linear by its viscosity. For spatial systems.

    With the velocity v of the box against the fluid and its angular velocity w, both resolved in frame_b at its centre,
    the sides b and their mean d, along and about each axis i, with the other axes j and k:
    ``f_i = -rho b_j b_k |v_i| v_i / 2 - 3 pi mu d v_i`` and
    ``t_i = -rho b_i (b_j^4 + b_k^4) |w_i| w_i / 64 - pi mu d^3 w_i``. It is the fluid of MuJoCo for boxes of inertia.

    Args:
        b: sides of the box along the axes of frame_b, m.
        rho: density of the fluid, kg/m3.
        mu: its viscosity, Pa.s.
        wind: its velocity, m/s, resolved in the world frame.
    """

    b: tuple[Value, ...] = quantity((1.0, 1.0, 1.0), "m", "sides of the box", min=0)
    rho: Value = quantity(0.0, "kg/m3", "density of the fluid", min=0)
    mu: Value = quantity(0.0, "Pa.s", "viscosity of the fluid", min=0)
    wind: tuple[Value, ...] = quantity((0.0, 0.0, 0.0), "m/s", "velocity of the fluid, resolved in the world frame")

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        if p.planar:
            raise ModelError(f"BoxDrag '{self.name}' needs a spatial system")
        v, w = b.R.T @ (b.v_0 - p.wind), b.R.T @ b.w_0
        d = (p.b[0] + p.b[1] + p.b[2]) / 3
        f, t = [], []
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            f.append(-(p.rho * p.b[j] * p.b[k] / 2 * ca.fabs(v[i]) + 3 * math.pi * p.mu * d) * v[i])
            spin = p.rho * p.b[i] * (p.b[j] ** 4 + p.b[k] ** 4) / 64 * ca.fabs(w[i])
            t.append(-(spin + math.pi * p.mu * d**3) * w[i])
        return ((b.R.T @ b.v_0, ca.vertcat(*f)), (w, ca.vertcat(*t)))


@dataclass(frozen=True)
class EllipsoidFluid(Force):
    """Drag, lift and the motion of the fluid around an ellipsoid, for wings and falling leaves. For spatial systems.

    With v and w as in `BoxDrag`, the semi-axes a, the greatest and middle one a_1 and a_2, the volume
    ``V = 4/3 pi a_x a_y a_z``, the projected area A in the direction of v, the greatest one ``A_1 = pi a_1 a_2``, the
    normal n of the ellipsoid where v pierces its projection, and the diameter D of a sphere with the mean semi-axis:

    * drag: ``-(rho |v| (blunt A + slender (A_1 - A)) + 3 pi mu D) v`` and ``-(rho |g| + pi mu D^3) w``, where ``g_i =
      (angular I_i + slender (I_1 - I_i)) w_i``, ``I_i = 8/15 pi a_i max(a_j, a_k)^4`` and ``I_1 = 8/15 pi a_2 a_1^4``;
    * lift by spin (Magnus): ``magnus rho V w x v``, and by the angle of attack (Kutta, Joukowski): ``kutta rho A
      cos(n, v) (n x v) x v / |n|``;
    * the momenta ``p = rho m v`` and ``l = rho j w`` of the fluid that moves along: ``p x w`` and ``p x v + l x w``;
      their rates are left out. ``m_i = V K_i / (2 - K_i)`` and ``j_i = V / 5 (a_j^2 - a_k^2)^2 (K_k - K_j) /
      (2 (a_j^2 - a_k^2) + (a_j^2 + a_k^2) (k_j - k_k))``, with Carlson's integral ``K_i = 2/3 a_x a_y a_z
      R_D(a_j^2, a_k^2, a_i^2)``.

    It is the fluid of MuJoCo for ellipsoids; the masses are those of Tuckerman, Inertia factors of ellipsoids (1925).

    Args:
        a: semi-axes along the axes of frame_b, m, fixed when exported.
        rho: density of the fluid, kg/m3.
        mu: its viscosity, Pa.s.
        wind: its velocity, m/s, resolved in the world frame.
        blunt, slender, angular: coefficients of drag.
        kutta, magnus: coefficients of lift.
    """

    a: tuple[float, ...] = (1.0, 1.0, 1.0)
    rho: Value = quantity(0.0, "kg/m3", "density of the fluid", min=0)
    mu: Value = quantity(0.0, "Pa.s", "viscosity of the fluid", min=0)
    wind: tuple[Value, ...] = quantity((0.0, 0.0, 0.0), "m/s", "velocity of the fluid, resolved in the world frame")
    blunt: Value = quantity(0.5, "1", "coefficient of blunt drag", min=0)
    slender: Value = quantity(0.25, "1", "coefficient of slender drag", min=0)
    angular: Value = quantity(1.5, "1", "coefficient of angular drag", min=0)
    kutta: Value = quantity(1.0, "1", "coefficient of lift by the angle of attack")
    magnus: Value = quantity(1.0, "1", "coefficient of lift by spin")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.a) != 3 or not all(isinstance(item, int | float) and 0 < item < math.inf for item in self.a):
            raise ValueRangeError(f"{self.name}.a = {self.a} must be three positive semi-axes, m")

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    @property
    def moved_along(self) -> tuple[list[float], list[float]]:
        """Return the mass and the moments of inertia of the fluid that moves along each axis per density, m3 and m5."""
        from scipy.special import elliprd

        squares = [item**2 for item in self.a]
        whole = math.prod(self.a)
        turns = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
        K = [2 / 3 * whole * float(elliprd(squares[j], squares[k], squares[i])) for i, j, k in turns]
        V = 4 / 3 * math.pi * whole
        inertias = []
        for _, second, third in turns:
            gap, slope = squares[second] - squares[third], K[third] - K[second]
            below = 2 * gap - (squares[second] + squares[third]) * slope
            inertias.append(V / 5 * gap**2 * slope / below if below else 0.0)
        return [V * item / (2 - item) for item in K], inertias

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        if p.planar:
            raise ModelError(f"EllipsoidFluid '{self.name}' needs a spatial system")
        v, w = b.R.T @ (b.v_0 - p.wind), b.R.T @ b.w_0
        _, middle, large = sorted(self.a)
        x, y, z = self.a
        V, D = 4 / 3 * math.pi * x * y * z, 2 / 3 * (x + y + z)
        # Projection in the direction of v: the normal is S^2 v with S = diag(yz, zx, xy), and A = pi |S^2 v| / |S v|
        S = [y * z, z * x, x * y]
        squares = [v[i] ** 2 + SLOWEST**2 for i in range(3)]
        speed = ca.sqrt(squares[0] + squares[1] + squares[2])
        fourth, second = (sum((S[i] ** power * squares[i] for i in range(3)), ca.SX(0)) for power in (4, 2))
        A = math.pi * ca.sqrt(fourth / second)
        n = ca.vertcat(*(S[i] ** 2 * v[i] for i in range(3)))
        lift = p.kutta * p.rho * A * second / (speed * fourth) * ca.cross(ca.cross(n, v), v)
        # Drag
        largest = math.pi * large * middle
        drag = p.rho * speed * (p.blunt * A + p.slender * (largest - A)) + 3 * math.pi * p.mu * D
        I_1 = 8 / 15 * math.pi * middle * large**4
        I = [8 / 15 * math.pi * self.a[i] * max(self.a[i - 1], self.a[i - 2]) ** 4 for i in range(3)]  # noqa: E741
        g = ca.vertcat(*((p.angular * item + p.slender * (I_1 - item)) * w[i] for i, item in enumerate(I)))
        spin = p.rho * ca.sqrt(ca.dot(g, g) + (SLOWEST * I_1) ** 2) + math.pi * p.mu * D**3
        # The fluid that moves along
        m, j = (p.rho * ca.SX(ca.DM(item)) for item in self.moved_along)
        f = ca.cross(m * v, w) + p.magnus * p.rho * V * ca.cross(w, v) + lift - drag * v
        t = ca.cross(m * v, v) + ca.cross(j * w, w) - spin * w
        return ((b.R.T @ b.v_0, f), (w, t))
