"""Decoupled nodes of a step -> C: the sizes and tables that decoupled.c is written for."""

from collections.abc import Iterable

import numpy as np

from mbfmu.kernel.bundle import DecoupledStage
from mbfmu.kernel.emit.operations import literal


def decoupled_sizes(stage: DecoupledStage) -> dict[str, float]:
    """Return the definitions for decoupled.c, with the room that it needs in doubles.

    Args:
        stage: the stage whose nodes are decoupled.
    """
    of = stage.matrices
    s, n, c, mu = len(of.vectors), of.n, of.constraints, of.multipliers
    n_z, free, groups = sum(map(len, of.blocks)), n - c, len(of.eigenvalues)
    parts = [2 if gamma.imag else 1 for gamma in of.eigenvalues]
    blocks = sum((part * len(block)) ** 2 for part in parts for block in of.blocks)
    rows = n + of.positions + of.closing
    matrices = 3 * n * n + c * n + 3 * n * n_z + n_z**2 + n * mu
    basis = 4 * n * free + c * c + c * (n + c) + free * n_z + mu * mu
    each = blocks + groups * (2 * n_z * free + 4 * free * free + 2 * (n_z + free))
    vectors = 2 * s * (rows + n_z) + s * (n + n_z + c + mu) + 2 * (6 * n + 4 * n_z + 4 * c + 2 * mu + 2 * free)
    return {
        "DECOUPLED": stage.stage, "D_WATCHED": stage.watched,
        "D_S": s, "D_N": n, "D_P": of.positions, "D_C": c, "D_CLOSING": of.closing, "D_MU": mu, "D_Z": n_z,
        "D_GROUPS": groups, "D_BLOCKS": len(of.blocks), "D_BLOCK": max(map(len, of.blocks), default=0),
        "D_FACTORS": blocks,
        "DECOUPLED_ROOM": matrices + basis + each + vectors + 2 * (n + mu) + 100,
    }  # fmt: skip


def decoupled_tables(stage: DecoupledStage) -> list[str]:
    """Return the tables of the eigenvalues, of T and T^-1 row by row, and of the blocks of first-order states.

    Args:
        stage: the stage whose nodes are decoupled.
    """
    of = stage.matrices
    gamma = [part for value in of.eigenvalues for part in (float(value.real), float(value.imag))]
    ends = np.cumsum([0, *map(len, of.blocks)]).tolist()
    slopes, renewed = (function.name() for function in stage.slopes)
    return [
        _table("double d_gamma", map(literal, gamma)),
        _table("double d_vectors", map(literal, of.vectors.ravel().tolist())),
        _table("double d_inverse", map(literal, np.linalg.inv(of.vectors).ravel().tolist())),
        _table("int d_ends", map(str, ends)),
        _table("int d_states", (str(row) for block in of.blocks for row in block)),
        f"#define D_SLOPES {slopes}",
        f"#define D_RENEWED {renewed}",
    ]


def _table(declaration: str, values: Iterable[str]) -> str:
    return f"static const {declaration}[] = {{{', '.join(values) or '0'}}};"
