"""A tyre on the plane of motion, seen from above, and the drag of the air on a vehicle there."""

from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.errors import ModelError
from mbfmu.model.component import Component, Input, Value, direction, quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import check_in_plane
from mbfmu.model.joints.planar_wheel import rolling
from mbfmu.model.relative import axis
from mbfmu.model.slip import slip_force

STILL = 1e-3
"""Velocity up to which there is no drag, m/s."""


def refuse_in_space(item: Component, planar: bool, instead: str) -> None:
    """Raise an error if a force for planar systems is in a spatial one.

    Raises:
        ModelError: see above.
    """
    if not planar:
        raise ModelError(f"'{item.name}': a {type(item).__name__} needs a planar system; in space use {instead}")


@dataclass(frozen=True)
class PlanarTyre(Force):
    """A tyre of a wheel about an axis in the plane, as of a car seen from above, that slips. For planar systems.

    The hub is the origin of frame_b, and the wheel's own rotation is that of frame_a (see `PlanarWheel`). With the slip
    ``s = (e . v_b - radius w_a, n . v_b)`` the force on the hub, resolved along e and n, is ``-N mu(|s|) s / |s|``, and
    its part along e turns the wheel by the radius. The curve mu rises to `mu_A` at the slip v_A and falls to `mu_S` at
    v_S (`friction_curve`), with ``v_A = max(s_A |radius w_a|, v_A_min)`` and v_S alike.

    Args:
        e: driving direction, a unit vector resolved in frame_b.
        radius: radius of the wheel, m.
        N: normal force, N.
        mu_A, mu_S: coefficients of friction at the peak, and of sliding.
        v_A_min, v_S_min: least slip velocities of the peak and of sliding, m/s; v_S_min is the larger one.
        s_A, s_S: slips of both relative to the velocity of the tread; 0: those velocities are constant.
        loaded: whether the input `load` is added to N; the sum is at least 0.
    """

    e: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    radius: Value = quantity(0.3, "m", "radius of the wheel", min=1e-9)
    N: Value = quantity(0.0, "N", "normal force", min=0)
    mu_A: Value = quantity(1.0, "1", "coefficient of friction at the peak", min=0)
    mu_S: Value = quantity(0.7, "1", "coefficient of friction of sliding", min=0)
    v_A_min: Value = quantity(0.1, "m/s", "least slip velocity of the peak", min=1e-9)
    v_S_min: Value = quantity(0.3, "m/s", "least slip velocity of sliding", min=1e-9)
    s_A: Value = quantity(0.0, "1", "slip of the peak", min=0)
    s_S: Value = quantity(0.0, "1", "slip of sliding", min=0)
    loaded: bool = False

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        refuse_in_space(self, planar, "Tyre")
        return (Input("load", "N", "normal force beside N"),) if self.loaded else ()

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        check_in_plane(self, "e")
        along, sideways = rolling(b, axis(self.e, planar=True))
        tread = p.radius * a.w_0
        peak, sliding = (ca.fmax(s * ca.fabs(tread), least) for s, least in ((p.s_A, p.v_A_min), (p.s_S, p.v_S_min)))
        slips = ca.vertcat(along - tread, sideways)
        pressing = ca.fmax(p.N + p.load, 0) if self.loaded else p.N
        return ((slips, slip_force(slips, pressing, peak, sliding, p.mu_A, p.mu_S)),)


@dataclass(frozen=True)
class LongitudinalDrag(Force):
    """Drag of the air on a vehicle in the plane, against its motion forward only. For planar systems.

    With v the velocity of the origin of frame_b along `e`: ``f = -c_W area rho v^2 / 2`` along e where v is more than
    1 mm/s, else 0.

    Args:
        e: driving direction, a unit vector resolved in frame_b.
        c_W: drag coefficient.
        area: frontal area, m2.
        rho: density of the air, kg/m3.
    """

    e: tuple[float, ...] = direction(1.0, 0.0, 0.0)
    c_W: Value = quantity(0.5, "1", "drag coefficient", min=0)
    area: Value = quantity(2.0, "m2", "frontal area", min=0)
    rho: Value = quantity(1.18, "kg/m3", "density of the air", min=0)

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        refuse_in_space(self, planar, "BoxDrag")
        return ()

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        check_in_plane(self, "e")
        v, _ = rolling(b, axis(self.e, planar=True))
        return ((v, ca.if_else(v > STILL, -p.c_W * p.area * p.rho * v**2 / 2, 0)),)
