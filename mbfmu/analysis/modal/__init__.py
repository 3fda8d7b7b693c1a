"""Modal analysis: modes about steady states, and how eigenvalues move with a value.

operating.py    the state about which a model vibrates
shapes.py       the displacements of the bodies in a mode
root_locus.py   eigenvalues over a value
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mbfmu.analysis.equilibria import Equilibrium
from mbfmu.analysis.linearization import Linear, Mode
from mbfmu.analysis.modal.operating import Machine, Operating, checked_hold
from mbfmu.analysis.modal.root_locus import Critical, Locus, locus
from mbfmu.analysis.modal.shapes import BodyMotion, BodySlopes
from mbfmu.base.arguments import checked
from mbfmu.model import Model
from mbfmu.model.library import model_of

__all__ = ["BodyMotion", "Critical", "Locus", "Machine", "ModeShape", "Modes", "Operating", "locus", "modes"]


@dataclass(frozen=True)
class ModeShape:
    """A mode with what takes part in it.

    Args:
        mode: eigenvalue, frequency, damping ratio and shape in the states.
        joints: how much each coordinate with its rate, or each first-order state, takes part, by name, 1 in all, the
            largest first; see `Mode.shares`.
        bodies: motions of the bodies.
    """

    mode: Mode
    joints: dict[str, float]
    bodies: tuple[BodyMotion, ...]


@dataclass(frozen=True)
class Modes:
    """The modes of a model about a steady state.

    Args:
        linear: the state-space form there.
        shapes: the modes, slow oscillations first.
        equilibrium: the state, if it had to be searched for; None: the model's start.
        values: start values, inputs and parameters with which the model starts there, by name.
    """

    linear: Linear
    shapes: tuple[ModeShape, ...]
    equilibrium: Equilibrium | None
    values: dict[str, Any]

    def __len__(self) -> int:
        """Return the number of modes."""
        return len(self.shapes)

    def __getitem__(self, index: int) -> ModeShape:
        """Return a mode by its number, from 0 on."""
        return self.shapes[index]


@checked
def modes(
    model: Model | str | os.PathLike[str],
    values: Mapping[str, Any] | None = None,
    *,
    hold: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
    coordinates: str | None = None,
) -> Modes:
    """Return natural frequencies, damping ratios and mode shapes of a model about a steady state.

    That is the model's start if it stays there or moves on steadily, as a bicycle that rides straight on, and nothing
    is held or freed; else the equilibrium that `equilibrium` finds from there.

    Args:
        model: the mechanism or block, a name in models/, or the path of a model file.
        values: start values, inputs and parameters that differ from the model's, by name, in SI units.
        hold: values that outputs or inputs have in the equilibrium, see `equilibrium`.
        free: names of inputs and parameters that are unknown there, see `equilibrium`.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.

    Raises:
        ModelError, StartError: the model or its start is invalid.
        EquilibriumError: there is no equilibrium near the start, or the motion there changes the linear form in time.
        UnknownNameError: there is nothing of a name.
        UsageError: something is both free and held, or a value is not finite.
    """
    system = model_of(model, values)
    machine = Machine.of(system, checked_hold(hold), tuple(free), values or {}, coordinates)
    operating = machine.operating()
    linear = machine.linear(operating)
    slopes = BodySlopes(machine.dae, operating.point)
    shapes = tuple(
        ModeShape(mode, linear.participants(mode), slopes.motions(linear.V @ mode.shape)) for mode in linear.modes
    )
    there = operating.equilibrium
    return Modes(linear, shapes, there, dict(there.values if there else values or {}))
