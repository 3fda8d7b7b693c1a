"""The limits of the loops that run a kernel, and of the messages on its runs: Python and C read this one table."""

from collections.abc import Mapping

MAX_CORRECTIONS = 40
"""Number of corrections of a stage after which it counts as not converged."""
ROUND_OFF = 1e-14
"""Estimated error of the unknowns at which a stage counts as solved."""
STALLED = 1e-9
"""Size below which corrections that no longer shrink are round-off."""
SLOW = 0.2
"""Ratio of a correction to the one before above which the matrices of decoupled nodes are linearised again."""
HALF_UNIT = 2.0**-53
"""Largest relative error of a number that is rounded."""
QUICK_CORRECTIONS = 2
"""Number of corrections of a stage after which a change within the rounding errors of the coordinates also ends them:
until then only an estimated error below `ROUND_OFF` does."""
STALLED_UNITS = 1000.0
"""Size below which corrections that no longer shrink are round-off, in rounding errors of the coordinates."""
MAX_HALVINGS = 6
"""Largest number of times a failed step is halved: it is retried in up to 2^6 substeps."""
LOST = 1e50
"""Size from which a state is meaningless, though it is still finite."""
SAFETY = 0.85
"""Ratio of a chosen step to the step that is expected to meet the tolerance."""
WORST = 5.0
"""Largest factor by which a chosen step shrinks at once."""
BEST = 4.0
"""Largest factor by which a chosen step grows at once."""
SHORTEST = 1e-9
"""Smallest ratio of a chosen step to the span."""
SHORTEST_SLIDING = 1e-13
"""The same where modes change: a slip in space turns ever faster before it ends."""
CLOSE = 1e-9
"""Relative distance from the end of the span within which a step ends there."""
CONSISTENT = 1e-9
"""Largest residual of a consistent start, and how far below 0 a gap may start."""
MOST_STEPS = 10_000_000
"""Largest number of steps in one communication step: a few minutes of work, after which a master gets an answer."""
MOST_EVENTS = 10_000
"""Largest number of events in one communication step: more are taken for an endless sequence."""
LATE = 1e-12
"""Value of a guard below zero, N, N.m, m, rad, m/s or rad/s, at which a solver of its own finds an event."""
MARGIN = 1e-7
"""The same where the guard begins at zero, as that of a gap that its force has just left at zero: a solver's errors are
larger there than the guard."""
MOST_CHANGES = 100
"""Largest number of changes of modes at one instant, where a solver of its own finds the events."""
SLIVER = 1e-3
"""Part of the longest step below which a communication step is none that others follow, where there are events."""
NUDGE = 1e-12
"""Part of a step within which events in a row, from the third on, make no progress: each then continues by four times
as much as the one before."""
CROWDED = 200
"""Number of events in a communication step after which progress by less than `CREEP` does not count either: a gap that
next to no force opens stays zero but for round-off for longer than `NUDGE`."""
CREEP = 1e-6
"""Part of a step within which events make no progress where they are crowded."""
EVENT_TRIALS = 200
"""Largest number of steps tried to find the time of an event."""
ARMED = 1e-14
"""Value of a guard, N, N.m, m, rad, m/s or rad/s, up to which its sign at the start of a step may be round-off: it must
fall as far below zero then. Open gaps are left out: bounces end by the round-off of their own gap."""
JUMPED = -1e-9
"""Value of a guard, N, N.m, m or rad, below which an input has jumped so far that the modes no longer hold."""
MAX_TANGENT_CORRECTIONS = 400
"""Number of corrections of a tangent after which it counts as unknown."""
TANGENT_SETTLED = 1e-15
"""Relative change at which a tangent is at rest."""
GRAZING = 1e-6
"""Rate at which a guard falls at an event, relative to its mean rate in the step up to there, below which the event may
as well not come: a change of its time is unknown."""
TOGETHER = 1e-6
"""Relative difference of the changes of the times of two events at once above which one comes before the other."""

