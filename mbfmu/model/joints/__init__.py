"""Joints, one file each."""

from mbfmu.model.joints.free_motion import FreeMotion
from mbfmu.model.joints.joint import Joint, Motion
from mbfmu.model.joints.knife_edge import KnifeEdge
from mbfmu.model.joints.prismatic import Prismatic
from mbfmu.model.joints.revolute import Revolute
from mbfmu.model.joints.spherical import Spherical

__all__ = ["FreeMotion", "Joint", "KnifeEdge", "Motion", "Prismatic", "Revolute", "Spherical"]
