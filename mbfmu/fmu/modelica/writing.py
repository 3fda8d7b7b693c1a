"""Writing the Modelica package of FMUs: one file, or a folder with what a tool needs to run them."""

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from mbfmu.base.arguments import checked
from mbfmu.base.files import ending_of, is_standard_output, is_stream, write_aside, write_folder
from mbfmu.errors import UsageError
from mbfmu.fmi.reading import OuterFmu, parse_fmu
from mbfmu.fmu.modelica.exchange import FUNCTIONS, HEADER
from mbfmu.fmu.modelica.language import identifier, text_of
from mbfmu.fmu.modelica.package import common, common_names, content, ending, package

TAKEN = frozenset({
    "given", "given_der", "given_der2", "FMI2", "Rotational", "Translational", "Modelica", "Resources",
    *(f"{type}{end}" for type in ("Real", "Integer", "Boolean") for end in ("Input", "Output")),
})  # fmt: skip
"""Names in a Modelica package that no model may have: of its common classes, and of the folder of its resources."""
INCLUDED = ("fmi2FunctionTypes.h", "fmi2TypesPlatform.h", "BSD-2-Clause.txt")
"""Headers of the standard that the C functions need, and their licence."""
PICTURES = ("model.png", "terminalsAndIcons/icon.png")
"""Names of the picture of an FMU, by FMI 2.0 and 3.0."""


@checked
def write_modelica(
    fmus: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    path: str | os.PathLike[str] | None = None,
    *,
    library: bool = True,
) -> Path:
    """Write a Modelica package with a model for each FMU that has a flange for each of its driven or moved axes.

    As a folder it has an icon for each FMU, and FMUs by FMI 2.0 for model exchange are inside, as blocks that call
    their functions in C, so that no tool needs to import them.

    Args:
        fmus: path of one FMU, or paths of several by the names of their packages within the package.
        path: path of a .mo file or of a new folder, whose name is the package's; default: a file named after the one
            FMU, in the current folder.
        library: whether the Modelica Standard Library is there, whose connectors are used; otherwise the package has
            its own, which are compatible with them.

    Returns:
        The path written; it appears whole or not at all.

    Raises:
        FmuError: a file is no FMU for co-simulation or model exchange, no axis can have a flange, or two names become
            one.
        UsageError: the name of the path or of a package is not a Modelica name, or the folder is there already.
        MbfmuError: the file cannot be written.
    """
    several = isinstance(fmus, Mapping)
    named = {str(name): file for name, file in fmus.items()} if isinstance(fmus, Mapping) else {Path(fmus).stem: fmus}
    if path is None and len(named) != 1:
        raise UsageError("a package of several FMUs needs a name: -o NAME for a folder, or -o NAME.mo for a file")
    target = Path(path) if path is not None else Path(f"{next(iter(named))}.mo")
    folder = not target.suffix and not (is_stream(target) or is_standard_output(target))
    if not folder:
        ending_of(target, (".mo",))
    _check_name(target.stem, f"choose another by -o NAME{'' if folder else '.mo'}")
    known = {name: parse_fmu(file, ("2.0", "3.0"), ("cs", "me")) for name, file in named.items()}
    if not (folder or several):
        return write_aside(target, package(next(iter(known.values())), target.stem, library).encode("utf-8"))
    seen = {name.lower(): f"the package's own '{name}'" for name in TAKEN}
    for name in known:
        _check_name(name, "give it another by NAME=PATH")
        if name.lower() in seen:
            raise UsageError(f"the package '{name}' and {seen[name.lower()]} are alike: give it another by NAME=PATH")
        seen[name.lower()] = f"'{name}'"
    if folder:
        write_folder(target, _files(known, target.name, library))
        return target
    return write_aside(target, _text(known, target.stem, library).encode("utf-8"))


def _check_name(name: str, advice: str) -> None:
    if identifier(name) != name:
        raise UsageError(f"'{name}' is not a name for a Modelica package (letters, digits, _): {advice}")


def _title(fmus: Mapping[str, OuterFmu]) -> str:
    return text_of(f"FMUs with flanges: {', '.join(fmu.model for fmu in fmus.values())}")


def _text(fmus: Mapping[str, OuterFmu], name: str, library: bool) -> str:
    """Return a package of several FMUs as one text."""
    lines = [f"package {name} {_title(fmus)}", *common(fmus.values(), library)]
    for inner, fmu in fmus.items():
        lines += [f"  package {inner} {text_of(fmu.description)}", *content(fmu, library), f"  end {inner};", ""]
    return "\n".join([*lines, *ending(name, library), ""])


def _files(fmus: Mapping[str, OuterFmu], name: str, library: bool) -> dict[str, bytes]:
    """Return the files of a package that is a folder, by their paths in it."""
    here = files("mbfmu.fmu")
    contents: dict[str, bytes] = {}
    texts: dict[str, str] = {}
    called = {inner for inner, fmu in fmus.items() if fmu.version == "2.0" and fmu.exchange}
    for inner, fmu in fmus.items():
        members = fmu.members("binaries/", "resources/", *PICTURES)
        picture = next((members[item] for item in PICTURES if item in members), None)
        image, home = f"Resources/Images/{inner}.png", f"Resources/Fmus/{inner}"
        if picture:
            contents[image] = picture
        if inner in called:
            contents |= {f"{home}/{item}": content for item, content in members.items() if item not in PICTURES}
        shown = f"modelica://{name}/{image}" if picture else None
        lines = content(fmu, library, f"modelica://{name}/{home}" if inner in called else "", shown)
        head = [f"within {name};", f"package {inner} {text_of(fmu.description)}"]
        texts[f"{inner}.mo"] = "\n".join([*head, *lines, *ending(inner, library=False), ""])
    if called:
        contents[f"Resources/Include/{HEADER}"] = (here / "modelica" / HEADER).read_bytes()
        for item in INCLUDED:
            contents[f"Resources/Include/{item}"] = (here / "native" / "standard" / item).read_bytes()
    shared = [*common(fmus.values(), library), *([FUNCTIONS] if called else [])]
    whole = "\n".join([f"package {name} {_title(fmus)}", *shared, *ending(name, library), ""])
    order = [*fmus, *common_names(fmus.values(), library), *(["FMI2"] if called else [])]
    texts = {"package.mo": whole, "package.order": "\n".join([*order, ""]), **texts}
    return {item: text.encode("utf-8") for item, text in texts.items()} | contents
