"""Loops that stand in a file beside a URDF, read by PyYAML, which the reader of xacro brings."""

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mbfmu.base import extras
from mbfmu.errors import ModelError, UnknownNameError, nearest
from mbfmu.model.robot.robot import Origin, RobotJoint, RobotLink, RobotLoop
from mbfmu.model.source import SourceText, read_bytes
from mbfmu.model.urdf.loops import closing, places_of

LARGEST = 1_000_000
"""Largest number of bytes of such a file."""
UNREAD = {"loop_closures.yaml": "(pin_loops|ball_loops)", "robot_data.yaml": "closing_joints"}
"""Keys with loops that are not read, by the files in which exporters of CAD programs write them, as patterns."""
HINGES, CLOSURES = "loop_closures.yaml", "closures"
"""File and key with hinges that sw2robot and scikit-robot cut: two links, point and axis in the base's frame."""
BASE = "base_link"
"""Link in whose frame their points and axes are; the root where there is none."""
PAIRS, KEY = "robot.yaml", "closed_loop"
"""File and key with the pairs of links, or joints, whose frames meet, as the parallel robots of Gepetto have them."""
TYPES = {"3d": "ball", "6d": "fixed"}
"""Kind of the joint that closes a loop, by the type of the pair in lower case."""
UNIVERSAL = re.compile("UJOINT_(XY|XZ|YX|YZ|ZX|ZY)")
"""Type of a universal joint, with its two axes."""
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
KINDS = {"SPHERICAL": "ball", "FIXED": "fixed"}
"""Kind of a joint that the file changes, by its type there."""


