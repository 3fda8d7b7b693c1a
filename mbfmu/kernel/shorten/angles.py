"""Program -> two Programs: the angles of its sines and cosines, and what takes these.

A long mechanism needs a sine and a cosine for each joint, which take a good part of its time one by one. Of all angles
at once a processor takes several at a time (`angles.h`), to the same bits. They are those that depend on no sine or
cosine themselves: coordinates, and in a planar chain sums of them.
"""

from dataclasses import dataclass, replace

import numpy as np

from mbfmu.kernel.emit.program import COPY, Flags, Nodes, Output, Program, part_of, taken_by, triples, with_leaves
from mbfmu.kernel.emit.sections import Code

ANGLES = "angles.h"
"""Name of the file that takes the sines and cosines of many angles."""
CIRCULAR = ("SIN", "COS")
"""Names of the operations that are taken out."""
MANY = 16
"""Smallest number of angles that are taken at once."""


@dataclass(frozen=True)
class Split:
    """A program in two parts.

    Args:
        before: gives, as its only result, the angles and then what else `after` takes of it.
        after: the rest, in which sines and cosines are copies of arguments; its last three arguments are the result of
            `before`, the sines and the cosines.
        arguments: number of its other arguments.
        angles: number of angles.
    """

    before: Program
    after: Program
    arguments: int
    angles: int


def split(program: Program) -> Split | None:
    """Return a program in two parts; None if few angles, or more than these, would go from one to the other."""
    # Sines and cosines that depend on no others, and their angles
    kinds = [program.kinds.index(name) for name in CIRCULAR if name in program.kinds]
    circular = np.isin(program.kind, kinds)
    if circular.sum() < MANY:
        return None
    turned = _first(program, circular)
    angles = np.unique(program.operands[turned, 0])
    if len(angles) < MANY:
        return None
    angles = angles[np.lexsort((program.index[angles], program.depth[angles]))]
    # The part before: angles and what they depend on; the part after: all else
    earlier = _below(program, angles)
    apart = program.leaf.copy()
    apart[earlier] = apart[turned] = True
    later = np.flatnonzero(~apart)
    # Values that go from the first part to the second
    taken = np.intersect1d(taken_by(program, later, program.outputs), earlier)
    others = np.setdiff1d(taken, angles)
    if len(others) > len(angles):
        return None
    crossing = np.concatenate([angles, others])  # what goes from one part to the other
    # In the second part they are arguments, and so are the sines and cosines
    count = 1 + max((int(name) for name in program.kinds if name.isdecimal()), default=-1)
    index_of = np.full(len(program.kind), -1)
    index_of[crossing] = np.arange(len(crossing))
    names, elements = [str(count)] * len(taken), index_of[taken].tolist()
    for node, angle in zip(turned.tolist(), program.operands[turned, 0].tolist(), strict=True):
        names.append(str(count + 1 + CIRCULAR.index(program.name(node))))
        elements.append(int(index_of[angle]))
    # The second part with these arguments, and the first with these results
    longer, new = with_leaves(program, names, elements)
    renamed = np.append(np.arange(len(longer.kind)), -1)
    renamed[taken] = new[: len(taken)]
    kind, operands = longer.kind.copy(), renamed[longer.operands]
    kind[turned], operands[turned, 0] = longer.kinds.index(COPY), new[len(taken) :]
    shown = [item._replace(node=int(renamed[item.node])) for item in program.outputs]
    after = part_of(replace(longer, kind=kind, operands=operands), np.union1d(later, turned), shown)
    before = part_of(program, earlier, [Output(0, k, node) for k, node in enumerate(crossing.tolist())])
    return Split(before, after, count, len(angles))


def joined(parts: Split, before: Code, after: Code) -> Code:
    """Return the code of a function of that of its two parts."""
    count, work = len(parts.before.outputs), max(before.work, after.work)
    arguments = ", ".join([*(f"arg[{k}]" for k in range(parts.arguments)), "angles", "sines", "cosines"])
    body = f"""\
  V *const angles = w + {work}, *const sines = angles + {count}, *const cosines = sines + {parts.angles};
  {{
  V *const results[] = {{angles}}, *const *const res = results;
{before.body}  }}
  sines_and_cosines(angles, {parts.angles}, sines, cosines);
  const V *const given[] = {{{arguments}}};
  {{
  const V *const *const arg = given;
{after.body}  }}
"""
    included = tuple(dict.fromkeys((ANGLES, *before.included, *after.included)))
    return Code(body, work + count + 2 * parts.angles, {**before.sections, **after.sections}, included)


def _first(program: Program, circular: Flags) -> Nodes:
    """Return the sines and cosines that depend on no other."""
    result = []
    depends = [*circular.tolist(), False]  # the last one stands for no operand
    for node, (a, b, c) in enumerate(triples(program.operands)):
        if depends[a] or depends[b] or depends[c]:
            depends[node] = True
        elif depends[node]:
            result.append(node)
    return np.array(result, dtype=np.int64)


def _below(program: Program, nodes: Nodes) -> Nodes:
    """Return the operations that nodes are, or depend on."""
    below: set[int] = set()
    waiting = nodes.tolist()
    while waiting:
        node = waiting.pop()
        if node >= 0 and node not in below and not program.leaf[node]:
            below.add(node)
            waiting += program.operands[node].tolist()
    return np.array(sorted(below), dtype=np.int64)
