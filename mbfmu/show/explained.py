"""Explanation of a robot's file: what was read as what, what was left out, and whether that changes the motion."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mbfmu.errors import UsageError
from mbfmu.model import Model
from mbfmu.model.library import known_models
from mbfmu.model.readers import ROBOTS
from mbfmu.model.robot.assembly import names_of
from mbfmu.model.robot.masses import notices_of_masses
from mbfmu.model.robot.robot import Robot
from mbfmu.model.robot.stiffness import suited
from mbfmu.model.robot_files import robot_of
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.system import System

Row = dict[str, Any]
UNUSED = "not used: "
TOUCHING = "yes, where shapes would touch"
EFFECTS = {
    "contacts are left out": TOUCHING,
    "adhesion acts at contacts": TOUCHING,
    "early activation": "yes, by one step",
    "mocap bodies are fixed": "yes, where they would be moved",
    "stops are soft": "yes, beyond the limits",
    "actuators": "yes, where they would act",
    "the root link": "yes, unless it is meant",
    "start values of Gazebo": "yes, where it starts",
    "follow others exactly": "yes, they follow",
    "<static> holds": "yes, nothing moves",
    "<joint_properties>": "yes, they damp and rub",
    "point masses": "yes, they turn more easily",
    "no limits": "yes, where limits are meant",
    "link": "yes, by this inertia",
}
"""Effect on the motion of what a notice says, by its first words; others have none."""
ODD = {
    "that no format has": "not by URDF",
    "outside a <link>": "not by URDF",
    "other than": "not by URDF, whose readers take the other",
}
"""Effect on the motion of what a file should not have, by words of the notice."""
SHAPES = ("collision", "pair")
"""Elements about shapes that touch."""


def explained(source: str, system: Model, options: RobotOptions | None) -> dict[str, list[Row]]:
    """Return rows on what a robot's file holds: ``read`` and ``left_out``.

    Args:
        source: path of the file, or name of a model.
        system: the system that it was read as.
        options: the options that it was read with.

    Raises:
        UsageError: the file describes no robot.
    """
    path = known_models().get(source, Path(source))
    if path.suffix.lower() not in ROBOTS or not isinstance(system, System):
        raise UsageError(f"--explain is for the files of robots ({', '.join(ROBOTS)}), not for '{source}'")
    robot = robot_of(path, options)
    return {"read": list(_read(robot, system)), "left_out": list(_left(robot))}


def _read(robot: Robot, system: System) -> Iterator[Row]:
    """Yield a row for each link and joint, and for each component that stands for neither."""
    kinds = {item.name: type(item).__name__ for item in system.components}
    parts: dict[tuple[str, str], list[str]] = {}
    sorts = {"link": "link", "force": "link", "torque": "link", "weight": "link"}
    for (kind, name), component in names_of(robot).items():
        if component in kinds:
            parts.setdefault((sorts.get(kind, "joint"), name), []).append(f"{kinds.pop(component)} {component}")
    closing = {name: loop.joint for name, loop in robot.loops.items()}
    for name, link in robot.links.items():
        yield _row("link", name, link.line, parts.pop(("link", name), []) or ["a frame"])
    for name, joint in {**robot.joints, **closing}.items():
        what = f"{joint.kind} joint" + (" that closes a loop" if name in closing else "")
        yield _row(what, name, joint.line, parts.pop(("joint", name), []) or ["fixed"])
    for (_, name), items in parts.items():
        yield _row("force", name, next(item.line for item in robot.forces if item.name == name), items)
    for name, kind in kinds.items():
        yield {"element": "beside the tree", "line": "", "read_as": [f"{kind} {name}"]}


def _row(what: str, name: str, line: int, parts: list[str]) -> Row:
    return {"element": f"{what} '{name}'", "line": line, "read_as": parts}


def _left(robot: Robot) -> Iterator[Row]:
    """Yield a row for each thing that was left out or decided."""
    for notice in (*robot.notices, *suited(robot).notices):
        if notice.startswith(UNUSED):
            for text in notice.removeprefix(UNUSED).split(", "):
                shape = any(f"<{tag}" in text for tag in SHAPES)
                effect = next((said for words, said in ODD.items() if words in text), "no")
                yield {"what": text, "changes_the_motion": TOUCHING if shape else effect}
            continue
        effect = next((effect for words, effect in EFFECTS.items() if notice.startswith(words)), "no")
        yield {"what": notice, "changes_the_motion": effect}
    for notice in notices_of_masses(robot):
        yield {"what": notice, "changes_the_motion": "no, it is used as it is"}
