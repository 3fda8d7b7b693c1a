"""Prepared model -> the library of a pythonfmu slave: the kernel, and the core behind plain C functions."""

import sys
from collections.abc import Callable, Sequence
from importlib.resources import files

from mbfmu.errors import FmuError
from mbfmu.fmu.interface import Interface
from mbfmu.fmu.native.build import compiling, state_owner, toolchains
from mbfmu.fmu.native.tables import model_header, variables_header
from mbfmu.kernel.build.platforms import is_here
from mbfmu.kernel.build.toolchain import BuildError, Library, Toolchain, ahead, built, host
from mbfmu.kernel.codegen import linked_sources
from mbfmu.kernel.loading import compiler_for_kernels
from mbfmu.prepared.prepare import Prepared

SHELL = ("core.h", "core.c", "texts.h", "suspects.h", "shell.c")
"""Names of the files around the kernel that are the same for every model."""


def shell_sources(
    prepared: Prepared, identifier: str, table: Interface, written: Callable[[str, str], None] = lambda *_: None
) -> dict[str, str]:
    """Return the C99 sources of the library by file name.

    Args:
        prepared: the model with its stepper.
        identifier: its name as a C identifier.
        table: its variables.
        written: is called with the name and the text of each file as soon as it is whole, headers first.
    """
    here = files("mbfmu.fmu.native")
    texts = linked_sources(prepared.bundle, written)
    around = {name: (here / name).read_text(encoding="utf-8") for name in SHELL}
    variables = around["variables.h"] = variables_header(table)
    owner = state_owner(prepared.bundle, variables)
    around["model.h"] = model_header(prepared.dae.name, identifier, table, 0, owner, "")
    for name in sorted(around, key=lambda name: name.endswith(".c")):
        written(name, around[name])
    return {**texts, **around}


def shell_libraries(
    prepared: Prepared, identifier: str, table: Interface, platforms: Sequence[str], tell: Callable[[str], None]
) -> dict[str, Library]:
    """Return the libraries by platform; that of this machine runs as a kernel too.

    Args:
        prepared: the model with its stepper.
        identifier: its name as a C identifier.
        table: its variables.
        platforms: names of platforms.
        tell: called with the name of each phase that begins.

    Raises:
        FmuError: there is no compiler for a platform, or it fails.
    """
    compilers = {platform: _compiler(platform) for platform in sorted(platforms, key=is_here, reverse=True)}
    libraries: dict[str, Library] = {}
    first, *_ = compilers.values()
    with ahead(first) as begun:
        sources: dict[str, str] = {}
        for platform, compiler in compilers.items():
            tell(compiling(platform))
            sources = sources or shell_sources(prepared, identifier, table, begun.take)
            try:
                libraries[platform] = built(sources, compiler, "core", begun if compiler is first else None)
            except BuildError as error:
                raise FmuError(f"the C compiler for {platform} failed: {error}") from None
    return libraries


def _compiler(platform: str) -> Toolchain:
    """Return the compiler for a platform: for this machine's that of its kernels.

    Raises:
        FmuError: there is none.
    """
    here = is_here(platform) and (host() if sys.platform == "win32" else compiler_for_kernels(portable=True))
    return here or toolchains(platform)[0]
