"""Annotation of the time derivatives among outputs, for readers that know mbfmu.

In model exchange the attribute `derivative` stands on the derivatives of continuous states alone, as OMSimulator counts
each variable that has it as one of a state. Which other variables are the time derivative of which stands here.
"""

from collections.abc import Iterable
from typing import Any
from xml.etree.ElementTree import Element, SubElement

TOOL = "mbfmu"
"""Name of the tool in whose annotation FMI 2.0 keeps the pairs of variable and derivative."""
TYPE = "mbfmu.derivatives"
"""Type of the annotation in which FMI 3.0 keeps the pairs of variable and derivative."""

Pair = tuple[str, str]
"""Name of a time derivative, and of the variable that it is that of."""


def add_derivatives(root: Element, pairs: Iterable[Pair], version: str) -> None:
    """Add the annotation to a description of a version of FMI, at its present end; nothing if there are no pairs."""
    stated = tuple(pairs)
    if not stated:
        return
    if version == "2.0":
        parent = SubElement(SubElement(root, "VendorAnnotations"), "Tool", {"name": TOOL})
    else:
        parent = SubElement(SubElement(root, "Annotations"), "Annotation", {"type": TYPE})
    node = SubElement(parent, "Derivatives")
    for name, of in stated:
        SubElement(node, "Derivative", {"name": name, "of": of})


def derivatives_of(root: Any) -> dict[str, str]:
    """Return what each time derivative of the annotation is that of, by name; nothing if there is no annotation.

    Args:
        root: root of a modelDescription.xml of any version and tool.
    """
    parents = (f"VendorAnnotations/Tool[@name='{TOOL}']", f"Annotations/Annotation[@type='{TYPE}']")
    nodes = (node for parent in parents for node in root.iterfind(f"{parent}/Derivatives/Derivative"))
    return {node.get("name", ""): node.get("of", "") for node in nodes}
