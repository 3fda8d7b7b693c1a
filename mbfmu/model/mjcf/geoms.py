"""Geoms: the mass they give to bodies, and how they look."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath

import numpy as np

from mbfmu.errors import MbfmuError, ModelError, UnknownNameError, ValueRangeError, nearest
from mbfmu.model.mjcf.builtin_meshes import BUILTIN, SHELLS, made
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.meshes import Triangles, read_mesh, solid_of
from mbfmu.model.mjcf.poses import stretched, turn_of
from mbfmu.model.mjcf.settings import Settings, choice, flag_of
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.rigid_pose import RigidPose
from mbfmu.model.robot.robot import Array, Origin, Visual
from mbfmu.model.robot.solids import MassShare, box, capsule, cylinder, ellipsoid, sphere
from mbfmu.model.robot.xml import XmlElement

TYPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
WEIGHTLESS = ("plane", "hfield")
COUNTS = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""Number of sizes of each primitive shape."""
SHOWN = 2
"""Last group of geoms that is drawn."""
KINDS = ("legacy", "exact", "convex", "shell")


@dataclass(frozen=True)
class Geom:
    """A geom.

    Args:
        element: its element, with its defaults filled in.
        pose: its pose in the body's frame.
        kind: one of `TYPES`.
        size: its sizes as MuJoCo counts them, half lengths, m.
        mesh: name of its mesh; empty if it has none.
    """

    element: XmlElement
    pose: RigidPose
    kind: str
    size: tuple[float, ...]
    mesh: str


@dataclass(frozen=True)
class Meshes:
    """The meshes of a model.

    Args:
        reader: reader of attributes.
        settings: settings of the model.
        elements: elements by name, with their defaults filled in.
        solids: the solids by the name of the mesh, once they were needed.
    """

    reader: Attributes
    settings: Settings
    elements: Mapping[str, XmlElement]
    solids: dict[str, MassShare] = field(default_factory=dict)

    def element(self, geom: XmlElement, name: str) -> XmlElement:
        """Return the mesh that a geom names.

        Raises:
            UnknownNameError: there is none.
        """
        if name not in self.elements:
            message = UnknownNameError(f"<{geom.tag}>: there is no mesh '{name}'; {nearest(name, self.elements)}")
            raise self.reader.error(geom, message)
        return self.elements[name]

    def path(self, mesh: XmlElement) -> Path:
        """Return the path of a mesh's file."""
        file = self.reader.name(mesh, "file")
        return self.settings.meshes / (PureWindowsPath(file).name if self.settings.strippath else file)

    def frame(self, mesh: XmlElement) -> tuple[RigidPose, Array]:
        """Return the frame that a mesh is seen from, and the scale along its axes that comes then, shape (3,)."""
        r, scale = (np.array(self.reader.numbers(mesh, *item, 3)) for item in (("refpos", "0 0 0"), ("scale", "1 1 1")))
        return RigidPose(r, turn_of(self.reader, mesh, "refquat")), scale

    def solid(self, geom: XmlElement, name: str) -> MassShare:
        """Return the solid of density 1 of the mesh that a geom names.

        Raises:
            ModelFileError: its file cannot be read.
            ValueRangeError: it encloses no volume.
        """
        mesh = self.element(geom, name)
        if name in self.solids:
            return self.solids[name]
        kind = choice(self.reader, mesh, "inertia", "legacy", KINDS)
        kind = "shell" if mesh.attributes.get("builtin") in SHELLS else kind
        vertices, triangles = self._seen(mesh)
        try:
            solid = solid_of(vertices, triangles, kind)
        except MbfmuError as error:
            raise self.reader.error(mesh, error) from None
        self.solids[name] = replace(solid, axes=solid.pose.R)
        return self.solids[name]

    def extent(self, geom: XmlElement, name: str) -> tuple[RigidPose, tuple[float, ...]]:
        """Return the inertial frame of a mesh, and its greatest distances from there along the axes, m."""
        pose = self.solid(geom, name).pose
        vertices, _ = self._seen(self.element(geom, name))
        return pose, tuple(map(float, np.abs((vertices - pose.r) @ pose.R).max(axis=0)))

    def _seen(self, mesh: XmlElement) -> tuple[Array, Triangles]:
        """Return the surface of a mesh, from its frame and scaled."""
        frame, scale = self.frame(mesh)
        try:
            vertices, triangles = self._surface(mesh)
        except MbfmuError as error:
            raise self.reader.error(mesh, error) from None
        return (vertices - frame.r) @ frame.R * scale, triangles

    def _surface(self, mesh: XmlElement) -> tuple[Array, Triangles]:
        if "builtin" in mesh.attributes:
            count = len(mesh.attributes.get("params", "").split())
            made_of = self.reader.numbers(mesh, "params", "", count)
            return made(choice(self.reader, mesh, "builtin", "", tuple(BUILTIN)), made_of)
        if "vertex" not in mesh.attributes:
            return read_mesh(self.path(mesh))
        arrays = []
        for name in ("vertex", "face"):
            count = len(mesh.attributes.get(name, "").split())
            if count % 3:
                raise ValueRangeError(f"<mesh {name}> has {count} numbers, not three each")
            numbers = np.array(self.reader.numbers(mesh, name, "", count), dtype=np.float32)  # as MuJoCo takes them
            arrays.append(numbers.astype(np.float64).reshape(-1, 3))
        triangles = arrays[1].astype(np.int64)
        if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(arrays[0]):
            raise ValueRangeError("<mesh face> names a vertex that is not there")
        return arrays[0], triangles