LIMIT_SHARE = 0.9
"""Part of the longest step at which errors do not grow that a step may have: forces may become stiffer in a motion."""
NEARBY = 1e-6
"""Difference of two states, relative to 1 and to their size, by which the growth of errors is found."""
COUNTED = 8
"""Number of steps by which the growth of errors is judged, as many as those that they are compared with; twice as many
before these bring the error to the fore that grows most."""
GROWN = 1.15
"""Factor by which these multiply an error that grows."""
GROWN_STRAIGHT = 1.5**COUNTED
"""The same for one that keeps its direction, as those do that grow in a motion itself."""
DIRECTED = 0.5
"""Mean cosine between an error and the next one above which errors keep their direction."""
MOST_HALVED = 20
"""Largest number of halvings of a step that is too long."""
BISECTIONS = 7
"""Number of steps tried to find the limit between two of which one is half the other."""

NOTICEABLE = 0.01
"""Error of the energy that gives a notice, as a part of the energy that the motion exchanges."""
UNNOTICED = 1e-9
"""Error of the energy that gives none, as a part of the potential energy, which is large where its zero is far away."""
PERSISTENT = 5
"""Number of communication steps in a row after which an error of the energy gives a message: a motion that begins from
rest has exchanged next to nothing after the first ones."""
FIRST_JUDGED = 100
"""Number of steps after which the estimated error of a run gives a message for the first time: a motion that begins
from rest has no range to speak of after the first ones."""
DRIFTED = 1e-6
"""Residual of the constraints on the coordinates that gives a notice."""
HOPELESS = 1e12
"""Ratio of a state to its usual size that gives a notice."""
INSIDE = 1e-3
"""Depth of a gap below zero, m or rad, that gives a notice."""

MACROS: Mapping[str, float] = {
    "MAX_CORRECTIONS": MAX_CORRECTIONS,
    "ROUND_OFF": ROUND_OFF,
    "STALLED": STALLED,
    "SLOW": SLOW,
    "HALF_UNIT": HALF_UNIT,
    "QUICK_CORRECTIONS": QUICK_CORRECTIONS,
    "STALLED_UNITS": STALLED_UNITS,
    "MAX_HALVINGS": MAX_HALVINGS,
    "LOST": LOST,
    "SAFETY": SAFETY,
    "WORST": WORST,
    "BEST": BEST,
    "SHORTEST": SHORTEST,
    "SHORTEST_SLIDING": SHORTEST_SLIDING,
    "CLOSE": CLOSE,
    "CONSISTENT": CONSISTENT,
    "MOST_STEPS": MOST_STEPS,
    "MOST_EVENTS": MOST_EVENTS,
    "LATE": LATE,
    "MARGIN": MARGIN,
    "MOST_CHANGES": MOST_CHANGES,
    "SLIVER": SLIVER,
    "NUDGE": NUDGE,
    "CROWDED": CROWDED,
    "CREEP": CREEP,
    "EVENT_TRIALS": EVENT_TRIALS,
    "ARMED": ARMED,
    "JUMPED": JUMPED,
    "MAX_TANGENT_CORRECTIONS": MAX_TANGENT_CORRECTIONS,
    "TANGENT_SETTLED": TANGENT_SETTLED,
    "GRAZING": GRAZING,
    "TOGETHER": TOGETHER,
    "LIMIT_SHARE": LIMIT_SHARE,
    "NEARBY": NEARBY,
    "COUNTED": COUNTED,
    "GROWN": GROWN,
    "GROWN_STRAIGHT": GROWN_STRAIGHT,
    "DIRECTED": DIRECTED,
    "MOST_HALVED": MOST_HALVED,
    "BISECTIONS": BISECTIONS,
    "NOTICEABLE": NOTICEABLE,
    "UNNOTICED": UNNOTICED,
    "PERSISTENT": PERSISTENT,
    "FIRST_JUDGED": FIRST_JUDGED,
    "DRIFTED": DRIFTED,
    "HOPELESS": HOPELESS,
    "INSIDE": INSIDE,
}
"""The limits, by the names of their macros in C."""
