"""Posed equations: all poses that a picture needs are among their outputs; surfaces follow from shape coordinates."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.dae import Dae
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.signals import Signal
from mbfmu.kernel import compose
from mbfmu.prepared.prepare import Prepared
from mbfmu.show.viewer.bending import Skin
from mbfmu.show.viewer.drawing import drawing_of
from mbfmu.show.viewer.motion import ShownMotion
from mbfmu.stepper import make_scheme

Array = npt.NDArray[np.float64]

PICTURE = "picture"
"""Part of the names of outputs that only a picture needs."""
REACH, FLOOR = 1.5, 0.05
"""Ranges of shape coordinates over which a surface is fitted: relative to that of the run, and at least to the widest
one of the body."""
SAMPLES = 4
"""Number of samples for each coefficient of a fitted surface."""


def with_poses(dae: Dae) -> Dae:
    """Return the equations with outputs for the frames of flexible bodies and for what moves without a mass.

    Each has the position ``NAME.picture.r[k]`` and, column by column, the rotation matrix ``NAME.picture.R[k]``.
    """
    skeleton = dae.skeleton
    if skeleton is None or not (skeleton.bare or skeleton.bendings):
        return dae
    q, v, z, u, p, t = dae.symbols()
    turned, a = ca.SX.sym("turned", dae.n_angles), ca.SX.sym("a", dae.n)
    lambda_ = ca.SX.sym("lambda_", dae.m + dae.k)
    y = dae.output(q, v, z, turned, a, lambda_, u, p, t)
    rows = {item.name: y[index] for index, item in enumerate(dae.outputs)}
    dim = len(skeleton.down) if skeleton.bare_poses is None else skeleton.bare_poses.size1_out(0)

    def called(function: Any, arguments: Any) -> list[tuple[Any, Any]]:
        """Return positions and rotations, which a function has side by side."""
        columns = function(arguments[: function.size1_in(0)], p[: function.size1_in(1)], t)
        starts = range(0, columns.shape[1], 1 + dim)
        return [(columns[:, k], columns[:, k + 1 : k + 1 + dim]) for k in starts]

    poses: dict[str, tuple[Any, Any]] = {}
    if skeleton.bare:
        poses |= zip(skeleton.bare, called(skeleton.bare_poses, q), strict=True)
    for item in skeleton.bendings:
        r_0, R = _pose(item.body, rows, dim)
        eta = q[[dae.coordinates.index(name) for name in item.coordinates]]
        for frame, (r, turn) in zip(item.frames[1:], called(item.poses, eta)[1:], strict=True):
            poses[f"{item.body}.{frame}"] = r_0 + R @ r, R @ turn
    signals, more = [], []
    for name, (r, R) in poses.items():
        for part, unit, values in (("r", "m", r), ("R", "1", ca.vec(R))):
            more.append(values)
            signals += [
                Signal(f"{name}.{PICTURE}.{part}[{k}]", unit, f"{name} in a picture")
                for k in range(1, values.numel() + 1)
            ]
    output = merged("output", [q, v, z, turned, a, lambda_, u, p, t], [ca.densify(ca.vertcat(y, *more))])
    return replace(dae, outputs=(*dae.outputs, *signals), output=output)


def _pose(body: str, rows: Mapping[str, Any], dim: int) -> tuple[Any, Any]:
    """Return position and rotation of a body from its outputs."""
    r = ca.vertcat(*(rows[f"{body}.r_0[{k}]"] for k in range(1, dim + 1)))
    if dim == 2:
        c, s = ca.cos(rows[f"{body}.phi"]), ca.sin(rows[f"{body}.phi"])
        return r, ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
    w, x, y, z = (rows[f"{body}.Q[{k}]"] for k in range(1, 5))
    return r, ca.vertcat(
        ca.horzcat(w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z),
    )


def posed(prepared: Prepared, options: Mapping[str, Any] | None) -> Prepared:
    """Return a prepared model whose outputs have all poses that a picture needs; options: of its stepper."""
    dae = with_poses(prepared.dae)
    if dae is prepared.dae:
        return prepared
    scheme = make_scheme(dae, prepared.scheme.name, options or {})
    return Prepared(lambda: (dae, scheme, compose(dae, scheme), None), prepared.step, prepared.tolerance)


@dataclass(frozen=True)
class FittedSkin:
    """A surface whose weights and loads are polynomials of the shape coordinates, of the second degree.

    Args:
        skin: the surface, with weights and loads at samples.
        coordinates: names of the shape coordinates.
        weights: coefficients, shape (number of `monomials`, k).
        loads: coefficients, shape (number of `monomials`, j).
    """

    skin: Skin
    coordinates: tuple[str, ...]
    weights: Array
    loads: Array


def monomials(eta: Array) -> Array:
    """Return 1, all coordinates and all products of two of them, shape (n_t, 1 + n + n (n + 1) / 2)."""
    pairs = combinations_with_replacement(range(eta.shape[1]), 2)
    return np.column_stack([np.ones(len(eta)), eta, *(eta[:, i] * eta[:, j] for i, j in pairs)])


def fitted_skins(motion: ShownMotion) -> dict[str, FittedSkin]:
    """Return the surfaces of flexible bodies by their names, fitted about the shapes in a run."""
    generator = np.random.default_rng(0)
    samples = {}
    for body, eta in motion.eta.items():
        n = eta.shape[1]
        size = np.abs(eta).max(axis=0)
        size = REACH * np.maximum(size, FLOOR * max(size.max(initial=0.0), 1e-9))
        samples[body] = size * generator.uniform(-1, 1, (SAMPLES * (1 + n + n * (n + 1) // 2), n))
    skins = {}
    for skin in drawing_of(replace(motion, eta=samples)).skins:
        eta = samples[skin.body]
        scale = np.abs(eta).max(axis=0)
        powers, unit = monomials(eta / scale), monomials((1 / scale)[None])[0]
        weights, loads = (
            np.linalg.lstsq(powers, values, rcond=None)[0] * unit[:, None] for values in (skin.weights, skin.loads)
        )
        skins[skin.body] = FittedSkin(skin, motion.geometry.bent[skin.body].shape.coordinates, weights, loads)
    return skins
