"""What is asked of mbfmu: ratios to the peers, measured in one run on one machine."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.measure import Row

OURS = "mbfmu"
LENT = "pinocchio C++ lent"
"""Pinocchio's accelerations in integrators lent by us, as it has none: shown, but no target is held against it."""
GENERATED = "pinocchio generated C"
"""Pinocchio's accelerations as C that it generates, as our own are: its own targets are held against it."""
ROUND_OFF = 1e-12
"""Residual up to which constraints count as met: our runs must meet them, the peers' need not."""

Choice = Callable[[Row], bool]


@dataclass(frozen=True)
class Target:
    """A ratio that is asked for.

    Args:
        task: name.
        what: is compared, in words.
        key: the column that costs.
        chosen: the rows of both sides that count.
        peers: engines; empty: all.
        asked: the cheapest row of the peers over our cheapest one, at least.
    """

    task: str
    what: str
    key: str
    chosen: Choice
    peers: tuple[str, ...]
    asked: float


@dataclass(frozen=True)
class Growth:
    """How much a step may cost more where a chain is four times as long.

    Args:
        kind: planar or spatial.
        asked: cost with 128 over cost with 32 links, at most.
    """

    kind: str
    asked: float


def holds(row: Row) -> bool:
    """Return whether a row counts: the peers' do, ours with both constraint levels at round-off."""
    return row.engine != OURS or max(row.phi, row.phidot) <= ROUND_OFF


def rk4(row: Row) -> bool:
    """Return whether a row is RK4, ours projected where there are loops, with a step that was given."""
    named = row.scheme.lower().startswith(("rk4", "direct method=rk4", "projected order=4"))
    return not row.target and named and row.coordinates == "joint" and holds(row)


def second_order(row: Row) -> bool:
    """Return whether a row is an implicit method of order 2 in absolute coordinates with a step that was given."""
    implicit = ("rattle", "generalized", "trapezoidal")
    return not row.target and row.coordinates == "absolute" and row.scheme.startswith(implicit)


def reached(target: float) -> Choice:
    """Return what tells whether a row reaches an error."""

    def chosen(row: Row) -> bool:
        return row.target == target and holds(row)

    return chosen


def runge_kutta(row: Row) -> bool:
    """Return whether a row's method is of one step and explicit, with an error of 1e-5."""
    return reached(1e-5)(row) and not row.scheme.startswith(
        ("direct method=ab", "projected order=7", "rattle", "gauss", "radau")
    )


ENGINES = ("exudyn", "mujoco", "drake")
TARGETS: tuple[Target, ...] = (
    Target("two_link", "us of an RK4 step", "us_per_step", rk4, (), 8.0),
    Target("arm6", "us of an RK4 step", "us_per_step", rk4, (), 8.0),
    *(
        Target(f"chain_spatial {N}", "us of an RK4 step", "us_per_step", rk4, ("pinocchio C++",), 5.0)
        for N in (32, 128)
    ),
    *(
        Target(task, "us of an RK4 step", "us_per_step", rk4, (GENERATED,), 2.5)
        for task in ("two_link", "arm6", "chain_spatial 32")
    ),
    Target("two_link", "ms to 1e-05, Runge-Kutta", "ms", runge_kutta, (), 20.0),
    *(
        Target("two_link", f"ms to {error:g}, {which}", "ms", reached(error), peers, 20.0)
        for error in (1e-5, 1e-9)
        for peers, which in (((), "all peers"), (ENGINES, "engines"))
    ),
    *(
        Target(task, "ms to 1e-06", "ms", reached(1e-6), peers, asked)
        for task, engines in (("slider_crank", 300.0), ("four_bar", 200.0))
        for peers, asked in ((("pinocchio C++",), 20.0), (ENGINES, engines))
    ),
    *(
        Target(
            f"chain_{kind} {N}", "us of an implicit step of order 2", "us_per_step", second_order, ("exudyn",), asked
        )
        for kind, asked in (("planar", 3.0), ("spatial", 8.0))
        for N in (8, 32, 128)
    ),
    *(Target("andrews", f"ms to {error:g}", "ms", reached(error), (), 10.0) for error in (1e-6, 1e-9)),
)
GROWTHS = (Growth("planar", 4.4), Growth("spatial", 4.4))
NAMES = ("task", "what", OURS, "by", "engine", "its best", "which", "times faster", "asked", "verdict")


def verdicts(rows: Sequence[Row]) -> list[list[str]]:
    """Return a line for each target that the rows let one judge."""
    found = [line for target in TARGETS if (line := _judged(target, rows))]
    return found + [line for growth in GROWTHS if (line := _grown(growth, rows))]


def _judged(target: Target, rows: Sequence[Row]) -> list[str] | None:
    def cost(row: Row) -> float:
        return float(getattr(row, target.key))

    here = [row for row in rows if row.task == target.task and target.chosen(row)]
    ours = min((row for row in here if row.engine == OURS), key=cost, default=None)
    others = {row.engine for row in rows if not row.engine.startswith(OURS)} - {LENT, GENERATED}
    peer = min((row for row in here if row.engine in (target.peers or others)), key=cost, default=None)
    if ours is None or not any(row.task == target.task and row.engine in (target.peers or others) for row in rows):
        return None
    mine = [target.task, target.what, f"{cost(ours):.3g}", f"{ours.scheme}, {ours.coordinates}"]
    if peer is None:
        return [*mine, ", ".join(target.peers), "not reached", "", "", f"{target.asked:g}", "met"]
    times = cost(peer) / cost(ours)
    return [
        *mine, peer.engine, f"{cost(peer):.3g}", f"{peer.scheme}, {peer.coordinates}", f"{times:.1f}",
        f"{target.asked:g}", "met" if times >= target.asked else "missed",
    ]  # fmt: skip


def _grown(growth: Growth, rows: Iterable[Row]) -> list[str] | None:
    costs = {row.task: row.us_per_step for row in rows if row.engine == OURS and rk4(row)}
    short, long = (costs.get(f"chain_{growth.kind} {N}") for N in (32, 128))
    if short is None or long is None:
        return None
    return [
        f"chain_{growth.kind}", "RK4 step with 128 links over 32", f"{long / short:.2f}", "", "", "", "", "",
        f"at most {growth.asked:g}", "met" if long / short <= growth.asked else "missed",
    ]  # fmt: skip
