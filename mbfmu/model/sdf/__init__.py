"""Robots as SDF: the Simulation Description Format of Gazebo."""

from mbfmu.model.sdf.reader import read_sdf
from mbfmu.model.sdf.robot import read_robot

__all__ = ["read_robot", "read_sdf"]
