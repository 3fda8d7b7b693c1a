"""Robots as URDF: the Unified Robot Description Format of ROS."""

from mbfmu.model.robot.assembly import names_of
from mbfmu.model.robot.robot import Origin, Robot, Visual
from mbfmu.model.robot_options import RobotOptions
from mbfmu.model.urdf.packages import folders_of
from mbfmu.model.urdf.reader import read_urdf, visuals
from mbfmu.model.urdf.robot import read_robot

__all__ = ["Origin", "Robot", "RobotOptions", "Visual", "folders_of", "names_of", "read_robot", "read_urdf", "visuals"]
