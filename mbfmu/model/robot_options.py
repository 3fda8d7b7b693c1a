"""RobotOptions: choices that a robot's file leaves open."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from mbfmu.errors import UsageError, nearest

BASES = ("", "fixed", "floating")


@dataclass(frozen=True)
class RobotOptions:
    """Choices that a robot's file leaves open.

    Args:
        base: ``floating``: the root link moves freely; ``fixed``: it is fixed to the world, also where the file has a
            floating joint there; empty: as the file says, and a root link with inertia is fixed to the world.
        limits: whether the limits of joints become stops.
        friction: whether joints have Coulomb friction; damping they have in any case.
        effort_limits: whether the efforts of drives are limited to those of the file.
        wrenches: names of links that get a force and a torque as inputs.
        packages: folders of ROS packages by name, for ``package://`` and ``$(find ...)``; they come before those beside
            and above the file, and those in ROS_PACKAGE_PATH.
        outside: whether a file may include files outside its own folder.
        arguments: values of xacro's arguments by name.

    Raises:
        UsageError: there is no such base.
    """

    base: str = ""
    limits: bool = True
    friction: bool = True
    effort_limits: bool = False
    wrenches: tuple[str, ...] = ()
    packages: Mapping[str, str | os.PathLike[str]] = field(default_factory=dict)
    outside: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.base not in BASES:
            raise UsageError(f"base = {self.base!r}: {nearest(str(self.base), BASES[1:])}")
