"""System -> .fmu: equations, kernel, description and a back end in one reproducible archive."""

import dataclasses
import hashlib
import io
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import mbfmu
from mbfmu.base.described import Described, takes
from mbfmu.base.files import ending_of, write_aside
from mbfmu.base.units import check_display, display_of
from mbfmu.errors import FmuError, UsageError, nearest
from mbfmu.fmu.description import Binary, Header, check_texts, model_description
from mbfmu.fmu.description3 import build_description, model_description3
from mbfmu.fmu.documentation import documentation
from mbfmu.fmu.interface import SETTING, Interface, interface
from mbfmu.fmu.native import (
    NAMES,
    VERSIONS,
    Native,
    common_code,
    compiling,
    default_platforms,
    named_platforms,
    native_members,
    unnamed_platforms,
)
from mbfmu.fmu.native.shell import shell_libraries
from mbfmu.fmu.picture import PlaneDrawing, drawing, png
from mbfmu.fmu.plain import plain_members
from mbfmu.fmu.terminals import FOLDER, terminals_and_icons
from mbfmu.kernel import at_once, load, vector
from mbfmu.kernel.build.platforms import PLATFORMS as EVERY
from mbfmu.kernel.build.platforms import is_here
from mbfmu.kernel.build.toolchain import Library
from mbfmu.model import Model, System, flatten, guess
from mbfmu.model.library import model_of
from mbfmu.prepared import settings
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.stepper import Choice

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Date of every file in the archive: the same input gives the same bytes."""
BINARIES = {"x86_64-linux": "libpythonfmu-export.so", "x86_64-windows": "pythonfmu-export.dll"}
"""The loaders pythonfmu ships, by platform."""
PLATFORMS = {"python": tuple(BINARIES), "native": tuple(EVERY)}
"""Platforms that each back end can be exported for."""
PLAIN = "c"
"""Kind of export that is no FMU but plain C for a controller."""
KINDS = {"cs": ("cs",), "me": ("me",), "both": ("cs", "me"), "inverse": ("cs",), PLAIN: ("cs",)}
"""Kinds of an FMU, each with its uses: co-simulation, model exchange; `inverse` is of the inverse dynamics."""
ADDED = {"inverse": "_inverse.fmu", PLAIN: "_c.zip"}
"""Ends of default names of files, by the kind, where they are not .fmu."""
DERIVE, START, WRITE, PACK = "derive", "start", "write C", "pack"
"""Phases of an export, besides the compilation for each platform."""
CORRECTIONS = 4
"""Default number of corrections of a stage in real time, after which Newton's method leaves round-off."""

ICON = f"{FOLDER}/icon.png"
"""The model's picture in FMI 3.0."""
LONGEST_NAME = 100
"""Number of characters of a model's name that the names of files inside an FMU keep."""


