"""The coefficients of a tyre in the Magic Formula MF-Tyre 5.2, and the reader of their files (.tir)."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from mbfmu.errors import ModelFileError, UnknownNameError, ValueRangeError, nearest
from mbfmu.model.component import Value
from mbfmu.model.source import read_bytes

ENDINGS = (".tir",)
"""Endings of tyre property files."""
LARGEST = 2**20
"""Largest size of a tyre property file, bytes."""
NEEDED = (
    "UNLOADED_RADIUS FNOMIN VERTICAL_STIFFNESS BREFF DREFF FREFF PCX1 PDX1 PKX1 PTX1 RBX1 RCX1 PCY1 PDY1 PKY1 PKY2 "
    "PTY1 PTY2 RBY1 RCY1 QBZ1 QCZ1 QDZ1"
)
"""Coefficients without which a set does not describe a tyre, separated by blanks."""
ZERO = (
    "VERTICAL_DAMPING PDX2 PDX3 PEX1 PEX2 PEX3 PEX4 PKX2 PKX3 PHX1 PHX2 PVX1 PVX2 PTX2 PTX3 RBX2 REX1 REX2 RHX1 "
    "PDY2 PDY3 PEY1 PEY2 PEY3 PEY4 PKY3 PHY1 PHY2 PHY3 PVY1 PVY2 PVY3 PVY4 RBY2 RBY3 REY1 REY2 RHY1 RHY2 "
    "RVY1 RVY2 RVY3 RVY4 RVY5 RVY6 QSX1 QSX2 QSX3 QSY1 QSY2 QSY3 QSY4 "
    "QBZ2 QBZ3 QBZ4 QBZ5 QBZ9 QBZ10 QDZ2 QDZ3 QDZ4 QDZ6 QDZ7 QDZ8 QDZ9 QEZ1 QEZ2 QEZ3 QEZ4 QEZ5 "
    "QHZ1 QHZ2 QHZ3 QHZ4 SSZ1 SSZ2 SSZ3 SSZ4"
)
"""Coefficients that are 0 where a set does not have them."""
ONE = (
    "LFZO LCX LMUX LEX LKX LHX LVX LGAX LCY LMUY LEY LKY LHY LVY LGAY LTR LRES LGAZ LXAL LYKA LVYKA LS "
    "LSGKP LSGAL LMX LVMX LMY LCZ"
)
"""Scaling factors, which are 1 where a set does not have them."""
DEFAULTS: Mapping[str, float] = MappingProxyType(
    {
        **dict.fromkeys(ZERO.split(), 0.0), **dict.fromkeys(ONE.split(), 1.0), "LONGVL": 16.7, "VXLOW": 1.0,
        "KPUMIN": -1.5, "KPUMAX": 1.5, "ALPMIN": -1.5708, "ALPMAX": 1.5708, "CAMMIN": -0.26181, "CAMMAX": 0.26181,
        "FZMIN": 0.0, "FZMAX": 1e6,
    }
)  # fmt: skip
"""Coefficients that a set need not have, with what they are then; the ranges are those of most property files."""
KNOWN = frozenset({*NEEDED.split(), *DEFAULTS})
"""Names of all coefficients."""
UNITS = {
    "UNLOADED_RADIUS": "m", "FNOMIN": "N", "VERTICAL_STIFFNESS": "N/m", "VERTICAL_DAMPING": "N.s/m", "LONGVL": "m/s",
    "VXLOW": "m/s", "FZMIN": "N", "FZMAX": "N", "ALPMIN": "rad", "ALPMAX": "rad", "CAMMIN": "rad", "CAMMAX": "rad",
}  # fmt: skip
"""Units of the coefficients that have one other than 1; angles are in rad throughout."""
POSITIVE = (
    "UNLOADED_RADIUS FNOMIN VERTICAL_STIFFNESS LFZO LONGVL VXLOW "
    "PCX1 PDX1 PKX1 PKY2 PCY1 PTX1 PTY1 PTY2 LCZ LSGKP LSGAL"
)
"""Coefficients that must be above zero, separated by blanks."""
SI = {
    "LENGTH": {"meter", "metre", "m"},
    "FORCE": {"newton", "n"},
    "ANGLE": {"radian", "radians", "rad"},
    "MASS": {"kg", "kilogram"},
    "TIME": {"second", "sec", "s"},
}
"""Names of the units that a property file may have."""
VERSIONS = (5, 6, 21, 52)
"""Values of FITTYP, and of mfeval's, by which files say that their coefficients are those of MF-Tyre 5."""
FORMATS = ("PAC2002", "MF-TYRE", "MF_05", "MF-TYRE 5.2", "MF52")
"""Values of PROPERTY_FILE_FORMAT of such files."""
OTHER = re.compile(r"(P[CDEHKPV][XYZ]|R[BCEHV][XY]|Q[BCDEHSP][XYZ]|SSZ|QFZ|PPZ|Q[CFR][AEF][12A-Z])\d+")
"""Names of coefficients of the Magic Formula, of any version."""
LINE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*")


@dataclass(frozen=True)
class _TirLine:
    """A line ``KEY = value`` of a property file, with its number."""

    number: int
    section: str
    key: str
    text: str


