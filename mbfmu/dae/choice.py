"""Choice of coordinates: of all bodies, or of some bodies and subsystems apart from the others."""

from collections.abc import Collection
from dataclasses import dataclass

from mbfmu.dae.tree.topology import FlexibleBond, Group
from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import Mechanism
from mbfmu.model.parts import Part

KINDS = ("absolute", "joint")
"""Kinds of coordinates that all bodies can have."""


@dataclass(frozen=True)
class CoordinateChoice:
    """Coordinates as a user asks for them; its text is the one way to write it.

    ``absolute`` and ``joint`` alone are of all bodies. ``absolute:load,arm`` gives the body `load` and the bodies of
    the subsystem `arm` coordinates of their own, and all others those of joints. ``joint:arm,hinge`` gives the joints
    of the subsystem `arm` and the joint `hinge` coordinates, and all bodies that none of them places their own.

    Args:
        kind: ``absolute`` or ``joint``.
        names: full names, sorted; none: all bodies.
    """

    kind: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}:{','.join(self.names)}" if self.names else self.kind

    @property
    def mixed(self) -> bool:
        """Return whether some bodies have coordinates of their own, and some those of joints."""
        return bool(self.names)

    def able(self, mechanism: Mechanism, able: Collection[str]) -> frozenset[str]:
        """Return the joints that may carry coordinates.

        Args:
            mechanism: the mechanism.
            able: full names of the joints that can.

        Raises:
            UnknownNameError: a name is of no joint and of no subsystem with joints.
            UsageError: a joint cannot carry coordinates.
        """
        if self.kind != "joint" or not self.names:
            return frozenset(able)
        joints = mechanism.of(Joint)
        paths: set[str] = set()
        for name in self.names:
            if name in joints and name not in able:
                raise UsageError(
                    f"coordinates '{self}': the joint '{name}' cannot carry coordinates, as it has none of its own or "
                    "they are not all its freedom; leave it out"
                )
            inside = [path for path in joints if path == name or path.startswith(f"{name}.")]
            if not inside:
                if name in mechanism.of(Part):
                    raise UnknownNameError(
                        f"coordinates '{self}': '{name}' is a body, and joints carry coordinates: name the joint that "
                        f"places it, or take absolute:{name}"
                    )
                raise UnknownNameError(
                    f"coordinates '{self}': there is no joint and no subsystem with joints '{name}'; "
                    f"{nearest(name, choosable(mechanism, self.kind))}"
                )
            paths.update(path for path in inside if path in able)
        return frozenset(paths)

    def own(self, mechanism: Mechanism, groups: tuple[Group, ...], bonds: tuple[FlexibleBond, ...]) -> frozenset[int]:
        """Return the numbers of the groups that have coordinates of their own, with those that bonds hold to them.

        Args:
            mechanism: the mechanism.
            groups: its groups, that of the world first.
            bonds: the bonds of flexible parts.

        Raises:
            UnknownNameError: a name is of no part and of no subsystem with parts.
            UsageError: nothing of that name can move.
        """
        if self.kind != "absolute":
            return frozenset()
        parts = mechanism.of(Part)
        group_of = {part: index for index, group in enumerate(groups) for part in group.parts}
        one = _clusters(groups, bonds)
        result: set[int] = set()
        for name in self.names:
            inside = [path for path in parts if path == name or path.startswith(f"{name}.")]
            if not inside:
                if name in mechanism.components:
                    raise UnknownNameError(
                        f"coordinates '{self}': '{name}' is a {type(mechanism.components[name]).__name__}, and bodies "
                        "have coordinates of their own: name a body or a subsystem"
                    )
                raise UnknownNameError(
                    f"coordinates '{self}': there is no body and no subsystem with bodies '{name}'; "
                    f"{nearest(name, choosable(mechanism, self.kind))}"
                )
            moving = {one[group_of[path]] for path in inside} - {0}
            if not moving:
                raise UsageError(
                    f"coordinates '{self}': '{name}' is fixed to the world, so that its position has no "
                    "coordinates; leave it out"
                )
            result |= moving
        return frozenset(index for index, first in enumerate(one) if first in result)


EVERY_JOINT = CoordinateChoice("joint")
"""Joint coordinates of all bodies."""


def chosen(text: str) -> CoordinateChoice:
    """Return a choice of coordinates from its text.

    Args:
        text: ``absolute`` or ``joint``, or one of them with a colon and full names between commas.

    Raises:
        UsageError: it is no such text.
    """
    kind, colon, rest = (item.strip() for item in text.partition(":"))
    if kind not in KINDS:
        raise UsageError(f"there are no '{kind}' coordinates; {nearest(kind, KINDS)}")
    names = [name.strip() for name in rest.split(",")]
    if not colon:
        return CoordinateChoice(kind)
    if any(other in rest for other in (":", ";")):
        raise UsageError(
            f"coordinates '{text}': give one list, of what has {' or of what has '.join(KINDS)} coordinates"
        )
    if not all(names):
        raise UsageError(f"coordinates '{text}': a name is missing, as in {kind}:NAME,NAME")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"coordinates '{text}': '{twice}' is named twice")
    within = ((name, other) for name in names for other in names if name.startswith(f"{other}."))
    if double := next(within, None):
        raise UsageError(f"coordinates '{text}': '{double[0]}' is in '{double[1]}', which is named too; leave one out")
    return CoordinateChoice(kind, tuple(sorted(names)))


def choosable(mechanism: Mechanism, kind: str) -> list[str]:
    """Return what may stand after a kind of coordinates: subsystems, and bodies or joints, by full name.

    Args:
        mechanism: the mechanism.
        kind: ``absolute`` or ``joint``.
    """
    paths = [path for path in mechanism.of(Part if kind == "absolute" else Joint) if path != mechanism.world]
    pieces = [path.split(".") for path in paths]
    systems = [".".join(item[:count]) for item in pieces for count in range(1, len(item))]
    return list(dict.fromkeys([*systems, *paths]))


def _clusters(groups: tuple[Group, ...], bonds: tuple[FlexibleBond, ...]) -> list[int]:
    """Return for each group the least number of those that bonds hold together with it."""
    group_of = {frame: index for index, group in enumerate(groups) for frame in group.poses}
    least = list(range(len(groups)))
    for one, other in bonds:
        a, b = sorted((least[group_of[one]], least[group_of[other]]))
        least = [a if index == b else index for index in least]
    return least
