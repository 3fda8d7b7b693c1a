"""Matrices in turned axes: R X R^T, in half the products where R turns about an axis of coordinates."""

from typing import NamedTuple

import casadi as ca

from mbfmu.model.traced import traced

SX = ca.SX
CIRCULAR = {ca.OP_COS, ca.OP_SIN}
"""Operations of which a turn about an axis has both."""


class AxisTurn(NamedTuple):
    """A rotation R = P Z D N^T, with Z a rotation about z, N and P permutations, and D of ones and minus ones.

    Args:
        c, s: cosine and sine of its angle.
        old: numbers of the axes that N takes to x, y and z.
        new: numbers of the axes to which P takes them.
        signs: diagonal of D.
    """

    c: SX
    s: SX
    old: list[int]
    new: list[int]
    signs: list[float]


def turned(R: SX, X: SX) -> SX:
    """Return R X R^T, sparse, for a rotation R and any X, SX (3, 3)."""
    turn = axis_turn(R)
    if turn is None:
        return R @ X @ R.T
    X = ca.SX(X[turn.old, turn.old])
    if min(turn.signs) < 0:
        D = ca.diag(ca.SX(turn.signs))
        X = D @ X @ D
    Y = ca.SX(3, 3)
    Y[turn.new, turn.new] = _turned_about_z(turn.c, turn.s, X)
    return ca.sparsify(Y)


def axis_turn(R: SX) -> AxisTurn | None:
    """Return a rotation about an axis of coordinates, with or without a change of axes; None for another one.

    Args:
        R: the rotation, SX (3, 3), sparse.
    """
    if R.nnz() != 5:
        return None
    columns = [[column for column in range(3) if R.sparsity().has_nz(row, column)] for row in range(3)]
    z_new = min(range(3), key=lambda row: len(columns[row]))
    (z_old,) = columns[z_new]
    (x_old, y_old), (x_new, y_new) = ([axis for axis in range(3) if axis != z] for z in (z_old, z_new))
    along, c, s = R[z_new, z_old], R[x_new, x_old], R[y_new, x_old]
    if not along.is_constant() or not _are_circular(c, s):
        return None
    for mirrored in (1, -1):
        if ca.is_equal(R[y_new, y_old], mirrored * c, 3) and ca.is_equal(R[x_new, y_old], -mirrored * s, 3):
            signs = [1.0, float(mirrored), float(along)]
            return AxisTurn(c, s, [x_old, y_old, z_old], [x_new, y_new, z_new], signs)
    return None


def _are_circular(c: SX, s: SX) -> bool:
    """Return whether two numbers are cosine and sine of one angle, or sine and cosine, of any sign."""
    c, s = (item.dep(0) if item.op() == ca.OP_NEG else item for item in (c, s))
    return {c.op(), s.op()} == CIRCULAR and bool(ca.is_equal(c.dep(0), s.dep(0), 9))


@traced
def _turned_about_z(c: SX, s: SX, X: SX) -> SX:
    """Return Z X Z^T.

    A turn about z keeps X_xx + X_yy and X_xy - X_yx.
    """
    e = s * (X[1, 1] - X[0, 0]) - c * (X[0, 1] + X[1, 0])
    Z = ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
    block = ca.vertcat(
        ca.horzcat(X[0, 0] + s * e, -(c * e + X[1, 0])),
        ca.horzcat(-(c * e + X[0, 1]), X[1, 1] - s * e),
    )
    return ca.vertcat(ca.horzcat(block, Z @ X[:2, 2]), ca.horzcat((Z @ X[2, :2].T).T, X[2, 2]))
