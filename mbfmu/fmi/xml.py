"""The XML documents of an FMU, from a file that is not trusted: no entities, no network, no document types."""

import importlib.resources
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from lxml import etree

from mbfmu.errors import FmuError
from mbfmu.fmi.archive import DESCRIPTION, Archive
from mbfmu.fmi.fault import Fault

VERSIONS = ("2.0", "3.0")
"""Versions of FMI whose descriptions are read."""
XML, DOCTYPE, VERSION = "xml", "xml-doctype", "fmi-version"
"""Kinds of faults of an XML file, in the order in which they are checked."""
PLACED = 10_000
"""Elements up to which breaches of the schema have their lines: libxml2 looks for each among all."""


def read_root(archive: Archive, where: str) -> Any:
    """Return the root of an FMU's description.

    Args:
        archive: the archive.
        where: path of the file, for messages.

    Raises:
        FmuError: it is not XML without a document type and of a version of FMI that is read.
    """
    root, fault = parse_description(archive.read(DESCRIPTION))
    if fault is not None:
        raise FmuError(f"'{where}': {fault}")
    return root


def parse_description(data: bytes) -> tuple[Any, Fault | None]:
    """Return the root of modelDescription.xml without its schema, or None and what keeps it from being read."""
    try:
        root = etree.fromstring(data, _parser())
    except etree.LxmlError as error:
        return None, Fault(XML, f"not well-formed XML: {error}", getattr(error, "lineno", None))
    if root.getroottree().docinfo.doctype:
        return None, Fault(DOCTYPE, "entities are not allowed; remove the document type")
    version = root.get("fmiVersion")
    if version not in VERSIONS:
        text = f"the FMU is of FMI {version}: judged are FMI {' and '.join(VERSIONS)}"
        return None, Fault(VERSION, text, root.sourceline)
    return root, None


def parse_xml(data: bytes) -> Any:
    """Return the root of a document beside the description; None if it is not XML without a document type."""
    try:
        root = etree.fromstring(data, _parser())
    except etree.LxmlError:
        return None
    return None if root.getroottree().docinfo.doctype else root


def validate(data: bytes, root: Any) -> tuple[Any, Iterator[tuple[str, int | None]] | None]:
    """Check a description against the schema of its version.

    Args:
        data: the bytes of modelDescription.xml.
        root: its root.

    Returns:
        The root, and the breaches with their lines, where the document is small enough for that; None if it is valid.
    """
    schema = _schema(f"fmi{root.get('fmiVersion')[0]}")
    strict = _parser(schema)
    try:
        return etree.fromstring(data, strict), None
    except etree.LxmlError:
        return root, _breaches(root, schema, strict)


def _parser(schema: Any = None) -> Any:
    return etree.XMLParser(schema=schema, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)


def _breaches(root: Any, schema: Any, parser: Any) -> Iterator[tuple[str, int | None]]:
    if sum(1 for _ in islice(root.iter(), PLACED + 1)) <= PLACED and not schema.validate(root):
        yield from ((entry.message, entry.line) for entry in schema.error_log)
    else:
        yield from ((entry.message, None) for entry in parser.error_log)


@cache
def _schema(name: str) -> Any:
    with importlib.resources.as_file(importlib.resources.files("fmpy") / "schema" / name) as folder:
        return etree.XMLSchema(etree.parse(str(folder / f"{name}ModelDescription.xsd")))
