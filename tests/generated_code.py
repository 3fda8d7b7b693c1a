"""Generated code of single functions, compiled for tests."""

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.kernel import vector
from mbfmu.kernel.emit.sources import generated, headers

Array = npt.NDArray[np.float64]
FLAGS = ("-std=c99", "-ffp-contract=off", "-fPIC", "-shared")
WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
"""Flags that refuse what a compiler warns of; loops may have variables that nothing takes."""
CHECKS = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
"""Flags that end a program at an index out of its range, and at whatever else C leaves open."""


def compiled_text(text: str, included: Sequence[str], folder: Path, *flags: str) -> ctypes.CDLL:
    """Return the library of a file that includes some of those that generated code does."""
    place = Path(tempfile.mkdtemp(dir=folder))
    for file, content in {**headers(included), "function.c": text}.items():
        (place / file).write_text(content, encoding="utf-8")
    library = place / "function.so"
    subprocess.run(["cc", *FLAGS, *flags, str(place / "function.c"), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def compiled(
    function: Any,
    folder: Path,
    *flags: str,
    optional: Collection[Any] = (),
    seldom: Collection[int] = (),
    tangent_of: Mapping[int, Any] = MappingProxyType({}),
) -> Callable[..., list[Array]]:
    """Return a Function's generated code: nonzeros of its arguments, and which results are wanted -> their nonzeros.

    What is not wanted stays zero. The work vector is full of NaN before, and nothing may be written behind it.
    """
    found = generated([function], external=True, optional=optional, seldom=seldom, tangent_of=tangent_of)
    entry = getattr(compiled_text(found.text, found.included, folder, *flags), function.name())
    work = vector([float("nan")] * found.work + [17.0])

    def call(*arguments: Sequence[float], wanted: Collection[int] = range(function.n_out())) -> list[Array]:
        given = [vector(each) for each in arguments]
        results = [(ctypes.c_double * function.nnz_out(k))() for k in range(function.n_out())]
        places = [ctypes.addressof(each) if k in wanted else None for k, each in enumerate(results)]
        entry(
            (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given)),
            (ctypes.c_void_p * len(places))(*places),
            work,
        )
        assert work[-1] == 17.0
        return [np.array(item) for item in results]

    return call