@dataclass(frozen=True)
class ExportArguments:
    """The arguments of `export`."""

    system: Annotated[
        Model | str | os.PathLike[str], Described("the model, a name in models/, or the path of a model file")
    ]
    path: Annotated[
        str | os.PathLike[str] | None,
        Described("path of the .fmu file; default: the system's name (and ``_inverse``), in the current folder"),
    ] = None
    _: KW_ONLY
    stepper: Annotated[str | Choice | None, settings.STEPPER] = None
    options: Annotated[Mapping[str, Any] | None, settings.OPTIONS] = None
    step: Annotated[float, Described("default of solver.step", unit="s")] = 1e-3
    tolerance: Annotated[float, Described("default of solver.tolerance; 0: a fixed step size")] = 0.0
    stop: Annotated[float, Described("default stop time", unit="s")] = 10.0
    coordinates: Annotated[str | None, settings.COORDINATES] = None
    energy_balance: Annotated[bool, settings.ENERGY_BALANCE] = False
    choose: Annotated[
        Sequence[str],
        Described(
            "coordinates of joints and bodies whose start values a master may have met or not, in a mechanism "
            "with closed loops or couplings: for each, the parameter ``start.fixed.`` and its name is 1 where the "
            "start value is met, 0 where it is a guess. Their defaults are the model's; a coordinate without a "
            "start value there gets its value at the model's own start as a guess"
        ),
    ] = ()
    kind: Annotated[
        str,
        Described(
            "``cs``: co-simulation, the mechanism moves as forces tell it; ``me``: model exchange, a solver of "
            "the master's own integrates the equations instead of a stepper (native only); ``both``: a binary for "
            "each; ``inverse``: co-simulation in which coordinates, rates and accelerations of all joints are "
            "inputs, efforts of the drives and reactions are outputs (for trees of joints with one axis each, all "
            "of them driven). ``c`` is not an FMU: the step as plain C99 for a controller, in a .zip file"
        ),
    ] = "cs"
    backend: Annotated[
        str,
        Described(
            "``python``: a pythonfmu slave around compiled C, which needs Python. ``native``: compiled C with its "
            "source, which needs nothing"
        ),
    ] = "python"
    fmi: Annotated[str, Described("version of FMI, ``2.0`` or ``3.0``, which is for the native back end")] = "2.0"
    scalars: Annotated[
        bool,
        Described(
            "leave out the arrays and clocks of FMI 3.0, for importing tools that have none: each element of an array "
            "is a variable"
        ),
    ] = False
    derivatives: Annotated[
        bool,
        Described(
            "whether a native FMU gives directional derivatives, and those of its outputs in time; without them it is "
            "made in about half the time, and is half as large"
        ),
    ] = True
    platforms: Annotated[
        Sequence[str] | None,
        Described(
            "platforms that the FMU runs on, of `PLATFORMS`, or by the names of their folders in FMI 2.0 and 3.0; "
            "None: this machine's, as others need the package ziglang"
        ),
    ] = None
    display: Annotated[
        Sequence[str],
        Described(
            "units in which importing tools show values, such as ``bar`` or ``mm``; angles are shown in degrees unless "
            "another unit is chosen",
            check=check_display,
        ),
    ] = ()
    real_time: Annotated[
        int | None,
        Described(
            "fixed number of corrections of each stage of a step, converged or not, so that all steps do the same "
            "work (native only); None: as many as the equations need"
        ),
    ] = None
    single_precision: Annotated[
        bool,
        Described(
            "whether plain C has single precision (``float``), for processors that compute no other quickly; its "
            "readme states how far its motion deviates from double precision up to the stop time"
        ),
    ] = False
    progress: Annotated[
        Callable[[str, float], None],
        Described("called at the beginning of each phase, with its name and the fraction of the phases that are done"),
    ] = lambda _phase, _done: None


