"""Prepared model -> C sources and binaries of a native FMU."""

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files

from mbfmu.base import extras
from mbfmu.errors import FmuError
from mbfmu.fmu.arrays import clocks
from mbfmu.fmu.interface import SETTING, Interface, interface
from mbfmu.fmu.native.tables import arrays_header, guid_header, model_header, variables_header
from mbfmu.kernel import Bundle, describe
from mbfmu.kernel.build.mach_o import universal
from mbfmu.kernel.build.platforms import PLATFORMS, is_here, platform_here, processor
from mbfmu.kernel.build.toolchain import BuildError, Toolchain, built, cross, host
from mbfmu.kernel.codegen import clock_source, native_sources
from mbfmu.kernel.exchange import exchange
from mbfmu.kernel.tangent import exchange_tangents, tangents
from mbfmu.prepared.prepare import Prepared

CORE = ("core.h", "core.c", "texts.h", "suspects.h", "categories.h")
"""Names of the C files of a native FMU that are the same in every version of FMI."""
EXCHANGE = "exchange.c"
"""Name of the C file that a native FMU for model exchange needs in addition."""
BITS = 16
"""Number of hexadecimal digits of each part of a GUID: of a hash, and of the bits of a setting."""


@dataclass(frozen=True)
class Version:
    """A version of FMI, as sources and archive know it.

    Args:
        shim: names of the files with its functions.
        standard: names of the headers of the standard, which are unchanged.
        tuples: names of the folders in binaries/, by platform; of several, each is for one processor.
        unnamed: platforms for which the version has no name of its own.
    """

    shim: tuple[str, ...]
    standard: tuple[str, ...]
    tuples: Mapping[str, tuple[str, ...]]
    unnamed: tuple[str, ...]


ELSEWHERE = {
    "aarch64-linux": ("aarch64-linux",),
    "armv7-linux": ("aarch32-linux",),
    "riscv64-linux": ("riscv64-linux",),
    "wasm32": ("wasm32",),
}
"""Folders of the platforms that have the same in both versions: FMI 2.0.4 takes the names of FMI 3.0 where it has none
(2.3), and both allow vendors names of their own."""
VERSIONS = {
    "2.0": Version(
        ("fmi2.c", "prefix.h"),
        ("fmi2Functions.h", "fmi2FunctionTypes.h", "fmi2TypesPlatform.h"),
        {
            "x86_64-linux": ("linux64",),
            "x86-linux": ("linux32",),
            "x86_64-windows": ("win64",),
            "x86-windows": ("win32",),
            "darwin": ("darwin64",),
            **ELSEWHERE,
        },
        tuple(ELSEWHERE),
    ),
    "3.0": Version(
        ("fmi3.c",),
        ("fmi3Functions.h", "fmi3FunctionTypes.h", "fmi3PlatformTypes.h"),
        {
            "x86_64-linux": ("x86_64-linux",),
            "x86-linux": ("x86-linux",),
            "x86_64-windows": ("x86_64-windows",),
            "x86-windows": ("x86-windows",),
            "darwin": ("x86_64-darwin", "aarch64-darwin"),
            **ELSEWHERE,
        },
        ("wasm32",),
    ),
}
"""Versions of FMI by name."""
NAMES = {
    **{folder: name for form in VERSIONS.values() for name, folders in form.tuples.items() for folder in folders},
    **{name: name for name in PLATFORMS},
}
"""Platforms by each of their names: their own, and those of their folders in each version of FMI."""
LOOKS = {
    "aarch64-linux": "; FMPy looks into linux64 there, and finds the library of --fmi 3.0",
    "wasm32": ", for hosts that call the functions of the standard in WebAssembly",
}
"""Importing tools that look into the folder of a platform without a name."""


