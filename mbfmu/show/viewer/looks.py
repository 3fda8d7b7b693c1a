"""Looks: the solids of a robot's links, as triangles in the frames of the bodies they are fixed to."""

import math
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mbfmu.base import extras
from mbfmu.model.library import known_models
from mbfmu.model.readers import ROBOTS
from mbfmu.model.robot.assembly import names_of
from mbfmu.model.robot.robot import Origin, Robot, Visual
from mbfmu.model.robot_files import robot_of
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.urdf import folders_of

Array = npt.NDArray[np.float64]
Triangles = npt.NDArray[np.int64]
Packages = Mapping[str, str | os.PathLike[str]]

SIDES = 24
"""Number of sides of round solids."""
MOST, TOGETHER = 4000, 20_000
"""Largest numbers of triangles of a mesh and of all meshes; finer ones are made coarser, so that a page stays small."""
FINEST = 256
"""Number of cells along a mesh in the first attempt to make it coarser."""


@dataclass(frozen=True)
class Look:
    """A solid fixed to a body.

    Args:
        body: full name of the body; empty for the world.
        vertices: vertices seen from the body's frame_a, or from the world, shape (n, 3), m.
        triangles: numbers of the vertices of each triangle, shape (m, 3).
        colour: red, green, blue, alpha from 0 to 1; None: the page's own colour.
    """

    body: str
    vertices: Array
    triangles: Triangles
    colour: tuple[float, ...] | None = None


