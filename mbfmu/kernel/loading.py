"""Bundle -> a kernel that runs: compiled and loaded, or interpreted."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

from mbfmu.kernel.bundle import Bundle
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.runtime import Compiled, Interpreted
from mbfmu.kernel.toolchain import BuildError, built, host, remedy


def load(bundle: Bundle) -> Compiled | Interpreted:
    """Return a kernel for this machine: compiled if there is a C compiler, else interpreted (with one notice)."""
    library = compiled_library(bundle)
    if library is None:
        return Interpreted(describe(bundle))
    try:
        return Compiled(str(library))
    except OSError:  # an incomplete library, such as a crash of the machine leaves behind
        library.unlink(missing_ok=True)
        return Compiled(str(compiled_library(bundle)))


def describe(bundle: Bundle) -> dict[str, Any]:
    """Return the description that `Interpreted` takes, as plain data that JSON can hold."""
    return {
        "sizes": [bundle.nx, bundle.ns, bundle.nu, bundle.np, bundle.ny, bundle.nqv],
        "stages": {name: list(item.sizes) for name, item in bundle.formulas.items()},
        "functions": {function.name(): function.serialize() for function in bundle.functions()},
    }


def compiled_library(bundle: Bundle) -> Path | None:
    """Return the path of the compiled kernel, made now or found in the user's cache; None without a compiler."""
    compiler = host()
    if compiler is None:
        _notice("no C compiler found ($CC, or else cc, gcc, clang or zig)", f"; {remedy()}")
        return None
    try:
        return built(c_sources(bundle), compiler, "kernel")
    except BuildError as error:
        _notice(f"the C compiler failed: {error}")
        return None


@cache
def _notice(reason: str, remedy: str = "") -> None:
    """Warn once that kernels are interpreted."""
    warnings.warn(f"{reason}: kernels run interpreted, about 20 times slower{remedy}", RuntimeWarning, stacklevel=4)
