"""The native back end: the kernel behind the FMI functions in C, compiled for one platform or several."""

from mbfmu.fmu.native.build import (
    NAMES,
    VERSIONS,
    Native,
    common_code,
    compiling,
    default_platforms,
    named_platforms,
    native_members,
    unnamed_platforms,
)

__all__ = [
    "NAMES",
    "VERSIONS",
    "Native",
    "common_code",
    "compiling",
    "default_platforms",
    "named_platforms",
    "native_members",
    "unnamed_platforms",
]
