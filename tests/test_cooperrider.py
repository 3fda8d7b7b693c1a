"""Cooperrider's bogie, made of parts, against the published speed at which it begins to hunt."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from wheelsets import FORWARD, LEFT, UP

import mbfmu
from mbfmu.model import (
    Body,
    Bushing,
    Component,
    Connection,
    FixedTranslation,
    Parameter,
    Prismatic,
    Revolute,
    System,
    Value,
    World,
    connect,
)
from mbfmu.model.component import quantity
from mbfmu.model.forces.force import Force
from mbfmu.model.frame import SX, Frame
from mbfmu.model.relative import Q_rel, r_rel, v_rel, w_rel

SIDES = (("left", 1), ("right", -1))
HOPF = 68.66
"""Critical speed of Cooperrider's bogie in m/s, as printed by Hassard's page (bifurcation.de, exd10)."""
COOPERRIDER = {
    "m_w": 1022.0, "I_w": 678.0, "m_f": 2918.0, "I_f": 6780.0, "k_1": 1.823e6, "k_2": 3.646e6, "k_3": 3.646e6,
    "k_4": 0.1823e6, "k_5": 0.3333e6, "k_6": 2.71e6, "D_1": 20e3, "D_2": 29.2e3, "a": 0.716, "b": 1.074, "d_1": 0.62,
    "d_2": 0.68, "h_1": 0.0762, "h_2": 0.6584, "taper": 0.05, "r_0": 0.4572, "G": 6.563e6, "phi": 0.60252,
    "psi": 0.54219,
}  # fmt: skip
"""The bogie of Cooperrider (J. Eng. Ind. 94, 1972) in SI units, with the letters of Kaas-Petersen (Acta Mechanica 61,
1986): masses, moments of inertia, springs, dampers, places, cones, and Vermeulen and Johnson's constants of creep."""


@dataclass(frozen=True)
class PlaneCreep(Force):
    """Creep forces on a wheelset that neither rises nor rolls, for small slip."""

    v: Value = quantity(0.0, "m/s", "speed along the track")

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        data = COOPERRIDER
        sideways, yawing = v_rel(a, b)[1], w_rel(a, b)[2]
        lateral = sideways / p.v - 2 * Q_rel(a, b)[3]
        along = data["a"] * yawing / p.v + data["taper"] * r_rel(a, b)[1] / data["r_0"]
        lateral_force, force_along = -2 * data["G"] * lateral / data["psi"], -2 * data["G"] * along / data["phi"]
        return ((sideways, lateral_force), (yawing, data["a"] * force_along))


def cooperrider() -> System:
    """Return Cooperrider's bogie from parts: springs and dampers where they are, and creep forces in the plane."""
    data = COOPERRIDER
    components: list[Component] = [
        World(g=0.0),
        Prismatic("y", n=LEFT, s=0.0, v=0.0),
        Revolute("yaw", n=UP, phi=0.0, w=0.0),
        Revolute("roll", n=FORWARD, phi=0.0, w=0.0),
        Body("frame", m=data["m_f"], I_11=data["I_f"], I_22=1.0, I_33=data["I_f"]),
        Bushing("turntable", c_phi_3=data["k_6"]),
    ]
    connections = [
        *_row("world.frame_b", "y", "yaw", "roll"),
        connect("roll.frame_b", "frame.frame_a"),
        connect("world.frame_b", "turntable.frame_a"),
        connect("frame.frame_a", "turntable.frame_b"),
    ]
    mounts = []
    for side, sign in SIDES:
        place = (0.0, sign * data["d_2"], data["h_2"])
        body = Bushing(f"body_{side}", c=(0.0, data["k_4"], data["k_5"]), d=(0.0, data["D_2"], data["D_1"]))
        mounts.append((body, ("world.frame_b", place), ("frame.frame_a", place)))
    for axle, x in (("front", data["b"]), ("rear", -data["b"])):
        components += [
            FixedTranslation(f"{axle}_track", r=(x, 0.0, -data["h_1"])),
            Prismatic(f"{axle}_y", n=LEFT, s=0.0, v=0.0),
            Revolute(f"{axle}_yaw", n=UP, phi=0.0, w=0.0),
            Body(f"{axle}_wheels", m=data["m_w"], I_11=1.0, I_22=1.0, I_33=data["I_w"]),
            PlaneCreep(f"{axle}_creep", v="v"),
        ]
        connections += [
            *_row("world.frame_b", f"{axle}_track", f"{axle}_y", f"{axle}_yaw"),
            connect(f"{axle}_yaw.frame_b", f"{axle}_wheels.frame_a"),
            connect(f"{axle}_track.frame_b", f"{axle}_creep.frame_a"),
            connect(f"{axle}_wheels.frame_a", f"{axle}_creep.frame_b"),
        ]
        for side, sign in SIDES:
            seat, box = (x, sign * data["d_1"], -data["h_1"]), (0.0, sign * data["d_1"], 0.0)
            spring = Bushing(f"{axle}_{side}", c=(data["k_2"], data["k_1"], data["k_3"]))
            mounts.append((spring, ("frame.frame_a", seat), (f"{axle}_wheels.frame_a", box)))
    for force, *ends in mounts:
        components.append(force)
        for (frame, r), end in zip(ends, ("frame_a", "frame_b"), strict=True):
            components.append(FixedTranslation(f"{force.name}_{end}", r=r))
            connections += _row(frame, f"{force.name}_{end}")
            connections.append(connect(f"{force.name}_{end}.frame_b", f"{force.name}.{end}"))
    parameters = (Parameter("v", 60.0, "m/s", "speed along the track"),)
    return System("cooperrider", tuple(components), tuple(connections), parameters=parameters, stepper="radau")


def _row(start: str, *names: str) -> Iterator[Connection]:
    for name in names:
        yield connect(start, f"{name}.frame_a")
        start = f"{name}.frame_b"


def test_the_critical_speed_of_cooperriders_bogie_is_the_published_one() -> None:
    """Measured 68.644 m/s, off by 2.4e-4. The page finds misprints in the data; 0.1 % of the taper moves it by 5e-4."""
    (critical,) = mbfmu.locus(cooperrider(), {"v": (60.0, 75.0)}).critical
    assert critical.unstable == (0, 2)
    assert critical.value == pytest.approx(HOPF, rel=4e-4)
