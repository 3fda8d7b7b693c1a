"""Prepared model -> C sources and binaries of a native FMU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from mbfmu.errors import FmuError
from mbfmu.fmu.interface import Interface, interface
from mbfmu.fmu.native.tables import model_header, variables_header
from mbfmu.kernel.codegen import native_sources
from mbfmu.kernel.mach_o import universal
from mbfmu.kernel.tangent import tangents
from mbfmu.kernel.toolchain import TARGETS, BuildError, Toolchain, built, cross, host, is_here
from mbfmu.prepared.prepare import Prepared

PLATFORMS = tuple(TARGETS)
SHIM = ("core.h", "core.c", "texts.h", "fmi2.c", "prefix.h")
STANDARD = ("fmi2Functions.h", "fmi2FunctionTypes.h", "fmi2TypesPlatform.h")
"""Names of the headers of the FMI standard, which are unchanged."""


@dataclass(frozen=True)
class Native:
    """A model for a native FMU.

    Args:
        prepared: the model with its stepper.
        identifier: name of the binary, a C identifier.
        corrections: number of corrections of each stage of a step; 0: until it is solved.
    """

    prepared: Prepared
    identifier: str
    corrections: int = 0

    @cached_property
    def interface(self) -> Interface:
        """The variables."""
        return interface(self.prepared, self.corrections)

    def sources(self) -> dict[str, str]:
        """Return the sources by name, without model.h; the property makes those of the kernel, which takes a while."""
        bundle = self.prepared.bundle
        derived = tangents(self.prepared.dae, self.prepared.scheme, bundle, solved=not self.corrections)
        here = files("mbfmu.fmu.native")
        return {
            **{name: (here / name).read_text(encoding="utf-8") for name in SHIM},
            **{name: (here / "standard" / name).read_text(encoding="utf-8") for name in STANDARD},
            **native_sources(bundle, derived, self.identifier, self.corrections),
            "variables.h": variables_header(self.interface),
        }

    def header(self, guid: str) -> str:
        """Return model.h for a GUID."""
        return model_header(self.prepared.dae.name, self.identifier, self.interface, self.corrections, guid)


def default_platforms() -> tuple[str, ...]:
    """Return the platforms that need no compiler but this machine's: its own."""
    return tuple(name for name in PLATFORMS if is_here(name)) or ("linux64",)


def native_members(sources: Mapping[str, str], identifier: str, platforms: Sequence[str]) -> dict[str, bytes]:
    """Return the content of a native FMU by name: its sources, and a binary for each platform.

    Args:
        sources: all sources by name, model.h included.
        identifier: name of the binaries.
        platforms: names of `PLATFORMS`.

    Raises:
        FmuError: there is no compiler for a platform, or it fails.
    """
    members = {f"sources/{name}": text.encode("utf-8") for name, text in sources.items()}
    for platform in platforms:
        toolchains = _toolchains(platform)
        try:
            libraries = [built(sources, toolchain, identifier).read_bytes() for toolchain in toolchains]
        except BuildError as error:
            raise FmuError(f"the C compiler for {platform} failed: {error}") from None
        content = libraries[0] if len(libraries) == 1 else universal(libraries)
        members[f"binaries/{platform}/{identifier}{toolchains[0].suffix}"] = content
    return members


def _toolchains(platform: str) -> tuple[Toolchain, ...]:
    """Return zig if it is installed, as its binaries run on older systems; else this machine's compiler."""
    found = cross(platform)
    compiler = host() if is_here(platform) and not found else None
    if compiler is not None:
        return (compiler,)
    if not found:
        here = "no C compiler ($CC, cc, gcc or clang)" if is_here(platform) else "this machine's compiler cannot"
        raise FmuError(f'a binary for {platform} needs zig, {here}: python -m pip install "mbfmu[cross]"')
    return found
