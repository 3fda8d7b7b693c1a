"""Jacobians of residuals: forward, or by elimination of what lies between variables and values.

The partial derivatives of each operation are the edges of a graph from the variables to the values. An operation j is
eliminated by an edge from each of its operands i to each of its users k,

    c_ki += c_kj c_ji,

until edges lead from variables to values alone: these are the Jacobian. The next operation is one with the fewest pairs
of operand and user (Griewank & Walther, Evaluating Derivatives, 2008, ch. 9, after Markowitz).
"""

import heapq
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import casadi as ca

from mbfmu.dae.linear_algebra.merged import LONG

FORWARD = {"helper_options": {"ad_weight": 0}}
"""CasADi's options for a Jacobian column by column: it supposes that a row takes twice the work of a column."""
Edge = Any
"""The number 1 or -1, or an SX scalar."""


def jacobian_of(value: Any, variables: Any) -> Any:
    """Return the Jacobian of a column of values in fewer operations than `casadi.jacobian`.

    Rows, from the values back, take two to five times the operations of columns where the values come out of a
    recursion along a tree, as its first steps depend on few variables; CasADi's own choice goes by the shape alone.
    Elimination takes half to nine tenths of those of columns, and is taken of long functions of numbers without
    conditions. With these it would have to come after all that they depend on, as they hold back derivatives without a
    value, such as that of a root at 0: that takes more than columns.

    Args:
        value: SX or MX, shape (m,).
        variables: SX or MX symbols, shape (n,).

    Returns:
        The Jacobian, shape (m, n).
    """
    forward = ca.jacobian(value, variables, FORWARD)
    if not isinstance(value, ca.SX):
        return forward
    own = {item.element_hash() for item in ca.vertsplit(variables)}
    others = [item for item in ca.symvar(value) if item.element_hash() not in own]
    inputs = [variables, ca.vertcat(ca.SX(0, 1), *others)]
    function = ca.Function("value", inputs, [ca.densify(value)])
    codes = (function.instruction_id(k) for k in range(function.n_instructions()))
    if function.n_instructions() < LONG or ca.OP_IF_ELSE_ZERO in codes:
        return forward
    eliminated = _Elimination(function, ca.vertsplit(variables), others).jacobian()
    return min(forward, eliminated, key=lambda item: ca.Function("slopes", inputs, [item]).n_instructions())


