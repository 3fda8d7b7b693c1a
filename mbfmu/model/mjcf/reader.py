"""MJCF -> System."""

from pathlib import Path

from mbfmu.model.mjcf.assembly import added
from mbfmu.model.mjcf.model import read_model
from mbfmu.model.robot.assembly import system_of
from mbfmu.model.robot.notices import warn_of_notices
from mbfmu.model.robot.robot import Robot
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.system import System


def read_mjcf(path: Path, options: RobotOptions | None = None) -> System:
    """Read the model of an MJCF file, the XML of MuJoCo, as a spatial system.

    One warning lists what was left out or decided.

    Args:
        path: path of the file.
        options: choices that the file leaves open.

    Raises:
        ModelFileError: a file is missing, or is no MJCF.
        ModelError: the model is invalid, or has what a system cannot have; the message begins with file and line.
    """
    model = read_model(path, options)
    robot = model.robot
    system = added(system_of(robot, options), model)
    warn_of_notices(path, robot)
    return system


def read_robot(path: Path, options: RobotOptions | None = None) -> Robot:
    """Read the links and joints of an MJCF file.

    Args:
        path: path of the file.
        options: choices that the file leaves open.

    Raises:
        ModelFileError, ModelError: see `read_mjcf`.
    """
    return read_model(path, options).robot
