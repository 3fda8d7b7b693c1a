"""Files that describe robots, read as robots by the reader of their format."""

from pathlib import Path

from mbfmu.errors import UsageError
from mbfmu.model.readers import ROBOTS, ModelFormat, format_of
from mbfmu.model.robot.robot import Robot
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.system import System


def read_robot(path: Path, options: RobotOptions | None = None) -> System:
    """Read the description of a robot as a system.

    Args:
        path: path of the file.
        options: choices that the file leaves open.

    Raises:
        UsageError: the file describes no robot.
        ModelFileError, ModelError: the description cannot be read.
    """
    system: System = _format(path).read(path, options)
    return system


def robot_of(path: Path, options: RobotOptions | None = None) -> Robot:
    """Return the links and joints of a robot's description.

    Args:
        path: path of the file.
        options: choices that the file leaves open.

    Raises:
        UsageError: the file describes no robot.
        ModelFileError, ModelError: the description cannot be read.
    """
    robot: Robot = _format(path).read_robot(path, options)
    return robot


def _format(path: Path) -> ModelFormat:
    """Return the format of a robot's description."""
    row = format_of(path)
    if row is None or not row.robot:
        raise UsageError(f"'{path}' is not a robot's description: options of robots go with {', '.join(ROBOTS)} files")
    return row
