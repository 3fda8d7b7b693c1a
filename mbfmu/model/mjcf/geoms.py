"""Geoms: the mass they give to bodies, and how they look."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

import numpy as np

from mbfmu.errors import MbfmuError, ModelError, UnknownNameError, ValueRangeError, nearest
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.meshes import Triangles, read_mesh, solid_of
from mbfmu.model.mjcf.poses import Place, place_of, towards, turned
from mbfmu.model.mjcf.settings import Settings, choice, flag_of
from mbfmu.model.mjcf.solids import Solid, box, capsule, cylinder, ellipsoid, sphere
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.robot import Array, Origin, Visual
from mbfmu.model.robot.xml import Element

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
        place: its pose in the body's frame.
        kind: one of `TYPES`.
        size: its sizes as MuJoCo counts them, half lengths, m.
        mesh: name of its mesh; empty if it has none.
    """

    element: Element
    place: Place
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
    """

    reader: Attributes
    settings: Settings
    elements: Mapping[str, Element]

    def element(self, geom: Element, name: str) -> Element:
        """Return the mesh that a geom names.

        Raises:
            UnknownNameError: there is none.
        """
        if name not in self.elements:
            what = UnknownNameError(f"<{geom.tag}>: there is no mesh '{name}'; {nearest(name, self.elements)}")
            raise self.reader.error(geom, what)
        return self.elements[name]

    def path(self, mesh: Element) -> Path:
        """Return the path of a mesh's file."""
        file = self.reader.name(mesh, "file")
        return self.settings.meshes / (PureWindowsPath(file).name if self.settings.strippath else file)

    def solid(self, geom: Element, name: str) -> Solid:
        """Return the solid of density 1 of the mesh that a geom names.

        Raises:
            ModelFileError: its file cannot be read.
            ValueRangeError: it encloses no volume.
        """
        mesh = self.element(geom, name)
        kind = choice(self.reader, mesh, "inertia", "legacy", KINDS)
        try:
            vertices, triangles = self._surface(mesh)
            found = solid_of(vertices * np.array(self.reader.numbers(mesh, "scale", "1 1 1", 3)), triangles, kind)
        except MbfmuError as error:
            raise self.reader.error(mesh, error) from None
        r = np.array(self.reader.numbers(mesh, "refpos", "0 0 0", 3))
        Q = np.array(self.reader.numbers(mesh, "refquat", "1 0 0 0", 4))
        back = turned(Q / np.linalg.norm(Q)).T
        return found.moved(-back @ r, back)

    def _surface(self, mesh: Element) -> tuple[Array, Triangles]:
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


def meshes_of(root: Element, defaults: Defaults, settings: Settings) -> Meshes:
    """Return the meshes of a model; one without a name has that of its file."""
    found = {}
    for asset in root.all("asset"):
        for item in asset.all("mesh"):
            mesh = defaults.filled(item)
            name = mesh.attributes.get("name") or Path(mesh.attributes.get("file", "")).stem
            found[name] = mesh
    return Meshes(defaults.reader, settings, found)


def geom_of(element: Element, frame: Place, defaults: Defaults, inherited: str, settings: Settings) -> Geom:
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
    if "fromto" in filled.attributes and kind in COUNTS and kind != "sphere":
        x = np.array(reader.numbers(filled, "fromto", "", 6))
        length = float(np.linalg.norm(x[3:] - x[:3]))
        if length < 1e-14:
            raise reader.error(filled, ModelError("<geom fromto>: the two points are the same"))
        place = Place((x[:3] + x[3:]) / 2, towards((x[3:] - x[:3]) / length))
        size = (*size[:1] * (1 if COUNTS[kind] == 2 else 2), length / 2)
    else:
        place = place_of(reader, filled, settings)
    count = COUNTS.get(kind, 0)
    if not mesh and (len(size) < count or not all(item > 0 for item in size[:count])):
        what = f'<geom type="{kind}"> needs {count} positive size(s), not "{filled.attributes.get("size", "")}"'
        raise reader.error(filled, ValueRangeError(what))
    return Geom(filled, frame @ place, kind, size[:count], mesh)


def solid_of_geom(geom: Geom, meshes: Meshes) -> Solid | None:
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
        what = "the shell of an ellipsoid" if shell else f"a {geom.kind} geom fitted to a mesh"
        raise reader.error(element, ModelError(f"the inertia of {what} is not computed: give the body an <inertial>"))
    name = reader.name(element, "mesh") if geom.kind == "mesh" else ""
    unit = meshes.solid(element, name) if name else _primitive(geom, shell)
    return unit.scaled(density if mass < 0 else mass / unit.m).moved(geom.place.r, geom.place.R)


def _primitive(geom: Geom, shell: bool) -> Solid:
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
    """Return the look of a geom; None for shapes that are not drawn, and of groups that MuJoCo hides by default."""
    reader, element = meshes.reader, geom.element
    if reader.number(element, "group", "0") > SHOWN:
        return None
    text = element.attributes.get("rgba") or colours.get(element.attributes.get("material", ""), "")
    colour = reader.numbers(Element("geom", {"rgba": text}, element.line), "rgba", "", 4) if text else None
    if geom.kind == "mesh":
        mesh = meshes.element(element, reader.name(element, "mesh"))
        if "file" not in mesh.attributes:
            return None
        scale = reader.numbers(mesh, "scale", "1 1 1", 3)
        kind, size, file = "mesh", scale, str(meshes.path(mesh).absolute())
    elif geom.mesh or geom.kind not in COUNTS or geom.kind == "ellipsoid":
        return None
    else:
        file, kind = "", geom.kind
        size = {
            "sphere": geom.size,
            "box": tuple(2 * item for item in geom.size),
        }.get(kind) or (geom.size[0], 2 * geom.size[1])
    return Visual(link, "", Origin.of(geom.place.r, geom.place.R), kind, size, file, colour)