@dataclass(frozen=True)
class Native:
    """A model for a native FMU.

    Args:
        prepared: the model with its stepper.
        identifier: name of the binary, a C identifier.
        corrections: number of corrections of each stage of a step; 0: until it is solved.
        kinds: what the FMU is for, of ``cs`` and ``me``.
        exchange: whether these sources are those for model exchange.
        fmi: version of FMI, of `VERSIONS`.
        start: the continuous states at the model's own start, for a kind with model exchange.
        scalars: whether there are neither arrays nor clocks in FMI 3.0.
        derivatives: whether it gives directional derivatives and those of outputs in time.
    """

    prepared: Prepared
    identifier: str
    corrections: int = 0
    kinds: tuple[str, ...] = ("cs",)
    exchange: bool = False
    fmi: str = "2.0"
    start: tuple[float, ...] = ()
    scalars: bool = False
    derivatives: bool = True

    @cached_property
    def bundle(self) -> Bundle:
        """The functions of the kernel."""
        return exchange(self.prepared.dae) if self.exchange else self.prepared.bundle

    @cached_property
    def interface(self) -> Interface:
        """The variables."""
        indicators = "me" in self.kinds and self.fmi != "2.0"
        bundle = self.bundle if self.exchange else None
        table = interface(self.prepared, self.corrections, self.kinds, bundle, indicators, self.start)
        return replace(table, scalars=self.scalars)

    @cached_property
    def _texts(self) -> dict[str, str]:
        """Sources by name, without those that hold their hash."""
        prepared, bundle = self.prepared, self.bundle
        if not self.derivatives:
            derived = None
        elif self.exchange:
            derived = exchange_tangents(bundle)
        else:
            derived = tangents(prepared.dae, prepared.scheme, bundle, solved=not self.corrections)
        here, chosen = files("mbfmu.fmu.native"), VERSIONS[self.fmi]
        shim = (*CORE, *chosen.shim, *([EXCHANGE] if self.exchange else []))
        return {
            **{name: (here / name).read_text(encoding="utf-8") for name in shim},
            **{name: (here / "standard" / name).read_text(encoding="utf-8") for name in chosen.standard},
            **native_sources(bundle, derived, self.identifier, self.corrections),
            "variables.h": variables_header(self.interface, self.fmi == "3.0"),
            **(self._of_version3() if self.fmi == "3.0" else {}),
        }

    def _of_version3(self) -> dict[str, str]:
        """Return the sources that FMI 3.0 alone needs."""
        sampling = self.prepared.dae.sampling if clocks(self.interface) else None
        timing = {"clocks.c": clock_source(sampling.timing, len(self.prepared.dae.parameters))} if sampling else {}
        return {"arrays.h": arrays_header(self.interface, self.identifier), **timing}

    @cached_property
    def code(self) -> str:
        """Hash of all sources, which do not depend on the defaults of the settings."""
        content = "\n".join([*self._texts, *self._texts.values(), self._header("")])
        return hashlib.sha256(content.encode()).hexdigest()[:BITS]

    def _header(self, code: str) -> str:
        name, table = self.prepared.dae.name, self.interface
        return model_header(name, self.identifier, table, self.corrections, self._owner, code)

    @cached_property
    def _owner(self) -> str:
        return state_owner(self.bundle, self._texts["variables.h"], self.corrections)

    def guid(self, code: str, description: str) -> str:
        """Return the GUID, from whose end the binary takes the defaults of the settings.

        Args:
            code: that of the FMU, see `common_code`.
            description: hash of what else is in the FMU, in hexadecimal.
        """
        settings = (item.start or 0.0 for item in self.interface.variables if item.kind == SETTING)
        bits = (struct.pack(">d", value).hex() for value in settings)
        return "{" + "-".join([code, description[:BITS], *bits]) + "}"

    def sources(self, code: str, guid: str) -> dict[str, str]:
        """Return all sources by name; to write those of the kernel takes a while.

        Args:
            code: that of the FMU, see `common_code`.
            guid: GUID of the FMU, which only guid.h holds, a header that the binary does not include.
        """
        return {**self._texts, "model.h": self._header(code), "guid.h": guid_header(guid)}


