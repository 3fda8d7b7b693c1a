"""Flexible bodies: parts whose shape changes."""

from mbfmu.model.flexible.beam import Beam
from mbfmu.model.flexible.body import FlexibleBody, MassIntegrals, kinetic_energy, momenta

__all__ = ["Beam", "FlexibleBody", "MassIntegrals", "kinetic_energy", "momenta"]
