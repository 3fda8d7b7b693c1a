"""The platform of a shared library, read from its first bytes."""

import struct
from itertools import islice

ENOUGH = 4096
"""Number of bytes from which the platform is read."""
ELF = {3: "x86", 20: "ppc32", 21: "ppc64", 40: "aarch32", 62: "x86_64", 183: "aarch64"}
"""Processors by their numbers in the format ELF (e_machine of the System V ABI); that of RISC-V has 32 or 64 bits."""
RISC_V = 243
PE = {0x14C: "x86", 0x1C4: "aarch32", 0x8664: "x86_64", 0xAA64: "aarch64"}
"""Processors by their numbers in the format PE."""
MACH = {7: "x86", 12: "aarch32", 0x01000007: "x86_64", 0x0100000C: "aarch64"}
"""Processors by their numbers in the format Mach-O."""


def platforms_of(head: bytes) -> tuple[str, ...]:
    """Return the platforms of a shared library by the names of FMI 3.0, such as x86_64-linux; empty: it is none.

    A processor without a name there is called by its number, and WebAssembly is called wasm32.

    Args:
        head: its first bytes, `ENOUGH` of them if it has as many.
    """
    try:
        if head.startswith(b"\x7fELF"):
            return (f"{_of_elf(head)}-linux",)
        if head.startswith(b"MZ"):
            return tuple(f"{name}-windows" for name in _of_pe(head))
        if head.startswith(b"\0asm"):
            return ("wasm32",)
        return tuple(f"{name}-darwin" for name in _of_mach(head))
    except struct.error:  # it is cut off
        return ()


def _of_elf(head: bytes) -> str:
    """Return the processor of an ELF file."""
    (machine,) = struct.unpack_from("<H" if head[5:6] == b"\1" else ">H", head, 18)
    if machine == RISC_V:
        return "riscv64" if head[4] == 2 else "riscv32"
    return ELF.get(machine, f"processor {machine}")


def _of_pe(head: bytes) -> tuple[str, ...]:
    """Return the processor of a PE file."""
    (offset,) = struct.unpack_from("<I", head, 60)
    if head[offset : offset + 4] != b"PE\0\0":
        return ()
    (machine,) = struct.unpack_from("<H", head, offset + 4)
    return (PE.get(machine, f"processor {machine}"),)


def _of_mach(head: bytes) -> tuple[str, ...]:
    """Return the processors of a Mach-O file, which is for several if it begins with a list of others."""
    if head[:4] in {b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"}:
        machines = [struct.unpack_from("<I", head, 4)[0]]
    elif head[:4] == b"\xca\xfe\xba\xbe":
        (count,) = struct.unpack_from(">I", head, 4)
        machines = [
            row[0] for row in islice(struct.iter_unpack(">5I", head[8 : 8 + (len(head) - 8) // 20 * 20]), count)
        ]
    else:
        machines = []
    return tuple(MACH.get(machine, f"processor {machine}") for machine in machines)
