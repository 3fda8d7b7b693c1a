"""URDF -> System."""

from dataclasses import replace
from pathlib import Path

from mbfmu.model.robot.assembly import frames_of, names_of, system_of
from mbfmu.model.robot.notices import warn_of_notices
from mbfmu.model.robot.robot import Visual
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.system import System
from mbfmu.model.urdf.robot import read_robot


def read_urdf(path: Path, options: RobotOptions | None = None) -> System:
    """Read the robot of a .urdf or .xacro file as a spatial system, with gravity along -z.

    One warning lists what was left out or decided.

    Args:
        path: path of the file.
        options: choices that the file leaves open.

    Raises:
        ModelFileError: the file is missing, is no URDF, or has xacro in it and its reader is not installed.
        ModelError: the robot is invalid; the message begins with file and line.
    """
    robot = read_robot(path, options)
    system = system_of(robot, options)
    warn_of_notices(path, robot)
    return system


def visuals(path: Path) -> tuple[Visual, ...]:
    """Return the visuals of the links of a .urdf file.

    Raises:
        ModelFileError, ModelError: see `read_urdf`.
    """
    robot = read_robot(path)
    frames = frames_of(robot, names_of(robot))
    return tuple(replace(item, frame=frames[link.name]) for link in robot.links.values() for item in link.visuals)
