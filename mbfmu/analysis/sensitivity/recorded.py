"""A run that is recorded, and the way back through it.

The steps are recorded in groups: all in one if there is room. Otherwise a group has about as many steps as there are
groups; the state at the start of each is kept, and its steps are taken again, to the bit, on the way back (Griewank &
Walther, Evaluating Derivatives, 12.2, with one level of checkpoints).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbfmu.errors import StepError
from mbfmu.kernel import vector
from mbfmu.kernel.differentiated import Recording, StepWeights, address
from mbfmu.kernel.runtime import NOT_CONVERGED, OK, fewest_steps
from mbfmu.run.drives import Drives

Array = npt.NDArray[np.float64]
BYTES = 8
"""Number of bytes of a double."""


class EqualSteps(NamedTuple):
    """Equal steps without a break.

    Args:
        line: number of the line that the inputs follow.
        t: time from which steps are counted, s.
        h: length of a step, s.
        first: number of the first of these steps.
        n: number of steps.
        u: inputs at t.
        du: their time derivatives.
    """

    line: int
    t: float
    h: float
    first: int
    n: int
    u: Any
    du: Any


class InputLine(NamedTuple):
    """A part of a run along which the inputs follow a line.

    Args:
        interval: number of the communication interval it is in.
        t: its start, s.
        end: its end, s.
        u: inputs at t.
        du: their time derivatives.
    """

    interval: int
    t: float
    end: float
    u: Any
    du: Any


class Weights(NamedTuple):
    """Derivatives of a number with respect to what a run depends on.

    Args:
        s: start values, shape (n_s,).
        p: parameters, shape (n_p,).
        u: inputs at the start of each line and, at last, those at the end of the run, shape (n_lines + 1, n_u).
        du: their time derivatives along each line, and zeros at last, shape (n_lines + 1, n_u).
    """

    s: Array
    p: Array
    u: Array
    du: Array


def lines(drives: Drives) -> list[InputLine]:
    """Return the lines that the inputs of a run follow."""
    return [InputLine(k, *line) for k in range(len(drives.points) - 1) for line in drives.between(k)]


def spans(whole: Sequence[InputLine], step: float) -> list[EqualSteps]:
    """Return the steps of a run; step: the longest, s."""
    spans = []
    for index, (_, t, end, u, du) in enumerate(whole):
        n = fewest_steps(end - t, step)
        spans.append(EqualSteps(index, t, (end - t) / n, 0, n, u, du))
    return spans


def grouped(whole: Sequence[EqualSteps], largest: int) -> list[list[EqualSteps]]:
    """Return spans in groups of at most a number of steps, divided where that takes it."""
    groups: list[list[EqualSteps]] = [[]]
    left = largest
    for span in whole:
        first = 0
        while first < span.n:
            if not left:
                groups.append([])
                left = largest
            taken = min(left, span.n - first)
            groups[-1].append(span._replace(first=first, n=taken))
            first, left = first + taken, left - taken
    return groups


def group_size(steps: int, record_size: int, memory: float) -> int:
    """Return the number of steps to record at once.

    Args:
        steps: of the run.
        record_size: entries of a recorded step.
        memory: bytes that the record may take.
    """
    return steps if steps * record_size * BYTES <= memory else math.ceil(math.sqrt(steps))


class RecordedRun:
    """A run whose steps are recorded.

    Args:
        kernel: the kernel.
        drives: the inputs.
        s: start values, as a vector of the kernel.
        p: parameters, as a vector of the kernel.
        x: the state at t = 0.
        memory: bytes that the record may take.

    Attributes:
        outputs: at the communication points, shape (n_t, n_y).
        lines: those that the inputs follow.

    Raises:
        StepError: a step failed.
    """

    def __init__(self, kernel: Recording, drives: Drives, s: Any, p: Any, x: Any, memory: float) -> None:
        self._kernel, self._drives, self._s, self._p = kernel, drives, s, p
        self.lines = lines(drives)
        whole = spans(self.lines, drives.step)
        self._groups = grouped(whole, group_size(sum(span.n for span in whole), kernel.record_size, memory))
        self._starts, rows, self._record = [], [], self._room()  # which keeps the last group
        for group in self._groups:
            self._starts.append(x)
            for span, begin in self._placed(group, self._record):
                if not span.first and span.t == drives.points[self.lines[span.line].interval]:
                    rows.append(kernel.outputs(x, span.u, p, span.t))
                x = self._recorded(span, x, begin)
        self._end, self._stop = x, float(drives.points[-1])
        rows.append(kernel.outputs(x, drives.at(self._stop), p, self._stop))
        self.outputs: Array = np.array(rows)

    def _room(self) -> Array:
        """Return room for the record of any group."""
        return np.empty((max(sum(span.n for span in group) for group in self._groups), self._kernel.record_size))

    def _placed(self, group: Sequence[EqualSteps], record: Array) -> list[tuple[EqualSteps, int]]:
        """Return the spans of a group, each with the address of its record."""
        placed, begin = [], address(record)
        for span in group:
            placed.append((span, begin))
            begin += BYTES * self._kernel.record_size * span.n
        return placed

    def _recorded(self, span: EqualSteps, x: Any, begin: int) -> Any:
        """Return the state after some steps, which are written to an address."""
        end = span.first + span.n
        x1, status = self._kernel.record(x, span.u, span.du, self._p, span.t, span.h, span.first, end, begin)
        if status.code != OK:
            fault = "does not converge" if status.code == NOT_CONVERGED else "gives numbers that are not finite"
            raise StepError(
                f"{self._drives.outline.name}: the step of {span.h:g} s from t = {status.time:g} s {fault}, and "
                "gradients do not go back through steps that are halved: take a smaller step"
            )
        return x1

    def adjoint(self, weights: Array) -> Weights:
        """Return the derivatives of the sum of all outputs times weights, shape (n_t, n_y).

        Raises:
            StepError: the derivatives of a step are not finite, or its stages turn too slowly.
        """
        kernel, p = self._kernel, self._p
        # weights of state, parameters, inputs u and their slopes du, all zero
        wx, wp = vector([0.0] * kernel.nx), vector([0.0] * kernel.np)
        driven = np.zeros((len(self.lines) + 1, 2, kernel.nu))
        weights = np.array(weights, dtype=np.float64, order="C")
        of_u, of_y = address(driven), address(weights)
        wu = [of_u + BYTES * 2 * kernel.nu * k for k in range(len(driven))]
        wy = [of_y + BYTES * kernel.ny * k for k in range(len(weights))]
        # the outputs at the end: wx += y_x^T wy, and so on
        kernel.outputs_adjoint(self._end, self._drives.at(self._stop), p, self._stop, wy[-1], wx, wu[-1], wp)
        # groups of steps backwards; all but the last are recorded anew from their start
        last = len(self._groups) - 1
        again = self._room() if last else self._record
        for index, group in reversed(list(enumerate(self._groups))):
            placed = self._placed(group, self._record if index == last else again)
            if index != last:
                x = self._starts[index]
                for span, begin in placed:
                    x = self._recorded(span, x, begin)
            # the steps of a group backwards: wx <- (dx1/dx0)^T wx, then the outputs where they begin
            for span, begin in reversed(placed):
                k, t, h, first, n, u, du = span
                interval = self.lines[k].interval
                code = kernel.record_adjoint(begin, u, du, p, t, h, first, first + n, StepWeights(wx, wu[k], wp))
                if code != OK:
                    raise StepError(
                        f"{self._drives.outline.name}: the adjoint of the steps from t = {t + first * h:g} s on is not "
                        "finite or does not converge: take a smaller step"
                    )
                if not first and t == self._drives.points[interval]:
                    kernel.outputs_adjoint(begin, u, p, t, wy[interval], wx, wu[k], wp)
        # the start x0(s, u, p): ws = x0_s^T wx
        u, begun = self._drives.at(0.0), np.zeros((2, kernel.nu))
        ws, code = kernel.initialize_adjoint(self._s, u, p, 0.0, self._drives.step, wx, address(begun), wp)
        driven[0, 0] += begun[0]  # the start does not depend on what the inputs do then
        if code != OK:
            raise StepError("the adjoint of the start is not finite: it is near a singular position")
        return Weights(np.array(ws), np.array(wp), driven[:, 0], driven[:, 1])
