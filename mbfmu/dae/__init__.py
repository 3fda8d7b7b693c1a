"""Model -> Dae, by automatic differentiation and recursive algorithms."""

from mbfmu.dae.absolute import absolute
from mbfmu.dae.dae import Dae, Layout, ParameterSignal, Signal, StateSignal
from mbfmu.dae.first_order import first_order
from mbfmu.dae.joint import JointTree, joint
from mbfmu.dae.lagrangian import lagrangian
from mbfmu.dae.redundancy import independent
from mbfmu.errors import UsageError, nearest
from mbfmu.model import Block, LagrangianSystem, Model, flatten

__all__ = [
    "COORDINATES", "Dae", "Layout", "ParameterSignal", "Signal", "StateSignal", "absolute", "derive", "first_order",
    "joint", "lagrangian",
]  # fmt: skip

COORDINATES = {"absolute": absolute, "joint": joint}
"""Functions that derive a System's equations, by the name of its coordinates."""


def derive(model: Model, coordinates: str | None = None) -> Dae:
    """Derive the equations of a model of any kind.

    Args:
        model: the mechanism or block.
        coordinates: ``absolute`` or ``joint``; None: joint coordinates if they are fewer. Lagrangians and blocks have
            their own.

    Raises:
        ModelError: the model is invalid; the message says what to mend.
        UsageError: there are no such coordinates.
    """
    if isinstance(model, LagrangianSystem | Block):
        if coordinates is not None:
            raise UsageError(f"'{model.name}' is given by equations and has coordinates of its own")
        return first_order(model) if isinstance(model, Block) else lagrangian(model)
    if coordinates is None:
        tree = JointTree(flatten(model))
        coordinates, dae = ("joint", tree.dae()) if tree.smaller else ("absolute", absolute(model))
    elif coordinates in COORDINATES:
        dae = COORDINATES[coordinates](model)
    else:
        raise UsageError(f"there are no '{coordinates}' coordinates; {nearest(coordinates, COORDINATES)}")
    made = COORDINATES[coordinates]
    return independent(dae, lambda: made(model, turning=True))
