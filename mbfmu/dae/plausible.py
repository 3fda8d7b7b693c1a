"""Notices on values and units that a user may have meant otherwise: angles in degrees, and units by their names."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from mbfmu.dae.dae import Dae
from mbfmu.errors import first_of

LEAST, LARGEST = 15.0, 3600.0
"""Sizes of an angle, rad, between which a number of whole or half degrees counts as degrees."""
NAMES = {
    "m": "meter metre meters metres", "kg": "kilogram kilograms kgs", "s": "sec secs second seconds",
    "rad": "radian radians", "N": "newton newtons", "Pa": "pascal pascals", "J": "joule joules", "W": "watt watts",
    "V": "volt volts", "A": "amp amps ampere amperes", "Hz": "hertz", "K": "kelvin", "Ohm": "ohm ohms",
    "deg": "degree degrees",
}  # fmt: skip
"""Names in words of each unit, by its symbol."""
SYMBOLS = (
    *("m", "g", "s", "A", "K", "mol", "cd", "rad", "sr", "Hz", "N", "Pa", "J", "W", "C", "V", "F", "S", "H", "T", "Wb"),
    *("Ohm", "lm", "lx", "Bq", "Gy", "Sv", "kat"),
    *("deg", "rev", "rpm", "min", "h", "d", "l", "L", "t", "bar", "eV", "degC", "degF", "%"),
)
"""Symbols of units, without a prefix."""
PREFIXES = ("", *"TGMkhdcmunp")
"""Usual prefixes of the SI."""
KNOWN = frozenset(prefix + symbol for prefix in PREFIXES for symbol in SYMBOLS)
"""Symbols with and without a prefix."""


def value_notices(dae: Dae) -> Iterator[str]:
    """Yield notices on angles that look like degrees, and on units that are no symbols.

    Args:
        dae: the equations.
    """
    values = ((item.name, item.value) for item in (*dae.parameters, *dae.starts) if item.unit == "rad")
    turned = [f"{name} = {value:g}" for name, value in values if looks_like_degrees(value)]
    if turned:
        example = turned[0].rpartition(" ")[2]
        yield (
            f"{dae.name}: angles are in rad, and {first_of(turned)} is more than two turns: "
            f"for degrees write deg({example})"
        )
    signals: Iterable[tuple[str, str]] = chain(
        ((item.name, item.unit) for item in (*dae.parameters, *dae.starts)),
        ((item.name, item.unit) for item in (*dae.inputs, *dae.bound, *dae.outputs)),
    )
    wrong: dict[str, str] = {}
    for name, unit in signals:
        if unit not in wrong and (clause := unit_fault(unit)):
            wrong[unit] = f"the unit of {name}, '{unit}', {clause}"
    yield from (f"{dae.name}: {text}" for text in wrong.values())


def looks_like_degrees(angle: float) -> bool:
    """Return whether an angle, rad, is more than two full turns and a number of whole or half degrees."""
    return LEAST <= abs(angle) <= LARGEST and 2 * angle == round(2 * angle)


def unit_fault(unit: str) -> str:
    """Return a clause on what is wrong with a unit, such as ``meter``; empty if it is of known symbols."""
    for word in re.findall(r"[^\W\d_]+|%", unit):
        if word not in KNOWN:
            meant = next((symbol for symbol, names in NAMES.items() if word.lower() in names.split()), "")
            return (
                f"is not a symbol; did you mean '{unit.replace(word, meant)}'?"
                if meant
                else (f"has no known symbol '{word}': write symbols of the SI, such as m, kg, N.m/rad")
            )
    return ""
