"""Binary glTF 2.0: the bodies of a page as meshes, and their motion as an animation, for other viewers and editors.

Khronos Group, glTF 2.0 Specification (ISO/IEC 12113:2022).
"""

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import mbfmu
from mbfmu.show.viewer.exchanged import (
    colour_of,
    motion_of_scene,
    motion_of_strut,
    triangles_of,
    unit_tube,
    upright,
)

Array = npt.NDArray[np.float64]

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
    document = GltfDocument()
    times, r, turns = motion_of_scene(scene)
    # the bodies: a node each, with its meshes
    root = document.add(
        "nodes",
        {"name": "world", "rotation": upright(np.array(scene["up"]), np.array([0.0, 1.0, 0.0])), "children": []},
    )
    world = document.content["nodes"][root]["children"]
    bodies = [document.add("nodes", {"name": body["name"], "children": []}) for body in scene["bodies"]]
    world += bodies
    for item in [*scene["solids"], *scene["meshes"]]:
        at = item["body"]
        name = scene["bodies"][at]["name"] if at >= 0 else "world"
        mesh = document.mesh(*triangles_of(item), colour_of(scene, item))
        node = document.add("nodes", {"name": name, "mesh": mesh})
        (document.content["nodes"][bodies[at]]["children"] if at >= 0 else world).append(node)
    # the animation: poses, and rods between points of two bodies
    moves = [(node, "translation", r[:, k]) for k, node in enumerate(bodies)]
    moves += [(node, "rotation", turns[:, k]) for k, node in enumerate(bodies)]
    for item in scene["struts"]:
        mesh = document.mesh(*unit_tube(item), colour_of(scene, {**item, "body": item["far"]}))
        node = document.add("nodes", {"name": "rod", "mesh": mesh})
        world.append(node)
        paths = ("translation", "rotation", "scale")
        moves += [(node, path, values) for path, values in zip(paths, motion_of_strut(item, r, turns), strict=True)]
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


def _linear(value: float) -> float:
    """Return an sRGB value as a linear one (IEC 61966-2-1)."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
