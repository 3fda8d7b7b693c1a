"""Identification: which inertial parameters of a robot its motion tells, and the motion that tells them best."""

import os
from collections.abc import Mapping
from typing import Any

from mbfmu.analysis.identification.base import BaseParameters, reduced
from mbfmu.analysis.identification.excitation import Excitation
from mbfmu.analysis.identification.regressor import regressor
from mbfmu.base.arguments import checked
from mbfmu.model import Model
from mbfmu.model.library import model_of

__all__ = ["BaseParameters", "Excitation", "base_parameters"]


@checked
def base_parameters(
    model: Model | str | os.PathLike[str], values: Mapping[str, Any] | None = None, *, seed: int = 0
) -> BaseParameters:
    """Return the combinations of inertial parameters of a robot that its efforts and motion tell.

    They are computed from the regressor Y at random configurations (Gautier, Numerical calculation of the base inertial
    parameters of robots, Journal of Robotic Systems 8(4), 1991, pp. 485-506).

    Args:
        model: a tree of joints, a name in models/, or the path of a model file.
        values: start values and parameters that differ from the model's, by name, in SI units.
        seed: seed of the configurations.

    Raises:
        ModelError: the model is invalid.
        UsageError: it has no rigid parts, has constraints, gaps or dry friction, or is no system.
    """
    return reduced(regressor(model_of(model, values)), seed)
