"""Forces of a still or steadily flowing fluid on a body."""

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ModelError
from mbfmu.model.component import Value, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame


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
