"""Guesses that choose between the ways in which loops of a Modelica model close.

An assembly of joints closes its loop in two ways, of which the one counts whose last coordinate is nearer to its guess. A
joint that is to close a loop has no coordinate of its own: it begins where the other joints of the loop leave it.
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
        elements: the components, by name.
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
    """Give the joints of an assembly the coordinates with which its loop closes; return whether its frames are known."""
    pose = poses.pose(f"{name}.frame_a", f"{name}.frame_b")
    if pose is None:
        return False
    R, r = pose
    at_a, in_middle, at_b = (poses.elements[f"{name}.{joint}"] for joint in JOINTS[kind])
    values, turns = at_a.values, kind.endswith("R")
    rod_1, rod_2 = (vector(values, f"{name}.{label}") for label in ("rRod1_ia", "rRod2_ib"))
    n_a, n_b = axis(at_a, "n"), axis(at_b, "n")
    offset, guess = (
        values.number(values.of(f"{name}.{label}")) for label in (f"{('s', 'phi')[turns]}_offset", f"{('s', 'phi')[turns]}_guess")
    )
    if turns:
        offset, guess = math.radians(offset), math.radians(guess)
        # A cos(phi) + B sin(phi) = C, with the middle joint at the end of both rods
        across = rod_2 - n_b * (n_b @ rod_2)
        centre = r + R @ (n_b * (n_b @ rod_2))
        A, B = 2 * centre @ R @ across, 2 * centre @ R @ np.cross(n_b, across)
        C = rod_1 @ rod_1 - centre @ centre - across @ across
        size = math.hypot(A, B)
        half = math.acos(max(-1.0, min(1.0, C / size))) if size else 0.0
        both = [math.remainder(math.atan2(B, A) + sign * half - offset, math.tau) for sign in (1, -1)]
    else:
        # (d e + r_0)^2 = l^2 for the way d of the prismatic joint
        e, start = R @ n_b, r + R @ rod_2
        along = e @ start
        root = math.sqrt(max(0.0, along**2 - start @ start + rod_1 @ rod_1))
        both = [-along + root - offset, -along - root - offset]
    coordinate = min(both, key=lambda item: abs(item - guess))
    moved = offset + coordinate
    R_b = R @ turned(n_b, moved) if turns else R
    middle = r + R_b @ rod_2 + (0.0 if turns else R @ n_b * moved)
    phi_a = between(n_a, rod_1, middle)
    same = poses.elements[f"{name}.same"]
    R_same = np.eye(3) if (step := poses.steps(f"{same.name}.frame_a", None)) == [] else step[0][1][0]
    phi_m = angle_about(n_a, turned(n_a, phi_a).T @ R_b @ R_same.T)
    for element, label, value in (
        (at_a, "phi", phi_a), (in_middle, "phi", phi_m), (at_b, "phi" if turns else "s", coordinate)
    ):  # fmt: skip
        values.give(f"{element.name}.{label}", float(value), "start")
    return True


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
