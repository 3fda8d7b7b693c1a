"""Joints, one file for each."""

from mbfmu.model.joints.coincident import Coincident
from mbfmu.model.joints.cylindrical import Cylindrical
from mbfmu.model.joints.distance import Distance
from mbfmu.model.joints.fixed import Fixed
from mbfmu.model.joints.free_motion import FreeMotion
from mbfmu.model.joints.gear_pair import GearPair
from mbfmu.model.joints.joint import Joint, JointCoordinate, sliding, turning
from mbfmu.model.joints.knife_edge import KnifeEdge
from mbfmu.model.joints.planar import Planar
from mbfmu.model.joints.planar_translation import PlanarTranslation
from mbfmu.model.joints.planar_wheel import PlanarWheel
from mbfmu.model.joints.point_on_line import PointOnLine
from mbfmu.model.joints.prismatic import Prismatic
from mbfmu.model.joints.revolute import Revolute
from mbfmu.model.joints.rolling_disk import RollingDisk
from mbfmu.model.joints.rolling_sphere import RollingSphere
from mbfmu.model.joints.rolling_wheel import RollingWheel
from mbfmu.model.joints.screw import Screw
from mbfmu.model.joints.slipping_wheel import SlippingWheel
from mbfmu.model.joints.spherical import Spherical
from mbfmu.model.joints.universal import Universal
from mbfmu.model.joints.upright_wheel import UprightWheel
from mbfmu.model.joints.wheelset_on_track import WheelsetOnTrack

__all__ = [
    "Coincident",
    "Cylindrical",
    "Distance",
    "Fixed",
    "FreeMotion",
    "GearPair",
    "Joint",
    "JointCoordinate",
    "KnifeEdge",
    "Planar",
    "PlanarTranslation",
    "PlanarWheel",
    "PointOnLine",
    "Prismatic",
    "Revolute",
    "RollingDisk",
    "RollingSphere",
    "RollingWheel",
    "Screw",
    "SlippingWheel",
    "Spherical",
    "Universal",
    "UprightWheel",
    "WheelsetOnTrack",
    "sliding",
    "turning",
]