class _Elimination:
    """The graph of partial derivatives of a Function (variables, others) -> values.

    Nodes 0, 1, ... are the variables, then come operations, and after each its values.

    Args:
        function: CasADi SX Function without conditions.
        variables: the entries of its first argument, SX symbols.
        others: those of the second.
    """

    def __init__(self, function: Any, variables: list[Any], others: list[Any]) -> None:
        self._shape = function.numel_out(0), len(variables)
        self._from: list[dict[int, Edge]] = [{} for _ in variables]
        self._to: list[dict[int, Edge]] = [{} for _ in variables]
        self._values: dict[int, int] = {}  # row of each node that is a value
        self._read(function, (variables, others))

    def jacobian(self) -> Any:
        """Return the Jacobian."""
        self._eliminate()
        columns = (((column, row), edge) for at, row in self._values.items() for column, edge in self._from[at].items())
        entries = dict(sorted(columns, key=lambda item: item[0]))
        pattern = ca.Sparsity.triplet(*self._shape, [row for _, row in entries], [column for column, _ in entries])
        return ca.SX(pattern, ca.vertcat(ca.SX(0, 1), *entries.values()))

    def _read(self, function: Any, symbols: tuple[list[Any], list[Any]]) -> None:
        """Make the nodes and edges of all operations that depend on the variables; equal operations are one."""
        register: dict[int, tuple[Any, int, int]] = {}  # value, node (-1: it depends on no variable), and index
        equal: dict[tuple[int | str, ...], tuple[Any, int, int]] = {}
        for k in range(function.n_instructions()):
            code, filled = function.instruction_id(k), function.instruction_output(k)
            taken = [] if code == ca.OP_CONST else function.instruction_input(k)
            if code == ca.OP_CONST:
                value = function.instruction_constant(k)
                made = equal.setdefault((code, value.hex()), (ca.SX(value), -1, len(equal)))
            elif code == ca.OP_INPUT:
                node = -1 if taken[0] else taken[1]
                made = equal.setdefault((code, *taken), (symbols[taken[0]][taken[1]], node, len(equal)))
            elif code == ca.OP_OUTPUT:
                node = register[taken[0]][1]
                if node >= 0:
                    self._values[self._node({node: 1})] = filled[1]
                continue
            else:
                operands = [register[item] for item in taken]
                key = (code, *(index for _, _, index in operands))
                made = equal.get(key) or (*self._operation(code, operands), len(equal))
                equal[key] = made
            register[filled[0]] = made

    def _operation(self, code: int, operands: list[tuple[Any, int, int]]) -> tuple[Any, int]:
        """Return the value of an operation, and its node."""
        values = [value for value, _, _ in operands]
        result = _operated(code, values)
        if all(node < 0 for _, node, _ in operands):
            return result, -1
        edges: dict[int, Edge] = {}
        slopes = KNOWN[code](*values) if code in KNOWN else _derivatives(code, len(values)).call(values)
        for (_, node, _), slope in zip(operands, slopes, strict=True):
            if node >= 0 and (isinstance(slope, int) or slope.nnz()):
                edges[node] = _sum(edges[node], slope) if node in edges else slope
        return result, self._node(edges) if edges else -1

    def _node(self, edges: dict[int, Edge]) -> int:
        """Make a node with edges from its operands."""
        node = len(self._from)
        self._from.append(edges)
        self._to.append({})
        for operand, edge in edges.items():
            self._to[operand][node] = edge
        return node

    def _eliminate(self) -> None:
        """Remove all operations, those with the fewest pairs of operand and user first."""
        left = {node for node in range(self._shape[1], len(self._from)) if node not in self._values}
        queue = [(self._pairs(node), node) for node in left]
        heapq.heapify(queue)
        while queue:
            pairs, node = heapq.heappop(queue)
            if node not in left:
                continue
            if self._pairs(node) > pairs:  # it has grown meanwhile
                heapq.heappush(queue, (self._pairs(node), node))
                continue
            left.discard(node)
            for other in self._without(node):
                if other in left:
                    heapq.heappush(queue, (self._pairs(other), other))

    def _pairs(self, node: int) -> int:
        """Return the number of pairs of operand and user of a node."""
        return len(self._from[node]) * len(self._to[node])

    def _without(self, node: int) -> Iterator[int]:
        """Remove a node, and yield those whose edges have changed."""
        operands, users = self._from[node], self._to[node]
        self._from[node], self._to[node] = {}, {}
        for operand in operands:
            del self._to[operand][node]
        for user, outer in users.items():
            edges = self._from[user]
            del edges[node]
            for operand, inner in operands.items():
                edge = _product(outer, inner)
                if operand in edges:
                    edge = _sum(edges[operand], edge)
                edges[operand] = self._to[operand][user] = edge
        yield from operands
        yield from users


def _product(a: Edge, b: Edge) -> Edge:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, int):
            return other if one == 1 else -other
    return _operated(ca.OP_MUL, [a, b])


def _sum(a: Edge, b: Edge) -> Edge:
    return _operated(ca.OP_ADD, [ca.SX(item) if isinstance(item, int) else item for item in (a, b)])


KNOWN: dict[int, Callable[..., tuple[Edge, ...]]] = {
    ca.OP_ADD: lambda _x, _y: (1, 1),
    ca.OP_SUB: lambda _x, _y: (1, -1),
    ca.OP_NEG: lambda _x: (-1,),
    ca.OP_MUL: lambda x, y: (y, x),
}
"""Partial derivatives of the commonest operations."""


def _operated(code: int, operands: list[Any]) -> Any:
    """Return the result of an operation of CasADi's."""
    return ca.SX.unary(code, *operands) if len(operands) == 1 else ca.SX.binary(code, *operands)


@cache
def _derivatives(code: int, count: int) -> Any:
    """Return the Function of the partial derivatives of an operation of CasADi's."""
    operands = [ca.SX.sym(f"x{k}") for k in range(count)]
    result = _operated(code, operands)
    return ca.Function("slopes", operands, [ca.jacobian(result, operand) for operand in operands])
