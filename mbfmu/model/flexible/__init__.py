"""Flexible bodies: parts whose shape changes."""

from mbfmu.model.flexible.beam import Beam
from mbfmu.model.flexible.body import FlexibleBody, MassIntegrals, Surface, kinetic_energy, momenta
from mbfmu.model.flexible.line import ElasticJoint, FlexibleLine
from mbfmu.model.flexible.modal import ModalBody
from mbfmu.model.flexible.modal_data import ModalData, read_modal, write_modal
from mbfmu.model.flexible.stresses import ModalSurface, StressPoints

__all__ = [
    "Beam",
    "ElasticJoint",
    "FlexibleBody",
    "FlexibleLine",
    "MassIntegrals",
    "ModalBody",
    "ModalData",
    "ModalSurface",
    "StressPoints",
    "Surface",
    "kinetic_energy",
    "momenta",
    "read_modal",
    "write_modal",
]
