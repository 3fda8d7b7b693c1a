"""The table of a run of an FMU, as it grows, and what ends one without a table."""

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.fmi.plan import KINDS, TYPES
from mbfmu.fmi.scalars import WIDE

Table = npt.NDArray[np.float64]


class Failure(Exception):  # noqa: N818 - the text goes on from the name of the FMU
    """A run that did not go through.

    Args:
        text: what to say of it, after the name of the FMU.
        rejected: whether a step was rejected, or led to something that is not a number.
    """

    def __init__(self, text: str, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


class Record:
    """The table of a run, as it grows."""

    def __init__(self, instance: Any, shown: Sequence[Any]) -> None:
        self._rows = array("d")
        self._getters = []
        self._order: list[int] = []
        self._names: list[str] = []
        for kind in TYPES:
            chosen = [index for index, item in enumerate(shown) if KINDS.get(item.type, item.type) == kind]
            if chosen:
                references = [shown[index].valueReference for index in chosen]
                self._getters.append((getattr(instance, f"get{kind}"), references))
                self._order += chosen
        self._wide = [n for n, k in enumerate(self._order) if getattr(shown[k].valueReference, "type", "") in WIDE]
        self._rests = array("h")
        self._outputs = [shown[index].causality == "output" for index in self._order]
        self._names = [shown[index].name for index in self._order]

    def take(self, time: float) -> None:
        """Add a row.

        Raises:
            Failure: an output is not finite.
        """
        row = [value for getter, references in self._getters for value in getter(references)]
        if not math.isfinite(sum(row)):
            for name, output, value in zip(self._names, self._outputs, row, strict=True):
                if output:
                    refuse(name, value, time)
        self._rows.append(time)
        self._rows.extend(row)
        self._rests.extend(int(row[n]) - int(float(row[n])) for n in self._wide)

    @property
    def rests(self) -> npt.NDArray[np.int16]:
        """Differences of the 64-bit integers shown from the numbers of the table, shape (n_t, n_wide)."""
        order = sorted(range(len(self._wide)), key=lambda n: self._order[self._wide[n]])
        return np.array(self._rests, dtype=np.int16).reshape(-1, len(self._wide) or 1)[:, order]

    @property
    def table(self) -> Table:
        """Time and variables, in the order they are to be shown, shape (n_t, 1 + n_shown)."""
        rows = np.array(self._rows).reshape(-1, 1 + len(self._order))
        table = np.empty_like(rows)
        table[:, [0, *(1 + index for index in self._order)]] = rows
        return table


def refuse(name: str, value: float, time: float) -> None:
    """Check that an output is finite.

    Raises:
        Failure: it is not.
    """
    if not math.isfinite(value):
        raise Failure(f" gives no number: output {name} is {value} at t = {time:g} s", refused=True)