def meshes_of(root: XmlElement, defaults: Defaults, settings: Settings) -> Meshes:
    """Return the meshes of a model; one without a name has that of its file."""
    meshes = {}
    for asset in root.all("asset"):
        for item in asset.all("mesh"):
            mesh = defaults.filled(item)
            name = mesh.attributes.get("name") or Path(mesh.attributes.get("file", "")).stem
            meshes[name] = mesh
    return Meshes(defaults.reader, settings, meshes)


def geom_of(element: XmlElement, frame: RigidPose, defaults: Defaults, inherited: str, settings: Settings) -> Geom:
    """Return a geom.

    Args:
        element: its element.
        frame: pose of the frame it stands in, in the body's frame.
        defaults: the default classes.
        inherited: class that the elements around it set.
        settings: settings of the model.

    Raises:
        ModelError: its type, its size or its pose has no meaning.
    """
    reader = defaults.reader
    filled = defaults.filled(element, inherited)
    mesh = filled.attributes.get("mesh", "")
    kind = choice(reader, filled, "type", "sphere", TYPES)
    words = filled.attributes.get("size", "").split()
    size = reader.numbers(filled, "size", "", len(words))
    pose, half = stretched(reader, filled, kind, settings)
    if half:
        size = (*size[:1] * (1 if COUNTS[kind] == 2 else 2), half)
    count = COUNTS.get(kind, 0)
    if not mesh and (len(size) < count or not all(item > 0 for item in size[:count])):
        message = f'<geom type="{kind}"> needs {count} positive size(s), not "{filled.attributes.get("size", "")}"'
        raise reader.error(filled, ValueRangeError(message))
    return Geom(filled, frame @ pose, kind, size[:count], mesh)


def solid_of_geom(geom: Geom, meshes: Meshes) -> MassShare | None:
    """Return the mass that a geom gives to its body, seen from the body's frame; None if it gives none.

    Raises:
        ModelError: the mass cannot be computed.
    """
    reader, element = meshes.reader, geom.element
    first, last = meshes.settings.groups
    if geom.kind in WEIGHTLESS or not first <= reader.number(element, "group", "0") <= last:
        return None
    mass = reader.number(element, "mass", "-1")
    density = reader.number(element, "density", "1000", least=0.0)
    if mass == 0 or (mass < 0 and density == 0):
        return None
    if mass < 0 and "mass" in element.attributes:
        raise reader.error(element, ValueRangeError(f"<geom mass>: {mass:g} must be at least 0"))
    shell = flag_of(reader, element, "shellinertia", False)
    if geom.kind == "sdf" or (geom.mesh and geom.kind != "mesh") or (shell and geom.kind == "ellipsoid"):
        message = "the shell of an ellipsoid" if shell else f"a {geom.kind} geom fitted to a mesh"
        raise reader.error(
            element, ModelError(f"the inertia of {message} is not computed: give the body an <inertial>")
        )
    name = reader.name(element, "mesh") if geom.kind == "mesh" else ""
    unit = meshes.solid(element, name) if name else _primitive(geom, shell)
    return unit.scaled(density if mass < 0 else mass / unit.m).moved(geom.pose.r, geom.pose.R)


def _primitive(geom: Geom, shell: bool) -> MassShare:
    """Return a primitive shape of density 1."""
    match geom.kind, geom.size:
        case "sphere", (r,):
            return sphere(r, shell)
        case "capsule", (r, h):
            return capsule(r, h, shell)
        case "cylinder", (r, h):
            return cylinder(r, h, shell)
        case "box", (a, b, c):
            return box(a, b, c, shell)
    return ellipsoid(*geom.size)


def visual_of(geom: Geom, link: str, meshes: Meshes, colours: Mapping[str, str]) -> Visual | None:
    """Return the look of a geom; None for shapes that are not drawn, and of groups that MuJoCo hides by default.

    A mesh that is turned and then has an uneven scale is not drawn, as a look has its scale first.
    """
    reader, element = meshes.reader, geom.element
    if reader.number(element, "group", "0") > SHOWN:
        return None
    text = element.attributes.get("rgba") or colours.get(element.attributes.get("material", ""), "")
    pose = geom.pose
    colour = reader.numbers(XmlElement("geom", {"rgba": text}, element.line), "rgba", "", 4) if text else None
    if geom.kind == "mesh":
        mesh = meshes.element(element, reader.name(element, "mesh"))
        if "file" not in mesh.attributes:
            return None
        frame, scale = meshes.frame(mesh)
        if np.ptp(scale) and not np.array_equal(frame.R, np.eye(3)):
            return None
        pose = pose @ RigidPose(-scale * (frame.R.T @ frame.r), frame.R.T)
        kind, size, file = "mesh", tuple(map(float, scale)), str(meshes.path(mesh).absolute())
    elif geom.mesh or geom.kind not in COUNTS or geom.kind == "ellipsoid":
        return None
    else:
        file, kind = "", geom.kind
        size = {
            "sphere": geom.size,
            "box": tuple(2 * item for item in geom.size),
        }.get(kind) or (geom.size[0], 2 * geom.size[1])
    return Visual(link, "", Origin.of(pose.r, pose.R), kind, size, file, colour)
