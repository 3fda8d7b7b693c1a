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
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.runtime import Compiled, Interpreted

FLAGS = ("-std=c99", "-fPIC", "-fvisibility=hidden")
LARGE, HUGE = 300_000, 1_500_000
"""Characters of source above which -O1 is used, as gcc's -O2 takes minutes on functions of tens of thousands of lines,
and -O0 for what is not the step."""


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
    sources = c_sources(bundle)
    flags = {name: (*FLAGS, _optimisation(name, len(text))) for name, text in sources.items()}
    contents = [*sources.values(), _version(compiler), *(flag for each in flags.values() for flag in each)]
    key = hashlib.sha256("\n".join(contents).encode()).hexdigest()[:32]
    folder = Path(platformdirs.user_cache_dir("mbfmu", appauthor=False)) / "kernels"
    library = folder / f"{key}.so"
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for name, text in sources.items():
            (Path(scratch) / name).write_text(text, encoding="utf-8")
        compiling = [[compiler, *flags[name], "-c", name] for name in sources]
        linking = [compiler, "-shared", "-o", "kernel.so", *(name.replace(".c", ".o") for name in sources), "-lm"]
        for commands in (compiling, [linking]):
            failure = _run_together(commands, scratch)
            if failure is not None:
                _notice(f"the C compiler failed: {failure}")
                return None
        os.replace(Path(scratch) / "kernel.so", library)
    return library


def _optimisation(name: str, size: int) -> str:
    if size < LARGE:
        return "-O2"
    return "-O1" if size < HUGE or name == "step.c" else "-O0"


def _run_together(commands: list[list[str]], folder: str) -> str | None:
    """Run commands side by side; return the first line that one of them complains with, None if all is well."""
    running = [
        subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    complaints = [process.communicate()[1] for process in running]
    for process, complaint in zip(running, complaints, strict=True):
        if process.returncode:
            return next(iter(complaint.splitlines()), f"exit status {process.returncode}")
    return None


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
