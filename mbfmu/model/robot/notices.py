"""The warning that goes with a robot that was read: what its file leaves open, and how that was decided."""

import warnings
from pathlib import Path

from mbfmu.model.robot.masses import notices_of_masses
from mbfmu.model.robot.robot import Robot
from mbfmu.model.robot.stiffness import suited


def warn_of_notices(path: Path, robot: Robot) -> None:
    """Give one warning that lists what was left out of a robot's file or decided; none if there is nothing to list.

    Args:
        path: path of the file.
        robot: the robot that was read from it.
    """
    notices = (*robot.notices, *notices_of_masses(robot), *suited(robot).notices)
    if notices:
        warnings.warn(f"'{path}': {'; '.join(notices)}", stacklevel=3)
