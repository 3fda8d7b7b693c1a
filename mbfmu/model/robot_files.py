"""Files that describe robots, read by the reader of their format."""

from pathlib import Path

from mbfmu.model.robot.formats import format_of
from mbfmu.model.robot.robot import Robot
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.system import System

FORMATS = {".urdf": "URDF", ".xacro": "URDF", ".sdf": "SDF", ".mjcf": "MJCF", ".xml": ""}
"""Formats by suffix; a .xml file has that of its content."""
ROBOTS = tuple(FORMATS)
"""Suffixes of the files that describe robots."""


def read_robot(path: Path, options: RobotOptions | None = None) -> System:
    """Read the description of a robot as a system.

    Args:
        path: path of the file.
        options: what is asked of it.

    Raises:
        ModelFileError, ModelError: the description cannot be read.
    """
    match FORMATS[path.suffix] or format_of(path):
        case "MJCF":
            from mbfmu.model.mjcf import read_mjcf

            return read_mjcf(path, options)
        case "SDF":
            from mbfmu.model.sdf import read_sdf

            return read_sdf(path, options)
    from mbfmu.model.urdf import read_urdf

    return read_urdf(path, options)


def robot_of(path: Path, options: RobotOptions | None = None) -> Robot:
    """Return the links and joints of a robot's description.

    Args:
        path: path of the file.
        options: what is asked of it.

    Raises:
        ModelFileError, ModelError: the description cannot be read.
    """
    match FORMATS[path.suffix] or format_of(path):
        case "MJCF":
            from mbfmu.model.mjcf import read_model

            return read_model(path, options).robot
        case "SDF":
            from mbfmu.model import sdf

            return sdf.read_robot(path, options)
    from mbfmu.model import urdf

    return urdf.read_robot(path, options)
