"""System -> Dae, by automatic differentiation."""

from mbfmu.dae.absolute import absolute
from mbfmu.dae.dae import Dae, ParameterSignal, Signal

__all__ = ["Dae", "ParameterSignal", "Signal", "absolute"]
