"""The stepper that is taken if none is named: a table, of which the first row that suits a model decides."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mbfmu.dae import Dae
from mbfmu.dae.vibration import Rates, fastest, fastest_with_states
from mbfmu.stepper import rattle
from mbfmu.stepper.explicit import RK4
from mbfmu.stepper.scheme import UNLIMITED, Limits, states_beside_motion

SHARE = 0.9
"""Fraction of the longest step without growing errors, up to which a stepper is the default."""
SLOWEST = 1e-3
"""Rate, rad/s or 1/s, up to which a motion counts as having none, as forces have round-off errors."""
RESOLVED = Limits(2.0, 2.0)
"""Steps up to which `projected` of order 8 has errors below 1e-4 in machines with states, a third of its limits, times
the fastest rate."""


class Usual(NamedTuple):
    """The stepper that is taken if none is named.

    Args:
        name: of the family.
        reason: why.
        least: step above which it is taken, s.
        most: longest step for which it is taken, s.
        options: those that are not the defaults of the family.
    """

    name: str
    reason: str
    least: float = 0.0
    most: float = math.inf
    options: Mapping[str, Any] = {}

    def suits(self, step: float) -> bool:
        """Return whether it is taken for steps of equal length of a length, s; 0: steps are chosen for a tolerance."""
        return self.least < step <= self.most or not step


class Candidate(NamedTuple):
    """A row of the table.

    Args:
        suits: whether it takes the equations.
        name: of the family.
        reason: why it is taken; `{below}` stands for the longest step.
        below: words before that step.
        options: those that are not the defaults of the family.
        rates: how fast a model moves; None: the step does not count.
        limits: longest step times these rates.
        instead: what is said of it if it follows a row whose step is too short; empty: the reason.
        equal: whether it is taken for steps of equal length only.
    """

    suits: Callable[[Dae], bool]
    name: str
    reason: str
    below: str = ""
    options: Mapping[str, Any] = {}
    rates: Callable[[Dae], Rates] | None = None
    limits: Limits = UNLIMITED
    instead: str = ""
    equal: bool = False

    @property
    def label(self) -> str:
        """The stepper as a user writes it."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.options.items())])


DAMPS = "may be stiff, and radau damps what the step cannot resolve"
TABLE: tuple[Candidate, ...] = (
    Candidate(lambda dae: not dae.n, "radau", f"a block of first-order equations {DAMPS}"),
    Candidate(
        lambda dae: states_beside_motion(dae) and not dae.switching, "projected",
        "the motion and its first-order states are slow enough for the step, and projected of order 8 has the least "
        "error at its cost{below}",
        below=" up to steps of", options={"order": 8}, rates=fastest_with_states, limits=RESOLVED, equal=True,
    ),
    Candidate(
        states_beside_motion, "radau", f"first-order states beside a motion {DAMPS}",
        instead="radau has no such limit and damps what the step cannot resolve",
    ),
    Candidate(
        lambda dae: bool(dae.switches and dae.switches.undetermined), "moreau",
        "several frictions in space need not have unique forces, and moreau steps with any of them",
    ),
    Candidate(
        lambda dae: dae.k > 0, "projected",
        "the constraints are nonholonomic, and projected keeps them to round-off at the least cost",
    ),
    Candidate(
        lambda dae: not (dae.switching or dae.equations.resisting), "projected",
        "no spring, damper or the like can be stiff, and projected is the most accurate at its cost",
    ),
    Candidate(
        lambda dae: dae.switching is not None, "projected",
        "what hits, sticks and stops is met as exactly as the motion between its events, and projected is the "
        "most accurate at its cost{below}",
        below=" up to steps of", rates=fastest, limits=Limits(*(SHARE * limit for limit in RK4.limits)),
    ),
    Candidate(lambda dae: dae.switching is not None, "radau", "radau has no such limit"),
    Candidate(
        lambda _: True, "rattle",
        "rattle takes dampers that are stiff for the step{below}; if none is stiff, projected is more accurate at less "
        "cost (see mbfmu compare)",
        below=", and springs up to steps of", rates=fastest,
        limits=Limits(*(SHARE * limit for limit in rattle.LIMITS)),
    ),
    Candidate(
        lambda _: True, "generalized_alpha",
        "generalized_alpha has no such limit and damps what the step cannot resolve",
    ),
)  # fmt: skip
"""The rows in the order in which they are tried. Those with states were chosen by time at equal error, measured over
the library's machines (docs/choose_stepper.md)."""


def usual_stepper(dae: Dae, step: float) -> Usual:
    """Return the stepper that suits the structure of a model, and how fast it moves at its start.

    Args:
        dae: the equations.
        step: length of steps of equal length, s; 0 if steps are chosen for a tolerance.
    """
    before, least = "", 0.0
    for row in TABLE:
        if not row.suits(dae) or (row.equal and not step):
            continue
        rates = row.rates(dae) if row.rates else Rates()
        most = _longest(row.limits, rates)
        if step <= most:
            below = f"{row.below} {most:.3g} s" if most < math.inf else ""
            reason = before + ((before and row.instead) or row.reason.format(below=below))
            return Usual(row.name, reason, least, most, row.options)
        before, least = (f"{_too_fast(row.label, rates, most)}, and ", most) if most else ("", 0.0)
    raise AssertionError("the last row takes every model")


def _longest(limits: Limits, rates: Rates) -> float:
    """Return the longest step, s, whose products with the rates are within limits."""
    bounds = (limit / rate for limit, rate in zip(limits, rates, strict=True) if rate > SLOWEST)
    return min(bounds, default=math.inf)


def _too_fast(stepper: str, rates: Rates, most: float) -> str:
    """Return the reason why a stepper is not chosen."""
    vibrates = f"vibrates at up to {rates.vibration:.4g} rad/s" if rates.vibration > SLOWEST else ""
    settles = f"settles at up to {rates.decay:.4g} 1/s" if rates.decay > SLOWEST else ""
    fast = " and ".join(filter(None, (vibrates, settles)))
    return f"the mechanism {fast} where it starts, for which {stepper} needs steps of at most {most:.3g} s"