def looks_of(source: str, options: RobotOptions | None = None) -> tuple[Look, ...]:
    """Return the looks of a robot, and none of other models; warn of meshes that cannot be read, and omit them.

    Args:
        source: name or path of the model.
        options: how the robot was read.

    Raises:
        ModelFileError, ModelError: the description cannot be read.
    """
    path = known_models().get(source, Path(source))
    if path.suffix.lower() not in ROBOTS:
        return ()
    robot, packages = robot_of(path, options), options.packages if options else {}
    names, poses = names_of(robot), _places(robot)
    meshes = sum(visual.kind == "mesh" for link in robot.links.values() for visual in link.visuals)
    most = min(MOST, TOGETHER // max(1, meshes))
    looks = []
    for link in robot.links.values():
        if link.name not in poses:
            if link.visuals:
                warnings.warn(f"the link '{link.name}' is not drawn, as it moves without mass", stacklevel=2)
            continue
        owner, pose = poses[link.name]
        for visual in link.visuals:
            solid = _solid(visual, path, packages, most)
            if solid is not None:
                vertices, triangles = solid
                placed = _moved(pose @ _matrix(visual.origin), vertices)
                looks.append(Look(names["link", owner] if owner else "", placed, triangles, visual.colour))
    return tuple(looks)


def _places(robot: Robot) -> dict[str, tuple[str, Array]]:
    """Return the link with mass that each link is fixed to, or '' for the world, and its pose seen from there.

    Links that move and are fixed to no link with mass have none.
    """
    base, pose = {robot.root: robot.root}, {robot.root: np.eye(4)}
    for joint in robot.joints.values():
        fixed = joint.kind == "fixed"
        base[joint.child] = base[joint.parent] if fixed else joint.child
        pose[joint.child] = pose[joint.parent] @ _matrix(joint.origin) if fixed else np.eye(4)
    owners = {base[name]: name for name in reversed(base) if robot.links[name].massive}
    poses = {}
    for name, root in base.items():
        if root != robot.root and root not in owners:
            continue
        owner = "" if root == robot.root else owners[root]
        seen_from = pose[owner] if owner else np.eye(4)
        poses[name] = owner, np.linalg.inv(seen_from) @ pose[name]
    return poses


def _matrix(origin: Origin) -> Array:
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = origin.R, origin.xyz
    return transform


def _moved(pose: Array, vertices: Array) -> Array:
    turned: Array = vertices @ pose[:3, :3].T + pose[:3, 3]
    return turned


def _solid(visual: Visual, urdf: Path, packages: Packages, most: int) -> tuple[Array, Triangles] | None:
    """Return vertices and triangles in the frame of the geometry; None for a mesh that cannot be read."""
    if visual.kind == "mesh":
        return _mesh(visual, urdf, packages, most)
    return solid(visual.kind, visual.size)


def solid(kind: str, sizes: tuple[float, ...]) -> tuple[Array, Triangles]:
    """Return vertices and triangles about the origin of a solid.

    Args:
        kind: ``box``, ``cylinder`` or ``capsule``, both about z, or ``sphere``.
        sizes: m; the sides, or the radius, and the length.
    """
    match kind, sizes:
        case "box", sides:
            corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
            faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
            triangles = [corner for a, b, c, d in faces for corner in ((a, b, c), (a, c, d))]
            return corners * np.array(sides), np.array(triangles)
        case "cylinder", (r, length):
            return revolved([(0, -length / 2), (r, -length / 2), (r, length / 2), (0, length / 2)])
        case "capsule", (r, length):
            return revolved([*_arc(r, -length / 2, -90, 0), *_arc(r, length / 2, 0, 90)])
    return revolved(_arc(sizes[0], 0.0, -90, 90))


def _arc(r: float, z: float, first: int, last: int) -> list[tuple[float, float]]:
    degrees = np.arange(first, last + 1, 360 // SIDES)
    return [
        (0.0 if abs(d) == 90 else r * math.cos(math.radians(d)), z + r * math.sin(math.radians(d))) for d in degrees
    ]


def revolved(profile: list[tuple[float, float]]) -> tuple[Array, Triangles]:
    """Return the surface of revolution about z of points (radius, height), m."""
    around = np.arange(SIDES) * math.tau / SIDES
    rings = [np.column_stack([r * np.cos(around), r * np.sin(around), np.full(SIDES, z)]) for r, z in profile]
    triangles = []
    for ring, ((r, _), (above, _)) in enumerate(pairwise(profile)):
        for side in range(SIDES):
            a, b = ring * SIDES + side, ring * SIDES + (side + 1) % SIDES
            triangles += [(a, b, b + SIDES)] * (r > 0) + [(a, b + SIDES, a + SIDES)] * (above > 0)
    return np.concatenate(rings), np.array(triangles)


def _mesh(visual: Visual, urdf: Path, packages: Packages, most: int) -> tuple[Array, Triangles] | None:
    fault = f"the mesh '{visual.mesh}' of the link '{visual.link}' is not drawn"
    file = next((path for path in _candidates(visual.mesh, urdf, packages) if path.is_file()), None)
    if file is None:
        warnings.warn(f"{fault}: there is no such file beside '{urdf}', above it or in a given package", stacklevel=2)
        return None
    mesh = mesh_of(file, fault, most)
    return mesh and (mesh[0] * np.array(visual.size), mesh[1])


def mesh_of(file: Path, fault: str, most: int = MOST) -> tuple[Array, Triangles] | None:
    """Return vertices, m, and triangles of a file; None, with a warning, if it cannot be read.

    Args:
        file: path of the file.
        fault: beginning of the warning.
        most: largest number of triangles.
    """
    try:
        import trimesh

        scene = trimesh.load_scene(file)
        if scene.units:  # such as COLLADA files have
            scene = scene.convert_units("meters")
        mesh = scene.to_mesh()
        vertices, triangles = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
        if not triangles.size:
            raise ValueError("it contains no triangles")
    except ImportError:
        warnings.warn(f"{fault}: it needs trimesh: {extras.command('view')}", stacklevel=2)
        return None
    except Exception as error:  # noqa: BLE001 - readers raise many kinds of errors for foreign files
        warnings.warn(f"{fault}: '{file}' cannot be read: {' '.join(str(error).split())}", stacklevel=2)
        return None
    return _coarse(vertices, triangles, most)


def _candidates(mesh: str, urdf: Path, packages: Packages) -> Iterator[Path]:
    """Yield possible paths of a mesh's file."""
    scheme, separator, rest = mesh.partition("://")
    if not separator:
        yield urdf.parent / mesh
    elif scheme == "file":
        yield Path(rest)
    elif scheme == "package":
        package, _, inside = rest.partition("/")
        yield from (folder / inside for folder in folders_of(package, urdf, packages))


def _coarse(vertices: Array, triangles: Triangles, most: int) -> tuple[Array, Triangles]:
    """Return at most `most` triangles: all vertices in a cell of a grid are replaced by the first of them."""
    low, extent = vertices.min(axis=0), float(np.ptp(vertices, axis=0).max())
    triangles_left, cells = triangles, FINEST
    while len(triangles_left) > most:
        grid = np.floor((vertices - low) / extent * cells).astype(np.int64)
        _, first, cell = np.unique(grid, axis=0, return_index=True, return_inverse=True)
        merged = first[cell.ravel()][triangles]
        a, b, c = merged.T
        triangles_left = merged[(a != b) & (b != c) & (c != a)]
        cells = cells * 3 // 4
    used, numbers = np.unique(triangles_left, return_inverse=True)
    return vertices[used], numbers.reshape(-1, 3)
