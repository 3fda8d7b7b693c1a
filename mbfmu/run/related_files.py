"""Files on an FMU inside it, each with its role, by the FMI layered standard FMI-LS-REF.

Source: Modelica Association, Layered Standard References (FMI-LS-REF) 1.0.0-alpha.1, in the repository
modelica/fmi-ls-ref. It holds for FMI 2.0 and 3.0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from xml.sax.saxutils import quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from mbfmu.errors import UsageError

VERSION = "1.0.0-alpha.1"
"""Version of the layered standard FMI-LS-REF that the files follow."""
NAME = "org.fmi-standard.fmi-ls-ref"
"""Name of the layered standard FMI-LS-REF, which is also that of its folder in an FMU."""
MANIFEST = "fmi-ls-manifest.xml"
DOCUMENT = "documentation/fmi-ls-ref.txt"
"""Path, inside an FMU, of the text on its reference files."""
CLAIM = "Layered Standard providing information on related files included in an FMU."
"""Description of the layered standard, which its schema fixes."""


@dataclass(frozen=True)
class Related:
    """A file on an FMU.

    Args:
        name: name of the file.
        type: MIME type.
        role: one of the layered standard's, such as ``result``.
        description: a line for users.
        content: what is in it.
    """

    name: str
    type: str
    role: str
    description: str
    content: bytes


def with_related(fmu: bytes, related: Sequence[Related], text: str) -> bytes:
    """Return an FMU with files on it inside, its other members as they are.

    Files of the same names are replaced, so that the same call gives the same bytes.

    Args:
        fmu: the bytes of the .fmu file.
        related: the files.
        text: what there is to say on them.

    Raises:
        UsageError: the FMU has other files of this layered standard, which its manifest would no longer list.
    """
    folder = f"extra/{NAME}/"
    added: Mapping[str, bytes] = {
        **{folder + item.name: item.content for item in related},
        folder + MANIFEST: manifest(related).encode("utf-8"),
        DOCUMENT: text.encode("utf-8"),
    }
    packed = BytesIO()
    with ZipFile(BytesIO(fmu)) as old, ZipFile(packed, "w", ZIP_DEFLATED) as new:
        others = [name for name in old.namelist() if name.startswith(folder) and not name.endswith("/")]
        if wrong := sorted({*others} - {*added}):
            raise UsageError(f"the FMU has files of {NAME} already: {', '.join(wrong)}")
        for item in old.infolist():
            if item.filename not in added:
                new.writestr(item, old.read(item))
        for name, content in added.items():
            new.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return packed.getvalue()


def manifest(related: Sequence[Related]) -> str:
    """Return the manifest that lists files and their roles."""
    rows = [
        f"  <Related type={quoteattr(item.type)} source={quoteattr(item.name)} role={quoteattr(item.role)} "
        f"description={quoteattr(item.description)}/>"
        for item in related
    ]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<fmiReferences xmlns:fmi-ls="http://fmi-standard.org/fmi-ls-manifest"',
            f'    fmi-ls:fmi-ls-name="{NAME}" fmi-ls:fmi-ls-version="{VERSION}"',
            f'    fmi-ls:fmi-ls-description="{CLAIM}">',
            *rows,
            "</fmiReferences>",
            "",
        ]
    )
