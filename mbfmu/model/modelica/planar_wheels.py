"""Wheels of PlanarMechanics on the plane: the joint of their own rotation, and what the plane does to the hub."""

import math
from typing import Any

from mbfmu.errors import ModelError
from mbfmu.model.component import Component
from mbfmu.model.forces import LongitudinalDrag, PlanarTyre
from mbfmu.model.joints import PlanarWheel, Revolute, SlippingWheel
from mbfmu.model.modelica.elements import ModelicaComponent
from mbfmu.model.modelica.planar import STARTS
from mbfmu.model.parts import FixedTranslation
from mbfmu.model.system_data import Connection

ROLLING = ("phi_roll", "w_roll")
"""Coordinate and velocity of a wheel's own rotation."""


def forward(e: ModelicaComponent) -> tuple[float, float, float]:
    """Return the driving direction of a wheel or vehicle, with length 1.

    Raises:
        ModelError: it has no length.
    """
    x, y = (float(item) for item in e.numbers("r"))
    length = math.hypot(x, y)
    if not length:
        raise ModelError(f"'{e.name}.r' has no direction")
    return x / length, y / length, 0.0


def drag(e: ModelicaComponent, name: str) -> Component:
    """Return the drag of the air on a vehicle."""
    return LongitudinalDrag(name, e=forward(e), c_W=e.value("c_W"), area=e.value("area"), rho=e.value("rho"))


def slipping(e: ModelicaComponent, name: str) -> Component:
    """Return a wheel that stands on the ground and slips."""
    begins = e.starts("x", "vx", "phi", "w")
    return SlippingWheel(
        name,
        radius=e.value("R"),
        mu_A=e.value("mu_A"), mu_S=e.value("mu_S"), v_A=e.value("vAdhesion"), v_S=e.value("vSlide"),
        s=begins["x"], v=begins["vx"], phi=begins["phi"], w=begins["w"],
    )  # fmt: skip


def begun(e: ModelicaComponent, moved: bool) -> dict[str, Any]:
    """Return the start values of a wheel's own rotation; a velocity that is not fixed gives way to an inertia's.

    Args:
        e: the wheel.
        moved: whether an inertia on its flange decides how it begins.

    Raises:
        ModelError: a start is given that is not read.
    """
    made = {}
    for label in STARTS.split():
        fixed = any(e.values.variables[f"{e.name}.{label}"]["fixed"] or [])
        given = e.values.number(e.values.of(f"{e.name}.{label}", "start"))
        if label in ROLLING and not (given and not fixed and moved):
            made[label.removesuffix("_roll")] = e.start(label)
        elif label in ROLLING:
            e.notices.append(f"the start of '{e.name}.{label}' is left out: it is not fixed, and an inertia decides")
        elif fixed or given:
            raise ModelError(f"the start of '{e.name}.{label}' is not read: give those for the body and its rotation")
    return made


def wheel(e: ModelicaComponent, path: str, world: str, moved: bool) -> tuple[list[Component], list[Connection]]:
    """Return the components of a wheel: its axis `NAME`, `NAME_rim` that turns with it, and `NAME_tyre`.

    Args:
        e: the wheel.
        path: its path.
        world: path of the frame of the world.
        moved: see `begun`.
    """
    name = path.rpartition(".")[2]
    grips: dict[str, Any] = {"e": forward(e), "radius": e.value("radius")}
    kind = e.kind.rpartition(".")[2]
    if kind == "IdealWheelJoint":
        tyre: Component = PlanarWheel(f"{name}_tyre", **grips)
    else:
        grips |= {label: e.value(label) for label in ("N", "mu_A", "mu_S")}
        slips = kind == "SlipBasedWheelJoint"
        least = "_min" if slips else ""
        grips |= {"v_A_min": e.value(f"vAdhesion{least}"), "v_S_min": e.value(f"vSlide{least}")}
        if slips:
            grips |= {"s_A": e.value("sAdhesion"), "s_S": e.value("sSlide"), "loaded": True}
        tyre = PlanarTyre(f"{name}_tyre", **grips)
    connections = [
        Connection(world, f"{path}.frame_a"),
        Connection(f"{path}.frame_b", f"{path}_rim.frame_a"),
        Connection(f"{path}_rim.frame_a", f"{path}_tyre.frame_a"),
    ]
    return [Revolute(name, **begun(e, moved)), FixedTranslation(f"{name}_rim"), tyre], connections
