"""Bundle -> a kernel that runs: compile, cache by content, load."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from mbfmu.kernel.bundle import Bundle
from mbfmu.kernel.codegen import c_source
from mbfmu.kernel.runtime import Compiled, Interpreted

FLAGS = ("-std=c99", "-fPIC", "-shared", "-fvisibility=hidden")
LARGE = 300_000
"""Characters of source above which -O1 is used: on functions of tens of thousands of lines gcc's -O2 takes minutes."""


def load(bundle: Bundle) -> Compiled | Interpreted:
    """Return a kernel for this machine: compiled if there is a C compiler, else interpreted (with one notice)."""
    library = compiled_library(bundle)
    return Compiled(str(library)) if library else Interpreted(describe(bundle))


def describe(bundle: Bundle) -> dict[str, Any]:
    """Return what `Interpreted` needs, as plain data that JSON can hold."""
    return {
        "order": bundle.order,
        "sizes": [bundle.nx, bundle.ns, bundle.nu, bundle.np, bundle.ny, bundle.nqv],
        "stages": {name: list(item.sizes) for name, item in bundle.formulas.items()},
        "functions": {function.name(): function.serialize() for function in bundle.functions()},
    }


def compiled_library(bundle: Bundle) -> Path | None:
    """Return the path of the compiled kernel, made now or found in the user's cache; None without a compiler.

    The name in the cache is a hash of the source, the compiler's version and the flags.
    """
    compiler = _compiler()
    if compiler is None:
        _notice("no C compiler found (cc, gcc or clang, or $CC)")
        return None
    source = c_source(bundle)
    flags = (*FLAGS, "-O2" if len(source) < LARGE else "-O1")
    key = hashlib.sha256("\n".join([source, _version(compiler), *flags]).encode()).hexdigest()[:32]
    folder = Path(platformdirs.user_cache_dir("mbfmu", appauthor=False)) / "kernels"
    library = folder / f"{key}.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        text, made = Path(scratch) / "kernel.c", Path(scratch) / "kernel.so"
        text.write_text(source, encoding="utf-8")
        command = [compiler, *flags, "-o", str(made), str(text), "-lm"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            first = next(iter(run.stderr.splitlines()), f"exit status {run.returncode}")
            _notice(f"the C compiler failed: {first}")
            return None
        os.replace(made, library)
    return library


def _compiler() -> str | None:
    if sys.platform == "win32":
        return None
    named = os.environ.get("CC")
    return next(
        (path for name in ([named] if named else ["cc", "gcc", "clang"]) if (path := shutil.which(name))),
        None,
    )


@cache
def _version(compiler: str) -> str:
    run = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return run.stdout


@cache
def _notice(reason: str) -> None:
    """Say once that kernels are interpreted."""
    warnings.warn(f"{reason}: kernels run interpreted, about 20 times slower", RuntimeWarning, stacklevel=4)
