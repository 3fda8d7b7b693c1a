"""MJCF -> System."""

import warnings
from pathlib import Path

from mbfmu.model.mjcf.assembly import added
from mbfmu.model.mjcf.model import read_model
from mbfmu.model.robot.assembly import system_of
from mbfmu.model.robot.masses import told_masses
from mbfmu.model.robot.stiffness import suited
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.system import System


def read_mjcf(path: Path, options: RobotOptions | None = None) -> System:
    """Read the model of an MJCF file, the XML of MuJoCo, as a spatial system.

    One warning lists what was left out or decided.

    Args:
        path: path of the file.
        options: what is asked of it.

    Raises:
        ModelFileError: a file is missing, or is no MJCF.
        ModelError: the model is invalid, or has what a system cannot have; the message begins with file and line.
    """
    model = read_model(path, options)
    robot = model.robot
    system = added(system_of(robot, options), model)
    notices = (*robot.notices, *told_masses(robot), *suited(robot).notices)
    if notices:
        warnings.warn(f"'{path}': {'; '.join(notices)}", stacklevel=2)
    return system
