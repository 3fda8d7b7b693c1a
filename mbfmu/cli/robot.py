"""Options that commands share which read a robot's description."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mbfmu.cli.choices import pairs
from mbfmu.errors import UsageError

OPTIONS: dict[str, Any] = {
    "floating": Annotated[bool, typer.Option("--floating", help="of a robot: the root link moves freely")],
    "fixed": Annotated[bool, typer.Option("--fixed", help="of a robot: the root link is fixed to the world")],
    "no_limits": Annotated[bool, typer.Option("--no-limits", help="of a robot: joints have no stops")],
    "no_friction": Annotated[bool, typer.Option("--no-friction", help="of a robot: joints have no Coulomb friction")],
    "effort_limits": Annotated[bool, typer.Option("--effort-limits", help="of a robot: drives have their limits")],
    "wrench": Annotated[
        list[str] | None,
        typer.Option("--wrench", metavar="LINK", help="of a robot: a link with force and torque as inputs"),
    ],
    "package": Annotated[
        list[str] | None,
        typer.Option("--package", metavar="NAME=FOLDER", help="of a robot: folder of a ROS package; may be repeated"),
    ],
}  # fmt: skip
"""Annotation of each option, by the name of its argument."""


def with_robot(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose argument `robot`, a `RobotOptions` or None, is made of options of the command line."""

    @functools.wraps(function)
    def run(*arguments: Any, **given: Any) -> Any:
        asked = {name: given.pop(name) for name in OPTIONS}
        return function(*arguments, **given, robot=_options(**asked) if any(asked.values()) else None)

    signature = inspect.signature(function, eval_str=True)
    kept = [item for item in signature.parameters.values() if item.name != "robot"]
    more = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None if "list" in str(kind) else False, annotation=kind
        )
        for name, kind in OPTIONS.items()
    ]
    run.__dict__["__signature__"] = signature.replace(parameters=[*kept, *more])
    return run


def _options(
    floating: bool,
    fixed: bool,
    no_limits: bool,
    no_friction: bool,
    effort_limits: bool,
    wrench: list[str] | None,
    package: list[str] | None,
) -> Any:
    from mbfmu.model.robot_options import RobotOptions

    if floating and fixed:
        raise UsageError("--floating and --fixed exclude each other")
    return RobotOptions(
        "floating" if floating else "fixed" if fixed else "",
        limits=not no_limits,
        friction=not no_friction,
        effort_limits=effort_limits,
        wrenches=tuple(wrench or ()),
        packages=pairs(package),
    )
