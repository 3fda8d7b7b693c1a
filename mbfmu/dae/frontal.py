"""The Schur complement of many alike bodies, put together and eliminated front by front, in calls of few functions.

With C_e and M_e the columns and the block of body e, S = C M^-1 C^T is the sum of the bodies' shares C_e M_e^-1 C_e^T.
Rows that the same bodies share are eliminated together: the front of such rows holds the shares of bodies that touch
them and what the fronts before leave, and leaves a share to one later front (the multifrontal method: Duff & Reid, The
multifrontal solution of indefinite sparse symmetric linear equations, ACM TOMS 9, 1983). Bodies and fronts that are
alike call one function (see `alike`).
"""

import copy
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import casadi as ca

from mbfmu.dae import alike
from mbfmu.dae.alike import Argument, Calls, argument, columns, product, renamed
from mbfmu.model.frame import SX

FUNCTIONS = 0.5
"""Largest number of different fronts, relative to that of all, with which calls are worth it."""


@dataclass(frozen=True)
class Element:
    """A body as the constraints see it.

    Args:
        columns: numbers of its coordinates.
        groups: numbers of the constraints that it takes part in, in groups that the same bodies share.
    """

    columns: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """Numbers of all these constraints."""
        return tuple(row for group in self.groups for row in group)


@dataclass(frozen=True)
class Front:
    """Rows that are eliminated together, and those to which their elimination leaves a share.

    Args:
        own: numbers of the rows that are eliminated.
        later: numbers of the others.
        elements: numbers of the elements whose shares it takes.
        before: numbers of the fronts whose shares it takes.
        places: place among its rows of each row of these elements, and then of these fronts.
    """

    own: tuple[int, ...]
    later: tuple[int, ...]
    elements: tuple[int, ...]
    before: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]

    @property
    def key(self) -> Hashable:
        """The common part of alike fronts."""
        return len(self.own), len(self.later), self.places


@dataclass(frozen=True)
class Plan:
    """The elements and the fronts in their order.

    Args:
        elements: the elements.
        fronts: the fronts.
    """

    elements: tuple[Element, ...]
    fronts: tuple[Front, ...]


def plan_of(C: Any, bodies: Sequence[int]) -> Plan | None:
    """Return elements and fronts for the pattern of C; None if few fronts are alike.

    Args:
        C: CasADi Sparsity, shape (k, n).
        bodies: number of the body that each coordinate belongs to, shape (n,).
    """
    if len(set(bodies)) < alike.MANY or not C.size1():
        return None
    of: dict[int, list[int]] = defaultdict(list)
    for column, body in enumerate(bodies):
        of[body].append(column)
    touched: list[set[int]] = [set() for _ in range(C.size1())]
    for row, column in zip(*C.get_triplet(), strict=True):
        touched[row].add(bodies[column])
    groups: dict[frozenset[int], list[int]] = defaultdict(list)
    for row, bodies_of_row in enumerate(touched):
        groups[frozenset(bodies_of_row)].append(row)
    members = list(groups.values())
    of_body: dict[int, list[int]] = defaultdict(list)
    for number, among in enumerate(groups):
        for body in among:
            of_body[body].append(number)
    order = _order(len(members), of_body.values())
    place = {group: at for at, group in enumerate(order)}
    every = list(of)
    elements = [Element(tuple(of[body]), tuple(tuple(members[group]) for group in of_body[body])) for body in every]
    waiting: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))  # elements and fronts, by place
    for number, body in enumerate(every):
        if of_body[body]:
            waiting[min(place[group] for group in of_body[body])][0].append(number)
    fronts: list[Front] = []
    reach: list[set[int]] = []  # places of the groups that each front leaves a share to
    for at, group in enumerate(order):
        taken, before = waiting[at]
        share = {place[other] for number in taken for other in of_body[every[number]]}
        share |= {other for number in before for other in reach[number]}
        ahead = sorted(share - {at})
        own, later = members[group], [row for other in ahead for row in members[order[other]]]
        index = {row: k for k, row in enumerate((*own, *later))}
        sources = [elements[number].rows for number in taken] + [fronts[number].later for number in before]
        fronts.append(
            Front(
                tuple(own), tuple(later), tuple(taken), tuple(before),
                tuple(tuple(index[row] for row in rows) for rows in sources),
            )
        )  # fmt: skip
        reach.append(set(ahead))
        if ahead:
            waiting[ahead[0]][1].append(at)
    if len({front.key for front in fronts}) > FUNCTIONS * len(fronts):
        return None
    return Plan(tuple(elements), tuple(fronts))


