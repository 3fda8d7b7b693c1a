"""WheelsetOnTrack: a wheelset whose two wheels touch the rails of a straight track, with creep forces."""

from dataclasses import dataclass, field
from math import nan
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import casadi as ca

from mbfmu.errors import ModelError
from mbfmu.model.component import Input, Value, law, quantity
from mbfmu.model.frame import SX, Frame
from mbfmu.model.joints.joint import Joint
from mbfmu.model.relative import axis, r_rel, velocity_seen, w_rel
from mbfmu.model.sensors import Measured
from mbfmu.model.wheel_rail import Creepage, WheelRailPoint, creepage, kalker, shen, tanh, touch

Saturation: TypeAlias = Literal["linear", "shen", "tanh"]
"""Law by which friction limits creep forces: none, Johnson and Vermeulen's cubic, or tanh of each component."""
LEFT = (0.0, 1.0, 0.0)
"""Direction of the axle, resolved in frame_b."""
SIDES = (("left", 1), ("right", -1))
"""Names of the wheels, with the sign of their coordinate along the axle."""
FORCES = ("f_1", "f_2", "t_n")
"""Creep forces of a wheel: across the axle, along it, and the moment about the normal."""


@dataclass(frozen=True)
class WheelsetOnTrack(Joint):
    """The wheels of a wheelset touch the two rails of a straight track; creep forces act where they do.

    For spatial systems. frame_a is in the middle of the track, with x along it, y to the left and z upwards; frame_b is
    the centre of the wheelset, which turns with it, with y along the axle. Each wheel is a surface of revolution, each
    rail a cylinder along x; both sides are mirror images. With s the distance outwards from the nominal circle, and
    from the nominal place on the rail, `wheel` gives the radius and `rail` the height. Equations (holonomic): the
    wheels touch the rails, ``z_wheel - z_rail = 0`` where their surfaces are parallel; the normal forces N are their
    multipliers.

    Creep forces by Kalker's linear theory, with the creepages nu and phi, against the rail:

        f_1 = -f_11 nu_1,    f_2 = -f_22 nu_2 - f_23 phi,    t_n = f_23 nu_2 - f_33 phi

    Coefficients hold for the normal force `N_0` and grow as Hertz's ellipse does: f_11 and f_22 with N^(2/3), f_23 with
    N, f_33 with N^(4/3). Friction limits the forces to ``mu N``: `saturation`. A wheel that loses its rail, or touches
    beyond the reach of a profile, ends the motion: the step fails there.

    Args:
        wheel: radius of a wheel, m, a formula of `s`; a cone is ``r_0 - taper*s``.
        rail: height of a rail, m, a formula of `s`, curved upwards more than the wheel is.
        half_gauge: half of the distance of the nominal circles, and of the nominal places on the rails, m.
        v: speed at which frame_a runs along the track, m/s; 0: frame_a stands on it.
        f_11, f_22, f_23, f_33: Kalker's coefficients at the normal force N_0.
        N_0: normal force of a wheel for which they hold, N.
        mu: coefficient of friction.
        reach_wheel, reach_rail: how far the profiles reach to either side, m.
        saturation: ``linear``; ``shen``: Johnson and Vermeulen's cubic, by the size of the force (Shen, Hedrick &
            Elkins, 1983); ``tanh``: each part alone (Jaschinski, 1990).

    Raises:
        ModelError: there is no such saturation.
    """

    wheel: Value = law("0.46 - 0.05*s", "m", "radius of a wheel", "s")
    rail: Value = law("sqrt(0.3**2 - s**2) - 0.3", "m", "height of a rail", "s")
    half_gauge: Value = quantity(0.75, "m", "half of the distance of the nominal circles", min=1e-9)
    v: Value = quantity(0.0, "m/s", "speed at which frame_a runs along the track")
    f_11: Value = quantity(1e7, "N", "longitudinal creep coefficient", min=0)
    f_22: Value = quantity(1e7, "N", "lateral creep coefficient", min=0)
    f_23: Value = quantity(0.0, "N.m", "creep coefficient of lateral force by spin, and moment by lateral creepage")
    f_33: Value = quantity(0.0, "N.m2", "creep coefficient of spin", min=0)
    N_0: Value = quantity(5e4, "N", "normal force for which the coefficients hold", min=1e-9)
    mu: Value = quantity(0.3, "1", "coefficient of friction", min=1e-9)
    reach_wheel: Value = quantity(0.07, "m", "reach of the profile of a wheel to either side", min=1e-9)
    reach_rail: Value = quantity(0.036, "m", "reach of the profile of a rail to either side", min=1e-9)
    saturation: Saturation = field(default="shen", kw_only=True)
    needs: ClassVar[str] = "spatial"
    instead: ClassVar[str] = "RollingWheel"
    ends: ClassVar[str] = (
        "has lost a rail (a normal force fell to 0), or touches beyond the reach of a profile or where the rail is not "
        "curved more than the wheel"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.saturation not in get_args(Saturation):
            known = ", ".join(f"'{item}'" for item in get_args(Saturation))
            raise ModelError(f"'{self.name}': there is no saturation '{self.saturation}'; take one of {known}")

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        super().inputs(planar)
        return tuple(
            Input(f"{label}_{name}", "N.m" if label == "t_n" else "N", "creep force", internal=True)
            for name, _ in SIDES
            for label in FORCES
        )

    def touches(self, p: Any, a: Frame, b: Frame) -> tuple[WheelRailPoint, ...]:
        """Return where the left and the right wheel touch."""
        center, axle = r_rel(a, b), a.R.T @ b.R @ axis(LEFT)
        return tuple(
            touch(
                side, center, axle, p.half_gauge, lambda s: p.wheel(s=s), lambda s: p.rail(s=s),
                (p.reach_wheel, p.reach_rail),
            )
            for _, side in SIDES
        )  # fmt: skip

    def position(self, p: Any, a: Frame, b: Frame) -> SX:
        return ca.vertcat(*(item.gap for item in self.touches(p, a, b)))

    def creepages(self, p: Any, a: Frame, b: Frame) -> tuple[Creepage, ...]:
        """Return how the left and the right wheel slip."""
        axle, passing = a.R.T @ b.R @ axis(LEFT), p.v * axis((1.0, 0.0, 0.0))
        center, w = a.R.T @ velocity_seen(a, b, ca.SX(3, 1)) + passing, w_rel(a, b)
        return tuple(
            creepage(axle, item.n, a.R.T @ velocity_seen(a, b, a.R @ item.r) + passing, center, w)
            for item in self.touches(p, a, b)
        )

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        rates = (ca.vertcat(item.slip, item.turn) for item in self.creepages(p, a, b))
        forces = ([getattr(p, f"{label}_{name}") for label in FORCES] for name, _ in SIDES)
        return tuple((rate, ca.vertcat(*force)) for rate, force in zip(rates, forces, strict=True))

    def pressed(self, p: Any, a: Frame, b: Frame, lambda_: SX) -> SX:
        equations, holds = [], []
        for item, slips, N in zip(
            self.touches(p, a, b), self.creepages(p, a, b), self.normal_forces(p, a, b, lambda_), strict=True
        ):
            force, moment = kalker(slips.nu, slips.phi, self.coefficients(p, N, item))
            if self.saturation != "linear":
                force *= (shen if self.saturation == "shen" else tanh)(force, p.mu * N)
            equations += [force, moment]
            holds.append(N > 0)
        return ca.if_else(ca.logic_and(*holds), ca.vertcat(*equations), nan)

    def normal_forces(self, p: Any, a: Frame, b: Frame, lambda_: SX) -> tuple[SX, ...]:
        """Return the normal forces of the left and the right wheel, N."""
        pairs = zip(self.touches(p, a, b), ca.vertsplit(lambda_), strict=True)
        return tuple(-multiplier * item.steepness for item, multiplier in pairs)

    def coefficients(self, p: Any, N: SX, at: WheelRailPoint) -> tuple[SX, SX, SX, SX]:
        """Return Kalker's coefficients f_11, f_22, f_23 and f_33 for a normal force above 0.

        Args:
            p: the joint's quantities.
            N: normal force, N.
            at: the place of contact.
        """
        size = (N / p.N_0) ** (1 / 3)
        return p.f_11 * size**2, p.f_22 * size**2, p.f_23 * size**3, p.f_33 * size**4

    def signals(self, p: Any, a: Frame, b: Frame, lambda_: SX) -> tuple[Measured, ...]:
        shown: list[Measured] = []
        forces = self.normal_forces(p, a, b, lambda_)
        for (name, _), item, slips, N in zip(
            SIDES, self.touches(p, a, b), self.creepages(p, a, b), forces, strict=True
        ):
            wheel = f"of the {name} wheel"
            shown += [
                Measured(f"{name}.N", "N", f"normal force {wheel}", N),
                Measured(f"{name}.f_1", "N", f"creep force {wheel} across the axle", getattr(p, f"f_1_{name}")),
                Measured(f"{name}.f_2", "N", f"creep force {wheel} along the axle", getattr(p, f"f_2_{name}")),
                Measured(f"{name}.nu_1", "1", f"longitudinal creepage {wheel}", slips.nu[0]),
                Measured(f"{name}.nu_2", "1", f"lateral creepage {wheel}", slips.nu[1]),
                Measured(f"{name}.phi", "1/m", f"spin creepage {wheel}", slips.phi),
                Measured(f"{name}.s_wheel", "m", f"position of contact on the profile {wheel}, outwards", item.s_wheel),
                Measured(f"{name}.s_rail", "m", f"position of contact on the rail {wheel}, outwards", item.s_rail),
            ]
        return tuple(shown)
