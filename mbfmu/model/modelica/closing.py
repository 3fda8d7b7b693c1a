"""Guesses that choose between the ways in which loops of a Modelica model close.

An assembly of joints closes its loop in two ways: the one counts whose last coordinate is nearer to its guess. A joint
that is to close a loop has no coordinate of its own: it begins where the other joints of the loop leave it.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mbfmu.model.modelica.assemblies import CUT, StartPoses
from mbfmu.model.modelica.elements import ModelicaComponent, turned, unit
from mbfmu.model.modelica.library import MULTIBODY
from mbfmu.model.modelica.values import Values

Array = Any
JOINTS = {
    f"{MULTIBODY}.Joints.Assemblies.JointRRR": ("revolute_a", "revolute_m", "revolute.hinge"),
    f"{MULTIBODY}.Joints.Assemblies.JointRRP": ("revolute_a", "revolute_m", "prismatic.slide"),
}
"""Joints of assemblies that are closed here: those at frame_a, in the middle and at frame_b."""


def guess_closed(
    elements: Mapping[str, ModelicaComponent], made_of: Mapping[str, str], sets: list[list[str]], world: str
) -> None:
    """Give joints that close loops the guesses that choose how.

    Args:
        elements: the components with their names.
        made_of: paths of the classes that consist of others, by the components' names.
        sets: the sets of connected frames.
        world: name of the world.
    """
    poses = StartPoses(elements, sets, world, guessed=True)
    left = {name: kind for name, kind in made_of.items() if kind in JOINTS}
    poses.open |= {f"{name}.{joint}" for name, kind in left.items() for joint in JOINTS[kind]}
    while ready := [name for name in left if closed(name, left[name], poses)]:
        for name in ready:
            poses.open -= {f"{name}.{joint}" for joint in JOINTS[left.pop(name)]}
    for name in [name for name, item in elements.items() if item.kind == CUT]:
        pose = poses.pose(f"{name}.frame_a", f"{name}.frame_b")
        if pose is not None:
            elements[name].values.give(f"{name}.phi", angle_about(axis(elements[name], "n"), pose[0]), "start")


def closed(name: str, kind: str, poses: StartPoses) -> bool:
    """Give the joints of an assembly the guesses with which its loop closes; return whether its frames are known."""
    pose = poses.pose(f"{name}.frame_a", f"{name}.frame_b")
    if pose is None:
        return False
    R, r = pose
    at_a, in_middle, at_b = (poses.elements[f"{name}.{joint}"] for joint in JOINTS[kind])
    values, label = at_a.values, "phi" if kind.endswith("R") else "s"
    rod_1, rod_2 = (vector(values, f"{name}.{rod}") for rod in ("rRod1_ia", "rRod2_ib"))
    n_a, n_b = axis(at_a, "n"), axis(at_b, "n")
    offset, guess = (values.number(values.of(f"{name}.{label}_{which}")) for which in ("offset", "guess"))
    # the coordinate at frame_b that is nearer to its guess, and the pose of the rod there
    if label == "phi":
        offset, guess = math.radians(offset), math.radians(guess)
        both = [math.remainder(angle, math.tau) - offset for angle in angles(r, R, n_b, rod_1, rod_2)]
        moved = min(both, key=lambda angle: abs(angle - guess))
        R_b = R @ turned(n_b, offset + moved)
        middle = r + R_b @ rod_2
    else:
        both = [way - offset for way in ways(R @ n_b, r + R @ rod_2, rod_1)]
        moved = min(both, key=lambda way: abs(way - guess))
        R_b = R
        middle = r + R @ (rod_2 + n_b * (offset + moved))
    # the angles of the other joints, which leave the rods where these poses have them
    phi_a = between(n_a, rod_1, middle)
    step = poses.steps(f"{name}.same.frame_a", None)
    R_same = step[0][1][0] if step else np.eye(3)
    phi_m = angle_about(n_a, turned(n_a, phi_a).T @ R_b @ R_same.T)
    values.give(f"{at_a.name}.phi", phi_a, "start")
    values.give(f"{in_middle.name}.phi", phi_m, "start")
    values.give(f"{at_b.name}.{label}", float(moved), "start")
    return True


def angles(r: Array, R: Array, n: Array, rod_1: Array, rod_2: Array) -> tuple[float, float]:
    """Return the two angles (rad) of a hinge at r with which the ends of both rods meet.

    With the part of the second rod normal to n, ``|r + R turned(n, phi) rod_2| = |rod_1|`` is ``A cos phi + B sin phi
    = C``.

    Args:
        r: origin of the hinge seen from the other end of the first rod, shape (3,).
        R: its rotation matrix, shape (3, 3).
        n: its axis, resolved in its own frame, shape (3,).
        rod_1: the first rod, shape (3,).
        rod_2: the second rod, resolved in the frame of the hinge, shape (3,).
    """
    normal = rod_2 - n * (n @ rod_2)
    centre = r + R @ (n * (n @ rod_2))
    A, B = 2 * centre @ R @ normal, 2 * centre @ R @ np.cross(n, normal)
    C = rod_1 @ rod_1 - centre @ centre - normal @ normal
    size = math.hypot(A, B)
    half = math.acos(max(-1.0, min(1.0, C / size))) if size else 0.0
    return math.atan2(B, A) + half, math.atan2(B, A) - half


def ways(e: Array, start: Array, rod: Array) -> tuple[float, float]:
    """Return the two ways (m) along a direction from a point to where it is as far from the origin as a rod is long."""
    along = float(e @ start)
    root = math.sqrt(max(0.0, along**2 - float(start @ start) + float(rod @ rod)))
    return root - along, -root - along


def axis(element: ModelicaComponent, label: str) -> Array:
    """Return an axis of a component with length 1, shape (3,)."""
    return unit(element.numbers(label), f"{element.name}.{label}")


def vector(values: Values, name: str) -> Array:
    """Return a vector as numbers, shape (3,)."""
    return np.array([values.number(item) for item in values.of(name)])


def between(n: Array, a: Array, b: Array) -> float:
    """Return the angle (rad) about a direction from one vector to another one."""
    return math.atan2(float(n @ np.cross(a, b)), float(a @ b - (n @ a) * (n @ b)))


def angle_about(n: Array, R: Array) -> float:
    """Return the angle (rad) about a direction of length 1 of the rotation next to another one, shape (3, 3)."""
    aside = np.cross(n, np.eye(3)[int(np.argmin(abs(n)))])
    return between(n, aside, R @ aside)
