"""Runs of a model that go together: the instances of a batch, reduced to the columns that measures need."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mbfmu.errors import MbfmuError
from mbfmu.kernel import vector
from mbfmu.kernel.many import Many
from mbfmu.kernel.runtime import fewest_steps
from mbfmu.prepared.prepare import Prepared
from mbfmu.run.drives import Drives
from mbfmu.run.inputs import Course
from mbfmu.run.model import CALL, communication_points

Array = npt.NDArray[np.float64]

LEAST = 4
"""Smallest number of runs that are computed at once, in lanes of one kernel."""
WORTH = 100
"""Number of runs from which on a study compiles a kernel that computes several at once."""


class Together:
    """Runs from 0 to `stop` with steps of equal length, each to the bit as `run_prepared` would make it.

    Args:
        prepared: the model with its stepper, without a tolerance.
        library: path of its kernel for many instances.
        stop: end of the runs, s.
        interval: time between outputs, s; None: about 500 points.
        given: inputs over time, by name.
    """

    def __init__(
        self, prepared: Prepared, library: str, stop: float, interval: float | None, inputs: Mapping[str, Course]
    ) -> None:
        self._prepared, self._library = prepared, library
        self.points = communication_points(stop, prepared.step, interval)
        self._drives = Drives(prepared.outline, inputs, self.points, prepared.step)

    @property
    def possible(self) -> bool:
        """Whether instances go in lanes, and in calls of as many steps as alone."""
        longest = fewest_steps(float(np.diff(self.points).max()), self._prepared.step)
        return longest <= CALL and Many(self._library, LEAST, 1).in_lanes

    def run(self, s: Array, p: Array, names: Sequence[str]) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Return variables at the output points, shape (runs, points, names), and which of the runs were made.

        Runs that fail in any way are not made: alone they tell why.

        Args:
            s: start values, shape (runs, n_s).
            p: parameters, shape (runs, n_p).
            names: names of inputs and outputs.
        """
        outline, drives = self._prepared.outline, self._drives
        u, starts, made = drives.at(0.0), [], np.ones(len(s), dtype=np.bool_)
        for k, (start, parameters) in enumerate(zip(s.tolist(), p.tolist(), strict=True)):
            try:
                starts.append(list(self._prepared.initial_state(vector(u), vector(start), vector(parameters))))
            except MbfmuError:
                made[k] = False
        measured = np.full((len(s), len(self.points), len(names)), np.nan)
        if not starts:
            return measured, made
        many = Many(self._library, len(starts), 1)
        x, p = many.blocked(np.array(starts)), many.blocked(p[made])
        n_u, shown = len(outline.inputs), [item.name for item in (*outline.inputs, *outline.outputs)]
        columns = [shown.index(name) for name in names]
        failed: set[int] = set()

        def shared(numbers: Sequence[float]) -> Array:
            room = many.empty(len(numbers))
            room[...] = np.array(numbers)[:, None]
            return room

        def note(k: int, time: float, inputs: Sequence[float]) -> None:
            y = many.outputs(x, shared(inputs), p, time)
            failed.update(np.flatnonzero(~np.isfinite(y).all(axis=1)).tolist())
            for position, column in enumerate(columns):
                measured[made, k, position] = inputs[column] if column < n_u else y[:, column - n_u]

        for k, (start, _) in enumerate(pairwise(self.points.tolist())):
            for t, t1, inputs, rates in drives.between(k):
                if t == start:
                    note(k, t, inputs)
                x, _, lost = many.move(x, shared(inputs), shared(rates), p, t, t1 - t, self._prepared.step, 0.0)
                failed |= lost.keys()
        stop = float(self.points[-1])
        note(len(self.points) - 1, stop, drives.at(stop))
        made[np.flatnonzero(made)[sorted(failed)]] = False
        return measured, made
