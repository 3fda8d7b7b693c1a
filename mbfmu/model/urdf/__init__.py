"""Robots as URDF: the Unified Robot Description Format of ROS."""

from mbfmu.model.urdf.reader import read_urdf, visuals
from mbfmu.model.urdf.robot import Origin, Visual

__all__ = ["Origin", "Visual", "read_urdf", "visuals"]
