"""The consistent start: the equations that coordinates, rates and states meet then, and where the search begins."""

from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX, Function

from mbfmu.dae.signals import ParameterSignal


def size_of(wanted: SX) -> SX:
    """Return the size that the distance of a coordinate or rate from its start value is relative to: at least 1."""
    return ca.fmax(1, ca.fabs(wanted))


@dataclass(frozen=True)
class Loop:
    """A closed loop of the mechanism.

    Args:
        joints: full names of the joints around the loop.
        rows: indices of the rows of `closing` that belong to them.
    """

    joints: tuple[str, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Start:
    """Equations and values for the consistent start of q, v and z; SI units. All Functions return dense columns.

    Args:
        starts: the start values s, those that are met and guesses.
        closing: Function (q, p, t) -> all holonomic rows, the redundant ones too.
        positions: Function (q, s, p, t) -> residual of the start values of coordinates; zero for one that p makes a
            guess, as `leanings` is for one that p makes a start value.
        rates: Function (q, v, s, p, t) -> residual of the start values of rates, linear in v.
        sizes: Function (s, p, t) -> size of each start value in `positions`, then of those in `rates`, see `size_of`.
        leanings: Function (q, s, p, t) -> distances of coordinates from their guesses.
        guess: Function (s, p, t) -> q, exact for a tree of joints with start values.
        mass_metric: whether changes of the coordinates are measured by the mass matrix; False: all alike.
        counted: Function (q, s, p, t) -> the counted angles, with the full turns that the start values ask for.
        position_names: name of each row of `positions`.
        rate_names: name of each row of `rates`.
        loops: the closed loops.
        constraint_names: joint or body of each row of `closing`.
        norms: number of rows at the end of `closing` that are norms of quaternions.
        rate_guess: Function (s, p, t) -> v of a tree of joints all of whose rates have start values, where v are rates
            of bodies; None: there is none.
        exact: whether the guess meets all equations of coordinates by the way it is made.
        tree: the same start in the coordinates x of joints, in which closed poses are sought; None: in q itself.
        placed: Function (x, s, p, t) -> q, with x those of `tree`; None without it.
        first_states: (q, v, s, p, t) -> z, shape (n_z,), from the start values s of the states that have one; None: all
            have one.
    """

    starts: tuple[ParameterSignal, ...]
    closing: Function
    positions: Function
    rates: Function
    sizes: Function
    leanings: Function
    guess: Function
    mass_metric: bool
    counted: Function
    position_names: tuple[str, ...]
    rate_names: tuple[str, ...]
    loops: tuple[Loop, ...]
    constraint_names: tuple[str, ...]
    norms: int
    rate_guess: Function | None = None
    exact: bool = False
    tree: "Start | None" = None
    placed: Function | None = None
    first_states: Function | None = None

    @property
    def sought(self) -> "Start":
        """The start in the coordinates in which closed poses are sought."""
        return self.tree or self

    def pose(self, x: Any, s: Any, p: Any, t: Any) -> Any:
        """Return q, for the coordinates x in which closed poses are sought."""
        return self.placed(x, s, p, t) if self.placed else x

    @property
    def met_names(self) -> tuple[str, ...]:
        """Names of the rows of `positions` that are met with the default parameters."""
        guesses = {item.name for item in self.starts if item.guess}
        return tuple(name for name in self.position_names if name not in guesses)