@takes(ExportArguments)
def export(request: ExportArguments) -> Path:
    """Write a mechanism with a stepper as an FMU, for co-simulation or for solvers of their own.

    Returns:
        The path of the file written; it appears whole or not at all.

    Raises:
        ModelError, StepperError, UnknownNameError: the model or stepper is invalid.
        StartError: the default start values contradict the constraints.
        UsageError: the path does not end in .fmu, the step is not positive, there is no such kind, back end, version or
            platform, no start values that depend on each other to choose between, or no inverse dynamics of this form.
        FmuError: there is no compiler for a platform, or it fails.
        KernelError: the same for the kernel that finds the start.
        MbfmuError: the file cannot be written.
    """
    # the request: what it is for, where it runs, how it steps
    system = model_of(request.system)
    _check_form(request)
    platforms = _platforms(request)
    _check_stepping(request)
    native = request.backend == "native" or request.kind == PLAIN
    default = f"{system.name}{ADDED.get(request.kind, '.fmu')}"
    target = Path(request.path) if request.path is not None else Path(default)
    compiled = [*map(compiling, platforms)] if request.kind != PLAIN else []
    phases = [DERIVE, *([START, WRITE, *compiled] if native else [*compiled, START]), PACK]

    def tell(phase: str) -> None:
        request.progress(phase, phases.index(phase) / len(phases))

    # derive: the equations with their stepper, and the variables of the FMU
    tell(DERIVE)
    prepared, exchanged = _prepared(request, system)
    name = _identifier(prepared)
    variables = interface(prepared)
    texts = (text for item in variables.variables for text in (item.unit, item.description))
    check_texts([prepared.dae.name, prepared.dae.description, *texts])  # neither XML nor C can hold all

    # compile for pythonfmu, and start: the state x with Phi(q, 0) = 0, by this machine's library where there is one
    libraries = {} if native else shell_libraries(prepared, name, variables, platforms, tell)
    here = next((library for platform, library in libraries.items() if is_here(platform)), None)
    tell(START)
    kernel = load(prepared.bundle, lambda _: here) if here else at_once(prepared.bundle)
    x = prepared.initial_state(kernel=kernel, stepping=request.kind != "me")
    if request.kind == PLAIN:
        tell(WRITE)
        plain = plain_members(prepared, name, variables, request.real_time or 0, request.single_precision, request.stop)
        tell(PACK)
        return write_aside(target, _archive(plain))
    parts = _native_parts(request, prepared, exchanged, name, x) if native else []

    # write: description, documentation, picture and back end
    table = parts[0].interface if parts else variables
    members = _common(prepared, table, _picture(prepared, x), request)
    header = dataclasses.replace(
        _header(prepared, request.kind, request.stop),
        derivatives=request.derivatives,
        display=display_of(request.display),
    )
    if parts:
        members = _native(parts, header, members, platforms, tell)
    else:
        members = _python(prepared, table, header, members, libraries)
    tell(PACK)
    return write_aside(target, _archive(members))


def _check_form(request: ExportArguments) -> None:
    """Raise an error if kind, path, stop time, back end or version of FMI do not exist, or not together.

    Raises:
        UsageError: one of them is invalid.
    """
    if request.kind not in KINDS:
        raise UsageError(f"there is no kind '{request.kind}' of FMU; {nearest(request.kind, KINDS)}")
    if request.path is not None:
        ending_of(Path(request.path), (".zip",) if request.kind == PLAIN else (".fmu",))
    if not (math.isfinite(request.stop) and request.stop > 0):
        raise UsageError(f"the stop time is {request.stop} s; it must be a positive number")
    if request.backend not in PLATFORMS:
        raise UsageError(f"there is no back end '{request.backend}'; {nearest(request.backend, PLATFORMS)}")
    if request.fmi not in VERSIONS:
        raise UsageError(f"there is no FMI version '{request.fmi}' here; {nearest(request.fmi, VERSIONS)}")
    if request.kind == PLAIN:
        if request.platforms is not None:
            raise UsageError("plain C is compiled by who takes it: leave the platform out")
        return
    if request.single_precision:
        raise UsageError("FMUs have double precision: single precision is for plain C, --kind c")
    if request.fmi != "2.0" and request.backend != "native":
        raise UsageError(
            f"FMI {request.fmi} needs the native back end, as pythonfmu makes FMI 2.0 only: --backend native"
        )
    if request.scalars and request.fmi == "2.0":
        raise UsageError("FMI 2.0 has no arrays to leave out: export FMI 3.0 (--fmi 3.0), or leave --scalars out")


def _platforms(request: ExportArguments) -> Sequence[str]:
    """Return the platforms that the FMU runs on.

    Raises:
        UsageError: the back end does not run on one of them.
    """
    known = PLATFORMS[request.backend]
    if request.platforms is None:
        return [name for name in default_platforms() if name in known] or ["x86_64-linux"]
    for name in request.platforms:
        if NAMES.get(name) not in known:
            native = request.backend == "native"
            who = "the native back end makes no binary" if native else "pythonfmu has no loader"
            raise UsageError(f"{who} for '{name}'; {nearest(name, (one for one in NAMES if NAMES[one] in known))}")
    return list(dict.fromkeys(NAMES[name] for name in request.platforms))