def read_tir(path: str | Path) -> dict[str, float]:
    """Return the coefficients of a tyre property file (.tir), by name; those that the file lacks are left out.

    Sections are in brackets, entries are ``KEY = value``, and what follows ``$`` or stands after ``!`` is a comment.
    Entries without a meaning for MF-Tyre 5.2 are left out too, such as inertia, shape and pressure.

    Args:
        path: path of the file.

    Raises:
        ModelFileError: there is no such file or it cannot be read, a value is no finite number, a unit is not of the
            SI, or the file is of another version of the Magic Formula; with the line where it can be told.
    """
    where = str(path)
    text = read_bytes(Path(path), LARGEST).decode("utf-8", errors="replace")
    coefficients: dict[str, float] = {}
    for line in _lines(text):
        at = f"{where}:{line.number}"
        if line.section == "UNITS":
            if line.key in SI and line.text.lower() not in SI[line.key]:
                raise ModelFileError(
                    f"{at}: {line.key} is in '{line.text}': convert the file to meter, newton, radian, kg and second"
                )
        elif line.key in {"FITTYP", "PROPERTY_FILE_FORMAT", "TYPE"}:
            _check_version(at, line.key, line.text)
        elif line.key in KNOWN:
            if line.key in coefficients:
                raise ModelFileError(f"{at}: {line.key} is there a second time: leave one")
            coefficients[line.key] = _number(at, line)
        elif OTHER.fullmatch(line.key) and _number(at, line) != 0:
            raise ModelFileError(
                f"{at}: {line.key} = {line.text} is not a coefficient of MF-Tyre 5.2, which this element has: "
                "take a file "
                "of that version, or set it to 0 if the tyre is to go without"
            )
    if not coefficients:
        raise ModelFileError(f"{where} has no coefficient of the Magic Formula: it is not a tyre property file")
    return coefficients


def complete(where: str, coefficients: Mapping[str, Value]) -> dict[str, Value]:
    """Return a set of coefficients with the defaults of those that it does not have.

    Args:
        where: name of the set, for messages.
        coefficients: numbers or expressions of parameters, by name.

    Raises:
        UnknownNameError: a name is that of no coefficient.
        ValueRangeError: a coefficient that has no default is missing, or a number is not finite or not as it must be.
    """
    for name, value in coefficients.items():
        if name not in KNOWN:
            raise UnknownNameError(f"{where}: MF-Tyre 5.2 has no coefficient '{name}'; {nearest(str(name), KNOWN)}")
        if isinstance(value, str):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ValueRangeError(f"{where}: {name} = {value!r} must be a finite number or an expression of parameters")
        if name in POSITIVE.split() and not value > 0:
            raise ValueRangeError(f"{where}: {name} = {value:g} must be above zero")
    if missing := [name for name in NEEDED.split() if name not in coefficients]:
        raise ValueRangeError(
            f"{where} lacks {', '.join(missing)}: a tyre needs them; take a complete set, with pure and combined slip"
        )
    for name in ("PDY1", "PKY1"):
        if coefficients[name] == 0:
            raise ValueRangeError(f"{where}: {name} is 0: a tyre has a lateral friction and a cornering stiffness")
    for least, most in (("KPUMIN", "KPUMAX"), ("ALPMIN", "ALPMAX"), ("CAMMIN", "CAMMAX"), ("FZMIN", "FZMAX")):
        ends = (coefficients.get(least, DEFAULTS[least]), coefficients.get(most, DEFAULTS[most]))
        if not any(isinstance(end, str) for end in ends) and float(ends[0]) >= float(ends[1]):
            raise ValueRangeError(f"{where}: {least} = {ends[0]} is not below {most} = {ends[1]}: swap them")
    plain = {name: value if isinstance(value, str) else float(value) for name, value in coefficients.items()}
    return {name: plain.get(name, DEFAULTS.get(name, 0.0)) for name in (*NEEDED.split(), *DEFAULTS)}


def _lines(text: str) -> Iterator[_TirLine]:
    """Yield the entries of a property file."""
    section = ""
    for line_number, line in enumerate(text.splitlines(), 1):
        bare = line.partition("$")[0].partition("!")[0].strip()
        if bare.startswith("[") and bare.endswith("]"):
            section = bare[1:-1].strip().upper()
        elif entry := LINE.fullmatch(bare):
            yield _TirLine(line_number, section, entry[1].upper(), entry[2].strip("'\" "))


def _number(at: str, line: _TirLine) -> float:
    try:
        value = float(line.text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelFileError(f"{at}: {line.key} = {line.text or 'nothing'} must be a finite number")
    return value


def _check_version(at: str, key: str, text: str) -> None:
    """Raise an error if a file says that it is of another version of the Magic Formula than 5.2.

    Raises:
        ModelFileError: it is.
    """
    said = text.upper()
    if key == "FITTYP":
        fits = said.isdigit() and int(said) in VERSIONS
        known = ", ".join(map(str, VERSIONS))
    else:
        fits = said in FORMATS if key == "PROPERTY_FILE_FORMAT" else "MOTOR" not in said and "BIKE" not in said
        known = ", ".join(FORMATS) if key == "PROPERTY_FILE_FORMAT" else "CAR or TRUCK"
    if not fits:
        raise ModelFileError(
            f"{at}: {key} = {text} is not the Magic Formula of MF-Tyre 5.2, which this element has (known: {known}): "
            "take a file of that version"
        )
