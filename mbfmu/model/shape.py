"""Shape: the solid that a body is drawn as: a box, a cylinder, a sphere, or the triangles in a file."""

import math
import os
import re
from dataclasses import dataclass

from mbfmu.errors import ExpressionError, ModelError, ValueRangeError
from mbfmu.model.expression import constant

ENDINGS = (".stl", ".obj")
"""Ends of the names of files of triangles."""
SOLID = re.compile(r"(box|cylinder|sphere)\((.*)\)")
"""A solid with its sizes."""
SIZES = {"box": (2, 3), "cylinder": (1, 2), "sphere": (1,)}
"""Numbers of sizes of the solids; with the smaller number a solid reaches from frame_a to frame_b."""


@dataclass(frozen=True)
class BodyLook:
    """The solid that a body is drawn as.

    Args:
        kind: ``box``, ``cylinder``, ``sphere`` or ``mesh``.
        sizes: m; of a box its sides, the first along r, of a cylinder radius and length along r, of a sphere the
            radius; those of a box or cylinder from frame_a to frame_b lack the length.
        file: path of a file of triangles, m, seen from frame_a.
    """

    kind: str
    sizes: tuple[float, ...] = ()
    file: str = ""


def shape_of(text: str | os.PathLike[str], where: str) -> BodyLook:
    """Return the shape that a text stands for.

    Args:
        text: such as ``box(0.4, 0.1, 0.1)``, ``cylinder(0.05)``, ``sphere(0.1)`` or ``hull.stl``.
        where: name of the field, for messages.

    Raises:
        ValueRangeError: it stands for none.
    """
    path = os.fspath(text) if isinstance(text, str | os.PathLike) else ""
    if path.lower().endswith(ENDINGS):
        return BodyLook("mesh", file=path)
    forms = "box(length, width, height), box(width, height), cylinder(radius, length), cylinder(radius), sphere(radius)"
    fault = f"{where} = {text!r} must be one of {forms}, or the path of a {' or '.join(ENDINGS)} file"
    match = SOLID.fullmatch(path.strip())
    if match is None:
        raise ValueRangeError(fault)
    try:
        sizes = tuple(constant(part) for part in match[2].split(","))
    except (ExpressionError, ModelError) as error:
        raise ValueRangeError(f"{fault}: {error}") from None
    if len(sizes) not in SIZES[match[1]] or not all(0 < size < math.inf for size in sizes):
        raise ValueRangeError(f"{fault}, with positive numbers of meters")
    return BodyLook(match[1], sizes)