def _order(count: int, cliques: Any) -> list[int]:
    """Return the order in which groups of rows are eliminated.

    Args:
        count: number of the groups.
        cliques: groups that one body joins, for each body.
    """
    pairs = {(a, b) for clique in cliques for a in clique for b in clique} | {(k, k) for k in range(count)}
    rows, columns = zip(*sorted(pairs), strict=True)
    return list(ca.Sparsity.triplet(count, count, rows, columns).amd())


class Fronts:
    """The factor of ``[M C^T; C 0]`` through that of S = C M^-1 C^T, with C, M and M^-1.

    Args:
        plan: elements and fronts for C.
        M: SX, block diagonal, shape (n, n); None: nothing is multiplied by it.
        inverse: M^-1, SX, block diagonal, shape (n, n).
        C: SX, shape (k, n).
        least: part of the diagonal of S below which a pivot counts as none.
        row_lengths: see `Dae`.
    """

    def __init__(
        self, plan: Plan, M: SX | None, inverse: SX, C: SX, least: float, row_lengths: Sequence[float]
    ) -> None:
        self._plan, self._functions, self._calls = plan, _Functions(), Calls()
        self.shape = C.shape
        self._C = [[argument(C[list(group), list(item.columns)]) for group in item.groups] for item in plan.elements]
        places = [list(item.columns) for item in plan.elements]
        self._inverse = [argument(inverse[own, own], distinct=True) for own in places]
        self._M = [] if M is None else [argument(M[own, own], distinct=True) for own in places]
        share = _weighed_share if row_lengths else _share
        shares = self._each(share, self._inverse)
        self._D: list[SX] = []
        self._L: list[SX] = []
        left: list[SX] = []
        for front in plan.fronts:
            given = [*(shares[number] for number in front.elements), *(left[number] for number in front.before)]
            bounds = [least * row_lengths[row] ** 2 if row_lengths else least for row in front.own]
            D, L, rest = self._functions.front(front, tuple(bounds), bool(row_lengths))(*given)
            self._D.append(D)
            self._L.append(L)
            left.append(rest)

    @property
    def masses(self) -> SX:
        """The entries of M that are no numbers."""
        return ca.vertcat(ca.SX(0, 1), *(block.given for block in self._M))

    @property
    def entries(self) -> SX:
        """The entries of all other parts that are no numbers."""
        return ca.vertcat(ca.SX(0, 1), *(block.given for block in self._blocks()), *self._D, *self._L)

    def with_entries(self, masses: SX, entries: SX) -> "Fronts":
        """Return the factor with other entries."""
        found = copy.copy(self)
        blocks = [block.given for block in self._blocks()]
        sizes = [item.numel() for item in (*blocks, *self._D, *self._L)]
        parts = iter(ca.vertsplit(entries, [0, *accumulate(sizes)]))
        found._C = [[block.renamed(next(parts)) for block in own] for own in self._C]
        found._inverse = [block.renamed(next(parts)) for block in self._inverse]
        found._D, found._L = [next(parts) for _ in self._D], [next(parts) for _ in self._L]
        found._M = renamed(self._M, masses)
        return found

    def times(self, x: SX) -> SX:
        """Return M x, shape (n,)."""
        return self._product(self._M, x)

    def mass_solve(self, f: SX) -> SX:
        """Return M^-1 f, shape (n,)."""
        return self._product(self._inverse, f)

    def columns(self, mu: SX) -> SX:
        """Return C^T mu, shape (n,)."""
        every = [
            self._calls(_columns, *own, *given) if own else ca.SX(len(item.columns), 1)
            for item, own, given in zip(self._plan.elements, self._C, self._groups(mu), strict=True)
        ]
        return self._placed(every)

    def constrained(self, free: SX, g: SX) -> tuple[SX, SX]:
        """Return (y, mu) from the solution without constraints, free = M^-1 f."""
        parts = self._columns(free)
        mu, _ = self._multipliers(self._each(_rows, parts), g, -1)
        return self._placed(self._each(_moved, self._groups(mu), self._inverse, parts)), mu

    def solve(self, f: SX, g: SX) -> tuple[SX, SX]:
        """Return (y, mu) with M y + C^T mu = f and C y = g."""
        free, shares = zip(*self._each(_free, self._inverse, self._columns(f)), strict=True)
        mu, _ = self._multipliers(shares, g, -1)
        return self._placed(self._each(_moved, self._groups(mu), self._inverse, map(argument, free))), mu

    def corrected(self, y: SX, y1: SX, mu: SX, f: SX, e: SX, gap: SX) -> tuple[SX, SX, SX, SX]:
        """Return (y + c, y1 + c1, mu + nu) and the 1-norm of (c, c1), see `SchurFactor.corrected`."""
        parts = self._columns(y)
        given = self._groups(mu), self._M, self._inverse, parts, self._columns(f), self._columns(e)
        free, apart, shares = zip(*self._each(_left, *given), strict=True)
        nu, better = self._multipliers(shares, gap, 1, mu)
        ended = self._inverse, map(argument, free), map(argument, apart), parts, self._columns(y1)
        new, new1, sizes = zip(*self._each(_corrected, self._groups(nu), *ended), strict=True)
        return self._placed(new), self._placed(new1), better, sum(sizes, ca.SX(0))

    def _product(self, blocks: Sequence[Argument], x: SX) -> SX:
        """Return the product of the matrix with these diagonal blocks and x, shape (n,)."""
        return self._placed([self._calls(product, *each) for each in zip(blocks, self._columns(x), strict=True)])

    def _blocks(self) -> list[Argument]:
        """Return the blocks of C and M^-1."""
        return [*(block for own in self._C for block in own), *self._inverse]

    def _columns(self, x: SX) -> list[Argument]:
        """Return the part of a column, shape (n,), that belongs to each element."""
        return columns(x, [item.columns for item in self._plan.elements])

    def _groups(self, mu: SX) -> list[list[Argument]]:
        """Return the parts of a column, shape (k,), that belong to the groups of each element."""
        parts = iter(columns(mu, [group for item in self._plan.elements for group in item.groups]))
        return [[next(parts) for _ in item.groups] for item in self._plan.elements]

    def _each(self, formula: Callable[..., SX], *given: Iterable[Argument | list[Argument]]) -> list[Any]:
        """Return a formula of the blocks of C_e, and of what is given for each element."""
        found = []
        for own, *rest in zip(self._C, *given, strict=True):
            found.append(self._calls(formula, *own, *(part for item in rest for part in _listed(item))))
        return found

    def _placed(self, parts: Sequence[SX]) -> SX:
        """Return the column, shape (n,), whose part for each element is given."""
        found = ca.SX.zeros(self.shape[1])
        found[[column for item in self._plan.elements for column in item.columns]] = ca.vertcat(*map(ca.densify, parts))
        return found

    def _multipliers(self, shares: Sequence[SX], g: SX, sign: Literal[-1, 1], mu: SX | None = None) -> tuple[SX, SX]:
        """Return nu with S nu = the sum of the shares of all elements + sign g, and mu + nu if mu is given.

        All have the shape (k,).
        """
        fronts = self._plan.fronts
        solved: list[SX] = []
        left: list[SX] = []
        parts = columns(g, [front.own for front in fronts]) if g.nnz() else []
        for number, front in enumerate(fronts):
            given = [part.given for part in parts[number : number + 1]] + [self._L[number]]
            given += [*(shares[each] for each in front.elements), *(left[each] for each in front.before)]
            z, share = self._functions.forward(front, sign if parts else 0)(*given)
            solved.append(z)
            left.append(share)
        begun = [] if mu is None else columns(mu, [front.own for front in fronts])
        nu, sums = ([ca.SX(0)] * self.shape[0] for _ in range(2))
        for number in reversed(range(len(fronts))):
            front = fronts[number]
            later = ca.vertcat(ca.SX(0, 1), *(nu[row] for row in front.later))
            given = [solved[number], self._D[number], self._L[number], later]
            given += [part.given for part in begun[number : number + 1]]
            for found, own in zip((nu, sums), self._functions.backward(front, bool(begun)).call(given), strict=False):
                for row, entry in zip(front.own, own.elements(), strict=True):
                    found[row] = entry
        return ca.vertcat(*nu), ca.vertcat(*sums)


