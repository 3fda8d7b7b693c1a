"""Prepared model -> C sources and binaries of a native FMU."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from mbfmu.errors import FmuError
from mbfmu.fmu.interface import TOLERANCE, Interface, Variable
from mbfmu.fmu.native.tables import CORRECTION, model_header
from mbfmu.fmu.prepare import Prepared
from mbfmu.kernel.codegen import native_sources
from mbfmu.kernel.tangent import tangents
from mbfmu.kernel.toolchain import TARGETS, BuildError, Toolchain, built, cross, host, is_here
from mbfmu.kernel.universal import universal

PLATFORMS = tuple(TARGETS)
SHIM = ("fmi2.c", "instance.h", "texts.h", "prefix.h")
HEADERS = ("fmi2Functions.h", "fmi2FunctionTypes.h", "fmi2TypesPlatform.h")


@dataclass(frozen=True)
class Native:
    """A model on its way to a native FMU.

    Args:
        prepared: the model with its stepper.
        identifier: name of the binary, a C identifier.
        passes: corrections of each stage of a step; 0: until it is solved.
    """

    prepared: Prepared
    identifier: str
    passes: int = 0

    @property
    def interface(self) -> Interface:
        """The variables; with a fixed number of corrections also what they leave."""
        found = self.prepared.interface
        if not self.passes:
            return found
        text = f"size of the last of {self.passes} corrections, the largest in the communication step; 0: nothing left"
        last = 1 + max(item.reference for item in found.variables)
        left = Variable(CORRECTION, last, "local", "continuous", "calculated", "1", text)
        kept = (
            dataclasses.replace(item, max=0.0) if item.name == TOLERANCE else item for item in found.variables
        )  # steps chosen for a tolerance are not bounded work
        return dataclasses.replace(found, variables=(*kept, left))

    def sources(self) -> dict[str, str]:
        """Return the sources by name, without the GUID; the kernel's are made here, and it takes a while."""
        bundle = self.prepared.bundle
        derived = tangents(self.prepared.dae, self.prepared.scheme, bundle)
        here = files("mbfmu.fmu.native")
        return {
            **{name: here.joinpath(name).read_text(encoding="utf-8") for name in SHIM},
            **native_sources(bundle, derived, self.identifier, self.passes),
            **_fmi_headers(),
        }

    def header(self, guid: str) -> str:
        """Return model.h for a GUID."""
        starts = self.prepared.dae.s_default().tolist()
        return model_header(self.prepared.dae.name, self.interface, starts, self.passes, guid)


def default_platforms() -> tuple[str, ...]:
    """Return the platforms that need no compiler but this machine's: its own."""
    return tuple(name for name in PLATFORMS if is_here(name)) or ("linux64",)


def native_members(sources: Mapping[str, str], identifier: str, platforms: Sequence[str]) -> dict[str, bytes]:
    """Return the content of a native FMU by name: its sources, and a binary for each platform.

    Args:
        sources: with model.h.
        identifier: name of the binaries.
        platforms: of `PLATFORMS`.

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
    """Return zig where it is installed, as its binaries run on older systems; else this machine's compiler."""
    found = cross(platform)
    compiler = host() if is_here(platform) and not found else None
    if compiler is not None:
        return (compiler,)
    if not found:
        here = "no C compiler ($CC, cc, gcc or clang)" if is_here(platform) else "this machine's compiler cannot"
        raise FmuError(f'a binary for {platform} needs zig, {here}: python -m pip install "mbfmu[cross]"')
    return found


def _fmi_headers() -> dict[str, str]:
    """Return the headers of the FMI standard, from FMPy's installation."""
    try:
        folder = Path(str(distribution("fmpy").locate_file("fmpy"))) / "c-code"
    except PackageNotFoundError:
        raise FmuError("fmpy, which brings the FMI headers, is not installed: python -m pip install fmpy") from None
    missing = [name for name in HEADERS if not (folder / name).is_file()]
    if missing:
        raise FmuError(f"fmpy in '{folder.parent}' has no {missing[0]}: install it again")
    return {name: (folder / name).read_text(encoding="utf-8", errors="replace") for name in HEADERS}
