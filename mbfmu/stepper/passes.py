"""Gauss-Seidel passes over contacts: each that acts gets in its turn the impulses that its own laws ask for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import casadi as ca

from mbfmu.dae.events.modes import eliminated
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.parts.gaps import Switches
from mbfmu.stepper.scheme import SX

PASSES = 16
"""Number of passes over all contacts in each correction."""
EXTRAPOLATED = 8
"""Number of passes, the last ones, whose changes an extrapolation combines."""
REGULAR = 1e-13
"""Diagonal added to the matrix of an extrapolation, relative to its trace; it is singular if passes differ little."""
AT_REST = 1e-200
"""Squared change added to the trace of that matrix, so that it is not divided by zero once passes change nothing."""
JAMMED = 2.0
"""Impulse of a bounce, over that of the same impact alone without friction, above which its restitution is reduced."""
YIELDING = 0.3
"""Fraction of the excess of such an impulse, as a rate, by which the speed of the bounce is reduced."""


class Numbers(NamedTuple):
    """Numbers that a pass takes besides impulses and rates: CasADi columns.

    Args:
        W: nonzeros of the rows of gaps and slip velocities, shape (r, n).
        Y: nonzeros of the changes of rates by an impulse of each row, shape (n, r), in units of its own mass.
        own_mass: mass that each row moves on its own, shape (r,).
        offset: rates of the rows without rates of the coordinates, shape (r,).
        bound: least rates of the gaps at the end of the step, shape (r_N,).
        most: impulses of bounces beyond which they yield, shape (r_N,), in units of their own masses.
        active: whether a gap acts, shape (r_N,).
        bounces: whether it bounces, shape (r_N,).
        slow: whether a slip velocity rests at the start of the step, shape (r_T,).
        speed: slip velocities at the start of the step, shape (r_T,).
        limit: limits of frictions without a gap, shape (r_T,), N.s.
    """

    W: Any
    Y: Any
    own_mass: Any
    offset: Any
    bound: Any
    most: Any
    active: Any
    bounces: Any
    slow: Any
    speed: Any
    limit: Any


@dataclass(frozen=True)
class Touch:
    """A gap with the frictions that it presses, or a friction without a gap.

    Args:
        gap: number of the gap, or None.
        groups: numbers of the slip velocities of each friction.
        columns: numbers of the coordinates that it moves or is moved by.
    """

    gap: int | None
    groups: tuple[tuple[int, ...], ...]
    columns: tuple[int, ...]

    def rows(self, r_N: int) -> list[int]:
        """Return the numbers of its rows, gaps counted first."""
        of_gap = [] if self.gap is None else [self.gap]
        return of_gap + [r_N + j for group in self.groups for j in group]


class Passes:
    """The functions of passes over all contacts. Impulses are in units of the rates that they change.

    Args:
        switches: gaps and frictions.
        W: pattern of their rows, shape (r, n).
        Y: pattern of the changes by their impulses, shape (n, r).
        n_p: number of parameters.

    Attributes:
        order: numbers of the rows in the order of the impulses: contact by contact.
    """

    def __init__(self, switches: Switches, W: Any, Y: Any, n_p: int) -> None:
        self._switches, self._W, self._Y, self._n_p = switches, W, Y, n_p
        r_N, r_T, r, self._n = len(switches.gaps), len(switches.frictions), W.size1(), W.size2()
        self._r_N, self._r = r_N, r
        sizes = Numbers(W.nnz(), Y.nnz(), r, r, r_N, r_N, r_N, r_N, r_T, r_T, r_T)
        self._sizes = sizes
        self._begin = Numbers(*list(accumulate(sizes, initial=0))[:-1])
        self._along = _by_line(zip(W.row(), W.get_col(), strict=True), r)
        self._across = _by_line(zip(Y.get_col(), Y.row(), strict=True), r)
        self._touches = list(self._in_turn())
        self.order = [row for touch in self._touches for row in touch.rows(r_N)]
        self._chunks = [self._places(touch) for touch in self._touches]
        self._packed = [index for chunk in self._chunks for index in chunk]

    def pack(self, numbers: Numbers) -> SX:
        """Return the numbers as one column, contact by contact."""
        return ca.vertcat(*numbers)[self._packed]

    def unpack(self, data: SX, places: Sequence[int] | None = None) -> Numbers:
        """Return the numbers that a column holds, that of all contacts or, with its places, of one: zeros elsewhere."""
        whole = ca.SX.zeros(sum(self._sizes))
        whole[self._packed if places is None else places] = data
        return Numbers(*parts_of(whole, self._sizes))

    def symbols(self) -> tuple[SX, Numbers]:
        """Return symbols of the numbers, as one column and in parts."""
        data = ca.SX.sym("data", len(self._packed))
        return data, self.unpack(data)

    def rows(self, numbers: Numbers) -> SX:
        """Return the rows of gaps and slip velocities, shape (r, n)."""
        return ca.SX(self._W, numbers.W)

    def limit(self, touch: Touch, group: Sequence[int], numbers: Numbers, w_N: SX, p: SX, t: SX, h: SX) -> SX:
        """Return the limit of the impulse of a friction, in units of its own mass.

        Args:
            touch: where it acts.
            group: numbers of its slip velocities.
            numbers: what holds in the step.
            w_N: impulse of its gap.
            p: parameters.
            t: time, s.
            h: step, s.
        """
        j, own_mass = group[0], numbers.own_mass[self._r_N + group[0]]
        if touch.gap is None:
            return numbers.limit[j] / own_mass
        N, speed = ca.SX.zeros(self._sizes.slow), ca.SX.zeros(self._sizes.slow)
        N[j], speed[j] = numbers.own_mass[touch.gap] * w_N / h, numbers.speed[j]
        static, sliding = self._switches.static(N, p, t)[j], self._switches.sliding(speed, N, p, t)[j]
        return h * ca.if_else(numbers.slow[j], static, sliding) / own_mass

    def moved(self, gaps_alone: bool) -> Any:
        """Return the Function (w, start, data) -> start + Y w, of all rows in their order or of the gaps."""
        data, numbers = self.symbols()
        start = ca.SX.sym("start", self._n)
        Y, count = ca.SX(self._Y, numbers.Y), self._r_N if gaps_alone else self._r
        w = ca.SX.sym("w", count)
        columns = list(range(count)) if gaps_alone else self.order
        return function_of("pushed" if gaps_alone else "moved", [w, start, data], [start + Y[:, columns] @ w])

    def on_velocities(self) -> Any:
        """Return the Function (w, v, data, p, t, h) -> w and v after a pass.

        Contacts that do not act have no impulses, and are left out.
        """
        w, v, data = ca.MX.sym("w", self._r), ca.MX.sym("v", self._n), ca.MX.sym("data", len(self._packed))
        p, t, h = ca.MX.sym("p", self._n_p), ca.MX.sym("t"), ca.MX.sym("h")
        parts, at = _split_alike([touch.columns for touch in self._touches], v)
        impulses = parts_of(w, [len(touch.rows(self._r_N)) for touch in self._touches])
        chunks = parts_of(data, [len(chunk) for chunk in self._chunks])
        known: dict[str, Any] = {}
        for k, touch in enumerate(self._touches):
            function, of_p = self._contact(touch, self._chunks[k])
            if touch.gap is not None:
                function = _where_it_acts(function, known)
            places = list(dict.fromkeys(at[column] for column in touch.columns))
            moved = ca.vertcat(*(parts[index] for index in places))
            acts = [chunks[k][0]] if touch.gap is not None else []
            impulses[k], moved = function(*acts, impulses[k], moved, chunks[k], p[of_p], t, h)
            sizes = [parts[index].numel() for index in places]
            for index, part in zip(places, parts_of(moved, sizes), strict=True):
                parts[index] = part
        return ca.Function("pass_v", [w, v, data, p, t, h], [ca.vertcat(*impulses), ca.vertcat(*parts)])

    def on_positions(self) -> Any:
        """Return the Function (tau, q, data, gaps) -> tau and q after a pass, with gaps W q + gaps."""
        data, numbers = self.symbols()
        tau, q, gaps = ca.SX.sym("tau", self._r_N), ca.SX.sym("q", self._n), ca.SX.sym("gaps", self._r_N)
        own_tau, own_q = tau.elements(), q.elements()
        # each gap in its turn: tau_i = max(0, tau_i - (W_i q + gap_i))
        for i in range(self._r_N):
            ahead = own_tau[i] - (self._rate(i, numbers, own_q) + gaps[i])
            self._change(i, ca.fmax(0, ahead), numbers, own_tau, own_q, i)
        return function_of("pass_q", [tau, q, data, gaps], [ca.vertcat(*own_tau), ca.vertcat(*own_q)])

    def impulses(self) -> Any:
        """Return the Function (forces, data, h) -> impulses of these mean forces, 0 where a contact does not act."""
        data, numbers = self.symbols()
        forces, h = ca.SX.sym("forces", self._r), ca.SX.sym("h")
        w = h * forces / numbers.own_mass
        for touch in self._touches:
            for row in touch.rows(self._r_N) if touch.gap is not None else ():
                w[row] = ca.if_else(numbers.active[touch.gap], w[row], 0)
        return function_of("impulses", [forces, data, h], [w[self.order]])

    def measured(self) -> Any:
        """Return the Function (v_1, w, data, p, t, h) -> mean forces of the rows, and residuals of the laws."""
        data, numbers = self.symbols()
        v, packed, p = ca.SX.sym("v", self._n), ca.SX.sym("w", self._r), ca.SX.sym("p", self._n_p)
        t, h, r_N = ca.SX.sym("t"), ca.SX.sym("h"), self._r_N
        w = ca.SX.zeros(self._r)
        w[self.order] = packed
        pressing, _ = parts_of(w, (r_N, self._r - r_N))
        # bounds of the gap rates, from which jammed bounces yield
        bound = numbers.bound - ca.if_else(numbers.bounces, YIELDING * ca.fmax(0, pressing - numbers.most), 0)
        rate = self.rows(numbers) @ v + numbers.offset
        signorini, coulomb, dissipation = [ca.SX(0)], [ca.SX(0)], [ca.SX(0)]
        # Signorini: min(w_i, rate_i - bound_i) = 0 for each gap that acts
        signorini += [
            ca.if_else(numbers.active[i], ca.fabs(ca.fmin(w[i], rate[i] - bound[i])), 0) for i in range(r_N)
        ]  # fmt: skip
        for touch in self._touches:
            w_N = w[touch.gap] if touch.gap is not None else ca.SX(0)
            for group in touch.groups:
                # Coulomb: |w_T| <= limit, and dissipation w_T . slip + limit |slip| = 0
                force, slip = (ca.vertcat(*(item[r_N + j] for j in group)) for item in (w, rate))
                largest = self.limit(touch, group, numbers, w_N, p, t, h)
                coulomb.append(ca.fmax(0, ca.norm_2(force) - largest))
                lost = ca.dot(force, slip) + largest * ca.norm_2(slip)
                dissipation.append(numbers.own_mass[r_N + group[0]] * ca.fabs(lost))
        residuals = (ca.mmax(ca.vertcat(*items)) for items in (signorini, coulomb, dissipation))
        return function_of("found", [v, packed, data, p, t, h], [ca.vertcat(numbers.own_mass * w / h, *residuals)])

    def _in_turn(self) -> Iterator[Touch]:
        """Yield the contacts in the order in which a pass takes them."""
        by_gap: dict[int | None, list[tuple[int, ...]]] = {}
        for group in self._switches.groups:
            by_gap.setdefault(self._switches.frictions[group[0]].gap, []).append(group)
        wanted = [(i, tuple(by_gap.get(i, ()))) for i in range(self._r_N)]
        for gap, groups in [*wanted, *((None, (group,)) for group in by_gap.get(None, ()))]:
            touch = Touch(gap, groups, ())
            entries = (line[row] for row in touch.rows(self._r_N) for line in (self._along, self._across))
            yield Touch(gap, groups, tuple(sorted({column for each in entries for column, _ in each})))

    def _places(self, touch: Touch) -> list[int]:
        """Return the places of a contact's numbers in all numbers; that it acts comes first."""
        begin, rows, gap = self._begin, touch.rows(self._r_N), touch.gap
        frictions = [j for group in touch.groups for j in group]
        indices = [] if gap is None else [begin.active + gap, begin.bounces + gap, begin.bound + gap, begin.most + gap]
        for row in rows:
            indices += [begin.W + k for _, k in self._along[row]] + [begin.Y + k for _, k in self._across[row]]
        indices += [offset + row for offset in (begin.own_mass, begin.offset) for row in rows]
        return indices + [offset + j for offset in (begin.slow, begin.speed, begin.limit) for j in frictions]

    def _contact(self, touch: Touch, places: list[int]) -> tuple[Any, list[int]]:
        """Return the Function (w, v, data, p, t, h) -> w and v of a contact, and the numbers of its parameters."""
        data, p, t, h = ca.SX.sym("data", len(places)), ca.SX.sym("p", self._n_p), ca.SX.sym("t"), ca.SX.sym("h")
        numbers = self.unpack(data, places)
        rows, r_N, i = touch.rows(self._r_N), self._r_N, touch.gap
        w, v = ca.SX.sym("w", len(rows)), ca.SX.sym("v", len(touch.columns))
        own_w, own_v = w.elements(), dict(zip(touch.columns, v.elements(), strict=True))

        def change(index: int, wanted: SX) -> None:
            self._change(rows[index], wanted, numbers, own_w, own_v, index)

        # gap: w_i = max(0, w_i - (W_i v + offset_i - bound_i)), of which a jammed bounce yields a part
        if i is not None:
            wanted = ca.fmax(0, own_w[0] - (self._rate(i, numbers, own_v) + numbers.offset[i] - numbers.bound[i]))
            more = ca.fmax(0, wanted - numbers.most[i])
            change(0, wanted - ca.if_else(numbers.bounces[i], YIELDING / (1 + YIELDING) * more, 0))
        # friction: w_T = projection of w_T - (W_T v + offset_T) onto the disk of radius limit
        for group in touch.groups:
            at = [rows.index(r_N + j) for j in group]
            ahead = [own_w[k] - (self._rate(rows[k], numbers, own_v) + numbers.offset[rows[k]]) for k in at]
            largest = self.limit(touch, group, numbers, own_w[0], p, t, h)
            size = ca.norm_2(ca.vertcat(*ahead))
            factor = ca.if_else(size > largest, largest / ca.if_else(size > 0, size, 1), 1)
            for k, item in zip(at, ahead, strict=True):
                change(k, factor * item)
        # the Function takes those parameters alone that its laws depend on
        results = [ca.vertcat(*own_w), ca.vertcat(*own_v.values())]
        of_p = sorted(set(ca.jacobian_sparsity(ca.vertcat(*results), p).get_col()))
        taken = ca.SX.sym("p", len(of_p))
        among = ca.SX.zeros(self._n_p)
        among[of_p] = taken
        return function_of("contact", [w, v, data, taken, t, h], ca.substitute(results, [p], [among])), of_p

    def _rate(self, row: int, numbers: Numbers, v: Any) -> SX:
        """Return the rate of a row; v: rates by the numbers of their coordinates."""
        return sum((numbers.W[k] * v[column] for column, k in self._along[row]), ca.SX(0))

    def _change(self, row: int, wanted: SX, numbers: Numbers, w: list[SX], v: Any, index: int) -> None:
        """Set the impulse of a row, which has this place in w, and change the rates with it."""
        step = wanted - w[index]
        for column, k in self._across[row]:
            v[column] = v[column] + numbers.Y[k] * step
        w[index] = wanted


