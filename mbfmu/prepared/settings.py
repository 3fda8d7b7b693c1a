"""Run settings: the stepper, its options and steps, coordinates, values and inputs of a run, each described once.

Functions take them by `takes`, the command line makes its options of them. Nothing heavy is imported here, so that
``mbfmu --help`` stays quick.
"""

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeAlias

from mbfmu.base.arguments import number
from mbfmu.base.choice import Choice
from mbfmu.base.described import Described
from mbfmu.base.units import check_display
from mbfmu.errors import UsageError

InputFunction: TypeAlias = Callable[[float], float]
"""A function of the time, s."""
InputValue: TypeAlias = str | float | bool | InputFunction
"""An input as a user gives it: an expression of ``time``, a table's path, a number, True or False, or a function."""
STEP = 1e-3
"""Default of the longest step of a stepper, s."""
OFTEN = 199
"""Default for the steps of a long run for each whose error is estimated: a prime number, so that no period of the
motion or of its inputs coincides with it."""
MOST_SAMPLES = 1_000_000
"""Largest of these numbers."""
LARGEST_TOLERANCE = 0.1
"""Largest value of solver.tolerance."""


def check_step(step: Any) -> None:
    """Raise a UsageError if a step, s, is not a positive number."""
    if not 0 < number(step) < float("inf"):
        raise UsageError(f"the step is {reprlib.repr(step)} s; it must be a positive number, such as 0.001")


def check_kind(kind: str | None) -> None:
    """Raise a UsageError if a use of an FMU is neither ``cs`` nor ``me``."""
    if kind not in (None, "cs", "me"):
        raise UsageError(f"the kind is {reprlib.repr(kind)}; it must be cs for co-simulation or me for model exchange")


def check_tolerance(tolerance: float) -> None:
    """Raise a UsageError if a tolerance is not one with which steps are equal or chosen."""
    if not 0 <= tolerance <= LARGEST_TOLERANCE:
        raise UsageError(
            f"the tolerance is {tolerance}; it must be 0 (a fixed step size) or at most {LARGEST_TOLERANCE:g}, "
            "such as 1e-6"
        )


def check_tolerance_of_result(tolerance: float, chosen: float | None) -> None:
    """Raise a UsageError unless a tolerance of the result is a part, and steps are not chosen for another tolerance."""
    if not 0 < tolerance < 1:
        raise UsageError(f"the tolerance of the result is {tolerance}: it must be between 0 and 1, such as 1e-4")
    if chosen:
        raise UsageError("--tolerance-of-result finds an equal step: leave --tolerance out")


def check_samples(samples: Any) -> None:
    """Raise a UsageError if a number of steps from one estimate of the error to the next is no whole number."""
    if isinstance(samples, bool) or not isinstance(samples, int) or not 0 <= samples <= MOST_SAMPLES:
        raise UsageError(
            f"error samples: {reprlib.repr(samples)} must be a whole number of steps, such as {OFTEN}, or 0 for no "
            "estimate"
        )


