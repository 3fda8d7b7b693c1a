"""Reduction of a finite element model to the modes of a flexible body.

The first node set is frame_a, and the modes are those of the body clamped there, so that they hold no rigid motion.
They are spanned by the static shapes for unit displacements of the other frames, with which the body bends under loads
at its frames as the whole model does, and by N modes: those with all frames held (R. R. Craig & M. C. C. Bampton, AIAA
J. 6, 1968), or those with the other frames free, whose frequencies are those of the whole model (as those of R. R.
Craig & C.-J. Chang, AIAA J. 14, 1976). They are made orthogonal to each other by mass and stiffness, and each is scaled
so that the node that it moves furthest moves by 1, or where none moves, that it turns furthest turns by 1.

The displacements of second order, by which loads stiffen or soften the body, are the static answer to the stresses that
the quadratic part of Green's strain makes of two modes, with frame_a clamped: K gamma_ij = -h_ij, where h_ij is the
force whose work on u is the integral of the stress of u times (grad phi_i)^T grad phi_j. So the term of the geometric
stiffness of a load f is -f.gamma_ij, to first order in the load (Wallrapp & Schwertassek, Int. J. Numer. Methods Eng.
32, 1991). The nodes of a rigid frame move along circles: by theta x (theta x d) / 2 to second order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.linalg import block_diag, eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu

from mbfmu.analysis.reduction.connections import Attachment, connections, transformation
from mbfmu.analysis.reduction.constants import constants
from mbfmu.analysis.reduction.model import Array, FiniteElementModel
from mbfmu.analysis.reduction.surface import stress_points, surface
from mbfmu.base.described import Described, takes
from mbfmu.errors import UsageError
from mbfmu.model.flexible import ModalData

COMPARED = 10
"""Number of frequencies that are compared with those of the whole model."""
DENSE = 400
"""Number of degrees of freedom up to which eigenvalues come from dense matrices."""
EQUAL = 1e-6
"""Relative difference of frequencies below which two modes may be any combination of each other."""
APART = (
    "clamped at its first node set the body still has a motion without stiffness: its mesh falls into parts, or a node "
    "has no stiffness"
)
DIRECTIONS = tuple(f"{kind} {axis}" for kind in ("translation along", "rotation about") for axis in "xyz")
"""Motions of a frame."""
NO_MASS = 1e-26
"""Mass that a static shape moves, relative to the largest of them, below which it is round-off."""
NO_MODE = 1e-14
"""Square of the lowest frequency relative to that of a mode, below which the mode is round-off of massless motion."""
NO_TRANSLATION = 1e-6
"""Translation by a mode, relative to its rotation times the size of the body, below which it only turns nodes."""
DEPENDENT = 1e-10
"""Least eigenvalue of the mass matrix of shapes of unit mass; below it one is a combination of the others."""
SHIFT = 1e-2
"""Shift of the eigenvalues of a free body, as a part of the least one of the clamped body, which is not singular."""

Tell = Callable[[str, float], None]


@dataclass(frozen=True)
class Frequency:
    """A natural frequency of the reduced body beside that of the whole model, Hz.

    Args:
        reduced: of the reduced body.
        whole: of the finite element model with the same connections.
    """

    reduced: float
    whole: float

    @property
    def error(self) -> float:
        """Relative difference."""
        return self.reduced / self.whole - 1


@dataclass(frozen=True)
class Reduction:
    """A reduced body, and how it compares with the whole model.

    Args:
        data: its constants.
        model: the finite element model.
        origin: position of frame_a in the model's coordinates, m.
        modes: displacements by each mode, shape (dofs, n).
        frequencies: of the body clamped at frame_a, Hz, shape (n,).
        clamped: the lowest frequencies of the body clamped at frame_a.
        free: the lowest frequencies of the free body above zero.
        effective: mass that each mode of the clamped body carries along x, y and z, as a part of all, shape (n, 3).
        stiffening: whether the constants have the terms of second order of loads.
    """

    data: ModalData
    model: FiniteElementModel
    origin: Array
    modes: Array
    frequencies: Array
    clamped: tuple[Frequency, ...]
    free: tuple[Frequency, ...]
    effective: Array
    stiffening: bool

    @property
    def volume_difference(self) -> float | None:
        """Largest difference of mass and inertia from their integrals over the volume, relative; None if unknown."""
        if self.model.integrals is None:
            return None
        m, first, J = self.model.integrals
        c0, a = self.data.c0, self.origin  # about the origin of the mesh, by Steiner's theorem
        square = 2 * (c0 @ a) + self.data.m * (a @ a)
        about = self.data.J0 + square * np.eye(3) - np.outer(c0, a) - np.outer(a, c0) - self.data.m * np.outer(a, a)
        length = float(np.sqrt(np.trace(J) / m))
        return float(
            max(
                abs(self.data.m / m - 1),
                np.abs(c0 + self.data.m * a - first).max() / (m * length),
                np.abs(about - J).max() / np.trace(J),
            )
        )


@dataclass(frozen=True)
class ReduceArguments:
    """The arguments of `reduce`."""

    model: Annotated[FiniteElementModel, Described("the finite element model")]
    interfaces: Annotated[
        Sequence[str],
        Described("node sets that become frames: the first is frame_a, the others are named as their sets"),
    ]
    modes: Annotated[int, Described("number of modes beside the static shapes")]
    _: KW_ONLY
    averaged: Annotated[
        Sequence[str], Described("sets that are connected by the average of their nodes; the others are rigid")
    ] = ()
    places: Annotated[
        Mapping[str, Sequence[float]] | None,
        Described("positions of frames, m, by the name of their set; the others are at the mean of their nodes"),
    ] = None
    free_frames: Annotated[
        bool, Described("whether those modes are of the body with the other frames free, and not held")
    ] = False
    planar: Annotated[bool, Described("whether only modes in the x-y plane are kept, for planar systems")] = False
    below: Annotated[
        float | None,
        Described(
            "frequency above which modes are left out, Hz, and with them some of how loads at the frames bend the "
            "body near them; None: all are kept"
        ),
    ] = None
    stiffening: Annotated[bool, Described("whether the terms of second order are computed, where the model can")] = True
    stress: Annotated[
        Mapping[str, Sequence[float] | None] | None,
        Described("points whose stresses become outputs of the body, see `stress_points`"),
    ] = None
    picture: Annotated[
        bool, Described("whether the body has a surface for pictures, where the model knows its faces")
    ] = True
    tell: Annotated[Tell, Described("function that takes what is being computed, and which part of it is done")] = (
        lambda _what, _fraction: None
    )


@takes(ReduceArguments)
def reduce(request: ReduceArguments) -> Reduction:
    """Reduce a finite element model to a flexible body.

    Raises:
        UsageError: a set or a number does not fit the model.
        ValueRangeError, NameInUseError: see `ModalData`.
    """
    # the request fits the model
    model, interfaces = request.model, request.interfaces
    if not interfaces:
        raise UsageError("name a node set that becomes frame_a, where the body is clamped: --interface NODESET")
    positions = dict(request.places or {})
    if strange := sorted({*request.averaged, *positions} - {*interfaces}):
        raise UsageError(f"node set '{strange[0]}' is not an interface")
    # the transformation T: nodes of an interface follow its frame
    attachments = connections(model, interfaces, request.averaged, positions)
    T, stay = transformation(model, attachments)
    frames = T.shape[1] - len(stay)
    if request.modes < 0 or request.modes >= len(stay) or request.modes + frames - 6 < 1:
        raise UsageError(f"modes = {request.modes} must be a number from {int(frames == 6)} to {len(stay) - 1}")
    # the body clamped at frame_a: K_c = T_c^T K T_c, M_c likewise
    origin = attachments[0].at
    clamped = np.r_[: len(stay), len(stay) + 6 : T.shape[1]]
    T_c = T[:, clamped].tocsc()
    K, M = (T_c.T @ item @ T_c for item in (model.K, model.M))
    # shapes u that make K and M diagonal: (K_c - omega^2 M_c) u = 0 in the basis of static shapes and modes
    request.tell("modes", 0.1)
    basis = _basis(K.tocsc(), M.tocsc(), len(stay), request.modes, request.free_frames, interfaces[1:])
    squares, shapes = eigh(basis.T @ (K @ basis), basis.T @ (M @ basis))
    if not squares[0] > 0:
        raise UsageError(APART)
    u = _ordered(model, T_c @ (basis @ shapes), squares)
    frequencies = _hertz(squares)
    # constants of the body with all shapes
    request.tell("frequencies of the whole model", 0.2)
    offsets = np.array([item.at - origin for item in attachments[1:]]).reshape(-1, 3)

    def made(u: Array, second: Array | None = None, bent: Array | None = None) -> ModalData:
        bent = np.zeros((len(offsets), 3, *2 * u.shape[1:])) if bent is None else bent
        return constants(model, origin, u, second, tuple(interfaces[1:]), offsets, (_motions(attachments, u), bent))

    data = made(u)
    # frequencies of the whole model to compare with, clamped and free
    count = min(COMPARED, len(squares))
    whole = _lowest(K.tocsc(), M.tocsc(), count, 0.0)[0]
    stiff = block_diag(np.zeros((6, 6)), data.Ke)
    try:
        unbound = eigh(stiff, data.mass_matrix(), eigvals_only=True)[6 : 6 + count]
    except np.linalg.LinAlgError:
        raise UsageError(
            "the body has no moment of inertia about some axis: give nodes of the mass matrix rotary inertia"
        ) from None
    loose = _lowest((T.T @ model.K @ T).tocsc(), (T.T @ model.M @ T).tocsc(), count + 6, -SHIFT * whole[0])[0][6:]
    # the modes that are kept: in the plane, below a frequency
    kept = [*range(len(squares))]
    if request.planar:
        if mixed := data.mixed():
            raise UsageError(
                f"mode {mixed[0] + 1} moves the body both in the x-y plane and out of it: a body for planar systems is "
                "symmetric about that plane, and so are its node sets and its mesh"
            )
        kept = [*data.in_plane()]
    kept = [k for k in kept if request.below is None or frequencies[k] < request.below]
    if not kept:
        raise UsageError("no mode is left: give more --modes, or a higher --below")
    u, frequencies = u[:, kept], frequencies[kept]
    # the body with these, with terms of second order, stresses and a surface where they are requested
    stiffens = request.stiffening and model.second_order is not None
    data = replace(
        made(u, *(_second_order(model, attachments, T_c, K.tocsc(), u, request.tell) if stiffens else ())),
        stresses=stress_points(model, request.stress or {}, origin, u),
        surface=surface(model, origin, u) if request.picture else None,
    )
    # effective mass of mode k along an axis: C1_k^2 / (Me_kk m)
    effective = data.C1.T**2 / np.diag(data.Me)[:, None] / data.m
    return Reduction(
        data, model, origin, u, frequencies, _compared(squares, whole), _compared(unbound, loose), effective, stiffens
    )


def _basis(K: Any, M: Any, inner: int, modes: int, free: bool, frames: Sequence[str]) -> Array:
    """Return the static shapes and modes of the body clamped at frame_a, orthogonal by mass.

    Args:
        K: stiffness matrix, sparse; the other frames come last.
        M: mass matrix, sparse.
        inner: number of degrees of freedom that are no frame's.
        modes: number of modes.
        free: whether they are those with the other frames free.
        frames: names of the other frames.

    Raises:
        UsageError: a static shape moves no mass, or there are fewer modes than requested.
    """
    outer = K.shape[0] - inner
    inside = _factor(K[:inner, :inner])
    static = np.vstack([-inside.solve(K[:inner, inner:].toarray()), np.eye(outer)]) if outer else np.zeros((inner, 0))
    more = np.zeros((K.shape[0], 0))
    if modes and free:
        more = _lowest(K, M, modes, 0.0)[1]
    elif modes:
        held = _lowest(K[:inner, :inner], M[:inner, :inner], modes, 0.0, inside)[1]
        more = np.vstack([held, np.zeros((outer, held.shape[1]))])
    if more.shape[1] < modes:
        raise UsageError(f"modes = {modes} are too many: the mass matrix has mass for {more.shape[1]}")
    basis = np.hstack([static, more])
    mass = np.einsum("dk,dk->k", basis, M @ basis)
    if (empty := np.flatnonzero(~(mass > NO_MASS * mass.max()))).size:
        frame, direction = divmod(int(empty[0]), 6)
        raise UsageError(
            f"the static shape for {DIRECTIONS[direction]} of '{frames[frame]}' moves no mass: give nodes of the mass "
            "matrix mass or rotary inertia there, or take another node set"
        )
    basis /= np.sqrt(mass)
    weights, vectors = eigh(basis.T @ (M @ basis))
    kept = weights > DEPENDENT
    return np.asarray(basis @ (vectors[:, kept] / np.sqrt(weights[kept])))


def _lowest(K: Any, M: Any, count: int, shift: float, factor: Any = None) -> tuple[Array, Array]:
    """Return the lowest eigenvalues of K - w^2 M above a shift, with their vectors; fewer where M has no more masses.

    Args:
        K: stiffness matrix, sparse.
        M: mass matrix, sparse.
        count: number of eigenvalues.
        shift: number below all of them.
        factor: factor of K - shift M, if it is known.
    """
    n = K.shape[0]
    if n <= max(DENSE, 2 * count + 1):
        most = (n - min(count, n), n - 1)
        try:  # a mass matrix may be singular, the shifted stiffness is not
            inverse, vectors = eigh(M.toarray(), (K - shift * M).toarray(), subset_by_index=most)
        except np.linalg.LinAlgError:
            raise UsageError(APART) from None
        kept = np.flatnonzero(inverse > NO_MODE * inverse[-1])[::-1]
        return shift + 1 / inverse[kept], vectors[:, kept] / np.sqrt(inverse[kept])
    solve = (factor or _factor(K - shift * M)).solve
    begin = np.random.default_rng(0).standard_normal(n)  # the same modes in every run
    try:
        squares, vectors = eigsh(
            K, count, M, sigma=shift, OPinv=LinearOperator(K.shape, solve, dtype=np.float64), v0=begin, tol=1e-12
        )
    except ArpackError as error:
        raise UsageError(f"the {count} lowest modes are not found: {error}; give fewer --modes") from None
    order = np.argsort(squares)
    order = order[NO_MODE * (squares[order] - shift) < squares.min() - shift]
    return squares[order], vectors[:, order]


def _factor(matrix: Any) -> Any:
    """Return the factors of a sparse matrix.

    Raises:
        UsageError: it is singular.
    """
    try:
        return splu(matrix.tocsc())
    except RuntimeError:
        raise UsageError(APART) from None


def _ordered(model: FiniteElementModel, modes: Array, squares: Array) -> Array:
    """Return modes of which those of equal frequency move along different axes, scaled and with a sign.

    The node that a mode moves furthest moves by 1; of modes that only turn nodes, such as torsion of beam elements, the
    node that it turns furthest turns by 1.

    In a group of modes of one frequency any combination is a mode: those that move most along one axis are taken, so
    that the modes of a square section are bending along one side and along the other.
    """
    first = 0
    modes = modes.copy()
    for last in range(1, len(squares) + 1):
        if last < len(squares) and squares[last] - squares[first] <= 2 * EQUAL * squares[first]:
            continue
        if last - first > 1:
            part = modes[:, first:last]
            weights = np.zeros(len(model.dofs))
            for component, weight in ((1, 1.0), (2, 3.0)):
                weights[model.dofs[:, 1] == component] = weight
            moved = part.T @ (weights[:, None] * part)
            modes[:, first:last] = part @ eigh(moved, part.T @ (model.M @ part))[1]
        first = last
    moves = model.dofs[:, 1] < 3
    length = np.ptp(model.nodes, axis=0).max()
    for k in range(modes.shape[1]):
        size, turn = (np.linalg.norm(item, axis=1).max() for item in model.motions(modes[:, k]))
        inside = modes[moves, k]
        if size < NO_TRANSLATION * length * turn:
            size, inside = turn, modes[~moves, k]
        largest = inside[np.argmax(np.abs(inside) > (1 - 1e-6) * np.abs(inside).max())]
        modes[:, k] /= size * np.sign(largest)
    return modes


def _motions(attachments: Sequence[Attachment], u: Array) -> Array:
    """Return the translations and rotations of the frames besides frame_a by each mode, shape (k, 6, n)."""
    return np.reshape([np.linalg.pinv(item.X) @ u[item.dofs] for item in attachments[1:]], (-1, 6, u.shape[1]))


def _second_order(
    model: FiniteElementModel, attachments: Sequence[Attachment], T: Any, K: Any, u: Array, tell: Tell
) -> tuple[Array, Array]:
    """Return the displacements of second order, shape (dofs, n, n), and the frames' translations, (k, 3, n, n)."""
    assert model.second_order is not None
    n = u.shape[1]
    solve = _factor(K).solve
    turns = _motions(attachments, u)[:, 3:]
    second, bent = np.zeros((len(model.dofs), n, n)), np.zeros((len(turns), 3, n, n))
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    for index, (i, j) in enumerate(pairs):
        tell("terms of second order", 0.3 + 0.7 * index / len(pairs))
        imposed = np.zeros(len(model.dofs))
        for item, turn in zip(attachments[1:], turns, strict=True):
            if not item.averaged:
                imposed[item.dofs] += _circles(model, item, turn[:, i], turn[:, j])
        force = -model.second_order(u[:, i], u[:, j]) - model.K @ imposed
        x = solve(T.T @ force)
        second[:, i, j] = second[:, j, i] = imposed + T @ x
        bent[:, :, i, j] = bent[:, :, j, i] = x[len(x) - 6 * len(turns) :].reshape(-1, 6)[:, :3]
    return second, bent


def _circles(model: FiniteElementModel, item: Attachment, a: Array, b: Array) -> Array:
    """Return the second derivatives of theta x (theta x d) / 2 by the modes that turn a rigid frame by a and by b."""
    nodes, components = model.dofs[item.dofs].T
    d = model.nodes[nodes] - item.at
    bent = (np.cross(a, np.cross(b, d)) + np.cross(b, np.cross(a, d))) / 2
    return np.where(components < 3, bent[np.arange(len(nodes)), components % 3], 0.0)


def _hertz(squares: Array) -> Array:
    return np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)


def _compared(reduced: Array, whole: Array) -> tuple[Frequency, ...]:
    pairs = zip(_hertz(reduced), _hertz(whole), strict=False)
    return tuple(Frequency(float(a), float(b)) for a, b in pairs)
