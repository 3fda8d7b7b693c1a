"""Options that commands share which read a robot's description."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mbfmu.cli.choices import pairs
from mbfmu.cli.expansion import shared
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.model.robot_options import RobotOptions

OPTIONS: dict[str, Any] = {
    "floating": Annotated[bool, typer.Option("--floating", help="the root link moves freely")],
    "fixed": Annotated[bool, typer.Option("--fixed", help="the root link is fixed to the world")],
    "no_limits": Annotated[bool, typer.Option("--no-limits", help="joints have no stops")],
    "no_friction": Annotated[bool, typer.Option("--no-friction", help="joints have no Coulomb friction")],
    "effort_limits": Annotated[bool, typer.Option("--effort-limits", help="drives have their limits")],
    "wrench": Annotated[
        list[str] | None,
        typer.Option("--wrench", metavar="LINK", help="a link with force and torque as inputs"),
    ],
    "package": Annotated[
        list[str] | None,
        typer.Option("--package", metavar="NAME=FOLDER", help="folder of a ROS package; may be repeated"),
    ],
    "arg": Annotated[
        list[str] | None,
        typer.Option("--arg", metavar="NAME=VALUE", help="an argument of its xacro file; may be repeated"),
    ],
    "allow_outside": Annotated[
        bool, typer.Option("--allow-outside", help="files outside its folder may be included")
    ],
}  # fmt: skip
"""Annotation of each option, by the name of its argument."""


def _options(
    floating: bool,
    fixed: bool,
    no_limits: bool,
    no_friction: bool,
    effort_limits: bool,
    wrench: list[str] | None,
    package: list[str] | None,
    arg: list[str] | None,
    allow_outside: bool,
) -> "RobotOptions | None":
    """Return the options of a robot; None if none is chosen."""
    from mbfmu.model.robot_options import RobotOptions

    if not any((floating, fixed, no_limits, no_friction, effort_limits, wrench, package, arg, allow_outside)):
        return None
    if floating and fixed:
        raise UsageError("--floating and --fixed exclude each other")
    return RobotOptions(
        "floating" if floating else "fixed" if fixed else "",
        limits=not no_limits,
        friction=not no_friction,
        effort_limits=effort_limits,
        wrenches=tuple(wrench or ()),
        packages=pairs(package),
        outside=allow_outside,
        arguments=pairs(arg),
    )


ROBOT = shared(
    {name: (kind, None if "list" in str(kind) else False) for name, kind in OPTIONS.items()},
    _options,
    panel="Robot files",
)
"""The options of a robot, which make one argument of a command."""
