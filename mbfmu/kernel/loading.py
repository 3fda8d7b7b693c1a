"""Bundle -> a kernel that runs: compiled and loaded."""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.errors import KernelError
from mbfmu.kernel.adjoint import adjoints
from mbfmu.kernel.build.toolchain import (
    SLOWER,
    BuildError,
    Library,
    Toolchain,
    ahead,
    built,
    for_kernels,
    host,
    remedy,
    tcc,
    unoptimised,
)
from mbfmu.kernel.bundle import Bundle, without_steps
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.differentiated import Following, Recording
from mbfmu.kernel.runtime import Compiled
from mbfmu.kernel.tangent import following_tangents
from mbfmu.stepper.scheme import Scheme

MISSING = "kernels need a C compiler ($CC, or else cc, gcc, clang, tcc or zig), and there is none: {}"
"""Message on a missing compiler, with a place for the remedy."""


def library(bundle: Bundle, portable: bool = False) -> Library:
    """Return the compiled kernel, made now or from the user's cache.

    Where the compiler fails tcc makes it, if it is there, with a notice.

    Args:
        bundle: the functions.
        portable: whether it runs on other machines of this kind too.

    Raises:
        KernelError: there is no C compiler, or it fails.
    """
    compiler, last = compiler_for_kernels(portable), tcc()
    try:
        return _made(bundle, compiler)
    except BuildError as error:
        if last is None or compiler == last:
            raise KernelError(f"the C compiler failed: {error}") from None
        _notice(f"the C compiler failed: {error}: {SLOWER}")
    return _made(bundle, last)


def at_once(bundle: Bundle) -> Compiled:
    """Return a kernel for starts and outputs alone, made as soon as possible: without optimisation.

    Raises:
        KernelError: there is no C compiler, or it fails.
    """
    compiler = _required(unoptimised())
    # from whole sources: a compiler that begins with the first of them would run in vain where the library is kept
    return Compiled(_whole(c_sources(without_steps(bundle), few_calls=True), compiler))


def compiler_for_kernels(portable: bool = False) -> Toolchain:
    """Return the compiler for libraries that Python loads, with one notice if it is tcc alone.

    Args:
        portable: whether they run on other machines of this kind too.

    Raises:
        KernelError: there is none.
    """
    compiler = _required(for_kernels(portable))
    if host() is None:
        _notice(f"no C compiler but tcc found: {SLOWER}; {remedy()}")
    return compiler


def load(bundle: Bundle, made: Callable[[Bundle], Library] = library) -> Compiled:
    """Return a kernel for this machine.

    Args:
        bundle: the functions.
        made: gives their library, as `library` does.

    Raises:
        KernelError: there is no C compiler, or it fails.
    """
    try:
        return Compiled(str(made(bundle).path))
    except OSError:  # another process removed it
        return Compiled(str(library(bundle).path))


def _required(compiler: Toolchain | None) -> Toolchain:
    """Return a compiler.

    Raises:
        KernelError: it is None.
    """
    if compiler is None:
        raise KernelError(MISSING.format(remedy()))
    return compiler


def _made(bundle: Bundle, compiler: Toolchain) -> Library:
    """Return the library of a compiler.

    Raises:
        BuildError: it fails.
    """
    with ahead(compiler) as begun:
        return built(c_sources(bundle, written=begun.take), compiler, "kernel", begun)


def recording(bundle: Bundle) -> Recording:
    """Return a kernel with adjoints for this machine, made now or found in the user's cache.

    Raises:
        KernelError: there is no C compiler, or it fails.
    """
    return Recording(_whole(c_sources(bundle, adjoints(bundle)), compiler_for_kernels()))


def following(dae: Dae, scheme: Scheme, bundle: Bundle) -> Following:
    """Return a kernel with tangents for this machine, made now or found in the user's cache.

    Raises:
        KernelError: there is no C compiler, or it fails.
    """
    return Following(_whole(c_sources(bundle, following_tangents(dae, scheme, bundle)), compiler_for_kernels()))


def _whole(sources: dict[str, str], compiler: Toolchain) -> str:
    """Return the path of the library that a compiler makes of whole sources.

    Raises:
        KernelError: it fails.
    """
    try:
        return str(built(sources, compiler, "kernel").path)
    except BuildError as error:
        raise KernelError(f"the C compiler failed: {error}") from None


def describe(bundle: Bundle) -> dict[str, Any]:
    """Return all that decides what a kernel computes, as plain data that JSON can hold."""
    return {
        "sizes": [bundle.nx, bundle.ns, bundle.nu, bundle.np, bundle.ny, bundle.nqv],
        "stages": {name: list(zip(item.places, item.sizes, strict=True)) for name, item in bundle.formulas.items()},
        "coordinates": bundle.formulas["step"].coordinates,
        "functions": [function.name() for function in bundle.functions()],
        "operations": _hash(bundle.functions()),
    }


def _hash(functions: Sequence[Any]) -> str:
    """Return a hash of all operations of functions, in which what several call counts once."""
    serializer = ca.StringSerializer()
    for function in functions:
        serializer.pack(function)
    return hashlib.sha256(serializer.encode().encode()).hexdigest()


def compiled_library(bundle: Bundle) -> Path:
    """Return the path of the compiled kernel.

    Raises:
        KernelError: there is no C compiler, or it fails.
    """
    return library(bundle).path


@cache
def _notice(text: str) -> None:
    """Warn once."""
    warnings.warn(text, RuntimeWarning, stacklevel=4)
