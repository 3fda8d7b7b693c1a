"""Dae + Scheme -> one bundle of functions, compiled by a C compiler."""

from mbfmu.kernel.bundle import Bundle, compose
from mbfmu.kernel.loading import at_once, compiled_library, describe, following, library, load, recording
from mbfmu.kernel.runtime import Compiled, Status, vector

__all__ = [
    "Bundle",
    "Compiled",
    "Status",
    "at_once",
    "compiled_library",
    "compose",
    "describe",
    "following",
    "library",
    "load",
    "recording",
    "vector",
]
