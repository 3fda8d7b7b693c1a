"""Hydraulic servo axes on driven prismatic joints: for each a controller, and a valve with its cylinder."""

from collections.abc import Iterable
from math import pi
from pathlib import Path

from scipy.integrate import cumulative_trapezoid

import mbfmu
from examples.report import Array
from mbfmu.fmu.ssp import Wire

CONTROLLER = {"T_i": 1.0, "T_d": 1e-3, "T_t": 0.2, "y_min": -1.0, "y_max": 1.0}
"""s; the output is the valve's command."""


def fmus(mechanism: Path, name: str, axes: Iterable[str], step: float) -> dict[str, Path]:
    """Write the FMUs of the axes beside a mechanism's; return all paths by component, the mechanism first.

    The axes share one FMU of the controller and one of valve and cylinder.

    Args:
        mechanism: path of its FMU.
        name: of its component.
        axes: joints of the mechanism.
        step: of the communication, s.
    """
    folder = mechanism.parent
    servo = mbfmu.export(mbfmu.load("hydraulic_servo"), folder / "servo.fmu", step=5e-4, backend="native")
    control = mbfmu.export(mbfmu.load("pid"), folder / "control.fmu", step=step, backend="native")
    each = {f"{axis}_{part}": path for axis in axes for part, path in (("control", control), ("servo", servo))}
    return {name: mechanism, **each}


def connections(name: str, axes: Iterable[str]) -> list[Wire]:
    """Return who tells whom; name: of the mechanism's component."""
    found = []
    for axis in axes:
        found += [
            Wire(f"{name}.{axis}.s", f"{axis}_control.measured"),
            Wire(f"{axis}_control.y", f"{axis}_servo.command"),
            Wire(f"{name}.{axis}.s", f"{axis}_servo.s"),
            Wire(f"{name}.{axis}.v", f"{axis}_servo.v"),
            Wire(f"{axis}_servo.f", f"{name}.{axis}.f"),
        ]
    return found


def values(
    axis: str, cylinder: dict[str, float], hold: float, p_b: float, gain: float, start: float = 0.0
) -> dict[str, float]:
    """Return parameters and start values of an axis whose oil holds a force.

    Args:
        axis: the joint.
        cylinder: D, d, L and s_0 of the cylinder, m.
        hold: the force, N.
        p_b: pressure in the chamber of the rod, Pa.
        gain: of the controller, 1/m.
        start: stroke at the start, m.
    """
    bore, rod = cylinder["D"], cylinder["d"]
    area_a, area_b = pi / 4 * bore**2, pi / 4 * (bore**2 - rod**2)
    servo = {**cylinder, "p_b": p_b, "p_a": (hold + area_b * p_b) / area_a}
    control = {**CONTROLLER, "K": gain, "filtered": start}
    given = {"servo": servo, "control": control}
    return {f"{axis}_{part}.{name}": value for part, them in given.items() for name, value in them.items()}


def work(found: mbfmu.Result, name: str, axes: Iterable[str]) -> Array:
    """Return the work that the axes have done on the mechanism, J, shape (n_t,)."""
    power = sum(found[f"{axis}_servo.f"] * found[f"{name}.{axis}.v"] for axis in axes)
    done: Array = cumulative_trapezoid(power, found.time, initial=0.0)
    return done