def _listed(item: Argument | list[Argument]) -> list[Argument]:
    return item if isinstance(item, list) else [item]


def _triangle(matrix: SX) -> list[SX]:
    """Return the lower triangle of a matrix column by column."""
    return [matrix[row, column] for column in range(matrix.shape[0]) for row in range(column, matrix.shape[0])]


def _stacked(blocks: Sequence[SX], n: int) -> SX:
    """Return the blocks of C_e as one matrix of n columns."""
    return ca.vertcat(ca.SX(0, n), *blocks)


def _share(*given: SX) -> SX:
    """Return the lower triangle of C_e M_e^-1 C_e^T, from the blocks of C_e, and M_e^-1."""
    *blocks, inverse = given
    C = _stacked(blocks, inverse.shape[0])
    return ca.vertcat(ca.SX(0, 1), *_triangle(C @ (inverse @ C.T)))


def _weighed_share(*given: SX) -> SX:
    """Return the same and then the squares of the lengths of the rows of C_e."""
    return ca.vertcat(_share(*given), ca.sum2(_stacked(given[:-1], given[-1].shape[0]) ** 2))


def _rows(*given: SX) -> SX:
    """Return C_e x_e, from the blocks of C_e, and x_e."""
    *blocks, x = given
    return ca.densify(_stacked(blocks, x.shape[0]) @ x)


