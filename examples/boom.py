"""The boom of the excavator as a flexible body: a box of steel plates, meshed and reduced.

    python -m examples.boom [BODY.npz [MESH.inp]]

The boom is a bent box girder of 7.5 mm plates, 140 mm wide and 140 to 260 mm deep, symmetric about the plane of the
machine. Its mesh has one layer of hexahedra through the plates. The pins of the machine's `boom` become frames: the
pivot is frame_a; `lift_eye`, `crowd_foot` and `tip` guide the nodes of the plates around them rigidly. The dimensions
are own choice, next to the mass, the centre of mass and the inertia of the rigid boom of `models/excavator.py`.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mbfmu.analysis.reduction import Material, Reduction, assemble, reduce
from mbfmu.model import write_modal

Array = npt.NDArray[np.float64]
Sets = dict[str, npt.NDArray[np.int64]]

STEEL = Material(E=2.1e11, nu=0.3, rho=7850.0)
WIDTH, PLATE = 0.14, 0.0075
"""Width of the box and thickness of its plates, m."""
ALONG, ACROSS, UP = 26, 2, 3
"""Numbers of cells along the boom, across its upper and lower plate, and up its sides."""
PINS = {
    "pivot": (0.0, 0.0, 0.0),
    "lift_eye": (0.7, 0.3, 0.0),
    "crowd_foot": (0.75, 0.42, 0.0),
    "tip": (1.85, 0.0, 0.0),
}
"""Places of the pins, m, those of models/excavator.py."""
MODES, HIGHEST = 10, 3000.0
"""Number of modes beside the static shapes of the pins, and frequency above which none is kept, Hz."""


def axis(s: Array) -> tuple[Array, Array]:
    """Return places along the axis of the boom, m, and its depth there, for 0 <= s <= 1."""
    x = 1.85 * s
    y = 0.33 * np.sin(np.pi * s) ** 0.9 * (1.12 - 0.3 * s)
    return np.column_stack([x, y]), 0.14 + 0.12 * np.sin(np.pi * s)


def mesh() -> tuple[Array, npt.NDArray[np.int64], Sets]:
    """Return points (m), corners of the hexahedra and node sets of the boom."""
    s = np.linspace(0.0, 1.0, ALONG + 1)
    places, depth = axis(s)
    slopes = np.gradient(places, s, axis=0)
    normals = np.column_stack([-slopes[:, 1], slopes[:, 0]]) / np.linalg.norm(slopes, axis=1)[:, None]
    corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]  # (across, up), around the box
    ring = []
    for (a, b), (c, d), count in zip(corners, corners[1:] + corners[:1], (ACROSS, UP, ACROSS, UP), strict=True):
        ring += [(a + (c - a) * k / count, b + (d - b) * k / count) for k in range(count)]
    around = len(ring)
    points = np.zeros((ALONG + 1, around, 2, 3))
    for layer, inset in enumerate((0.0, PLATE)):
        for number, (across, up) in enumerate(ring):
            height = up * (depth / 2 - inset)
            points[:, number, layer, :2] = places + normals * height[:, None]
            points[:, number, layer, 2] = across * (WIDTH / 2 - inset)
    index = np.arange(points[..., 0].size).reshape(points.shape[:3])
    after = np.roll(index, -1, axis=1)
    cells = [  # corners in the order of meshio: a face, then the one above it
        index[:-1, :, 0], after[:-1, :, 0], after[:-1, :, 1], index[:-1, :, 1],
        index[1:, :, 0], after[1:, :, 0], after[1:, :, 1], index[1:, :, 1],
    ]  # fmt: skip
    near = np.abs(s - PINS["lift_eye"][0] / 1.85) < 0.06
    heights, sides = np.array([up for _, up in ring]), np.array([across for across, _ in ring])
    at_side = (np.abs(sides) == 1) & (np.abs(heights) < 0.5)
    on_top = (heights == 1) & (np.abs(sides) < 1)
    sets = {
        "pivot": index[0],
        "tip": index[-1],
        "lift_eye": index[near][:, at_side],
        "crowd_foot": index[near][:, on_top],
    }
    return (
        points.reshape(-1, 3),
        np.stack([item.ravel() for item in cells], axis=1),
        {name: np.unique(numbers) for name, numbers in sets.items()},
    )


def reduced() -> Reduction:
    """Return the boom, reduced to its modes in the plane of the machine."""
    points, cells, sets = mesh()
    model = assemble(points, ("hexahedron", cells), STEEL, sets)
    return reduce(model, list(PINS), MODES, places=PINS, free_frames=True, planar=True, below=HIGHEST)


if __name__ == "__main__":
    found = reduced()
    for pair in found.clamped:
        print(f"{pair.reduced:9.3f} Hz, whole model {pair.whole:9.3f} Hz, difference {pair.error:.1e}")
    print(f"{found.data.m:.2f} kg, centre of mass {found.data.c0[:2] / found.data.m} m, {len(found.data.Me)} modes")
    if len(sys.argv) > 1:
        write_modal(sys.argv[1], found.data)
    if len(sys.argv) > 2:
        import meshio

        points, cells, sets = mesh()
        meshio.Mesh(points, [("hexahedron", cells)], point_sets=sets).write(Path(sys.argv[2]), file_format="abaqus")
