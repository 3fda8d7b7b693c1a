"""A model that steps when Python tells it to: one instance, or thousands together."""

from mbfmu.stepping.simulation import Simulation

__all__ = ["Simulation"]
