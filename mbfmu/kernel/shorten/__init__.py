"""Long functions of numbers -> shorter C text of the same bits.

The sines and cosines of many angles are taken at once (`angles`), and what recurs is looped over: body after body in a
chain (`families`), or at one depth, as on the levels of a tree (`layers`).
"""

import math
from collections.abc import Callable, Collection
from typing import Any

from mbfmu.kernel.emit.program import Program
from mbfmu.kernel.emit.sections import Code
from mbfmu.kernel.shorten.angles import joined, split
from mbfmu.kernel.shorten.loops import long_program, with_loops


def shortened(
    function: Any,
    unwanted: Collection[int],
    name: str,
    straight: Callable[[Program, Collection[int], str], Code],
    at_once: bool = True,
    most_lines: float = math.inf,
) -> Code | None:
    """Return the code of a long function; None if it is short.

    Args:
        function: CasADi SX Function.
        unwanted: indices of the results that a caller may leave out.
        name: name of the function in C.
        straight: gives the code of a program without loops.
        at_once: whether the sines and cosines of many angles may be taken at once.
        most_lines: lines for each operation from which on loops are left to `straight`.

    Raises:
        KernelError: the function has an unknown operation.
    """
    program = long_program(function)
    if program is None:
        return None

    def looped(part: Program, unwanted: Collection[int], name: str, is_part: bool = False) -> Code:
        loops = with_loops(part, unwanted, is_part)
        return loops if loops and loops.body.count("\n") < most_lines * part.size else straight(part, unwanted, name)

    parts = split(program) if at_once else None
    if parts is None:
        return looped(program, unwanted, name)
    before = looped(parts.before, (), f"{name}_angles", is_part=True)
    return joined(parts, before, looped(parts.after, unwanted, name))
