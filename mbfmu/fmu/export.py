"""System -> .fmu: equations, kernel, description and slave in one reproducible archive."""

import hashlib
import io
import json
import math
import os
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import Any

import mbfmu
from mbfmu.errors import FmuError, UsageError, nearest
from mbfmu.files import write_aside
from mbfmu.fmu.description import Header, model_description
from mbfmu.fmu.documentation import documentation
from mbfmu.fmu.picture import drawing, png
from mbfmu.fmu.prepare import Prepared, prepare
from mbfmu.kernel import compiled_library, describe
from mbfmu.model import Model

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Date of every file in the archive: the same input gives the same bytes."""
BINARIES = {"linux64": "libpythonfmu-export.so", "win64": "pythonfmu-export.dll"}
"""The loaders pythonfmu ships, by FMI platform."""
PLATFORMS = tuple(BINARIES)


def export(
    system: Model,
    path: str | os.PathLike[str] | None = None,
    *,
    stepper: str | None = None,
    options: Mapping[str, Any] | None = None,
    step: float = 1e-3,
    tolerance: float = 0.0,
    stop: float = 10.0,
    coordinates: str | None = None,
    platforms: Sequence[str] = PLATFORMS,
) -> Path:
    """Write a mechanism with a stepper as an FMI 2.0 co-simulation FMU.

    Args:
        system: the mechanism.
        path: of the .fmu file; default: the system's name, in the current folder.
        stepper: name of the stepper; None: the one the model names, else `rattle`, or `projected` for nonholonomic
            constraints.
        options: its options.
        step: default of solver.step, s.
        tolerance: default of solver.tolerance; 0: equal steps.
        stop: default stop time, s.
        coordinates: ``absolute`` or ``joint``; None: joint coordinates if they are fewer.
        platforms: which the FMU shall run on, of `PLATFORMS`. The compiled kernel is for 64-bit Linux; elsewhere the
            kernel is interpreted, and the Python there needs casadi.

    Returns:
        The path of the file written; it appears whole or not at all.

    Raises:
        ModelError, StepperError, UnknownNameError: the model or stepper cannot be.
        StartError: the default start values contradict the constraints.
        UsageError: the path does not end in .fmu, or the step is not positive.
        MbfmuError: the file cannot be written.
    """
    target = Path(path) if path is not None else Path(f"{system.name}.fmu")
    if target.suffix != ".fmu":
        raise UsageError(f"'{target}' must end in .fmu")
    if not (math.isfinite(stop) and stop > 0):
        raise UsageError(f"the stop time is {stop} s; it must be a positive number")
    for name in platforms:
        if name not in PLATFORMS:
            raise UsageError(f"pythonfmu has no loader for '{name}'; {nearest(name, PLATFORMS)}")
    prepared = prepare(system, stepper, options, step, tolerance, coordinates)
    x = prepared.initial_state()
    return write_aside(target, _archive(_members(prepared, stop, prepared.coordinates_of(x), platforms)))


def _members(prepared: Prepared, stop: float, q: Any, platforms: Sequence[str]) -> dict[str, bytes]:
    """Return the content of the archive by name; modules and GUID are named after a hash of it all."""
    interface, dae = prepared.interface, prepared.dae
    identifier = re.sub(r"\W", "_", dae.name)
    members = {
        "resources/model.json": _json(_model(prepared)),
        "resources/kernel.json": _json(describe(prepared.bundle)),
        **_pythonfmu(identifier, platforms),
    }
    picture = drawing(dae, q, dae.extended(dae.p_default()))
    members["documentation/index.html"] = documentation(prepared, picture).encode()
    members["documentation/licenses/license.txt"] = _licences().encode()
    if picture:
        members["model.png"] = png(picture)
    here = sys.platform == "linux" and "linux64" in platforms
    library = compiled_library(prepared.bundle) if here else None
    if library is not None:
        members["resources/kernel_linux64.so"] = library.read_bytes()
    slave = files("mbfmu.fmu").joinpath("slave.py").read_text(encoding="utf-8")
    runtime = files("mbfmu.kernel").joinpath("runtime.py").read_text(encoding="utf-8")
    text = f"{dae.description} (stepper {prepared.stepper})".strip()
    header = Header(dae.name, identifier, text, f"mbfmu {mbfmu.__version__}", stop, prepared.step)

    digest = hashlib.sha256()
    nameless = (model_description(interface, header, ""), slave.encode(), runtime.encode())
    for content in (*nameless, *(members[name] for name in sorted(members))):
        digest.update(hashlib.sha256(content).digest())
    unique = digest.hexdigest()[:32]
    packed = f"runtime_{unique}"
    members[f"resources/{packed}.py"] = runtime.encode()
    members[f"resources/slave_{unique}.py"] = (
        slave.replace("mbfmu.kernel.runtime", packed).replace('FMU = "unpacked"', f'FMU = "{unique}"').encode()
    )
    members["resources/slavemodule.txt"] = f"slave_{unique}".encode()
    members["modelDescription.xml"] = model_description(interface, header, f"{{{unique}}}")
    return members


def _model(prepared: Prepared) -> dict[str, Any]:
    """Return what the slave needs to know, as plain data."""
    interface = prepared.interface
    parameters = [item for item in interface.variables if item.causality == "parameter"]
    return {
        "name": prepared.dae.name,
        "n_u": interface.n_u,
        "n_p": interface.n_p,
        "n_y": interface.n_y,
        "p": [item.start for item in parameters[: interface.n_p]],
        "s": prepared.dae.s_default().tolist(),
        "step": prepared.step,
        "tolerance": prepared.tolerance,
        "starts": interface.starts,
        "bounds": [
            [item.variability == "tunable", *(_bound(value) for value in (item.min, item.max))] for item in parameters
        ],
        "names": {str(item.reference): item.name for item in reversed(interface.variables)},
    }


def _bound(value: float) -> float | None:
    return None if abs(value) == float("inf") else value


def _pythonfmu(identifier: str, platforms: Sequence[str]) -> dict[str, bytes]:
    """Return the pythonfmu runtime: its package for resources/, its loaders for binaries/.

    It is taken from the installation: the module that is imported may come out of an FMU run in this process.
    """
    try:
        package = Path(str(distribution("pythonfmu").locate_file("pythonfmu")))
    except PackageNotFoundError:
        raise FmuError("pythonfmu is not installed: python -m pip install pythonfmu") from None
    members = {f"resources/pythonfmu/{file.name}": file.read_bytes() for file in sorted(package.glob("*.py"))}
    for platform in platforms:
        name = BINARIES[platform]
        loader = package / "resources" / "binaries" / platform / name
        if not loader.is_file():
            raise FmuError(f"pythonfmu in '{package}' has no loader for {platform}: install it again")
        members[f"binaries/{platform}/{identifier}{loader.suffix}"] = loader.read_bytes()
    return members


def _licences() -> str:
    """Return the licences of what is packed besides the model itself."""
    texts = []
    for package in ("mbfmu", "pythonfmu"):
        packed = distribution(package)
        found = [file for file in packed.files or () if file.name.upper().startswith("LICEN")]
        text = found[0].read_text(encoding="utf-8") if found else f"licence: {packed.metadata['License'] or 'see PyPI'}"
        texts.append(f"{package} {packed.version}\n\n{text}")
    return "\n\n".join(texts)


def _json(data: Any) -> bytes:
    return json.dumps(data, indent=1).encode("utf-8")


def _archive(members: Mapping[str, bytes]) -> bytes:
    """Return a compressed ZIP, the same bytes for the same members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members, key=lambda name: (name != "modelDescription.xml", name)):
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, members[name])
    return buffer.getvalue()