def accelerated(sweep: Callable[[Any, Any], Any], moved: Any, w: Any, start: Any, data: Any) -> Any:
    """Return impulses after some passes and an extrapolation, which is taken only if a further pass changes it less.

    Args:
        sweep: a pass, (w, v) -> (w, v).
        moved: Function (w, start, data) -> v.
        w: impulses, MX.
        start: v without impulses, MX.
        data: numbers of the rows, MX.
    """
    # PASSES passes, of which the last EXTRAPOLATED changes are kept
    v, seen = moved(w, start, data), [w]
    for _ in range(PASSES):
        w, v = sweep(seen[-1], v)
        seen.append(w)
    last = seen[-1 - EXTRAPOLATED :]
    changes = ca.horzcat(*(after - before for before, after in pairwise(last)))
    # extrapolation: weights that make the combination of the changes smallest, sum of the weights 1
    R = ca.mtimes(changes.T, changes)
    R = R / (ca.trace(R) + AT_REST) + REGULAR * ca.DM.eye(EXTRAPOLATED)
    symbols = ca.SX.sym("R", EXTRAPOLATED, EXTRAPOLATED)
    weights = function_of("weights", [symbols], [eliminated(symbols, ca.SX.ones(EXTRAPOLATED))])(R)
    further = ca.mtimes(ca.horzcat(*last[1:]), weights / ca.sum1(weights))
    # take it only if a further pass changes it less than the last pass changed
    tried, _ = sweep(further, moved(further, start, data))
    better = ca.norm_1(tried - further) < ca.norm_1(changes[:, -1])
    return ca.if_else(better, tried, seen[-1])


