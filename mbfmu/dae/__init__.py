"""Model -> Dae, by automatic differentiation."""

from mbfmu.dae.absolute import absolute
from mbfmu.dae.dae import Dae, ParameterSignal, Signal
from mbfmu.dae.lagrangian import lagrangian
from mbfmu.model import LagrangianSystem, Model

__all__ = ["Dae", "ParameterSignal", "Signal", "absolute", "derive", "lagrangian"]


def derive(model: Model) -> Dae:
    """Derive the equations of a model, whatever describes it.

    Raises:
        ModelError: the model cannot be; the message says what to mend.
    """
    return lagrangian(model) if isinstance(model, LagrangianSystem) else absolute(model)
