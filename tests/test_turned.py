"""Matrices in turned axes: R X R^T of turns about axes of coordinates, in half the products."""

from itertools import permutations, product

import casadi as ca
import numpy as np
import pytest

from mbfmu.dae.linear_algebra.turned import axis_turn, turned
from mbfmu.model.frame import axis_rotation

QUARTERS = [
    matrix
    for order in permutations(range(3))
    for signs in product((1, -1), repeat=3)
    if np.linalg.det(matrix := np.diag(signs)[:, order]) > 0
]
"""The 24 rotations that take axes of coordinates to axes of coordinates."""
X = ca.SX.sym("X", 3, 3)
PHI = ca.SX.sym("phi")


def products(Y: ca.SX) -> int:
    """Return the number of products in a matrix."""
    function = ca.Function("Y", [X, PHI], [ca.cse(ca.densify(Y))])
    return sum(function.instruction_id(k) == ca.OP_MUL for k in range(function.n_instructions()))


@pytest.mark.parametrize("n", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1)], ids=str)
def test_a_matrix_is_turned_about_an_axis_in_half_the_products(n: tuple[float, ...]) -> None:
    """Whatever quarter turns come before and after, as between the frames of a robot's links."""
    rng = np.random.default_rng(0)
    numbers, angle = rng.normal(size=(3, 3)), 0.7
    for before, after in zip(QUARTERS, QUARTERS[5:] + QUARTERS[:5], strict=True):
        R = ca.sparsify(ca.SX(before) @ axis_rotation(n, PHI) @ ca.SX(after))
        assert axis_turn(R) is not None
        found = ca.Function("turned", [X, PHI], [turned(R, X)])(numbers, angle)
        expected = ca.Function("expected", [X, PHI], [R @ X @ R.T])(numbers, angle)
        np.testing.assert_allclose(np.array(found), np.array(expected), atol=1e-14)
        assert products(turned(R, X)) == products(R @ X @ R.T) / 2 == 12


@pytest.mark.parametrize(
    "R", [axis_rotation((0.6, 0, 0.8), PHI), ca.SX(QUARTERS[3]), ca.SX.eye(3), ca.SX.sym("R", 3, 3)]
)
def test_other_rotations_are_no_turns_about_an_axis(R: ca.SX) -> None:
    assert axis_turn(ca.sparsify(R)) is None


def test_a_matrix_of_five_entries_that_is_no_rotation_is_no_turn() -> None:
    c, s = ca.cos(PHI), ca.sin(PHI)
    for block in ([[c, s], [s, c]], [[c, -s], [s, ca.cos(2 * PHI)]], [[c, -ca.sin(2 * PHI)], [ca.sin(2 * PHI), c]]):
        rows = [ca.horzcat(*row) for row in block]
        assert axis_turn(ca.diagcat(1, ca.vertcat(*rows))) is None
