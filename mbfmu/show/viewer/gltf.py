"""Binary glTF 2.0: the bodies of a page as meshes, and their motion as an animation, for other viewers and editors.

Khronos Group, glTF 2.0 Specification (ISO/IEC 12113:2022).
"""

import base64
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

import mbfmu
from mbfmu.fmu.picture import COLOURS
from mbfmu.show.viewer.looks import revolved, solid

Array = npt.NDArray[np.float64]

ROLES = {"steel": "#c9ced4", "joint": "#33383e", "ground": "#8d9299"}
"""Colours of what is no body, as pages have them."""
FLOAT, UNSIGNED = 5126, 5125
"""Types of the numbers of an accessor."""
VERTICES, INDICES = 34962, 34963
"""Uses of a part of the buffer."""
MAGIC, VERSION, JSON, BINARY = 0x46546C67, 2, 0x4E4F534A, 0x004E4942
"""Numbers in the heads of a file and of its chunks."""
KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


class GltfDocument:
    """A glTF document that grows: its JSON, and its buffer."""

    def __init__(self) -> None:
        self.content: dict[str, list[Any]] = {
            key: [] for key in ("nodes", "meshes", "materials", "accessors", "bufferViews")
        }
        self.buffer = bytearray()
        self.materials: dict[tuple[float, ...], int] = {}

    def add(self, key: str, item: dict[str, Any]) -> int:
        """Add an item to a list; return its index."""
        self.content[key].append(item)
        return len(self.content[key]) - 1

    def accessor(self, values: npt.NDArray[Any], use: int | None = None) -> int:
        """Add numbers, shape (n,) or (n, 3 or 4); return the index of their accessor."""
        kind = UNSIGNED if values.dtype.kind in "iu" else FLOAT
        data = np.ascontiguousarray(values, dtype="<u4" if kind == UNSIGNED else "<f4")
        view = {
            "buffer": 0,
            "byteOffset": len(self.buffer),
            "byteLength": data.nbytes,
            **({"target": use} if use else {}),
        }
        self.buffer += data.tobytes()
        size = 1 if data.ndim == 1 else data.shape[1]
        extremes = {"min": np.atleast_1d(data.min(axis=0)).tolist(), "max": np.atleast_1d(data.max(axis=0)).tolist()}
        head = {"bufferView": self.add("bufferViews", view), "componentType": kind, "count": len(data)}
        return self.add("accessors", {**head, "type": KINDS[size], **extremes})

    def material(self, colour: Sequence[float]) -> int:
        """Return the index of the material of a colour: red, green, blue and, if it is there, alpha, from 0 to 1."""
        rgba = (*(_linear(value) for value in colour[:3]), *(colour[3:] or (1.0,)))
        if rgba not in self.materials:
            surface = {"baseColorFactor": list(rgba), "metallicFactor": 0.05, "roughnessFactor": 0.6}
            item: dict[str, Any] = {"pbrMetallicRoughness": surface, "doubleSided": True}
            self.materials[rgba] = self.add("materials", item | ({"alphaMode": "BLEND"} if rgba[3] < 1 else {}))
        return self.materials[rgba]

    def mesh(self, vertices: Array, triangles: npt.NDArray[Any], colour: Sequence[float]) -> int:
        """Add a mesh; return its index."""
        corners = {"POSITION": self.accessor(vertices.astype(np.float64), VERTICES)}
        indices = self.accessor(triangles.astype(np.uint32).ravel(), INDICES)
        return self.add(
            "meshes", {"primitives": [{"attributes": corners, "indices": indices, "material": self.material(colour)}]}
        )

    def packed(self, extra: dict[str, Any]) -> bytes:
        """Return the file."""
        self.buffer += bytes(-len(self.buffer) % 4)
        content = {
            "asset": {"version": "2.0", "generator": f"mbfmu {mbfmu.__version__}"},
            **{key: items for key, items in self.content.items() if items},
            **({"buffers": [{"byteLength": len(self.buffer)}]} if self.buffer else {}),
            **extra,
        }
        text = json.dumps(content, allow_nan=False, separators=(",", ":")).encode("utf-8")
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), JSON) + text + struct.pack("<II", len(self.buffer), BINARY) + self.buffer
        return struct.pack("<III", MAGIC, VERSION, 12 + len(chunks)) + bytes(chunks)