def state_owner(bundle: Bundle, variables: str, corrections: int = 0) -> str:
    """Return a hash of what states depend on: equal ones can be exchanged, whatever the back end.

    Args:
        bundle: the functions of the kernel.
        variables: the table of variables, as C.
        corrections: number of corrections of each stage of a step; 0: until it is solved.
    """
    core = (files("mbfmu.fmu.native") / "core.h").read_text(encoding="utf-8")
    content = json.dumps([core, variables, corrections, describe(bundle)])
    return hashlib.sha256(content.encode()).hexdigest()[:BITS]


def common_code(parts: Sequence[Native]) -> str:
    """Return the code with which the GUID of an FMU begins: that of its sources, or a hash of those of all binaries."""
    codes = [part.code for part in parts]
    return codes[0] if len(codes) == 1 else hashlib.sha256("".join(codes).encode()).hexdigest()[:BITS]


def default_platforms() -> tuple[str, ...]:
    """Return the platforms that need no compiler but this machine's: its own."""
    return (platform_here(),) if platform_here() in PLATFORMS else ("x86_64-linux",)


def named_platforms(fmi: str) -> tuple[str, ...]:
    """Return the platforms for which a version of FMI has a name of its own."""
    return tuple(name for name in PLATFORMS if name not in VERSIONS[fmi].unnamed)


def unnamed_platforms(fmi: str, platforms: Iterable[str]) -> tuple[str, ...]:
    """Return for each platform without a name of its own in a version of FMI where its library is, as a sentence."""
    form = VERSIONS[fmi]
    return tuple(
        f"FMI {fmi} has no name for {name}: its library is in binaries/{form.tuples[name][0]}"
        f"{', as FMI 2.0.4 says' if name not in VERSIONS['3.0'].unnamed else ''}{LOOKS.get(name, '')}"
        for name in platforms
        if name in form.unnamed
    )


def compiling(platform: str) -> str:
    """Return the name of the phase in which the binary of a platform is compiled."""
    return f"compile {platform}"


def native_members(
    sources: Mapping[str, str],
    identifier: str,
    folder: str,
    platforms: Sequence[str],
    tell: Callable[[str], None],
    tuples: Mapping[str, tuple[str, ...]],
) -> dict[str, bytes]:
    """Return the content of a native FMU by name: its sources, and a binary for each platform.

    Args:
        sources: all sources by name, model.h included.
        identifier: name of the binaries.
        folder: prefix of the names of the sources in the folder sources, empty or such as ``me/``.
        platforms: names of platforms.
        tell: called with the name of each phase that begins.
        tuples: names of the folders in binaries/, of a `Version`.

    Raises:
        FmuError: there is no compiler for a platform, or it fails.
    """
    members = {f"sources/{folder}{name}": text.encode("utf-8") for name, text in sources.items()}
    for platform in platforms:
        tell(compiling(platform))
        compilers = toolchains(platform)
        try:
            libraries = [built(sources, toolchain, identifier).content for toolchain in compilers]
        except BuildError as error:
            raise FmuError(f"the C compiler for {platform} failed: {error}") from None
        folders = tuples[platform]
        if len(folders) < len(libraries):
            libraries = [universal(libraries)]
        elif len(folders) > len(libraries):  # this machine's compiler makes that of its processor
            folders = tuple(name for name in folders if name.startswith(processor()))
        for name, content in zip(folders, libraries, strict=True):
            members[f"binaries/{name}/{identifier}{compilers[0].suffix}"] = content
    return members


def toolchains(platform: str) -> tuple[Toolchain, ...]:
    """Return zig if it is installed, as its binaries run on older systems; else this machine's compiler."""
    chains = cross(platform)
    compiler = host() if is_here(platform) and not chains else None
    if compiler is not None:
        return (compiler,)
    if not chains:
        here = "no C compiler ($CC, cc, gcc or clang)" if is_here(platform) else "this machine's compiler cannot"
        raise FmuError(f"a binary for {platform} needs zig, {here}: {extras.command('cross')}")
    return chains
