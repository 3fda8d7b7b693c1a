"""Forces: between frames, on the axes of joints, and from outside; one file for each family."""

from mbfmu.model.forces.angular import AngularSpring, AngularStop
from mbfmu.model.forces.axes import AffineDrive, AxesForce, AxesSpring, AxesStop, FilteredDrive, IntegratedDrive
from mbfmu.model.forces.axis import RotationalDamper, RotationalSpring, TranslationalDamper, TranslationalSpring
from mbfmu.model.forces.bushing import Bushing
from mbfmu.model.forces.cartesian import CartesianSpringDamper
from mbfmu.model.forces.eddy_current import EddyCurrentBrake
from mbfmu.model.forces.effort_limits import AxesEffortLimit, EffortLimit
from mbfmu.model.forces.fluid import BoxDrag, EllipsoidFluid
from mbfmu.model.forces.force import AxisForce, Force
from mbfmu.model.forces.frame_drives import (
    CrankDrive,
    FilteredCrankDrive,
    FilteredPoseDrive,
    FrameDrive,
    IntegratedCrankDrive,
    IntegratedPoseDrive,
    PoseDrive,
)
from mbfmu.model.forces.friction import AxisFriction, CartesianFriction, RotationalFriction, TranslationalFriction
from mbfmu.model.forces.gravity_field import GravityField
from mbfmu.model.forces.laws import AxesLaw, AxisLaw, AxisPotential
from mbfmu.model.forces.limited import LimitedForce, LimitedTorque
from mbfmu.model.forces.line import Damper, LineForce, Spring, SpringDamper
from mbfmu.model.forces.lugre import LuGreFriction, RotationalLuGreFriction, TranslationalLuGreFriction
from mbfmu.model.forces.maxwell import (
    AxisMaxwellDamper,
    MaxwellDamper,
    RotationalMaxwellDamper,
    SeriesSpringDamper,
    TranslationalMaxwellDamper,
)
from mbfmu.model.forces.muscle import Muscle
from mbfmu.model.forces.planar_tyre import LongitudinalDrag, PlanarTyre
from mbfmu.model.forces.point_gravity import PointGravity
from mbfmu.model.forces.rotor import RotationalRotor, TranslationalRotor
from mbfmu.model.forces.stop import AxisStop, RotationalStop, TranslationalStop
from mbfmu.model.forces.thruster import AffineThruster, ConstantForce, FilteredThruster, IntegratedThruster
from mbfmu.model.forces.tyre import Tyre
from mbfmu.model.forces.tyre_data import read_tir
from mbfmu.model.forces.world import ForceBetween, TorqueBetween, WorldForce, WorldTorque

__all__ = [
    "AffineDrive",
    "AffineThruster",
    "AngularSpring",
    "AngularStop",
    "AxesEffortLimit",
    "AxesForce",
    "AxesLaw",
    "AxesSpring",
    "AxesStop",
    "AxisForce",
    "AxisFriction",
    "AxisLaw",
    "AxisMaxwellDamper",
    "AxisPotential",
    "AxisStop",
    "BoxDrag",
    "Bushing",
    "CartesianFriction",
    "CartesianSpringDamper",
    "ConstantForce",
    "CrankDrive",
    "Damper",
    "EddyCurrentBrake",
    "EffortLimit",
    "EllipsoidFluid",
    "FilteredCrankDrive",
    "FilteredDrive",
    "FilteredPoseDrive",
    "FilteredThruster",
    "Force",
    "ForceBetween",
    "FrameDrive",
    "GravityField",
    "IntegratedCrankDrive",
    "IntegratedDrive",
    "IntegratedPoseDrive",
    "IntegratedThruster",
    "LimitedForce",
    "LimitedTorque",
    "LineForce",
    "LongitudinalDrag",
    "LuGreFriction",
    "MaxwellDamper",
    "Muscle",
    "PlanarTyre",
    "PointGravity",
    "PoseDrive",
    "RotationalDamper",
    "RotationalFriction",
    "RotationalLuGreFriction",
    "RotationalMaxwellDamper",
    "RotationalRotor",
    "RotationalSpring",
    "RotationalStop",
    "SeriesSpringDamper",
    "Spring",
    "SpringDamper",
    "TorqueBetween",
    "TranslationalDamper",
    "TranslationalFriction",
    "TranslationalLuGreFriction",
    "TranslationalMaxwellDamper",
    "TranslationalRotor",
    "TranslationalSpring",
    "TranslationalStop",
    "Tyre",
    "WorldForce",
    "WorldTorque",
    "read_tir",
]
