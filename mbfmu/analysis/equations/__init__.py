"""The equations of a model, given away: as CasADi Functions, C, SymPy or a model of acados."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from mbfmu.analysis.equations.functions import EquationEntry
from mbfmu.analysis.equations.model_equations import ModelEquations
from mbfmu.base.arguments import checked
from mbfmu.dae import derive
from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, model_of

__all__ = ["EquationEntry", "ModelEquations", "equations"]


@checked
def equations(
    model: Model | str | os.PathLike[str],
    values: Mapping[str, Any] | None = None,
    *,
    coordinates: str | None = None,
    parameters: Sequence[str] | None = None,
) -> ModelEquations:
    """Return the equations of a mechanism, a block or both as CasADi Functions with names, units and bounds.

    Args:
        model: the mechanism or block, a name in models/, or the path of a model file.
        values: start values and parameters that differ from the model's, by name, in SI units.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        parameters: names of the parameters that stay arguments, in this order; the others become numbers. None: all.

    Raises:
        ModelError: the model is invalid.
        UnknownNameError: there is no such parameter or start value.
        UsageError: it is an FMU, or there is friction in space at several contacts, which has no unique forces.
    """
    if is_fmu(model):
        raise UsageError(f"'{model}' is an FMU, whose equations are compiled: take the model it was made of")
    system = model_of(model, values)
    dae = derive(system, coordinates, by_step=False)
    known = [item.name for item in dae.parameters]
    for name in parameters or ():
        if name not in known:
            raise UnknownNameError(f"'{dae.name}' has no parameter '{name}'; {nearest(name, known)}")
    free = tuple(known if parameters is None else dict.fromkeys(parameters))
    source = None
    if not isinstance(model, Model):
        path = os.fspath(model)
        source = (os.path.abspath(path) if os.path.exists(path) else path, dict(values or {}))
    return ModelEquations(system, coordinates, free, dae, source)