def _where_it_acts(function: Any, known: dict[str, Any]) -> Any:
    """Return the Function that leaves w and v as they are where its first argument is 0; equal ones are one."""
    text = function.serialize()
    if text not in known:
        arguments = [ca.SX.sym(f"i{k}", function.sparsity_in(k)) for k in range(function.n_in())]
        known[text] = ca.Function.if_else("where", function, ca.Function("idle", arguments, arguments[:2]))
    return known[text]


def _split_alike(users: Sequence[Sequence[int]], v: Any) -> tuple[list[Any], list[int]]:
    """Return a column in parts whose entries have the same users, and the number of the part of each entry."""
    by_entry: list[list[int]] = [[] for _ in range(v.numel())]
    for k, entries in enumerate(users):
        for entry in entries:
            by_entry[entry].append(k)
    begins = [k for k in range(v.numel()) if k == 0 or by_entry[k] != by_entry[k - 1]]
    at = [sum(1 for begin in begins if begin <= k) - 1 for k in range(v.numel())]
    return list(ca.vertsplit(v, [*begins, v.numel()])), at


def _by_line(entries: Any, count: int) -> list[list[tuple[int, int]]]:
    """Return for each line the numbers across it and the numbers of the nonzeros, of pairs (line, across)."""
    pairs: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for k, (line, across) in enumerate(entries):
        pairs[line].append((across, k))
    return pairs


def parts_of(column: Any, sizes: Sequence[int]) -> list[Any]:
    """Return a column in parts of these sizes."""
    return list(ca.vertsplit(column, [0, *accumulate(sizes)]))


def function_of(name: str, arguments: list[SX], results: list[SX]) -> Any:
    """Return the Function with dense results and common subexpressions found once."""
    return merged(name, arguments, [ca.densify(item) for item in results])
