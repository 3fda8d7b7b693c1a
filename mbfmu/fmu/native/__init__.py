"""The native back end: the kernel behind the FMI functions in C, compiled for one platform or several."""

from mbfmu.fmu.native.build import (
    PLATFORMS,
    VERSIONS,
    Native,
    common_code,
    compiling,
    default_platforms,
    native_members,
)

__all__ = ["PLATFORMS", "VERSIONS", "Native", "common_code", "compiling", "default_platforms", "native_members"]
