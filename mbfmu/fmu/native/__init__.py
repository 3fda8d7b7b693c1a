"""The native back end: the kernel behind the FMI functions in C, compiled for one platform or several."""

from mbfmu.fmu.native.build import PLATFORMS, STANDARD, Native, compiling, default_platforms, native_members

__all__ = ["PLATFORMS", "STANDARD", "Native", "compiling", "default_platforms", "native_members"]
