"""Assemblies of joints: rods without mass in them, and lengths and axes that the pose at the start decides."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mbfmu.errors import ModelError
from mbfmu.model.modelica.elements import ModelicaComponent, rotation_matrix, turned, unit
from mbfmu.model.modelica.library import CLASSES, MULTIBODY, SAME_AXIS
from mbfmu.model.modelica.values import Values

Array = Any
ROD = f"{MULTIBODY}.Joints.SphericalSpherical"
CUT = f"{MULTIBODY}.Joints.RevolutePlanarLoopConstraint"
UNIVERSAL_ROD = f"{MULTIBODY}.Joints.UniversalSpherical"
INSIDE = ("universal", "rod", "spherical")
"""Components of a `UNIVERSAL_ROD`."""
SHIFTED = frozenset(
    f"{MULTIBODY}.Parts.{kind}" for kind in ("FixedTranslation", "BodyShape", "BodyBox", "BodyCylinder")
)
"""Classes whose frame_b is ahead of frame_a by r."""


def shortened(kinds: Mapping[str, str], made_of: Mapping[str, str], sets: list[list[str]]) -> dict[str, str]:
    """Return the classes of components, in which a rod with nothing on it is a distance between its ends.

    A rod between a universal and a spherical joint that carries neither mass nor force puts a force along itself on
    its ends, and no other; so does a distance.

    Args:
        kinds: paths of the library's classes, by the components' names.
        made_of: paths of the classes that consist of others, by the components' names.
        sets: the sets of connected frames.
    """
    shorter = dict(kinds)
    for name in (name for name, kind in made_of.items() if kind == UNIVERSAL_ROD):
        inside = {f"{name}.{leaf}" for leaf in INSIDE}
        group = next((group for group in sets if f"{name}.frame_ia" in group), [])
        near = {end.rpartition(".")[0] for end in group} - inside
        if all(item not in kinds or CLASSES[kinds[item]].shows for item in near):
            shorter = {item: kind for item, kind in shorter.items() if item not in inside}
            shorter[name] = ROD
    return shorter


class StartPoses:
    """Poses of frames seen from each other at the start, as far as start values that are fixed decide them.

    Args:
        elements: the components with their names.
        sets: the sets of connected frames.
        world: name of the world.
        guessed: whether start values that are not fixed count too.
    """

    def __init__(
        self, elements: Mapping[str, ModelicaComponent], sets: list[list[str]], world: str, guessed: bool = False
    ) -> None:
        self.elements, self.guessed = elements, guessed
        self.group = {end: index for index, group in enumerate(sets) for end in group}
        self.ends = sets
        self.world = world
        self.unknown = {name for name, item in elements.items() if item.kind == SAME_AXIS}
        """Parts of assemblies whose axis in frame_b is not known yet, nor that of the joint there."""
        self.open = {name for name, item in elements.items() if guessed and item.kind == CUT}
        """Joints whose coordinate the others decide."""

    def rods(self) -> Iterator[tuple[str, Values]]:
        """Yield the rods whose length the start decides, with the values of the model."""
        values = self.elements[self.world].values
        for label in (name for name in values.variables if name.endswith(".computeRodLength")):
            if values.number(values.of(label)):
                yield label.rpartition(".")[0], values

    def node(self, end: str) -> int | str:
        """Return what stands for all frames that coincide with one."""
        return self.group.get(end, end)

    def pose(self, a: str, b: str, along: Array = None) -> tuple[Array, Array] | None:
        """Return rotation matrix, shape (3, 3), and origin, shape (3,), of frame b seen from frame a; None if unknown.

        Args:
            a: full name of the one frame.
            b: the other one's name.
            along: direction in frame a, shape (3,), if no more is asked for; joints that leave it as it is count as
                not turned.
        """
        known: dict[int | str, tuple[Array, Array]] = {self.node(a): (np.eye(3), np.zeros(3))}
        todo = [self.node(a)]
        while todo:
            here = todo.pop()
            R, r = known[here]
            for end in self.ends[here] if isinstance(here, int) else [here]:
                for other, (R_rel, r_rel) in self.steps(end, None if along is None else R.T @ along):
                    if (node := self.node(other)) not in known:
                        known[node] = (R @ R_rel, r + R @ r_rel)
                        todo.append(node)
        return known.get(self.node(b))

    def steps(self, end: str, along: Array) -> list[tuple[str, tuple[Array, Array]]]:
        """Return the other frames of a component whose pose seen from one of its frames is known, with this pose."""
        name, _, port = end.rpartition(".")
        element = self.elements.get(name)
        if element is None or port not in {"frame_a", "frame_b"}:
            return []
        if element.kind == f"{MULTIBODY}.World":
            fixed = [item for item, one in self.elements.items() if one.kind == f"{MULTIBODY}.Parts.Fixed"]
            return [(f"{item}.frame_b", (np.eye(3), self.elements[item].numbers("r"))) for item in fixed]
        if element.kind == f"{MULTIBODY}.Parts.Fixed":
            return [(f"{self.world}.frame_b", (np.eye(3), -element.numbers("r")))]
        if any(name.startswith(f"{item.rpartition('.')[0]}.revolute.") for item in self.unknown):
            return []
        if "frame_b" not in CLASSES[element.kind].frames or name in self.open:
            return []
        if (step := across(element, along, self.guessed)) is None:
            return []
        R, r = step
        return [(f"{name}.frame_b", (R, r))] if port == "frame_a" else [(f"{name}.frame_a", (R.T, -R.T @ r))]


def across(element: ModelicaComponent, along: Array, guessed: bool = False) -> tuple[Array, Array] | None:
    """Return the pose of frame_b of a component seen from its frame_a at the start; None if nothing decides it."""
    kind = element.kind.removeprefix(f"{MULTIBODY}.")
    if element.kind in SHIFTED:
        return np.eye(3), element.numbers("r")
    if kind == "Parts.FixedRotation":
        return rotation_matrix(element), element.numbers("r")
    if kind == "Joints.Revolute":
        n = np.array(element.direction("n"))
        if along is not None and np.linalg.norm(np.cross(n, along)) < 1e-9:
            return np.eye(3), np.zeros(3)
        phi = held(element, "phi", guessed)
        return None if phi is None else (turned(n, phi), np.zeros(3))
    if kind == "Joints.Prismatic":
        n = np.array(element.direction("n"))
        s = 0.0 if along is not None else held(element, "s", guessed)
        return None if s is None else (np.eye(3), s * n)
    return None


def held(element: ModelicaComponent, label: str, guessed: bool) -> float | None:
    """Return the start value of a coordinate if it is fixed, or a guess that counts."""
    name = f"{element.name}.{label}"
    if not guessed and not any(element.values.variables[name]["fixed"] or []):
        return None
    return element.values.number(element.values.of(name, "start"))


def measure(poses: StartPoses) -> None:
    """Give parameters the values that the pose at the start decides: lengths of rods, and axes of assemblies.

    Raises:
        ModelError: nothing fixes that pose.
    """
    before = len(poses.unknown) + 1
    while poses.unknown and len(poses.unknown) < before:
        before = len(poses.unknown)
        for name in sorted(poses.unknown):
            element = poses.elements[name]
            n = unit(element.numbers("n_a"), f"{name}.n_a")
            owner = name.rpartition(".")[0]
            pose = poses.pose(f"{owner}.frame_a", f"{owner}.frame_b", n)
            if pose is not None:
                element.values.give(f"{name}.n_b", [float(item) for item in pose[0].T @ n])
                poses.unknown.discard(name)
    for name in sorted(poses.unknown):
        owner = name.rpartition(".")[0]
        raise ModelError(
            f"'{owner}': nothing fixes how its axis stands in its frame_b: fix the start angles of the joints between "
            f"frame_a and frame_b, or build the loop of single joints"
        )
    for name, values in poses.rods():
        pose = poses.pose(f"{name}.frame_a", f"{name}.frame_b")
        if pose is None:
            raise ModelError(
                f"'{name}.computeRodLength': no fixed start values decide how far its ends are from each other: fix "
                "the start of the revolute and prismatic joints between them, or give the length"
            )
        length = float(np.linalg.norm(pose[1]))
        values.give(f"{name}.rodLength", length)
        poses.elements[poses.world].notices.append(f"'{name}' is {length:.6g} m long, as the start values have it")