def platforms_of(names: str, backend: str, fmi: str) -> tuple[Sequence[str], tuple[str, ...]]:
    """Return the platforms that a list of names stands for, and a sentence for each whose folder FMI does not name.

    Args:
        names: with commas between them; ``all``: each for which the version of FMI has a name.
        backend: the back end.
        fmi: version of FMI; of one that there is not, nothing is known.
    """
    if fmi not in VERSIONS:
        return (), ()
    if names == "all":
        return [name for name in named_platforms(fmi) if name in PLATFORMS.get(backend, ())], ()
    listed = [name.strip() for name in names.split(",")]
    return listed, unnamed_platforms(fmi, (NAMES[name] for name in listed if name in NAMES))


def _check_stepping(request: ExportArguments) -> None:
    """Raise an error if stepper, tolerance and real time do not go with each other, the kind or the back end.

    Raises:
        UsageError: two of them exclude each other.
    """
    native = request.backend == "native" or request.kind == PLAIN
    if request.kind == PLAIN and request.tolerance:
        raise UsageError("plain C takes a fixed step size: leave the tolerance out")
    if request.real_time is not None and (not native or request.real_time < 1):
        raise UsageError("real time needs the native back end, and at least one correction: --backend native")
    if request.real_time and request.tolerance:
        raise UsageError("steps chosen for a tolerance are not bounded work: leave the tolerance or real time out")
    if "me" not in KINDS[request.kind]:
        return
    if not native:
        raise UsageError(f"an FMU of kind '{request.kind}' needs the native back end: --backend native")
    stepping = request.stepper or request.options or request.tolerance or request.real_time
    if request.kind == "me" and stepping:
        raise UsageError(
            "model exchange has no stepper, as the master's solver integrates: leave stepper, options, tolerance and "
            "real time out, or export kind 'both'"
        )


def _prepared(request: ExportArguments, system: Model) -> tuple[Prepared, Prepared | None]:
    """Return the equations with the stepper, and those for model exchange; None: there is none.

    Raises:
        ModelError, StepperError, UnknownNameError, UsageError: see `export`.
    """
    if request.choose:
        system = _with_guesses(system, request.choose)
    anywhere = partial(prepare, system, step=request.step, portable=True)
    requested = partial(
        anywhere, coordinates=request.coordinates, energy_balance=request.energy_balance, choices=request.choose
    )
    exchanged = requested("direct", {}) if "me" in KINDS[request.kind] else None
    if exchanged and request.kind == "me":
        return exchanged, exchanged
    both = request.kind == "both"
    prepared = requested(
        request.stepper,
        request.options,
        tolerance=request.tolerance,
        inverse=request.kind == "inverse",
        states=both,
        indicators=both and request.fmi != "2.0",  # which are variables there
    )
    if exchanged and exchanged.outline.guards != prepared.outline.guards:
        raise UsageError(
            f"the stepper '{prepared.scheme.name}' decides contacts by steps, and model exchange by events: leave the "
            "stepper out, or export kinds 'cs' and 'me' one by one"
        )
    return prepared, exchanged


def _native_parts(
    request: ExportArguments, prepared: Prepared, exchanged: Prepared | None, name: str, x: Any
) -> list[Native]:
    """Return the binaries of a native FMU, that of co-simulation first.

    Args:
        request: the arguments of the export.
        prepared: the model with its stepper.
        exchanged: the model for model exchange; None: there is none.
        name: the model's name as a C identifier.
        x: the state at the start.
    """
    kinds = KINDS[request.kind]
    form: dict[str, Any] = {
        "fmi": request.fmi, "scalars": request.scalars, "start": prepared.states_of(x) if exchanged else (),
        "derivatives": request.derivatives,
    }  # fmt: skip
    parts: list[Native] = []
    if "cs" in kinds:
        parts.append(Native(prepared, name, request.real_time or 0, kinds, **form))
    if exchanged:
        me = f"{name}_me" if parts else name
        parts.append(Native(exchanged, me, 0, kinds, exchange=True, **form))
    return parts


