"""Rerun recordings: the bodies of a page, their motion and all curves, for the viewer of the package rerun-sdk."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbfmu.base import extras
from mbfmu.errors import UsageError
from mbfmu.show.viewer.exchanged import (
    colour_of,
    motion_of_scene,
    motion_of_strut,
    numbers_of,
    triangles_of,
    unit_tube,
    upright,
)

WORLD, CURVES = "world", "curves"
"""Entities below which bodies and curves are."""
CLOCK = "time"
"""Name of the timeline, s."""


def rerun() -> Any:
    """Return the package rerun.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import rerun
    except ImportError:
        raise UsageError(f"an .rrd file needs Rerun: {extras.command('rerun')}") from None
    return rerun


def rrd_of(content: Mapping[str, Any]) -> bytes:
    """Return bodies, motion and curves of a page as a Rerun recording; up becomes z.

    Flexible bodies are left out, but for what is fixed to their frames. Curves have the units that the page shows.

    Args:
        content: bodies and motion, as `scene_of` makes them, and curves.

    Raises:
        UsageError: Rerun is not installed.
    """
    rr = rerun()
    times, r, turns = motion_of_scene(content)
    stream = rr.RecordingStream("mbfmu")
    memory = stream.memory_recording()

    def fix(entity: list[str], item: Mapping[str, Any], mesh: tuple[Any, Any]) -> None:
        rgba = np.round(255 * np.array(colour_of(content, item))).astype(np.uint8)
        shape = rr.Mesh3D(vertex_positions=mesh[0], triangle_indices=mesh[1], albedo_factor=rgba)
        stream.log(entity, shape, static=True)

    def move(entity: list[str], clock: Any, columns: Any) -> None:
        stream.send_columns(rr.new_entity_path(entity), [rr.TimeColumn(CLOCK, duration=clock)], columns)

    stream.log(WORLD, rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    up = upright(np.array(content["up"]), np.array([0.0, 0.0, 1.0]))
    stream.log(WORLD, rr.Transform3D(quaternion=up), static=True)
    # bodies with their meshes, rods between points of two bodies, curves
    bodies = [[WORLD, body["name"]] for body in content["bodies"]]
    for k, entity in enumerate(bodies):
        move(entity, times, rr.Transform3D.columns(translation=r[:, k], quaternion=turns[:, k]))
    for k, item in enumerate([*content["solids"], *content["meshes"]]):
        owner = bodies[item["body"]] if item["body"] >= 0 else [WORLD]
        fix([*owner, f"solid {k}"], item, triangles_of(item))
    for k, item in enumerate(content["struts"]):
        start, turn, scale = motion_of_strut(item, r, turns)
        rod = [WORLD, f"rod {k}"]
        fix(rod, {**item, "body": item["far"]}, unit_tube(item))
        move(rod, times, rr.Transform3D.columns(translation=start, quaternion=turn, scale=scale))
    for item in content["curves"]:
        clock = numbers_of(content["sparse_times" if item["sparse"] else "curve_times"], "<f8")
        move([CURVES, item["label"], item["name"]], clock, rr.Scalars.columns(scalars=numbers_of(item["values"])))
    recorded: bytes = memory.drain_as_bytes()
    return recorded
