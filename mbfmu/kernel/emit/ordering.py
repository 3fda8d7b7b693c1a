"""Straight code in an order in which a processor that takes several instances at a time seldom waits.

Operations on vectors take longer than those on numbers, so that such as need each other should not be neighbours; but
values that wait for their last use fill the registers. This is a list scheduler (Cooper and Torczon, Engineering a
Compiler, 12.3) that looks a bounded way ahead, and spares registers when many are in use.
"""

from collections.abc import Sequence

import casadi as ca

from mbfmu.kernel.emit.instructions import LEAVES, NEITHER

USUAL = 8
"""Number of operations that begin before the result of one is there: in four cycles, two in each."""
LATENCY = {ca.OP_DIV: 48, ca.OP_INV: 48, ca.OP_SQRT: 48, ca.OP_SIN: 150, ca.OP_COS: 150} | dict.fromkeys(NEITHER, 0)
"""The same for operations of other kinds than the usual ones, by CasADi's number."""
LENGTH = {ca.OP_SIN: 50, ca.OP_COS: 50}
"""Number of operations that those stand for which stand for more than one."""
AHEAD = 200
"""Number of operations among which the next one is chosen."""
FULL = 20
"""Number of values in use above which the next operation is one that ends the use of most."""


def ordered(codes: Sequence[int], operands: Sequence[Sequence[int]]) -> list[int]:
    """Return the numbers of instructions in the order in which they should be written.

    An argument or a constant comes where it is first used, and a result as soon as its value is known.

    Args:
        codes: CasADi's number of each instruction's operation.
        operands: numbers of the instructions whose values each one takes, which come before it.
    """
    # Operations that each one takes and that take it; the longest way from each to a result
    count = len(codes)
    taken = [set(used) for used in operands]
    computed_of = [[each for each in used if codes[each] not in LEAVES] for used in taken]
    users: list[list[int]] = [[] for _ in codes]
    for k, used in enumerate(taken):
        for each in used:
            users[each].append(k)
    to_end = [0] * count  # time from the start of an operation to the last result that depends on it
    for k in reversed(range(count)):
        to_end[k] = LATENCY.get(codes[k], USUAL) + max((to_end[user] for user in users[k]), default=0)
    # What each still waits for, how often its value is used, and when its operands are there
    missing = [len(used) for used in computed_of]
    uses = [len(each) for each in users]
    arrival = [0] * count  # when the operands are there
    written = [False] * count
    order: list[int] = []

    def write(k: int) -> None:
        written[k] = True
        order.append(k)

    def last_uses(k: int) -> int:
        return sum(uses[each] == 1 for each in computed_of[k])

    # One operation at a time: which may begin by now
    computed = [k for k, code in enumerate(codes) if code not in NEITHER]
    ready: list[int] = []
    now = in_use = seen = 0
    for done in range(len(computed)):
        new = computed[seen : done + AHEAD]
        ready += [k for k in new if not missing[k]]
        seen += len(new)
        now = max(now, min(arrival[k] for k in ready))
        possible = [k for k in ready if arrival[k] <= now]
        # The one with the longest way to a result; among many values in use, the one that ends most uses
        if in_use > FULL:
            chosen = max(possible, key=lambda k: (last_uses(k), to_end[k], -k))
        else:
            chosen = max(possible, key=lambda k: (to_end[k], -k))
        # It is written after its leaves
        ready.remove(chosen)
        for each in operands[chosen]:
            if not written[each]:
                write(each)
        write(chosen)
        in_use += 1 - last_uses(chosen)
        for each in taken[chosen]:
            uses[each] -= 1
        # Its users learn when its value is there; a result is written at once
        there = now + LATENCY.get(codes[chosen], USUAL)
        now += LENGTH.get(codes[chosen], 1)
        for user in users[chosen]:
            if codes[user] == ca.OP_OUTPUT:
                write(user)
                uses[chosen] -= 1
                continue
            arrival[user] = max(arrival[user], there)
            missing[user] -= 1
            if not missing[user] and user <= computed[seen - 1]:
                ready.append(user)
        in_use -= not uses[chosen]
    return order + [k for k in range(count) if not written[k]]