STEPPER = Described(
    'name of the stepper, or one with its options such as `mbfmu.Rattle(iteration="simplified")`; '
    "None: the one the model names, else one that suits the structure of the equations",
    option="--stepper NAME",
    help="see `mbfmu list steppers`",
)
OPTIONS = Described("options of the stepper", option="--option K=V", help="option of the stepper; may be repeated")
STEP_LENGTH = Described(
    "maximum step size of the stepper",
    unit="s",
    more=" (default 0.001, or the step of the .fmu)",
    option="--step H",
    check=check_step,
)
TOLERANCE = Described(
    "error that a second of motion may add, relative to 1 and the size of coordinates and velocities; the steps "
    "are then "
    "chosen, up to `step`. None or 0: equal steps (None: the tolerance of the .fmu). Of an .fmu for model exchange: "
    "the relative tolerance of the solver",
    option="--tolerance TOL",
    help="choose the steps: error a second of motion may add; 0: equal steps; for an FMU in model exchange the "
    "relative tolerance of the solver",
    check=check_tolerance,
)
COORDINATES = Described(
    "``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer",
    option="--coordinates absolute|joint[:NAME,...]",
    help="coordinates of the bodies; with names: of these bodies, or joints, and the other kind of the rest; "
    "default: joint if they are fewer",
)
VALUES = Described(
    "parameters and start values by name; in an .fmu also texts, and the names of an enumeration's items",
    option="--set NAME=VALUE",
    help="parameter, start value or input: a number such as 0.3, pi/6 or deg(30), true or false; may be repeated",
)
INPUTS = Described(
    'by name, a number, an expression of ``time`` such as ``"2*sin(time)"``, the path of a table (.csv, .parquet, '
    ".mat, .npz) with a column of that name, or a function of the time. In a model, an expression is part of the "
    "equations; a table is followed by lines from point to point, a function by lines from step to step. An .fmu gets "
    "its inputs at steps of its own length, with their derivatives if it takes these, else their means. Whole-number "
    "inputs are rounded, Boolean inputs true unless they are zero; both are held over each step, and tables for them "
    "from point to point. A row of the result holds the input that acts from its time on",
    option="--input NAME=EXPR|FILE.csv",
    help="an input as an expression of time, or from a table (.csv, .parquet, .mat, .npz)",
)
INPUT_HOLD = Described(
    "whether tables hold each value until the next",
    option="--input-hold",
    help="inputs from files hold each value until the next; default: lines between",
)
OUTPUT_INTERVAL = Described(
    "time between outputs",
    unit="s",
    more=". Default: a multiple of the step that gives about 500 points",
    option="--output-interval DT",
)
ENERGY_BALANCE = Described(
    "whether `energy.balance` is computed, for a mechanism: stored energy plus losses minus what was put in",
    unit="J",
    option="--energy-balance",
    help="output energy.balance: stored energy plus losses minus what was put in, J",
)
ERROR_SAMPLES = Described(
    "steps of a long run of a model for each whose error is estimated; 0: no error is estimated",
    option="--error-samples N",
    help="estimate the error of one in N steps of a long run, which takes about 2/N of its time; 0: of none",
    check=check_samples,
)
TOLERANCE_OF_RESULT = Described(
    "largest error of the result, relative to the range of each variable: a run takes the step that meets it, which "
    "two runs confirm, with a step and half of it; 0: the step is given",
    option="--tolerance-of-result TOL",
    help="take the step with which each variable's error is at most this part of its range",
)
MODEL = Described("a model, a name in models/, or the path of a model file")
STOP = Described("end of the run", unit="s")
SHOW = Described(
    "names that tables and pictures of the result show, or patterns such as ``boom.*``; empty: a selection",
    option="--show NAME,...",
    help="variables of table and picture; * and ? match any text and any character",
)
DISPLAY = Described(
    "units that tables and pictures show in the place of SI units, such as ``deg``, ``bar``, ``kN``, ``mm``; files "
    "have SI units",
    option="--display UNIT,...",
    help="units shown in the place of SI units, such as deg, deg/s, mm, kN, bar; files keep SI units",
    check=check_display,
)
TIMEOUT = Described(
    "seconds after which an .fmu that does not answer is ended; None: 60",
    option="--timeout S",
    help="end an .fmu that does not answer for S seconds; default: 60",
)
KIND = Described(
    "use of an .fmu: ``cs`` for co-simulation, ``me`` for model exchange; None: co-simulation if it has both",
    option="--kind cs|me",
    help="use an .fmu for co-simulation or for model exchange; default: co-simulation if it has both",
)
VALIDATE = Described(
    "whether an .fmu whose description breaks the XML schema is an error",
    option="--validate/--no-validate",
    help="reject an .fmu whose description breaks the XML schema, or run it all the same",
)
PROGRESS = Described("called with the fraction done")


@dataclass(frozen=True, kw_only=True)
class StateSettings:
    """The settings of a run to the state about which a model is linearized."""

    stepper: Annotated[str | Choice | None, STEPPER] = None
    step: Annotated[float | None, STEP_LENGTH] = None
    coordinates: Annotated[str | None, COORDINATES] = None
    inputs: Annotated[Mapping[str, InputValue] | None, INPUTS] = None
    input_hold: Annotated[bool, INPUT_HOLD] = False


@dataclass(frozen=True, kw_only=True)
class ModelSettings(StateSettings):
    """The settings of a run of a model with steps of equal length."""

    options: Annotated[Mapping[str, Any] | None, OPTIONS] = None
    values: Annotated[Mapping[str, Any] | None, VALUES] = None


@dataclass(frozen=True, kw_only=True)
class RunSettings(ModelSettings):
    """The settings of a run."""

    tolerance: Annotated[float | None, TOLERANCE] = None
    output_interval: Annotated[float | None, OUTPUT_INTERVAL] = None

    @property
    def longest(self) -> float:
        """Longest step of a model's stepper, s."""
        return STEP if self.step is None else self.step

    def named(self) -> dict[str, Any]:
        """Return the settings that are not their defaults, by name."""
        return {item.name: value for item in fields(self) if (value := getattr(self, item.name)) != item.default}

    def of_model(self) -> dict[str, Any]:
        """Return the settings of a run of a model by name, defaults as numbers, without its values."""
        return {
            "stepper": self.stepper,
            "options": self.options,
            "step": self.longest,
            "tolerance": self.tolerance or 0.0,
            "coordinates": self.coordinates,
            "output_interval": self.output_interval,
            "inputs": self.inputs,
            "input_hold": self.input_hold,
        }