def _columns(*given: SX) -> SX:
    """Return C_e^T mu_e, from the blocks of C_e and those of mu_e."""
    half = len(given) // 2
    return ca.densify(ca.vertcat(*given[:half]).T @ ca.vertcat(*given[half:]))


def _free(*given: SX) -> tuple[SX, SX]:
    """Return y = M_e^-1 f and C_e y, from the blocks of C_e, M_e^-1, and f."""
    *blocks, inverse, f = given
    y = ca.densify(inverse @ f)
    return y, _rows(*blocks, y)


def _left(*given: SX) -> tuple[SX, SX, SX]:
    """Return c = M_e^-1 (f - M_e y - C_e^T mu_e), x = M_e^-1 (e - M_e y) and C_e (c - x / 2).

    They are given the blocks of C_e, those of mu_e, M_e, M_e^-1, y, f and e.
    """
    *parts, M, inverse, y, f, e = given
    half = len(parts) // 2
    C, mu = _stacked(parts[:half], y.shape[0]), ca.vertcat(ca.SX(0, 1), *parts[half:])
    My = M @ y
    c, x = ca.densify(inverse @ (f - My - C.T @ mu)), ca.densify(inverse @ (e - My))
    return c, x, ca.densify(C @ (c - x / 2))


def _moved(*given: SX) -> SX:
    """Return y - M_e^-1 C_e^T mu_e, from the blocks of C_e, those of mu_e, M_e^-1, and y."""
    *parts, inverse, y = given
    half = len(parts) // 2
    C, mu = _stacked(parts[:half], y.shape[0]), ca.vertcat(ca.SX(0, 1), *parts[half:])
    return ca.densify(y - inverse @ (C.T @ mu))


def _corrected(*given: SX) -> tuple[SX, SX, SX]:
    """Return y + c, y1 + c1 and the 1-norm of (c, c1), with c as of `_moved` and c1 = c - x.

    They are given what that takes, x, y and y1.
    """
    *parts, x, y, y1 = given
    c = _moved(*parts)
    c1 = c - x
    return y + c, y1 + c1, ca.norm_1(ca.vertcat(c, c1))


