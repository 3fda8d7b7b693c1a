"""Flexible bodies: parts whose shape changes."""

from mbfmu.model.flexible.beam import Beam
from mbfmu.model.flexible.body import FlexibleBody, MassIntegrals, kinetic_energy, momenta
from mbfmu.model.flexible.modal import ModalBody
from mbfmu.model.flexible.modal_data import ModalData, read_modal, write_modal

__all__ = [
    "Beam",
    "FlexibleBody",
    "MassIntegrals",
    "ModalBody",
    "ModalData",
    "kinetic_energy",
    "momenta",
    "read_modal",
    "write_modal",
]
