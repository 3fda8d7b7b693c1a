"""Many instances of one kernel at a time: blocks of instances side by side, in lanes and in threads."""

import ctypes
import os
from collections.abc import Sequence
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.kernel.build.toolchain import built, local, widths
from mbfmu.kernel.bundle import Bundle
from mbfmu.kernel.codegen import many_sources
from mbfmu.kernel.runtime import OK, Sizes, Status

Array = npt.NDArray[np.float64]

ALIGNED = 64
"""Alignment of arrays that instances share, bytes: that of the widest vectors."""
SHARE = 16
"""Least number of blocks that a thread is given."""


class Many:
    """A kernel for many instances, in blocks.

    Arrays that belong to instances have the shape (blocks, entries, width): see `blocked`.

    Args:
        path: path of the library.
        count: number of instances.
        threads: number of threads; 0: as many as processors.
        lanes: number of instances in a block; 0: the most that this processor takes at a time.

    Attributes:
        width: number of instances in a block.
        in_lanes: whether a block's instances go at a time.

    Raises:
        OSError: the library cannot be loaded on this machine.
    """

    def __init__(self, path: str, count: int, threads: int = 0, lanes: int = 0) -> None:
        library = ctypes.CDLL(path)
        sizes = Sizes.of(library)
        self.nx, self.nu, self.np, self.ny, self._n_status = sizes.nx, sizes.nu, sizes.np, sizes.ny, sizes.status
        self.n_errors = sizes.errors
        self.count, self._threads = count, threads or os.cpu_count() or 1
        room = ctypes.c_longlong()
        for width in (lanes,) if lanes else (8, 4, 2, 1):
            self.width, self.in_lanes = width, bool(library.mbfmu_many_room(width, ctypes.byref(room)))
            if self.in_lanes:
                break
        self._room = int(room.value)
        self._work = _aligned((self._room,))
        self._move = library.mbfmu_move_many
        pointer: Any = ctypes.c_void_p
        real: Any = ctypes.c_double
        self._outputs = library.mbfmu_outputs_many
        self._outputs.argtypes = [ctypes.c_longlong, ctypes.c_int, *[pointer] * 3, real, *[pointer] * 2]
        self._move.argtypes = [ctypes.c_longlong, ctypes.c_int, *[pointer] * 4, *[real] * 4, *[pointer] * 6]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.count // self.width)

    def empty(self, entries: int) -> Array:
        """Return room for numbers of all instances, shape (blocks, entries, width)."""
        return _aligned((self.blocks, entries, self.width))

    def blocked(self, rows: Array) -> Array:
        """Return numbers of the instances in blocks, shape (blocks, entries, width); the last one fills its block.

        Args:
            rows: numbers of each instance, shape (count, entries).
        """
        result = self.empty(rows.shape[1])
        whole = self.count // self.width
        result[:whole] = rows[: whole * self.width].reshape(whole, self.width, rows.shape[1]).transpose(0, 2, 1)
        if whole < self.blocks:
            left = np.minimum(np.arange(whole * self.width, self.blocks * self.width), self.count - 1)
            result[whole] = rows[left].T
        return result

    def one(self, blocks: Array, index: int) -> Array:
        """Return the numbers of an instance, shape (entries,), as a part of those in blocks."""
        block, lane = divmod(index, self.width)
        return blocks[block, :, lane]

    def fill(self, blocks: Array, instances: Sequence[int], value: float) -> None:
        """Set all numbers of some instances, as a part of those in blocks, to a value."""
        block, lane = np.divmod(np.array(instances, dtype=np.intp), self.width)
        blocks[block, :, lane] = value

    def outputs(self, x: Array, u: Array, p: Array, t: float) -> Array:
        """Return the outputs at a time, s, shape (count, ny); see `move` for the arguments."""
        y = np.empty((self.blocks * self.width, self.ny))
        addresses = (item.ctypes.data for item in (x, u, p))
        self._outputs(self.blocks, self.width, *addresses, t, y.ctypes.data, self._work.ctypes.data)
        return y[: self.count]

    def move(
        self,
        x: Array,
        u: Array,
        du: Array,
        p: Array,
        t: float,
        span: float,
        longest: float,
        tolerance: float,
        errors: Array | None = None,
    ) -> tuple[Array, Array, dict[int, Status]]:
        """Return states in blocks and outputs (count, ny) after a span, and how it went where it failed, by number.

        An instance that fails keeps its state, and its outputs are NaN.

        Args:
            x: states, in blocks.
            u: inputs, in blocks.
            du: their constant derivatives, in blocks.
            p: parameters, in blocks.
            t: time, s.
            span: length of the span, s.
            longest: longest step, s.
            tolerance: error that a second may add; 0: steps of equal length.
            errors: arrays of errors, shape (blocks * width, n_errors), to which those of the steps are added; an
                instance goes alone while it has a shadow (see `mbfmu.kernel.errors`). None: none are estimated.
        """
        x1, y = self.empty(self.nx), np.empty((self.blocks * self.width, self.ny))
        codes = np.empty(self.blocks * self.width, dtype=np.intc)
        status = np.empty((self.blocks * self.width, self._n_status))

        def part(first: int, last: int, work: Array) -> None:
            addresses = (item[first:].ctypes.data for item in (x, u, du, p))
            each = (item[first * self.width :].ctypes.data for item in (y, codes, status))
            own = None if errors is None else errors[first * self.width :].ctypes.data
            made = (x1[first:].ctypes.data, *each, own, work.ctypes.data)
            self._move(last - first, self.width, *addresses, t, span, longest, tolerance, *made)

        shares = min(self._threads, max(1, self.blocks // SHARE))
        bounds = np.linspace(0, self.blocks, shares + 1).astype(int).tolist()
        rooms = [_aligned((self._room,)) for _ in range(shares)]
        others = [Thread(target=part, args=(*bounds[k : k + 2], rooms[k])) for k in range(1, shares)]
        for thread in others:
            thread.start()
        part(0, bounds[1], rooms[0])
        for thread in others:
            thread.join()
        failed = np.flatnonzero(codes[: self.count] != OK).tolist()
        return x1, y[: self.count], {index: Status._make(status[index].tolist()) for index in failed}


def many_library(bundle: Bundle) -> str | None:
    """Return the path of the compiled kernel for many instances; None without a compiler.

    Raises:
        BuildError: the compiler fails.
    """
    compiler = local()
    return str(built(many_sources(bundle, widths()), compiler, "kernel").path) if compiler else None


def _aligned(shape: tuple[int, ...]) -> Array:
    """Return room for numbers that begins at a multiple of `ALIGNED` bytes."""
    size = int(np.prod(shape)) * 8
    raw = np.empty(size + ALIGNED, dtype=np.uint8)
    offset = -raw.ctypes.data % ALIGNED
    room: Array = raw[offset : offset + size].view(np.float64).reshape(shape)
    return room
