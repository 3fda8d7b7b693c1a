"""Content of a page's scene for other formats: solids as triangles, motion as quaternions, and colours."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from mbfmu.fmu.picture import COLOURS
from mbfmu.show.viewer.looks import revolved, solid

Array = npt.NDArray[np.float64]

ROLES = {"rope": "#5b6168", "steel": "#c9ced4", "joint": "#33383e", "ground": "#8d9299"}
"""Colours of what is no body."""


def triangles_of(item: Mapping[str, Any]) -> tuple[Array, npt.NDArray[Any]]:
    """Return vertices, as the body sees them, and triangles of a solid or a mesh of a scene."""
    if "vertices" in item:
        return numbers_of(item["vertices"]).reshape(-1, 3), numbers_of(item["triangles"], "<u4").reshape(-1, 3)
    at = np.array(item["at"])
    match item["kind"]:
        case "ball":
            vertices, triangles = solid("sphere", (item["radius"],))
            return vertices + at, triangles
        case "box":
            vertices, triangles = solid("box", tuple(item["sides"]))
            x, y = np.array(item["x"]), np.array(item["y"])
            return vertices @ np.array([x, y, np.cross(x, y)]) + at, triangles
        case "plate":
            return _plate(item, at)
    return _tube(at, np.array(item["to"]), item["radius"], item["end"])


def _plate(item: Mapping[str, Any], at: Array) -> tuple[Array, npt.NDArray[Any]]:
    """Return a convex outline, counterclockwise, that is extruded on both sides of its plane."""
    outline, x, y = np.array(item["outline"]), np.array(item["x"]), np.array(item["y"])
    n, count = np.cross(x, y), len(outline)
    flat = at + outline @ np.array([x, y])
    vertices = np.concatenate([flat - item["thick"] / 2 * n, flat + item["thick"] / 2 * n])
    k = np.arange(count)
    after = (k + 1) % count
    fan = np.column_stack([np.zeros(count - 2, int), k[1:-1], k[2:]])
    sides = np.concatenate([np.column_stack([k, after, after + count]), np.column_stack([k, after + count, k + count])])
    return vertices, np.concatenate([fan[:, ::-1], fan + count, sides])


def _tube(at: Array, to: Array, radius: float, end: float) -> tuple[Array, npt.NDArray[Any]]:
    """Return a round bar between two points."""
    length = float(np.linalg.norm(to - at))
    vertices, triangles = revolved([(0.0, 0.0), (radius, 0.0), (end, length), (0.0, length)])
    return Rotation.from_quat(towards(to - at)).apply(vertices) + at, triangles


def motion_of_scene(scene: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return times, positions and quaternions, the scalar part last, shapes (n_t,) and (n_t, n_b, 3 and 4)."""
    times, dim = numbers_of(scene["times"], "<f8"), scene["dim"]
    poses = numbers_of(scene["poses"]).reshape(len(times), len(scene["bodies"]), 3 if dim == 2 else 7)
    if dim == 3:
        return times, poses[..., :3], _continuous(np.roll(poses[..., 3:], -1, axis=2))
    half, zero = poses[..., 2] / 2, np.zeros(poses.shape[:2])
    return (
        times,
        np.stack([poses[..., 0], poses[..., 1], zero], axis=2),
        np.stack([zero, zero, np.sin(half), np.cos(half)], axis=2),
    )


def motion_of_strut(item: Mapping[str, Any], r: Array, turns: Array) -> tuple[Array, Array, Array]:
    """Return position, quaternion and scale by which `unit_tube` becomes a rod between points of two bodies.

    Args:
        item: the strut of a scene.
        r: positions of all bodies, m, shape (n_t, n_b, 3), see `motion_of_scene`.
        turns: quaternions of all bodies, shape (n_t, n_b, 4).
    """
    start, end = (
        _track(r, turns, item[body], np.array(item[point])) for body, point in (("near", "at"), ("far", "end"))
    )
    if any(item["winds"]):
        axle = _track(r, turns, item["near"], np.array(item["axle"])) - _track(r, turns, item["near"], np.zeros(3))
        start, end = _tangent(start, end, axle, item["winds"])
    ways = end - start
    lengths = np.linalg.norm(ways, axis=1)
    scales = np.column_stack([np.ones((len(lengths), 2)), np.maximum(lengths, 1e-9)])
    return start, _continuous(np.array([towards(way) for way in ways])), scales


