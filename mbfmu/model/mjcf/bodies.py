"""The tree of bodies of a model, with their joints, geoms and sites."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mbfmu.errors import ModelError, NameInUseError, UnknownNameError, ValueRangeError, nearest
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.geoms import WEIGHTLESS, Geom, Meshes, geom_of, solid_of_geom, visual_of
from mbfmu.model.mjcf.inertials import bounded, inertial_of
from mbfmu.model.mjcf.joints import ModelJoint, joint_of
from mbfmu.model.mjcf.poses import LONG, pose_of, stretched
from mbfmu.model.mjcf.settings import LIMITED, Settings, choice, flag_of
from mbfmu.model.mjcf.unread import inside
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.rigid_pose import HERE, RigidPose, about
from mbfmu.model.robot.robot import Visual
from mbfmu.model.robot.solids import MassShare, merged
from mbfmu.model.robot.tree import unlike
from mbfmu.model.robot.xml import XmlElement

WORLD = "world"
DEEPEST = 250
"""Largest number of bodies and frames in each other."""
MOST = 5_000
"""Largest number of bodies."""
MOST_JOINTS, MOST_SITES = 100, 2_000
"""Largest number of joints of a body, and of its sites without a name."""
BODY = {"name", "childclass", "mocap", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "gravcomp", "sleep",
        "user", "fuse"}  # fmt: skip
"""Attributes of a body."""


@dataclass(frozen=True)
class Site:
    """A site: a frame fixed to a body; or that of a round geom.

    Args:
        name: its name.
        body: name of the body.
        pose: its pose in the body's frame.
        element: its element.
        shape: ``sphere`` or ``cylinder`` of a geom; empty for a site.
        radius: of the geom, m.
    """

    name: str
    body: str
    pose: RigidPose
    element: XmlElement
    shape: str = ""
    radius: float = 0.0


@dataclass(frozen=True)
class ModelBody:
    """A body.

    Args:
        name: its name, or one made up.
        element: its element.
        parent: name of the body around it.
        pose: its pose in the frame of that body, for all joints at their references.
        joints: its joints, in their order.
        solid: its mass.
        gravcomp: share of its weight that is held.
        visuals: the looks of its geoms.
        wings: geoms that the fluid flows around as ellipsoids; none: it takes the box of the body's inertia.
    """

    name: str
    element: XmlElement
    parent: str
    pose: RigidPose
    joints: tuple[ModelJoint, ...]
    solid: MassShare
    gravcomp: float
    visuals: tuple[Visual, ...]
    wings: tuple["Wing", ...] = ()

    @property
    def armed(self) -> tuple[MassShare, float]:
        """Its mass with the armature of a free joint, and the mass of that, which has no weight, kg."""
        m = sum(joint.armature for joint in self.joints if joint.kind == "free")
        return (merged([self.solid, MassShare(m, np.zeros(3), m * np.eye(3))]), m) if m else (self.solid, 0.0)


@dataclass(frozen=True)
class Wing:
    """A geom in a fluid.

    Args:
        pose: its pose in the body's frame.
        a: semi-axes of its ellipsoid, m.
        coefficients: of blunt, slender and angular drag, of lift by the angle of attack and by spin.
    """

    pose: RigidPose
    a: tuple[float, ...]
    coefficients: tuple[float, ...]


@dataclass
class MjcfBodies:
    """The bodies of a model, each after the one around it.

    Args:
        bodies: by name.
        joints: the joints by name, in the order of the model's coordinates.
        sites: by name.
        rounds: frames of the spheres and cylinders with a name, by it.
        unused: number of elements of each tag that are not used.
        mocap: names of bodies whose motion is given from outside.
        touching: number of geoms that others could touch.
    """

    bodies: dict[str, ModelBody] = field(default_factory=dict)
    joints: dict[str, ModelJoint] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)
    rounds: dict[str, Site] = field(default_factory=dict)
    unused: Counter[str] = field(default_factory=Counter)
    mocap: list[str] = field(default_factory=list)
    touching: int = 0


@dataclass(frozen=True)
class _Walk:
    """A walk through the elements of the tree, which fills `bodies`."""

    defaults: Defaults
    settings: Settings
    meshes: Meshes
    colours: Mapping[str, str]
    bodies: MjcfBodies

    @property
    def reader(self) -> Attributes:
        return self.defaults.reader

    def inside(self, element: XmlElement, frame: RigidPose, inherited: str, depth: int) -> "_Content":
        """Return what stands in a body or a frame, without the bodies in it."""
        content = _Content()
        self.bodies.unused.update(inside(self.reader, element))
        if depth > DEEPEST:
            raise self.reader.error(element, ModelError(f"more than {DEEPEST} bodies and frames in each other"))
        for child in element.children:
            if child.tag == "frame":
                filled = pose_of(self.reader, child, self.settings)
                inner = self.inside(child, frame @ filled, child.attributes.get("childclass", inherited), depth + 1)
                content.add(inner)
            elif child.tag == "body":
                content.bodies.append((child, frame, inherited))
            elif child.tag in {"joint", "freejoint"}:
                content.joints.append((child, frame, inherited))
            elif child.tag == "inertial":
                content.inertials.append(child)
            elif child.tag == "geom":
                content.geoms.append(geom_of(child, frame, self.defaults, inherited, self.settings))
            elif child.tag == "site":
                content.sites.append((self.defaults.filled(child, inherited), frame))
        return content

    def body(self, element: XmlElement, frame: RigidPose, parent: str, inherited: str, depth: int) -> None:
        """Add a body and those in it."""
        bodies, reader = self.bodies, self.reader
        if wrong := next((name for name in element.attributes if name not in BODY), None):
            raise reader.error(element, ModelError(f"a <body> has no '{wrong}'; {nearest(wrong, BODY)}"))
        name = element.attributes.get("name") or unlike(f"body_{len(bodies.bodies) + 1}", bodies.bodies)
        if name in bodies.bodies or name == WORLD:
            raise reader.error(element, NameInUseError(f"there are two bodies '{name}': rename one"))
        if len(bodies.bodies) >= MOST:
            raise reader.error(element, ModelError(f"more than {MOST} bodies"))
        inherited = element.attributes.get("childclass", inherited)
        self.defaults.chain(XmlElement("body", {}, element.line, source=element.source), inherited)
        content = self.inside(element, HERE, inherited, depth)
        joints: list[ModelJoint] = []
        if len(content.joints) > MOST_JOINTS:
            raise reader.error(element, ModelError(f"the body '{name}' has more than {MOST_JOINTS} joints"))
        for item, inner, outer_class in content.joints:
            joint = joint_of(item, inner, self.defaults, outer_class, self.settings, f"{name}_joint")
            if joint.name in bodies.joints and "name" in item.attributes:
                raise reader.error(item, NameInUseError(f"there are two joints '{joint.name}': rename one"))
            joints.append(joint.named(unlike(joint.name, bodies.joints)))
            bodies.joints[joints[-1].name] = joints[-1]
        self._check_joints(element, parent, joints)
        if flag_of(reader, element, "mocap", False):
            bodies.mocap.append(name)
        pose, solid = frame @ pose_of(reader, element, self.settings), self._solid(element, content, parent, joints)
        if self._aligned(joints, content):
            back = solid.pose.inverse()
            pose, solid = pose @ solid.pose, solid.moved(back.r, back.R)
            content.see_from(back)
        looks = tuple(look for geom in content.geoms if (look := visual_of(geom, name, self.meshes, self.colours)))
        wings = tuple(self._wings(content)) if self.settings.density or self.settings.viscosity else ()
        gravcomp = reader.number(element, "gravcomp", "0") if self.settings.passive else 0.0
        bodies.bodies[name] = ModelBody(name, element, parent, pose, tuple(joints), solid, gravcomp, looks, wings)
        for geom in content.geoms:
            if geom.kind == "plane" and joint_path(bodies, name):
                message = f"a plane is endless, and the body '{name}' moves: take a box, or remove it"
                raise reader.error(geom.element, ModelError(message))
        self.finish(content, name, depth)

    def _wings(self, content: "_Content") -> Iterator[Wing]:
        """Yield the geoms of a body that the fluid flows around as ellipsoids."""
        for geom in content.geoms:
            if choice(self.reader, geom.element, "fluidshape", "none", ("none", "ellipsoid")) == "none":
                continue
            shaped = geom.kind == "mesh"
            if (geom.mesh and not shaped) or geom.kind in WEIGHTLESS:
                message = f'fluidshape="ellipsoid" of a {geom.kind} geom is not modelled: take an ellipsoid beside it'
                raise self.reader.error(geom.element, ModelError(message))
            words = geom.element.attributes.get("fluidcoef", "").split()
            stated = self.reader.numbers(geom.element, "fluidcoef", "", len(words))
            coefficients = (*stated, *(0.5, 0.25, 1.5, 1.0, 1.0)[len(stated) :])[:5]
            if shaped:
                pose, size = self.meshes.extent(geom.element, geom.mesh)
                yield Wing(geom.pose @ pose, size, coefficients)
                continue
            match geom.kind, geom.size:
                case "sphere", (r,):
                    a: tuple[float, ...] = (r, r, r)
                case "capsule" | "cylinder", (r, h):
                    a = (r, r, h + r * (geom.kind == "capsule"))
                case _:
                    a = geom.size
            yield Wing(geom.pose, a, coefficients)

    def finish(self, content: "_Content", name: str, depth: int) -> None:
        """Add the sites of a body, and the bodies in it."""
        self.bodies.touching += sum(
            any(self.reader.number(geom.element, key, "1") for key in ("contype", "conaffinity"))
            for geom in content.geoms
        )
        for geom in content.geoms:
            label = geom.element.attributes.get("name")
            if label and geom.kind in {"sphere", "cylinder"} and not geom.mesh:
                self.bodies.rounds[label] = Site(label, name, geom.pose, geom.element, geom.kind, geom.size[0])
        nameless = sum(not item.attributes.get("name") for item, _ in content.sites)
        if nameless > MOST_SITES:
            message = f"the body '{name}' has more than {MOST_SITES} sites without a name"
            raise self.reader.error(content.sites[0][0], ModelError(message))
        for item, inner in content.sites:
            site = item.attributes.get("name") or unlike(f"{name}_site", self.bodies.sites)
            if site in self.bodies.sites:
                raise self.reader.error(item, NameInUseError(f"there are two sites '{site}': rename one"))
            kind = choice(self.reader, item, "type", "sphere", ("sphere", *LONG))
            pose, _ = stretched(self.reader, item, kind, self.settings)
            self.bodies.sites[site] = Site(site, name, inner @ pose, item)
        for item, inner, outer_class in content.bodies:
            self.body(item, inner, name, outer_class, depth + 1)

    def _check_joints(self, element: XmlElement, parent: str, joints: list[ModelJoint]) -> None:
        kinds = [joint.kind for joint in joints]
        message = ""
        if "free" in kinds and len(joints) > 1:
            message = "a body with a free joint has no other"
        elif "free" in kinds and parent != WORLD:
            message = "a free joint belongs to a body in the <worldbody>"
        elif "ball" in kinds and ("hinge" in kinds or kinds.count("ball") > 1):
            message = "a body with a ball joint has no other that turns"
        if message:
            raise self.reader.error(joints[0].element, ModelError(f"joint '{joints[0].name}': {message}"))

    def _aligned(self, joints: list[ModelJoint], content: "_Content") -> bool:
        """Return whether the frame of a body is its inertial one, instead of the one that is written."""
        if content.bodies or [joint.kind for joint in joints] != ["free"]:
            return False
        said = choice(self.reader, joints[0].element, "align", "auto", LIMITED)
        return said == "true" or (said == "auto" and self.settings.alignfree)

    def _solid(self, element: XmlElement, content: "_Content", parent: str, joints: list[ModelJoint]) -> MassShare:
        """Return the mass of a body: as stated, or that of its geoms; none of one that is fixed, if it is not known."""
        try:
            return self._moving_solid(element, content)
        except ModelError:
            if joints or joint_path(self.bodies, parent) or self.settings.settotalmass > 0:
                raise
        return merged([])

    def _moving_solid(self, element: XmlElement, content: "_Content") -> MassShare:
        settings, reader = self.settings, self.reader
        if len(content.inertials) > 1:
            raise reader.error(content.inertials[1], ModelError("a <body> has one <inertial> at most"))
        stated = content.inertials[0] if content.inertials else None
        if stated and settings.inertiafromgeom != "true":
            solid = inertial_of(reader, stated, settings)
        elif settings.inertiafromgeom == "false":
            solid = merged([])
        else:
            solid = merged([item for geom in content.geoms if (item := solid_of_geom(geom, self.meshes))])
            if stated and solid.m == 0:
                solid = inertial_of(reader, stated, settings)
        if settings.boundmass and solid.m == 0 and not stated:  # MuJoCo does so, though pos is seen from the parent
            solid = replace(solid, r=pose_of(reader, element, settings).r)
        try:
            return bounded(solid, settings)
        except ValueRangeError as error:
            raise reader.error(stated or element, error) from None


@dataclass
class _Content:
    """Elements that stand in a body, with the pose of the frame around it and the class that this sets."""

    bodies: list[tuple[XmlElement, RigidPose, str]] = field(default_factory=list)
    joints: list[tuple[XmlElement, RigidPose, str]] = field(default_factory=list)
    inertials: list[XmlElement] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    sites: list[tuple[XmlElement, RigidPose]] = field(default_factory=list)

    def add(self, other: "_Content") -> None:
        self.bodies += other.bodies
        self.joints += other.joints
        self.inertials += other.inertials
        self.geoms += other.geoms
        self.sites += other.sites

    def see_from(self, back: RigidPose) -> None:
        """Replace the poses of geoms and sites by those seen from a frame, which sees the body at a pose."""
        self.geoms = [replace(geom, pose=back @ geom.pose) for geom in self.geoms]
        self.sites = [(item, back @ frame) for item, frame in self.sites]


def bodies_of(root: XmlElement, defaults: Defaults, settings: Settings, meshes: Meshes) -> MjcfBodies:
    """Return the bodies of a model.

    Args:
        root: root element.
        defaults: the default classes.
        settings: settings of the model.
        meshes: its meshes.

    Raises:
        ModelError: the tree is none that MuJoCo could read.
    """
    colours = {
        filled.attributes.get("name", ""): filled.attributes.get("rgba", "")
        for asset in root.all("asset")
        for item in asset.all("material")
        for filled in [defaults.filled(item)]
    }
    walk = _Walk(defaults, settings, meshes, colours, MjcfBodies())
    for element in root.all("worldbody"):
        content = walk.inside(element, HERE, element.attributes.get("childclass", ""), 0)
        if content.joints or content.inertials:
            wrong = (*(item for item, *_ in content.joints), *content.inertials)[0]
            raise defaults.reader.error(wrong, ModelError(f"a <{wrong.tag}> belongs to a <body>, not to the world"))
        looks = tuple(look for geom in content.geoms if (look := visual_of(geom, WORLD, meshes, colours)))
        walk.finish(content, WORLD, 0)
        if looks:
            walk.bodies.unused["geom of the world"] += len(looks)
    return replace(walk.bodies, bodies=scaled(walk.bodies.bodies, settings))


def scaled(bodies: dict[str, ModelBody], settings: Settings) -> dict[str, ModelBody]:
    """Return bodies with the mass together that the settings ask for, if they do."""
    total = sum(body.solid.m for body in bodies.values())
    if not (settings.settotalmass > 0 and total > 0):
        return bodies
    factor = settings.settotalmass / total
    return {name: replace(body, solid=body.solid.scaled(factor)) for name, body in bodies.items()}


def poses_of(bodies: MjcfBodies, coordinates: Mapping[str, float] | None = None) -> dict[str, RigidPose]:
    """Return the pose of each body in the world, by name.

    Args:
        bodies: the bodies.
        coordinates: coordinate of each joint that slides or turns about an axis, rad or m, by name; None: all joints
            are at their references, as balls and free bodies are in any case.
    """
    poses = {WORLD: HERE}
    for name, body in bodies.bodies.items():
        pose = poses[body.parent] @ body.pose
        for joint in body.joints if coordinates else ():
            if joint.kind not in {"hinge", "slide"} or not (s := (coordinates or {})[joint.name] - joint.ref):
                continue
            if joint.kind == "slide":
                pose = pose @ RigidPose(s * joint.axis, np.eye(3))
            else:
                turn = about(joint.axis, s)
                pose = pose @ RigidPose(joint.r - turn @ joint.r, turn)
        poses[name] = pose
    return poses


def joint_path(bodies: MjcfBodies, body: str) -> list[str]:
    """Return the names of the joints between the world and a body, the innermost last."""
    names: list[str] = []
    while body != WORLD:
        names += [joint.name for joint in reversed(bodies.bodies[body].joints)]
        body = bodies.bodies[body].parent
    return names[::-1]


def body_named(bodies: MjcfBodies, reader: Attributes, element: XmlElement, attribute: str) -> str:
    """Return the body that an attribute names; the world if there is none.

    Raises:
        UnknownNameError: there is no such body.
    """
    return (
        known(reader, element, attribute, {WORLD: None, **bodies.bodies}, "body")
        if attribute in (element.attributes)
        else WORLD
    )


def known(reader: Attributes, element: XmlElement, attribute: str, names: Mapping[str, object], noun: str) -> str:
    """Return the name that an attribute gives, which is to be one of some names.

    Raises:
        UnknownNameError: it is none of them.
    """
    name = reader.name(element, attribute)
    if name not in names:
        raise reader.error(
            element,
            UnknownNameError(f"<{element.tag} {attribute}>: there is no {noun} '{name}'; {nearest(name, names)}"),
        )
    return name
