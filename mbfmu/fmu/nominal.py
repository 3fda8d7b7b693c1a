"""Nominal values: those that signals state, else the size that a mechanism's own mass, length and gravity give.

With the total mass M, the largest length L and T = sqrt(L / g), a quantity of the unit kg^a m^b s^c has the size
M^a L^b T^c, up to a factor that a master needs not know; angles count as 1.
"""

import math
from collections.abc import Callable

from mbfmu.base.units import known_unit
from mbfmu.dae import Dae, ParameterSignal, Signal

DIGITS = 300
"""Largest exponent of ten of a nominal value, and of the mass, length and time that it is computed with."""


def nominal_of(dae: Dae) -> Callable[[Signal | ParameterSignal], float]:
    """Return the map from a quantity to its nominal value: what its signal states, or a power of ten by its unit.

    A quantity that is not real has the nominal value 1.

    Args:
        dae: the equations; what its default parameters say of mass (kg), length (m) and gravity (m/s2) is taken, and 1
            where they say nothing. Quantities of a block, which moves nothing, have the size 1 where none is stated.
    """
    by_unit = _by_unit(dae) if dae.n else lambda _: 1.0

    def nominal(item: Signal | ParameterSignal) -> float:
        if item.type != "Real":
            return 1.0  # FMI has no nominal values of other types
        stated = item.nominal if isinstance(item, Signal) else None
        return by_unit(item) if stated is None else stated

    return nominal


def _by_unit(dae: Dae) -> Callable[[Signal | ParameterSignal], float]:
    p = dae.p_default()
    values = [*p, *(float(value) for value in dae.bound_values(dae.extended(p)).full().ravel())]
    sizes: dict[str, list[float]] = {}
    units = [item.unit for item in dae.parameters] + [item.unit for item in dae.bound]
    for unit, value in zip(units, values, strict=True):
        sizes.setdefault(unit, []).append(abs(value))
    mass = sum(sizes.get("kg", [])) or 1.0
    length = max(sizes.get("m", []), default=0.0) or 1.0
    gravity = max(sizes.get("m/s2", []), default=0.0)
    time = math.sqrt(length / gravity) if gravity else 1.0
    digits = {unit: min(math.log10(size), DIGITS) for unit, size in (("kg", mass), ("m", length), ("s", time))}

    def nominal(item: Signal | ParameterSignal) -> float:
        powers = known_unit(item.unit).base or {}
        size = sum(power * digits[unit] for unit, power in powers.items() if unit in digits)
        return 10.0 ** max(-DIGITS, min(round(size), DIGITS))

    return nominal


def power_of_ten(value: float) -> float:
    """Return the power of ten next to a value, 1 for zero."""
    return 10.0 ** round(math.log10(abs(value))) if value else 1.0
