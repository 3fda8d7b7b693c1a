"""The change of unit on the way from one FMU to another."""

from mbfmu.errors import UsageError
from mbfmu.fmi.reading import BASE, ScaledUnit


def conversion(
    where: str,
    source: str,
    sink: str,
    unit: ScaledUnit | None,
    wanted: ScaledUnit | None,
    factor: float | None,
    *,
    plain: bool = False,
) -> tuple[float, float]:
    """Return factor and offset that give an input in its unit `factor` times a quantity; no unit fits any.

    Between different quantities the factor is one of the plain numbers and carries their units, as a stiffness does
    that makes a force of a displacement.

    Args:
        where: the connection, for messages.
        source: name of the value's unit; empty for none.
        sink: name of the input's unit; empty for none.
        unit: the value's unit by its base; None: not known.
        wanted: the input's unit by its base; None: not known.
        factor: of the quantity, in whatever unit; None: 1, which carries no units.
        plain: whether numbers of the unit 1, such as a controller's for any plant, fit any unit.

    Raises:
        UsageError: the units are of different quantities, or one that has no base has another name, and there is no
            factor.
    """
    wrong, scaled = "", 1.0 if factor is None else factor
    if unit is None or wanted is None:
        if source and sink and source != sink:
            wrong = f"'{source}' and '{sink}', of which one has no base, are not the same"
    elif unit.exponents == wanted.exponents:
        scale = 1.0 if unit.factor == wanted.factor else unit.factor / wanted.factor
        return scaled * scale, (scaled * unit.offset - wanted.offset) / wanted.factor
    elif not (plain and (_is_one(unit) or _is_one(wanted))):
        wrong = f"{said(unit)} cannot go to {said(wanted)}"
    if wrong and factor is None:
        raise UsageError(f"{where}: {wrong}; a factor may carry the units")
    return scaled, 0.0


def _is_one(unit: ScaledUnit) -> bool:
    return not any(unit.exponents) and (unit.factor, unit.offset) == (1.0, 0.0)


def said(unit: ScaledUnit) -> str:
    """Return a unit with its base, such as ``deg (0.0174533 rad)``."""
    powers = zip(BASE, unit.exponents, strict=True)
    base = ".".join(f"{text}{power if power != 1 else ''}" for text, power in powers if power) or "1"
    scale = f"{unit.factor:g} " if unit.factor != 1.0 else ""
    shift = f" + {unit.offset:g}" if unit.offset else ""
    return f"'{unit.name}' ({scale}{base}{shift})"
