"""Bundle -> a kernel that runs: compiled and loaded, or interpreted."""

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from mbfmu.dae.dae import Dae
from mbfmu.errors import KernelError
from mbfmu.kernel.adjoint import adjoints
from mbfmu.kernel.build.toolchain import SLOWER, BuildError, Library, ahead, built, for_kernels, host, remedy
from mbfmu.kernel.bundle import Bundle
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.differentiated import Following, Recording
from mbfmu.kernel.runtime import Compiled, Interpreted
from mbfmu.kernel.tangent import following_tangents
from mbfmu.stepper.scheme import Scheme

INTERPRETED = "kernels run interpreted, about 20 times slower"
"""Consequence, for a user, of a missing compiler."""


def library(bundle: Bundle, portable: bool = False) -> Library | None:
    """Return the compiled kernel, made now or found in the user's cache; None without a compiler (with one notice).

    Args:
        bundle: the functions.
        portable: whether it runs on other machines of this kind too.

    Raises:
        BuildError: the compiler fails.
    """
    compiler = for_kernels(portable)
    if compiler is None:
        _notice(f"no C compiler found ($CC, or else cc, gcc, clang or zig): {INTERPRETED}; {remedy()}")
        return None
    if host() is None:
        _notice(f"no C compiler but tcc found: {SLOWER}; {remedy()}")
    with ahead(compiler) as begun:
        return built(c_sources(bundle, written=begun.take), compiler, "kernel", begun)


def load(bundle: Bundle, made: Callable[[Bundle], Library | None] = library) -> Compiled | Interpreted:
    """Return a kernel for this machine: compiled if there is a C compiler, else interpreted (with one notice).

    Args:
        bundle: the functions.
        made: gives their library, as `library` does.
    """
    try:
        found = made(bundle)
    except BuildError as error:
        _notice(f"the C compiler failed: {error}: {INTERPRETED}")
        found = None
    if found is None:
        return Interpreted(describe(bundle))
    try:
        return Compiled(str(found.path))
    except OSError:  # another process removed it
        again = library(bundle)
        return Compiled(str(again.path)) if again else Interpreted(describe(bundle))


def recording(bundle: Bundle) -> Recording:
    """Return a kernel with adjoints for this machine, made now or found in the user's cache.

    Raises:
        KernelError: there is no C compiler, or it fails.
    """
    return Recording(_differentiated(c_sources(bundle, adjoints(bundle))))


def following(dae: Dae, scheme: Scheme, bundle: Bundle) -> Following:
    """Return a kernel with tangents for this machine, made now or found in the user's cache.

    Raises:
        KernelError: there is no C compiler, or it fails.
    """
    return Following(_differentiated(c_sources(bundle, following_tangents(dae, scheme, bundle))))


def _differentiated(sources: dict[str, str]) -> str:
    """Return the path of a compiled library, which derivatives of runs need."""
    compiler = for_kernels()
    if compiler is None:
        raise KernelError(f"derivatives of runs need a C compiler; {remedy()}")
    try:
        return str(built(sources, compiler, "kernel").path)
    except BuildError as error:
        raise KernelError(f"the C compiler failed: {error}") from None


def describe(bundle: Bundle) -> dict[str, Any]:
    """Return the description that `Interpreted` takes, as plain data that JSON can hold."""
    return {
        "sizes": [bundle.nx, bundle.ns, bundle.nu, bundle.np, bundle.ny, bundle.nqv],
        "stages": {name: list(zip(item.places, item.sizes, strict=True)) for name, item in bundle.formulas.items()},
        "coordinates": bundle.formulas["step"].coordinates,
        "functions": {function.name(): function.serialize() for function in bundle.functions()},
    }


def compiled_library(bundle: Bundle) -> Path | None:
    """Return the path of the compiled kernel; None without a compiler (with one notice).

    Raises:
        BuildError: the compiler fails.
    """
    found = library(bundle)
    return found.path if found else None


@cache
def _notice(text: str) -> None:
    """Warn once."""
    warnings.warn(text, RuntimeWarning, stacklevel=4)
