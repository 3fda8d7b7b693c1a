"""Preparation: the purpose for which a model is prepared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from mbfmu.base.choice import Choice
from mbfmu.base.described import Described
from mbfmu.model import Model
from mbfmu.prepared.settings import COORDINATES, ENERGY_BALANCE, OPTIONS, STEPPER, check_step, check_tolerance


@dataclass(frozen=True)
class Preparation:
    """A model with the stepper it gets, and with what its equations have beside the motion."""

    system: Annotated[Model, Described("the mechanism")]
    stepper: Annotated[str | Choice | None, STEPPER]
    options: Annotated[Mapping[str, Any] | None, OPTIONS]
    step: Annotated[float, Described("default of solver.step", unit="s", check=check_step)]
    tolerance: Annotated[
        float, Described("default of solver.tolerance; 0: a fixed step size", check=check_tolerance)
    ] = 0.0
    coordinates: Annotated[str | None, COORDINATES] = None
    formulas: Annotated[
        Mapping[str, str] | None,
        Described("inputs that are expressions of ``time`` in the equations, by name (see `derive`)"),
    ] = None
    energy_balance: Annotated[bool, ENERGY_BALANCE] = False
    choices: Annotated[
        Sequence[str],
        Described("coordinates for which a parameter chooses between a start value and a guess (see `derive`)"),
    ] = ()
    inverse: Annotated[bool, Described("whether the equations are those of the inverse dynamics, see `inverse_of`")] = (
        False
    )
    states: Annotated[bool, Described("whether the state and its time derivative are outputs")] = False
    indicators: Annotated[bool, Described("whether event indicators are outputs with them")] = False
    portable: Annotated[
        bool,
        Described(
            "whether the kernel runs on other machines of this kind too, such as one to be packed; else it has all "
            "instructions of this processor"
        ),
    ] = False

    @property
    def named(self) -> str:
        """Name of the stepper that the user, or else the model, names; empty: the usual one is taken."""
        name = self.stepper.name if isinstance(self.stepper, Choice) else self.stepper
        return name or ("" if self.inverse else self.system.stepper)

    @property
    def equal_step(self) -> float:
        """Length of each step, s; 0 if steps are chosen for a tolerance."""
        return 0.0 if self.tolerance else self.step
