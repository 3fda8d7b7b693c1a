"""Dae + Scheme -> one bundle of functions, compiled by the host's C compiler or interpreted by CasADi."""

from mbfmu.kernel.bundle import Bundle, compose
from mbfmu.kernel.loading import compiled_library, describe, following, library, load, recording
from mbfmu.kernel.runtime import Compiled, Interpreted, Status, vector

__all__ = [
    "Bundle",
    "Compiled",
    "Interpreted",
    "Status",
    "compiled_library",
    "compose",
    "describe",
    "following",
    "library",
    "load",
    "recording",
    "vector",
]
