"""Formats of robots' files, by the root of their XML."""

import re
from pathlib import Path

from mbfmu.errors import ModelFileError
from mbfmu.model.source import read_bytes

LARGEST = 30_000_000
"""Largest number of bytes of a file."""
ROOTS = {"mujoco": "MJCF", "robot": "URDF", "sdf": "SDF"}
"""Formats by the tag of their root."""
NO_ELEMENT = re.compile(rb"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>]*>", re.DOTALL)
FIRST = re.compile(rb"<([A-Za-z_][\w.:-]*)")


def format_of(path: Path) -> str:
    """Return the format of a robot's XML file: ``MJCF``, ``URDF`` or ``SDF``; MJCF if the file has no element at all.

    Raises:
        ModelFileError: the file is missing, or its root is that of none of these.
    """
    found = FIRST.search(NO_ELEMENT.sub(b"", read_bytes(path, LARGEST)))
    root = found.group(1).decode() if found else "mujoco"
    if root not in ROOTS:
        raise ModelFileError(f"'{path}': the root of a robot's file is <mujoco>, <robot> or <sdf>, not <{root}>")
    return ROOTS[root]