def glb_of(scene: Mapping[str, Any]) -> bytes:
    """Return the scene of a page as a binary glTF file whose animation is the motion; up becomes y.

    Flexible bodies are left out, but for what is fixed to their frames.

    Args:
        scene: as `scene_of` makes it.
    """
    document, dim = GltfDocument(), scene["dim"]
    times = _numbers(scene["times"], "<f8")
    poses = _numbers(scene["poses"]).reshape(len(times), len(scene["bodies"]), 3 if dim == 2 else 7)
    r, turns = _motion(poses)
    # the bodies: a node each, with its meshes
    root = document.add("nodes", {"name": "world", "rotation": _upright(np.array(scene["up"])), "children": []})
    world = document.content["nodes"][root]["children"]
    bodies = [document.add("nodes", {"name": body["name"], "children": []}) for body in scene["bodies"]]
    world += bodies
    for item in [*scene["solids"], *scene["meshes"]]:
        at = item["body"]
        name = scene["bodies"][at]["name"] if at >= 0 else "world"
        mesh = document.mesh(*triangles_of(item), _colour(scene, item))
        node = document.add("nodes", {"name": name, "mesh": mesh})
        (document.content["nodes"][bodies[at]]["children"] if at >= 0 else world).append(node)
    # the animation: poses, and rods between points of two bodies
    moves = [(node, "translation", r[:, k]) for k, node in enumerate(bodies)]
    moves += [(node, "rotation", turns[:, k]) for k, node in enumerate(bodies)]
    for item in scene["struts"]:
        mesh = document.mesh(
            *_tube(np.zeros(3), np.array([0.0, 0.0, 1.0]), item["radius"], item["radius"]),
            _colour(scene, {**item, "body": item["far"]}),
        )
        node = document.add("nodes", {"name": "rod", "mesh": mesh})
        world.append(node)
        start, end = (
            _track(r, turns, item[body], np.array(item[point])) for body, point in (("near", "at"), ("far", "end"))
        )
        ways = end - start
        lengths = np.linalg.norm(ways, axis=1)
        moves.append((node, "translation", start))
        moves.append((node, "rotation", _continuous(np.array([_towards(way) for way in ways]))))
        moves.append((node, "scale", np.column_stack([np.ones((len(lengths), 2)), np.maximum(lengths, 1e-9)])))
    for node in document.content["nodes"]:
        if not node.get("children", True):
            del node["children"]
    extra: dict[str, Any] = {"scene": 0, "scenes": [{"nodes": [root]}]}
    if moves and len(times) > 1:
        clock = document.accessor(times - times[0])
        samplers = [
            {"input": clock, "output": document.accessor(values), "interpolation": "LINEAR"} for *_, values in moves
        ]
        channels = [{"sampler": k, "target": {"node": node, "path": path}} for k, (node, path, _) in enumerate(moves)]
        extra["animations"] = [{"name": "motion", "samplers": samplers, "channels": channels}]
    return document.packed(extra)


def triangles_of(item: Mapping[str, Any]) -> tuple[Array, npt.NDArray[Any]]:
    """Return vertices, as the body sees them, and triangles of a solid or a mesh of a scene."""
    if "vertices" in item:
        return _numbers(item["vertices"]).reshape(-1, 3), _numbers(item["triangles"], "<u4").reshape(-1, 3)
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
    return Rotation.from_quat(_towards(to - at)).apply(vertices) + at, triangles


def _motion(poses: Array) -> tuple[Array, Array]:
    """Return positions and quaternions, the scalar part last, shape (n_t, n_b, 3 and 4), of the poses of a scene."""
    if poses.shape[2] == 7:
        return poses[..., :3], _continuous(np.roll(poses[..., 3:], -1, axis=2))
    half, zero = poses[..., 2] / 2, np.zeros(poses.shape[:2])
    return np.stack([poses[..., 0], poses[..., 1], zero], axis=2), np.stack(
        [zero, zero, np.sin(half), np.cos(half)], axis=2
    )


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


def _towards(n: Array) -> Array:
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


def _upright(up: Array) -> list[float]:
    """Return the quaternion that turns the upward direction of the world to y."""
    to_z, back = Rotation.from_quat(_towards(up)), Rotation.from_quat(_towards(np.array([0.0, 1.0, 0.0])))
    turn: list[float] = (back * to_z.inv()).as_quat().tolist()
    return turn


def _colour(scene: Mapping[str, Any], item: Mapping[str, Any]) -> Sequence[float]:
    """Return red, green, blue and, if it is there, alpha of a solid, a strut or a mesh."""
    if item.get("colour"):
        return [float(value) for value in item["colour"]]
    role, body = item.get("role", "body"), item["body"]
    text = ROLES["ground" if role == "body" else role] if role != "body" or body < 0 else ""
    text = text or COLOURS[scene["bodies"][body]["colour"] % len(COLOURS)]
    return [int(text[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def _linear(value: float) -> float:
    """Return an sRGB value as a linear one (IEC 61966-2-1)."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _numbers(text: str, kind: str = "<f4") -> npt.NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), dtype=kind).astype(np.float64 if "f" in kind else np.uint32)