class _Functions:
    """The functions that elements and fronts call, each made once for all that are alike."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def front(self, front: Front, bounds: tuple[float, ...], weighed: bool) -> Any:
        """Return the Function (shares of elements and fronts) -> D, the columns of L below it, the share that is left.

        A share is a lower triangle, column by column; then, from a front, the sums of what all elements so far add to
        the diagonal; then, where weighed, those of the squares of the lengths of the rows. A pivot, where weighed times
        that square, that is not above its bound times the sum of its diagonal is NaN.

        Args:
            front: the front.
            bounds: bound of each pivot.
            weighed: whether lengths of rows count.
        """

        def make() -> Any:
            s, size = len(front.own), len(front.own) + len(front.later)
            F = [[ca.SX(0)] * size for _ in range(size)]
            diagonal, squares = [ca.SX(0)] * size, [ca.SX(0)] * size
            given = []
            for number, places in enumerate(front.places):
                of_element, count = number < len(front.elements), len(places)
                triangle = count * (count + 1) // 2
                share = ca.SX.sym("share", triangle + count * (not of_element) + count * weighed)
                given.append(share)
                entries = iter(share.elements())
                for j, column in enumerate(places):
                    for row in places[j:]:
                        low, high = max(row, column), min(row, column)
                        entry = next(entries)
                        F[low][high] = F[low][high] + entry
                        if row == column and of_element:
                            diagonal[row] = diagonal[row] + entry
                for sums in ([] if of_element else [diagonal], [squares] if weighed else []):
                    for each in sums:
                        for place in places:
                            each[place] = each[place] + next(entries)
            D, L = [], []
            for j in range(s):
                size_of_pivot = F[j][j] * squares[j] if weighed else F[j][j]
                D.append(ca.if_else(bounds[j] * diagonal[j] < size_of_pivot, F[j][j], math.nan))
                over = 1 / F[j][j]
                factor = [F[i][j] * over for i in range(j + 1, size)]
                L += factor
                for i in range(j + 1, size):
                    for k in range(j + 1, i + 1):
                        F[i][k] = F[i][k] - factor[i - j - 1] * F[k][j]
            share = [F[i][k] for k in range(s, size) for i in range(k, size)]
            share += diagonal[s:] + (squares[s:] if weighed else [])
            empty = ca.SX(0, 1)
            results = [ca.vertcat(empty, *D), ca.vertcat(empty, *L), ca.vertcat(empty, *share)]
            return alike.apart("front", given, [ca.densify(item) for item in results])

        return self._once(("front", front.key, len(front.elements), bounds, weighed), make)

    def forward(self, front: Front, sign: Literal[-1, 0, 1]) -> Any:
        """Return the Function (shares of elements and fronts) -> the solution with L, and the share that is left.

        Its arguments are, before the shares, the right side besides these, if there is any, and the columns of L.

        Args:
            front: the front.
            sign: that of this right side; 0: there is none.
        """

        def make() -> Any:
            s, size = len(front.own), len(front.own) + len(front.later)
            g, L = ca.SX.sym("g", s), _Panel(s, size)
            z = [*(sign * g).elements(), *[ca.SX(0)] * (size - s)]
            given = []
            for places in front.places:
                share = ca.SX.sym("share", len(places))
                given.append(share)
                for at, place in enumerate(places):
                    z[place] = z[place] + share[at]
            for j in range(s):
                for i in range(j + 1, size):
                    z[i] = z[i] - L[i, j] * z[j]
            left = ca.vertcat(ca.SX(0, 1), *z[s:])
            results = [ca.densify(ca.vertcat(*z[:s])), ca.densify(left)]
            return alike.apart("forward", [*([g] if sign else []), L.symbols, *given], results)

        return self._once(("forward", front.key, sign), make)

    def backward(self, front: Front, added: bool) -> Any:
        """Return the Function (z, D, L, the solution's later rows) -> its own rows.

        Args:
            front: the front.
            added: whether it is also given a column, and also gives the sum of that and these rows.
        """

        def make() -> Any:
            s, size = len(front.own), len(front.own) + len(front.later)
            z, D, L, later = ca.SX.sym("z", s), ca.SX.sym("D", s), _Panel(s, size), ca.SX.sym("later", size - s)
            x = [*(z / D).elements(), *later.elements()]
            for j in reversed(range(s)):
                for i in range(j + 1, size):
                    x[j] = x[j] - L[i, j] * x[i]
            own, begun = ca.vertcat(*x[:s]), ca.SX.sym("begun", s)
            given, found = [z, D, L.symbols, later], [own]
            return alike.apart(
                "backward", [*given, begun] if added else given, [*found, begun + own] if added else found
            )

        return self._once(("backward", len(front.own), len(front.later), added), make)


class _Panel:
    """Symbols of the columns of L below the diagonal."""

    def __init__(self, columns: int, rows: int) -> None:
        self.symbols = ca.SX.sym("L", sum(rows - 1 - j for j in range(columns)))
        self._first = [sum(rows - 1 - k for k in range(j)) for j in range(columns)]

    def __getitem__(self, place: tuple[int, int]) -> SX:
        row, column = place
        return self.symbols[self._first[column] + row - column - 1]
