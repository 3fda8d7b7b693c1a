"""Plain C in double precision -> the same in single precision, for floating-point units that have no doubles."""

import math
import re
from collections.abc import Mapping
from importlib.resources import files

import numpy as np

from mbfmu.dae.start import EPSILON, EXACT, ROUND_OFF
from mbfmu.errors import UsageError

UNIT = 2.0**-24
"""Largest relative error of a number that is rounded to single precision."""
LIMITS: Mapping[str, float] = {
    "ROUND_OFF": 1e-6,
    "STALLED": 1e-3,
    "HALF_UNIT": UNIT,
    "LOST": 1e18,
    "SHORTEST": 1e-4,
    "SHORTEST_SLIDING": 1e-5,
    "CLOSE": 1e-5,
    "CONSISTENT": 1e-5,
    "NUDGE": 1e-6,
    "ARMED": 1e-5,
    "JUMPED": -1e-4,
    "NEARBY": 1e-3,
    "CLOSEST": 4 * UNIT,
    "VANISHING": 1e-10,
    "NOISE": 1e-4,
    "NEGLIGIBLE": 1e-16,
}
"""Limits that follow the rounding, by the names of their macros; others are the same in both precisions."""
CONSTANTS: Mapping[float, float] = {ROUND_OFF: 8 * UNIT, EXACT: 2.0**60}
"""Numbers in formulas that follow the rounding, by the numbers in double precision: the part of a length or of the time
that is round-off, and the factor that makes a whole number of every number."""
ENTRIES: Mapping[float, float] = {EPSILON: 16 * UNIT}
"""The same in the constant matrices of a start: what makes repeated rows harmless."""
OWN = ("exact.h", "elementary.h", "angles.h")
"""Headers that single precision has of its own."""
LEFT_OUT = ("circular.h", "several.h", "lanes.h")
"""Headers that only the others in double precision include."""
LARGEST, SMALLEST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)
"""Largest number, and smallest one with all digits."""
FUNCTIONS = ("fabs", "sqrt", "fmin", "fmax", "floor", "ceil", "rint", "fmod", "copysign")
"""Names of the functions of math.h that have an f at their end in single precision."""
TOKEN = re.compile(
    r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\""  # comments and texts stay as they are
    r"|(?P<entry>\bENTRY\()?(?<![\w.])(?P<number>(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)(?![\w.])"
    rf"|\b(?P<word>double|{'|'.join(FUNCTIONS)})\b",
    re.DOTALL,
)
"""Tokens of C that differ in single precision, and comments and texts, in which nothing is to change."""


def in_single_precision(texts: Mapping[str, str]) -> dict[str, str]:
    """Return C files in single precision, by name.

    Every number gets its suffix and every function its name, so that they need no option of a compiler.

    Args:
        texts: files in double precision, by name.

    Raises:
        UsageError: a number exceeds the range.
    """
    here = files("mbfmu.fmu.plain.single")
    own = {name: (here / name).read_text(encoding="utf-8") for name in OWN if name in texts}
    return {name: own.get(name) or _single(text) for name, text in texts.items() if name not in LEFT_OUT}


def _single(text: str) -> str:
    """Return a C file in single precision."""
    text = re.sub(
        r"^(#define (\w+)) \S+",
        lambda line: f"{line[1]} {LIMITS[line[2]]!r}" if line[2] in LIMITS else line[0],
        text,
        flags=re.MULTILINE,
    )
    return TOKEN.sub(_spelled, text)


def _spelled(token: re.Match[str]) -> str:
    """Return a token in single precision."""
    if token["number"]:
        value, entry = float(token["number"]), token["entry"] or ""
        value = ENTRIES.get(value, value) if entry else value
        return entry + single_number(CONSTANTS.get(value, value))
    if token["word"]:
        return "float" if token["word"] == "double" else f"{token['word']}f"
    return token[0]


def single_number(value: float) -> str:
    """Return a number as a constant of C in single precision.

    Raises:
        UsageError: it exceeds the range.
    """
    if abs(value) > LARGEST:
        raise UsageError(f"single precision cannot hold the number {value:g} of the model: export without --float")
    if 0 < abs(value) < SMALLEST:
        value = math.copysign(SMALLEST, value)
    return f"{np.float32(value)!s}f"
