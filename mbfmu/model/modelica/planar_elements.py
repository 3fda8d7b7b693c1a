"""Components of mbfmu for classes of PlanarMechanics."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from mbfmu.errors import ModelError
from mbfmu.model.component import Component
from mbfmu.model.forces import CartesianSpringDamper, Damper, WorldForce
from mbfmu.model.forces.world import RESOLVED
from mbfmu.model.joints import GearPair, Prismatic, Revolute, RollingWheel
from mbfmu.model.modelica.elements import ModelicaComponent
from mbfmu.model.modelica.planar import LIBRARY, WORLD
from mbfmu.model.modelica.planar_wheels import drag, slipping
from mbfmu.model.parts import Body, FixedRotation, FixedTranslation, World


def _world(e: ModelicaComponent, name: str) -> Component:
    x, y = (float(item) for item in e.numbers("constantGravity"))
    g = math.hypot(x, y)
    return World(name, g=g, n=(x / g, y / g, 0.0) if g else (0.0, -1.0, 0.0))


def _body(e: ModelicaComponent, name: str) -> Component:
    gravity = next(key for key in e.values.variables if key.endswith(".constantGravity"))
    if not e.flag("enableGravity") and any(map(e.values.number, e.values.of(gravity))):
        raise ModelError(f"'{e.name}': a body without gravity is not read; set constantGravity of the world")
    begins = e.starts("r", "v", "phi", "w")
    return Body(
        name, m=e.value("m"), I_33=e.value("I"), r_0=begins["r"], v_0=begins["v"], phi=begins["phi"], w=begins["w"]
    )


def _place(e: ModelicaComponent, label: str) -> tuple[Any, ...]:
    return (*e.vector(label), 0.0)


def _fixed(e: ModelicaComponent, name: str) -> Component:
    if e.full("phi") == 0.0:
        return FixedTranslation(name, r=_place(e, "r"))
    return FixedRotation(name, r=_place(e, "r"), angle=e.value("phi"))


def _prismatic(e: ModelicaComponent, name: str) -> Component:
    x, y = (float(item) for item in e.numbers("r"))
    length = math.hypot(x, y)
    if not length:
        raise ModelError(f"'{e.name}.r' has no direction")
    return Prismatic(name, n=(x / length, y / length, 0.0), **e.starts("s", "v"))


def _rolling(e: ModelicaComponent, name: str) -> Component:
    x, phi = (e.values.number(e.values.of(f"{e.name}.{label}", "start")) for label in ("x", "phi"))
    if abs(x + e.number("R") * phi) > 1e-12:
        raise ModelError(f"'{e.name}': a wheel that begins at x = -R*phi is read, and no other")
    begins = e.starts("phi", "w")
    return RollingWheel(name, radius=e.value("R"), phi=begins["phi"], w=begins["w"])


def _flexible(e: ModelicaComponent, name: str, damped: bool) -> Component:
    more = {label: e.value(label) for label in (("c_phi", "d_x", "d_y", "d_phi") if damped else ())}
    return CartesianSpringDamper(
        name,
        c_x=e.value("c_x"),
        c_y=e.value("c_y"),
        s_relx0=e.value("s_relx0"),
        s_rely0=e.value("s_rely0"),
        phi_rel0=e.value("phi_rel0"),
        **more,
    )


def _force(e: ModelicaComponent, name: str) -> Component:
    frame = str(e.full("resolveInFrame"))
    if frame not in RESOLVED:
        raise ModelError(f"'{e.name}': resolveInFrame {frame} is not read; use {' or '.join(RESOLVED)}")
    return WorldForce(name, resolve=frame)


def _gear(e: ModelicaComponent, name: str, internal: bool) -> Component:
    return GearPair(name, r_a=e.value("r_a"), r_b=e.value("r_b"), internal=internal)


ELEMENTS: dict[str, Callable[[ModelicaComponent, str], Component]] = {
    WORLD: _world,
    f"{LIBRARY}.Parts.Fixed": _fixed,
    f"{LIBRARY}.Parts.FixedTranslation": lambda e, name: FixedTranslation(name, r=_place(e, "r")),
    f"{LIBRARY}.Parts.FixedRotation": lambda e, name: FixedRotation(name, angle=e.value("alpha")),
    f"{LIBRARY}.Parts.Body": _body,
    f"{LIBRARY}.Joints.Revolute": lambda e, name: Revolute(name, **e.starts("phi", "w")),
    f"{LIBRARY}.Joints.Prismatic": _prismatic,
    f"{LIBRARY}.Joints.IdealRolling": _rolling,
    f"{LIBRARY}.Joints.DryFrictionBasedRolling": slipping,
    f"{LIBRARY}.Parts.Spring": lambda e, name: _flexible(e, name, False),
    f"{LIBRARY}.Parts.SpringDamper": lambda e, name: _flexible(e, name, True),
    f"{LIBRARY}.Parts.Damper": lambda e, name: Damper(name, d=e.value("d")),
    f"{LIBRARY}.Sources.WorldForce": _force,
    f"{LIBRARY}.VehicleComponents.AirResistanceLongitudinal": drag,
    **{
        f"{LIBRARY}.GearComponents.RigidNoLoss{kind}": partial(_gear, internal=kind == "Internal")
        for kind in ("External", "Internal")
    },
}
"""Function that makes the component, by the path of its class."""