def _tangent(start: Array, end: Array, axle: Array, winds: Sequence[float]) -> tuple[Array, Array]:
    """Return where the common tangent of two sheaves leaves one and meets the other, shapes (n_t, 3), see `Reeving`.

    Args:
        start: centre of the first, m, shape (n_t, 3).
        end: centre of the second, m.
        axle: unit vector of their axles, shape (n_t, 3).
        winds: their signed radii, m.
    """
    d = end - start
    flat, turned = d - np.sum(d * axle, axis=1, keepdims=True) * axle, np.cross(axle, d)
    square, difference = np.sum(flat**2, axis=1, keepdims=True), winds[1] - winds[0]
    along = (np.sqrt(np.maximum(square - difference**2, 0.0)) * flat - difference * turned) / square
    across = np.cross(axle, along)
    return start - winds[0] * across, end - winds[1] * across


def unit_tube(item: Mapping[str, Any]) -> tuple[Array, npt.NDArray[Any]]:
    """Return vertices and triangles of a rod along z from the origin to 1."""
    return _tube(np.zeros(3), np.array([0.0, 0.0, 1.0]), item["radius"], item["radius"])


def _continuous(turns: Array) -> Array:
    """Return unit quaternions with the signs by which each is nearer to the one before, along the first axis."""
    unit = turns / np.linalg.norm(turns, axis=-1, keepdims=True)
    signs = np.where(np.sum(unit[1:] * unit[:-1], axis=-1, keepdims=True) < 0, -1.0, 1.0)
    unit[1:] *= np.cumprod(signs, axis=0)
    continuous: Array = unit
    return continuous


def _track(r: Array, turns: Array, body: int, point: Array) -> Array:
    """Return the positions of a body's point, or of the world for -1, shape (n_t, 3)."""
    if body < 0:
        return np.broadcast_to(point, (len(r), 3))
    path: Array = r[:, body] + Rotation.from_quat(turns[:, body]).apply(point)
    return path


def towards(n: Array) -> Array:
    """Return the quaternion, the scalar part last, that turns z to a direction."""
    size = float(np.linalg.norm(n))
    if not size:
        return np.array([0.0, 0.0, 0.0, 1.0])
    x, y, z = n / size
    if z < -1 + 1e-9:
        return np.array([1.0, 0.0, 0.0, 0.0])
    turn = np.array([-y, x, 0.0, 1 + z])
    unit: Array = turn / np.linalg.norm(turn)
    return unit


def upright(up: Array, axis: Array) -> list[float]:
    """Return the quaternion that turns the upward direction of the world to an axis."""
    to_z, back = Rotation.from_quat(towards(up)), Rotation.from_quat(towards(axis))
    turn: list[float] = (back * to_z.inv()).as_quat().tolist()
    return turn


def colour_of(scene: Mapping[str, Any], item: Mapping[str, Any]) -> Sequence[float]:
    """Return red, green, blue and, if it is there, alpha of a solid, a strut or a mesh."""
    if item.get("colour"):
        return [float(value) for value in item["colour"]]
    role, body = item.get("role", "body"), item["body"]
    text = ROLES["ground" if role == "body" else role] if role != "body" or body < 0 else ""
    text = text or COLOURS[scene["bodies"][body]["colour"] % len(COLOURS)]
    return [int(text[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def numbers_of(text: str, kind: str = "<f4") -> npt.NDArray[Any]:
    """Return numbers that `packed` made a text of."""
    return np.frombuffer(base64.b64decode(text), dtype=kind).astype(np.float64 if "f" in kind else np.uint32)
