"""CasADi functions -> C text: as CasADi writes it, but closed to the outside, with elementary.c and loops."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import casadi as ca

from mbfmu.kernel.loops import with_loops

_DECLARATION = re.compile(r"^((?:const )?(?:void|int|casadi_real|casadi_int|char)\*? )(\w+)\(", re.MULTILINE)
_WRITTEN_OUT = re.compile(r"(^static int casadi_f\d+\([^)]*\) \{\n)(.*?)^\}\n", re.MULTILINE | re.DOTALL)
_ELEMENTARY = re.compile(r"\b(a?(?:sin|cos|tan)h?|atan2|exp|expm1|log|log1p|pow|hypot|fmin|fmax)\(")
_OWN_VALUES = re.compile(r"(\*w\d+=w\+)(\d+)")


@dataclass(frozen=True)
class Generated:
    """C text of functions.

    Args:
        text: one file.
        loops: numbers that its loops need of the work vector, beyond what the functions say themselves.
    """

    text: str
    loops: int


def generated(file: str, functions: Sequence[Any], external: bool) -> Generated:
    """Return functions as C text.

    Args:
        file: its name.
        functions: CasADi Functions.
        external: whether the functions can be called from other files; all else is static.
    """
    generator = ca.CodeGenerator(file, {"with_export": False, "with_import": False})
    for function in functions:
        generator.add(function)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(generator.generate(folder + "/")).read_text(encoding="utf-8")
    text, loops = _looped(_unguarded(text))
    open_names = {function.name() for function in functions} if external else set()

    def closed(found: re.Match[str]) -> str:
        return found[0] if found[2] in open_names else f"static {found[0]}"

    text = _ELEMENTARY.sub(r"mbfmu_\1(", _DECLARATION.sub(closed, text))
    return Generated(files("mbfmu.kernel").joinpath("elementary.c").read_text(encoding="utf-8") + text, loops)


def _unguarded(text: str) -> str:
    """Return generated code without the questions whether a result is wanted, where it always is.

    The driver wants all; a call inside the code that does not says so by ``res1[1]=0;``. Each question is a branch, and
    gcc takes up to three times as long with thousands of them. The same questions at the arguments stay: without any
    branch a long function is a single block, and gcc then takes long to give out its registers.
    """
    unwanted = set(re.findall(r"\bres\d*\[(\d+)\]=0;", text))

    def write(found: re.Match[str]) -> str:
        return found[0] if found[1] in unwanted else ""

    return re.sub(r"\bif \(res\[(\d+)\]!=0\) ", write, text)


def _looped(text: str) -> tuple[str, int]:
    """Return generated code with loops, and the numbers these need at the begin of the work vector.

    A function that calls others keeps its own values behind what these need, and so moves them by as much.
    """
    sizes = [0]

    def written(found: re.Match[str]) -> str:
        head, body = found.groups()
        loops = with_loops(body)
        if loops is None:
            return found[0]
        sizes.append(loops.size)
        return f"{head}{loops.body}}}\n"

    def moved(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) + max(sizes)}"

    text = _WRITTEN_OUT.sub(written, text)
    return _OWN_VALUES.sub(moved, text), max(sizes)
