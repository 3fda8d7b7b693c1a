"""Pictures of a mechanism at its start: an SVG for the documentation, a PNG for the icon; drawn without a library."""

import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from mbfmu.dae import Dae

Array = npt.NDArray[np.float64]

WIDTH, HEIGHT, MARGIN = 480, 360, 40
LINE, DOT = 6.0, 7.0
"""Pixels: width of a body's line, radius of a joint."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c564b")
INK = "#222222"


@dataclass(frozen=True)
class PlaneDrawing:
    """A mechanism in the picture's plane.

    Args:
        lines: (body, colour, x1, y1, x2, y2), pixels.
        joints: (name, x, y), pixels.
    """

    lines: tuple[tuple[str, str, float, float, float, float], ...]
    joints: tuple[tuple[str, float, float], ...]


def drawing(dae: Dae, q: Array, p: Array) -> PlaneDrawing | None:
    """Return the picture of a mechanism, None if it has no bodies to show.

    Args:
        dae: the equations.
        q: coordinates, shape (n,).
        p: parameters, shape (n_p,).
    """
    if dae.skeleton is None:
        return None
    flat = _projected(np.array(dae.skeleton.points(q, p, 0.0)), np.array(dae.skeleton.down))
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    room = np.array([[WIDTH - 2 * MARGIN], [HEIGHT - 2 * MARGIN]])
    scale = float(np.min(room / np.maximum(high - low, 1e-9)))
    x, y = (flat - (low + high) / 2) * min(scale, float(room.min()) / 1e-3) + np.array([[WIDTH / 2], [HEIGHT / 2]])
    bodies = list(dict.fromkeys(bone.body for bone in dae.skeleton.bones))
    colours = {body: COLOURS[index % len(COLOURS)] for index, body in enumerate(bodies)}
    return PlaneDrawing(
        tuple(
            (bone.body, colours[bone.body], x[bone.start], y[bone.start], x[bone.end], y[bone.end])
            for bone in dae.skeleton.bones
        ),
        tuple((joint.name, x[joint.start], y[joint.start]) for joint in dae.skeleton.joints),
    )


def _projected(points: Array, down: Array) -> Array:
    """Return the points in the picture's plane, y downwards: from the front in the plane, else from the side above."""
    if points.shape[0] == 2:
        front: Array = points * np.array([[1.0], [-1.0]])
        return front
    up = -down / np.linalg.norm(down)
    side = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    side /= np.linalg.norm(side)
    ahead = np.cross(side, up)
    looking = (0.85 * side + 0.5 * ahead) / np.hypot(0.85, 0.5)
    across = np.cross(looking, up)
    above = 0.9 * up + 0.35 * looking
    flat: Array = np.vstack([across @ points, -above @ points])
    return flat


def svg(picture: PlaneDrawing, title: str) -> str:
    """Return the picture as an <svg> element."""
    elements = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
    ]
    for body, colour, x1, y1, x2, y2 in picture.lines:
        elements.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{LINE:g}" stroke-linecap="round"><title>{escape(body)}</title></line>'
        )
    for name, x, y in picture.joints:
        elements.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT:g}" fill="white" stroke="{INK}" stroke-width="2">'
            f"<title>{escape(name)}</title></circle>"
        )
    return "\n".join([*elements, "</svg>"])


def _around(x: Sequence[float], y: Sequence[float], reach: float) -> tuple[slice, slice]:
    """Return the rows and columns of the pixels within reach of the box that holds some points."""
    top, left = (max(0, math.floor(min(each) - reach)) for each in (y, x))
    return slice(top, max(top, math.ceil(max(y) + reach))), slice(left, max(left, math.ceil(max(x) + reach)))


def png(picture: PlaneDrawing) -> bytes:
    """Return the picture as a PNG file."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    image = np.full((HEIGHT, WIDTH, 3), 255.0)

    def paint(where: tuple[slice, slice], cover: Array, colour: str) -> None:
        ink = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=float)
        image[where] += np.clip(cover, 0.0, 1.0)[..., None] * (ink - image[where])

    for _, colour, x1, y1, x2, y2 in picture.lines:
        where, dx, dy = _around((x1, x2), (y1, y2), LINE / 2 + 1), x2 - x1, y2 - y1
        x, y = columns[where] - x1, rows[where] - y1
        along = np.clip((x * dx + y * dy) / max(dx * dx + dy * dy, 1e-9), 0.0, 1.0)
        paint(where, LINE / 2 + 0.5 - np.hypot(x - along * dx, y - along * dy), colour)
    for _, x1, y1 in picture.joints:
        where = _around((x1,), (y1,), DOT + 2)
        away = np.hypot(columns[where] - x1, rows[where] - y1)
        paint(where, DOT + 1.5 - away, INK)
        paint(where, DOT - 0.5 - away, "#ffffff")
    pixels = np.round(image).astype(np.uint8)
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