def beside(
    path: Path, source: SourceText, links: Mapping[str, RobotLink], joints: Mapping[str, RobotJoint]
) -> tuple[list[RobotLoop], dict[str, RobotJoint], dict[str, RobotLink]]:
    """Return the loops that a file beside a URDF closes, its joints with the kinds of the file, and more links.

    Args:
        path: path of the URDF.
        source: the URDF, for messages.
        links: links by name.
        joints: joints of the tree by name.

    Raises:
        ModelFileError: PyYAML is needed and not installed, or the file is no YAML.
        ModelError: the loops are not read, or are none.
    """
    for name, key in UNREAD.items():
        if _has(path.parent / name, key):
            message = f"'{name}' beside it closes loops, which is not read from there: write each as a <loop_joint>, "
            raise source.error(1, ModelError(f"{message}and move '{name}' away"))
    hinges = _hinges(path.parent / HINGES, links, joints) if _has(path.parent / HINGES, CLOSURES) else []
    if not _has(path.parent / PAIRS, KEY):
        return hinges, dict(joints), {}
    there = SourceText(str(path.parent / PAIRS), path.parent)
    data = _parsed(path.parent / PAIRS, there)
    lists = [data.get(key) or [] for key in (KEY, "type", "joint_name", "joint_type")]
    if not all(isinstance(item, list) for item in lists) or any(len(a) != len(b) for a, b in (lists[:2], lists[2:])):
        message = f"{KEY} and type, joint_name and joint_type are lists of one length each"
        raise there.error(1, ModelError(message))
    loops = list(hinges)
    for index, (pair, kind) in enumerate(zip(lists[0], lists[1], strict=True), 1):
        if str(kind).lower() not in TYPES or not isinstance(pair, list) or len(pair) != 2:
            raise there.error(1, ModelError(f"{KEY}: {pair} of type {kind!r} is not a pair of links of type 3d or 6d"))
        named = [str(item) for item in pair]  # a joint stands for the link that it carries
        named = [joints[name].child if name in joints and name not in links else name for name in named]
        ends = [_known(there, name, links, "link") for name in named]
        loops.append(closing(f"{KEY}_{index}", 1, TYPES[str(kind).lower()], ends, (Origin(), Origin())))
    kinds: dict[str, str] = {}
    for name, kind in zip(lists[2], lists[3], strict=True):
        if kind not in KINDS and not UNIVERSAL.fullmatch(str(kind)):
            message = f"joint_type: {kind!r} of '{name}' is not read: it is SPHERICAL, FIXED or UJOINT_ and two axes"
            raise there.error(1, ModelError(message))
        kinds[_known(there, str(name), joints, "joint")] = str(kind)
    changed, more = {}, {}
    for joint in joints.values():
        for part in _changed(joint, kinds.get(joint.name, "")):
            changed[part.name] = part
            if part.child not in links:
                more[part.child] = RobotLink(part.child, part.line, 0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    return loops, changed, more


def _hinges(path: Path, links: Mapping[str, RobotLink], joints: Mapping[str, RobotJoint]) -> list[RobotLoop]:
    """Return the hinges that a file closes, where all joints of the tree are at zero.

    Raises:
        ModelError: an entry is none of a hinge.
    """
    there, places = SourceText(str(path), path.parent), places_of(joints)
    base = places.get(BASE, np.eye(4))
    loops = []
    for index, entry in enumerate(_parsed(path, there)[CLOSURES], 1):
        try:
            ends = [_known(there, str(entry[key]), links, "link") for key in ("link_a", "link_b")]
            point, axis = (np.array([float(item) for item in entry[key]]) for key in ("point", "axis"))
            length = float(np.linalg.norm(axis))
            if point.shape != (3,) or axis.shape != (3,) or not 0 < length < np.inf or not np.isfinite(point).all():
                raise ValueError
        except (KeyError, TypeError, ValueError):
            message = f"{CLOSURES}: entry {index} needs link_a, link_b, a point and an axis, of three numbers each"
            raise there.error(1, ModelError(message)) from None
        hinge = base @ np.block([[np.eye(3), point[:, None]], [np.zeros(3), 1.0]])
        seen = [np.linalg.inv(places.get(end, np.eye(4))) @ hinge for end in ends]
        at = [Origin.of(item[:3, 3], item[:3, :3]) for item in seen]
        n = tuple(float(item) for item in axis / length)
        loops.append(closing(f"{CLOSURES}_{index}", 1, "continuous", ends, at, n))
    return loops


def _changed(joint: RobotJoint, kind: str) -> tuple[RobotJoint, ...]:
    """Return a joint of another kind, or two, one after the other, for a universal joint; as it is for no kind."""
    if not kind:
        return (joint,)
    free = replace(joint, mimic=None, driven=False)
    if kind in KINDS:
        return (replace(free, kind=KINDS[kind]),)
    between, first, second = f"{joint.name}_between", kind[-2], kind[-1]
    return (
        replace(free, name=f"{joint.name}_{first}", kind="continuous", axis=AXES[first], child=between),
        replace(
            free, name=f"{joint.name}_{second}", kind="continuous", axis=AXES[second], parent=between, origin=Origin()
        ),
    )


def _has(path: Path, key: str) -> bool:
    """Return whether a file has a key with something in it."""
    if not path.is_file():
        return False
    pattern = rf"^{key}\s*:(?!\s*(\[\s*\]|\{{\s*\}}|null|~)\s*$)"
    return bool(re.search(pattern.encode(), read_bytes(path, LARGEST), re.MULTILINE))


def _known(source: SourceText, name: str, names: Mapping[str, Any], noun: str) -> str:
    if name not in names:
        raise source.error(1, UnknownNameError(f"there is no {noun} '{name}'; {nearest(name, names)}"))
    return name


def _parsed(path: Path, source: SourceText) -> dict[str, Any]:
    """Return the entries of a YAML file."""
    if find_spec("yaml") is None:
        message = f"it is YAML, which needs a reader: {extras.command('xacro')}, or write each loop as a <loop_joint>"
        raise source.error(1, f"{message} of the URDF and move '{path.name}' away")
    import yaml

    try:
        data = yaml.safe_load(read_bytes(path, LARGEST))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise source.error(1, f"this is not YAML: {error}") from None
    if not isinstance(data, dict):
        raise source.error(1, "this is not YAML with keys")
    return data
