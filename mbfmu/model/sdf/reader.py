"""SDF -> System."""

from pathlib import Path

from mbfmu.model.robot.assembly import system_of
from mbfmu.model.robot.notices import warn_of_notices
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.sdf.robot import read_robot
from mbfmu.model.system import System


def read_sdf(path: Path, options: RobotOptions | None = None) -> System:
    """Read the model of an SDF file as a spatial system.

    One warning lists what was left out or decided.

    Args:
        path: path of the file.
        options: choices that the file leaves open.

    Raises:
        ModelFileError: the file is missing, or is no SDF.
        ModelError: the model is invalid, or has what is not read; the message begins with file and line.
    """
    robot = read_robot(path, options)
    system = system_of(robot, options)
    warn_of_notices(path, robot)
    return system
