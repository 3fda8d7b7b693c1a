"""The end of pythonfmu's loader, the library inside an FMU that runs Python; packed into every FMU beside its slave."""

import ctypes
import os
import sys

_ENDING: set[int] = set()
"""Addresses of the functions that `end_once` has registered in this process."""


def end_once(resources: str) -> None:
    """End the loader of an FMU before its own variables end, when the process ends.

    It ends as its library is finalized, and drops its state once more although its variables have dropped and freed
    it: a number in freed memory changes, which may corrupt what others keep there. Functions registered later are
    called earlier; then the library finds nothing left to drop.

    Args:
        resources: folder of the FMU's resources, beside that of its binaries.
    """
    folder = os.path.join(resources, os.pardir, "binaries", "linux64")
    if sys.platform != "linux" or not os.path.isdir(folder):
        return
    for name in os.listdir(folder):
        try:
            loader = ctypes.CDLL(os.path.join(folder, name), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            end = ctypes.cast(loader.finalizePythonInterpreter, ctypes.c_void_p)
        except (OSError, AttributeError):
            continue  # not in this process, or a loader that ends otherwise
        if end.value is not None and end.value not in _ENDING:
            _ENDING.add(end.value)
            ctypes.CDLL(None).__cxa_atexit(end, None, None)