def _picture(prepared: Prepared, x: Any) -> PlaneDrawing | None:
    """Return the model as it starts in the state x; None: it has no bodies to draw."""
    dae = prepared.dae
    if not dae.skeleton:
        return None
    return drawing(dae, prepared.coordinates_of(x), dae.extended(dae.p_default()))


def _with_guesses(model: Model, names: Sequence[str]) -> Model:
    """Return a mechanism with guesses for those of some coordinates that have no start value: where it starts.

    Raises:
        StartError: it has no start.
    """
    if not isinstance(model, System):
        return model
    stated = {name for start in flatten(model).starts for name in (start, start.partition("[")[0])}
    left = {name for name in names if name not in stated}
    open_ = [start for start in model.start_values() if left & {start, start.partition("[")[0]}]
    if not open_:
        return model
    prepared = prepare(model, "direct", None, 1e-3)
    kernel, u, p = at_once(prepared.bundle), prepared.outline.u_default(), prepared.outline.p_default()
    y = kernel.outputs(prepared.initial_state(kernel=kernel, stepping=False), vector(u), vector(p), 0.0)
    values = dict(zip((item.name for item in prepared.dae.outputs), y, strict=False))
    return model.with_values({name: guess(values[name]) for name in open_ if name in values})


def _common(
    prepared: Prepared, table: Interface, picture: PlaneDrawing | None, request: ExportArguments
) -> dict[str, bytes]:
    """Return the files that both back ends have in the archive, by name.

    Args:
        prepared: the model with its stepper.
        table: the variables.
        picture: the model as it starts; None: there is none.
        request: the arguments of the export.
    """
    fmi = request.fmi if request.backend == "native" else None
    page = documentation(prepared, table, picture, fmi is not None, request.derivatives)
    members = {
        "documentation/index.html": page.encode(),
        "documentation/licenses/license.txt": _licences(fmi).encode(),
    }
    if picture:
        members[ICON if fmi == "3.0" else "model.png"] = png(picture)
    return members


def _identifier(prepared: Prepared) -> str:
    """Return the model's name as a C identifier, short enough for a file's name."""
    return re.sub(r"\W|^(?=\d|\Z)", "_", prepared.dae.name, flags=re.ASCII)[:LONGEST_NAME]


def _header(prepared: Prepared, kind: str, stop: float) -> Header:
    dae = prepared.dae
    text = f"{dae.description} ({'model exchange' if kind == 'me' else f'stepper {prepared.stepper}'})".strip()
    return Header(dae.name, text, f"mbfmu {mbfmu.__version__}", stop, prepared.step)


def _unique(contents: Iterable[bytes], members: Mapping[str, bytes]) -> str:
    """Return a hash of the content of an archive."""
    digest = hashlib.sha256()
    for content in (*contents, *(members[name] for name in sorted(members))):
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:32]


def _native(
    parts: Sequence[Native],
    header: Header,
    members: dict[str, bytes],
    platforms: Sequence[str],
    tell: Callable[[str], None],
) -> dict[str, bytes]:
    """Return the archive of a native FMU; the GUID is a hash of its content without the binaries."""
    tell(WRITE)
    code, first = common_code(parts), parts[0]
    folders = ["me/" if part.exchange and len(parts) > 1 else "" for part in parts]
    for part, folder in zip(parts, folders, strict=True):
        names = tuple(f"{folder}{name}" for name in part.sources(code, "") if name.endswith(".c"))
        if part.exchange:
            header = dataclasses.replace(header, exchange=Binary(part.identifier, names))
        else:
            header = dataclasses.replace(header, steps=Binary(part.identifier, names))
    described = model_description if first.fmi == "2.0" else model_description3
    if first.fmi == "3.0":
        members = {**members, "sources/buildDescription.xml": build_description(header)}
        terminals = terminals_and_icons(first.interface, ICON in members)
        members |= {f"{FOLDER}/terminalsAndIcons.xml": terminals} if terminals else {}
    tuples = VERSIONS[first.fmi].tuples
    last = parts[-1].interface
    table = dataclasses.replace(first.interface, feedthrough=last.feedthrough, starting=last.starting)
    guid = first.guid(code, _unique((described(table, header, ""),), members))
    for part, folder in zip(parts, folders, strict=True):
        sources = part.sources(code, guid)
        members = {**members, **native_members(sources, part.identifier, folder, platforms, tell, tuples)}
    members["modelDescription.xml"] = described(table, header, guid)
    return members


