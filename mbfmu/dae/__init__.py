"""Model -> Dae, by automatic differentiation and recursive algorithms."""

from mbfmu.dae.absolute import absolute
from mbfmu.dae.dae import Dae, ParameterSignal, Signal
from mbfmu.dae.joint import JointTree, joint
from mbfmu.dae.lagrangian import lagrangian
from mbfmu.dae.redundancy import independent
from mbfmu.errors import UsageError, nearest
from mbfmu.model import LagrangianSystem, Model, flatten

__all__ = ["COORDINATES", "Dae", "ParameterSignal", "Signal", "absolute", "derive", "joint", "lagrangian"]

COORDINATES = {"absolute": absolute, "joint": joint}
"""The coordinates a System can have."""


def derive(model: Model, coordinates: str | None = None) -> Dae:
    """Derive the equations of a model, whatever describes it.

    Args:
        model: the mechanism.
        coordinates: ``absolute`` or ``joint``; None: joint coordinates if they are fewer. A Lagrangian has its own.

    Raises:
        ModelError: the model cannot be; the message says what to mend.
        UsageError: there are no such coordinates.
    """
    if isinstance(model, LagrangianSystem):
        if coordinates is not None:
            raise UsageError(f"'{model.name}' is given by its Lagrangian and has coordinates of its own")
        return lagrangian(model)
    if coordinates is None:
        tree = JointTree(flatten(model))
        coordinates, dae = ("joint", tree.dae()) if tree.smaller else ("absolute", absolute(model))
    elif coordinates in COORDINATES:
        dae = COORDINATES[coordinates](model)
    else:
        raise UsageError(f"there are no '{coordinates}' coordinates; {nearest(coordinates, COORDINATES)}")
    made = COORDINATES[coordinates]
    return independent(dae, lambda: made(model, turning=True))
