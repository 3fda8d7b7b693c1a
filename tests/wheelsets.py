"""Wheelsets for tests: on sharp rails, where textbook equations are exact to first order, and that of the test set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import atan, cos, sin, sqrt
from typing import Any

import casadi as ca

import mbfmu
from mbfmu.model import (
    Body,
    Component,
    Prismatic,
    Revolute,
    RotationalSpring,
    System,
    TranslationalDamper,
    TranslationalSpring,
    WheelsetOnTrack,
    World,
    connect,
)
from mbfmu.model.component import Input
from mbfmu.model.frame import SX, Frame, axis_rotation
from mbfmu.model.relative import axis, velocity_seen, w_rel
from mbfmu.model.wheel_rail import WheelRailPoint, kalker, tanh

FORWARD, LEFT, UP = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
SHARP = 1e-4
"""Radius of rails that are nearly knife edges, m."""
DATA: Mapping[str, float] = {
    "m": 1000.0, "I": 600.0, "I_y": 80.0, "b": 0.75, "r": 0.45, "taper": 0.02, "k": 4e5, "k_yaw": 1e6, "f": 8e6,
    "g": 9.81, "d": 1e3,
}  # fmt: skip
"""A wheelset in SI units: mass, moments of inertia, half gauge, radius, taper, stiffness, creep coefficient."""


def sprung(v: float, data: Mapping[str, float] = DATA, lateral: float = 0.0, yaw: float = 0.0, **more: Any) -> System:
    """Return a wheelset on sharp rails, sprung to a frame that moves along the track."""
    angle = atan(data["taper"])
    track: dict[str, Any] = {
        "wheel": f"{data['r']} - {data['taper']}*s",
        "rail": f"sqrt({SHARP}**2 - (s - {SHARP * sin(angle)!r})**2) - {SHARP * cos(angle)!r}",
        "half_gauge": data["b"], "v": "v", "f_11": data["f"], "f_22": data["f"], "reach_rail": SHARP / 2,
        "N_0": data["m"] * data["g"] / 2, "saturation": "linear",
    }  # fmt: skip
    return System(
        "sprung",
        (
            World(g=data["g"], n=(0, 0, -1)),
            *carrier(lateral, yaw),
            Revolute("spin", n=LEFT, phi=0.0, w=f"v/{data['r']}"),
            Body("wheels", m=data["m"], I_11=data["I"], I_22=data["I_y"], I_33=data["I"]),
            TranslationalSpring("spring_along", joint="along", c=data["k"]),
            TranslationalDamper("damper_along", joint="along", d=data["d"]),
            TranslationalSpring("spring_lateral", joint="lateral", c=data["k"]),
            RotationalSpring("spring_yaw", joint="yaw", c=data["k_yaw"]),
            WheelsetOnTrack("track", **{**track, **more}),
        ),
        (
            *ROW,
            connect("roll.frame_b", "spin.frame_a"),
            connect("spin.frame_b", "wheels.frame_a"),
            connect("world.frame_b", "track.frame_a"),
            connect("wheels.frame_a", "track.frame_b"),
        ),
        parameters=(mbfmu.model.Parameter("v", v, "m/s", "speed"),),
        stepper="radau",
    )


def carrier(lateral: float, yaw: float) -> tuple[Component, ...]:
    """Return the joints that carry an axle: three slides, yaw and roll."""
    return (
        Prismatic("along", n=FORWARD, s=0.0, v=0.0),
        Prismatic("lateral", n=LEFT, s=lateral, v=0.0),
        Prismatic("height", n=UP, s="guess(0.45)"),
        Revolute("yaw", n=UP, phi=yaw, w=0.0),
        Revolute("roll", n=FORWARD),
    )


ROW = tuple(
    connect(f"{first}.frame_b", f"{second}.frame_a")
    for first, second in zip(
        ("world", "along", "lateral", "height", "yaw"), ("along", "lateral", "height", "yaw", "roll"), strict=True
    )
)
"""The connections of `carrier`."""


def published() -> System:
    """Return the model `wheelset` with the equations of the test set."""
    system = mbfmu.load("wheelset")
    assert isinstance(system, System)
    found = []
    for item in system.components:
        if isinstance(item, WheelsetOnTrack):
            found.append(Published(**{field.name: getattr(item, field.name) for field in fields(item)}))
        elif item.name != "spring_yaw":
            found.append(item)
    return replace(system, components=tuple(found))


CONE, RAIL = 0.0262, 0.06
SHEAR, POISSON, ELLIPTIC, RATIO = 7.92e10, 0.28, 1.3537956, 0.7115218
C_11, C_22, C_23 = 4.72772197, 4.27526987, 1.97203505
PUBLISHED_PI = 3.1415926
YAW_SPRING = 2 * 0.19**2 * 6400.0


@dataclass(frozen=True)
class Published(WheelsetOnTrack):
    """The contact of the test set, where it differs from `WheelsetOnTrack`.

    1. Slip and creep forces have the axes of a wheelset turned by the yaw angle over the cosine of the contact angle.
    2. The contact ellipse follows the rolling radius.
    3. The moment of normal forces about the vertical counts about the axle's own upward axis.
    4. The yaw spring acts on the wheels, which turn.
    """

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (*super().inputs(planar), Input("moment", "N.m", "moment of normal forces", internal=True))

    def _turned(self, p: Any, a: Frame, b: Frame) -> Iterator[tuple[int, WheelRailPoint, SX, SX, SX]]:
        e = self._axle(a, b)
        theta = ca.atan2(-e[0], e[1])
        for side, at in zip((1, -1), self.touches(p, a, b), strict=True):
            delta = ca.atan(at.slope)
            c, s = ca.cos(theta / ca.cos(delta)), ca.sin(theta / ca.cos(delta))
            aside = ca.vertcat(-s * ca.cos(delta), c * ca.cos(delta), side * ca.sin(delta))
            yield side, at, delta, theta / ca.cos(delta) - theta, ca.horzcat(ca.vertcat(c, s, 0), aside)

    @staticmethod
    def _axle(a: Frame, b: Frame) -> SX:
        return a.R.T @ b.R @ axis(LEFT)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        e, found = self._axle(a, b), []
        for name, (_, at, _, _, directions) in zip(("left", "right"), self._turned(p, a, b), strict=True):
            slip = directions.T @ a.R.T @ velocity_seen(a, b, a.R @ at.r)
            found += [
                (slip, ca.vertcat(getattr(p, f"f_1_{name}"), getattr(p, f"f_2_{name}"))),
                (ca.SX(0), getattr(p, f"t_n_{name}")),
            ]
        theta, w = ca.atan2(-e[0], e[1]), w_rel(a, b)
        forward = ca.vertcat(ca.cos(theta), ca.sin(theta), 0)
        return (*found, (ca.dot(ca.cross(forward, e), w), p.moment), (w[2], -YAW_SPRING * theta))

    def pressed(self, p: Any, a: Frame, b: Frame, lambda_: SX) -> SX:
        e, w = self._axle(a, b), w_rel(a, b)
        center = a.R.T @ velocity_seen(a, b, ca.SX(3, 1)) + p.v * axis(FORWARD)
        turning = (w[2] - e[2] * ca.dot(w, e)) / (1 - e[2] ** 2)
        spin, forces, moment = ca.dot(w, e) - turning * e[2], [], ca.SX(0)
        for k, (side, at, delta, more, directions) in enumerate(self._turned(p, a, b)):
            v = center + axis_rotation(UP, more) @ ca.cross(w, at.r)
            speed = ca.norm_2(v - 2 * center) / 2
            phi = (ca.cos(delta) * turning - side * ca.sin(delta) * spin) / speed
            N = -lambda_[k] * at.steepness
            size = self._ellipse(p.wheel(s=at.s_wheel), N)
            f = (SHEAR * size**2 * C_11, SHEAR * size**2 * C_22, SHEAR * size**3 * C_23, ca.SX(0))
            force, _ = kalker(directions.T @ v / speed, phi, f)
            forces += [force * tanh(force, p.mu * N), ca.SX(0)]
            push = -lambda_[k] * ca.vertcat(0, -side * at.slope, 1)
            moment += (1 - 1 / ca.sqrt(1 - e[2] ** 2)) * ca.cross(at.r, push)[2]
        return ca.vertcat(*forces, moment)

    @staticmethod
    def _ellipse(radius: SX, N: SX) -> SX:
        bend = cos(CONE) / (2 * radius) + 1 / (2 * RAIL)
        return (3 * N * (1 - POISSON) * ELLIPTIC / (2 * PUBLISHED_PI * bend * SHEAR * sqrt(RATIO))) ** (1 / 3)
