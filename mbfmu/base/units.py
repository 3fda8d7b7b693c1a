"""Units of variables: SI base units, the units that a user may see in their place, and the declared types of FMUs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mbfmu.errors import UnknownNameError, UsageError, nearest


@dataclass(frozen=True)
class Unit:
    """An SI unit.

    Args:
        base: exponents of the SI base units, as FMI names them; None: not known.
        display: display units: name -> factor, with value in display unit = factor * value.
        quantity: name of the declared type, empty for none.
    """

    base: dict[str, int] | None
    display: dict[str, float] = field(default_factory=dict)
    quantity: str = ""


DEGREES = 57.29577951308232
RPM = 9.549296585513721

UNITS: dict[str, Unit] = {
    "1": Unit({}),
    "s": Unit({"s": 1}, {"ms": 1e3}, "Time"),
    "m": Unit({"m": 1}, {"mm": 1e3, "cm": 1e2, "km": 1e-3}, "Length"),
    "m/s": Unit({"m": 1, "s": -1}, {"mm/s": 1e3, "km/h": 3.6}, "Velocity"),
    "m/s2": Unit({"m": 1, "s": -2}, {}, "Acceleration"),
    "rad": Unit({"rad": 1}, {"deg": DEGREES}, "Angle"),
    "rad/s": Unit({"rad": 1, "s": -1}, {"deg/s": DEGREES, "rev/min": RPM}, "AngularVelocity"),
    "rad/s2": Unit({"rad": 1, "s": -2}, {"deg/s2": DEGREES}, "AngularAcceleration"),
    "kg": Unit({"kg": 1}, {"g": 1e3, "t": 1e-3}, "Mass"),
    "kg.m2": Unit({"kg": 1, "m": 2}, {}, "MomentOfInertia"),
    "N": Unit({"kg": 1, "m": 1, "s": -2}, {"kN": 1e-3}, "Force"),
    "N.m": Unit({"kg": 1, "m": 2, "s": -2}, {"kN.m": 1e-3}, "Torque"),
    "N.s": Unit({"kg": 1, "m": 1, "s": -1}, {}, "Momentum"),
    "N.m.s": Unit({"kg": 1, "m": 2, "s": -1}, {}, "AngularMomentum"),
    "N/m": Unit({"kg": 1, "s": -2}, {"kN/m": 1e-3, "N/mm": 1e-3}, "TranslationalSpringConstant"),
    "N.s/m": Unit({"kg": 1, "s": -1}, {}, "TranslationalDampingConstant"),
    "N.m/rad": Unit({"kg": 1, "m": 2, "s": -2, "rad": -1}, {}, "RotationalSpringConstant"),
    "N.m.s/rad": Unit({"kg": 1, "m": 2, "s": -1, "rad": -1}, {}, "RotationalDampingConstant"),
    "N.s/m2": Unit({"kg": 1, "m": -1, "s": -1}),
    "N.m.s/rad2": Unit({"kg": 1, "m": 2, "s": -1, "rad": -2}),
    "kg/m3": Unit({"kg": 1, "m": -3}, {}, "Density"),
    "m2": Unit({"m": 2}, {"mm2": 1e6}, "Area"),
    "m3": Unit({"m": 3}, {"l": 1e3}, "Volume"),
    "m3/s": Unit({"m": 3, "s": -1}, {"l/min": 6e4}, "VolumeFlowRate"),
    "m3/rad": Unit({"m": 3, "rad": -1}),
    "m2/s": Unit({"m": 2, "s": -1}, {"mm2/s": 1e6}, "KinematicViscosity"),
    "Pa": Unit({"kg": 1, "m": -1, "s": -2}, {"bar": 1e-5, "kPa": 1e-3}, "Pressure"),
    "N/m2": Unit({"kg": 1, "m": -1, "s": -2}, {"MPa": 1e-6}, "Stress"),
    "1/Pa": Unit({"kg": -1, "m": 1, "s": 2}),
    "1/Pa2": Unit({"kg": -2, "m": 2, "s": 4}),
    "m3/Pa": Unit({"kg": -1, "m": 4, "s": 2}),
    "m3/(s.Pa)": Unit({"kg": -1, "m": 4, "s": 1}),
    "Pa.s/m3": Unit({"kg": 1, "m": -4, "s": -1}),
    "kg/m4": Unit({"kg": 1, "m": -4}),
    "J/m3": Unit({"kg": 1, "m": -1, "s": -2}),
    "W": Unit({"kg": 1, "m": 2, "s": -3}, {"kW": 1e-3}, "Power"),
    "A": Unit({"A": 1}, {}, "ElectricCurrent"),
    "V": Unit({"kg": 1, "m": 2, "s": -3, "A": -1}, {}, "ElectricPotential"),
    "Ohm": Unit({"kg": 1, "m": 2, "s": -3, "A": -2}, {}, "Resistance"),
    "Wb": Unit({"kg": 1, "m": 2, "s": -2, "A": -1}, {}, "MagneticFlux"),
    "H": Unit({"kg": 1, "m": 2, "s": -2, "A": -2}, {}, "Inductance"),
    "N.m/A": Unit({"kg": 1, "m": 2, "s": -2, "A": -1}, {}, "ElectricalTorqueConstant"),
    "1/s": Unit({"s": -1}),
    "1/s2": Unit({"s": -2}),
    "s/m": Unit({"s": 1, "m": -1}),
    "J": Unit({"kg": 1, "m": 2, "s": -2}, {"kJ": 1e-3}, "Energy"),
}
DISPLAYED = tuple(dict.fromkeys(name for unit in UNITS.values() for name in unit.display))
"""Names of all display units."""


class DisplayUnit(NamedTuple):
    """A unit in place of an SI unit.

    Args:
        name: its name.
        factor: value in it = factor * value in the SI unit.
    """

    name: str
    factor: float


Display = Mapping[str, DisplayUnit]
"""Units that a user sees, by the SI units in whose place they stand."""


def display_of(names: Iterable[str]) -> Display:
    """Return the units that stand in the place of SI units.

    Args:
        names: of display units, such as ``deg`` for rad, ``bar`` for Pa; each stands for the units of which it is a
            multiple, not for rates of these: ``deg/s`` is chosen by itself.

    Raises:
        UnknownNameError: there is no such display unit.
        UsageError: two of them stand for one unit.
    """
    chosen: dict[str, DisplayUnit] = {}
    for name in names:
        if name not in DISPLAYED:
            raise UnknownNameError(f"there is no display unit '{name}'; {nearest(name, DISPLAYED)}")
        for si, unit in UNITS.items():
            if name not in unit.display:
                continue
            if si in chosen and chosen[si].name != name:
                raise UsageError(f"{chosen[si].name} and {name} are both display units of {si}: choose one of them")
            chosen[si] = DisplayUnit(name, unit.display[name])
    return chosen


def check_display(names: Iterable[str]) -> None:
    """Raise an error, as `display_of` does, if names are no display units, or two stand for one unit."""
    display_of(names)


def shown_unit(unit: str, display: Display) -> DisplayUnit:
    """Return the unit that a user sees in the place of an SI unit: that itself, if no other is chosen."""
    return display.get(unit, DisplayUnit(unit, 1.0))


def known_unit(name: str) -> Unit:
    """Return a unit; one that is not in the table is declared by its name alone."""
    return UNITS.get(name, Unit(None))
