"""Deviation of single precision from double precision: one run in both, on this machine."""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mbfmu.errors import KernelError, StepperError
from mbfmu.fmu.interface import OUTPUT, Interface
from mbfmu.kernel.build.toolchain import BuildError, built
from mbfmu.kernel.errors import NARROW, SLIGHT, SMALL
from mbfmu.kernel.loading import compiler_for_kernels
from mbfmu.kernel.runtime import CODES, OK
from mbfmu.prepared.prepare import Prepared

LONGEST = 200_000
"""Largest number of steps that are compared."""
ROWS = 1000
"""Number of instants at which they are."""
HELD = 1e-4
"""Largest residual of the constraints, relative to 1 and the largest coordinate, that counts as met."""
NOTICEABLE = 0.01
"""Part of a range from which a difference has a reason: chaos, or a number that takes more digits."""
RESIDUALS = ("constraint.position", "constraint.velocity")
"""Names of the outputs with the residuals of the constraints."""
INSTEAD = "export without --float, or with another stepper or a shorter step"
"""Advice where single precision does not do."""


@dataclass(frozen=True)
class Deviation:
    """The difference between a run in single precision and one in double precision.

    Args:
        span: length of the runs, s.
        largest: largest difference, as a part of the range.
        name: the coordinate, velocity or state in which it is.
        time: the instant at which it is, s.
        residuals: largest residuals of the constraints in single precision, by name.
    """

    span: float
    largest: float
    name: str
    time: float
    residuals: Mapping[str, float]

    def __str__(self) -> str:
        """Return sentences on it."""
        if not self.largest:
            return f"over {self.span:g} s with the default values, both precisions agree: nothing moves."
        said = (
            f"over {self.span:g} s with the default values, single precision leads at most {self.largest:.1e} of its "
            f"range away from double precision, in {self.name} at {self.time:.4g} s"
        )
        left = ", ".join(f"{value:.1e} in {name}" for name, value in self.residuals.items() if value)
        chaotic = "; a motion that depends on its start that much, or on more digits, differs so" * (
            self.largest > NOTICEABLE
        )
        return f"{said}{f'; it leaves {left}' * bool(left)}{chaotic}."


def deviation(
    double: Mapping[str, str], single: Mapping[str, str], prepared: Prepared, table: Interface, stop: float
) -> Deviation:
    """Return how far a model in single precision deviates from itself in double precision.

    Args:
        double: the files in double precision, with a function `compared`.
        single: those in single precision.
        prepared: the model with its stepper.
        table: its variables.
        stop: end of the runs, s.

    Raises:
        StepperError: single precision does not do: a step fails, or leaves too much of the constraints.
        KernelError: there is no C compiler, or it fails.
    """
    step = prepared.step
    every = max(1, min(LONGEST, round(stop / step)) // ROWS)
    n = max(1, min(LONGEST, round(stop / step)) // every) * every
    exact, rounded = (
        _rows(texts, number, n, every, prepared)
        for texts, number in ((double, ctypes.c_double), (single, ctypes.c_float))
    )
    index = {item.name: item.offset for item in table.variables if item.kind == OUTPUT}
    residuals = {name: float(rounded[:, index[name]].max()) for name in RESIDUALS if name in index}
    coordinates = [
        index[name] for name in prepared.outline.measured[0][: prepared.outline.measured[1]] if name in index
    ]
    if not residuals.get(RESIDUALS[0], 0.0) <= HELD * max(1.0, np.abs(rounded[:, coordinates]).max(initial=0.0)):
        raise StepperError(
            f"single precision does not hold the constraints of '{prepared.dae.name}' with {prepared.stepper}: it "
            f"leaves {residuals[RESIDUALS[0]]:.1e} of {RESIDUALS[0]}, more than {HELD:g} of 1 or the largest "
            f"coordinate; {INSTEAD}"
        )
    relative, names = _relative(exact, rounded, index, prepared)
    row, column = np.unravel_index(relative.argmax(), relative.shape)
    return Deviation(n * step, float(relative[row, column]), names[column], float(row) * every * step, residuals)


def _relative(
    exact: npt.NDArray[np.float64], rounded: npt.NDArray[np.float64], index: Mapping[str, int], prepared: Prepared
) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Return the differences of coordinates, velocities and states by instant, as parts of their ranges, with names.

    After impacts, which come at slightly other times, velocities have no difference to speak of.
    """
    names, n, usual = prepared.outline.measured
    groups = [names[:n], () if prepared.outline.guards else names[n : 2 * n], *((name,) for name in names[2 * n :])]
    least = [0.0, 0.0, *(SMALL * size for size in usual)]
    kept: list[str] = []
    columns = []
    for group, floor in zip(groups, least, strict=True):
        shown = [name for name in group if name in index]
        at = [index[name] for name in shown]
        if not at:
            continue
        ranges = np.ptp(exact[:, at], axis=0)
        scale = np.maximum(ranges, max(floor, SMALL * ranges.max(), SLIGHT * np.abs(exact[:, at]).max(), NARROW))
        columns.append(np.abs(rounded[:, at] - exact[:, at]) / scale)
        kept += shown
    if not kept:
        return np.zeros((1, 1)), ["no coordinate"]
    return np.hstack(columns), kept


def _rows(
    texts: Mapping[str, str], number: type[ctypes.c_double] | type[ctypes.c_float], n: int, every: int,
    prepared: Prepared,
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Return the outputs of n steps of a model as rows.

    Raises:
        StepperError: a step fails.
        KernelError: there is no C compiler, or it fails.
    """
    compiler = compiler_for_kernels()
    compiler = replace(compiler, compiling=(*compiler.compiling, "-fno-math-errno"))
    try:
        library = ctypes.CDLL(str(built(texts, compiler, "compared").path))
    except BuildError as error:
        raise KernelError(f"the C compiler failed: {error}") from None
    rows = n // every + 1
    values = (number * (rows * prepared.bundle.ny))()
    code, left = ctypes.c_int(), number()
    library.compared.restype = ctypes.c_longlong
    library.compared.argtypes = [ctypes.c_longlong, ctypes.c_longlong, *[ctypes.c_void_p] * 3]
    taken = library.compared(n, every, values, ctypes.byref(code), ctypes.byref(left))
    if code.value != OK:
        precision = "single" if number is ctypes.c_float else "double"
        where = f"the step from {taken * prepared.step:.6g} s" if taken else "the start"
        corrected = f" and leaves a correction of {left.value:.1e}" * (left.value > 0)
        raise StepperError(
            f"{precision} precision does not do for '{prepared.dae.name}' with {prepared.stepper}: {where} fails "
            f"({CODES[code.value]}){corrected}; {INSTEAD}"
        )
    return np.asarray(values, dtype=np.float64).reshape(rows, prepared.bundle.ny)
