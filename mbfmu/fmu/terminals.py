"""Interface -> terminalsAndIcons.xml of FMI 3.0: a terminal for each axis that another model drives, and the icon."""

from collections import Counter
from xml.etree.ElementTree import Element, SubElement

from mbfmu.fmu.arrays import arrays
from mbfmu.fmu.description import document
from mbfmu.fmu.interface import Interface
from mbfmu.fmu.modelica.axes import KINDS, LIBRARY, Axis, axes
from mbfmu.fmu.picture import HEIGHT, WIDTH

FOLDER = "terminalsAndIcons"
TALL = f"{100 * HEIGHT / WIDTH:g}"
EXTENT = {"x1": "-100", "y1": f"-{TALL}", "x2": "100", "y2": TALL}
"""Corners of the icon, as wide as FMI has it by default."""


def terminals_and_icons(interface: Interface, pictured: bool) -> bytes | None:
    """Return terminalsAndIcons.xml; None if there is nothing to say.

    A terminal has the members of a Modelica flange, coordinate and effort, with rate and acceleration beside them. The
    effort flows into the mechanism.

    Args:
        interface: the variables.
        pictured: whether there is an icon.
    """
    scalars = {array.name: array.first for array in arrays(interface) if not array.shape}
    flanges = list(axes(scalars))
    if not flanges and not pictured:
        return None
    root = Element("fmiTerminalsAndIcons", {"fmiVersion": "3.0"})
    if pictured:
        graphics = SubElement(root, "GraphicalRepresentation")
        SubElement(graphics, "CoordinateSystem", {**EXTENT, "suggestedScalingFactorTo_mm": "0.1"})
        SubElement(graphics, "Icon", EXTENT)
    if flanges:
        terminals = SubElement(root, "Terminals")
        counts = Counter(axis.name for axis in flanges)
        for axis in flanges:
            _terminal(terminals, axis, axis.name if counts[axis.name] == 1 else axis.effort)
    return document(root)


def _terminal(parent: Element, axis: Axis, name: str) -> None:
    coordinate, rate, effort, _ = KINDS[axis.kind]
    node = SubElement(parent, "Terminal", {"name": name, "matchingRule": "bus", "terminalKind": LIBRARY[axis.kind]})
    for member, variable in zip((coordinate, rate, "a"), axis.motion, strict=True):
        SubElement(
            node, "TerminalMemberVariable", {"variableName": variable, "memberName": member, "variableKind": "signal"}
        )
    SubElement(
        node, "TerminalMemberVariable", {"variableName": axis.effort, "memberName": effort, "variableKind": "inflow"}
    )
