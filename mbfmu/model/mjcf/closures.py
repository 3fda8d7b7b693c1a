"""Equalities: closed loops and coupled joints."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mbfmu.errors import ModelError, first_of
from mbfmu.model.mjcf.bodies import MjcfBodies, body_named, joint_path, known, poses_of
from mbfmu.model.mjcf.defaults import Defaults
from mbfmu.model.mjcf.joints import ModelJoint
from mbfmu.model.mjcf.settings import Settings, flag_of
from mbfmu.model.mjcf.tendons import ROPE, SpatialTendon, Tendon, check_path
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.rigid_pose import RigidPose, turned
from mbfmu.model.robot.xml import XmlElement

MOST = 5_000
"""Largest number of equalities."""


@dataclass(frozen=True)
class Closure:
    """Two frames that a loop closes on.

    Args:
        name: its name.
        rigid: whether they are welded; False: their origins alone coincide.
        bodies: names of the two bodies.
        poses: pose of each frame in its body.
    """

    name: str
    rigid: bool
    bodies: tuple[str, str]
    poses: tuple[RigidPose, RigidPose]


@dataclass(frozen=True)
class Coupled:
    """Combinations a and b of joints' axes with ``a - a_0 = sum c_k (b - b_0)^k``.

    Args:
        name: its name.
        a, b: names and ratios of the joints.
        references: a_0 and b_0.
        coefficients: c_0 to c_4.
    """

    name: str
    a: Mapping[str, float]
    b: Mapping[str, float]
    references: tuple[float, float]
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Equalities:
    """The equalities of a model.

    Args:
        closures: the closed loops.
        coupled: the coupled axes.
        guessed: names of the joints that are in loops or follow others.
        notices: what was left out.
    """

    closures: tuple[Closure, ...]
    coupled: tuple[Coupled, ...]
    guessed: frozenset[str]
    notices: tuple[str, ...]


def equalities_of(
    root: XmlElement,
    defaults: Defaults,
    settings: Settings,
    bodies: MjcfBodies,
    tendons: Mapping[str, Tendon | SpatialTendon],
) -> Equalities:
    """Return the equalities of a model.

    Args:
        root: root element.
        defaults: the default classes.
        settings: settings of the model.
        bodies: its bodies.
        tendons: its tendons, by name.

    Raises:
        ModelError: an equality names what is not there, or is of a kind that is not modelled.
    """
    reader, joints = defaults.reader, bodies.joints
    closures: list[Closure] = []
    coupled: list[Coupled] = []
    idle: list[str] = []
    still: list[str] = []
    guessed: set[str] = set()
    on = settings.flags["equality"] and settings.flags["constraint"]
    poses = poses_of(bodies) if any(root.all("equality")) else {}
    count = 0
    for group in root.all("equality"):
        for item in group.children:
            count += 1
            if count > MOST:
                raise reader.error(item, ModelError(f"more than {MOST} equalities"))
            filled = defaults.filled(item, tag="equality")
            name = item.attributes.get("name") or f"{item.tag}_{count}"
            if not on or not flag_of(reader, filled, "active", True):
                idle.append(f"'{name}'")
            elif item.tag in {"connect", "weld"}:
                closure = _closure(reader, filled, name, bodies, poses)
                first, second = (joint_path(bodies, body) for body in closure.bodies)
                if set(first) == set(second):
                    still.append(f"'{name}'")
                    continue
                closures.append(closure)
                guessed |= set(first) ^ set(second)
            elif item.tag == "joint":
                coupled.append(_of_joints(reader, filled, name, joints))
                guessed |= set(coupled[-1].a)
            elif item.tag == "tendon":
                coupled.append(_of_tendons(reader, filled, name, tendons, bodies))
                guessed |= {joint for key in coupled[-1].a for joint in joints_along(bodies, tendons, key)}
            else:
                raise reader.error(item, ModelError(f"the equality <{item.tag}> '{name}' is not modelled: remove it"))
    kinds = {
        "equalities that are not active are left out": idle,
        "equalities of bodies that are fixed to each other are left out": still,
    }
    notices = tuple(f"{label}: {first_of(names)}" for label, names in kinds.items() if names)
    return Equalities(tuple(closures), tuple(coupled), frozenset(guessed), notices)


def _closure(
    reader: Attributes, element: XmlElement, name: str, model_bodies: MjcfBodies, poses: Mapping[str, RigidPose]
) -> Closure:
    weld = element.tag == "weld"
    rigid = weld and reader.number(element, "torquescale", "1", least=0.0) > 0
    if "site1" in element.attributes or "site2" in element.attributes:
        sites = [
            model_bodies.sites[known(reader, element, key, model_bodies.sites, "site")] for key in ("site1", "site2")
        ]
        return Closure(name, rigid, (sites[0].body, sites[1].body), (sites[0].pose, sites[1].pose))
    reader.name(element, "body1")
    bodies = (body_named(model_bodies, reader, element, "body1"), body_named(model_bodies, reader, element, "body2"))
    if bodies[0] == bodies[1]:
        raise reader.error(element, ModelError(f"the equality '{name}' ties the body '{bodies[0]}' to itself"))
    between = poses[bodies[0]].inverse() @ poses[bodies[1]]
    if not weld:
        reader.name(element, "anchor")
        anchor = RigidPose(np.array(reader.numbers(element, "anchor", "", 3)), np.eye(3))
        return Closure(name, False, bodies, (anchor, between.inverse() @ anchor))
    anchor = RigidPose(np.array(reader.numbers(element, "anchor", "0 0 0", 3)), np.eye(3))
    pose = reader.numbers(element, "relpose", "0 1 0 0 0 0 0", 7)
    if not any(pose[3:]):
        return Closure(name, rigid, bodies, (between @ anchor, anchor))
    Q = np.array(pose[3:])
    return Closure(name, rigid, bodies, (RigidPose(np.array(pose[:3]), turned(Q / np.linalg.norm(Q))), anchor))


def _of_joints(reader: Attributes, element: XmlElement, name: str, joints: Mapping[str, ModelJoint]) -> Coupled:
    names = [known(reader, element, key, joints, "joint") for key in ("joint1", "joint2") if key in element.attributes]
    reader.name(element, "joint1")
    for joint in names:
        if joints[joint].kind not in {"hinge", "slide"}:
            raise reader.error(element, ModelError(f"the equality '{name}': the joint '{joint}' has no axis"))
    if len(set(names)) < len(names):
        raise reader.error(element, ModelError(f"the equality '{name}' couples the joint '{names[0]}' with itself"))
    references = (joints[names[0]].ref, joints[names[1]].ref if len(names) == 2 else 0.0)
    return Coupled(name, {names[0]: 1.0}, dict.fromkeys(names[1:], 1.0), references, _polynomial(reader, element))


def joints_along(bodies: MjcfBodies, tendons: Mapping[str, Tendon | SpatialTendon], key: str) -> set[str]:
    """Return the joints that change an axis by its key among those that are combined: itself, or those of a rope."""
    tendon = tendons.get(key.removeprefix(ROPE)) if key.startswith(ROPE) else None
    if not isinstance(tendon, SpatialTendon):
        return {key}
    ways = [set(joint_path(bodies, site.body)) for site in tendon.frames]
    shared = {joint for joint in ways[0] if all(joint in way for way in ways)}
    return {joint for way in ways for joint in way} - shared


def _of_tendons(
    reader: Attributes,
    element: XmlElement,
    name: str,
    tendons: Mapping[str, Tendon | SpatialTendon],
    bodies: MjcfBodies,
) -> Coupled:
    reader.name(element, "tendon1")
    pair: list[tuple[Mapping[str, float], float]] = []
    for key in ("tendon1", "tendon2"):
        if key in element.attributes:
            tendon = tendons[known(reader, element, key, tendons, "tendon")]
            if isinstance(tendon, SpatialTendon):
                check_path(reader, tendon)
                pair.append(({ROPE + tendon.name: 1.0}, tendon.length(poses_of(bodies))))
            else:
                pair.append((tendon.ratios, tendon.length))
    (a, a_0), (b, b_0) = (*pair, ({}, 0.0))[:2]
    return Coupled(name, a, b, (a_0, b_0), _polynomial(reader, element))


def _polynomial(reader: Attributes, element: XmlElement) -> tuple[float, ...]:
    words = element.attributes.get("polycoef", "").split()
    coefficients = reader.numbers(element, "polycoef", "", len(words))
    return (*coefficients[:5], *(0.0, 1.0, 0.0, 0.0, 0.0)[len(coefficients) :])
