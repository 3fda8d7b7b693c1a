"""Prepared model -> C sources and binaries of a native FMU."""

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from mbfmu.errors import FmuError
from mbfmu.fmu.interface import SETTING, Interface, interface
from mbfmu.fmu.native.tables import guid_header, model_header, variables_header
from mbfmu.kernel.codegen import native_sources
from mbfmu.kernel.mach_o import universal
from mbfmu.kernel.tangent import tangents
from mbfmu.kernel.toolchain import TARGETS, BuildError, Toolchain, built, cross, host, is_here
from mbfmu.prepared.prepare import Prepared

PLATFORMS = tuple(TARGETS)
SHIM = ("core.h", "core.c", "texts.h", "fmi2.c", "prefix.h")
BITS = 16
"""Digits of each part of a GUID: of a hash, and of the bits of a setting."""
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

    @cached_property
    def _texts(self) -> dict[str, str]:
        """Sources by name, without those that hold their hash."""
        bundle = self.prepared.bundle
        derived = tangents(self.prepared.dae, self.prepared.scheme, bundle, solved=not self.corrections)
        here = files("mbfmu.fmu.native")
        return {
            **{name: (here / name).read_text(encoding="utf-8") for name in SHIM},
            **{name: (here / "standard" / name).read_text(encoding="utf-8") for name in STANDARD},
            **native_sources(bundle, derived, self.identifier, self.corrections),
            "variables.h": variables_header(self.interface),
        }

    @cached_property
    def _code(self) -> str:
        """Hash of all sources, which do not depend on the defaults of the settings."""
        content = "\n".join([*self._texts, *self._texts.values(), self._header("")])
        return hashlib.sha256(content.encode()).hexdigest()[:BITS]

    def _header(self, code: str) -> str:
        return model_header(self.prepared.dae.name, self.identifier, self.interface, self.corrections, code)

    def guid(self, description: str) -> str:
        """Return the GUID, from whose end the binary takes the defaults of the settings.

        Args:
            description: hash of what else is in the FMU, in hexadecimal.
        """
        settings = (item.start or 0.0 for item in self.interface.variables if item.kind == SETTING)
        bits = (struct.pack(">d", value).hex() for value in settings)
        return "{" + "-".join([self._code, description[:BITS], *bits]) + "}"

    def sources(self, guid: str) -> dict[str, str]:
        """Return all sources by name; to write those of the kernel takes a while.

        Args:
            guid: GUID of the FMU, which only guid.h holds, a header that the binary does not include.
        """
        return {**self._texts, "model.h": self._header(self._code), "guid.h": guid_header(guid)}


def default_platforms() -> tuple[str, ...]:
    """Return the platforms that need no compiler but this machine's: its own."""
    return tuple(name for name in PLATFORMS if is_here(name)) or ("linux64",)


def compiling(platform: str) -> str:
    """Return the name of the phase in which the binary of a platform is compiled."""
    return f"compile {platform}"


def native_members(
    sources: Mapping[str, str], identifier: str, platforms: Sequence[str], tell: Callable[[str], None]
) -> dict[str, bytes]:
    """Return the content of a native FMU by name: its sources, and a binary for each platform.

    Args:
        sources: all sources by name, model.h included.
        identifier: name of the binaries.
        platforms: names of `PLATFORMS`.
        tell: called with the name of each phase that begins.

    Raises:
        FmuError: there is no compiler for a platform, or it fails.
    """
    members = {f"sources/{name}": text.encode("utf-8") for name, text in sources.items()}
    for platform in platforms:
        tell(compiling(platform))
        toolchains = _toolchains(platform)
        try:
            libraries = [built(sources, toolchain, identifier).content for toolchain in toolchains]
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