def _python(
    prepared: Prepared, table: Interface, header: Header, members: dict[str, bytes], libraries: Mapping[str, Library]
) -> dict[str, bytes]:
    """Return the archive of a pythonfmu slave; modules and GUID are named after a hash of its content."""
    identifier = _identifier(prepared)
    header = dataclasses.replace(header, steps=Binary(identifier))
    members = {**members, **_pythonfmu(identifier, tuple(libraries))}
    for platform, library in libraries.items():
        (folder,) = VERSIONS["2.0"].tuples[platform]
        members[f"resources/core/{folder}{library.path.suffix}"] = library.content
    settings = tuple(item.start or 0.0 for item in table.variables if item.kind == SETTING)
    slave, loader = (files("mbfmu.fmu").joinpath(f"{name}.py").read_text("utf-8") for name in ("slave", "loader"))
    slave = slave.replace("SETTINGS: tuple[float, ...] = ()", f"SETTINGS: tuple[float, ...] = {settings!r}")
    unique = _unique((model_description(table, header, ""), slave.encode(), loader.encode()), members)
    slave = slave.replace("mbfmu.fmu.loader", f"loader_{unique}")
    members[f"resources/slave_{unique}.py"] = slave.encode()
    members[f"resources/loader_{unique}.py"] = loader.encode()
    members["resources/slavemodule.txt"] = f"slave_{unique}".encode()
    members["modelDescription.xml"] = model_description(table, header, f"{{{unique}}}")
    return members


def _pythonfmu(identifier: str, platforms: Sequence[str]) -> dict[str, bytes]:
    """Return the pythonfmu runtime: its package for resources/, its loaders for binaries/.

    It is taken from the installation, as the imported module may come from an FMU that ran in this process.
    """
    try:
        package = Path(str(distribution("pythonfmu").locate_file("pythonfmu")))
    except PackageNotFoundError:
        raise FmuError("pythonfmu is not installed: python -m pip install pythonfmu") from None
    members = {f"resources/pythonfmu/{file.name}": file.read_bytes() for file in sorted(package.glob("*.py"))}
    for platform in platforms:
        name = BINARIES[platform]
        (folder,) = VERSIONS["2.0"].tuples[platform]
        loader = package / "resources" / "binaries" / folder / name
        if not loader.is_file():
            raise FmuError(f"pythonfmu in '{package}' has no loader for {platform}: install it again")
        members[f"binaries/{folder}/{identifier}{loader.suffix}"] = loader.read_bytes()
    return members


def _licences(fmi: str | None) -> str:
    """Return the licences of the packed files besides the model itself, for the FMI version of a native FMU or None."""
    texts = []
    if fmi:
        terms = files("mbfmu.fmu.native") / "standard" / "BSD-2-Clause.txt"
        names = ", ".join(VERSIONS[fmi].standard)
        texts.append(f"FMI {fmi} headers {names}\n\n{terms.read_text(encoding='utf-8')}")
    for package in ("mbfmu",) if fmi else ("mbfmu", "pythonfmu"):
        packed = distribution(package)
        licences = [file for file in packed.files or () if file.name.upper().startswith("LICEN")]
        text = (
            licences[0].read_text(encoding="utf-8")
            if licences
            else f"licence: {packed.metadata['License'] or 'see PyPI'}"
        )
        texts.append(f"{package} {packed.version}\n\n{text}")
    return "\n\n".join(texts)


def _archive(members: Mapping[str, bytes]) -> bytes:
    """Return a compressed ZIP file, which has the same bytes for the same members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members, key=lambda name: (name != "modelDescription.xml", name)):
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, members[name])
    return buffer.getvalue()
