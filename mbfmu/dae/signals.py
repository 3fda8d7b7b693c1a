"""Signals: names, units and values of what a user sets and sees of equations."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mbfmu.model.variable_type import VariableType


@dataclass(frozen=True)
class Signal:
    """A scalar quantity that a user sees.

    Args:
        name: full dotted name, such as ``shoulder.phi``.
        unit: SI unit.
        description: one line.
        kind: ``input``, ``output`` (a joint's coordinate, rate or acceleration) or ``local``; ``internal`` for a force
            that is an input of equations only until it is solved for.
        derivative_of: name of the signal whose time derivative it is, if any.
        start: value of an input until it is set.
        nominal: usual size; None: the size that the mechanism's mass, length and gravity give its unit.
        reaction_of: full name of the joint or coupling whose constraints cause this force or torque, if any.
        unique: whether the equations determine it; redundant constraints leave some forces undetermined.
        min, max: bounds of a calculated parameter, as far as those of the parameters do not imply them.
        type: type of the variable; the values of all types are numbers here.
        items: names of the values 0, 1, 2, ... of a mode.
    """

    name: str
    unit: str
    description: str
    kind: str = "local"
    derivative_of: str | None = None
    start: float = 0.0
    nominal: float | None = None
    reaction_of: str | None = None
    unique: bool = True
    min: float = -math.inf
    max: float = math.inf
    type: VariableType = "Real"
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class StateSignal:
    """A first-order state, an entry of z.

    Args:
        name: full dotted name.
        unit: SI unit.
        description: one line.
        start: default start value; None: the state has no start value, it begins as `Dae.first_states` says.
        nominal: usual size; implicit steppers solve for the state in units of this size.
        controlled: whether its error counts where steps are chosen for a tolerance.
    """

    name: str
    unit: str
    description: str
    start: float | None = 0.0
    nominal: float = 1.0
    controlled: bool = True


@dataclass(frozen=True)
class MemorySignal:
    """A value that a sampled block remembers, an entry of d; or a mode.

    Args:
        name: full dotted name.
        clock: full name of the block; empty for a mode.
    """

    name: str
    clock: str


@dataclass(frozen=True)
class Clock:
    """The instants ``offset + n period`` at which a sampled block computes, with n = 0, 1, 2, ...

    Args:
        name: full name of the block.
    """

    name: str


@dataclass(frozen=True)
class ParameterSignal:
    """A free parameter of the Dae.

    Args:
        name: full dotted name.
        unit: SI unit.
        description: one line.
        value: default.
        min: least value allowed.
        max: greatest value allowed.
        tunable: whether it may change during a run: neither constraints, places of bodies nor sampling times depend on
            it. The state of some steppers depends on more, see `Scheme.depends_on`.
        guess: whether it is a start value that need not be met: the search begins there.
        type: type of the variable; the values of all types are numbers here.
        items: names of the values 0, 1, 2, ... of a mode.
    """

    name: str
    unit: str
    description: str
    value: float
    min: float
    max: float
    tunable: bool
    guess: bool = False
    type: VariableType = "Real"
    items: tuple[str, ...] = ()


class Layout(ABC):
    """Inputs, parameters and start values of equations of any kind."""

    inputs: tuple[Signal, ...]
    parameters: tuple[ParameterSignal, ...]

    @property
    @abstractmethod
    def starts(self) -> tuple[ParameterSignal, ...]:
        """The start values s."""

    def u_default(self) -> npt.NDArray[np.float64]:
        """Return the values of the inputs until they are set, shape (n_u,)."""
        return np.array([item.start for item in self.inputs])

    def p_default(self) -> npt.NDArray[np.float64]:
        """Return the default parameter values, shape (number of parameters,)."""
        return np.array([item.value for item in self.parameters])

    def s_default(self) -> npt.NDArray[np.float64]:
        """Return the default start values, shape (n_s,)."""
        return np.array([item.value for item in self.starts])
